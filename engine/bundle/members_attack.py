"""Attacks on the members' bundle: the rate that a member of the board can infer from it alone.

Two attacks, on ``board.json``, of which memo, tables, slides and pictures hold nothing more:

* ``counts``: a count of unaltered records and a statement on their share (within the bound or beyond it, riskier than
  doing nothing or not) bound how many records are unaltered; so do a quantile of the runs and how many of them meet the
  bound, of every candidate with as many altered records, exposed records that are altered or not, and distances.
* ``changes``: figures before and after, or how far they moved, tell how many records moved, as in
  :mod:`engine.models.rate_likelihood`: percentages, means, associations, correlations and coefficients of an exchanged
  attribute, percentages in classes, by flags or by the largest of a table (:mod:`engine.bundle.members_classes`), and
  who of its levels stays exposed.

Neither uses the released file or other tables of the original, which tell more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from engine.bundle.members_classes import class_evidence
from engine.bundle.members_evidence import Member, evidence, unit_of_digits
from engine.frontier.chance import share_limits
from engine.models.rate_likelihood import RateEstimate, likely_rates, rate_estimate, rate_interval
from engine.report.certainty import recommended
from engine.report.findings import Findings
from engine.report.map_facts import CandidateRow
from engine.report.rate_facts import STEPS
from engine.report.redaction import ONE_DIGIT, is_count_title, is_one_digit_title

FACTOR = 3.0
"""How many times its lower end the upper end of the interval must be that the attacks leave."""
_PERCENT = re.compile(r"(\d+(?:\.\d+)?(?:e-?\d+)?) %")
_PARTICULARS = re.compile(f"(?: \\(.*\\))?(?:{ONE_DIGIT})?$", re.DOTALL)
_HELLINGER = "Hellinger distance"

_ON_AVERAGE = "on average over runs"
_RUNS = 2.0  # standard deviations up to which a share of single runs may be asked to meet a bound
_FEW, _FEW_COUNTS = 5.0, 200.0  # standard deviations within which counts are looked at, and the most counts
_MISFIT = 0.02  # by how much a share of runs may differ from that of the distribution that is taken for it
_OVER = 1.02  # variance over mean from which on counts are no rare events

Interval = tuple[float, float]


@dataclass(frozen=True)
class MembersAttack:
    """Intervals of the share of records changed: by ``counts``, by ``changes`` (the narrowest of what kinds of figures
    leave) and by both; ``estimate`` is by least squares over percentages, where they are shown as figures."""

    counts: Interval
    changes: Interval
    estimate: RateEstimate

    @property
    def both(self) -> Interval:
        """What both leave; the narrower one where they contradict each other."""
        return _together(self.counts, self.changes)

    @property
    def leaves_enough(self) -> bool:
        """Whether the interval is at least a factor of three wide."""
        return width(self.both) >= FACTOR

    def to_dict(self) -> dict[str, Any]:
        """As plain values for the analyst."""
        named = {"counts": self.counts, "changes": self.changes, "both": self.both}
        result: dict[str, Any] = {name: [round(end, 4) for end in ends] for name, ends in named.items()}
        if math.isfinite(self.estimate.rate):
            result["estimate"] = {"rate": round(self.estimate.rate, 4), "se": round(self.estimate.error, 4)}
        return result


def width(interval: Interval) -> float:
    """How many times its lower end the upper end of an interval is."""
    low, high = interval
    return math.inf if low <= 0 else high / low


def attack_members_bundle(text: str) -> MembersAttack:
    """Attack the text of a ``board.json``."""
    return attack_board(Findings.from_json(text))


def attack_board(board: Findings) -> MembersAttack:
    """Attack what is read from a ``board.json``."""
    if not board.design.swap:
        return MembersAttack((0.0, 1.0), (0.0, 1.0), RateEstimate(math.nan, math.nan))
    kinds = evidence(board)
    intervals = [rate_interval(shifts) for shifts in kinds.values() if shifts]
    of_classes = class_evidence(Member(board))
    intervals += [] if of_classes is None else [likely_rates(of_classes)]
    changes = reduce(_together, sorted(intervals, key=width), (0.0, 1.0))
    return MembersAttack(_from_counts(board), changes, rate_estimate(kinds["percentages"]))


def _together(one: Interval, other: Interval) -> Interval:
    """What two intervals leave; the narrower one where they contradict each other."""
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low < high else min(one, other, key=width)


class Statement(NamedTuple):
    """Of unaltered records ``records`` stand in small cells, give or take ``room``, and as a share of all unaltered
    ones they are at most ``limit`` (``is_within``) or more."""

    records: float
    room: float
    limit: float
    is_within: bool


def _from_counts(board: Findings) -> Interval:
    """With e unaltered records in small cells and a share of at most a of the unaltered ones there, at least e / a are
    unaltered; with a share beyond a, fewer are.  At least the share of records that the total variation moves is
    altered, and at least the square of the Hellinger distance.  A statement that contradicts those before it
    (some are on averages) tells nothing."""
    low, high = max(_moved(board), _distance(board)), 1.0
    statements = [*_of_the_run(board), *_of_the_runs(board), *_of_candidates(board)]
    for count, room, limit, is_within in statements:
        if is_within:
            ends = low, min(high, 1 - (count - room) / limit / board.design.n_records)
        else:
            ends = max(low, 1 - (count + room) / limit / board.design.n_records), high
        low, high = ends if ends[0] < ends[1] else (low, high)
    return low, high


def _moved(board: Findings) -> float:
    """The least share of altered records by the total variation, which is shown to two digits at most, or else by what
    the Hellinger distance says of it."""
    distance = board.utility.distance
    moved = distance.moved
    if not moved:
        return distance.moved_low or 0.0  # rounded down already
    return moved - unit_of_digits(moved, 2 if STEPS.index(board.members_rate.step) < 2 else 1) / 2


def _distance(board: Findings) -> float:
    """The least share of altered records by Hellinger distances of candidates with the same extent: an altered record
    adds one in n at most to the square."""
    if _PARTICULARS.sub("", board.map.utility_title) != _HELLINGER:
        return 0.0
    own, exact = recommended(board), board.members_rate.step == "exact"
    shown = [row.utility or 0.0 for row in board.map.candidates if _extent(row) == _extent(own)]
    places = 1 if is_one_digit_title(board.map.utility_title) or not exact else 2
    return max((max(h - unit_of_digits(h, places) / 2, 0.0) ** 2 for h in shown), default=0.0)


def _of_the_run(board: Findings) -> Iterator[Statement]:
    """What is said of the run to be released.  Its unaltered exposed records are unaltered ones, and its other exposed
    records are altered ones."""
    exposure, n, room_of = board.exposure, board.design.n_records, Member(board).count_room
    if exposure.unaltered_after is None or exposure.small_after is None:
        return
    count, small = float(exposure.unaltered_after), float(exposure.small_after)
    room = room_of(count)
    yield Statement(count, room, 1.0, True)
    if small > count and n > small - count:
        yield Statement(n - (small - count), room + room_of(small), 1.0, False)
    if exposure.new_after:  # a combination that no original record has is an altered one
        yield Statement(float(n - exposure.new_after), 0.0, 1.0, False)
    if exposure.bound and exposure.within_bound is not None:
        yield Statement(count, room, exposure.bound, exposure.within_bound)


def _of_the_runs(board: Findings) -> Iterator[Statement]:
    """What follows for the run at a quantile, and for the extreme ones, from how many runs meet the bound."""
    run, match = board.recommendation.run, _PERCENT.search(board.map.bound)
    if run is None or run.within is None or not match or not float(match[1]) or not is_count_title(run.title):
        return
    limit, room_of = float(match[1]) / 100, Member(board).count_room
    spread = next((spread for spread in board.map.spreads if spread.title == run.title), None)
    figures = [(run.quantile, math.ceil(run.of * (run.asked or 1.0) - 1e-9))]
    if spread is not None:
        figures += [(spread.least, 1), (spread.most, run.of)]
    for count, place in figures:
        if count is not None:
            yield Statement(count, room_of(count), limit, place <= run.within)
    own = recommended(board)
    spread_of_runs = None if own.risk_se is None else own.risk_se * math.sqrt(run.of)
    yield from _of_share(run.mean, spread_of_runs, (run.low, run.high), limit, room_of)
    row = next((row for row in board.measures if row.chosen_by and row.title == run.title), None)
    if row is not None and run.fresh is not None:
        spread_of_runs = None if row.fresh_se is None else row.fresh_se * math.sqrt(run.fresh)
        yield from _of_share(row.fresh, spread_of_runs, (run.fresh_low, run.fresh_high), limit, room_of)


def _of_share(
    mean: float | None,
    spread: float | None,
    share: tuple[float | None, float | None],
    limit: float,
    room_of: Callable[[float], float],
) -> Iterator[Statement]:
    """Runs whose counts have this mean and standard deviation (None: that of a rare event) meet the bound in a share of
    which the limits are known, so that the largest count within the bound is about a quantile of these counts."""
    from scipy.stats import norm

    if mean is None:
        return
    deviation = math.sqrt(mean) if spread is None else spread
    for quantile, is_within in zip(share, (True, False), strict=True):
        if quantile is not None and 0 < quantile < 1:
            count = mean + float(norm.ppf(quantile)) * deviation
            yield Statement(count, room_of(mean) + 1.0, limit, is_within)
    yield from counts_within(mean, deviation, share, limit, room_of(mean))


def counts_within(
    mean: float, deviation: float, share: tuple[float | None, float | None], limit: float, room: float
) -> Iterator[Statement]:
    """Counts are whole numbers: the largest that meets the bound is one of few, those up to which a share of the runs
    within the limits counts.  At least that many over the bound are unaltered, and fewer than the next one over it."""
    low, high = share
    if low is None or high is None or mean + _FEW * deviation > _FEW_COUNTS or mean - room <= 0 or deviation <= 0:
        return
    counts = np.arange(math.ceil(mean + _FEW * deviation) + 1)
    # of a larger mean fewer runs count up to a number
    least, most = (_share_up_to(counts, about, deviation) for about in (mean + room, mean - room))
    possible = counts[(most + _MISFIT >= low) & (least - _MISFIT <= high)]
    if not len(possible):
        return
    yield Statement(float(possible[0]), 0.0, limit, True)
    if possible[-1] < counts[-1]:  # beyond these counts none is told apart
        yield Statement(float(possible[-1] + 1), 0.0, limit, False)


def _share_up_to(counts: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    """The share of runs up to each of some counts: binomial, Poisson or negative binomial with this mean and standard
    deviation."""
    from scipy.stats import binom, nbinom, poisson

    ratio = deviation**2 / mean
    if ratio > _OVER:
        return np.asarray(nbinom.cdf(counts, mean / (ratio - 1), 1 / ratio))
    if ratio < 1 / _OVER:
        return np.asarray(binom.cdf(counts, max(1, round(mean / (1 - ratio))), min(1 - ratio, 1.0)))
    return np.asarray(poisson.cdf(counts, mean))


def _of_candidates(board: Findings) -> Iterator[Statement]:
    """What is said of the averages of all candidates that are said to have the same extent."""
    n, own = board.design.n_records, recommended(board)
    if not is_count_title(board.map.risk_title):
        return
    match = _PERCENT.search(board.map.bound)
    for row in board.map.candidates:
        if row.risk is None or _extent(row) != _extent(own):
            continue
        room = Member(board).count_room(row.risk)
        if board.map.nothing_risk:
            yield Statement(row.risk, room, board.map.nothing_risk / n, not row.riskier_than_nothing)
        if match and float(match[1]) > 0 and row.within_bound is not None:
            beyond = 0.0 if row.within_bound or _ON_AVERAGE in board.map.bound else _RUNS * _spread(board, row)
            yield Statement(row.risk, room + beyond, float(match[1]) / 100, row.within_bound)
            yield from _of_runs_within(board, row, float(match[1]) / 100)


def _of_runs_within(board: Findings, row: CandidateRow, limit: float) -> Iterator[Statement]:
    """What follows from how many runs of a candidate meet the bound."""
    if row.within is None or not row.runs:
        return
    low, high = (float(ends[0]) for ends in share_limits(np.array([row.within]), np.array([row.runs])))
    spread = None if row.risk_se is None else row.risk_se * math.sqrt(row.runs)
    yield from _of_share(row.risk, spread, (low, high), limit, Member(board).count_room)


def _spread(board: Findings, row: CandidateRow) -> float:
    """The standard deviation of single runs, where the bound is on these and not on their mean."""
    if row.risk_se is None:
        return math.sqrt(row.risk or 0.0)
    return row.risk_se * math.sqrt(row.runs or board.map.runs)


def _extent(row: CandidateRow) -> str:
    """Which of the extents a candidate is said to have."""
    return row.words.partition(", at ")[2]
