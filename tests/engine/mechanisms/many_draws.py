"""Many draws of the random swap over cells in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.common.compiled import kernel, wrapping
from engine.mechanisms.random_swap import Prepared
from engine.mechanisms.swap_kernels import draw_pairs

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
