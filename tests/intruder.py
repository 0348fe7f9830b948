"""An intruder with a released file and published two-way tables of its original, independent of the engine.

Files are columns by name, the same number of rows; the truth, which rows are whose, is used to grade alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Columns = Mapping[str, Sequence[str]]
Tables = Mapping[str, Mapping[tuple[str, str], int]]
"""Published counts by place and value, by the name of the other column."""


class Guesses(NamedTuple):
    """Households by number, each with the excess in its cells, and those that have a cell which was empty."""

    excess: dict[str, float]
    certain: set[str]


def publish(original: Columns, place: str, others: Sequence[str]) -> Tables:
    """The agency's two-way tables of place by each other column."""
    return {name: Counter(zip(original[place], original[name], strict=True)) for name in others}


def attack(released: Columns, tables: Tables, place: str, household: str) -> Guesses:
    """The excess of released over published counts, as a share of the former, summed over a household's cells."""
    excess: dict[str, float] = dict.fromkeys(released[household], 0.0)
    certain = set()
    for name, before in tables.items():
        cells = list(zip(released[place], released[name], strict=True))
        now = Counter(cells)
        for home, cell in zip(released[household], cells, strict=True):
            excess[home] += max(0, now[cell] - before.get(cell, 0)) / now[cell]
            if not before.get(cell, 0):
                certain.add(home)
    return Guesses(excess, certain)


def auc(scores: Mapping[str, float], moved: set[str]) -> float:
    """The chance that a household that moved looks more suspect than one that stayed."""
    ranked = Counter(round(score, 9) for score in scores.values())
    below, rank = 0, {}
    for score in sorted(ranked):
        rank[score] = below + ranked[score] / 2
        below += ranked[score]
    total = sum(rank[round(scores[home], 9)] for home in moved)
    n = len(moved)
    return (total - n * n / 2) / (n * (len(scores) - n))


def precision(scores: Mapping[str, float], moved: set[str], first: int) -> float:
    """The share of households that moved among the first by suspicion."""
    return sum(home in moved for home in sorted(scores, key=lambda home: (-scores[home], home))[:first]) / first
