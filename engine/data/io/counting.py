"""The first pass over a streamed source: its distinct rows on some columns, with their counts."""

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
from engine.data.distinct_rows import DistinctRows
from engine.data.io.growing_values import GrowingValues
from engine.data.io.parts import Unit
from engine.data.io.stream import RecordStream
from engine.data.io.value_classes import Classify, ValueClasses
from engine.data.microdata import RawColumn, RawTable, check_number, digest_values

if TYPE_CHECKING:
    import pyarrow as pa

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
