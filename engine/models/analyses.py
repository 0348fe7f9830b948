"""Fit the plan's declared analyses on the original once and on every release.

Where a release publishes one table its intervals are naive: what the mechanism adds to the uncertainty is not in them.
With several tables they are combined by Reiter's rules (:mod:`engine.models.analyses`).

Reiter's combining rules for estimates from several partially synthetic releases.

Reiter (2003), Inference for partially synthetic, public use microdata sets, Survey Methodology 29(2), 181-188.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.processes import one_thread
from engine.common.registry import remembered
from engine.models import statsmodels_fit
from engine.models.formulas import Design, Rows, design
from engine.models.record_release import RecordRelease, numbers_of, numeric_columns, strata_names
from engine.models.regression import FAST, OK, Solved, solve
from engine.models.statsmodels_fit import Model
from engine.plan.entries import ALL, AnalysisPlan
from engine.release.records import ReleasedTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.data.microdata import Microdata
    from engine.plan import Plan


DegreesOfFreedom = Literal["reiter", "printed"]
DF: tuple[DegreesOfFreedom, ...] = get_args(DegreesOfFreedom)
"""Degrees of freedom: Reiter's, or as printed in Little and Liu (an erratum: 1 + 1/gamma, squared)."""


class Combined(NamedTuple):
    """Per estimate: mean over releases, mean variance within, variance between, total variance, degrees of freedom and
    the fraction of information lost, ``gamma = (B/D) / T`` in [0, 1) (NaN for a single release)."""

    estimate: np.ndarray
    within: np.ndarray
    between: np.ndarray
    total: np.ndarray
    df: np.ndarray
    gamma: np.ndarray


def mean_over_releases(values: np.ndarray) -> np.ndarray:
    """Mean over the first axis; of equal values that value itself, bit for bit."""
    result: np.ndarray = np.where((values == values[0]).all(axis=0), values[0], values.mean(axis=0))
    return result


def combine(
    estimates: np.ndarray,
    variances: np.ndarray,
    complete_df: np.ndarray | float = np.inf,
    df: DegreesOfFreedom = "reiter",
) -> Combined:
    """Combine ``(D, m)`` estimates and their variances.

    ``T = W + B/D`` and ``nu = (D-1) / gamma**2``, at most ``complete_df`` (the degrees of freedom of the analysis on
    one data set).  With one release T is W and says nothing of what the mechanism adds.  NaN where an estimate is NaN
    in any release.  A mean variance of zero is an :class:`EngineError`.
    """
    if df not in DF:
        raise UsageError(f"df == '{df}', must be {' or '.join(DF)}.{did_you_mean(df, DF)}")
    q, v = np.atleast_2d(np.asarray(estimates, float)), np.atleast_2d(np.asarray(variances, float))
    if q.shape != v.shape:
        raise EngineError(f"estimates of shape {q.shape} and variances of shape {v.shape}, must be of one shape")
    if (v < 0).any() or (v.mean(axis=0) == 0).any():
        raise EngineError("an estimate has no variance in any release; such estimates cannot be combined")
    d = len(q)
    mean, within = mean_over_releases(q), mean_over_releases(v)
    cap = np.broadcast_to(np.asarray(complete_df, float), mean.shape)
    if d == 1:
        nothing = np.full(mean.shape, np.nan)
        return Combined(mean, within, nothing, within, cap.copy(), nothing.copy())
    between = ((q - mean) ** 2).sum(axis=0) / (d - 1)
    between = np.where((q == q[0]).all(axis=0), 0.0, between)
    total = within + between / d
    gamma = (between / d) / total
    with np.errstate(divide="ignore"):
        nu = (d - 1) / gamma**2 if df == "reiter" else (d - 1) * (1 + 1 / gamma) ** 2
    return Combined(mean, within, between, total, np.minimum(nu, cap), gamma)


CONFIDENCE = 0.95


class Fitted(NamedTuple):
    """Estimates of one analysis on one table, one entry per coefficient and stratum (strata first): ``(m,)`` each.

    ``why`` is a code of :data:`engine.models.regression.WHY`.
    """

    estimate: np.ndarray
    se: np.ndarray
    df: np.ndarray
    why: np.ndarray


@dataclass(frozen=True)
class _Input:
    """Input of a fit: outcome, matrix, weights, and of every row its stratum and the records that it stands for."""

    y: np.ndarray
    x: np.ndarray
    weights: np.ndarray | None = None
    cells: np.ndarray | None = None
    counts: np.ndarray | None = None

    def equals(self, other: _Input) -> bool:
        """Return whether the fits must be the same."""
        return all(
            a is b or (a is not None and b is not None and np.array_equal(a, b))
            for a, b in zip(self._arrays, other._arrays, strict=True)
        )

    @property
    def _arrays(self) -> tuple[np.ndarray | None, ...]:
        return self.y, self.cells, self.counts, self.weights, self.x

    def rows(self, cell: int) -> _Input:
        """One stratum."""
        if self.cells is None:
            return self
        return self.at(np.flatnonzero(self.cells == cell), strata=False)

    def at(self, rows: np.ndarray, strata: bool = True) -> _Input:
        """Some rows."""
        weights, cells, counts = (
            None if values is None else values[rows]
            for values in (self.weights, self.cells if strata else None, self.counts)
        )
        return _Input(self.y[rows], self.x[rows], weights, cells, counts)


@dataclass(frozen=True)
class Ready:
    """An analysis made ready on the original: design, strata, coefficient names and the original's fit.

    ``reported`` says that every figure is for people, and so of statsmodels.
    """

    design: Design
    cells: tuple[int, ...]
    strata: tuple[str, ...]
    names: tuple[str, ...]
    places: tuple[int, ...]
    fit_input: _Input
    strata_inputs: tuple[_Input, ...]
    fitted: Fitted
    reported: bool


class Compared(NamedTuple):
    """One analysis before and after, ``(m,)`` each over strata and coefficients; NaN where there is no figure.

    ``usable`` marks coefficients that the original estimates; ``why`` says why a release has none of them. ``gamma`` is
    the information lost by Reiter's rules (NaN for one table); ``half`` and ``half_after`` are half-widths of the 95 %
    intervals.
    """

    ready: Ready
    usable: np.ndarray
    before: Fitted
    after: np.ndarray
    se_after: np.ndarray
    half: np.ndarray
    half_after: np.ndarray
    why: np.ndarray
    gamma: np.ndarray


def check(plan: Plan, data: Microdata, wanted_names: Iterable[str] = ()) -> None:
    """Refuse analyses that the data do not allow: unknown columns, formulas that cannot be read, outcomes of the wrong
    kind; and unknown names of analyses among ``wanted_names``."""
    for name in wanted_names:
        chosen(plan, name)
    numeric_columns(plan, data)
    original = ReleasedTable(data)
    for analysis in plan.analyses:
        _input_of(design(analysis, original, plan), original, original, _places(analysis, data))


def chosen(plan: Plan, name: str) -> tuple[AnalysisPlan, ...]:
    """The analysis of that name, or all of them."""
    if name == ALL:
        return plan.analyses
    matching = tuple(analysis for analysis in plan.analyses if analysis.name == name)
    if not matching:
        names = [analysis.name for analysis in plan.analyses]
        raise UsageError(f"analysis == '{name}', which the plan does not declare.{did_you_mean(name, names)}")
    return matching


def _places(analysis: AnalysisPlan, data: Microdata) -> tuple[int, ...]:
    return tuple(sorted(data.domain.indices(analysis.by)))


def _input_of(ready: Design, table: ReleasedTable, original: ReleasedTable, places: tuple[int, ...]) -> _Input:
    """The rows that a fit is made from; records that miss a number or have no weight stay out.

    Where attributes are all that is used, rows are the distinct cells with their counts.
    """
    if not ready.columns and not ready.analysis.weighted:
        return _cells(ready, table, places)
    y, x, complete = ready.build(table, original)
    weights = None
    if ready.analysis.weighted:
        assert ready.plan.data.weight is not None
        weights = numbers_of(table, original, ready.plan.data.weight, ready.plan)
        if (weights < 0).any():
            raise EngineError(f"weight '{ready.plan.data.weight}' is negative in {int((weights < 0).sum())} records")
        complete = complete & (weights > 0)
    fit_input = _Input(y, x, weights, table.cells(places) if places else None)
    return fit_input if complete.all() else fit_input.at(np.flatnonzero(complete))


def _cells(ready: Design, table: ReleasedTable, places: tuple[int, ...]) -> _Input:
    domain = table.data.domain
    used = tuple(sorted({*(j for j, name in enumerate(domain.names) if name in ready.analysis.columns), *places}))
    numbers = table.cells(used)
    if np.prod([float(domain.shape[j]) for j in used]) <= max(1000, 4 * len(numbers)):
        all_counts = np.bincount(numbers)
        occupied = np.flatnonzero(all_counts)
        counts = all_counts[occupied]
    else:
        occupied, counts = np.unique(numbers, return_counts=True)
    codes, remaining = {}, occupied
    for j in reversed(used):
        remaining, codes[j] = np.divmod(remaining, domain.shape[j])
    y, x, _ = ready.evaluate(Rows(domain, len(occupied), codes.__getitem__), {})
    strata = np.zeros(len(occupied), np.int64)
    for j in places:
        strata = strata * domain.shape[j] + codes[j]
    return _Input(y, x, None, strata if places else None, counts)


def ready(analysis: AnalysisPlan, original: ReleasedTable, plan: Plan, reported: bool = False) -> Ready:
    """The analysis made ready, once per original; for a figure that is ``reported`` to people by statsmodels alone."""
    with one_thread():
        return original.cached(("analysis", analysis, reported), lambda: _ready(analysis, original, plan, reported))


def _ready(analysis: AnalysisPlan, original: ReleasedTable, plan: Plan, reported: bool) -> Ready:
    prepared, places = design(analysis, original, plan), _places(analysis, original.data)
    fit_input = _input_of(prepared, original, original, places)
    if not len(fit_input.y):
        raise EngineError(f"analysis '{analysis.name}': no record has all that it uses")
    cells = np.unique(fit_input.cells) if fit_input.cells is not None else np.zeros(1, np.int64)
    strata = strata_names(original.data, places, cells) if places else [""]
    names = tuple(f"{s}: {name}" if s else name for s in strata for name in prepared.model.parameters)
    strata_inputs = tuple(fit_input.rows(cell) for cell in cells.tolist())
    fitted = _stack([_solve(stratum_input, prepared.model, reported) for stratum_input in strata_inputs])
    return Ready(
        prepared, tuple(cells.tolist()), tuple(strata), names, places, fit_input, strata_inputs, fitted, reported
    )


def _solve(fit_input: _Input, model: Model, reported: bool, start: np.ndarray | None = None) -> Solved:
    """One fit.  A sweep makes thousands, so its linear, logistic and Poisson ones are our own, which are many times
    faster (``benchmarks/twins.py``); all others are those of statsmodels."""
    if model.family.name in FAST and not reported:
        return solve(model.family.name, fit_input.x, fit_input.y, fit_input.weights, start, fit_input.counts)
    return statsmodels_fit.solve(model, fit_input.x, fit_input.y, fit_input.weights, fit_input.counts)


def _stack(solved: list[Solved]) -> Fitted:
    return Fitted(
        np.concatenate([result.estimate for result in solved]),
        np.concatenate([result.se for result in solved]),
        np.concatenate([np.full(len(result.estimate), result.df) for result in solved]),
        np.concatenate([result.why for result in solved]),
    )


def fit(ready: Ready, table: ReleasedTable, original: ReleasedTable) -> Fitted:
    """The analysis on one table; strata in which nothing it uses has changed keep the original's fit bit for bit."""
    if table is original:
        return ready.fitted
    with one_thread():
        return table.cached(("fit", ready.design.analysis, ready.reported), lambda: _fit(ready, table, original))


def _fit(ready: Ready, table: ReleasedTable, original: ReleasedTable) -> Fitted:
    fit_input = _input_of(ready.design, table, original, ready.places)
    if fit_input.equals(ready.fit_input):
        return ready.fitted
    model, solved = ready.design.model, []
    k = len(model.parameters)
    for s, (cell, before) in enumerate(zip(ready.cells, ready.strata_inputs, strict=True)):
        stratum_input = fit_input.rows(cell)
        old = Solved(
            ready.fitted.estimate[s * k : s * k + k],
            ready.fitted.se[s * k : s * k + k],
            float(ready.fitted.df[s * k]),
            ready.fitted.why[s * k : s * k + k],
        )
        solved.append(
            old if stratum_input.equals(before) else _solve(stratum_input, model, ready.reported, old.estimate)
        )
    return _stack(solved)


@remembered()
def compare(
    release: RecordRelease, analysis: AnalysisPlan, df: DegreesOfFreedom = "reiter", reported: bool = False
) -> Compared:
    """An analysis on the original and on a release, combined over its tables.

    ``reported`` asks for the figures that a person is shown: all of them are statsmodels'.
    """
    prepared = ready(analysis, release.original, release.plan, reported)
    fits = [fit(prepared, table, release.original) for table in release.tables]
    before = prepared.fitted
    usable = before.why == OK
    why = np.max([result.why for result in fits], axis=0)
    good = usable & (why == OK)
    after, se, half = (np.full(len(usable), np.nan) for _ in range(3))
    gamma = half.copy()
    if len(fits) == 1:
        after[good], se[good] = fits[0].estimate[good], fits[0].se[good]
        half[good] = quantile(fits[0].df[good]) * se[good]
    else:
        variances = np.array([result.se[good] ** 2 for result in fits])
        # Estimates without any variance in any table (a perfect fit) have no interval to combine.
        varies = variances.mean(axis=0) > 0
        at = np.flatnonzero(good)[varies]
        complete = np.min([result.df[at] for result in fits], axis=0) if len(at) else np.zeros(0)
        joined = combine(np.array([result.estimate[at] for result in fits]), variances[:, varies], complete, df)
        after[good] = mean_over_releases(np.array([result.estimate[good] for result in fits]))
        se[good], half[good] = 0.0, 0.0
        se[at], gamma[at] = np.sqrt(joined.total), joined.gamma
        half[at] = quantile(joined.df) * se[at]
    return Compared(prepared, usable, before, after, se, quantile(before.df) * before.se, half, why, gamma)


def quantile(df: np.ndarray) -> np.ndarray:
    """The two-sided 95 % quantile of Student's t, of the normal where ``df`` is infinite."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, (1 + CONFIDENCE) / 2))
