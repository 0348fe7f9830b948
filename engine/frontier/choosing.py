"""Rules of choice: straight trade-offs, the share of runs within a limit, and how many runs settle either."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine.common.errors import UsageError
from engine.frontier.summary import CONFIDENCE, believed_errors, t_thresholds
from engine.frontier.summary import FEWEST_RUNS as FEWEST_RUNS
from engine.frontier.undominated import Floats, Index, as_losses, undominated

_POINTS_BELOW, _POWER = 0.1, 0.8  # a true share this much below the asked one is refuted with this chance
_FRESH_RUNS = 100
_FEW_RUNS = 100  # whole numbers for so many runs have a few hundred digits


def runs_needed(probability: Fraction) -> int:
    """Return how many runs a quantile of single runs takes: at least one run in expectation beyond it, and never fewer
    than :data:`FEWEST_RUNS`.  ``probability`` is above 0 and below 1."""
    beyond = 1 / (1 - probability)
    return max(FEWEST_RUNS, -(-beyond.numerator // beyond.denominator))


@cache
def fresh_runs_needed(probability: Fraction | None) -> int:
    """Return how many fresh runs can tell whether the share ``probability`` of all runs meets a bound; 100 where no
    share is asked for.

    They refute a true share that is :data:`_POINTS_BELOW` lower with a chance of at least :data:`_POWER`; the fewest
    tens that do, 100 for 90 %, and never fewer than :func:`runs_needed`.  A share is refuted where the upper limit of
    :func:`share_limits` is below it.
    """
    if probability is None:
        return _FRESH_RUNS
    from scipy.special import bdtr

    p, runs = float(probability), 10
    while True:
        counts = np.arange(runs + 1)
        refuting = int(np.count_nonzero(share_limits(counts, np.full(runs + 1, runs))[1] < p)) - 1
        if refuting >= 0 and bdtr(refuting, runs, max(p - _POINTS_BELOW, 0.0)) >= _POWER:
            return max(runs, runs_needed(probability))
        runs += 10


@dataclass(frozen=True)
class RunQuantiles:
    """A quantile of the single runs of each scenario, as arrays of shape ``(scenarios,)``.

    ``quantile`` is the smallest loss that at least the share ``probability`` of the runs do not exceed; ``low`` and
    ``high`` are the ends of its interval at the confidence of :data:`engine.frontier.summary.CONFIDENCE`, infinite
    where so few runs put no end to it.  ``runs`` counts the runs.  A scenario without a run, or with a run whose loss
    is undefined, has NaN throughout.
    """

    probability: Fraction
    quantile: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: np.ndarray

    @property
    def missing(self) -> np.ndarray:
        """The number of runs that each scenario still needs before its quantile supports a choice; 0 where it has
        enough."""
        return np.asarray(np.maximum(runs_needed(self.probability) - self.runs, 0))

    @property
    def supported(self) -> np.ndarray:
        """Mask of the scenarios with a quantile and with enough runs."""
        return np.asarray(~np.isnan(self.quantile) & (self.missing == 0))

    def eligible(self, bound: float) -> np.ndarray:
        """Mask of the scenarios that meet ``bound``: enough runs, and the quantile at or below the bound."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.supported & (self.quantile <= bound))


def run_quantiles(loss: np.ndarray, scenario: np.ndarray, n_scenarios: int, probability: Fraction) -> RunQuantiles:
    """Return the quantiles of single runs by scenario.

    ``loss`` holds one loss per counted run and ``scenario`` the index of its scenario, both of shape ``(runs,)``.
    """
    counts = np.bincount(scenario, minlength=n_scenarios)
    in_order = (scenario[1:] > scenario[:-1]).all()  # one run of each, of as many scenarios as there may be
    losses = loss if in_order else loss[np.lexsort((loss, scenario))]
    starts = np.cumsum(counts) - counts
    undefined = np.bincount(scenario[np.isnan(loss)], minlength=n_scenarios) > 0
    known = (counts > 0) & ~undefined
    columns = np.full((3, n_scenarios), np.nan)
    for runs in np.flatnonzero(np.bincount(counts[known])).tolist():
        mine = np.flatnonzero(known & (counts == runs))
        for column, rank in zip(columns, _ranks(runs, probability), strict=True):
            if rank < 1:
                column[mine] = -np.inf
            elif rank > runs:
                column[mine] = np.inf
            else:
                column[mine] = losses[starts[mine] + rank - 1]
    quantile, low, high = columns
    return RunQuantiles(probability, quantile, low, high, counts)


def _ranks(runs: int, probability: Fraction) -> tuple[int, int, int]:
    """Return the ranks (1 is the smallest) of the quantile among so many runs and of the ends of its interval; 0 and
    ``runs + 1`` stand for no end."""
    share = probability * runs
    middle = max(1, -(-share.numerator // share.denominator))
    tail = (1 - CONFIDENCE) / 2
    low = binomial_quantile(tail, runs, probability)
    high = binomial_quantile(1 - tail, runs, probability) + 1
    return middle, min(low, middle), max(high, middle)


def binomial_quantile(q: float, runs: int, probability: Fraction) -> int:
    """Return the smallest count that at least the share ``q`` of binomial counts do not exceed."""
    if runs <= _FEW_RUNS:
        return _quantile_of_few(q, runs, probability)
    from scipy.special import bdtr, bdtrik  # scipy.stats takes three times as long to load

    p = float(probability)
    count = int(np.clip(np.ceil(np.nan_to_num(bdtrik(q, runs, p))), 0, runs))
    while count > 0 and bdtr(count - 1, runs, p) >= q:
        count -= 1
    while count < runs and bdtr(count, runs, p) < q:
        count += 1
    return count


def _quantile_of_few(q: float, runs: int, probability: Fraction) -> int:
    """Return :func:`binomial_quantile` by whole numbers, exactly: a sweep of few runs then loads no scipy."""
    met, missed = probability.numerator, probability.denominator - probability.numerator
    wanted = Fraction(q) * probability.denominator**runs
    ways = total = missed**runs
    count = 0
    while total < wanted and count < runs:
        ways = ways * (runs - count) * met // ((count + 1) * missed)
        total += ways
        count += 1
    return count


class ShareWithin(NamedTuple):
    """The share of some runs that meet a bound: ``within`` of ``runs``, and the limits ``low`` and ``high`` of the
    share of all runs that do (two-sided, at :data:`engine.frontier.summary.CONFIDENCE`)."""

    within: int
    runs: int
    low: float
    high: float

    def settled(self, probability: Fraction) -> bool:
        """Return whether these runs tell that the share is above, or that it is below, ``probability``."""
        return bool(self.low >= probability or self.high < probability)


def share_within(loss: np.ndarray, bound: float) -> ShareWithin:
    """Return the share of runs at or below ``bound`` with its limits; ``loss`` holds one figure per run."""
    within = np.array([(loss <= bound).sum()])
    low, high = share_limits(within, np.array([len(loss)]))
    return ShareWithin(int(within[0]), len(loss), float(low[0]), float(high[0]))


def share_limits(within: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of shares of which ``within`` of ``runs`` were seen (Clopper and Pearson 1934), two-sided at
    :data:`engine.frontier.summary.CONFIDENCE`; 0 and 1 without a run.  All arrays have one shape."""
    from scipy.special import betaincinv

    tail, beyond = (1 - CONFIDENCE) / 2, runs - within
    low = np.where(within > 0, betaincinv(np.maximum(within, 1), beyond + 1, tail), 0.0)
    high = np.where(beyond > 0, betaincinv(within + 1, np.maximum(beyond, 1), 1 - tail), 1.0)
    return low, high


@dataclass(frozen=True)
class Contest:
    """The scenarios that may be chosen under a bound: the ``best`` eligible scenario, None without one, and the
    ``open_`` ones (mask).

    Open are the best itself and more useful scenarios while their runs do not tell whether enough runs meet the bound.
    """

    best: int | None
    open_: np.ndarray

    @property
    def settled(self) -> bool:
        """Return whether the choice is settled: there is a best scenario, and further runs would hardly change it."""
        return self.best is not None and not self.open_.any()


def contest(within: np.ndarray, runs: np.ndarray, utility_loss: np.ndarray, probability: Fraction) -> Contest:
    """Return who may be chosen, given how many runs of each scenario are ``within`` the bound, of how many ``runs``.

    All arrays have the shape ``(scenarios,)``.  A scenario is open while the limits of its share hold ``probability``
    between them.  Less useful scenarios than the best eligible one cannot be chosen and stay closed.
    """
    p = float(probability)
    low, high = share_limits(within, runs)
    known = ~np.isnan(utility_loss)
    enough = runs >= runs_needed(probability)
    eligible = known & enough & (within * probability.denominator >= runs * probability.numerator)
    return _contest(eligible, known & (low < p) & (high >= p), utility_loss)


def contest_of_means(
    loss: np.ndarray, se: np.ndarray, runs: np.ndarray, utility_loss: np.ndarray, bound: float
) -> Contest:
    """Return who may be chosen where ``bound`` is on the mean ``loss`` over ``runs`` runs, with standard error ``se``.

    All arrays have the shape ``(scenarios,)``.  A scenario is open while Student's interval of its mean holds the
    bound, which it does as long as its error is not believed (:func:`engine.frontier.summary.believed_errors`).
    """
    quantiles = t_thresholds(1)
    margin = quantiles[np.clip(runs - 1, 0, len(quantiles) - 1)] * believed_errors(se, runs)
    known = ~np.isnan(utility_loss) & ~np.isnan(loss)
    with np.errstate(invalid="ignore"):
        untold = known & (loss - margin <= bound) & (loss + margin > bound)
        eligible = known & (runs >= FEWEST_RUNS) & (loss <= bound)
    return _contest(eligible, untold, utility_loss)


def _contest(eligible: np.ndarray, untold: np.ndarray, utility_loss: np.ndarray) -> Contest:
    """Return the most useful eligible scenario, and which of the ``untold`` ones may still take its place."""
    if not eligible.any():
        return Contest(None, untold)
    best = int(np.lexsort((utility_loss, ~eligible))[0])
    return Contest(best, untold & (utility_loss <= utility_loss[best]))


def is_safer(loss: np.ndarray, original: float) -> np.ndarray:
    """Return which runs are less risky than the data unchanged, whose loss is ``original``; where that is 0 nothing is
    left to gain, and a run without risk is as good."""
    return np.asarray((loss < original) | ((loss == 0) & (original == 0)))


def first_within(loss: np.ndarray, bound: float, original: float) -> int | None:
    """Return the place of the first run that may be released: at or below ``bound`` and safer than the data unchanged,
    whose loss is ``original``; None where no run is.  ``loss`` is in the order of the replicates; pass ``inf`` for no
    bound."""
    places = np.flatnonzero((loss <= bound) & is_safer(loss, original))
    return int(places[0]) if len(places) else None


def _pair(risk: ArrayLike, loss: ArrayLike) -> tuple[Floats, Floats]:
    """Both arguments as float arrays of one shape ``(N,)``; :class:`UsageError` otherwise."""
    try:
        x, y = np.asarray(risk, dtype=np.float64), np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise UsageError(
            f"risk and loss cannot be read as numbers ({problem}); wanted one figure per candidate, missing ones as NaN"
        ) from None
    if x.ndim != 1 or x.shape != y.shape:
        raise UsageError(
            f"risk has shape {x.shape} and loss has shape {y.shape}, both must be (N,): one figure per candidate"
        )
    return x, y


def best_under_bound(risk: ArrayLike, loss: ArrayLike, bound: float) -> int | None:
    """Index of the candidate with the least loss among those with ``risk <= bound`` (the bound itself is allowed).

    Equal losses are decided by lower risk, then by lower index; with that rule the answer is always on the frontier.
    None when no candidate is within the bound.  The bound is in the units of ``risk`` and compared exactly.  O(N).

    Source: Gomatam, Karr & Sanil (2005), eq. 4 and 13.  Raises :class:`UsageError` for a bound that is NaN and
    for shapes that differ.
    """
    x, y = _pair(risk, loss)
    if math.isnan(bound):
        raise UsageError("the limit on risk is NaN, must be a number in the units of the risk measure")
    feasible = (x <= bound) & ~np.isnan(y)
    index = np.flatnonzero(feasible)
    for values in (y, x):
        if len(index) == 0:
            return None
        index = index[values[index] == values[index].min()]
    return int(index[0])


def _finite_frontier(x: Floats, y: Floats) -> Index:
    """Frontier among the candidates with two finite figures, by ascending risk, lowest index of each distinct point."""
    finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    front = finite[undominated(np.column_stack((x[finite], y[finite])))]
    front = front[np.lexsort((front, x[front]))]
    # On the frontier equal risk means equal loss.
    fresh = np.ones(len(front), dtype=np.bool_)
    fresh[1:] = x[front][1:] != x[front][:-1]
    return front[fresh]


def _turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Return whether the path a -> b -> c, points as (utility, risk), makes a strict left turn, decided exactly.

    The floating-point cross product is trusted when it is clear of its rounding error; otherwise, or when it may have
    under- or overflowed, fractions decide, so that collinear points are never taken for vertices.
    """
    first, second = (b[0] - a[0]) * (c[1] - b[1]), (b[1] - a[1]) * (c[0] - b[0])
    size = abs(first) + abs(second)
    if 1e-290 < size < math.inf and abs(first - second) > 1e-15 * size:
        return first > second
    (ax, ay), (bx, by), (cx, cy) = ((Fraction(u), Fraction(v)) for u, v in (a, b, c))
    return (bx - ax) * (cy - by) > (by - ay) * (cx - bx)


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Slope from a to b, points as (utility, risk), correctly rounded: equal and ordered slopes stay so as floats."""
    exact = (Fraction(b[1]) - Fraction(a[1])) / (Fraction(b[0]) - Fraction(a[0]))
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def hull_intervals(risk: ArrayLike, loss: ArrayLike) -> list[tuple[int, float, float]]:
    """Winners under ``DR = a * DU + c`` by intervals of slopes: ``(index, slope_low, slope_high)`` by ascending risk.

    Listed are the vertices of the lower-right convex hull of the candidates in the (utility, risk) plane.  A vertex has
    the smallest intercept ``c = risk + a * loss`` for every slope ``a`` in its closed interval; the intervals tile
    ``[0, inf]`` and meet at the slopes of the hull's edges, in units of risk per unit of utility.  Collinear points
    between two vertices are not listed, of equal points the lowest index is.  Candidates with an infinite figure have
    no intercept and take no part; the list is empty when none is left.

    Source: Gomatam, Karr & Sanil (2005), section 2.3; the hull is Andrew's monotone chain with an exact turn test.
    O(N log N).  Raises :class:`UsageError` when the shapes differ.
    """
    x, y = _pair(risk, loss)
    front = _finite_frontier(x, y)
    points = list(zip((-y[front]).tolist(), x[front].tolist(), strict=True))
    hull: list[int] = []
    for i, point in enumerate(points):
        while len(hull) > 1 and not _turns_left(points[hull[-2]], points[hull[-1]], point):
            hull.pop()
        hull.append(i)
    if not hull:
        return []
    edges = [_slope(points[a], points[b]) for a, b in pairwise(hull)]
    lows, highs = [0.0, *edges], [*edges, math.inf]
    return [(int(front[i]), low, high) for i, low, high in zip(hull, lows, highs, strict=True)]


def supporting_line(risk: ArrayLike, loss: ArrayLike, slope: float) -> list[int]:
    """Indices of the candidates on the line ``DR = slope * DU + c`` with the smallest ``c``, by ascending risk.

    ``slope`` is the risk accepted per unit of utility.  One index as a rule; both ends of a hull edge when the slope is
    exactly that edge's (to the rounding of a float).  Slope 0 gives the least risk and, among equals, the most utility;
    an infinite slope the most utility and, among equals, the least risk.  Of equal points the lowest index is given.
    Empty when no candidate has two finite figures.  O(N log N).

    Source: Gomatam, Karr & Sanil (2005), section 2.3 and figure 1.  Raises :class:`UsageError` for a slope that is
    negative or NaN: it would reward risk.
    """
    if not slope >= 0:
        raise UsageError(
            f"slope is {slope}, must be 0 or more: it is the risk accepted per unit of utility, and less risk is better"
        )
    vertices = hull_intervals(risk, loss)
    # The ends are settled by their tie rules, also where an edge is so flat or steep that its slope rounds to 0 or inf.
    if slope == 0:
        return [index for index, _, _ in vertices[:1]]
    if slope == math.inf:
        return [index for index, _, _ in vertices[-1:]]
    return [index for index, low, high in vertices if low <= slope <= high]


def straight_sum(risk: float, loss: float, slope: float) -> float:
    """The intercept ``c = risk + slope * loss`` of one release, by which a straight trade-off ranks it: less is better.

    An infinite slope counts the loss alone.  In units of ``risk`` (of ``loss`` where the slope is infinite).
    """
    return loss if slope == math.inf else risk + slope * loss


def knee(risk: ArrayLike, loss: ArrayLike) -> int | None:
    """Index of the frontier's knee: the point farthest on the better side of the chord between its two ends.

    Both axes are scaled to 0..1 over the frontier first, so the answer does not depend on units, but it does depend on
    which candidates are the ends.  It is an aid to look at, not a rule of the paper.  Ties go to lower risk, then lower
    index.  None when the frontier has fewer than three distinct points or none lies on the better side.  Candidates
    with an infinite figure take no part.  O(N log N).  Raises :class:`UsageError` when the shapes differ.
    """
    x, y = _pair(risk, loss)
    front = _finite_frontier(x, y)
    if len(front) < 3:
        return None

    def scaled(values: Floats) -> Floats:
        # Dividing by the largest magnitude first keeps the range from overflowing.  That magnitude belongs to an end of
        # the frontier, so the two ends stay distinct and the range positive.
        values = values / np.abs(values).max()
        low = values.min()
        return np.asarray((values - low) / (values.max() - low))

    # The chord joins (0, 1) and (1, 0); the distance from it is this over the square root of two.
    better = 1.0 - scaled(x[front]) - scaled(y[front])
    most = float(better.max())
    # A few roundings wide: points on the chord are not better than it, and equal distances are ties.
    slack = 1e-14
    return int(front[np.flatnonzero(better >= most - slack)[0]]) if most > slack else None


def hypervolume(losses: ArrayLike, reference: ArrayLike) -> float:
    """Volume that the rows of ``losses`` dominate within ``reference``: larger is better.

    ``losses`` has shape ``(N, k)``, smaller is better; ``reference`` has shape ``(k,)``, is finite and bounds the
    volume from above.  Rows that are not below it in every column, and rows with a NaN, add nothing; a row below it
    with a column at -inf makes the volume infinite.  Exact up to rounding: O(N log N) for ``k <= 2``, the same plus
    insertions into a sorted list for ``k = 3``, slicing with O(N^(k-2)) slices in the worst case above, which suits
    small frontiers.

    Raises :class:`UsageError` for a bad table or a reference of another length or not finite.
    """
    rows = as_losses(losses)
    try:
        corner = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            f"reference {reference!r} cannot be read as numbers; wanted one per column of losses"
        ) from None
    if corner.shape != (rows.shape[1],) or not np.isfinite(corner).all():
        raise UsageError(
            f"reference is {corner.tolist()}, must be {rows.shape[1]} finite numbers, one per column of losses"
        )
    rows = rows[(rows < corner).all(axis=1)]
    if np.isneginf(rows).any():
        return math.inf
    return _volume(corner - rows)


def _volume(sides: Floats) -> float:
    """Volume of the union of the boxes ``[0, side]``, finite positive sides of shape ``(N, k)``."""
    if len(sides) == 0:
        return 0.0
    sides = np.unique(sides[undominated(-sides)], axis=0)
    columns = sides.shape[1]
    if columns == 1:
        return float(sides.max())
    if columns == 2:
        # Ascending in the first column means descending in the second: a staircase.
        return float((np.diff(sides[:, 0], prepend=0.0) * sides[:, 1]).sum())
    # Slice along the last column: between two heights the cross-section is the union of the boxes that reach the upper
    # one.
    sides = sides[np.argsort(-sides[:, -1], kind="stable")]
    heights = sides[:, -1]
    depths = heights - np.append(heights[1:], 0.0)
    if columns == 3:
        areas = _growing_areas(sides)
        return math.fsum(depth * area for depth, area in zip(depths.tolist(), areas, strict=True))
    return math.fsum(float(depth) * _volume(sides[: i + 1, :-1]) for i, depth in enumerate(depths) if depth > 0)


def _growing_areas(sides: Floats) -> list[float]:
    """Area of the union of the first 1, 2, ... rectangles ``[0, x] * [0, y]``, kept as a staircase in sorted lists.

    No rectangle may lie within an earlier one.
    """
    xs: list[float] = []
    negated: list[float] = []  # -y, ascending like xs because a longer step is a lower one
    area = 0.0
    areas: list[float] = []
    for x, y in zip(sides[:, 0].tolist(), sides[:, 1].tolist(), strict=True):
        # Steps that end at or before x and are no higher than y disappear under the new one.
        end = bisect_right(xs, x)
        begin = bisect_left(negated, -y, 0, end)
        before = xs[begin - 1] if begin else 0.0
        old, at = 0.0, before
        for step in range(begin, end):
            old += (xs[step] - at) * -negated[step]
            at = xs[step]
        if end < len(xs):
            old += (x - at) * -negated[end]
        area += (x - before) * y - old
        xs[begin:end] = [x]
        negated[begin:end] = [-y]
        areas.append(area)
    return areas
