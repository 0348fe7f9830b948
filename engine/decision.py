"""The risk–utility map of a study, and the rules that pick from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engine.errors import UsageError
from engine.evaluation import FAILED, Dominance, Results, StoredResults, Summary, dominance, losses, summarise
from engine.frontier import dominated_by, undominated
from engine.measures import MeasureCall
from engine.scenarios import Scenarios
from engine.study import Study
from engine.tradeoff import best_under_bound, hull_intervals, knee, straight_sum, supporting_line

_ROUNDING = 1e-12  # equal figures that were added up in another order may differ by so much, relatively


@dataclass(frozen=True)
class RiskUtilityMap:
    """All scenarios of a study under one risk and one utility measure (columns ``risk`` and ``utility`` of the values).

    The frontier is over ``objectives`` (columns too): these two, or any number of measures together.

    ``original`` are the figures of the unaltered data, always shown beside the candidates.  Scenarios without a counted
    run, or whose measure is undefined in one of them, have NaN means and take no part in frontiers.
    """

    scenarios: Scenarios
    measures: tuple[MeasureCall, ...]
    risk: int
    utility: int
    results: Results
    summary: Summary
    dominance: Dominance
    original: np.ndarray
    allow_partial: bool
    objectives: tuple[int, ...] = ()

    @property
    def risk_loss(self) -> np.ndarray:
        """Mean risk per scenario, smaller is better."""
        return self.summary.loss[:, self.risk]

    @property
    def utility_loss(self) -> np.ndarray:
        """Mean loss of utility per scenario, smaller is better."""
        return self.summary.loss[:, self.utility]

    @property
    def original_losses(self) -> np.ndarray:
        """The unaltered data's figures turned so that smaller is better."""
        return losses(self.original[None, :], [call.measure for call in self.measures])[0]

    @property
    def riskier_than_original(self) -> np.ndarray:
        """Mask of scenarios whose mean risk is above that of doing nothing: swapping can raise a small-cell risk."""
        return self.risk_loss > self.original_losses[self.risk]

    @property
    def n_without_run(self) -> int:
        """How many scenarios have no completed run."""
        return int((self.summary.counted == 0).sum())

    def realisations_undominated(self) -> np.ndarray:
        """Mask over the realisations that no other counted realisation dominates."""
        loss = losses(self.results.values, [call.measure for call in self.measures])[:, list(self.objectives)]
        loss[~self.results.counted(self.allow_partial)] = np.nan
        return undominated(loss)

    def dominators(self, place: int) -> np.ndarray:
        """Places of the scenarios whose means dominate this one's."""
        return np.asarray(dominated_by(self.summary.loss[:, list(self.objectives)], place))

    def under_bound(self, bound: float) -> int:
        """The most useful scenario with mean risk at or below ``bound`` (eq. 4 and 13); ties go to less risk, then to
        the earlier spec."""
        best = best_under_bound(self.risk_loss, self.utility_loss, bound)
        if best is None:
            if np.isnan(self.risk_loss).all():
                raise UsageError(
                    "no candidate has a completed run, so none can be chosen; --allow-partial includes failed runs"
                )
            least = int(np.nanargmin(self.risk_loss))
            raise UsageError(
                f"no candidate has risk at or below {bound:g}; the smallest is {self.risk_loss[least]:.4g}, that of"
                f" {self.scenarios[least].label}"
            )
        return best

    def by_slope(self, slope: float) -> list[int]:
        """The scenarios that a straight trade-off DR = slope·DU + c favours: one, or both ends when the slope is an
        edge's."""
        best = supporting_line(self.risk_loss, self.utility_loss, slope)
        if not best:
            raise UsageError(
                "no candidate has a completed run, so none can be chosen; --allow-partial includes failed runs"
            )
        return best

    def beaten_by_nothing(self, place: int, slope: float) -> tuple[float, float] | None:
        """The straight sums DR − slope·DU of a scenario and of the unaltered data, where by them doing nothing is
        better; None where it is not.

        Candidates compete with each other only, so the best of them may lose to releasing the data unchanged.
        """
        original = self.original_losses
        mine = straight_sum(float(self.risk_loss[place]), float(self.utility_loss[place]), slope)
        nothing = straight_sum(float(original[self.risk]), float(original[self.utility]), slope)
        rounding = _ROUNDING * max(abs(mine), abs(nothing))
        return (mine, nothing) if mine - nothing > rounding else None

    def knee(self) -> int | None:
        """The scenario at the knee of the frontier, an aid and not a rule."""
        return knee(self.risk_loss, self.utility_loss)

    def slope_intervals(self) -> list[tuple[int, float, float]]:
        """Per scenario at a corner of the frontier's hull, the slopes for which it wins."""
        return hull_intervals(self.risk_loss, self.utility_loss)

    def frontier(self) -> np.ndarray:
        """Places on the frontier, from least to most risk."""
        on = np.flatnonzero(self.dominance.undominated)
        return on[np.lexsort((self.utility_loss[on], self.risk_loss[on]))]


def objective_places(study: Study, risk: str | None = None, utility: str | None = None) -> tuple[int, int]:
    """Columns of the risk and the utility measure: as asked, else as the plan's decision says, else the first of each
    kind."""
    places = []
    for kind, asked in (
        ("risk", risk or study.plan.decision.risk),
        ("utility", utility or study.plan.decision.utility),
    ):
        if asked:
            place = study.measure_place(asked)
            got = study.measures[place].measure.kind
            if got != kind:
                raise UsageError(f"'{asked}' is a measure of {got}, wanted one of {kind}")
        else:
            place = next((i for i, call in enumerate(study.measures) if call.measure.kind == kind), -1)
            if place < 0:
                raise UsageError(
                    f"the study has no {kind} measure; its measures are {', '.join(map(str, study.measures))}"
                )
        places.append(place)
    return places[0], places[1]


def objective_set(study: Study, texts: Sequence[str]) -> tuple[int, ...]:
    """Columns of any number of measures that together define a frontier; each at most once."""
    places = tuple(study.measure_place(text) for text in texts)
    if len(places) < 2 or len(set(places)) < len(places):
        raise UsageError(f"objectives == {','.join(texts)}, must name two or more different measures")
    return places


def risk_utility_map(
    study: Study,
    risk: str | None = None,
    utility: str | None = None,
    *,
    objectives: Sequence[str] = (),
    allow_partial: bool = False,
    fresh: bool = False,
    as_writer: bool = False,
) -> RiskUtilityMap:
    """The map of a study; ``fresh`` uses re-evaluations on fresh replicates in place of the sweep's own.

    ``objectives`` names any two or more measures that define the frontier together (default: risk and utility).  What
    all realisations add up to is kept in the study, so a map need not read them; ``as_writer`` is for the sweep that
    has just filled it.
    """
    together = objective_set(study, objectives) if objectives else ()
    for kind, asked in (("risk", risk), ("utility", utility)):
        first = next((str(study.measures[k]) for k in together if study.measures[k].measure.kind == kind), None)
        if asked is None and first:
            risk, utility = (first, utility) if kind == "risk" else (risk, first)
    places = objective_places(study, risk, utility)
    together = together or places
    table = "fresh" if fresh else "realisation"
    keep = partial(study.remember, since=study.version, as_writer=as_writer)
    if as_writer:
        keep("scenario", study.scenarios.arrays)
    results, summary = _summary(study, table, allow_partial, keep, as_writer)
    _refuse_mixture(study, summary, together)
    original = study.original
    return RiskUtilityMap(
        scenarios=study.scenarios,
        measures=study.measures,
        risk=places[0],
        utility=places[1],
        results=results,
        summary=summary,
        dominance=_dominance(study, table, summary, results, together, allow_partial, keep),
        original=np.array([original[str(call)] for call in study.measures]),
        allow_partial=allow_partial,
        objectives=together,
    )


def remapped(study: Study, view: RiskUtilityMap, risk: str | None = None, utility: str | None = None) -> RiskUtilityMap:
    """A map under other measures, from the realisations and means of one of the same study that has not grown since."""
    places = objective_places(study, risk, utility)
    _refuse_mixture(study, view.summary, places)
    keep = partial(study.remember, since=study.version)
    found = _dominance(study, "realisation", view.summary, view.results, places, view.allow_partial, keep)
    return replace(view, risk=places[0], utility=places[1], objectives=places, dominance=found)


Keep = Callable[[str, Callable[[], dict[str, np.ndarray]]], dict[str, np.ndarray]]


def _summary(study: Study, table: str, allow_partial: bool, keep: Keep, as_writer: bool) -> tuple[Results, Summary]:
    """Realisations, unread where their summary is known, and the summary."""
    measures, n = [call.measure for call in study.measures], study.n_scenarios
    read: list[Results] = []

    def work() -> dict[str, np.ndarray]:
        read.append(study.results(table, as_writer=as_writer))
        return vars(summarise(read[0], measures, n, allow_partial))

    # fresh runs are few: adding them up takes less than what their means would take in the study
    summary = Summary(**(keep(summary_name(allow_partial), work) if table == "realisation" else work()))
    if read:
        return read[0], summary
    rows = int(summary.counted.sum()) + (0 if allow_partial else int(summary.failed.sum()))
    path = study.path

    def again() -> Results:
        # the study that the map came from may be closed by now, or have grown
        with Study.open(path) as now:
            results = now.results(table)
        return replace(results, values=results.values[:, : len(measures)])

    return StoredResults(rows, again), summary


def summary_name(allow_partial: bool) -> str:
    """Under which name a study keeps the summary of its realisations."""
    return f"realisation {allow_partial} summary"


def _dominance(
    study: Study,
    table: str,
    summary: Summary,
    results: Results,
    objectives: Sequence[int],
    allow_partial: bool,
    keep: Keep,
) -> Dominance:
    """Dominance over these objectives, as kept in the study or worked out from its realisations."""
    measures = [call.measure for call in study.measures]

    def work() -> dict[str, np.ndarray]:
        made = vars(dominance(summary, results, measures, objectives, allow_partial))
        return {name: np.asarray(value) for name, value in made.items()}

    name = f"{table} {allow_partial} dominance {'+'.join(map(str, objectives))}"
    kept = keep(name, work)
    return Dominance(kept["undominated"], kept["clear"], kept["share"], float(kept["z"]))


def _refuse_mixture(study: Study, summary: Summary, objectives: Sequence[int]) -> None:
    """A frontier compares mechanisms only on measures that all of them have; otherwise it says which has not."""
    codes, names = study.scenarios.coded("mechanism")
    by_mechanism: dict[str, np.ndarray] = {}
    for code, name in enumerate(names):
        if len(places := np.flatnonzero((codes == code) & (summary.counted > 0))):
            by_mechanism[name] = places
    if len(by_mechanism) < 2:
        return
    for k in objectives:
        undefined = {name: p for name, p in by_mechanism.items() if np.isnan(summary.mean[p, k]).all()}
        if undefined and len(undefined) < len(by_mechanism):
            name, places = next(iter(undefined.items()))
            raise UsageError(
                f"measure '{study.measures[k]}' is undefined for mechanism '{name}' (candidate "
                f"{study.scenarios[places[0]].label}: {study.measures[k].measure.undefined}); choose a measure that "
                "all mechanisms of the study have, or show them in studies of their own"
            )


def realisation_of(study: Study, results: Results, place: int, allow_partial: bool = False) -> int:
    """The replicate that stands for a scenario, by the plan's rule: the first completed one, or a number fixed
    beforehand."""
    rule = study.plan.decision.realisation
    mine = results.scenario == place
    label = study.scenarios[place].label
    if rule != "first":
        check_realisation(results, place, int(rule), label, allow_partial)
        return int(rule)
    usable = np.flatnonzero(mine & results.counted(allow_partial))
    if not len(usable):
        if mine.any():
            raise UsageError(
                f"every run of {label} failed: no feasible pair was left before the rate was reached; --allow-partial "
                "takes one all the same"
            )
        raise UsageError(f"{label} has not been run yet; finish the sweep first")
    return int(results.replicate[usable].min())


def check_realisation(results: Results, place: int, replicate: int, label: str, allow_partial: bool = False) -> int:
    """Row of a realisation; refuses one that does not exist or, unless allowed, that failed."""
    at = np.flatnonzero((results.scenario == place) & (results.replicate == replicate))
    if not len(at):
        most = int((results.scenario == place).sum())
        raise UsageError(f"{label} has no replicate {replicate}; it has {most}")
    row = int(at[0])
    if results.status[row] == FAILED and not allow_partial:
        raise UsageError(
            f"run {label}/{replicate} failed: it swapped {results.changed[row]} records before no feasible pair was "
            "left; --allow-partial takes it all the same"
        )
    return row
