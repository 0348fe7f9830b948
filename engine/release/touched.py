"""From drawn pairs of cells to the cells that candidates touch, and to batches of candidates."""

from __future__ import annotations

import numpy as np

from engine.release.batch import CellIndex, ReleaseBatch, TouchedCells, release_batch


class TouchedBuffer:
    """The touched cells of many candidates, one after the other, in room that is used again."""

    def __init__(self, room: int = 1 << 14) -> None:
        from engine.common.compiled import wrapping
        from engine.release import exchanges

        self._exchange, self._wrapping = exchanges.exchange, wrapping
        self._cells = np.empty((4, room), np.int64)
        self._n = 0
        self._ends: list[np.ndarray] = []

    def __len__(self) -> int:
        return self._n

    def clear(self) -> None:
        """Forget everything; batches made before must not be used any more."""
        self._n = 0
        self._ends = []

    @property
    def ends(self) -> np.ndarray:
        """The end of each candidate's cells."""
        return np.concatenate([np.zeros(0, np.int64), *self._ends])

    @property
    def cells(self) -> np.ndarray:
        """Rows: cell, count before, count after, records that stayed."""
        return self._cells[:, : self._n]

    def exchange(
        self, index: CellIndex, pairs: np.ndarray, stops: np.ndarray, swapped: np.ndarray, wanted: np.ndarray
    ) -> None:
        """Add the post-swap tables of several splits of one structure after each number of pairs in ``stops``
        (non-decreasing).

        ``swapped`` masks the words of each split's S (see :func:`split_masks`); ``wanted[split, stop]`` says which
        candidates are wanted, and these are added split by split.
        """
        sources = np.empty((3 + len(stops), min(2 * len(pairs), len(index.table)) + 1), np.int64)
        known, pair_words = np.empty(len(stops), np.int64), np.empty((len(pairs), 2), np.int64)
        ends = np.empty(wanted.shape, np.int64)
        done = 0
        with self._wrapping():
            while True:
                done, index.n_cells, self._n = self._exchange(
                    pairs,
                    stops,
                    done,
                    swapped,
                    wanted,
                    index.rank,
                    sources,
                    known,
                    pair_words,
                    index.words,
                    index.n_cells,
                    index.most_cells,
                    index.buckets,
                    index.bucket_shift,
                    index.counts,
                    index.arrived,
                    index.fresh,
                    self._cells,
                    self._n,
                    ends,
                )
                if done == len(swapped):
                    break
                index.make_room(2 * len(pairs) + 1)
                arriving = np.minimum(2 * stops, min(index.n_cells + 2 * len(pairs), index.most_cells))
                self._make_room(int(known.sum() + arriving.sum()) + 1)
        self._ends.append(ends[wanted])

    def _make_room(self, more: int) -> None:
        if self._n + more > self._cells.shape[1]:
            cells = np.empty((4, max(self._n + more, 2 * self._cells.shape[1])), np.int64)
            cells[:, : self._n] = self.cells
            self._cells = cells

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
