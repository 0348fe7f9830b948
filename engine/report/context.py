"""The recommended candidate in context: the map, candidates by letter, measures, and the record of its choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import UsageError
from engine.common.wording import upper_first
from engine.decision.bounds import in_words, title_of
from engine.decision.choice import NAMED_BY_HAND, chosen_run, gate_now, measures_of
from engine.decision.comparison import differences
from engine.decision.gate import ReleasedRun, held_losses, released_run
from engine.decision.statements import Statement, of_severity, statement
from engine.decision.states import decision_status
from engine.frontier.choosing import share_within
from engine.frontier.risk_utility_map import lettered
from engine.frontier.summary import summarise
from engine.mechanisms import amount, mechanism
from engine.release.parameter import Amount
from engine.release.scenarios import RunStatus
from engine.release.spec import selection_of
from engine.report.facts import CandidateRow, Map, MeasureRow, Recommendation
from engine.report.log import late_words
from engine.report.losses import optional
from engine.report.redaction import Redactor, better_of
from engine.report.sentences import noted_counts, unaltered_counts
from engine.study.decision_log import commitment_of, entries
from engine.study.map_reader import risk_bound, risk_utility_map

if TYPE_CHECKING:
    from engine.decision.states import DecisionStatus
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.measures import MeasureCall
    from engine.release.scenarios import Choice, Results, Scenario
    from engine.release.spec import ReleaseSpec
    from engine.study.study import Study
    from engine.sweeps.remake import Remade

MOST_FURTHER = 4
"""Most candidates that have a letter only because they meet the bound."""
_GRID = 40  # rough places of very many other candidates along either axis
_MOST_PLACES = 2000


@dataclass(frozen=True)
class ReportContext:
    """A study seen from one scenario: its map, its letters (letter to place; those of ``also_within`` are no
    neighbours on the frontier but meet the bound) and what was recorded about it.  ``bound`` on risk is the one that
    counts: the lower of the plan's, where it is about the same measure, and the choice's."""

    study: Study
    scenario: Scenario
    view: RiskUtilityMap
    letters: Mapping[str, int]
    also_within: Mapping[str, int]
    status: DecisionStatus
    choice: Choice | None
    bound: float | None
    redact: Redactor

    @property
    def letter(self) -> str:
        """The recommended candidate's letter."""
        return next(letter for letter, index in self.letters.items() if index == self.scenario.index)

    @property
    def lettered(self) -> dict[str, int]:
        """All letters: the neighbours along the frontier, then others that meet the bound."""
        return {**self.letters, **self.also_within}

    @cached_property
    def run(self) -> ReleasedRun | None:
        """The run to be released among its siblings; None without a choice."""
        if self.choice is None:
            return None
        return released_run(self.study, self.view, *chosen_run(self.study, self.choice), self.choice.record)

    def limit_words(self, bound: float | None) -> str:
        """A bound on risk in words; empty without one."""
        risk = self.view.measures[self.view.risk]
        return "" if bound is None else in_words("bound", risk, bound, self.study.plan.decision)


def report_context(study: Study, realisation: Remade) -> ReportContext:
    """Look at a study from the scenario of a remade release."""
    scenario = next((s for s in study.scenarios if s.spec == realisation.spec), None)
    if scenario is None:
        raise UsageError("the release belongs to no candidate of this study; remake one of its own")
    status = decision_status(study)
    choice = status.choice if status.choice and status.choice.label == scenario.label else None
    view = risk_utility_map(study, *measures_of(study, choice), allow_partial=realisation.status == RunStatus.FAILED)
    letters = lettered(view, scenario.index)
    bound = risk_bound(study, view.risk, choice.record.get("bound") if choice else None)
    also_within = further_within(view, bound, letters)
    labels = {view.scenarios[index].label: letter for letter, index in {**letters, **also_within}.items()}
    redact = Redactor(labels, study.measures)
    return ReportContext(study, scenario, view, letters, also_within, status, choice, bound, redact)


def further_within(view: RiskUtilityMap, bound: float | None, letters: Mapping[str, int]) -> dict[str, int]:
    """The letters after ``letters`` for other candidates that meet the bound, the most useful first; a handful, and
    none without a bound."""
    if bound is None:
        return {}
    meets = np.setdiff1d(np.flatnonzero(view.meets(bound) & ~np.isnan(view.utility_loss)), list(letters.values()))
    order = meets[np.lexsort((view.risk_loss[meets], view.utility_loss[meets]))][:MOST_FURTHER]
    return dict(zip(ascii_uppercase[len(letters) :], order.tolist(), strict=False))


def in_counts(study: Study, view: RiskUtilityMap, index: int, runs: Results) -> np.ndarray:
    """The risk of the runs of a scenario, eq. 6 as counts of records: each share times that run's unaltered records.

    Runs over records have noted their counts, means over their tables.  Where a run's unaltered records are unknown
    otherwise they are taken to be all, so that a count is not too low.
    """
    call, spec, n = view.measures[view.risk], view.scenarios[index].spec, int(study.about["n_records"])
    figures = runs.values[:, view.risk]
    if not call.measure.of_unaltered:
        return figures
    unaltered = unaltered_counts(call, study.plan.keys, spec, runs.changed, n)
    counts = np.round(figures * np.where(np.isnan(unaltered), n, unaltered), 9).tolist()
    noted = {} if mechanism(spec.mechanism).batched else noted_counts(study, view.risk)
    pairs = zip(runs.replicate.tolist(), counts, strict=True)
    return np.array([noted.get((index, replicate), count) for replicate, count in pairs])


# -- the choice ------------------------------------------------------------------------------------------------------


def recommendation(context: ReportContext) -> Recommendation:
    """What was recorded about the candidate."""
    choice = context.choice
    if choice is None:
        return Recommendation(context.letter, False, "", "")
    # as they are today: what was true when the choice was made may have been mended since, by fresh runs for one
    found = gate_now(context.study, choice, context.view.allow_partial)
    cautions = [each for each in found if each.severity != "obstacle" and each.kind != "limit_set_late"]
    last = next((each for each in reversed(entries(context.study)) if each.event in ("chosen", "submitted")), None)
    recorded = choice.record.get("others", [])
    return Recommendation(
        letter=context.letter,
        recorded=True,
        rule=_rule_words(context, choice),
        why=context.redact(choice.why),
        cautions=tuple(context.redact.statement(each) for each in cautions),
        alternatives=tuple(each for other in recorded for each in _considered(context, other, len(recorded))),
        run=context.run,
        obstacles=tuple(of_severity(found, "obstacle")),
        despite=context.redact(str(last.detail.get("despite", ""))) if last else "",
        key_fixed=commitment_of(context.study) is not None,
        by_utility=choice.record.get("bound") is not None,
    )


def _considered(context: ReportContext, other: Mapping[str, Any], together: int) -> list[Statement]:
    """One of ``together`` alternatives, by the reason given or by directions alone; none for one without a letter or a
    reason.  What was recorded of it has the analyst's figures, and is not shown."""
    label, why = str(other.get("candidate", "")), context.redact(str(other.get("why", "")))
    letter = context.redact.letters.get(label, "")
    if not letter and not why:
        return []
    directions: dict[str, str] = {"risk": "", "utility": ""}
    noise: list[str] = []
    if letter and not why:
        index = context.study.find(label)[0].index
        rows = differences(context.view, index, context.scenario.index, together=together)
        ways = {"risk": ("riskier", "", "safer"), "utility": ("less useful", "", "more useful")}
        for (axis, words), k in zip(ways.items(), (context.view.risk, context.view.utility), strict=True):
            directions[axis] = words[rows[k].better + 1]
            noise += [axis] if rows[k].better and not rows[k].clear else []
    return [statement("considered", letter=letter or "?", why=why, **directions, noise=tuple(noise))]


def _rule_words(context: ReportContext, choice: Choice) -> str:
    """The rule that picked the candidate, without shares of eq. 6 beside its counts."""
    if (bound := choice.record.get("bound")) is not None:
        late = late_words(context)
        limit = context.limit_words(float(bound)) + (f"; {late}" if late else "")
        return f"The most useful candidate within the limit on risk: {limit}."
    if choice.rule == NAMED_BY_HAND:
        return "Chosen by judgement among the candidates, for the reason given."
    if (slope := choice.record.get("slope")) is not None:
        risk, utility = (context.view.measures[k] for k in (context.view.risk, context.view.utility))
        return context.redact(
            f"The best candidate on a straight trade-off: {in_words('trade', risk, utility, float(slope))}."
        )
    return upper_first(context.redact(choice.rule)) + "."


# -- the map ---------------------------------------------------------------------------------------------------------


def as_read(call: MeasureCall, loss: np.ndarray) -> np.ndarray:
    """Losses turned back into figures as they are read; of a signed measure the size."""
    return -loss if call.measure.better == "higher" else loss


def the_map(context: ReportContext) -> Map:
    """The frontier as the board sees it."""
    view, summary = context.view, context.view.summary
    risk, utility = view.measures[view.risk], view.measures[view.utility]
    defined = np.flatnonzero(~np.isnan(view.risk_loss) & ~np.isnan(view.utility_loss))
    places = np.column_stack([as_read(utility, view.utility_loss), as_read(risk, view.risk_loss)])[defined]
    undominated = view.dominance.undominated[defined]
    asked = context.study.plan.decision.run_share
    places[~undominated] = _rough(places[~undominated], places)
    within = None if context.bound is None else view.meets(context.bound)[defined]
    nothing = view.original_losses
    return Map(
        risk_title=title_of(risk),
        risk_unit=risk.measure.unit,
        risk_better=better_of(risk),
        utility_title=title_of(utility),
        utility_unit=utility.measure.unit,
        utility_better=better_of(utility),
        n_candidates=len(view.scenarios),
        n_frontier=int(view.dominance.undominated.sum()),
        n_within=None if within is None else int(np.count_nonzero(within)),
        runs=int(summary.counted[context.scenario.index]),
        failed=int(summary.failed[context.scenario.index]),
        bound=context.limit_words(context.bound),
        nothing_risk=optional(float(as_read(risk, nothing[view.risk]))),
        nothing_utility=optional(float(as_read(utility, nothing[view.utility]))),
        candidates=candidate_rows(context),
        frontier=tuple(sorted((u, r) for u, r in places[undominated].tolist())),
        others=_distinct(places[~undominated]),
        within_at=None if within is None else _distinct(places[within]),
        recall=optional(round(view.recall, 2)),
        edit_limits=len(view.edit_limits),
        bound_at=context.bound,
        bound_asked=None if context.bound is None or asked is None else float(asked),
    )


def _rough(chosen: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Places of some candidates, rows of utility and risk; of very many those on a coarse grid over all ``places``."""
    if len(chosen) <= _MOST_PLACES:
        return chosen
    low = places.min(axis=0)
    step = (places.max(axis=0) - low) / _GRID
    step[step == 0] = 1.0
    rough: np.ndarray = low + step * np.round((chosen - low) / step)
    return rough


def _distinct(places: np.ndarray) -> tuple[tuple[float, float], ...]:
    return tuple(sorted({(utility, risk) for utility, risk in places.tolist()}))


def candidate_rows(context: ReportContext) -> tuple[CandidateRow, ...]:
    """The candidates with letters, compared with the recommended one on both axes."""
    view, own, axes = context.view, context.scenario.index, [context.view.risk, context.view.utility]
    letters, bound, rows = context.lettered, context.bound, []
    for letter, index in letters.items():
        spec, is_own = view.scenarios[index].spec, index == own
        risk, utility = differences(view, index, own, together=len(letters) - 1, columns=axes)
        gains = view.summary.loss[own, axes] - view.summary.loss[index, axes]
        losses = held_losses(view, context.study.runs.of([index]))
        rows.append(
            CandidateRow(
                letter=letter,
                words=candidate_words(spec, extents_tried(context.study, spec)),
                risk=optional(risk.value),
                risk_se=optional(risk.value_se),
                utility=optional(utility.value),
                utility_se=optional(utility.value_se),
                undominated=bool(view.dominance.undominated[index]),
                clear=bool(view.dominance.clear[index]),
                share=optional(view.dominance.share[index]),
                within_bound=None if bound is None else bool(view.meets(bound)[index]),
                recommended=is_own,
                safer_by=None if is_own else optional(gains[0]),
                more_useful_by=None if is_own else optional(gains[1]),
                risk_clear=risk.clear,
                utility_clear=utility.clear,
                dominates=bool((gains >= 0).all() and (gains > 0).any()),
                also_within=letter in context.also_within,
                shared_runs=int(view.shared_runs[index]),
                runs=len(losses),
                within=None if bound is None else share_within(losses, bound).within,
            )
        )
    return tuple(rows)


# -- candidates in words ---------------------------------------------------------------------------------------------


def candidate_words(spec: ReleaseSpec, extents: Sequence[Amount] = ()) -> str:
    """What a candidate does, without how much: attributes and roles, or the method.

    Among several ``extents`` (amounts of its mechanism, ascending) its place is said where it is the first, the last or
    between.
    """
    asked, place = amount(spec), ""
    if len(extents) > 1 and asked in extents:
        place = {0: "the smallest", len(extents) - 1: "the largest"}.get(extents.index(asked), "a middle")
    if spec.by_roles:
        return in_words("random_swap", spec.attributes, selection_of(spec.params, spec.attributes.names), place)
    method = mechanism(spec.mechanism)
    return in_words("other_method", method.title, method.altered(spec), place)


def extents_tried(study: Study, spec: ReleaseSpec) -> list[Amount]:
    """The amounts of a candidate's mechanism that a study tried, ascending; none where they are not of one unit."""
    if spec.by_roles:
        return sorted((Amount("share", rate, "of records") for rate in study.plan.space.rates), key=lambda a: a.order)
    codes, names = study.scenarios.coded("mechanism")
    places = np.flatnonzero(codes == names.index(spec.mechanism)).tolist()
    tried = sorted({amount(study.scenarios[i].spec) for i in places}, key=lambda a: a.order)
    return tried if len({one.unit for one in tried}) == 1 and tried[0].kind in ("share", "count") else []


# -- measures --------------------------------------------------------------------------------------------------------


def measure_rows(context: ReportContext, realisation: Remade) -> tuple[MeasureRow, ...]:
    """Every measure of the study on the recommended candidate: risks first, those that chose before others."""
    view, index = context.view, context.scenario.index
    runs = context.study.runs.of([index], "fresh")
    measures = [call.measure for call in view.measures]
    fresh = summarise(replace(runs, scenario=np.zeros(len(runs), np.int64)), measures, 1, view.allow_partial)
    rows, deciding = [], (view.risk, view.utility)
    for k in (*deciding, *(k for k in range(len(view.measures)) if k not in deciding)):
        call = view.measures[k]
        size = abs if call.measure.better == "zero" else float
        rows.append(
            MeasureRow(
                title=title_of(call),
                kind=call.measure.kind,
                meaning=call.meaning,
                unit=call.measure.unit,
                better=better_of(call),
                before=optional(size(float(view.original[k]))),
                mean=optional(float(as_read(call, view.summary.loss[index, k]))),
                se=optional(float(view.summary.loss_se[index, k])),
                released=optional(size(realisation.figures[str(call)])),
                fresh=optional(float(as_read(call, fresh.loss[0, k]))),
                chosen_by=k in deciding,
            )
        )
    return tuple(sorted(rows, key=lambda row: row.kind))
