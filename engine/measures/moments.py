"""Means, covariances and correlations of the numeric columns, before and after.

Numeric columns are those of the plan (``numeric`` in [data]), else those that its declared analyses use.  Each figure
is the mean over the released tables.  With ``by`` the moments are those of every stratum of some attributes, the strata
being the original's; with ``weighted=1`` records count with their declared weight.  Missing numbers are left out pair
by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.processes import one_thread
from engine.measures.base import Figure, Measure, Summary, ZeroOne
from engine.models.record_release import RecordRelease, numbers_of, numeric_columns, strata_names
from engine.release.records import ReleasedTable

NO_COLUMNS = "the plan names no numeric columns and has no analyses that use any"
NO_BY = "none"
_ZERO = 1e-12


class Moments(NamedTuple):
    """Per stratum: means ``(s, p)`` and covariances ``(s, p, p)``."""

    means: np.ndarray
    covariances: np.ndarray


class _Setting(NamedTuple):
    columns: tuple[str, ...]
    places: tuple[int, ...]
    cells: np.ndarray
    strata: list[str]
    weighted: bool


def moments(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances (n - 1 in the denominator) of the columns of ``values`` with shape ``(n, p)``.

    Covariances are those of the records that have both numbers; NaN for fewer than two.  Weights are scaled to a mean
    of 1 over the records used, so that equal weights change nothing.
    """
    n, p = values.shape
    present = ~np.isnan(values)
    if n == 1:
        return values[0], np.full((p, p), np.nan)
    if present.all() and n > 1:
        origin = values[0]  # so that a column of one value has exactly no variance
        share = np.full(n, 1.0) if weights is None else weights * (n / weights.sum())
        shifted = values - origin
        centre = share @ shifted / n
        centred = shifted - centre
        return origin + centre, (centred * share[:, None]).T @ centred / (n - 1)
    means, covariances = np.full(p, np.nan), np.full((p, p), np.nan)
    for a in range(p):
        for b in range(a + 1):
            complete = present[:, a] & present[:, b]
            if not complete.any():
                continue
            pair, covariance = moments(values[complete][:, [a, b]], None if weights is None else weights[complete])
            covariances[a, b] = covariances[b, a] = covariance[0, 1]
            if a == b:
                means[a] = pair[0]
    return means, covariances


def _setting(release: RecordRelease, by: str, weighted: int) -> _Setting | None:
    columns = numeric_columns(release.plan, release.data)
    if not columns:
        return None
    if weighted and release.data.weight is None:
        raise UsageError("weighted == 1, but the plan declares no weight; name it as weight in [data]")
    names = () if by == NO_BY else tuple(piece.strip() for piece in by.split("+"))
    places = tuple(sorted(release.data.domain.indices(names)))
    cells = np.unique(release.original.cells(places)) if places else np.zeros(1, np.int64)
    strata = strata_names(release.data, places, cells) if places else [""]
    return _Setting(columns, places, cells, strata, bool(weighted))


def _moments(release: RecordRelease, table: ReleasedTable, setting: _Setting) -> Moments:
    key = ("moments", setting.columns, setting.places, setting.weighted)
    with one_thread():
        return table.cached(key, lambda: _formed(release, table, setting))


def _formed(release: RecordRelease, table: ReleasedTable, setting: _Setting) -> Moments:
    values = np.column_stack([numbers_of(table, release.original, c, release.plan) for c in setting.columns])
    weights = None
    if setting.weighted:
        assert release.data.weight is not None
        weights = numbers_of(table, release.original, release.data.weight, release.plan)
        if (weights < 0).any():
            raise EngineError(f"weight '{release.data.weight}' is negative in {int((weights < 0).sum())} records")
        values = np.where((weights > 0)[:, None], values, np.nan)
        weights = np.where(weights > 0, weights, 0.0)
    if not setting.places:
        return Moments(*(stack[None] for stack in moments(values, weights)))
    cells = table.cells(setting.places)
    per_stratum = []
    for cell in setting.cells.tolist():
        at = np.flatnonzero(cells == cell)
        per_stratum.append(moments(values[at], None if weights is None else weights[at]))
    return Moments(*(np.array(stack) for stack in zip(*per_stratum, strict=True)))


def _over_tables(
    release: RecordRelease, by: str, weighted: int, figure: Callable[[Moments, Moments, _Setting], tuple[float, str]]
) -> Figure:
    """A figure of moments before and after, averaged over tables; the note is the worst table's."""
    setting = _setting(release, by, weighted)
    if setting is None:
        return Figure(np.nan, NO_COLUMNS)
    before = _moments(release, release.original, setting)
    figures = [figure(before, _moments(release, table, setting), setting) for table in release.tables]
    values = np.array([value for value, _ in figures])
    worst = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
    return Figure(float(values.sum() / len(values)), figures[worst][1])


def _where(setting: _Setting, stratum: int, *columns: int) -> str:
    name = " and ".join(dict.fromkeys(setting.columns[c] for c in columns))
    return f"{name} in {setting.strata[stratum]}" if setting.strata[stratum] else name


def mean_shift(release: RecordRelease, places: tuple[int, ...], by: str = NO_BY, weighted: ZeroOne = 0) -> Figure:
    """Mean over numeric columns (and strata) of ``|mean after - mean before|`` in standard deviations of the original.

    The standard deviation is the column's over the whole original.  0 upwards, lower is better.  A stratum that a
    release leaves without numbers is left out and counted in the note.
    """
    overall = _setting(release, NO_BY, weighted)
    if overall is None:
        return Figure(np.nan, NO_COLUMNS)
    spread = np.sqrt(np.diagonal(_moments(release, release.original, overall).covariances[0]))

    def figure(before: Moments, after: Moments, setting: _Setting) -> tuple[float, str]:
        shift = np.full(before.means.shape, np.nan)
        np.divide(np.abs(after.means - before.means), spread, out=shift, where=(spread > 0)[None, :])
        notes = []
        if np.isnan(shift).all():
            return np.nan, "no numeric column varies in the original"
        s, c = np.unravel_index(int(np.nanargmax(shift)), shift.shape)
        if shift[s, c] > 0:
            notes.append(f"worst {_where(setting, int(s), int(c))}: {shift[s, c]:.3f} standard deviations")
        skipped = int((np.isnan(shift) & ~np.isnan(before.means)).sum())
        if skipped:
            notes.append(f"{skipped} of {shift.size} means left out (no spread, or nobody left)")
        return float(np.nanmean(shift)), "; ".join(notes)

    return _over_tables(release, by, weighted, figure)


def covariance_ratio(release: RecordRelease, places: tuple[int, ...], by: str = NO_BY, weighted: ZeroOne = 0) -> Figure:
    """Mean of ``|log(covariance after / covariance before)|`` over all entries of the covariance matrix (and strata).

    0 upwards, lower is better: 0.1 is about ten per cent up or down.  Both halves of the matrix count, as do the
    variances.  Left out and counted in the note: entries that are zero before (in size below 1e-12, or 1e-12 of the two
    standard deviations), and entries whose sign changed, which have no logarithm.
    """

    def figure(before: Moments, after: Moments, setting: _Setting) -> tuple[float, str]:
        old, new = before.covariances, after.covariances
        spread = np.sqrt(np.maximum(np.diagonal(old, axis1=1, axis2=2), 0))
        zero = np.abs(old) <= _ZERO * np.maximum(1, spread[:, :, None] * spread[:, None, :])
        comparable = ~(np.isnan(old) | np.isnan(new)) & ~zero
        ratio = np.divide(new, old, out=np.full(old.shape, np.nan), where=comparable)
        size = np.abs(np.log(ratio, out=np.full(old.shape, np.nan), where=ratio > 0))
        notes = []
        reversed_sign, vanished = int((ratio < 0).sum()), int((ratio == 0).sum())
        skipped = int((~comparable).sum())
        if reversed_sign:
            notes.append(f"{reversed_sign} of {int(comparable.sum())} covariances changed sign")
        if vanished:
            notes.append(f"{vanished} became zero")
        if skipped:
            notes.append(f"{skipped} of {old.size} left out (zero before, or too few records)")
        if np.isnan(size).all():
            return np.nan, "; ".join(["no covariance can be compared", *notes])
        s, a, b = np.unravel_index(int(np.nanargmax(size)), size.shape)
        if size[s, a, b] > 0:
            where = _where(setting, int(s), int(a), int(b))
            notes.insert(0, f"worst {where}: {ratio[s, a, b]:.2f} times the original")
        return float(np.nanmean(size)), "; ".join(notes)

    return _over_tables(release, by, weighted, figure)


def correlation_change(
    release: RecordRelease,
    places: tuple[int, ...],
    by: str = NO_BY,
    weighted: ZeroOne = 0,
    summary: Summary = "mean",
) -> Figure:
    """Mean (or largest) ``|r after - r before|`` of Pearson correlations of every two numeric columns (and strata).

    In [0, 2], lower is better.  Pairs without a correlation (a column does not vary) are left out and counted.
    """

    def figure(before: Moments, after: Moments, setting: _Setting) -> tuple[float, str]:
        p = len(setting.columns)
        if p < 2:
            return np.nan, "there is only one numeric column, so there are no correlations"
        a, b = np.triu_indices(p, 1)
        old, new = _correlations(before.covariances)[:, a, b], _correlations(after.covariances)[:, a, b]
        change = np.abs(new - old)
        notes = []
        skipped = int(np.isnan(change).sum())
        if skipped:
            notes.append(f"{skipped} of {change.size} left out (a column does not vary)")
        if np.isnan(change).all():
            return np.nan, "; ".join(["no correlation can be compared", *notes])
        s, k = np.unravel_index(int(np.nanargmax(change)), change.shape)
        if change[s, k] > 0:
            where = _where(setting, int(s), int(a[k]), int(b[k]))
            notes.insert(0, f"worst {where}: from {old[s, k]:.2f} to {new[s, k]:.2f}")
        return float(np.nanmean(change) if summary == "mean" else change[s, k]), "; ".join(notes)

    return _over_tables(release, by, weighted, figure)


def _correlations(covariances: np.ndarray) -> np.ndarray:
    spread = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0))
    scale = spread[:, :, None] * spread[:, None, :]
    result: np.ndarray = np.divide(covariances, scale, out=np.full(covariances.shape, np.nan), where=scale > 0)
    return result


_measure = partial(
    Measure.of,
    kind="utility",
    over="all",
    undefined="there is no numeric column with two different numbers",
    needs="records",
    cost="tens of microseconds for each stratum of a thousand records",
)


MEAN_SHIFT = _measure(
    mean_shift,
    symbol="Δx̄/s",
    title="Shift of means",
    least=0.0,
    unit="standard deviations of the original",
    source="standardised difference of means",
    meaning=(
        "How far the means of the numeric columns move, as a share of the usual spread between records. The plan "
        "may ask for the groups of an attribute apart, such as men and women."
    ),
)
COVARIANCE_RATIO = _measure(
    covariance_ratio,
    symbol="|log s*/s|",
    title="Ratio of covariances",
    least=0.0,
    unit="natural logarithm of the ratio",
    source="Oganian and Lesaja, ratios of covariance matrices by stratum",
    meaning=(
        "By what factor the variances and covariances of the numeric columns change on average, as a logarithm: 0.1 "
        "is about ten per cent up or down."
    ),
)
CORRELATION_CHANGE = _measure(
    correlation_change,
    symbol="|Δr|",
    title="Change of correlations",
    range="0 to 2",
    least=0.0,
    most=2.0,
    unit="correlation",
    source="absolute difference of Pearson correlations",
    meaning=(
        "How much the correlations between the numeric columns change: the mean over all pairs, or the largest "
        "change where the plan asks for it."
    ),
)
