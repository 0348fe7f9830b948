"""Distinct rows of coded columns that come in batches, numbered in order of first appearance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.data.table import Packing

_FIRST = 1 << 12  # slots
_ONE = np.ones(1, np.int64)

CodedColumn = tuple[np.ndarray, np.ndarray]
"""Indices of records into codes, and these codes; index -1 means the last one.  Code -1 stands for null."""


class DistinctRows:
    """Counts of the distinct rows of ``n_columns`` coded columns.

    Memory and time follow the rows that occur, not the product of the columns' values.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_rows = 0
        self._sizes = [1] * n_columns
        self._counts = np.zeros(_FIRST // 2, np.int64)
        self._lay_out([2] * n_columns)

    @property
    def counts(self) -> np.ndarray:
        """Sum of weights of each row, shape ``(n_rows,)``."""
        return self._counts[: self.n_rows]

    def codes(self, column: int) -> np.ndarray:
        """The code of each row on one column, shape ``(n_rows,)``, int32; -1 is null."""
        word, shift, mask = self._packing.fields[column]
        result: np.ndarray = ((self._row_keys[: self.n_rows, word] >> shift) & mask).astype(np.int32) - 1
        return result

    def add(
        self, columns: Sequence[CodedColumn], n: int, sizes: Sequence[int], weights: np.ndarray | None = None
    ) -> np.ndarray:
        """The row of each of ``n`` records, shape ``(n,)``, int32; new rows are numbered as they come.

        ``sizes`` are the numbers of values that each column has so far, ``weights`` those of the records, by default 1.
        """
        wanted = [size + 1 for size in sizes]
        if any(want > capacity for want, capacity in zip(wanted, self._capacities, strict=True)):
            self._lay_out([2 * want if want > old else old for want, old in zip(wanted, self._capacities, strict=True)])
        return self._number(self._keys(columns, n), _ONE if weights is None else weights)

    def find(self, columns: Sequence[CodedColumn], n: int) -> np.ndarray:
        """The row of each of ``n`` records, shape ``(n,)``, int32; -1 where no row was added that is like it.  Codes
        must be among those of the rows."""
        from engine.common.compiled import COMPILED, wrapping
        from engine.data import row_kernels

        out = np.empty(n, np.int32)
        keys = self._keys(columns, n)
        if not COMPILED:
            return np.array([self._row_of.get(key.tobytes(), -1) for key in keys], np.int32)
        with wrapping():
            row_kernels.find_rows(keys, self._slots, self._row_keys, self._shift, out)
        return out

    def _keys(self, columns: Sequence[CodedColumn], n: int) -> np.ndarray:
        from engine.common.compiled import COMPILED
        from engine.data import row_kernels

        keys = np.zeros((self._packing.n_words, n), np.int64)
        for (indices, codes), (word, shift, _) in zip(columns, self._packing.fields, strict=True):
            shifted = (codes.astype(np.int64) + 1) << shift
            if COMPILED:
                row_kernels.pack(keys[word], indices, shifted)
            else:
                keys[word] |= shifted[indices]
        return np.ascontiguousarray(keys.T)

    def _number(self, keys: np.ndarray, weights: np.ndarray) -> np.ndarray:
        from engine.common.compiled import COMPILED, wrapping
        from engine.data import row_kernels

        out = np.empty(len(keys), np.int32)
        if not COMPILED:
            return self._number_plainly(keys, weights)
        at = 0
        with wrapping():
            while True:
                table = (self._slots, self._row_keys, self._counts)
                at, self.n_rows = row_kernels.number_rows(keys, weights, at, self.n_rows, table, self._shift, out)
                if at == len(keys):
                    return out
                self._grow()

    def _number_plainly(self, keys: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The same without compiled code."""
        distinct, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        number = np.empty(len(distinct), np.int64)
        for k in np.argsort(first).tolist():
            key = distinct[k].tobytes()
            if key not in self._row_of:
                while self.n_rows >= len(self._counts):
                    self._grow()
                self._row_of[key] = self.n_rows
                self._row_keys[self.n_rows] = distinct[k]
                self.n_rows += 1
            number[k] = self._row_of[key]
        rows = number[inverse.reshape(-1)].astype(np.int32)
        np.add.at(self._counts, rows, weights if len(weights) > 1 else weights[0])
        return rows

    def _grow(self) -> None:
        """Make room for twice as many rows."""
        room = 2 * len(self._counts)
        self._counts = np.concatenate([self._counts, np.zeros(room - len(self._counts), np.int64)])
        self._fill(self._row_keys[: self.n_rows])

    def _lay_out(self, capacities: list[int]) -> None:
        """Pack rows so that each column has room for so many codes, null among them."""
        columns = [self.codes(j) for j in range(len(capacities))] if self.n_rows else []
        self._capacities = [1 << (capacity - 1).bit_length() for capacity in capacities]
        self._packing = Packing.of(self._capacities)
        keys = np.zeros((self.n_rows, self._packing.n_words), np.int64)
        for codes, (word, shift, _) in zip(columns, self._packing.fields, strict=False):
            keys[:, word] |= (codes.astype(np.int64) + 1) << shift
        self._fill(keys)

    def _fill(self, keys: np.ndarray) -> None:
        """Put the keys of all rows into new slots."""
        from engine.common.compiled import COMPILED, wrapping
        from engine.data import row_kernels

        room = len(self._counts)
        self._row_keys = np.empty((room, keys.shape[1]), np.int64)
        self._row_keys[: len(keys)] = keys
        self._row_of = {} if COMPILED else {key.tobytes(): row for row, key in enumerate(keys)}
        self._slots = np.full(2 * room, -1, np.int32)
        self._shift = np.uint64(64 - (2 * room - 1).bit_length())
        if COMPILED and len(keys):
            counts, out = np.zeros(room, np.int64), np.empty(len(keys), np.int32)
            with wrapping():
                row_kernels.number_rows(keys, _ONE, 0, 0, (self._slots, self._row_keys, counts), self._shift, out)
