"""A file's records, dictionary-coded column by column with labels, and the coded view that a study sees of them.

The columns of a very wide file are read in groups on demand, so that memory follows the few in use.  Of records that
are read by streaming the distinct rows on some columns stay in memory, with counts.
"""

from __future__ import annotations

import hashlib
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isfinite
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from engine.common.errors import EngineError, NoRecords, UsageError
from engine.common.raw_values import (
    Notation,
    as_text,
    nan_mask,
    notation_of,
    text_mask,
    without_blanks,
    written_unclearly,
)
from engine.common.streams import fingerprint
from engine.common.wording import first_twice, listed, number_text, plural, quoted
from engine.data.domain import Domain
from engine.data.table import ContingencyTable, occupied

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.data.io.stream import RecordStream


MEASURES = ("", "nominal", "ordinal", "scale")
"""Levels of measurement that a file may declare; empty where it says none."""


@dataclass(frozen=True)
class ColumnLabels:
    """The labels of one column.

    ``label`` is the variable label.  ``values`` pairs raw values, as the text that
    :func:`engine.common.raw_values.texts` reads, with their labels, in the file's order; a value without a label is not
    in it.  ``missing`` are raw values that the file's owner declared missing, ``missing_ranges`` numeric ranges of such
    values, both ends included.  ``format`` is the file's own display format (``F8.2``, ``%tdD_m_Y``, ``DATE9``), kept
    for writing the same format back, and ``measure`` one of :data:`MEASURES`.  ``notation`` is how its texts write
    numbers, None where the texts say so themselves.  ``order`` are values from the lowest to the highest, where a file
    ranks them without labels, as Parquet's ordered categories are.
    """

    label: str = ""
    values: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()
    format: str = ""
    measure: str = ""
    notation: Notation | None = None
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple((str(raw), str(label)) for raw, label in self.values))
        for name in ("missing", "missing_ranges", "order"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        coded = [raw for raw, _ in self.values]
        repeated = first_twice(coded)
        if repeated is not None:
            raise EngineError(f"the value '{repeated}' has two labels; give each value one")
        for low, high in self.missing_ranges:
            if not low <= high:
                ends = f"from {number_text(low)} to {number_text(high)}"
                raise EngineError(f"a range of missing values goes {ends}; give the lower end first")
        if self.measure not in MEASURES:
            raise EngineError(f"measure is {quoted(self.measure)}, must be one of {', '.join(MEASURES[1:])} or empty")

    @property
    def written_ranges(self) -> list[str]:
        """The ranges of missing values in words, such as ``-99 to -90``."""
        return [f"{number_text(low)} to {number_text(high)}" for low, high in self.missing_ranges]

    @cached_property
    def label_of(self) -> dict[str, str]:
        """Labels by raw value."""
        return dict(self.values)

    def label_or_value(self, raw: str) -> str:
        """The label of a raw value, or the value itself where it has none."""
        return self.label_of.get(raw) or raw

    def notation_of(self, values: pa.Array) -> Notation:
        """The notation in which distinct ``values`` are numbers."""
        return self.notation or notation_of(values)

    def missing_among(self, raw: Iterable[str]) -> tuple[str, ...]:
        """Those of the raw values that are declared missing, in their order, by name or by range."""
        return tuple(value for value in raw if value in self.missing or self._in_range(value))

    def missing_mask(self, values: pa.Array) -> np.ndarray:
        """Mask of values that are declared missing, by name or by range; shape ``(len(values),)``."""
        mask = text_mask(values, self.missing)
        if self.missing_ranges:
            figures = self.notation_of(values).numbers(values)
            for low, high in self.missing_ranges:
                mask |= (low <= figures) & (figures <= high)
        return mask

    def absent_mask(self, values: pa.Array, codes: Sequence[str]) -> np.ndarray:
        """Mask of values that say nothing: declared missing, NaN, blank, or one of the plan's ``codes`` between blanks;
        shape ``(len(values),)``."""
        mask: np.ndarray = self.missing_mask(values) | nan_mask(values) | text_mask(without_blanks(values), codes)
        return mask

    def _in_range(self, raw: str) -> bool:
        if not self.missing_ranges:
            return False
        try:
            number = float(raw)
        except ValueError:
            return False
        return isfinite(number) and any(low <= number <= high for low, high in self.missing_ranges)


NO_LABELS = ColumnLabels()
"""The labels of a column without labels."""


_KINDS = ("missing", "not a finite number", "negative")


@dataclass
class WeightCheck:
    """The faults of the weight ``name`` in the records added so far: of each kind the number of records and the first
    one's number, from 1.  ``missing`` are raw codes that mean missing."""

    name: str
    missing: Sequence[str]
    n_records: int = 0
    _faults: dict[str, tuple[int, int]] = field(default_factory=dict)
    _numbers: bool = False
    _positive: bool = False
    _sum: float = 0.0

    def add(self, values: pa.Array, codes: np.ndarray, about: ColumnLabels = NO_LABELS) -> None:
        """Look at further records: distinct ``values`` and the code of each record, -1 for none."""
        notation = about.notation_of(values)
        if not notation.clear:
            raise EngineError(f"weight: {written_unclearly(self.name)}")
        figures = np.append(notation.numbers(values), np.nan)
        absent = np.append(about.absent_mask(values, self.missing), True)
        finite = np.isfinite(figures)
        odd = ~absent & ~finite
        negative = ~absent & finite & (figures < 0)
        counts = np.bincount(codes.astype(np.int64) % len(figures), minlength=len(figures))
        for kind, mask in zip(_KINDS, (absent, odd, negative), strict=True):
            if n := int(counts[mask].sum()):
                before, first = self._faults.get(kind, (0, 0))
                first = first or self.n_records + int(np.argmax(mask[codes])) + 1
                self._faults[kind] = (before + n, first)
        used = counts > 0
        self._numbers |= bool((used & ~absent & finite).any())
        self._positive |= bool((used & ~absent & (figures > 0)).any())
        with np.errstate(over="ignore"):  # that is what is looked for
            self._sum += float((counts * np.where(used & ~absent & finite, figures, 0) ** 2).sum())
        self.n_records += len(codes)

    def refuse(self) -> None:
        """Refuse a weight with a fault (:class:`EngineError`), or that holds no number at all (:class:`UsageError`)."""
        if not self._numbers:
            raise UsageError(f"weight names column '{self.name}', which holds no numbers; a weight is a number")
        found = [
            f"{kind} in {plural(n, 'record')} (first: record {first:,})" for kind, (n, first) in self._faults.items()
        ]
        if found:
            raise EngineError(
                f"weight names column '{self.name}', which is {listed(found)} of {self.n_records:,}; every record "
                "needs a finite weight of 0 or more: correct these, take the records out, or carry the column instead"
            )
        if not isfinite(self._sum):
            raise EngineError(
                f"weight names column '{self.name}', whose values are so large that their squares have no finite sum; "
                "divide all of them by one number"
            )
        if not self._positive:
            raise EngineError(
                f"weight names column '{self.name}', which is 0 in every record; name the column that holds the weights"
            )


@dataclass(frozen=True)
class Units:
    """Units numbered from 0 in order of first appearance: ``of_record`` is each record's unit, shape ``(n_records,)``;
    ``first`` is each unit's first record and ``size`` its number of records, shape ``(n_units,)``."""

    of_record: np.ndarray
    first: np.ndarray
    size: np.ndarray

    @staticmethod
    def from_codes(codes: np.ndarray) -> Units:
        """Units from any numbers that are equal for records of one unit."""
        _, first, inverse, size = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return Units(place[inverse], first[order], size[order])

    @staticmethod
    def of_columns(columns: Sequence[np.ndarray]) -> Units:
        """Units from the codes of one or several columns, which are equal in all of them for records of one unit."""
        joint = columns[0].astype(np.int64)
        for codes in columns[1:]:
            _, joint = np.unique(joint, return_inverse=True)
            joint = joint * (int(codes.max()) + 2) + codes + 1
        return Units.from_codes(joint)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def records(self) -> np.ndarray:
        """Records in the order of their units."""
        return np.argsort(self.of_record, kind="stable")

    def constant(self, codes: np.ndarray) -> np.ndarray:
        """Return whether all members of each unit have the same code, shape ``(n_units,)``."""
        differs = codes != codes[self.first][self.of_record]
        same: np.ndarray = np.bincount(self.of_record[differs], minlength=len(self)) == 0
        return same

    def any_bits(self, words: np.ndarray) -> np.ndarray:
        """The bits that some member of each unit has, shape ``(n_units, words)``; ``words`` are those of records."""
        starts = np.append(0, np.cumsum(self.size)[:-1])
        bits: np.ndarray = np.bitwise_or.reduceat(words[self.records], starts, axis=0)
        return bits

    def least(self, numbers: np.ndarray) -> np.ndarray:
        """The least number among the members of each unit, shape ``(n_units,)``."""
        starts = np.append(0, np.cumsum(self.size)[:-1])
        least: np.ndarray = np.minimum.reduceat(numbers[self.records], starts)
        return least


_PARTS = 10  # reads of the file for all columns, at most
_LEAST = 1024
MOST_PACKED = 64 << 20
"""Bytes of groups that are kept compressed, since unpacking takes far less time than reading them again."""


class GroupedColumns(Mapping[str, "RawColumn"]):
    """A read-only mapping from names to columns, in file order, that holds one group of neighbours at a time.

    Going through it in order reads each group once; groups that compress well stay in memory, compressed.
    :meth:`keep_in_memory` keeps columns that are needed again and again.  ``read`` gives the columns of some names, in
    their order, and may refuse with an :class:`~engine.common.errors.EngineError`; it travels to other processes with
    the columns in memory.  ``about`` are labels from a codebook.
    """

    def __init__(
        self,
        names: Sequence[str],
        read: Callable[[Sequence[str]], list[RawColumn]],
        about: Mapping[str, ColumnLabels] | None = None,
    ) -> None:
        self._names, self._read, self._about = tuple(names), read, dict(about or {})
        self._index = {name: index for index, name in enumerate(self._names)}
        self.group_size = max(_LEAST, -(-len(self._names) // _PARTS))
        self._in_memory: dict[str, RawColumn] = {}
        self._group: dict[str, RawColumn] = {}
        self._packed: dict[int, bytes] = {}
        self._n_values: dict[str, int] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> RawColumn:
        index = self._index[name]
        with self._lock:
            column = self._in_memory.get(name) or self._group.get(name)
            if column is None:
                start = index - index % self.group_size
                self._group = {}  # before the next one takes memory
                self._group = self._unpacked(start)
                column = self._group[name]
            return column

    def groups(self) -> Iterator[tuple[str, ...]]:
        """The names of each group, in file order."""
        for start in range(0, len(self._names), self.group_size):
            yield self._names[start : start + self.group_size]

    def keep_in_memory(self, names: Iterable[str]) -> None:
        """Keep these columns from now on; those that are not there yet are read at once."""
        with self._lock:
            new = [name for name in dict.fromkeys(names) if name in self._index and name not in self._in_memory]
            self._in_memory |= {name: self._group[name] for name in new if name in self._group}
            missing = [name for name in new if name not in self._in_memory]
            if missing:
                self._in_memory |= self._columns(sorted(missing, key=self._index.__getitem__))

    def n_values(self, name: str) -> int:
        """The number of a column's distinct values, kept of every column that was ever read."""
        if name not in self._n_values:
            self[name]
        return self._n_values[name]

    def about(self, name: str) -> ColumnLabels:
        """A column's labels, which need no reading."""
        return self._about.get(name, NO_LABELS)

    def labelled(self, about: Mapping[str, ColumnLabels]) -> GroupedColumns:
        """The same columns with other labels of some."""
        return GroupedColumns(self._names, self._read, {**self._about, **about})

    def renamed(self, stored: Mapping[str, str]) -> GroupedColumns:
        """The same columns under other names, each given with the one that it has."""
        about = {name: self._about[old] for name, old in stored.items() if old in self._about}
        return GroupedColumns(tuple(stored), partial(_read_renamed, self._read, stored), about)

    def _unpacked(self, start: int) -> dict[str, RawColumn]:
        packed = self._packed.get(start)
        if packed is not None:
            result: dict[str, RawColumn] = pickle.loads(zlib.decompress(packed))
            return result
        columns = self._columns(self._names[start : start + self.group_size])
        packed = zlib.compress(pickle.dumps(columns, protocol=5), 1)
        if sum(map(len, self._packed.values())) + len(packed) <= MOST_PACKED:
            self._packed[start] = packed
        return columns

    def _columns(self, names: Sequence[str]) -> dict[str, RawColumn]:
        columns = {column.name: column for column in self._read(names)}
        self._n_values |= {name: len(column.values) for name, column in columns.items()}
        labelled = {name: self._about[name] for name in columns if name in self._about}
        return columns | {name: replace(columns[name], about=about) for name, about in labelled.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_group": {}, "_packed": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()


def _read_renamed(
    read: Callable[[Sequence[str]], list[RawColumn]], stored: Mapping[str, str], names: Sequence[str]
) -> list[RawColumn]:
    columns = read([stored[name] for name in names])
    return [replace(column, name=name) for name, column in zip(names, columns, strict=True)]


MOST_COUNTED = 1 << 20
"""Distinct values of a column that no attribute needs, beyond which further ones are counted only if they tell."""


@dataclass(frozen=True)
class CountedValues:
    """Distinct values of a column over all records, with the number of records of each and its first record."""

    values: pa.Array
    counts: np.ndarray
    first: np.ndarray


def _count_values(stream: RecordStream, name: str, tells: Callable[[pa.Array], np.ndarray]) -> CountedValues:
    import pyarrow as pa
    import pyarrow.compute as pc

    known, n_records = None, 0
    for batch in stream.batches([], [name]):
        coded = batch.plain[name].dictionary_encode()
        codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
        first = np.zeros(len(coded.dictionary) + 1, np.int64)
        first[codes[::-1]] = n_records + np.arange(len(codes))[::-1]  # of repeated places the last one is kept
        counts = np.bincount(codes, minlength=len(first))
        new = pa.table({"value": coded.dictionary, "n": counts[:-1], "first": first[:-1]})
        if known is not None:
            if len(known) >= MOST_COUNTED:
                old = pc.is_in(new["value"], known["value"]).to_numpy(zero_copy_only=False)
                new = new.filter(pa.array(old | tells(coded.dictionary)))
            grouped = pa.concat_tables([known, new]).group_by("value", use_threads=False)
            new = grouped.aggregate([("n", "sum"), ("first", "min")]).rename_columns(["value", "n", "first"])
        known, n_records = new, n_records + batch.n_records
    if known is None:
        raise NoRecords(f"'{stream.source}' has columns but no records")
    return CountedValues(known["value"].combine_chunks(), known["n"].to_numpy(), known["first"].to_numpy())


@dataclass(frozen=True)
class Streamed:
    """The first pass over a ``stream``: the distinct ``rows`` of the columns that attributes need as a table of raw
    columns, the number of records of each, and the digest of the records on these columns.  Of the columns in
    ``representatives`` a row tells no more than the class of its value, by the first value of that class: they hold the
    code of it for each value."""

    stream: RecordStream
    rows: RawTable
    counts: np.ndarray
    digest: bytes
    representatives: Mapping[str, np.ndarray] = field(default_factory=dict)
    _counted: dict[str, CountedValues] = field(default_factory=dict, compare=False)

    def values_of(self, name: str, tells: Callable[[pa.Array], np.ndarray]) -> CountedValues:
        """The values of a column that was not counted, which reads it once: all of them up to :data:`MOST_COUNTED`, of
        further ones those of which ``tells`` says so."""
        if name not in self._counted:
            self._counted[name] = _count_values(self.stream, name, tells)
        return self._counted[name]


@dataclass(frozen=True)
class StreamedCells:
    """The coded ``table`` of streamed records, and the cell of each of their distinct rows, shape ``(n_rows,)``."""

    table: ContingencyTable
    cell_of_row: np.ndarray


class AbsentRecords:
    """Codes of records that are not in memory: any use of them is an :class:`EngineError` that says so."""

    def __init__(self, source: str) -> None:
        self._source = source

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise EngineError(
            f"the records of '{self._source}' are read by streaming and are not in memory, and this needs them; "
            "use measures and mechanisms that need counts alone, or a file that fits into memory"
        )

    __len__ = __iter__ = __getitem__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __mul__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


class StreamedColumns(Mapping[str, "RawColumn"]):
    """The columns of streamed records, in file order.  Those that were counted have their values, and codes that are
    :class:`AbsentRecords`; any other is an :class:`EngineError`.  ``about`` is what a plan says of columns."""

    def __init__(
        self,
        names: tuple[str, ...],
        counted: Mapping[str, RawColumn],
        source: str,
        about: Mapping[str, ColumnLabels] | None = None,
    ) -> None:
        self._names, self._source, self._about = names, source, dict(about or {})
        self._counted = {name: replace(column, about=self.about(name)) for name, column in counted.items()}

    def about(self, name: str) -> ColumnLabels:
        """What a plan says of a column."""
        return self._about.get(name, NO_LABELS)

    def labelled(self, about: Mapping[str, ColumnLabels]) -> StreamedColumns:
        """The same columns with other labels of some."""
        return StreamedColumns(self._names, self._counted, self._source, {**self._about, **about})

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    @property
    def counted(self) -> tuple[str, ...]:
        """Names of the columns that were counted, in file order."""
        return tuple(name for name in self._names if name in self._counted)

    def __getitem__(self, name: str) -> RawColumn:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._counted:
            raise EngineError(
                f"column '{name}' of '{self._source}' belongs to no attribute and is not in memory, since its records "
                "are read by streaming; this needs it, so leave out what does, or use a file that fits into memory"
            )
        return self._counted[name]


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

    Of a very wide file only some columns are in memory (:class:`~engine.data.microdata.GroupedColumns`): go
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
