"""Integer kernels that deal the pairs of a random swap to records that stream by."""

from __future__ import annotations

import numpy as np

from engine.common.compiled import below, kernel


@kernel
def group_places(places: np.ndarray, cell_of_place: np.ndarray, start: np.ndarray, grouped: np.ndarray) -> None:
    """Fill ``grouped`` with ``places`` cell after cell, those of a cell in the order in which they come; ``start`` is
    where each cell's begin, and ends where they end."""
    for place in places:
        cell = cell_of_place[place]
        grouped[start[cell]] = place
        start[cell] += 1


@kernel
def deal(
    cells: np.ndarray,
    unseen: np.ndarray,
    next_place: np.ndarray,
    end: np.ndarray,
    grouped: np.ndarray,
    state: np.ndarray,
    places: np.ndarray,
) -> None:
    """Fill ``places`` with the place of each of the next records, whose ``cells`` are given, or -1.

    ``unseen`` counts the records of each cell that have not come by; its places not yet given are
    ``grouped[next_place[cell]:end[cell]]``.  A record takes the next one with probability (places left) / (records
    left): the record is among the first ``left`` of ``unseen`` equally likely ones.
    """
    for i in range(len(cells)):
        cell = cells[i]
        left = end[cell] - next_place[cell]
        places[i] = -1
        if left > 0 and (left == unseen[cell] or below(state, unseen[cell]) < left):
            places[i] = grouped[next_place[cell]]
            next_place[cell] += 1
        unseen[cell] -= 1


@kernel
def deal_groups(
    cell_of_group: np.ndarray,
    sizes: np.ndarray,
    unseen: np.ndarray,
    next_place: np.ndarray,
    end: np.ndarray,
    grouped: np.ndarray,
    state: np.ndarray,
    group_of_place: np.ndarray,
) -> None:
    """Deal the places of cells to groups of equal records as to records that come by group after group, and note the
    group that has each place; other arguments are as :func:`deal` takes them."""
    for group in range(len(cell_of_group)):
        cell = cell_of_group[group]
        for _ in range(sizes[group]):
            left = end[cell] - next_place[cell]
            if left == 0:
                break
            if left == unseen[cell] or below(state, unseen[cell]) < left:
                group_of_place[grouped[next_place[cell]]] = group
                next_place[cell] += 1
            unseen[cell] -= 1
