"""Small cases whose exact law can be enumerated, chosen to reach every branch of the draw, and many draws in one
compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from engine.common.compiled import kernel, wrapping
from engine.mechanisms.random_swap import Prepared
from engine.mechanisms.swap_kernels import draw_pairs
from engine.release.spec import pairs_wanted
from tests.small_tables import Record, Small, expand
from tests.twins import random_swap as twin


@dataclass(frozen=True)
class Case:
    """Cells in lexicographic order, their counts, a spec; ``rate`` None draws until nothing is left."""

    cells: tuple[Record, ...]
    counts: tuple[int, ...]
    roles: str
    rate: str | None = None
    rule: str = "strict"

    @cached_property
    def small(self) -> Small:
        shape = tuple(max(column) + 1 for column in zip(*self.cells, strict=True))
        return expand(self.cells, self.counts, shape)

    @property
    def wanted(self) -> int:
        return pairs_wanted(self.rate or "1", sum(self.counts))[1]

    @cached_property
    def law(self) -> twin.Law:
        """Outcomes by their chance, over the places of occupied cells."""
        cells = [cell for cell, count in zip(self.cells, self.counts, strict=True) if count]
        counts = [count for count in self.counts if count]
        return twin.law(cells, counts, self.roles, self.wanted, self.rule)


def grid(*shape: int) -> tuple[Record, ...]:
    """All cells of a shape."""
    return tuple(product(*map(range, shape)))


CASES = {
    # one pair: unequal cells, so a partner drawn by cell and not by record shows
    "first pair": Case(((0, 0), (0, 1), (1, 0), (1, 1), (1, 2)), (4, 2, 1, 5, 1), "SU", "0.1"),
    "first pair, loose": Case(((0, 0), (0, 1), (1, 0), (1, 1), (1, 2)), (4, 2, 1, 5, 1), "SU", "0.1", "loose"),
    "three pairs": Case(grid(3, 2), (3, 2, 1, 3, 2, 1), "SU", "0.5"),
    # until nothing is left: positions are numbered anew several times
    "depleted": Case(grid(3, 2), (5, 1, 2, 2, 1, 3), "SU"),
    "depleted, loose": Case(grid(3, 2), (4, 1, 2, 2, 1, 1), "SU", rule="loose"),
    "unequal": Case(((0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (2, 2)), (60, 2, 1, 2, 1, 1), "SU"),
    # 800 of 803 records are alike on U: partners are found by counting after 64 rejections
    "rare partners": Case(((0, 0), (1, 0), (1, 1), (1, 2)), (400, 400, 1, 2), "SU", "0.005"),
    # F and C near exhaustion; strict with one U left to differ
    "tight F and C": Case(grid(3, 3, 1), (1, 2, 1, 2, 1, 1, 1, 1, 2), "SCF"),
    "two F cells": Case(grid(2, 3, 2), (1, 1, 2, 1, 1, 2, 1, 0, 1, 1, 1, 1), "SCF"),
    "tight C": Case(((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (2, 0, 0), (2, 1, 1)), (2, 1, 2, 2, 1, 1), "SCU"),
    "one U": Case(grid(3, 1, 3), (2, 1, 1, 1, 1, 1, 1, 1, 2), "SFU"),
    "two S": Case(grid(2, 3, 2), (1, 1, 1, 2, 1, 0, 1, 1, 1, 0, 1, 1), "SSU"),
    "never": Case(((0, 0), (0, 1), (1, 2)), (3, 2, 1), "SF"),
    "never, by class": Case(((0, 0), (0, 1), (0, 2)), (3, 2, 1), "SU"),
}


_draw: Callable[..., Any] = draw_pairs


@kernel
def _draw_many(wanted: int, prepared: tuple[Any, ...], states: np.ndarray, pairs: np.ndarray) -> None:
    for i in range(len(states)):
        drawn = _draw(wanted, *prepared, states[i], pairs[i])
        pairs[i, drawn:] = -1


def draw_many(prepared: Prepared, states: np.ndarray, wanted: int) -> np.ndarray:
    """Pairs of cells by state, shape ``(states, wanted, 2)``; -1 stands where there was no pair left to draw."""
    pairs = np.empty((len(states), wanted, 2), np.int64)
    arguments = (
        prepared.order,
        prepared.cells,
        prepared.class_start,
        prepared.first_class,
        prepared.last_class,
        prepared.values,
        prepared.guide,
        prepared.shift,
        prepared.runs,
        prepared.spare,
        prepared.reach,
        prepared.offset,
        prepared.memo,
        prepared.used,
    )
    with wrapping():
        _draw_many(wanted, arguments, states, pairs)
    return pairs


def distinct(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One of the draws that have the same pairs of cells in any order and the same last pair as drawn, for each such
    kind, and how many there are of it."""
    n_drawn = (draws[:, :, 0] >= 0).sum(axis=1)
    last = draws[np.arange(len(draws)), n_drawn - 1] + 1
    size = int(draws.max()) + 2
    assert size**2 <= 256, "a pair of cells no longer fits a byte"
    low, high = (np.sort(draws, axis=2) + 1).transpose(2, 0, 1)
    pairs = np.sort((low * size + high).astype(np.uint8), axis=1)
    told = np.column_stack([pairs, last @ [size, 1]]).astype(np.uint8)
    _, first, times = np.unique(told.view(f"V{told.shape[1]}"), return_index=True, return_counts=True)
    return draws[first], times
