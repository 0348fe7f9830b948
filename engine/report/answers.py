"""The summary of a recommendation in plain words, and the ten questions that a board asks, answered from findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.report.change_log import is_plan_change
from engine.report.coherence import coherence
from engine.report.facts import ShareRow
from engine.report.public_wording import methods_paragraph
from engine.report.questions import Answer, Question
from engine.report.redaction import SPARSE, WITHHELD_WHY, is_count_title, is_one_digit_title, listed, lower_first
from engine.report.words import about as mean_with_error
from engine.report.words import figure, percent, plural, signed

if TYPE_CHECKING:
    from engine.report.facts import CoefficientRow, MeanRow
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow


NOISE_WORDS = (
    "What follows ± is the standard error of an average: by about that much it would differ if all runs were made "
    "again. “Uncertain” means that chance alone could move a candidate on or off the frontier; “clear” that it could "
    "not."
)
"""What stands beside every table with standard errors."""
BEATS = "is at least as safe and as useful, and better in one of the two"
"""What it means that a candidate dominates another one."""


def recommended(found: Findings) -> CandidateRow:
    """The candidate that the report is about."""
    return next(row for row in found.map.candidates if row.recommended)


def decision_words(found: Findings) -> str:
    """What the board is asked to decide."""
    if found.cover.state == "withheld":
        return "To note that it is recommended to release nothing."
    if not found.recommendation.recorded:
        return f"Nothing yet: candidate {found.recommendation.letter} is shown, and no recommendation is recorded."
    return f"To approve the release of candidate {found.recommendation.letter}."


def small_words(found: Findings) -> str:
    """What a small cell is here."""
    fewest = found.exposure.fewest
    return "combinations that nobody shares" if fewest == 2 else f"combinations that fewer than {fewest} records share"


def is_rounded(found: Findings) -> bool:
    """Whether counts of unaltered records are rounded, see :mod:`engine.report.exposed`."""
    counts = [found.exposure.small_before, *(row.before or 0 for row in found.measures if row.unit == "records")]
    return max(counts) > SPARSE * found.design.n_records


def risk_sentence(found: Findings) -> str:
    """Risk against doing nothing, in counts."""
    exposed, n = found.exposure, found.design.n_records
    about = "about " if is_rounded(found) else ""
    letter = found.recommendation.letter
    one = "one does" if exposed.unaltered_after == 1 else "ones do"
    return (
        f"Of {plural(n, 'record')}, {exposed.small_before:,} stand in {small_words(found)} if nothing is done; "
        f"{about}{exposed.unaltered_after:,} unaltered {one} in the release of candidate {letter}"
        + (f"; {average}." if (average := average_words(found)) else ".")
    )


def average_words(found: Findings) -> str:
    """The same count on average over runs; empty where the study does not compare candidates by it."""
    for row in found.measures:
        counted = row.chosen_by and row.kind == "risk" and is_count_title(row.title, of_keys=True)
        if counted and row.mean is not None:
            runs = plural(found.map.runs, "run")
            return f"over {runs} that differ only in chance the average is {mean_with_error(row.mean, row.se)}"
    return ""


def distance_words(found: Findings) -> str:
    """The Hellinger distance of the tabulated attributes, or why it is not shown."""
    value = found.utility.distance.hellinger
    return f"withheld ({WITHHELD_WHY})" if value is None else figure(value)


def utility_words(found: Findings, row: CandidateRow) -> str:
    """A candidate's mean utility with its standard error, with no more digits than it was rounded to."""
    if is_one_digit_title(found.map.utility_title):
        return figure(row.utility, 1)
    return mean_with_error(row.utility, row.utility_se)


_NOTHING = 0.005  # a shift below so many standard errors would be told as none


def worst(found: Findings) -> list[str]:
    """The three largest losses to users in standard errors, at most: of coefficients if any shifts, else of others."""
    use = found.utility
    lost = [
        f"{row.analysis}, {row.name}: can no longer be estimated ({row.lost})"
        for row in use.coefficients
        if row.lost and row.before is not None
    ]
    rows: list[CoefficientRow] = [row for row in use.coefficients if (row.shift or 0) >= _NOTHING]
    said = lost + [
        f"{row.analysis}, {row.name}: {figure(row.before)} becomes {figure(row.after)}, a shift of "
        f"{figure(row.shift, 2)} standard errors"
        for row in sorted(rows, key=lambda row: -(row.shift or 0))
    ]
    if said:
        return said[:3]
    others: list[ShareRow | MeanRow] = [*use.shares, *use.means]
    others = [r for r in others if r.n > use.tolerances.min_n and (r.errors or 0) >= _NOTHING]
    others.sort(key=lambda r: -(r.errors or 0))
    return [f"{_named(row)}, {figure(row.errors, 2)} standard errors" for row in others[:3]]


def _named(row: ShareRow | MeanRow) -> str:
    how = "weighted, " if row.weighted else ""
    if isinstance(row, ShareRow):
        return f"{row.table}, {row.level}: {how}{percent(row.before)} becomes {percent(row.after)}"
    return f"mean of {row.column}, {row.group}: {how}{figure(row.before, 4)} becomes {figure(row.after, 4)}"


def flags_sentence(found: Findings) -> str:
    """How many figures are beyond the tolerances."""
    use = found.utility
    parts = [f"{t.flagged:,} of {t.eligible:,} {t.kind}" for t in use.tallies if t.eligible]
    if not parts:
        return "No figure rests on enough records to be held against the tolerances."
    return f"Beyond the tolerances are {listed(parts)}."


def neighbour_sentence(found: Findings, row: CandidateRow, *, safer: bool) -> str:
    """What a neighbour would gain and cost."""
    unit = found.map.risk_unit
    gain, cost = (row.safer_by, row.more_useful_by) if safer else (row.more_useful_by, row.safer_by)
    risk, use = (gain, cost) if safer else (cost, gain)
    side = "safer" if safer else "more useful"
    noise = []
    if not row.risk_clear:
        noise.append("risk")
    if not row.utility_clear:
        noise.append("utility")
    text = (
        f"Candidate {row.letter} ({row.words}) is {side} on average: {lower_first(found.map.risk_title)} "
        f"{signed(None if risk is None else -risk)} {unit if unit == 'records' else ''}".rstrip()
        + f", {lower_first(found.map.utility_title)} {signed(_utility_change(found, use))}."
    )
    if noise:
        text += f" The difference in {listed(noise)} is within the noise of the runs."
    if row.within_bound is False:
        text += " It is beyond the bound on risk."
    return text


def _utility_change(found: Findings, more: float | None) -> float | None:
    """How the utility figure itself changes: a distance grows where usefulness falls."""
    if more is None:
        return None
    return more if found.map.utility_better == "higher" else -more


def neighbours(found: Findings) -> tuple[CandidateRow | None, CandidateRow | None]:
    """The nearest safer and the nearest more useful lettered candidate."""
    rows = found.map.candidates
    place = next(i for i, row in enumerate(rows) if row.recommended)
    # figures that are shown coarsely may be equal although the candidates are told apart
    safer = [row for row in rows[:place] if (row.safer_by or 0) > 0 or (row.safer_by == 0 and row.risk_clear)]
    useful = [
        row
        for row in rows[place + 1 :]
        if (row.more_useful_by or 0) > 0 or (row.more_useful_by == 0 and row.utility_clear)
    ]
    return (safer[-1] if safer else None), (useful[0] if useful else None)


def sureness(found: Findings) -> list[str]:
    """How sure the choice is."""
    at, row = found.map, recommended(found)
    said = [
        f"Candidates are compared by averages; this one's are over {plural(at.runs, 'run')} that differ only in chance"
        + (f"; {plural(at.failed, 'further run')} failed and are not counted" if at.failed else "")
        + "."
    ]
    if row.undominated:
        place = "by more than chance explains" if row.clear else "but others are within what chance explains"
        said.append(f"Candidate {row.letter} is on the frontier, {place}.")
    else:
        doubt = "" if row.clear else ", though by no more than chance explains"
        said.append(f"Candidate {row.letter} is not on the frontier: another one {BEATS}{doubt}.")
    if row.share is not None:
        said.append(f"It is on the frontier of {100 * row.share:.0f} % of the runs, taken one at a time.")
    for spread in at.spreads:
        if spread.least is not None:
            least, most, released = (figure(one) for one in (spread.least, spread.most, spread.released))
            said.append(
                f"{spread.title}: {least} in every run, the one to be released among them."
                if least == most == released
                else f"{spread.title}: {least} to {most} over the runs, {released} in the one to be released."
            )
    again = [row for row in found.measures if row.chosen_by and row.fresh is not None]
    if again:
        parts = [f"{lower_first(r.title)} {figure(r.fresh)} (before: {figure(r.mean)})" for r in again]
        said.append(f"On fresh runs, made after the choice of finalists: {listed(parts)}.")
    else:
        said.append("The candidate has not been run again on fresh draws, so its figures may flatter it a little.")
    return said


def omissions(found: Findings) -> list[str]:
    """What the risk figure leaves out."""
    said = [
        "It is a count of exposed records and not the chance that somebody is identified.",
        f"It assumes an intruder who knows exactly {listed(found.threat.keys)}, and nothing else.",
        "It does not count what can be learnt about a person without singling out a record.",
        "It does not count altered records, which an intruder may take for true.",
    ]
    others = [row for row in found.measures if row.kind == "risk" and not row.chosen_by]
    if others:
        parts = [f"{lower_first(r.title)} {figure(r.before)} before, {figure(r.released)} after" for r in others]
        said.append(f"Other risk measures: {'; '.join(parts)}.")
    else:
        said.append("No other risk measure was computed for this study.")
    return said


def ten_questions(found: Findings) -> tuple[Answer, ...]:
    """The questions in the order in which a board asks them."""
    row, cover, at = recommended(found), found.cover, found.map
    letter = row.letter
    decided = [decision_words(found), f"Candidate {letter} {row.words}."]
    if found.recommendation.recorded:
        decided += [found.recommendation.rule, f"Reason given: {found.recommendation.why}"]
    decided.append(cover.state_words)
    groups = [
        f"{g.group}: {g.after:,} of {plural(g.people, 'record')} stand in small cells unaltered ({g.before:,} before)"
        for g in found.exposure.groups
        if g.after
    ][:3]
    use, distance = found.utility, found.utility.distance
    fewest = distance.fewest
    losses = [flags_sentence(found), *worst(found)]
    losses.append(
        f"The Hellinger distance is {distance_words(found)}; without cells of fewer than {fewest} "
        f"it is {figure(distance.hellinger_large)}."
    )
    if use.distance.small_cells > 0.9:
        losses.append("Nearly all cells are small, so the figure without them says nothing.")
    safer, useful = neighbours(found)
    why_not = [
        neighbour_sentence(found, safer, safer=True)
        if safer
        else "No candidate on the frontier is safer by more than the noise of the runs.",
        neighbour_sentence(found, useful, safer=False)
        if useful
        else "No candidate on the frontier is more useful by more than the noise of the runs.",
    ]
    if at.n_within is not None:
        itself = f"; candidate {letter} itself is not" if row.within_bound is False else ""
        why_not.append(f"{at.n_within:,} of {at.n_candidates:,} candidates are within the bound on risk{itself}.")
    why_not += [f"Candidate {a.letter}: {a.why or a.difference}" for a in found.recommendation.alternatives]
    return (
        Answer(Question.DECISION, tuple(decided)),
        Answer(Question.RISK, (risk_sentence(found), *_share_words(found))),
        Answer(Question.OMISSIONS, tuple(omissions(found))),
        Answer(Question.EXPOSED, tuple(groups) or ("No unaltered record stands in a small cell.",)),
        Answer(Question.LOSSES, tuple(losses)),
        Answer(Question.ALTERNATIVES, tuple(why_not)),
        Answer(Question.CERTAINTY, (*sureness(found), *found.recommendation.cautions)),
        Answer(Question.PLAN, tuple(fixed(found))),
        Answer(Question.COHERENCE, tuple(coherence(found))),
        Answer(Question.PUBLIC, tuple(said_and_repeated(found))),
    )


def count_misleads(found: Findings) -> bool:
    """Whether the recommended candidate leaves fewer exposed records to count but, on average, a larger share of the
    unaltered ones exposed than doing nothing does."""
    fewer = found.exposure.unaltered_after < found.exposure.small_before
    return fewer and is_count_title(found.map.risk_title) and recommended(found).riskier_than_nothing


def _share_words(found: Findings) -> list[str]:
    """The direction of the change."""
    before, after = found.exposure.small_before, found.exposure.unaltered_after
    if after > before:
        return ["That is more than if nothing were done."]
    if before == after:
        return ["That is no fewer than if nothing were done."]
    some = "about " if is_rounded(found) else ""
    less = f"That is {some}{before - after:,} fewer, {100 * (before - after) / before:.0f} % of those exposed before."
    everybody = f"Counting altered records too, {found.exposure.small_after:,} stand in small cells of the release."
    if not count_misleads(found):
        return [less, everybody]
    share = (
        "It is fewer only because altered records are not counted any more: of the unaltered ones, by which candidates "
        "are compared, a larger share is exposed on average than if nothing were done."
    )
    return [less, share, everybody]


def fixed(found: Findings) -> list[str]:
    """What was fixed beforehand, and what changed."""
    plan = found.approved
    said = []
    if plan.number:
        said.append(f"The plan was approved as {plan.number} and locked on {plan.at}.")
        said.append("From what was approved departs:" if plan.departures else "Nothing departs from what was approved.")
        said += plan.departures
    else:
        said.append("The plan was not approved and locked before results were seen.")
    said.append(f"The selection rule in the plan: {plan.rule}.")
    changes = [f"{day}: {words}" for day, words in plan.changes if is_plan_change(words)]
    said += changes or ["No later change of the plan is logged."]
    return said


def said_and_repeated(found: Findings) -> list[str]:
    """What may be said in public, and who can make the release again."""
    sure = found.certificate
    same = (
        f"All {sure.figures} figures of the release were computed again and agree with the study."
        if sure.figures == sure.equal
        else f"{sure.equal} of {sure.figures} figures of the release agree with the study."
    )
    return [
        f"Proposed wording: “{public_wording(found)}”",
        "Only who holds the study key and the original data can make this release again; neither is in this bundle.",
        same,
    ]


def public_wording(found: Findings) -> str:
    """The paragraph that goes with the public file, word for word."""
    return methods_paragraph(
        title=found.publish.title,
        extent=found.publish.extent,
        wording=found.publish.wording,
        swap=found.design.swap,
        n_tables=found.design.tables,
    )


def summary(found: Findings) -> list[str]:
    """The recommendation in one paragraph's sentences."""
    row = recommended(found)
    rec = found.recommendation
    begin = (
        f"It is recommended to release candidate {row.letter}, which {row.words}."
        if rec.recorded and found.cover.state != "withheld"
        else decision_words(found) + f" Candidate {row.letter} {row.words}."
    )
    use = found.utility
    flagged = sum(t.flagged for t in use.tallies)
    eligible = sum(t.eligible for t in use.tallies)
    said = [
        begin,
        risk_sentence(found),
        f"It was taken from {plural(found.map.n_candidates, 'candidate')}, {found.map.n_frontier:,} of which no other "
        "beats in both risk and utility.",
        f"Of {eligible:,} percentages, means and coefficients that users would compute, {flagged:,} change by more "
        "than the tolerances.",
    ]
    losses = worst(found)
    if losses:
        said.append(f"The largest loss is in {losses[0]}.")
    if not row.undominated:
        said.append(f"On average another candidate {BEATS}.")
    return said


def largest_changes(found: Findings, *, weighted: bool, two_way: bool, most: int) -> list[ShareRow]:
    """Percentages of one kind, the most changed first."""
    attributes = {row.name for row in found.design.attributes}
    rows = [row for row in found.utility.shares if row.weighted == weighted]
    return [row for row in rows if (row.table not in attributes) == two_way][:most]
