"""Kernels that find partners of least bias in neighbouring cells, for targets of a survey swap.

Donors stand cell by cell, in each cell by weight and then by rank, a random order of all records.  A target looks into
the nearest cell before its own and the nearest one after it that hold a donor of its zone.  In each it takes the donor
whose weight is nearest to its own, and of the two the one of less bias.  Of donors that are alike the one whose rank
comes first after the target's own is taken, going around, so that every target has a random order of its own.

Weights and values are floating point numbers that are only subtracted, multiplied once and compared, so the compiled
and the plain run give the same bits.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.mechanisms.donors import refused

Rules = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""The last arguments of :func:`engine.mechanisms.donors.refused`, then counts: of refused pairs, and of targets that
found no partner only because of them."""


@kernel
def after(p: Integer, t: Integer, rank: np.ndarray) -> int:
    """The number of steps by which the rank of ``p`` comes after that of ``t``, going around."""
    steps = int(rank[p]) - int(rank[t])
    return steps if steps >= 0 else steps + len(rank)


@kernel
def alike(
    t: Integer, begin: Integer, end: Integer, donors: np.ndarray, rank: np.ndarray, taken: np.ndarray, rules: Rules
) -> int:
    """The first donor after target ``t`` among the places ``begin`` to ``end`` of ``donors``, which are sorted by rank;
    -1 where all are taken or refused."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if rank[donors[middle]] < rank[t]:
            low = middle + 1
        else:
            high = middle
    met, place_met, place, counts = rules
    for step in range(end - begin):
        at = low + step if low + step < end else low + step - end + begin
        p = int(donors[at])
        if not taken[p]:
            if not refused(t, p, met, place_met, place):
                return p
            counts[0] += 1
    return -1


@kernel
def nearest(
    t: Integer,
    begin: Integer,
    end: Integer,
    donors: np.ndarray,
    group: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
    rank: np.ndarray,
    taken: np.ndarray,
    rules: Rules,
) -> int:
    """The donor among the places ``begin`` to ``end`` whose weight is nearest to that of target ``t``; -1 where all are
    taken or refused.  ``group`` says of each place where donors of its weight begin and end."""
    starts, ends = group
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if weight[donors[middle]] < weight[t]:
            low = middle + 1
        else:
            high = middle
    lighter, heavier = low - 1, low
    while lighter >= begin or heavier < end:
        below = weight[t] - weight[donors[lighter]] if lighter >= begin else np.inf
        above = weight[donors[heavier]] - weight[t] if heavier < end else np.inf
        best = -1
        if below <= above:
            best = alike(t, int(starts[lighter]), lighter + 1, donors, rank, taken, rules)
            lighter = int(starts[lighter]) - 1
        if above <= below:
            other = alike(t, heavier, int(ends[heavier]), donors, rank, taken, rules)
            if best < 0 or (other >= 0 and after(other, t, rank) < after(best, t, rank)):
                best = other
            heavier = int(ends[heavier])
        if best >= 0:
            return int(best)
    return -1


@kernel
def skip_empty(c: Integer, step: Integer, left: np.ndarray, following: np.ndarray) -> int:
    """The first cell from ``c`` on that holds a donor, in the direction of ``step``; ``following`` remembers what was
    skipped.  Returns -1 or the number of cells where there is none."""
    at = c
    while 0 <= at < len(left) and left[at] == 0:
        at = following[at]
    while 0 <= c < len(left) and left[c] == 0:
        skipped = c
        c = following[c]
        following[skipped] = at
    return int(at)


@kernel
def find_partners(
    targets: np.ndarray,
    cell: np.ndarray,
    zone: np.ndarray,
    donors: np.ndarray,
    start: np.ndarray,
    group: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
    value: np.ndarray,
    rank: np.ndarray,
    taken: np.ndarray,
    rules: Rules,
    partner: np.ndarray,
) -> int:
    """Let all targets choose in rounds until none is left that could; returns the number of rounds.

    ``cell`` is each record's cell, ``zone`` each cell's zone; cells of one zone follow each other.  ``start`` says
    where each cell's ``donors`` begin, ``value`` is each record's figure in the bias.  ``taken`` is True for all who
    are no donors, ``partner`` the identity; both are changed.  Where several targets choose one donor, the one of least
    bias keeps it and the others choose again.
    """
    n_cells = len(zone)
    left = np.zeros(n_cells, np.int64)
    for p in donors:
        left[cell[p]] += 1
    down, up = np.arange(n_cells) - 1, np.arange(n_cells) + 1
    choice = np.full(len(partner), -1, np.int64)
    claimed = np.full(len(partner), -1, np.int64)
    waiting = targets.copy()
    counts = rules[3]
    rounds = 0
    while len(waiting):
        rounds += 1
        for t in waiting:
            choice[t] = -1
            n_refused = counts[0]
            for step in (-1, 1):
                c = skip_empty(cell[t] + step, step, left, down if step < 0 else up)
                p = -1
                while p < 0 and 0 <= c < n_cells and zone[c] == zone[cell[t]]:
                    p = nearest(t, start[c], start[c + 1], donors, group, weight, rank, taken, rules)
                    if p < 0:
                        c = skip_empty(c + step, step, left, down if step < 0 else up)
                if p >= 0 and (choice[t] < 0 or better(t, p, t, choice[t], weight, value, rank)):
                    choice[t] = p
            p = choice[t]
            if p < 0 and counts[0] > n_refused:
                counts[1] += 1
            if p >= 0 and (claimed[p] < 0 or better(t, p, claimed[p], p, weight, value, rank)):
                claimed[p] = t
        again = 0
        for i in range(len(waiting)):
            t = waiting[i]
            p = choice[t]
            if p < 0:
                continue
            if claimed[p] == t:
                partner[t], partner[p] = p, t
                taken[p] = True
                left[cell[p]] -= 1
            else:
                waiting[again] = t
                again += 1
        waiting = waiting[:again]
    return rounds


@kernel
def better(
    t: Integer, p: Integer, other_t: Integer, other_p: Integer, weight: np.ndarray, value: np.ndarray, rank: np.ndarray
) -> bool:
    """Return whether an exchange of ``t`` and ``p`` has less bias than that of the others, or is alike and comes
    first."""
    bias = np.abs(weight[t] - weight[p]) * np.abs(value[t] - value[p])
    other = np.abs(weight[other_t] - weight[other_p]) * np.abs(value[other_t] - value[other_p])
    if bias != other:
        return bool(bias < other)
    return after(p, t, rank) < after(other_p, other_t, rank)
