"""A bound that single runs meet with a given probability: quantiles of runs, their errors, and who is eligible.

One random run is released, not a mean.  A bound on the mean says little about it: up to half of all runs may exceed
the bound.  A *chance constraint* asks instead that a share of the runs of a scenario meet the bound (Charnes and Cooper
1959, doi:10.1287/mnsc.6.1.73).  That share is the probability that the bound is met by a run under a new key.

All figures are losses, so smaller is better.  Nothing is assumed about how runs are distributed: the quantile is an
order statistic and its interval and the limits of the share come from the binomial distribution (Clopper and Pearson
1934, doi:10.1093/biomet/26.4.404).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from engine.frontier.summary import CONFIDENCE, believed_errors, t_thresholds
from engine.frontier.summary import FEWEST_RUNS as FEWEST_RUNS

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
