"""From drawn pairs of cells to the cells that candidates touch, and to batches of candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.release.batch import CellIndex, ReleaseBatch, TouchedCells, release_batch


class ExchangedPairs:
    """Base of what a compiled function makes of exchanged pairs, candidate after candidate, in room that is used again;
    ``n_added`` entries of it are in use."""

    def __init__(self, exchange: Callable[..., tuple[int, int, int]]) -> None:
        from engine.common.compiled import wrapping

        self._exchange, self._wrapping = exchange, wrapping
        self.n_added = 0

    def __len__(self) -> int:
        return self.n_added

    def clear(self) -> None:
        """Forget everything; batches made before must not be used any more."""
        self.n_added = 0

    def _add(
        self,
        index: CellIndex,
        pairs: np.ndarray,
        stops: np.ndarray,
        swapped: np.ndarray,
        wanted: np.ndarray,
        room: Callable[[int], tuple[Any, ...]],
    ) -> None:
        """Run the function on several splits of one structure; ``room`` gives the arrays that it fills, with so many
        more entries free."""
        sources = np.empty((2 + len(stops), min(2 * len(pairs), len(index.table)) + 1), index.counts.dtype)
        known, pair_keys = np.empty(len(stops), np.int64), np.empty((len(pairs), 2), np.int32)
        done = more = 0
        with self._wrapping():
            while True:
                done, index.n_cells, self.n_added = self._exchange(
                    pairs,
                    stops,
                    done,
                    swapped,
                    wanted,
                    sources,
                    known,
                    pair_keys,
                    index.words,
                    index.n_cells,
                    index.most_cells,
                    index.buckets,
                    index.bucket_shift,
                    index.counts,
                    index.arrived,
                    index.fresh,
                    *room(more),
                    self.n_added,
                )
                if done == len(swapped):
                    break
                index.make_room(2 * len(pairs) + 1)
                arriving = np.minimum(2 * stops, min(index.n_cells + 2 * len(pairs), index.most_cells))
                more = int(known.sum() + arriving.sum()) + 1


class TouchedBuffer(ExchangedPairs):
    """The touched cells of many candidates, one after the other."""

    def __init__(self, room: int = 1 << 14) -> None:
        from engine.release import exchanges

        super().__init__(exchanges.exchange)
        self._cells = np.empty((4, room), np.int64)
        self._ends: list[np.ndarray] = []

    def clear(self) -> None:
        """Forget everything; batches made before must not be used any more."""
        super().clear()
        self._ends = []

    @property
    def ends(self) -> np.ndarray:
        """The end of each candidate's cells."""
        return np.concatenate([np.zeros(0, np.int64), *self._ends])

    @property
    def cells(self) -> np.ndarray:
        """Rows: cell, count before, count after, records that stayed."""
        return self._cells[:, : self.n_added]

    def exchange(
        self, index: CellIndex, pairs: np.ndarray, stops: np.ndarray, swapped: np.ndarray, wanted: np.ndarray
    ) -> None:
        """Add the post-swap tables of several splits of one structure after each number of pairs in ``stops``
        (non-decreasing).

        ``swapped`` masks the words of each split's S (see :func:`split_masks`); ``wanted[split, stop]`` says which
        candidates are wanted, and these are added split by split.
        """
        ends = np.empty(wanted.shape, np.int64)

        def room(more: int) -> tuple[np.ndarray, np.ndarray]:
            if self.n_added + more > self._cells.shape[1]:
                cells = np.empty((4, max(self.n_added + more, 2 * self._cells.shape[1])), np.int64)
                cells[:, : self.n_added] = self.cells
                self._cells = cells
            return ends, self._cells

        self._add(index, pairs, stops, swapped, wanted, room)
        self._ends.append(ends[wanted])

    def batch(
        self, index: CellIndex, changed: np.ndarray, swaps: np.ndarray, failing: np.ndarray | None = None
    ) -> ReleaseBatch:
        """The batch that measures look at; ``changed`` and ``swaps`` have one row per candidate, in the order in which
        they were added. It shares this object's room."""
        return release_batch(index.cells(failing), TouchedCells(self.ends, *self.cells), changed, swaps)


def split_masks(index: CellIndex, swaps: np.ndarray) -> np.ndarray:
    """The masks of several splits' swapped attributes, shape ``(splits, words)``; ``swaps`` says of each split which
    attributes those are."""
    return np.asarray(swaps @ index.table.packing.masks)
