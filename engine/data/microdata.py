"""A file's records, dictionary-coded column by column, and the coded view that a study sees of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import Notation, as_text
from engine.common.streams import fingerprint
from engine.data.domain import Domain
from engine.data.grouped_columns import GroupedColumns
from engine.data.labels import NO_LABELS, ColumnLabels
from engine.data.streamed import AbsentRecords, Streamed, StreamedCells, StreamedColumns
from engine.data.table import ContingencyTable, occupied
from engine.data.units import Units
from engine.data.weights import WeightCheck

if TYPE_CHECKING:
    import pyarrow as pa

MOST_RECORDS = (1 << 32) - 1
"""Records of a data set: the largest number below which records are drawn without bias."""


def check_number(n_records: int, source: str) -> None:
    """Refuse (:class:`EngineError`) a ``source`` with more than :data:`MOST_RECORDS` records."""
    if n_records > MOST_RECORDS:
        raise EngineError(
            f"'{source}' holds {n_records:,} records or more, and records are drawn evenly from at most "
            f"{MOST_RECORDS:,}; study parts of the data, such as regions, each by itself"
        )


@dataclass(frozen=True)
class RawColumn:
    """One column as read: distinct ``values`` in order of first appearance and one integer code per record.

    A null has code -1 and no value.  Text from a CSV file stays the text it was, so an export can write it back
    unchanged.  ``about`` holds the labels of a file that has some; they are no part of the data's digest.
    """

    name: str
    values: pa.Array
    codes: np.ndarray
    about: ColumnLabels = NO_LABELS

    @cached_property
    def notation(self) -> Notation:
        """The notation in which the column's texts are numbers."""
        return self.about.notation_of(self.values)

    @property
    def numbers(self) -> np.ndarray:
        """Each distinct value as a float, NaN where it is no number; shape ``(len(values),)``."""
        return self.notation.numbers(self.values)

    @property
    def is_text(self) -> bool:
        """Return whether the values are text (always so for CSV)."""
        import pyarrow as pa

        return bool(pa.types.is_string(self.values.type) or pa.types.is_large_string(self.values.type))


@dataclass(frozen=True)
class RawTable:
    """The file: its columns in file order.  ``n_records`` rows; ``source`` is a short label such as a sample's name,
    never a path; ``read_seconds`` is how long reading it took, by the clock, 0 where nobody looked.

    Of a very wide file only some columns are in memory (:class:`~engine.data.grouped_columns.GroupedColumns`): go
    through them in file order, or :meth:`keep_in_memory` those that are asked for in another one.  Of records that are
    read by streaming only what ``streamed`` holds is in memory.
    """

    columns: Mapping[str, RawColumn]
    n_records: int
    source: str
    read_seconds: float = field(default=0.0, compare=False)
    streamed: Streamed | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(self.columns)

    def keep_in_memory(self, names: Iterable[str]) -> None:
        """Keep these columns in memory, of a file whose columns are read when they are asked for."""
        if isinstance(self.columns, GroupedColumns):
            self.columns.keep_in_memory(names)

    def in_memory(self, name: str) -> bool:
        """Return whether the values of a column can be had: of streamed records only those of attributes."""
        return self.streamed is None or name in self.streamed.rows.columns

    def n_values(self, name: str) -> int:
        """The number of distinct values of a column."""
        if isinstance(self.columns, GroupedColumns):
            return self.columns.n_values(name)
        return len(self.columns[name].values)

    def about(self, name: str) -> ColumnLabels:
        """The labels of a column."""
        if isinstance(self.columns, GroupedColumns | StreamedColumns):
            return self.columns.about(name)
        return self.columns[name].about

    @property
    def distinct(self) -> RawTable:
        """A table of rows that has all combinations of values that occur: of streamed records their distinct rows, else
        the records themselves."""
        return self if self.streamed is None else self.streamed.rows

    @property
    def multiplicity(self) -> np.ndarray | None:
        """The number of records of each row of :attr:`distinct`; None where each row is one."""
        return None if self.streamed is None else self.streamed.counts

    def content_digest(self) -> bytes:
        """A digest of names, values and order of all records (32 bytes); keyed by the study before it is stored
        anywhere.  That of streamed records is another one, of the columns that attributes need."""
        return self._digest(in_order=True) if self.streamed is None else self.streamed.digest

    def has_fingerprint(self, key: bytes, stored: str) -> bool:
        """Return whether a keyed fingerprint is that of these records.

        Earlier versions made it of the values in the order in which the source gave them, and of its kind of text.
        """
        if fingerprint(key, self.content_digest()) == stored:
            return True
        return self.streamed is None and fingerprint(key, self._digest(in_order=False)) == stored

    def files_digest(self) -> bytes | None:
        """A digest of the bytes of the files of streamed records (32 bytes), of which :meth:`content_digest` covers
        some columns alone; None where it covers all of them."""
        if self.streamed is None or set(self.names) == set(self.streamed.rows.names):
            return None
        return self.streamed.stream.digest_of_files

    @cached_property
    def _digests(self) -> dict[bool, bytes]:
        return {}

    def _digest(self, *, in_order: bool) -> bytes:
        """The digest of the values in order of first appearance, or else as they lie."""
        if in_order not in self._digests:
            digest = hashlib.blake2b(digest_size=32)
            for column in self.columns.values():
                values, codes, kind = column.values, column.codes, str(column.values.type)
                if in_order:
                    values, codes = first_appearance(values, codes)
                    kind = kind.removeprefix("large_")  # the same text, wherever it came from
                digest.update(repr((column.name, kind)).encode())
                digest_values(digest, values)
                digest.update(np.ascontiguousarray(codes, dtype="<i4").data)
            self._digests[in_order] = digest.digest()
        return self._digests[in_order]


def first_appearance(values: pa.Array, codes: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """Distinct values in the order in which records have them first, and the code of each record among these; the same
    arrays where that is their order."""
    n = len(codes)
    first = np.full(len(values) + 1, n)  # the last one for nulls
    first[codes[::-1]] = np.arange(n)[::-1]  # of repeated places the last one is kept
    first = first[:-1]
    if (first < n).all() and (first[1:] > first[:-1]).all():
        return values, codes
    order = np.argsort(first, kind="stable")[: int(np.count_nonzero(first < n))]
    rank = np.full(len(values) + 1, -1)
    rank[order] = np.arange(len(order))
    return values.take(order), rank[codes]


def streamed_table(streamed: Streamed, names: tuple[str, ...]) -> RawTable:
    """The table of streamed records: all their columns by name, in memory no more than ``streamed`` holds."""
    source: str = streamed.rows.source
    absent: Any = AbsentRecords(source)
    counted = {name: replace(column, codes=absent) for name, column in streamed.rows.columns.items()}
    n_records = int(streamed.counts.sum())
    return RawTable(StreamedColumns(names, counted, source), n_records, source, streamed=streamed)


def digest_values(digest: hashlib.blake2b, values: pa.Array) -> None:
    """Add distinct values to a digest; text and numbers by their bytes, so that millions of them cost no copies."""
    import pyarrow as pa

    arrow_type = values.type
    if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type):
        _, ends, text = values.buffers()  # as they lie there: Arrow's functions take longer to load than a small file
        kind = np.dtype("<i8" if pa.types.is_large_string(arrow_type) else "<i4")
        n = len(values)
        bounds = np.frombuffer(ends, kind, n + 1, values.offset * kind.itemsize) if n else np.zeros(1, kind)
        digest.update((bounds.astype("<i8") - bounds[0]).tobytes())
        if bounds[0] < bounds[-1]:
            digest.update(memoryview(text)[int(bounds[0]) : int(bounds[-1])])
    elif pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type):
        numbers = values.to_numpy(zero_copy_only=False)
        digest.update(np.ascontiguousarray(numbers, dtype=numbers.dtype.newbyteorder("<")).tobytes())
    else:
        try:
            written = map(repr, values.to_pylist())
        except (OverflowError, ValueError):  # dates and times beyond the years that Python has
            written = map(str, as_text(values).to_pylist())
        digest.update("\x1f".join(written).encode())


@dataclass(frozen=True)
class Microdata:
    """Coded records over a domain, with the raw columns behind them.

    ``codes[j]`` holds the level codes of attribute ``j`` (one integer array of length ``n_records`` per attribute).
    ``raw`` keeps every raw column.  ``carried`` columns stay with their record; ``dropped`` ones are never exported;
    ``weight``, ``id`` and ``unit``, the column that numbers the units (households) to which records belong, or several
    that do so together, follow their record and are released only where the plan includes them, of the latter two new
    numbers.  ``missing`` are raw
    codes that mean missing in every column.

    Of records that are read by streaming only the table is in memory: :attr:`codes`, :attr:`cell_of_record` and
    :attr:`units` are refused (:class:`EngineError`).
    """

    domain: Domain
    codes: tuple[np.ndarray, ...]
    raw: RawTable
    carried: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    weight: str | None = None
    id: str | None = None
    unit: str | tuple[str, ...] | None = None
    streamed: StreamedCells | None = None
    missing: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        if self.raw.n_records < 2:
            raise EngineError(
                f"the data hold {'one record' if self.raw.n_records else 'no record'}; swapping needs at least two"
            )
        check_number(self.raw.n_records, self.raw.source)
        if self.streamed is not None:
            return
        for attribute, codes in zip(self.domain.attributes, self.codes, strict=True):
            if len(codes) != self.raw.n_records:
                raise EngineError(
                    f"attribute '{attribute.name}' has {len(codes)} codes for {self.raw.n_records} records"
                )
            if int(codes.min()) < 0 or int(codes.max()) >= attribute.size:
                raise EngineError(f"attribute '{attribute.name}' has a code outside 0..{attribute.size - 1}")

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.raw.n_records

    @cached_property
    def _table(self) -> tuple[ContingencyTable, np.ndarray]:
        if self.streamed is not None:
            absent: Any = self.codes
            return self.streamed.table, absent
        cells, inverse = occupied(self.codes, self.domain.shape, self.n_records)
        counts = np.bincount(inverse, minlength=len(cells)).astype(np.int64)
        return ContingencyTable(self.domain, cells, counts), inverse

    @property
    def table(self) -> ContingencyTable:
        """The full contingency table over all attributes."""
        return self._table[0]

    @property
    def cell_of_record(self) -> np.ndarray:
        """Each record's cell of :attr:`table`, shape ``(n_records,)``."""
        return self._table[1]

    @property
    def single_uses(self) -> dict[str, str]:
        """The columns that are the weight, the id and the unit, each with its use."""
        uses = {"weight": self.weight, "id": self.id}
        single = {column: use for use, column in uses.items() if column is not None}
        return single | dict.fromkeys(self.unit_columns, "unit")

    @property
    def unit_columns(self) -> tuple[str, ...]:
        """The columns that number units, one or several together; new numbers stand in the first one's place."""
        return () if self.unit is None else (self.unit,) if isinstance(self.unit, str) else self.unit

    @property
    def unit_column(self) -> str | None:
        """The column in whose place new numbers of units are released: the first of those that number them."""
        return next(iter(self.unit_columns), None)

    @property
    def renumbered(self) -> tuple[str, ...]:
        """The columns in whose place new numbers are released: the id, and the first of the unit's."""
        return (*(() if self.id is None else (self.id,)), *self.unit_columns[:1])

    @cached_property
    def units(self) -> Units | None:
        """The units that records belong to, or None; refuses records without one."""
        columns = [self.raw.columns[name] for name in self.unit_columns]
        for column in columns:
            absent = np.append(column.about.absent_mask(column.values, self.missing), True)[column.codes]
            if missing := int(np.count_nonzero(absent)):
                raise EngineError(
                    f"column '{column.name}' has {missing:,} missing values (first: record "
                    f"{int(np.argmax(absent)) + 1:,}); every record needs a household, give persons outside households "
                    "one each"
                )
        return Units.of_columns([column.codes for column in columns]) if columns else None

    def check_weight(self) -> None:
        """Refuse a weight that is missing, no finite number or negative in some record, or 0 in all; of streamed
        records this reads the column."""
        if self.weight is None:
            return
        check = WeightCheck(self.weight, self.missing)
        if self.raw.streamed is None:
            column = self.raw.columns[self.weight]
            check.add(column.values, column.codes, column.about)
        else:
            for batch in self.raw.streamed.stream.batches([], [self.weight]):
                coded = batch.plain[self.weight].dictionary_encode()
                codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
                check.add(coded.dictionary, codes, self.raw.about(self.weight))
        check.refuse()

    @property
    def has_carried_columns(self) -> bool:
        """Return whether a column that is no attribute stays with its record, so that the two partners of a swap
        differ."""
        return bool(self.carried or self.weight or self.id or self.unit)
