"""RDS and DDS record by record, as Liu describes them; slow on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.twins import location

Pick = Callable[[int], int]
"""Draws one of ``k`` candidates: a number from 0 to ``k - 1``."""


def candidates(i: int, x: Sequence[int], gone: set[int], other_cell: bool) -> list[int]:
    """Who may be record i's partner, by cell and record."""
    open_ = [j for j in range(len(x)) if j != i and j not in gone and not (other_cell and x[j] == x[i])]
    return sorted(open_, key=lambda j: (x[j], j))


def swap(
    x: Sequence[int], visits: Sequence[int], pick: Pick, other_cell: bool, avoid: bool = False
) -> tuple[list[int], int]:
    """Whose keys each record carries, and how many visited records found no partner."""
    source, swapped, stuck = list(range(len(x))), set[int](), 0
    for i in visits:
        if i in swapped:
            continue
        partners = candidates(i, x, swapped | (set(visits) if avoid else set()), other_cell)
        if not partners:
            stuck += 1
            continue
        j = partners[pick(len(partners))]
        source[i], source[j] = j, i
        swapped |= {i, j}
    return source, stuck


def rds(
    x: Sequence[int], share: float, rng: np.random.Generator, other_cell: bool = False, avoid: bool = False
) -> list[int]:
    """From the data alone: initiators without replacement, in the order they were drawn."""
    m = int(np.floor(share * len(x) + 0.5))
    visits = rng.choice(len(x), m, replace=False).tolist()
    return swap(x, visits, lambda k: int(rng.integers(k)), other_cell, avoid)[0]


def dds(x: Sequence[int], s: int, rng: np.random.Generator, rule: str = "le") -> list[int]:
    """From the data alone: the sensitive records in random order."""
    small = location.sensitive_cells(x, s, rule)
    visits = rng.permutation([i for i in range(len(x)) if x[i] in small]).tolist()
    return swap(x, visits, lambda k: int(rng.integers(k)), True)[0]
