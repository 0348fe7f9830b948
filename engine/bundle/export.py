"""Write one realisation of a study as bundles, one for each reader."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Unpack

from engine.bundle import leaks
from engine.bundle.attack import attack
from engine.bundle.folder import check_new, new_folder, sha256, write_sums
from engine.bundle.readers import ALL, SUMS, Refused, Tier, check_files, tiers_of
from engine.bundle.released_files import refuse_original
from engine.bundle.source import ExportOptions, ExportSource, StreamedSource, refuse_original_cells, source_of
from engine.bundle.writers import write_for_analyst, write_for_public
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.output import Message, Report
from engine.data.microdata import RawTable
from engine.decision.states import check_unaltered, decision_status
from engine.decision.verdict_log import VERDICT
from engine.plan.entries import check_include, rate_range
from engine.release.scenarios import RunStatus
from engine.report.documents import why_no_pdf
from engine.report.write import write_board, write_copy
from engine.study.decision_log import WHOLE, append, entries, seal_words
from engine.study.study import Study
from engine.sweeps.warnings import torn_by


def export(
    study: Study,
    raw: RawTable,
    candidate: str | None,
    out: str | Path,
    *,
    tier: str = Tier.ANALYST,
    include: Iterable[str] = (),
    tell: Report | None = None,
    **options: Unpack[ExportOptions],
) -> Path:
    """Write one realisation of a study to a new folder and return it.

    ``candidate`` is a scenario's id (its realisation follows the plan's rule), a realisation's, or None for the
    recorded choice.  ``tier`` is the reader, or ``all`` for a folder with one bundle for each.  What is released
    besides the attributes and carried columns is what the plan says (``publish.include``); an export without a public
    bundle may release more with ``include`` (weight, id).  ``tell`` gets messages on progress, notes and warnings;
    ``options`` are those of :func:`engine.bundle.source.source_of`.

    A public bundle needs an approved recommendation (:class:`UsageError` without), and before it or a board bundle is
    written the release is attacked.  A bundle with what its reader must not see, a swap that an attack undoes, and rows
    that are those of the original are refused (:class:`Refused`), which is logged in the study.  Killed at any moment
    this leaves nothing or the whole folder: the log says "exporting" before the folder gets its name and "exported"
    afterwards, both with the digest of each bundle's list of digests.
    """
    say = tell or (lambda message: None)
    out, tiers = Path(out), tiers_of(tier)
    if study.plan.publish.members_rate != "withhold":
        if tier == Tier.CIRCULATING:
            raise UsageError(
                "the plan tells the rate to all readers of board papers, so there is no circulating copy; set "
                'members_rate = "withhold" in [publish] of the plan, or export the board bundle'
            )
        tiers = tuple(reader for reader in tiers if reader is not Tier.CIRCULATING)
    check_new(out)
    include = check_include(include)
    if raw.streamed is not None and tiers != (Tier.ANALYST,):
        raise UsageError(
            "the data are read by streaming, and the bundles of other readers tell figures of all records in memory, "
            "with which the release is attacked first; export the analyst's bundle (tier analyst), whose folder "
            "release holds what is released"
        )
    if Tier.PUBLIC in tiers:
        candidate = _approved(study, candidate, include)
    status = decision_status(study)
    if status.state == "withheld":
        raise UsageError(
            "it was decided to release nothing, so there is no release to put into a bundle; reason given: "
            f"{status.why.rstrip('.')}. To decide otherwise, recommend a candidate",
            Remedy.RECOMMEND,
        )
    source = source_of(study, raw, candidate, include=(*study.plan.publish.include, *include), **options)
    if (seal_text := seal_words(study)) != WHOLE:
        say(Message("note", seal_text[:1].lower() + seal_text[1:]))
    if isinstance(source, ExportSource) and {Tier.PUBLIC, Tier.BOARD} & set(tiers):
        text, spec, remade = study.plan.publish.rate_range, source.scenario.spec, source.remade
        # the rate of a complete random swap, else the share of records changed
        is_complete = spec.by_roles and remade.status == RunStatus.OK
        share = Decimal(spec.rate) if is_complete else float(remade.changed.mean())
        if text and not rate_range(text).holds(share):
            raise UsageError(
                f"the plan tells the public '{text}', and the share of records concerned in this release is outside "
                "this range; change the range in what is said in public, or withhold it"
            )
    for message in _warnings(source, tiers):
        say(message)
    try:
        return _write(source, out, tier, tiers, say)
    except Refused as refused:
        append(
            study,
            "blocked",
            {"tiers": [reader.value for reader in tiers], "candidate": source.candidate, "why": refused.kind},
        )
        raise


def _approved(study: Study, candidate: str | None, include: tuple[str, ...]) -> str:
    """The approved candidate; refuses another one, one not approved or changed since, and more columns."""
    status = decision_status(study)
    if status.state not in ("approved", "released") or status.choice is None:
        raise UsageError(
            f"a public bundle needs an approved recommendation, and it is {status.state}: {status.words} Set the "
            "next state; an analyst's bundle needs no approval",
            Remedy.APPROVAL,
        )
    check_unaltered(entries(study), "approved")
    approved = f"{status.choice.label}/{status.choice.replicate}"
    if candidate not in (None, status.choice.label, approved):
        raise UsageError(
            f"the approval is for {approved}, not for '{candidate}'; export the approved one, or have the other one "
            "approved",
            Remedy.APPROVED_CANDIDATE,
        )
    if beyond := [role for role in include if role not in study.plan.publish.include]:
        roles = ", ".join(f'"{role}"' for role in (*study.plan.publish.include, *beyond))
        raise UsageError(
            f"the board has not approved that the {' and the '.join(beyond)} be released: a public bundle holds what "
            f"the approved plan says. Write include = [{roles}] in [publish] of the plan (dashboard: Intruder and "
            "uses, What is said in public), and submit the recommendation again; an analyst's bundle may hold more"
        )
    return approved


def _warnings(source: ExportSource | StreamedSource, tiers: tuple[Tier, ...]) -> list[Message]:
    """Warnings of torn households, of a document that cannot be made here, and of other releases of the same data."""
    messages = [Message("warning", str(warning)) for warning in torn_by(source.data, source.scenario.spec)]
    if Tier.BOARD in tiers and (why := why_no_pdf()):
        messages.append(Message("note", f"the memo is not made as a PDF: {why}"))
    if Tier.PUBLIC in tiers:
        public_exports = [entry for entry in entries(source.study) if Tier.PUBLIC in entry.detail.get("tiers", ())]
        done, begun = (
            {str(entry.detail["candidate"]) for entry in public_exports if entry.event == event} - {source.candidate}
            for event in ("exported", "exporting")
        )
        for candidates, was in ((done, "was"), (begun - done, "may have been")):
            if candidates:
                text = (
                    f"another public release of the same data {was} exported before: {', '.join(sorted(candidates))}. "
                    "Together they can undo each other's protection; publish one of them only"
                )
                messages.append(Message("warning", text))
        if source.study.plan.about.overlaps:
            text = (
                f"the plan names other releases of the same data ({source.study.plan.about.overlaps}); together they "
                "may undo each other's protection"
            )
            messages.append(Message("warning", text))
    return messages


def _write(source: ExportSource | StreamedSource, out: Path, tier: str, tiers: tuple[Tier, ...], say: Report) -> Path:
    if isinstance(source, ExportSource):
        refuse_original(source.tables, source.data)
    else:
        refuse_original_cells(source)
    attack_result = attack(source, bool({Tier.PUBLIC, Tier.BOARD} & set(tiers)), say)
    search = leaks.search_of(source, out)
    published = {Tier.PUBLIC.value: ".", ALL: Tier.PUBLIC.value}.get(tier)
    with new_folder(out, public=[published] if published else ()) as (hidden, finish):
        digests: dict[Tier, dict[str, str]] = {}
        sums: dict[str, str] = {}
        for reader in reversed(tiers):  # the analyst's bundle last: it lists the others
            say(Message("step", f"writing the {reader} bundle"))
            folder = hidden / reader if tier == ALL else hidden
            folder.mkdir(exist_ok=True)
            if isinstance(source, StreamedSource) or reader is Tier.ANALYST:
                digests[reader] = write_for_analyst(source, folder, attack_result, sums, say)
            elif reader is Tier.PUBLIC:
                digests[reader] = write_for_public(source, folder)
            else:
                write_papers = write_board if reader is Tier.BOARD else write_copy
                # without a public bundle the order of the public file is yet to be drawn
                order = source.rows.order if Tier.PUBLIC in sums else None
                write_papers(source.study, source.remade, folder, order)
            write_sums(folder)
            sums[reader.value] = sha256(folder / SUMS)
            check_files(folder, reader)
            leaks.scan(folder, reader, search)
        for note in source.notes if isinstance(source, ExportSource) else ():
            say(Message("note", note[:-1]))
        released = digests.get(Tier.PUBLIC) or digests.get(Tier.ANALYST) or {}
        detail = {
            "tiers": [reader.value for reader in tiers],
            "candidate": source.candidate,
            "include": list(source.include),
            "formats": list(source.formats),
            "sha256": released,
            "sums": sums,
        }
        if VERDICT in attack_result:
            detail[VERDICT] = attack_result[VERDICT]
        append(source.study, "exporting", detail)
        finish()
    try:
        append(source.study, "exported", detail)
    except EngineError as error:
        raise EngineError(f"'{out.name}' is complete, but the decision log could not record it: {error}") from None
    return out
