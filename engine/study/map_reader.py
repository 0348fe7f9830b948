"""The risk–utility map of a study, read from its file, and its frontier while a sweep still fills it.

A map reads every realisation into memory and works out errors and dominance.  Beside a running sweep the database adds
up what is stored instead and hands over one row per scenario; once the sweep has ended, its stored summary is taken.

A database rounds sums otherwise than the map does, and one bit decides which of two level candidates dominates the
other.  So whatever comes near the frontier is added up once more, as the map does it: both name the same candidates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypedDict

import numpy as np

from engine.common.errors import Remedy, UsageError
from engine.frontier.choosing import RunQuantiles, first_within, hypervolume, run_quantiles
from engine.frontier.risk_utility_map import RiskUtilityMap, check_realisation, over_limits
from engine.frontier.summary import Dominance, Summary, dominance, summarise
from engine.frontier.undominated import undominated
from engine.measures.base import Kind
from engine.measures.planned import EditLimit, deciding_column, edit_limits
from engine.plan.types import FIRST_WITHIN
from engine.release.scenarios import NoteKind, Results, RunStatus, StoredResults
from engine.release.spec import MOST_REPLICATES
from engine.study.runs import RunTable
from engine.study.study import Study


def objective_indices(study: Study, risk: str | None = None, utility: str | None = None) -> tuple[int, int]:
    """Return the columns of the risk and the utility measure: as asked, else as the plan's decision says, else those
    that decide by default (:func:`engine.measures.planned.deciding_column`); :class:`UsageError` where there is
    none."""
    indices = []
    asked: tuple[tuple[Kind, str | None], ...] = (
        ("risk", risk or study.plan.decision.risk),
        ("utility", utility or study.plan.decision.utility),
    )
    for kind, named in asked:
        if named:
            index = study.subject.measure_index(named)
            got = study.measures[index].measure.kind
            if got != kind:
                raise UsageError(f"'{named}' is a measure of {got}, wanted one of {kind}")
        else:
            first = deciding_column(study.plan, study.measures, kind)
            if first is None:
                raise UsageError(
                    f"the study has no {kind} measure; its measures are {', '.join(map(str, study.measures))}"
                )
            index = first
        indices.append(index)
    return indices[0], indices[1]


def objective_set(study: Study, texts: Sequence[str]) -> tuple[int, ...]:
    """Return the columns of two or more different measures that together define a frontier; :class:`UsageError`
    otherwise."""
    indices = tuple(study.subject.measure_index(text) for text in texts)
    if len(indices) < 2 or len(set(indices)) < len(indices):
        raise UsageError(f"objectives == {','.join(texts)}, must name two or more different measures")
    return indices


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
    """Return the map of a study; ``fresh`` uses re-evaluations on fresh replicates in place of the sweep's own.

    ``objectives`` names any two or more measures that define the frontier together (default: risk and utility).  What
    all realisations add up to is cached in the study, so a map need not read them; ``as_writer`` is for the sweep that
    has just filled it.
    """
    together = objective_set(study, objectives) if objectives else ()
    for kind, named in (("risk", risk), ("utility", utility)):
        first = next((str(study.measures[k]) for k in together if study.measures[k].measure.kind == kind), None)
        if named is None and first:
            risk, utility = (first, utility) if kind == "risk" else (risk, first)
    indices = objective_indices(study, risk, utility)
    together = together or indices
    table: RunTable = "fresh" if fresh else "realisation"
    cached = partial(study.cache.get, since=study.database.data_version, as_writer=as_writer)
    original, scenarios = study.original, study.scenarios
    results, summary = _summary(study, table, allow_partial, cached, as_writer)
    if as_writer:
        study.keep_scenarios()
    _refuse_mixture(study, summary, together)
    void = _void(study, table, results, allow_partial, cached)
    return RiskUtilityMap(
        scenarios=scenarios,
        measures=study.measures,
        risk=indices[0],
        utility=indices[1],
        results=results,
        summary=summary,
        dominance=_dominance(study, table, summary, results, together, allow_partial, cached, void),
        original=np.array([original[str(call)] for call in study.measures]),
        allow_partial=allow_partial,
        objectives=together,
        single_runs=_single_runs(study, table, results, indices[0], allow_partial, cached),
        households=_households(study, table, cached),
        reasons=_reasons(study, summary, together),
        void=void,
        **_edit_limits(study, table, results, summary, indices[0], allow_partial, cached),
    )


def remapped(study: Study, view: RiskUtilityMap, risk: str | None = None, utility: str | None = None) -> RiskUtilityMap:
    """Return a map under other measures, from the realisations and means of a map of the same study, which has not
    grown since."""
    indices = objective_indices(study, risk, utility)
    _refuse_mixture(study, view.summary, indices)
    cached = partial(study.cache.get, since=study.database.data_version)
    certainty = _dominance(
        study, "realisation", view.summary, view.results, indices, view.allow_partial, cached, view.changes_nothing
    )
    return replace(
        view,
        risk=indices[0],
        utility=indices[1],
        objectives=indices,
        dominance=certainty,
        reasons=_reasons(study, view.summary, indices),
        single_runs=_single_runs(study, "realisation", view.results, indices[0], view.allow_partial, cached),
        **_edit_limits(study, "realisation", view.results, view.summary, indices[0], view.allow_partial, cached),
    )


def _reasons(study: Study, summary: Summary, columns: Sequence[int]) -> dict[int, str]:
    """The first note on a figure that is undefined, by the measure's column, for those that have one."""
    undefined = {k: np.flatnonzero((summary.counted > 0) & np.isnan(summary.loss[:, k])) for k in columns}
    notes = {k: study.notes.of(int(scenarios[0])) for k, scenarios in undefined.items() if len(scenarios)}
    found = {k: [n.text for n in of if n.kind is NoteKind.FIGURE and n.measure == k] for k, of in notes.items()}
    return {k: texts[0] for k, texts in found.items() if texts}


Arrays = dict[str, np.ndarray]
Cached = Callable[[str, Callable[[], Arrays]], Arrays]
"""Returns the arrays cached under a name, or those that it computes and caches."""


def _summary(
    study: Study, table: RunTable, allow_partial: bool, cached: Cached, as_writer: bool
) -> tuple[Results, Summary]:
    """Realisations, unread where their summary is known, and the summary."""
    measures, n = [call.measure for call in study.measures], study.n_scenarios
    read: list[Results] = []

    def compute() -> Arrays:
        read.append(study.runs.results(table, as_writer=as_writer))
        return vars(summarise(read[0], measures, n, allow_partial))

    # fresh runs are few: adding them up takes less than what their means would take in the study
    summary = Summary(**(cached(summary_name(allow_partial), compute) if table == "realisation" else compute()))
    if read:
        return read[0], summary
    rows = int(summary.counted.sum()) + (0 if allow_partial else int(summary.failed.sum()))
    path = None if study.in_memory else study.path

    def again() -> Results:
        if path is None:
            results = study.runs.results(table)
        else:  # the study that the map came from may be closed by now
            with Study.open(path) as now:
                results = now.runs.results(table)
        # it may have grown since
        return replace(results, values=results.values[:, : len(measures)])

    return StoredResults(rows, again), summary


def summary_name(allow_partial: bool) -> str:
    """Name under which a study caches the summary of its realisations."""
    return f"realisation {allow_partial} summary"


def _dominance(
    study: Study,
    table: RunTable,
    summary: Summary,
    results: Results,
    objectives: Sequence[int],
    allow_partial: bool,
    cached: Cached,
    void: np.ndarray,
) -> Dominance:
    """Dominance over these objectives, as cached in the study or computed from its realisations; scenarios that are the
    original (``void``) are not on the frontier."""
    measures = [call.measure for call in study.measures]

    def compute() -> Arrays:
        fields = vars(dominance(summary, results, measures, objectives, allow_partial))
        return {name: np.asarray(value) for name, value in fields.items()}

    name = f"{table} {allow_partial} dominance {'+'.join(map(str, objectives))}"
    arrays = cached(name, compute)
    return Dominance(arrays["undominated"] & ~void, arrays["clear"], arrays["share"], float(arrays["z"]))


def _single_runs(
    study: Study, table: RunTable, results: Results, risk: int, allow_partial: bool, cached: Cached
) -> RunQuantiles | None:
    """Quantiles of single runs of a risk measure (its column), as cached in the study or computed from its runs; None
    where the plan bounds the mean."""
    share, name = study.plan.decision.run_share, study.plan.decision.probability
    if share is None:
        return None

    def compute() -> Arrays:
        counted = results.counted(allow_partial)
        loss = study.measures[risk].measure.loss(results.values[counted, risk])
        quantiles = run_quantiles(loss, results.scenario[counted], len(study.scenarios), share)
        return {name: getattr(quantiles, name) for name in ("quantile", "low", "high", "runs")}

    return RunQuantiles(share, **cached(f"{table} {allow_partial} quantile {risk} {name}", compute))


class _EditLimits(TypedDict, total=False):
    edit_limits: tuple[EditLimit, ...]
    of_rules: np.ndarray
    held: np.ndarray


def _edit_limits(
    study: Study,
    table: RunTable,
    results: Results,
    summary: Summary,
    risk: int,
    allow_partial: bool,
    cached: Cached,
) -> _EditLimits:
    """What a map says of limits of edit rules; nothing where the plan has none."""
    limits, share = edit_limits(study.plan, study.measures), study.plan.decision.run_share
    if not limits:
        return {}
    columns = [limit.column for limit in limits]
    if share is None:
        return {"edit_limits": limits, "of_rules": summary.mean[:, columns]}

    def compute() -> Arrays:
        counted = results.counted(allow_partial)
        values, scenario = results.values[counted], results.scenario[counted]
        losses = study.measures[risk].measure.loss(values[:, risk])
        held = np.where(over_limits(values, limits) & ~np.isnan(losses), np.inf, losses)
        n = study.n_scenarios
        of_rules = [run_quantiles(values[:, column], scenario, n, share).quantile for column in columns]
        return {"of_rules": np.column_stack(of_rules), "held": run_quantiles(held, scenario, n, share).quantile}

    names = " ".join(f"{limit.column} at most {limit.at_most}" for limit in limits)
    found = cached(f"{table} {allow_partial} limits {names} {risk} {study.plan.decision.probability}", compute)
    return {"edit_limits": limits, "of_rules": found["of_rules"], "held": found["held"]}


def _void(study: Study, table: RunTable, results: Results, allow_partial: bool, cached: Cached) -> np.ndarray:
    """Mask of the scenarios none of whose counted runs changes anything."""

    def compute() -> Arrays:
        counted = results.counted(allow_partial)
        runs, still = (
            np.bincount(results.scenario[mask], minlength=study.n_scenarios)
            for mask in (counted, counted & results.changes_nothing)
        )
        return {"mask": (runs > 0) & (runs == still)}

    return np.asarray(cached(f"{table} {allow_partial} void", compute)["mask"])


def _households(study: Study, table: RunTable, cached: Cached) -> np.ndarray | None:
    """The mean number of households that each scenario moved, by what its runs noted; None where the plan names no
    column that numbers them."""
    if study.plan.data.unit is None:
        return None

    def compute() -> Arrays:
        moved, runs = np.zeros((2, study.n_scenarios))
        for note in study.notes.on(None, NoteKind.DIAGNOSTICS):
            if (note.replicate > MOST_REPLICATES) == (table == "fresh"):
                count = json.loads(note.text).get("households_swapped")
                if count is not None:
                    moved[note.scenario] += count
                    runs[note.scenario] += 1
        return {"mean": np.divide(moved, runs, out=np.full(len(runs), np.nan), where=runs > 0)}

    return cached(f"{table} households", compute)["mean"]


def _refuse_mixture(study: Study, summary: Summary, objectives: Sequence[int]) -> None:
    """A frontier compares mechanisms only on measures that all of them have; otherwise it says which has not."""
    codes, names = study.scenarios.coded("mechanism")
    by_mechanism: dict[str, np.ndarray] = {}
    for code, name in enumerate(names):
        if len(indices := np.flatnonzero((codes == code) & (summary.counted > 0))):
            by_mechanism[name] = indices
    if len(by_mechanism) < 2:
        return
    for k in objectives:
        undefined = {name: p for name, p in by_mechanism.items() if np.isnan(summary.mean[p, k]).all()}
        if undefined and len(undefined) < len(by_mechanism):
            name, indices = next(iter(undefined.items()))
            raise UsageError(
                f"measure '{study.measures[k]}' is undefined for mechanism '{name}' (candidate "
                f"{study.scenarios[indices[0]].label}: {study.measures[k].measure.undefined}); choose a measure that "
                "all mechanisms of the study have, or show them in studies of their own"
            )


def risk_bound(study: Study, risk: int | None, own: float | None = None) -> float | None:
    """The bound on a risk measure (its column) that a release is held against: the lower of its ``own`` and the plan's,
    which is on the plan's risk measure; None without one."""
    bounds, planned = [] if own is None else [own], study.plan.decision.max_risk
    if planned is not None and risk == planned_risk(study):
        bounds.append(float(planned))
    return min(bounds, default=None)


def planned_risk(study: Study) -> int | None:
    """The column of the plan's risk measure; None in a study without one."""
    if study.plan.decision.risk:
        return study.subject.measure_index(study.plan.decision.risk)
    return deciding_column(study.plan, study.measures, "risk")


def realisation_of(
    study: Study, results: Results, index: int, risk: int | None, *, bound: float | None = None, allow_partial: bool
) -> int:
    """Return the replicate of a scenario (its index) that is to be released, by the plan's rule.

    That is the first run that meets the bound (its own, ``bound``, and the plan's) under a risk measure (its column)
    and the limits of edit rules, and is less risky than the data unchanged; the first completed one where the plan says
    so, without a risk measure, or where no run is such; or a number fixed beforehand.  Runs without any change are
    passed over where others exist.
    :class:`UsageError` where there is none.
    """
    rule = study.plan.decision.realisation
    mine = results.scenario == index
    label = study.scenarios[index].label
    if rule not in (FIRST_WITHIN, "first"):
        check_realisation(results, index, int(rule), label, allow_partial)
        return int(rule)
    usable = np.flatnonzero(mine & results.counted(allow_partial))
    if not len(usable):
        if mine.any():
            why = study.notes.warning_on(index)
            raise UsageError(
                f"every run of {label} failed: no feasible pair was left before the rate was reached"
                f"{f' ({why})' if why else ''}; one is taken only where failed runs count too",
                Remedy.FAILED_RUNS,
            )
        raise UsageError(f"{label} has not been run yet; finish the sweep first")
    usable = usable[np.argsort(results.replicate[usable], kind="stable")]
    changing = usable[results.status[usable] != RunStatus.NOOP]
    usable = changing if len(changing) else usable
    if rule == "first" or risk is None:
        return int(results.replicate[usable[0]])
    call = study.measures[risk]
    loss, original = call.measure.loss(results.values[usable, risk]), np.array([study.original[str(call)]])
    loss = np.where(over_limits(results.values[usable], edit_limits(study.plan, study.measures)), np.inf, loss)
    limit = risk_bound(study, risk, bound)
    place = first_within(loss, np.inf if limit is None else limit, float(call.measure.loss(original)[0]))
    return int(results.replicate[usable[place or 0]])


_ROUNDING = 1e-9  # of the largest figure: more than two ways to add it up can differ by, less than anybody looks at


@dataclass(frozen=True)
class LiveFrontier:
    """The frontier so far.

    ``runs`` is how many realisations it rests on.  ``scenarios`` are the indices of those with a defined mean,
    ``losses`` their mean losses of shape ``(len(scenarios), 2)`` (risk, then utility; smaller is better),
    ``undominated`` marks those on the frontier.  ``volume`` is the hypervolume that it dominates up to ``reference``;
    of two with one reference, the larger is ahead.
    """

    runs: int
    scenarios: np.ndarray
    losses: np.ndarray
    undominated: np.ndarray
    reference: tuple[float, float]
    volume: float

    @property
    def area(self) -> float:
        """The share, 0 to 1, that the frontier dominates of the rectangle between the best and the reference losses."""
        if not len(self.losses):
            return 0.0
        rectangle = float(np.prod(np.asarray(self.reference) - self.losses.min(axis=0)))
        return self.volume / rectangle if rectangle > 0 else 1.0


def live_frontier(
    study: Study,
    risk: str | None = None,
    utility: str | None = None,
    *,
    allow_partial: bool = False,
    reference: Sequence[float] | None = None,
) -> LiveFrontier:
    """Return the frontier over the means of the runs that a study holds now: the same candidates as the map's.

    ``reference`` bounds the hypervolume from above (two losses); without it the worst mean losses so far are taken, and
    may be handed on to the next call.  Raises :class:`UsageError` for measures that the study does not have or that are
    of another kind, and for a reference that is not two finite numbers.
    """
    objectives = objective_indices(study, risk, utility)
    summary = study.cache.load(summary_name(allow_partial))
    indices, n, means = _sums(study, objectives, allow_partial) if summary is None else _of_summary(summary, objectives)
    defined = ~np.isnan(means).any(axis=1)
    losses = means[defined]
    on = undominated(losses) & ~np.isin(indices[defined], _changes_nothing(study))
    if reference is None:
        corner = losses.max(axis=0) if len(losses) else np.zeros(2)
    elif len(reference) == 2 and np.isfinite(reference).all():
        corner = np.asarray(reference, dtype=float)
    else:
        raise UsageError(f"reference is {list(reference)}, must be two finite losses, of risk and of utility")
    return LiveFrontier(
        runs=int(n.sum()),
        scenarios=indices[defined],
        losses=losses,
        undominated=on,
        reference=(float(corner[0]), float(corner[1])),
        volume=hypervolume(losses[on], corner),
    )


def _changes_nothing(study: Study) -> np.ndarray:
    """Indices of the scenarios whose runs all left the data as they were."""
    all_void = f"min(status = {int(RunStatus.NOOP)})"
    rows = study.database.rows(f"select scenario from realisation group by scenario having {all_void}")
    return np.array([index for (index,) in rows], np.int64)


def _of_summary(summary: dict[str, np.ndarray], objectives: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of the scenarios that were run, how often, and their mean losses, from the cached summary."""
    indices = np.flatnonzero(summary["counted"])
    return indices, summary["counted"][indices], summary["loss"][:, list(objectives)][indices]


def _sums(study: Study, objectives: Sequence[int], allow_partial: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same, added up by the database and near the frontier anew: NaN where the measure is undefined in one
    run."""
    sums = ", ".join(f"count(m{k}), total({_loss(study, k)}), max(abs(m{k}))" for k in objectives)
    which = "" if allow_partial else f" where status != {RunStatus.FAILED}"
    rows = study.database.rows(
        f"select scenario, count(*), {sums} from realisation{which} group by scenario order by scenario"
    )
    columns = np.array(rows, dtype=float).reshape(-1, 8)
    indices, n = columns[:, 0].astype(np.int64), columns[:, 1]
    means = np.where(columns[:, [2, 5]] == n[:, None], columns[:, [3, 6]] / n[:, None], np.nan)
    defined = np.flatnonzero(~np.isnan(means).any(axis=1))
    if len(defined):
        slack = _ROUNDING * np.maximum(columns[defined][:, [4, 7]].max(axis=0), np.finfo(float).tiny)
        near = defined[_near_frontier(means[defined], slack)]
        means[near] = _as_mapped(study, objectives, allow_partial, indices[near])
    return indices, n, means


def _near_frontier(losses: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Mask of what nothing beats by more than ``slack`` on both objectives."""
    on = losses[undominated(losses)]
    on = on[np.argsort(on[:, 0], kind="stable")] + slack
    lowest = np.minimum.accumulate(on[:, 1])
    at = np.searchsorted(on[:, 0], losses[:, 0], side="right")
    return np.asarray((at == 0) | (lowest[np.maximum(at, 1) - 1] > losses[:, 1]))


def _as_mapped(study: Study, objectives: Sequence[int], allow_partial: bool, indices: np.ndarray) -> np.ndarray:
    """Mean losses of some scenarios (their indices in ascending order), to the last bit as the map has them."""
    runs = study.runs.of(indices.tolist())
    runs = replace(runs, scenario=np.searchsorted(indices, runs.scenario), values=runs.values[:, list(objectives)])
    return summarise(runs, [study.measures[k].measure for k in objectives], len(indices), allow_partial).loss


def _loss(study: Study, k: int) -> str:
    """The column of a measure turned so that smaller is better, as :meth:`engine.measures.Measure.loss` does."""
    return {"lower": "m{}", "higher": "-m{}", "zero": "abs(m{})"}[study.measures[k].measure.better].format(k)
