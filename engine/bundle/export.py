"""Write one realisation of a study as bundles, one for each reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, Unpack

from engine.bundle import analyst, leaks, public
from engine.bundle.attack import attack
from engine.bundle.files import SUMS, sha256, write_sums
from engine.bundle.folder import check_new, new_folder
from engine.bundle.package import Package, PackageOptions, package
from engine.bundle.refusal import Refused
from engine.bundle.tiers import ALL, Tier, check_files, tiers_of
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.messages import Message, Report
from engine.data.microdata import RawTable
from engine.decision.states import altered_since, decision_status
from engine.plan.context import check_include
from engine.plan.rate_range import rate_range
from engine.release.results import OK
from engine.report.pdf_file import why_no_pdf
from engine.study.decision_log import append, entries
from engine.study.log_seal import WHOLE, seal_words
from engine.study.study import Study


def export(
    study: Study,
    raw: RawTable,
    candidate: str | None,
    out: str | Path,
    *,
    tier: str = "analyst",
    include: Iterable[str] = (),
    tell: Report | None = None,
    **options: Unpack[PackageOptions],
) -> Path:
    """Write one realisation of a study to a new folder and return it.

    ``candidate`` is a scenario's id (its realisation follows the plan's rule), a realisation's, or None for the
    recorded choice.  ``tier`` is the reader, or ``all`` for a folder with one bundle for each.  What is released
    besides the attributes and carried columns is what the plan says (``publish.include``); an export without a public
    bundle may release more with ``include`` (weight, id).  ``tell`` gets messages on progress, notes and warnings;
    ``options`` are those of :func:`engine.bundle.package.package`.

    A public bundle needs an approved recommendation (:class:`UsageError` without).  One that holds what its reader must
    not see, or whose swap an attack undoes, is refused (:class:`Refused`); that is logged in the study.  Killed at any
    moment this leaves nothing or the whole folder.  The log says that a bundle is about to be there before the folder
    gets its name, and that it is there only afterwards: of an entry "exporting" alone the folder may or may not exist.
    Both hold the digest of each bundle's list of digests, so that a bundle can be told from one that was changed.
    """
    say = tell or (lambda message: None)
    out, tiers = Path(out), tiers_of(tier)
    check_new(out)
    include = check_include(include)
    if "public" in tiers:
        candidate = _approved(study, candidate)
        _check_approved(study, include)
    _check_not_withheld(study)
    made = package(study, raw, candidate, include=(*study.plan.publish.include, *include), **options)
    if (sealed := seal_words(study)) != WHOLE:
        say(Message("note", sealed[:1].lower() + sealed[1:]))
    if {"public", "member"} & set(tiers):
        _check_range(made)
    for message in _warnings(made, tiers):
        say(message)
    try:
        return _write(made, out, tier, tiers, say)
    except Refused as refused:
        append(study, "blocked", {"tiers": list(tiers), "candidate": made.candidate, "why": refused.kind})
        raise


def _approved(study: Study, candidate: str | None) -> str:
    """The approved candidate; refuses another one, and a recommendation that is not approved."""
    status = decision_status(study)
    if status.state not in ("approved", "released") or status.choice is None:
        raise UsageError(
            f"a public bundle needs an approved recommendation, and it is {status.state}: {status.words} Set the "
            "next state; an analyst's bundle needs no approval",
            Remedy.APPROVAL,
        )
    _unchanged_since_approval(study)
    approved = f"{status.choice.label}/{status.choice.replicate}"
    if candidate not in (None, status.choice.label, approved):
        raise UsageError(
            f"the approval is for {approved}, not for '{candidate}'; export the approved one, or have the other one "
            "approved",
            Remedy.APPROVED_CANDIDATE,
        )
    return approved


def _check_approved(study: Study, include: tuple[str, ...]) -> None:
    """Refuse to release more in public than the plan says that the board approved."""
    beyond = [role for role in include if role not in study.plan.publish.include]
    if beyond:
        words = ", ".join(f'"{role}"' for role in (*study.plan.publish.include, *beyond))
        raise UsageError(
            f"the board has not approved that the {' and the '.join(beyond)} be released: a public bundle holds what "
            f"the approved plan says. Write include = [{words}] in [publish] of the plan (dashboard: Threat and uses, "
            "What is said in public), and submit the recommendation again; an analyst's bundle may hold more"
        )


def _check_not_withheld(study: Study) -> None:
    """Refuse any bundle, of whichever candidate, where the decision is to release nothing."""
    status = decision_status(study)
    if status.state == "withheld":
        raise UsageError(
            "it was decided to release nothing, so there is no release to put into a bundle; reason given: "
            f"{status.why.rstrip('.')}. To decide otherwise, recommend a candidate",
            Remedy.RECOMMEND,
        )


def _unchanged_since_approval(study: Study) -> None:
    """Refuse a public bundle where the plan departed from what was approved, or what is said in public was changed,
    after the board had decided."""
    if altered := altered_since(entries(study), "approved"):
        raise UsageError(
            f"{altered.words} after the board had approved the release (entry {altered.number} of the decision "
            "log); take the recommendation back, submit it again and have it approved",
            Remedy.TAKE_BACK,
        )


def _check_range(made: Package) -> None:
    """Refuse to tell a range that does not hold the share of this release: the rate of a complete random swap, else
    the share of records changed."""
    text, spec = made.study.plan.publish.rate_range, made.scenario.spec
    if not text:
        return
    complete_swap = spec.by_roles and made.made.status == OK
    share = Decimal(spec.rate) if complete_swap else float(made.made.changed.mean())
    if not rate_range(text).holds(share):
        raise UsageError(
            f"the plan tells the public '{text}', and the share of records concerned in this release lies outside; "
            "change the range in what is said in public, or withhold it"
        )


def _warnings(made: Package, tiers: tuple[Tier, ...]) -> list[Message]:
    """What to think about before anything leaves: a document that cannot be made here, and other releases of the same
    data, which undo each other."""
    messages = []
    if "member" in tiers and (why := why_no_pdf()):
        messages.append(Message("note", f"the memo is not made as a PDF: {why}"))
    if "public" in tiers:
        public = [entry for entry in entries(made.study) if "public" in entry.detail.get("tiers", ())]
        done, begun = (
            {str(entry.detail["candidate"]) for entry in public if entry.event == event} - {made.candidate}
            for event in ("exported", "exporting")
        )
        for others, was in ((done, "was"), (begun - done, "may have been")):
            if others:
                text = (
                    f"another public release of the same data {was} exported before: {', '.join(sorted(others))}. "
                    "Together they can undo each other's protection; publish one of them only"
                )
                messages.append(Message("warning", text))
        if made.study.plan.about.overlaps:
            text = (
                f"the plan names other releases of the same data ({made.study.plan.about.overlaps}); together they may "
                "undo each other's protection"
            )
            messages.append(Message("warning", text))
    return messages


def _write(made: Package, out: Path, tier: str, tiers: tuple[Tier, ...], say: Report) -> Path:
    found: dict[str, Any] | None = None
    if "public" in tiers:
        say(Message("step", "attacking the release itself"))
        found = attack(made)
    search = leaks.search_of(made, out)
    published = {"public": ".", ALL: "public"}.get(tier)
    with new_folder(out, public=[published] if published else ()) as (aside, finish):
        digests: dict[Tier, dict[str, str]] = {}
        sums: dict[str, str] = {}
        for name in reversed(tiers):  # the analyst's last: it says which the others are
            say(Message("step", f"writing the {name} bundle"))
            folder = aside / name if tier == ALL else aside
            folder.mkdir(exist_ok=True)
            digests[name] = _WRITERS[name](made, folder, found, sums) or {}
            write_sums(folder)
            sums[name] = sha256(folder / SUMS)
            check_files(folder, name)
            leaks.scan(folder, name, search)
        released = digests.get("public") or digests.get("analyst") or {}
        detail = {
            "tiers": list(tiers),
            "candidate": made.candidate,
            "include": list(made.include),
            "formats": list(made.formats),
            "sha256": released,
            "sums": sums,
        }
        append(made.study, "exporting", detail)
        finish()
    try:
        append(made.study, "exported", detail)
    except EngineError as error:
        raise EngineError(f"'{out.name}' is complete, but the decision log could not say so: {error}") from None
    return out


def _member(made: Package, folder: Path, found: dict[str, Any] | None, sums: dict[str, str]) -> None:
    from engine.report import write_member

    write_member(made.study, made.made, folder)


def _chair(made: Package, folder: Path, found: dict[str, Any] | None, sums: dict[str, str]) -> None:
    from engine.report import write_chair
    from engine.report.chair import CHAIR, chair_facts

    write_chair(made.study, made.made, folder)
    (folder / CHAIR).write_text(chair_facts(made.study, made.made).to_json(), encoding="utf-8")


def _public(made: Package, folder: Path, found: dict[str, Any] | None, sums: dict[str, str]) -> dict[str, str]:
    return public.write(made, folder)


_WRITERS: dict[Tier, Callable[[Package, Path, dict[str, Any] | None, dict[str, str]], dict[str, str] | None]] = {
    "analyst": analyst.write,
    "chair": _chair,
    "member": _member,
    "public": _public,
}
