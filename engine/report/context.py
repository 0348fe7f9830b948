"""The recommended candidate in context: the map, its neighbours by letter, measures, and the record of its choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import UsageError
from engine.decision.choice import measures_of
from engine.decision.states import decision_status
from engine.frontier.risk_utility_map import lettered
from engine.frontier.summary import Summary, losses, summarise
from engine.mechanisms import mechanism
from engine.release.scenarios import Results, RunStatus
from engine.report.candidate_rows import as_read, candidate_rows, further_within
from engine.report.facts import MeasureRow
from engine.report.losses import optional
from engine.report.map_facts import Map
from engine.report.parameters import bound_words as in_words
from engine.report.redaction import (
    Redactor,
    better_of,
    is_count_risk,
    meaning_of,
    title_of,
    unit_of,
)
from engine.report.sentences import noted_counts, unaltered_counts
from engine.study.map_reader import risk_bound, risk_utility_map

if TYPE_CHECKING:
    from engine.decision.states import DecisionStatus
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.release.scenarios import Choice, Scenario
    from engine.study.study import Study
    from engine.sweeps.remake import Remade

_GRID = 40  # rough places of very many other candidates along either axis
_MOST_PLACES = 2000


@dataclass(frozen=True)
class ReportContext:
    """A study seen from one scenario: its map, its letters (letter to place; those of ``also_within`` are no
    neighbours on the frontier but meet the bound) and what was recorded about it; ``results`` and ``summary`` are the
    map's with eq. 6 as counts of records."""

    study: Study
    scenario: Scenario
    view: RiskUtilityMap
    letters: Mapping[str, int]
    also_within: Mapping[str, int]
    status: DecisionStatus
    choice: Choice | None
    redact: Redactor
    results: Results
    summary: Summary

    @property
    def letter(self) -> str:
        """The recommended candidate's letter."""
        return next(letter for letter, index in self.letters.items() if index == self.scenario.index)

    @property
    def bound(self) -> float | None:
        """The bound on risk that counts: the lower of the plan's, where it is about the same measure, and the
        choice's."""
        return risk_bound(self.study, self.view.risk, self.choice.record.get("bound") if self.choice else None)

    @property
    def is_off_rule(self) -> bool:
        """Whether the plan has a rule and the choice is not what it picked."""
        return self.choice is not None and self.choice.record.get("planned") is False


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
    results = view.results
    figures = [call.measure for call in view.measures]
    summary = summarise(results, figures, len(view.scenarios), view.allow_partial)
    return ReportContext(
        study, scenario, view, letters, also_within, status, choice, Redactor.of(study, labels), results, summary
    )


def in_counts(study: Study, scenarios: Sequence[Scenario], results: Results) -> Results:
    """Realisations with eq. 6 as counts of records, run by run: each share times that run's unaltered records.

    Runs over records have noted their counts, means over their tables.  Where a run's unaltered records are unknown
    otherwise they are taken to be all, so that a count is not too low.
    """
    shares = [k for k, call in enumerate(study.measures) if is_count_risk(call)]
    if not shares or not len(results):
        return results
    values, n = results.values.copy(), int(study.about["n_records"])
    scenario_indices, of_run = np.unique(results.scenario, return_inverse=True)
    specs = [scenarios[index].spec for index in scenario_indices.tolist()]
    for k in shares:
        altered_per_change = [
            float(n - unaltered_counts(study.measures[k], study.plan.keys, spec, np.array(1.0), n)) for spec in specs
        ]
        unaltered_records = n - np.nan_to_num(np.array(altered_per_change))[of_run] * results.changed
        values[:, k] = np.round(values[:, k] * unaltered_records, 9)
        noted = noted_counts(study, k) if any(not mechanism(spec.mechanism).batched for spec in specs) else {}
        if noted:
            runs = zip(results.scenario.tolist(), results.replicate.tolist(), values[:, k].tolist(), strict=True)
            values[:, k] = [noted.get((index, replicate), count) for index, replicate, count in runs]
    return Results(results.scenario, results.replicate, results.status, results.changed, values)


def the_map(context: ReportContext) -> Map:
    """The frontier as the board sees it."""
    view, summary = context.view, context.summary
    risk, utility = view.measures[view.risk], view.measures[view.utility]
    defined = np.flatnonzero(~np.isnan(view.risk_loss) & ~np.isnan(view.utility_loss))
    all_risk = as_read(risk, summary.loss[defined, view.risk])
    all_utility = as_read(utility, view.utility_loss[defined])
    undominated = view.dominance.undominated[defined]
    bound, better, asked = context.bound, risk.measure.better, context.study.plan.decision.run_share
    places = np.column_stack([all_utility, all_risk])
    places[~undominated] = _rough(places[~undominated], places)
    within = None if bound is None else view.meets(-bound if better == "higher" else bound)[defined]
    original_risk = as_read(risk, view.original_losses[view.risk])
    return Map(
        risk_title=title_of(risk),
        risk_unit=unit_of(risk),
        risk_better=better_of(risk),
        utility_title=title_of(utility),
        utility_unit=unit_of(utility),
        utility_better=better_of(utility),
        n_candidates=len(view.scenarios),
        n_frontier=int(view.dominance.undominated.sum()),
        n_within=None if within is None else int(np.count_nonzero(within)),
        runs=int(summary.counted[context.scenario.index]),
        failed=int(summary.failed[context.scenario.index]),
        bound=bound_words(context),
        nothing_risk=optional(float(original_risk)),
        nothing_utility=optional(float(as_read(utility, view.original_losses[view.utility]))),
        candidates=candidate_rows(context),
        frontier=tuple(sorted((u, r) for u, r in places[undominated].tolist())),
        others=_distinct(places[~undominated]),
        within_at=None if within is None else _distinct(places[within]),
        recall=optional(round(view.recall, 2)),
        bound_at=None if bound is None else float(bound),
        bound_asked=None if bound is None or asked is None else float(asked),
    )


def bound_words(context: ReportContext, bound: float | None = None) -> str:
    """A bound on risk in words, the one that counts if none is named; empty without one."""
    bound = context.bound if bound is None else bound
    if bound is None:
        return ""
    return in_words(context.view.measures[context.view.risk], bound, context.study.plan.decision)


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
    """Each place once, in order."""
    return tuple(sorted({(utility, risk) for utility, risk in places.tolist()}))


def _released(context: ReportContext, realisation: Remade, k: int) -> float:
    """The remade run's figure as it is shown."""
    call = context.view.measures[k]
    figure = float(as_read(call, losses(np.array([[realisation.figures[str(call)]]]), [call.measure]))[0, 0])
    return figure


def _fresh(context: ReportContext) -> Summary | None:
    """The candidate on fresh runs, a summary of one scenario; None before there are any."""

    runs = context.study.runs.of([context.scenario.index], "fresh")
    if not len(runs):
        return None
    measures = [call.measure for call in context.view.measures]
    renumbered = replace(runs, scenario=np.zeros(len(runs), np.int64))
    return summarise(renumbered, measures, 1, context.view.allow_partial)


def measure_rows(context: ReportContext, realisation: Remade) -> tuple[MeasureRow, ...]:
    """Every measure of the study on the recommended candidate: risks first, those that chose before others."""
    view, index = context.view, context.scenario.index
    fresh = _fresh(context)
    rows = []
    order = [view.risk, view.utility, *(k for k in range(len(view.measures)) if k not in (view.risk, view.utility))]
    for k in order:
        call = view.measures[k]
        mean = float(as_read(call, context.summary.loss[index, k]))
        fresh_mean = None if fresh is None else float(as_read(call, fresh.loss[0, k]))
        size = abs if call.measure.better == "zero" else float
        rows.append(
            MeasureRow(
                title=title_of(call),
                kind=call.measure.kind,
                meaning=meaning_of(call),
                unit=unit_of(call),
                better=better_of(call),
                before=optional(size(float(view.original[k]))),
                mean=optional(mean),
                se=optional(float(context.summary.loss_se[index, k])),
                released=optional(_released(context, realisation, k)),
                fresh=None if fresh_mean is None else optional(fresh_mean),
                chosen_by=k in (view.risk, view.utility),
            )
        )
    return tuple(sorted(rows, key=lambda row: row.kind))
