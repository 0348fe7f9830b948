"""From realisations to scenarios: means, standard errors, dominance and its probability.

A *scenario* is a release spec; its *realisations* are replicates under the study key.  Scenarios are compared by their
means over successful replicates; a single run is what is released, but picking the luckiest one is selection on noise.
*Recall* is the share of the true frontier that noisy means find, as their own errors let one expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from engine.frontier.undominated import undominated
from engine.measures import Measure
from engine.release.scenarios import Results, RunStatus

REDRAWS = 100
"""How often the means are drawn anew; the share found is then known to about .01."""
_GOLDEN = (5**0.5 - 1) / 2
_REACH = 4.0  # standard errors; who is beaten on every objective by more was never near the frontier


def expected_recall(loss: np.ndarray, se: np.ndarray, rng: np.random.Generator, redraws: int = REDRAWS) -> float:
    """Return the expected share of the true frontier that means with these standard errors find.

    ``loss`` and ``se`` have the shape ``(scenarios, objectives)``; a scenario with an unknown mean takes no part, one
    with an unknown or infinite standard error counts with none.  The means stand for the truth, are drawn anew with
    their errors, and the share of their frontier that is found again is averaged.  From 0 to 1; higher is better; NaN
    without a frontier, and where the errors of all that is on it are unknown.  The means vary more than the truth that
    they estimate, which leaves wider gaps between scenarios: the share is a few hundredths too high (.83 for a true .79
    with 20 runs of CPS-8D, .73 for .66 with 5).

    Redraws are independent over scenarios and objectives.  Cost: ``redraws`` frontiers of those scenarios that come
    near the frontier.
    """
    known = ~np.isnan(loss).any(axis=1)
    loss, se = loss[known], se[known]
    on = undominated(loss) if len(loss) else np.zeros(0, bool)
    if not np.isfinite(se[on]).all(axis=1).any():
        return float("nan")
    se = np.nan_to_num(se, nan=0.0, posinf=0.0)
    near = _within_reach(loss, se, on)
    loss, se, on = loss[near], se[near], on[near]
    found = [undominated(loss + rng.standard_normal(loss.shape) * se)[on].mean() for _ in range(redraws)]
    return float(np.mean(found))


def _within_reach(loss: np.ndarray, se: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Return the indices of the scenarios that no scenario on the frontier beats on every objective by the reach of the
    noise of both."""
    left, columns, noise = np.arange(len(loss)), loss.T.copy(), _REACH**2 * (se.T**2)
    frontier = np.flatnonzero(on)
    frontier = frontier[np.argsort(loss[frontier, 0], kind="stable")]
    # an order of which every beginning is spread over the frontier: few of them beat nearly all that is beaten
    for index in frontier[np.argsort(np.arange(1, len(frontier) + 1) * _GOLDEN % 1)].tolist():
        beaten = np.ones(len(left), bool)
        for mine, reach in zip(columns, noise, strict=True):
            gap = mine[left] - mine[index]
            beaten &= (gap > 0) & (gap * gap > reach[left] + reach[index])
        if beaten.any():
            left = left[~beaten]
    return left


CONFIDENCE = 0.95
FEWEST_RUNS = 10
"""Fewer runs than these never support a choice: their standard error and their quantiles say next to nothing."""


@dataclass(frozen=True)
class Summary:
    """Per scenario: ``mean`` and ``se`` of every measure (scenarios × measures), ``loss`` and ``loss_se`` of the same
    turned so that smaller is better (losses are formed per realisation and then averaged), counted and failed
    replicates, mean changed records.

    A mean over no realisation, or over one in which the measure is undefined, is NaN; a standard error needs two.
    """

    mean: np.ndarray
    se: np.ndarray
    loss: np.ndarray
    loss_se: np.ndarray
    counted: np.ndarray
    failed: np.ndarray
    changed: np.ndarray


def _moments(values: np.ndarray, scenario: np.ndarray, n_scenarios: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard errors by scenario, two passes about one of its values: equal values have an error of zero."""
    n = np.bincount(scenario, minlength=n_scenarios)
    # column after column, as they are computed and stored
    means, errors = (part.T for part in np.full((2, values.shape[1], n_scenarios), np.nan))
    several = n.max(initial=0) > 1
    for k in range(values.shape[1]):
        if not several:  # one run is its own mean, and has no error
            means[scenario, k] = values[:, k] + 0.0
            continue
        start = np.zeros(n_scenarios)
        start[scenario] = values[:, k]
        start[~np.isfinite(start)] = 0
        total = np.bincount(scenario, weights=values[:, k] - start[scenario], minlength=n_scenarios)
        mean = start + np.divide(total, n, out=np.full(n_scenarios, np.nan), where=n > 0)
        means[:, k] = mean
        squares = np.bincount(scenario, weights=(values[:, k] - mean[scenario]) ** 2, minlength=n_scenarios)
        errors[:, k] = np.sqrt(np.divide(squares, n * (n - 1.0), out=np.full(n_scenarios, np.nan), where=n > 1))
    return means, errors


def losses(values: np.ndarray, measures: Sequence[Measure]) -> np.ndarray:
    """Figures of several measures (one column each) turned so that smaller is better."""
    return (
        np.column_stack([measure.loss(values[:, k]) for k, measure in enumerate(measures)]) if len(measures) else values
    )


def summarise(results: Results, measures: Sequence[Measure], n_scenarios: int, allow_partial: bool = False) -> Summary:
    """Means and standard errors per scenario."""
    use = results.counted(allow_partial)
    scenario, values = results.scenario[use], results.values[use]
    mean, se = _moments(values, scenario, n_scenarios)
    loss, loss_se = mean.copy(order="F"), se.copy(order="F")
    for k, measure in enumerate(measures):
        turned = measure.loss(values[:, k])
        if not np.array_equal(turned, values[:, k], equal_nan=True):
            loss[:, k : k + 1], loss_se[:, k : k + 1] = _moments(turned[:, None], scenario, n_scenarios)
    counted = np.bincount(scenario, minlength=n_scenarios)
    changed = np.bincount(scenario, weights=results.changed[use], minlength=n_scenarios)
    return Summary(
        mean=mean,
        se=se,
        loss=loss,
        loss_se=loss_se,
        counted=counted,
        failed=np.bincount(results.scenario[results.status == RunStatus.FAILED], minlength=n_scenarios),
        changed=np.divide(changed, counted, out=np.full(n_scenarios, np.nan), where=counted > 0),
    )


@dataclass(frozen=True)
class Dominance:
    """The frontier over scenario means and how sure it is.

    ``undominated`` is the frontier; ``clear`` says that a scenario's place (on it or off it) holds beyond the noise of
    its mean; ``share`` is the fraction of replicates in which the scenario's own realisation is undominated among those
    of the same replicate.  Where some scenarios were run more often than others it looks only at the replicates at
    which most were run, since who is left later meets fewer rivals.  ``z`` is the multiple of a standard error that a
    difference has to exceed.
    """

    undominated: np.ndarray
    clear: np.ndarray
    share: np.ndarray
    z: float


_MOST_DF = 1000


def believed_errors(se: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return the standard errors that comparisons rest on: infinite where nothing is known about noise.

    That is where an error is undefined, and where it is exactly 0 over fewer than :data:`FEWEST_RUNS` runs: a few equal
    runs happened to agree, which does not make their mean certain.  Nothing finite can stand in for such an error, as
    no run shows how far another one may lie.  From that number on a zero is believed: were runs to differ with a chance
    of a quarter, ten equal ones would come in one sweep of eighteen.  ``counted`` is how many runs each scenario (row
    of ``se``) has.
    """
    agreeing = (se == 0) & (counted < FEWEST_RUNS).reshape(-1, *[1] * (se.ndim - 1))
    return np.where(agreeing, np.inf, np.nan_to_num(se, nan=np.inf))


def threshold(comparisons: int, confidence: float = CONFIDENCE) -> float:
    """The normal quantile for that many simultaneous two-sided comparisons (Bonferroni)."""
    return NormalDist().inv_cdf(1 - (1 - confidence) / (2 * max(1, comparisons)))


@lru_cache(maxsize=64)
def t_thresholds(comparisons: int, confidence: float = CONFIDENCE) -> np.ndarray:
    """Student's t quantiles for that many simultaneous two-sided comparisons, by whole degrees of freedom from 0
    (infinite); nobody can write to them."""
    from scipy.special import stdtrit

    df = np.arange(1, _MOST_DF + 1, dtype=float)
    quantiles = np.concatenate([[np.inf], stdtrit(df, 1 - (1 - confidence) / (2 * max(1, comparisons)))])
    quantiles.setflags(write=False)
    return quantiles


def n_comparisons(scenarios: int, objectives: int) -> int:
    """The number of two-sided comparisons whose confidence is shared where one scenario is compared with all others on
    every objective: each is one-sided, better or not, so two of them count as one."""
    others = max(1, scenarios - 1)
    return max(others, -(-others * objectives // 2))


def margins(se: np.ndarray, counted: np.ndarray, i: int, quantiles: np.ndarray) -> np.ndarray:
    """Margin that a difference from scenario ``i`` has to exceed to be clear: Welch's t with its own degrees of
    freedom."""
    return margins_of(se, counted, i, np.arange(len(se)), quantiles)


def margins_of(se: np.ndarray, counted: np.ndarray, i: int, others: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Return :func:`margins` for some others only, by index."""
    squares, mine = se[others] ** 2, se[i] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = squares**2 / np.maximum(counted[others] - 1, 0)[:, None] + mine**2 / max(counted[i] - 1, 0)
        df = (squares + mine) ** 2 / parts
        margin = quantiles[np.clip(np.nan_to_num(df, nan=0.0), 0, _MOST_DF).astype(np.int64)] * np.sqrt(squares + mine)
    margin[np.isnan(margin)] = np.inf
    margin[(squares + mine) == 0] = 0.0  # figures that do not vary at all differ clearly by any amount
    result: np.ndarray = margin
    return result


def dominance(
    summary: Summary,
    results: Results,
    measures: Sequence[Measure],
    objectives: Sequence[int],
    allow_partial: bool = False,
) -> Dominance:
    """Frontier over the scenario means of some measures (columns ``objectives``), with certainty and frequency.

    A dominated scenario is clear when some frontier scenario is better on every objective by more than the noise of the
    difference; an undominated one when against every other scenario it is better on some objective by that much.  The
    noise is Welch's t interval at a confidence shared by all comparisons (Bonferroni), so that few replicates prove
    little, nor does one objective of many; ``z`` is its multiple of a standard error for ample replicates.
    """
    columns = list(objectives)
    loss, se = summary.loss[:, columns], believed_errors(summary.loss_se[:, columns], summary.counted)
    on = undominated(loss)
    known = ~np.isnan(loss).any(axis=1)
    z = threshold(n_comparisons(int(known.sum()), len(columns)))
    clear = np.zeros(len(loss), bool)
    clear[known] = _clear(loss[known], se[known], summary.counted[known], on[known])
    return Dominance(on, clear, _share(results, measures, columns, len(loss), allow_partial), z)


def _clear(loss: np.ndarray, se: np.ndarray, counted: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Mask of the scenarios whose place on or off the frontier ``on`` is clear, as :func:`dominance` says.

    Pairs are judged by :func:`margins` alone; bounds on a margin only leave out those that cannot matter, so that a
    million scenarios take seconds.
    """
    clear = np.zeros(len(loss), bool)
    if len(loss) == 1:
        return ~clear
    front = np.flatnonzero(on & np.isfinite(se).any(axis=1))  # nothing differs clearly from what nothing is known about
    if not len(front):
        return clear
    quantiles = t_thresholds(n_comparisons(*loss.shape))
    left = _perhaps_beaten(loss, se, np.flatnonzero(~on), front, float(quantiles[-1]))
    columns = np.ascontiguousarray(loss.T)
    theirs = columns[:, left]
    for i in front:
        near = left[_all_above(theirs, loss[i])]
        beaten = loss[near] - loss[i] > margins_of(se, counted, int(i), near, quantiles)
        clear[near[beaten.all(axis=1)]] = True
        if beaten.all(axis=1).any():
            left = left[~clear[left]]
            theirs = columns[:, left]
    finite = np.isfinite(se)
    widest = np.where(finite, se, 0.0).max(axis=0)
    fewest = int(counted[finite.any(axis=1)].min()) - 2  # one degree of freedom less than it is: a quotient is rounded
    most = float(quantiles[min(max(fewest, 0), _MOST_DF)]) * (1 + 1e-9)
    unknown = ~finite.all(axis=1)
    for i in front:
        clear[i] = _stands_apart(loss, se, counted, int(i), front[front != i], quantiles)
        if clear[i]:  # of all others only those within the largest margin that there may be can come near
            reach = np.full(len(widest), np.inf) if fewest < 1 else most * np.sqrt(se[i] ** 2 + widest**2)
            near = np.flatnonzero(~_any_above(columns, loss[i] + reach) | unknown)
            clear[i] = _stands_apart(loss, se, counted, int(i), near[near != i], quantiles)
    return clear


def _perhaps_beaten(
    loss: np.ndarray, se: np.ndarray, scenarios: np.ndarray, front: np.ndarray, least: float
) -> np.ndarray:
    """Those of the ``scenarios`` (indices) that some scenario of ``front`` may beat by a margin of ``least`` standard
    errors at the least; for two objectives only, where the frontier is a staircase, and all of them otherwise."""
    if loss.shape[1] != 2:
        return scenarios
    order = front[np.lexsort((loss[front, 1], loss[front, 0]))]
    lowest = np.minimum.accumulate(loss[order, 1])
    short = np.nextafter(loss[scenarios] - least * (1 - 1e-9) * se[scenarios], np.inf)
    at = np.searchsorted(loss[order, 0], short[:, 0], side="right")
    return np.asarray(scenarios[(at > 0) & (lowest[np.maximum(at, 1) - 1] <= short[:, 1])])


def _all_above(columns: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Mask of what is above a point in every row of ``columns``."""
    above = columns[0] > point[0]
    for column, value in zip(columns[1:], point[1:], strict=True):
        above &= column > value
    return np.asarray(above)


def _any_above(columns: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Mask of what is above a point, by more than is lost in rounding, in some row of ``columns``."""
    above = columns[0] > np.nextafter(point[0], np.inf)
    for column, value in zip(columns[1:], point[1:], strict=True):
        above |= column > np.nextafter(value, np.inf)
    return np.asarray(above)


def _stands_apart(
    loss: np.ndarray, se: np.ndarray, counted: np.ndarray, i: int, others: np.ndarray, quantiles: np.ndarray
) -> bool:
    """Return whether scenario ``i`` is clearly better than each of the others on some objective."""
    better = loss[others] - loss[i] > margins_of(se, counted, i, others, quantiles)
    return bool(better.any(axis=1).all())


def shared_runs(results: Results, n_scenarios: int, allow_partial: bool = False) -> np.ndarray:
    """The number of runs of each scenario behind the ``share`` of :class:`Dominance`: those that count among the
    replicates at which most scenarios were run. An adaptive sweep runs all of them only a few times."""
    counts: np.ndarray = np.bincount(results.scenario[_shared(results, allow_partial)], minlength=n_scenarios)
    return counts


def _shared(results: Results, allow_partial: bool) -> np.ndarray:
    """Rows of the runs that count among the replicates at which most scenarios were run."""
    if not len(results):
        return np.zeros(0, np.int64)
    _, at, rivals = np.unique(results.replicate, return_inverse=True, return_counts=True)
    return np.flatnonzero(results.counted(allow_partial) & (rivals == rivals.max())[at])


def _share(
    results: Results, measures: Sequence[Measure], columns: list[int], n_scenarios: int, allow_partial: bool
) -> np.ndarray:
    use = _shared(results, allow_partial)
    if not len(use):
        return np.full(n_scenarios, np.nan)
    use = use[np.argsort(results.replicate[use], kind="stable")]
    loss = losses(results.values[:, columns], [measures[k] for k in columns])
    wins = np.zeros(n_scenarios)
    for part in np.split(use, np.flatnonzero(np.diff(results.replicate[use])) + 1):
        wins[results.scenario[part][undominated(loss[part])]] += 1
    n = np.bincount(results.scenario[use], minlength=n_scenarios)
    result: np.ndarray = np.divide(wins, n, out=np.full(n_scenarios, np.nan), where=n > 0)
    return result
