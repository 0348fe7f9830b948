"""Swapping of survey records, record by record, as its text says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

STARTS = 2**62
Cell = tuple[int, ...]


def select(size: Sequence[int], asked: int, begin: int) -> list[bool]:
    """Who of a stratum is a target: certainties taken out again and again, then a systematic draw."""
    certain: set[int] = set()
    while True:
        left = asked - len(certain)
        total = sum(s for i, s in enumerate(size) if i not in certain)
        more = {i for i, s in enumerate(size) if i not in certain and s > 0 and left > 0 and s >= Fraction(total, left)}
        if not more:
            break
        certain |= more
    chosen = [i in certain for i in range(len(size))]
    if left <= 0 or total == 0:
        return chosen
    offset, reached = begin * total // STARTS, 0
    for i, s in enumerate(size):
        if i in certain:
            continue
        before, reached = reached, reached + s * left
        chosen[i] = any((before + offset) < m * total <= (reached + offset) for m in range(left + 2))
    return chosen


def partners(
    targets: Sequence[int],
    donors: Sequence[int],
    zone: Sequence[Cell],
    cell: Sequence[Cell],
    weight: Sequence[float],
    value: Sequence[float],
    rank: Sequence[int],
    refused: Callable[[int, int], bool] = lambda t, p: False,
) -> tuple[dict[int, int], int]:
    """The partner of each target that found one, and the number of rounds; ``refused`` says who may not exchange."""
    n = len(rank)
    found: dict[int, int] = {}
    waiting, left, rounds = list(targets), set(donors), 0
    while waiting:
        rounds += 1
        choices: dict[int, int] = {}
        for t in waiting:
            free = [p for p in left if zone[p] == zone[t] and not refused(t, p)]
            mine = {cell[p] for p in free}
            neighbours = [max((c for c in mine if c < cell[t]), default=None)]
            neighbours.append(min((c for c in mine if c > cell[t]), default=None))
            candidates = []
            for c in neighbours:
                inside = [p for p in free if c is not None and cell[p] == c]
                if inside:
                    candidates.append(min(inside, key=lambda p: (abs(weight[p] - weight[t]), (rank[p] - rank[t]) % n)))
            if candidates:
                choices[t] = min(candidates, key=lambda p: (_bias(t, p, weight, value), (rank[p] - rank[t]) % n))
        for p in set(choices.values()):
            t = min(
                (t for t, of_t in choices.items() if of_t == p),
                key=lambda t: (_bias(t, p, weight, value), (rank[p] - rank[t]) % n),
            )
            found[t] = p
            left.remove(p)
        waiting = [t for t in waiting if t in choices and t not in found]
    return found, rounds


def _bias(t: int, p: int, weight: Sequence[float], value: Sequence[float]) -> float:
    """The change that an exchange makes to the two records' weighted total."""
    return abs(weight[t] - weight[p]) * abs(value[t] - value[p])
