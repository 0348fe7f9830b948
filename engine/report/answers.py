"""The summary of a recommendation in plain words, and the ten questions that a board asks, answered from findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural, upper_first
from engine.plan.uses import no_use_sentence
from engine.report.candidate_words import runs_within_words
from engine.report.certainty import BEATS, UNBEATEN, better_ones, certainty, recommended, spread_words
from engine.report.change_log import plan_change_rows
from engine.report.claims import claims_summary, unsaid_words
from engine.report.coherence import coherence
from engine.report.decision_asked import decision_words
from engine.report.extent_facts import Extent
from engine.report.ledger_words import earlier_sentences, ledger_summary
from engine.report.loss_words import analyses_words, flags_words, moved_words, worst_losses
from engine.report.losses import flagged_of
from engine.report.map_words import FEWER_WORDS, tables_words
from engine.report.public_wording import match_words, methods_paragraph
from engine.report.questions import Answer, BoardQuestion
from engine.report.recognised_words import finding_words, learnt_words, recognised_sentences, small_cells_words
from engine.report.redaction import RECORDS, is_count_title
from engine.report.run_words import key_sentences
from engine.report.small_cells import DIRECTIONS, direction, is_none
from engine.report.words import about as mean_with_error
from engine.report.words import difference, figure, mean_shown, percent

if TYPE_CHECKING:
    from decimal import Decimal

    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow


_HELLINGER = "Hellinger distance"


def small_words(findings: Findings) -> str:
    """What a small cell is here."""
    return small_cells_words(findings.exposure.fewest)


def risk_sentence(findings: Findings) -> str:
    """Risk against doing nothing, in counts."""
    exposed, n = findings.exposure, findings.design.n_records
    if exposed.small_after is None or exposed.unaltered_after is None:
        return (
            f"Of {plural(n, 'record')}, {exposed.small_before:,} stand in {small_words(findings)} if nothing is done."
        )
    are = "is" if exposed.unaltered_after == 1 else "are"
    some = f"{exposed.small_after:,} do, {exposed.unaltered_after:,} of which {are} unaltered"
    return (
        f"Of {plural(n, 'record')}, {exposed.small_before:,} stand in {small_words(findings)} if nothing is done; in "
        f"the release of candidate {findings.recommendation.letter} {some if exposed.small_after else 'none does'}"
        + (f"; {average}." if (average := average_words(findings)) else ".")
    )


def average_words(findings: Findings) -> str:
    """The same count on average over runs; empty where the study does not compare candidates by it."""
    for row in findings.measures:
        counted = row.chosen_by and row.kind == "risk" and is_count_title(row.title, of_keys=True)
        if counted and row.mean is not None:
            runs = plural(findings.map.runs, "run")
            average = mean_with_error(row.mean, row.se)
            return f"over {runs} that differ only in chance the average of the unaltered ones is {average}"
    return ""


def distance_sentence(findings: Findings) -> str:
    """The Hellinger distance of the tabulated attributes with and without small cells."""
    distance = findings.utility.distance
    small = f"{100 * distance.small_cells:.0f} % of the occupied cells of the original are that small"
    as_if = moved_words(distance)
    value = figure(distance.hellinger) + (f", {as_if}" if as_if else "")
    return (
        f"That of the tabulated attributes is {value}; without cells of fewer than {distance.fewest} records it is "
        f"{figure(distance.hellinger_large)}. {small}."
    )


def largest_losses(findings: Findings) -> list[str]:
    """The three worst losses to users at most, in standard errors, over everything that they would compute."""
    return worst_losses(findings.utility)


def exposed_groups(findings: Findings) -> list[str]:
    """The three groups that stay most exposed."""
    if findings.exposure.unaltered_after == 0:
        return ["No unaltered record stands in a small cell."]
    rows = [g for g in findings.exposure.groups if g.after][:3]
    return [
        f"{g.group}: {g.after:,} of {plural(g.people, 'record')} stand in small cells unaltered ({g.before:,} before)"
        for g in rows
    ]


def flags_sentence(findings: Findings) -> str:
    """How many figures are beyond the tolerances."""
    return flags_words(findings.utility)


def neighbour_sentence(findings: Findings, row: CandidateRow, *, safer: bool) -> str:
    """What a neighbour would gain and cost."""
    own = recommended(findings)
    risks = mean_shown(own.risk, own.risk_se), mean_shown(row.risk, row.risk_se)
    utilities = mean_shown(own.utility, own.utility_se), mean_shown(row.utility, row.utility_se)
    unit = findings.map.risk_unit if findings.map.risk_unit == RECORDS else ""
    side = "safer" if safer else "more useful"
    noise = []
    if not row.risk_clear:
        noise.append("risk")
    if not row.utility_clear:
        noise.append("utility")
    titles = (lower_first(findings.map.risk_title), lower_first(findings.map.utility_title))
    shown = (_difference_words(*risks, unit), _difference_words(*utilities))
    differences = [f"{title} {words}" for title, words in zip(titles, shown, strict=True) if words]
    text = f"Candidate {row.letter} ({row.words}) is {side} on average"
    text += f": {', '.join(differences)}." if differences else ", by less than the figures show."
    if noise:
        text += f" The difference in {listed(noise)} is within the noise of the runs."
    if within := runs_within_words(findings, row):
        text += f" {upper_first(within)}."
    effect = analyses_words(findings.utility, row.letter, findings.recommendation.letter)
    return f"{text} {effect}".rstrip()


def _difference_words(before: Decimal | None, after: Decimal | None, unit: str = "") -> str:
    """How far two figures are apart as they are shown, with the unit; empty where they show no difference."""
    if before is None or after is None or before == after:
        return ""
    return f"{difference(before, after)} {unit}".rstrip()


def neighbours(findings: Findings) -> tuple[CandidateRow | None, CandidateRow | None]:
    """The nearest safer and the nearest more useful lettered candidate."""
    rows = [row for row in findings.map.candidates if not row.also_within]
    index = next(i for i, row in enumerate(rows) if row.recommended)
    safer = [row for row in rows[:index] if _is_ahead(row.safer_by, row.risk_clear)]
    useful = [row for row in rows[index + 1 :] if _is_ahead(row.more_useful_by, row.utility_clear)]
    return (safer[-1] if safer else None), (useful[0] if useful else None)


def _is_ahead(by: float | None, is_clear: bool) -> bool:
    """Whether a candidate is better; figures of an earlier version may be equal although candidates are told apart."""
    return (by or 0.0) > 0 or (not by and is_clear)


def neighbour_sentences(findings: Findings) -> list[str]:
    """Candidates that are better on average, if any are; then the recommended one against the nearest safer and the
    nearest more useful one, or that there is none."""
    none = "No candidate on the frontier is {} by more than the noise of the runs."
    sentences = better_ones(findings)
    for row, is_safer, side in zip(neighbours(findings), (True, False), ("safer", "more useful"), strict=True):
        if row is None:
            sentences.append(none.format(side))
        elif not row.dominates:
            sentences.append(neighbour_sentence(findings, row, safer=is_safer))
    return sentences


def omissions(findings: Findings) -> list[str]:
    """What the risk figure leaves out."""
    sentences = [
        "It is a count of exposed records and not the chance that somebody is identified.",
        f"It assumes an intruder who knows exactly {listed(findings.threat.keys)}, and nothing else.",
        "It does not count what can be learnt about a person without singling out a record.",
        "It does not count altered records, which an intruder may take for true.",
        learnt_words(findings),
        *filter(None, [finding_words(findings)]),
        *recognised_sentences(findings),
    ]
    if findings.map.risk_jointly is not None:
        sentences.append(tables_words(findings))
    other_risks = [row for row in findings.measures if row.kind == "risk" and not row.chosen_by]
    if other_risks:
        parts = [f"{lower_first(r.title)} {figure(r.before)} before, {figure(r.released)} after" for r in other_risks]
        sentences.append(f"Other risk measures: {'; '.join(parts)}.")
    else:
        sentences.append("No other risk measure was computed for this study.")
    return sentences


def ten_questions(findings: Findings) -> tuple[Answer, ...]:
    """The questions in the order in which a board asks them."""
    row, board_map = recommended(findings), findings.map
    letter = row.letter
    decided = [decision_words(findings), f"Candidate {letter} {row.words}."]
    if findings.recommendation.recorded:
        decided += [findings.recommendation.rule, f"Reason given: {findings.recommendation.why}"]
    risk = [risk_sentence(findings), *share_words(findings), spread_words(findings)]
    utility = findings.utility
    losses = [flags_sentence(findings), *largest_losses(findings)]
    losses.append(f"Hellinger distance. {distance_sentence(findings)}")
    if utility.unused:
        losses.append(no_use_sentence(utility.unused))
    if utility.distance.small_cells > 0.9:
        losses.append("Nearly all cells are small, so the figure without them says nothing.")
    why_not = neighbour_sentences(findings)
    if board_map.n_within is not None:
        itself = f"; candidate {letter} itself is not" if row.within_bound is False else ""
        why_not.append(
            f"{board_map.n_within:,} of {board_map.n_candidates:,} candidates are within the bound on risk{itself}."
        )
    why_not += [f"Candidate {a.letter}: {a.why or a.difference}" for a in findings.recommendation.alternatives]
    return (
        Answer(BoardQuestion.DECISION, tuple(decided)),
        Answer(BoardQuestion.RISK, tuple(line for line in risk if line)),
        Answer(BoardQuestion.OMISSIONS, tuple(omissions(findings))),
        Answer(BoardQuestion.EXPOSED, tuple(exposed_groups(findings))),
        Answer(BoardQuestion.LOSSES, tuple(losses)),
        Answer(BoardQuestion.ALTERNATIVES, tuple(why_not)),
        Answer(BoardQuestion.CERTAINTY, (*certainty(findings), *findings.recommendation.cautions)),
        Answer(BoardQuestion.PLAN, tuple(plan_history(findings))),
        Answer(BoardQuestion.COHERENCE, tuple(coherence(findings))),
        Answer(BoardQuestion.PUBLIC, tuple(publication(findings))),
    )


def count_misleads(findings: Findings) -> bool:
    """Whether the recommended candidate leaves fewer exposed records to count but, on average, a larger share of the
    unaltered ones exposed than doing nothing does."""
    return (
        direction(findings) == "fewer"
        and is_count_title(findings.map.risk_title)
        and recommended(findings).riskier_than_nothing
    )


def share_words(findings: Findings) -> list[str]:
    """The direction of the change."""
    exposed = findings.exposure
    before, after = exposed.small_before, exposed.unaltered_after
    if after is None or direction(findings) != "fewer":
        return [DIRECTIONS[direction(findings)]]
    fewer = f"That is {before - after:,} fewer, {100 * (before - after) / before:.0f} % of those exposed before."
    with_altered = f"Together with altered records, {exposed.small_after:,} stand in small cells of the release."
    return [fewer, why_fewer(findings), with_altered]


def why_fewer(findings: Findings) -> str:
    """What a lower number of exposed records says, or does not say."""
    if not count_misleads(findings):
        return FEWER_WORDS
    return (
        "The number is lower only because altered records are not counted any more. Candidates are compared by the "
        "share of unaltered records that is exposed, and on average that share is larger than if nothing were done."
    )


def plan_history(findings: Findings) -> list[str]:
    """What was fixed beforehand, the rule among it, and what changed."""
    rule = f"The selection rule: {findings.approved.rule}."
    return [*fixed_words(findings), rule, *earlier_sentences(findings.approved.ledger)]


def fixed_words(findings: Findings) -> list[str]:
    """What was fixed beforehand besides the rule, what had been seen before, and what changed."""
    plan = findings.approved
    sentences = []
    if plan.number:
        sentences.append(f"The plan was approved as {plan.number} and locked on {plan.at}.")
        sentences.append(
            "The plan departs from what was approved:" if plan.departures else "Nothing departs from what was approved."
        )
        sentences += plan.departures
    else:
        sentences.append("The plan was not approved and locked before results were seen.")
    sentences += key_sentences(findings)
    sentences += ledger_summary(plan.ledger)
    if plan.run_rule:
        sentences.append(f"A rule picks the run to be released: {plan.run_rule}.")
    changes = [f"{day}: {event}" for day, event in plan_change_rows(plan)]
    sentences += changes or ["No later change of the plan is logged in this study."]
    return sentences


def publication(findings: Findings) -> list[str]:
    """What may be said in public, and who can make the release again."""
    certificate = findings.certificate
    agreement = (
        f"All {certificate.figures} figures of the release were computed again and agree with the study."
        if certificate.figures == certificate.equal
        else f"{certificate.equal} of {certificate.figures} figures of the release agree with the study."
    )
    return [
        f"Proposed wording: “{public_wording(findings)}”",
        *(text for text in (claims_summary(findings), match_sentence(findings)) if text),
        *unsaid_words(findings),
        *extent_sentences(findings.extent),
        "Only somebody who holds the study key and the original data can make this release again; neither is in this "
        "bundle.",
        agreement,
    ]


def extent_sentences(extent: Extent | None) -> list[str]:
    """The spec, the amount asked for and the share of records changed, and how surely altered records are told; an
    empty list where a bundle does not say."""
    if extent is None:
        return []
    changed = f"{extent.changed_in}: {extent.records:,} ({percent(100 * extent.share)})"
    households = f", {extent.units.words}" if extent.units else ""
    return [
        f"{extent.mechanism}, {extent.spec or 'without parameters'}; asked for: {extent.asked_amount}.",
        f"{changed}{households}; by attribute, group and place in tables.xlsx.",
        *(text for text in (extent.told, extent.by_tables) if text and text != extent.verdict_sentence),
        "Keep this extent to the board: somebody who knows it can undo the exchange more easily.",
    ]


def match_sentence(findings: Findings) -> str:
    """What the public sentence on apparent matches means in this file, for the board."""
    return match_words(findings.exposure, is_none(findings))


def public_wording(findings: Findings) -> str:
    """The paragraph that goes with the public file, word for word."""
    return methods_paragraph(
        title=findings.publish.title,
        extent=findings.publish.extent,
        wording=findings.publish.wording,
        swap=findings.design.swap,
        n_tables=findings.design.tables,
        new_ids=bool({"id", "unit"} & set(findings.publish.include)),
    )


def summary(findings: Findings) -> list[str]:
    """The recommendation in one paragraph's sentences."""
    row = recommended(findings)
    recommendation = findings.recommendation
    opening = (
        f"It is recommended to release candidate {row.letter}, which {row.words}."
        if recommendation.recorded and findings.cover.state != "withheld"
        else decision_words(findings) + f" Candidate {row.letter} {row.words}."
    )
    utility = findings.utility
    flagged, eligible = flagged_of(utility)
    sentences = [
        opening,
        risk_sentence(findings),
        f"It was taken from {plural(findings.map.n_candidates, 'candidate')}, {findings.map.n_frontier:,} of them on "
        f"the frontier ({UNBEATEN}).",
        f"Of {eligible:,} figures that users would compute and that the release can change, {flagged:,} change by "
        "more than the tolerances.",
    ]
    losses = largest_losses(findings)
    if losses:
        sentences.append(f"The largest loss: {losses[0]}.")
    if not row.undominated:
        sentences.append(f"On average another candidate {BEATS}.")
    return sentences
