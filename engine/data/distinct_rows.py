"""Distinct rows of coded columns that come in batches, numbered in order of first appearance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_ROOM = 1 << 11  # rows at first
_DIRECT = 1 << 22  # combinations up to which each has a slot of its own, in 16 MB
_CHUNK = 1 << 15  # records whose keys stay in the processor's cache
_COMBINED = 1 << 14  # combinations of columns whose parts of the keys stay there
_WORD = 1 << 62
_ONE = np.ones(1, np.int64)

CodedColumn = tuple[np.ndarray, np.ndarray]
"""Indices of records into codes, and these codes; index -1 means the last one.  Code -1 stands for null."""


@dataclass(frozen=True)
class _Layout:
    """Layout of codes in machine words, in mixed radix: column ``j`` has ``capacities[j]`` codes, null among them, and
    is multiplied with a stride in one of ``n_words`` words, the first of which holds so many ``combinations``."""

    capacities: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    n_words: int
    combinations: int

    @classmethod
    def of(cls, capacities: Sequence[int]) -> _Layout:
        """The layout of columns with so many codes each."""
        places, word, stride = [], 0, 1
        for capacity in capacities:
            if stride * capacity > _WORD:
                word, stride = word + 1, 1
            places.append((word, stride))
            stride *= capacity
        return cls(tuple(capacities), tuple(places), word + 1, stride)

    @property
    def is_direct(self) -> bool:
        """Return whether a key is itself the slot of its row."""
        return self.n_words == 1 and self.combinations <= _DIRECT


@dataclass(frozen=True)
class _Group:
    """Columns whose indices make up a number, each times its stride: ``parts`` are what each number adds to a ``word``
    of the key.  To add up indices is many times faster than to look up a part for each column."""

    word: int
    columns: list[tuple[np.ndarray, int]]
    parts: np.ndarray

    def numbers(self, chunk: slice) -> np.ndarray:
        """The number of each record of a chunk, int32; index -1, null, counts as 0."""
        from engine.common.compiled import COMPILED
        from engine.data import row_kernels

        result = np.full(len(self.columns[0][0][chunk]), sum(stride for _, stride in self.columns), np.int32)
        for indices, stride in self.columns:
            if COMPILED:
                row_kernels.combine(result, indices[chunk], np.int32(stride))
            else:
                result += indices[chunk] * np.int32(stride)
        return result


def _grouped(columns: Sequence[CodedColumn], layout: _Layout, n: int) -> list[_Group]:
    """Groups of neighbouring columns, each of few combinations, no more than there are records."""
    groups: list[_Group] = []
    for (indices, codes), (word, stride) in zip(columns, layout.places, strict=True):
        parts = (np.concatenate([codes[-1:], codes]).astype(np.int64) + 1) * stride  # from index -1 on
        last = groups[-1] if groups else None
        if last and last.word == word and len(last.parts) * len(parts) <= min(_COMBINED, n):
            joint = (parts[:, None] + last.parts).ravel()
            groups[-1] = _Group(word, [*last.columns, (indices, len(last.parts))], joint)
        else:
            groups.append(_Group(word, [(indices, 1)], parts))
    return groups


class DistinctRows:
    """Counts of the distinct rows of ``n_columns`` coded columns.

    Memory and time follow the rows that occur, not the product of the columns' values.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_rows = 0
        self._counts = np.zeros(_ROOM, np.int64)
        self._lay_out(_Layout.of([1] * n_columns))

    @property
    def counts(self) -> np.ndarray:
        """Sum of weights of each row, shape ``(n_rows,)``."""
        return self._counts[: self.n_rows]

    def codes(self, column: int) -> np.ndarray:
        """The code of each row on one column, shape ``(n_rows,)``, int32; -1 is null."""
        word, stride = self._layout.places[column]
        of_rows = self._row_keys[: self.n_rows, word] // stride % self._layout.capacities[column]
        result: np.ndarray = of_rows.astype(np.int32) - 1
        return result

    def add(
        self, columns: Sequence[CodedColumn], n: int, sizes: Sequence[int], weights: np.ndarray | None = None
    ) -> np.ndarray:
        """The row of each of ``n`` records, shape ``(n,)``, int32; new rows are numbered as they come.

        ``sizes`` are the numbers of values that each column has so far, ``weights`` those of the records, by default 1.
        """
        wanted = [size + 1 for size in sizes]
        old = self._layout.capacities
        if any(want > capacity for want, capacity in zip(wanted, old, strict=True)):
            spare = 2 if self.n_rows else 1
            self._lay_out(
                _Layout.of([spare * want if want > have else have for want, have in zip(wanted, old, strict=True)])
            )
        out, groups = np.empty(n, np.int32), _grouped(columns, self._layout, n)
        for start in range(0, n, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            self._number(self._keys(groups, chunk, n), _ONE if weights is None else weights[chunk], out[chunk])
        return out

    def find(self, columns: Sequence[CodedColumn], n: int) -> np.ndarray:
        """The row of each of ``n`` records, shape ``(n,)``, int32; -1 where no row was added that is like it.  Codes
        must be among those of the rows."""
        from engine.common.compiled import COMPILED, wrapping
        from engine.data import row_kernels

        out, groups = np.empty(n, np.int32), _grouped(columns, self._layout, n)
        for start in range(0, n, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            keys = self._keys(groups, chunk, n)
            if COMPILED:
                with wrapping():
                    row_kernels.find_rows(keys, self._table, self._shift, out[chunk])
            else:
                out[chunk] = [self._row_of.get(key.tobytes(), -1) for key in keys]
        return out

    def _keys(self, groups: Sequence[_Group], chunk: slice, n: int) -> np.ndarray:
        """The keys of some of ``n`` records, shape ``(records, n_words)``."""
        from engine.common.compiled import COMPILED
        from engine.data import row_kernels

        keys = np.zeros((min(chunk.stop, n) - chunk.start, self._layout.n_words), np.int64)
        for group in groups:
            if COMPILED:
                row_kernels.pack(keys[:, group.word], group.numbers(chunk), group.parts)
            else:
                keys[:, group.word] += group.parts[group.numbers(chunk)]
        return keys

    def _number(self, keys: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """Write the rows of some keys to ``out``, and add up their weights."""
        from engine.common.compiled import COMPILED, wrapping
        from engine.data import row_kernels

        if not COMPILED:
            self._number_plainly(keys, weights, out)
            return
        at = 0
        with wrapping():
            while True:
                if self._layout.is_direct:
                    _, rows, row_keys = self._table
                    at, self.n_rows = row_kernels.number_by_key(keys, at, self.n_rows, rows, row_keys, out)
                else:
                    at, self.n_rows = row_kernels.number_rows(keys, at, self.n_rows, self._table, self._shift, out)
                if at == len(keys):
                    break
                self._grow()
            row_kernels.add_weights(out, weights, self._counts)

    def _number_plainly(self, keys: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """The same without compiled code."""
        distinct, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        number = np.empty(len(distinct), np.int64)
        for k in np.argsort(first).tolist():
            key = distinct[k].tobytes()
            if key not in self._row_of:
                if self.n_rows == len(self._counts):
                    self._grow()
                self._row_of[key] = self.n_rows
                self._row_keys[self.n_rows] = distinct[k]
                self.n_rows += 1
            number[k] = self._row_of[key]
        out[:] = number[inverse.reshape(-1)]
        np.add.at(self._counts, out, weights if len(weights) > 1 else weights[0])

    def _grow(self) -> None:
        """Make room for twice as many rows."""
        self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._fill(self._row_keys[: self.n_rows])

    def _lay_out(self, layout: _Layout) -> None:
        """Pack the rows anew."""
        columns = [self.codes(j) for j in range(len(layout.capacities))] if self.n_rows else []
        self._layout = layout
        keys = np.zeros((self.n_rows, layout.n_words), np.int64)
        for codes, (word, stride) in zip(columns, layout.places, strict=False):
            keys[:, word] += (codes.astype(np.int64) + 1) * stride
        self._fill(keys)

    def _fill(self, keys: np.ndarray) -> None:
        """Put the keys of all rows into new slots."""
        from engine.common.compiled import COMPILED, wrapping
        from engine.data import row_kernels

        room = len(self._counts)
        self._row_keys = np.zeros((room, keys.shape[1]), np.int64)
        self._row_keys[: len(keys)] = keys
        self._row_of = {} if COMPILED else {key.tobytes(): row for row, key in enumerate(keys)}
        if self._layout.is_direct:
            slots, self._shift = np.full(self._layout.combinations, -1, np.int32), np.uint64(0)
            slots[keys[:, 0]] = np.arange(len(keys))
            self._table = np.zeros(0, np.uint64), slots, self._row_keys
            return
        n_slots = 2 * room if COMPILED else 0
        self._table = np.zeros(n_slots, np.uint64), np.full(n_slots, -1, np.int32), self._row_keys
        self._shift = np.uint64(64 - (2 * room - 1).bit_length())
        if COMPILED and len(keys):
            with wrapping():
                row_kernels.number_rows(keys, 0, 0, self._table, self._shift, np.empty(len(keys), np.int32))
