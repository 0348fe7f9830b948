"""The first pass over a streamed source: its distinct rows on some columns, with their counts."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
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
from engine.data.microdata import RawColumn, RawTable, digest_values

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 10_000_000
"""Distinct rows that are counted in memory."""
_MOST_THREADS = 4  # each holds a piece of the source


@dataclass(frozen=True)
class UnitCount:
    """Counts of one piece: ``values`` of each column and ``codes`` of each distinct row on it, both in order of first
    appearance; the number of records of each row; and a digest of names, values and records in their order."""

    values: tuple[pa.Array, ...]
    codes: tuple[np.ndarray, ...]
    counts: np.ndarray
    digest: bytes


@dataclass(frozen=True)
class Counted:
    """Counts of a whole source: distinct ``rows`` as a table of raw columns, the records that each stands for, and the
    digest of the source on these columns."""

    rows: RawTable
    counts: np.ndarray
    digest: bytes


def count_unit(stream: RecordStream, names: Sequence[str], unit: Unit) -> UnitCount:
    """Count the distinct rows of one piece on some columns."""
    rows, digest = DistinctRows(len(names)), hashlib.blake2b(digest_size=32)
    values: list[pa.Array] = []
    for batch in stream.batches(names, units=[unit]):
        columns = [batch.coded[name] for name in names]
        values = [column.values for column in columns]
        coded = [(column.indices, column.code_of) for column in columns]
        numbers = rows.add(coded, batch.n_records, list(map(len, values)))
        _check_rows(rows, names, values)
        digest.update(numbers.astype("<i4", copy=False).data)
    codes = tuple(smallest(rows.codes(j), len(column)) for j, column in enumerate(values))
    for name, column, of_rows in zip(names, values, codes, strict=False):
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


def merge(stream: RecordStream, names: Sequence[str], counts: Iterable[UnitCount]) -> Counted:
    """Join the counts of all pieces of a source, which come in its order: the same as if it were one piece."""
    growing, rows = [GrowingValues(name, stream.source) for name in names], DistinctRows(len(names))
    digest = hashlib.blake2b(repr((stream.names, tuple(names))).encode(), digest_size=32)
    for count in counts:
        digest.update(count.digest)
        if not len(count.counts):
            continue
        columns = [
            (codes.astype(np.int32), column.add(values, codes))
            for column, values, codes in zip(growing, count.values, count.codes, strict=True)
        ]
        rows.add(columns, len(count.counts), [len(column.values) for column in growing], count.counts)
        _check_rows(rows, names, [column.values for column in growing])
    n_records = int(rows.counts.sum())
    if not n_records:
        raise NoRecords(f"'{stream.source}' has columns but no records")
    columns_of_rows = {
        name: RawColumn(name, column.values, smallest(rows.codes(j), len(column.values)))
        for j, (name, column) in enumerate(zip(names, growing, strict=True))
    }
    return Counted(RawTable(columns_of_rows, rows.n_rows, stream.source), rows.counts.copy(), digest.digest())


def count(stream: RecordStream, names: Sequence[str], threads: int | None = None) -> Counted:
    """Count the distinct rows of a source on some columns, several pieces at a time."""
    n_threads = threads or min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(n_threads) as executor:
        return merge(stream, names, _in_order(executor, n_threads, stream, names))


def _in_order(
    executor: ThreadPoolExecutor, n_threads: int, stream: RecordStream, names: Sequence[str]
) -> Iterator[UnitCount]:
    """The counts of all pieces in their order, few of them waiting at any time."""
    waiting: deque[Future[UnitCount]] = deque()
    try:
        for unit in stream.units():
            waiting.append(executor.submit(count_unit, stream, names, unit))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
