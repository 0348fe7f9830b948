"""The Disclosure Analysis Plan as a document that a board can approve, written from a plan alone or with its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.os_support import write_private
from engine.common.public_wording import methods_paragraph
from engine.release.spec import RANDOM_SWAP
from engine.report.document import Bullets, Document, Entries, Paragraph, Section, grid
from engine.report.memo import BANNER
from engine.report.parameters import (
    besides_words,
    bound_words,
    cover_rows,
    mechanisms_of,
    parameters,
    policy_words,
    rule_words,
    run_words,
)
from engine.report.plan_data import attribute_section, data_section, scenario_section, use_section
from engine.report.plan_methods import candidate_section, candidates_words, measure_section, method_section
from engine.report.redaction import Safe, title_of, upper_first

if TYPE_CHECKING:
    from engine.measures import MeasureCall
    from engine.plan import Plan
    from engine.report.document import Block
    from engine.report.plan_counts import PlanCounts

CHAIR_BANNER = "For the chair of the disclosure review board only: it names the rates"
"""What stands on every page of the version with rates and settings."""
FORMATS = (".docx", ".html")
_CHANGES = (
    "Replicates: they may grow. Fewer than approved are a deviation.",
    "Who asks for what, the words on design, geography and other releases (sections 0, 1 and 3) and what is said in "
    "public (section 9) may be completed, but not what is released with the file.",
    "The draw itself: each run is another draw under the study key. The candidate is chosen on averages over runs, and "
    "which of its runs is released is fixed in section 8; choosing the luckiest run would be selection on noise.",
)
_DEVIATIONS = (
    "Every other change: to the coding of the data, the attributes and their roles, the keys, the threat, the methods "
    "and their parameters, the candidates, the measures, the selection rule and its bound, the declared analyses, "
    "tables, tolerances and edit rules, and what is released with the file.",
    "A run of a plan that departs from what was approved is refused until a reason is given. The reason goes into the "
    "decision log with name and time, the memo on the release lists it, and the board has to approve it anew.",
)


def plan_document(plan: Plan, counts: PlanCounts | None = None, *, rates: bool = False) -> Document:
    """The document; ``counts`` are those of the data, ``rates`` makes the chair's version.

    Members never see a rate, another number among the settings of a method, combinations of roles named one by one,
    a path, or the digest of the lock, against which guessed rates could be tried.  A damaged lock is an
    :class:`EngineError`, an unknown measure or mechanism a :class:`UsageError`.
    """
    from engine.measures import call

    calls = tuple(call(text) for text in plan.measures)
    safe = Safe.of_plan(plan, calls, settings=rates)
    data = counts.data if counts else None
    risk, utility = judged(plan, calls)
    about = plan.about
    return Document(
        title="Disclosure Analysis Plan",
        subtitle=": ".join(
            filter(None, [" ".join(filter(None, [safe(about.survey), safe(about.vintage)])), safe(plan.publish.title)])
        ),
        banner=". ".join(filter(None, [about.classification, CHAIR_BANNER]))
        if rates
        else about.classification or BANNER,
        sections=(
            _cover(plan, safe, rates=rates),
            data_section(plan, data, safe),
            attribute_section(plan, data),
            scenario_section(plan, data, safe),
            use_section(plan),
            method_section(plan, safe, settings=rates),
            candidate_section(plan, counts, settings=rates),
            measure_section(calls, (risk, utility)),
            _rule(plan, risk, utility, candidates_words(plan, counts)),
            _public(plan, safe),
            _approval(),
        ),
    )


def judged(plan: Plan, calls: tuple[MeasureCall, ...]) -> tuple[MeasureCall | None, MeasureCall | None]:
    """The measures of risk and of utility that candidates are judged by: the plan's, else the first of each kind."""
    found = []
    for kind, asked in (("risk", plan.decision.risk), ("utility", plan.decision.utility)):
        mine = [
            one
            for one, text in zip(calls, plan.measures, strict=True)
            if one.measure.kind == kind and (asked is None or asked in (text, str(one), one.measure.name))
        ]
        if asked is not None and not mine:
            raise UsageError(f"decision {kind} is '{asked}', which is not a measure of {kind}; name one of them")
        found.append(mine[0] if mine else None)
    return found[0], found[1]


def _cover(plan: Plan, safe: Safe, *, rates: bool) -> Section:
    about, lock = plan.about, plan.lock
    rows = [(name, safe(text)) for name, text in cover_rows(about, plan.publish.title)]
    asked = "None: the plan is approved and locked." if lock else "To approve this plan before any result is seen."
    rows.append(("Decision requested", asked))
    rows.append(("Approval number", lock.number if lock else ""))
    rows.append(("Approved by", lock.by if lock else ""))
    rows.append(("Approved and locked at", lock.at if lock else ""))
    if lock and rates:
        rows.append(("Digest of what was approved (SHA-256)", lock.digest))
    rows += [("Conditions", ""), ("Signed for the board", ""), ("Date", "")]
    blocks: list[Block] = [Entries(tuple(rows))]
    said = _departures(plan, safe, rates=rates)
    if said:
        blocks += [
            Paragraph("What this document describes departs from what was approved:", "warning"),
            Bullets(said),
        ]
    return Section("0  Cover", tuple(blocks))


def _departures(plan: Plan, safe: Safe, *, rates: bool) -> tuple[str, ...]:
    from engine.plan.lock import departures
    from engine.report.build_findings import change_text

    found = departures(plan)
    if rates:
        return tuple(upper_first(safe(departure.sentence)) for departure in found.values())
    return tuple(change_text(departure.entry, departure.words, safe) for departure in found.values())


def _rule(plan: Plan, risk: MeasureCall | None, utility: MeasureCall | None, candidates: str) -> Section:
    decision = plan.decision
    fixed = decision.max_risk is not None or decision.slope is not None
    bound = bound_words(risk, float(decision.max_risk)) if risk and decision.max_risk is not None else "none"
    rows = (
        ("Risk is measured by", title_of(risk) if risk else "none: the plan names no measure of risk"),
        ("Utility is measured by", title_of(utility) if utility else "none: the plan names no measure of utility"),
        ("Selection rule", upper_first(rule_words(plan, risk, utility))),
        ("Risk bound α", bound),
        ("Run to be released", run_words(plan)),
    )
    blocks: list[Block] = [Entries(rows)]
    if not fixed:
        blocks.append(
            Paragraph(
                "A rule that is set after results are seen can be made to fit them; the plan should fix one.", "warning"
            )
        )
    blocks += [
        Paragraph(
            "A candidate is on the frontier when no other one is at least as safe and as useful, and better in one."
        ),
        grid(
            "Parameters of the plan, as the memo on the release repeats them",
            ("Parameter", "As planned"),
            parameters(plan, risk, utility, candidates),
            (),
            (1.6, 4.4),
        ),
    ]
    return Section("8  Selection rule and parameters", tuple(blocks))


def _public(plan: Plan, safe: Safe) -> Section:
    from engine.mechanisms import mechanism

    publish, names = plan.publish, mechanisms_of(plan)
    extent = publish.rate_range if publish.rate_policy == "range" else ""
    kinds = {name == RANDOM_SWAP for name in names}
    blocks: list[Block] = [Paragraph(policy_words(extent)), Paragraph(besides_words(publish.include))]
    for swap in sorted(kinds, reverse=True):
        if len(kinds) > 1:
            blocks.append(
                Paragraph("If a random swap is released:" if swap else "If another method's release is chosen:")
            )
        words = methods_paragraph(
            title=safe(publish.title), extent=extent, wording=safe(publish.wording), swap=swap, n_tables=1
        )
        blocks.append(Paragraph(f"“{words}”", "lead"))
    if any(name != RANDOM_SWAP and mechanism(name).many_tables for name in names):
        blocks.append(Paragraph("Where several tables are released together, a sentence says how to combine them."))
    blocks.append(Paragraph("Nothing else about the method is to be said in public."))
    return Section("9  What is said in public", tuple(blocks))


def _approval() -> Section:
    return Section(
        "10  What may change after approval",
        (
            Paragraph("Open after approval:"),
            Bullets(_CHANGES),
            Paragraph("A deviation from what was approved is:"),
            Bullets(_DEVIATIONS),
        ),
    )


def document_bytes(document: Document, form: str) -> bytes:
    """The file's content in one of :data:`FORMATS`; equal documents give equal bytes."""
    if form == ".docx":
        from engine.report.docx_file import docx_bytes

        return docx_bytes(document)
    from engine.report.html_file import html_text

    return html_text(document).encode()


def write_plan_document(document: Document, path: Path) -> None:
    """Write the document in the format that the file's name ends in.

    It appears whole or not at all; an existing file and another ending are refused.
    """
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"'{path.name}' must end in {' or '.join(FORMATS)}")
    if path.exists():
        raise UsageError(f"'{path.name}' exists already; name another file", Remedy.OUTPUT)
    try:
        write_private(path, document_bytes(document, path.suffix.lower()))
    except OSError as error:
        raise EngineError(f"'{path.name}' could not be written: {error.strerror}") from None
