"""The first pass over a streamed source: its distinct rows on some columns, with their counts; cells in a second pass.

Distinct rows of coded columns come in batches and are numbered in order of first appearance.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError, NoRecords
from engine.common.raw_values import smallest
from engine.data.io.stream import Classify, GrowingValues, RecordStream, Unit, ValueClasses
from engine.data.microdata import RawColumn, RawTable, check_number, digest_values

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.data.io.stream import Batch
    from engine.data.microdata import Microdata


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


class CellLookup:
    """Cells of the table of streamed ``data``, for batches of their source that hold the :attr:`columns` coded.

    Read them with ``stream.batches(lookup.columns, known=lookup.values)``, so that pieces may come in any order.
    """

    def __init__(self, data: Microdata) -> None:
        assert data.streamed is not None and data.raw.streamed is not None, "the records are in memory"
        rows = data.raw.streamed.rows
        self.columns = rows.names
        self.values: dict[str, pa.Array] = {name: column.values for name, column in rows.columns.items()}
        self._code_of = {
            name: np.append(codes, np.int32(-1)) for name, codes in data.raw.streamed.representatives.items()
        }
        self._source, self._cell_of_row = rows.source, data.streamed.cell_of_row.astype(np.int32)
        coded = [(column.codes.astype(np.int32), _identity(len(column.values))) for column in rows.columns.values()]
        self._rows = DistinctRows(len(coded))
        self._rows.add(coded, rows.n_records, [len(values) for values in self.values.values()])

    def cells_of(self, batch: Batch) -> np.ndarray:
        """The cell of each record of a batch, an index into ``data.table``, shape ``(batch.n_records,)``, int32; errors
        are those of :meth:`rows_of`."""
        result: np.ndarray = self._cell_of_row[self.rows_of(batch)]
        return result

    def rows_of(self, batch: Batch) -> np.ndarray:
        """The distinct row of each record of a batch, an index into ``data.raw.streamed.rows``, shape
        ``(batch.n_records,)``.

        Raises :class:`EngineError` for a record unlike any of the first pass.
        """
        columns = [batch.coded[name] for name in self.columns]
        if any(len(batch.coded[name].values) > len(values) for name, values in self.values.items()):
            raise self._changed()
        coded = []
        for name, column in zip(self.columns, columns, strict=True):
            code_of = self._code_of.get(name)
            coded.append((column.indices, column.code_of if code_of is None else code_of[column.code_of]))
        rows = self._rows.find(coded, batch.n_records)
        if len(rows) and int(rows.min()) < 0:
            raise self._changed()
        return rows

    def _changed(self) -> EngineError:
        return EngineError(
            f"'{self._source}' holds a record that it did not hold when it was counted; open it again, and leave it as "
            "it is while you work on it"
        )


def _identity(n_values: int) -> np.ndarray:
    return np.append(np.arange(n_values, dtype=np.int32), np.int32(-1))


MOST_ROWS = 10_000_000
"""Distinct rows that are counted in memory."""
_FIRST = 1_000_000
_MOST_THREADS = 4  # each holds a piece of the source


@dataclass(frozen=True)
class UnitCount:
    """Counts of one piece: all ``values`` of each column and ``codes`` of each distinct row on it, in order of first
    appearance; the number of records of each row; and a digest of names, values and records in their order."""

    values: tuple[pa.Array, ...]
    codes: tuple[np.ndarray, ...]
    counts: np.ndarray
    digest: bytes


@dataclass(frozen=True)
class Counted:
    """Counts of a whole source: distinct ``rows`` as a table of raw columns, the records that each stands for, and the
    digest of the source on these columns.  Of a column whose values were classified, rows have the first value of each
    class, whose code ``representatives`` hold for each value."""

    rows: RawTable
    counts: np.ndarray
    digest: bytes
    representatives: Mapping[str, np.ndarray]


def count_unit(
    stream: RecordStream, names: Sequence[str], unit: Unit, classify: Mapping[str, Classify] | None = None
) -> UnitCount:
    """Count the distinct rows of one piece on some columns, of those in ``classify`` by the classes of their values."""
    import pyarrow as pa

    classify = classify or {}
    rows, digest = DistinctRows(len(names)), hashlib.blake2b(digest_size=32)
    classes = [ValueClasses(classify.get(name)) for name in names]
    values: list[pa.Array] = []
    for batch in stream.batches(names, units=[unit]):
        columns = [batch.coded[name] for name in names]
        values = [column.values for column in columns]
        sizes = [of.look_at(column) for of, column in zip(classes, values, strict=True)]
        coded = [(column.indices, of.classes(column.code_of)) for of, column in zip(classes, columns, strict=True)]
        numbers = rows.add(coded, batch.n_records, sizes)
        _check_rows(rows, names, values)
        digest.update(numbers.astype("<i4", copy=False).data)
        for name in classify:  # of which a row does not tell the value
            digest.update(batch.coded[name].codes.astype("<i4", copy=False).data)
    codes = tuple(
        smallest(of.representatives(rows.codes(j)), len(column))
        for j, (of, column) in enumerate(zip(classes, values, strict=False))
    )
    for name, column, of_rows in zip(names, values, codes, strict=False):
        column = column if len(column) else pa.array([], pa.string())  # so in all versions, whatever the type
        digest.update(repr((name, str(column.type), len(column), len(of_rows))).encode())
        digest_values(digest, column)
        digest.update(of_rows.astype("<i4").data)
    return UnitCount(tuple(values), codes, rows.counts.copy(), digest.digest())


def _check_rows(rows: DistinctRows, names: Sequence[str], values: Sequence[pa.Array]) -> None:
    if rows.n_rows > MOST_ROWS:
        name, n_values = max(zip(names, map(len, values), strict=True), key=lambda column: column[1])
        raise EngineError(
            f"the columns of the attributes have more than {MOST_ROWS:,} different combinations, too many to count; "
            f"column '{name}' has the most values ({n_values:,} so far), so put classes of it into the file in its "
            "place, or carry or drop it"
        )


def first_rows(stream: RecordStream, names: Sequence[str]) -> int:
    """Number of distinct rows among the first records of a source, a million or so."""
    rows, left = DistinctRows(len(names)), _FIRST
    for batch in stream.batches(names):
        columns = [batch.coded[name] for name in names]
        coded = [(column.indices, column.code_of) for column in columns]
        rows.add(coded, batch.n_records, [len(column.values) for column in columns])
        left -= batch.n_records
        if left <= 0:
            break
    return rows.n_rows


def merge(
    stream: RecordStream,
    names: Sequence[str],
    counts: Iterable[UnitCount],
    classify: Mapping[str, Classify] | None = None,
) -> Counted:
    """Join the counts of all pieces of a source, which come in its order: the same as if it were one piece."""
    classify = classify or {}
    growing, rows = [GrowingValues(name, stream.source) for name in names], DistinctRows(len(names))
    classes = [ValueClasses(classify.get(name)) for name in names]
    digest = hashlib.blake2b(repr((stream.names, tuple(names))).encode(), digest_size=32)
    n_records = 0
    for count in counts:
        digest.update(count.digest)
        if not len(count.counts):
            continue
        n_records += int(count.counts.sum())
        check_number(n_records, stream.source)
        columns, sizes = [], []
        for of, column, values, codes in zip(classes, growing, count.values, count.codes, strict=True):
            code_of = column.add(values, np.arange(len(values)))  # in order of first appearance already
            sizes.append(of.look_at(column.values))
            columns.append((codes.astype(np.int32), of.classes(code_of)))
        rows.add(columns, len(count.counts), sizes, count.counts)
        _check_rows(rows, names, [column.values for column in growing])
    if not n_records:
        raise NoRecords(f"'{stream.source}' has columns but no records")
    of_rows, representatives = {}, {}
    for j, (name, of, column) in enumerate(zip(names, classes, growing, strict=True)):
        codes = smallest(of.representatives(rows.codes(j)), len(column.values))
        of_rows[name] = RawColumn(name, column.values, codes)
        if name in classify:
            representatives[name] = of.representatives(of.classes(np.arange(len(column.values))))
    table = RawTable(of_rows, rows.n_rows, stream.source)
    return Counted(table, rows.counts.copy(), digest.digest(), representatives)


def count(
    stream: RecordStream,
    names: Sequence[str],
    classify: Mapping[str, Classify] | None = None,
    threads: int | None = None,
) -> Counted:
    """Count the distinct rows of a source on some columns, several pieces at a time."""
    n_threads = threads or default_threads()
    with ThreadPoolExecutor(n_threads) as executor:
        return merge(stream, names, _in_order(executor, n_threads, stream, names, classify), classify)


def default_threads() -> int:
    """Pieces of a source that are read at the same time."""
    return min(_MOST_THREADS, os.cpu_count() or 1)


def _in_order(
    executor: ThreadPoolExecutor,
    n_threads: int,
    stream: RecordStream,
    names: Sequence[str],
    classify: Mapping[str, Classify] | None,
) -> Iterator[UnitCount]:
    """The counts of all pieces in their order, few of them waiting at any time."""
    waiting: deque[Future[UnitCount]] = deque()
    try:
        for unit in stream.units():
            waiting.append(executor.submit(count_unit, stream, names, unit, classify))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
