"""Candidate releases as sparse changes of the full table, formed from drawn pairs of cells.

A release differs from the original in few cells.  A :class:`ReleaseBatch` holds, for many candidates one after the
other, the touched cells with their count before, their count after, and how many of the records in them are unchanged.
That is all that table-based measures need; records are made only for an export or for a measure that asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from engine.common.registry import Cache
from engine.data.table import ContingencyTable, occupied

_DIRECT_BITS = 20  # cells packed in so few bits are looked up in an array of that many entries, without a hash


class CellIndex:
    """The cells of a table, packed into words, and those that releases add to them.

    Cells ``0..len(table)-1`` are the table's own, in its order; later ones are met on the way.  An index is a name
    within this object and never leaves it, so which cells were met first changes no result.
    """

    def __init__(self, table: ContingencyTable) -> None:
        from engine.common.compiled import wrapping
        from engine.release import exchanges

        self._kernels, self._wrapping = exchanges, wrapping
        self.table = table
        self.shared = Cache()
        self.layout = table.packing.fields
        self.n_words = table.packing.n_words
        self.most_cells = min(math.prod(table.domain.shape), 1 << 62)
        self._bits = table.packing.bits if self.n_words == 1 else 64
        self.reset()

    def reset(self) -> None:
        """Forget all but the table's own cells."""
        m = len(self.table)
        self.words, self.n_cells = self.table.words, m
        self._grow(min(2 * m, self.most_cells) + 1024)

    def _grow(self, size: int) -> None:
        """Room for so many cells; those that were met stay, what the kernels count by key begins afresh."""
        words = np.zeros((size, self.n_words), np.int64)
        words[: self.n_cells] = self.words[: self.n_cells]
        self.words = words
        bits = (2 * len(self.words)).bit_length()
        direct = self._bits <= min(_DIRECT_BITS, bits + 3)
        self.buckets = np.full(1 << (self._bits if direct else bits), -1, np.int32)
        self.bucket_shift = self._kernels.DIRECT if direct else 64 - bits
        keys = len(self.buckets) if direct else len(self.words)
        self.arrived, self.fresh = np.zeros(keys, np.int32), np.zeros(keys + 1, np.int32)
        m = len(self.table)
        self.counts = np.zeros(keys, np.int32 if self.table.n_records < 1 << 31 else np.int64)
        self.counts[self.words[:m, 0] if direct else slice(m)] = self.table.counts
        with self._wrapping():
            self._kernels.fill_buckets(self.words, self.n_cells, self.buckets, self.bucket_shift)

    def make_room(self, new_cells: int) -> None:
        """Make sure that ``new_cells`` more cells fit, or all that there can be; indices given before stay good."""
        if min(self.n_cells + new_cells, self.most_cells) >= len(self.words):
            self._grow(min(2 * (self.n_cells + new_cells), self.most_cells + 1))

    def trim(self) -> None:
        """Start afresh when far more cells than the table's own have piled up; to be called between batches only."""
        if self.n_cells > 4 * len(self.table) + (1 << 20):
            self.reset()

    def cells(self, failing: np.ndarray | None = None) -> Cells:
        """All cells met so far, for a batch that refers to them; it holds until the index is trimmed."""
        return Cells(
            self.table.counts,
            self.words[: self.n_cells],
            self.layout,
            self.table.domain.shape,
            self.table.n_records,
            failing,
            self.shared,
        )


def unpack(words: np.ndarray, layout: tuple[int, int, int]) -> np.ndarray:
    """Level codes of one attribute from packed words of shape ``(cells, n_words)``."""
    word, shift, ones = layout
    return (words[:, word] >> shift) & ones


class Cells(NamedTuple):
    """The cells that the candidates of a batch refer to, those of the original first.

    ``original`` are the counts of the original's cells, ``words`` and ``layout`` the packed cells, ``shape`` the levels
    of each attribute.  ``failing`` marks, by edit rule, the cells that break it; ``shared`` caches results on the
    original.
    """

    original: np.ndarray
    words: np.ndarray
    layout: Sequence[tuple[int, int, int]]
    shape: tuple[int, ...]
    n_records: int
    failing: np.ndarray | None
    shared: Cache

    @classmethod
    def listed(
        cls,
        cells: np.ndarray,
        counts: np.ndarray,
        shape: Sequence[int],
        failing: np.ndarray | None = None,
        shared: Cache | None = None,
    ) -> Cells:
        """Cells as rows of level codes, one column for each attribute, with their ``counts`` in the original, where
        cells that do not occur (count 0) come last."""
        return cls(
            counts[counts > 0],
            cells.astype(np.int64, copy=False),
            [(j, 0, -1) for j in range(len(shape))],
            tuple(shape),
            int(counts.sum()),
            failing,
            Cache() if shared is None else shared,
        )


class TouchedCells(NamedTuple):
    """The cells that candidates touch, candidate after candidate: where each one's ``ends``, and per cell its place
    among the :class:`Cells`, the counts before and after, and the records in it that stayed unchanged."""

    ends: np.ndarray
    cell: np.ndarray
    before: np.ndarray
    after: np.ndarray
    kept: np.ndarray

    @classmethod
    def moved(
        cls, ends: np.ndarray, cell: np.ndarray, before: np.ndarray, left: np.ndarray, came: np.ndarray
    ) -> TouchedCells:
        """Cells that so many records ``left`` and to which so many ``came``."""
        return cls(ends, cell, before, before - left + came, before - left)

    @classmethod
    def none(cls) -> TouchedCells:
        """One candidate that touches no cell."""
        nothing = np.zeros(0, np.int64)
        return cls(np.zeros(1, np.int64), nothing, nothing, nothing, nothing)


def release_batch(cells: Cells, touched: TouchedCells, changed: np.ndarray, swaps: np.ndarray) -> ReleaseBatch:
    """The candidates that touch these cells; ``changed`` (records) and ``swaps`` (attributes) have one row for each."""
    return ReleaseBatch(
        original=cells.original,
        n_records=cells.n_records,
        ends=touched.ends,
        before=touched.before,
        after=touched.after,
        kept=touched.kept,
        changed=changed,
        swaps=swaps,
        cell=touched.cell,
        index_words=cells.words,
        layout=cells.layout,
        shape=cells.shape,
        failing=cells.failing,
        shared=cells.shared,
    )


@dataclass
class ReleaseBatch:
    """Touched cells of several candidate releases, candidate after candidate.

    ``ends[i]`` is where candidate ``i``'s cells end; ``before``, ``after`` and ``kept`` are counts per touched cell
    (``kept`` = unchanged records in it).  ``changed[i]`` is the number of changed records; ``swaps[i, j]`` says whether
    those changed on attribute ``j`` (all of them do or none does).  ``original`` are the counts of the occupied cells
    before.  A cell that is not listed is as it was. ``failing`` marks, by edit rule, the cells of the index that break
    it (None when the plan declares none).

    ``shared`` caches results on the original, which other batches use too; ``own`` those on these candidates.
    ``exact`` tabulates a margin anew, of releases whose records do not all change on the same attributes.
    """

    original: np.ndarray
    n_records: int
    ends: np.ndarray
    before: np.ndarray
    after: np.ndarray
    kept: np.ndarray
    changed: np.ndarray
    swaps: np.ndarray
    cell: np.ndarray
    index_words: np.ndarray = field(repr=False)
    layout: Sequence[tuple[int, int, int]] = field(repr=False)
    shape: tuple[int, ...] = ()
    failing: np.ndarray | None = field(default=None, repr=False)
    shared: Cache = field(default_factory=Cache, repr=False)
    own: Cache = field(default_factory=Cache, repr=False)
    exact: Callable[[tuple[int, ...]], ReleaseBatch] | None = field(default=None, repr=False)
    _margins: dict[tuple[int, ...], ReleaseBatch] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.ends)

    @cached_property
    def owner(self) -> np.ndarray:
        """The candidate that each touched cell belongs to."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums per candidate, formed from its own cells in their order (so the same alone as among others)."""
        values = np.asarray(values)
        sums = np.zeros(len(self.ends))
        some, first = self._parts
        if len(first):
            integers = values.dtype.kind != "f"
            sums[some] += np.add.reduceat(values, first, dtype=np.int64 if integers else None)
        return sums

    @cached_property
    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        """The candidates that touch any cell, and where the cells of each begin."""
        first = np.concatenate([[0], self.ends[:-1]])
        some = np.flatnonzero(self.ends > first)
        return some, first[some]

    def project(self, attributes: Sequence[int]) -> ReleaseBatch:
        """The same releases seen on the margin of some attributes.

        A record counts as changed there only if it changed on one of these attributes.  Each margin is formed once per
        batch.
        """
        attributes = tuple(attributes)
        if attributes == tuple(range(len(self.shape))):
            return self
        if attributes not in self._margins:
            self._margins[attributes] = self._project(attributes)
        return self._margins[attributes]

    def unaltered_on(self, attributes: Sequence[int]) -> ReleaseBatch:
        """The margin of some attributes, in which ``kept`` and ``changed`` count a record as unaltered exactly when it
        is so on these attributes, also where each record changes on attributes of its own.

        :meth:`project` gives the same tables, and the same ``kept`` of mechanisms that exchange several attributes as
        one.
        """
        return self.project(attributes) if self.exact is None else self.exact(tuple(attributes))

    def _project(self, attributes: tuple[int, ...]) -> ReleaseBatch:
        columns = [unpack(self.index_words, self.layout[j]) for j in attributes]
        cells, inverse = occupied(columns, [self.shape[j] for j in attributes], len(self.index_words))
        n_original = len(self.original)
        counts = np.bincount(inverse[:n_original], weights=self.original, minlength=len(cells)).astype(np.int64)
        # the original's cells first, as in the full table, so that a margin of this margin finds them there
        order = np.argsort(counts == 0, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        cells, counts, inverse = cells[order], counts[order], rank[inverse]
        seen = np.asarray(self.swaps[:, list(attributes)].any(axis=1))
        visible = seen[self.owner]
        flat = self.owner[visible] * len(cells) + inverse[self.cell[visible]]
        removed, arrived = (self.before - self.kept)[visible], (self.after - self.kept)[visible]
        size = len(self) * len(cells)
        if size <= 4 * len(flat) + (1 << 20):
            gone = np.bincount(flat, weights=removed, minlength=size).astype(np.int64)
            come = np.bincount(flat, weights=arrived, minlength=size).astype(np.int64)
            places = np.flatnonzero((gone > 0) | (come > 0))
            gone, come = gone[places], come[places]
        else:
            places, where = np.unique(flat, return_inverse=True)
            gone = np.bincount(where, weights=removed).astype(np.int64)
            come = np.bincount(where, weights=arrived).astype(np.int64)
        owner, cell = places // len(cells), places % len(cells)
        shape = [self.shape[j] for j in attributes]
        shared = self.shared.cached(("margin", attributes), Cache)
        ends = np.searchsorted(owner, np.arange(len(self)), side="right")
        return release_batch(
            Cells.listed(cells, counts, shape, shared=shared),
            TouchedCells.moved(ends, cell, counts[cell], gone, come),
            np.where(seen, self.changed, 0),
            self.swaps[:, list(attributes)],
        )


@dataclass(frozen=True)
class SummedBatch:
    """Candidates of which no more is known than sums over the cells that they touch.

    These are squared changes of the roots of counts, changes of counts in size, x log x before less after, and in
    ``small_cells`` the unaltered records in cells of fewer than ``n_rule`` after, less the records in cells that small
    before; the other fields are those of a :class:`ReleaseBatch`.
    """

    original: np.ndarray
    n_records: int
    changed: np.ndarray
    n_rule: int
    root_changes: np.ndarray
    moved: np.ndarray
    x_log_x: np.ndarray
    small_cells: np.ndarray

    def __len__(self) -> int:
        return len(self.changed)


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

        ``swapped`` masks the words of each split's S; ``wanted[split, stop]`` says which
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
