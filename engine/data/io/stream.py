"""Files and folders of files that are read by streaming: all records in order, some at a time, never all in memory.

A folder holds parts of one data set, all CSV or all Parquet files with the same columns; they are read in the order of
their names.  Folders called ``key=value`` inside it add a text column ``key``, after those of the files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

import numpy as np

from engine.common.errors import EngineError, NoRecords
from engine.common.os_support import arrow_file
from engine.common.raw_values import index_codes, smallest
from engine.common.wording import first_twice, is_blank
from engine.data.io import checks
from engine.data.io.arrow_columns import join_chunks, typed_values, with_type, without_views
from engine.data.io.checks import (
    FileState,
    check_unchanged,
    ends_in_quotes,
    file_state,
    holds_nul,
    names_in_file,
    parquet_errors,
    refuse_type,
    told_apart,
)
from engine.data.io.readers import csv_batches
from engine.data.microdata import RawColumn, RawTable

if TYPE_CHECKING:
    import pyarrow as pa


class Classify(Protocol):
    """A function from distinct values to their classes, ``0`` to ``n_classes - 1``, that travels to other processes."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        ...

    def __call__(self, values: pa.Array) -> np.ndarray:
        """The class of each value."""
        ...


class ValueClasses:
    """The classes of a column's values as these are met, or each value as a class of its own.

    A class is told by the code of the first of its values, its *representative*.
    """

    def __init__(self, classify: Classify | None) -> None:
        self._classify = classify
        self._class_of = np.zeros(0, np.int32)
        self._first = np.full(0 if classify is None else classify.n_classes, -1, np.int32)

    def look_at(self, values: pa.Array) -> int:
        """Classify the values that are new among all ``values`` met so far; returns the number of classes."""
        if self._classify is None:
            return len(values)
        known = len(self._class_of)
        if len(values) > known:
            new = self._classify(values.slice(known)).astype(np.int32)
            classes, first = np.unique(new, return_index=True)
            is_new = self._first[classes] < 0
            self._first[classes[is_new]] = known + first[is_new]
            self._class_of = np.concatenate([self._class_of, new])
        return self._classify.n_classes

    def classes(self, codes: np.ndarray) -> np.ndarray:
        """The class of each code of a value; -1, null, stays."""
        if self._classify is None:
            return codes
        result: np.ndarray = np.append(self._class_of, np.int32(-1))[codes]
        return result

    def representatives(self, classes: np.ndarray) -> np.ndarray:
        """The code of the first value of each class; -1, null, stays."""
        if self._classify is None:
            return classes
        result: np.ndarray = np.append(self._first, np.int32(-1))[classes]
        return result


MOST_VALUES = 20_000_000
"""Distinct values of a column that is coded by streaming."""
_MOST_TEXT = 1 << 30  # bytes
_FEW = 1 << 12  # records
_CLOSE = 1 << 16  # between the least and the largest of whole numbers


class GrowingValues:
    """All values of a column that were seen so far, in order of first appearance; ``known`` ones come first."""

    def __init__(self, name: str, source: str, known: pa.Array | None = None) -> None:
        self.name, self.source = name, source
        self._values = known

    @property
    def values(self) -> pa.Array:
        """The distinct values."""
        import pyarrow as pa

        return pa.array([], pa.string()) if self._values is None else self._values

    def add(self, dictionary: pa.Array, indices: np.ndarray) -> np.ndarray:
        """The code of each value of a ``dictionary`` that ``indices`` (-1: null) use, shape ``(len(dictionary) + 1,)``:
        -1 at the end, for null.  Values that were not there yet are added in the order in which records have them."""
        import pyarrow as pa

        code_of = np.full(len(dictionary) + 1, -1, np.int32)
        if not len(dictionary):
            self._values = dictionary if self._values is None else self._values  # a column of nulls has a type
            return code_of
        if self._values is not None and self._values.type != dictionary.type:
            raise EngineError(
                f"'{self.source}': column '{self.name}' has the type {dictionary.type} in one part and "
                f"{self._values.type} in another; write all parts with the same types"
            )
        known = dictionary.slice(0, 0) if self._values is None else self._values
        joined = pa.concat_arrays([known, dictionary]).dictionary_encode()
        code_of[:-1] = index_codes(joined.indices)[len(known) :]
        unknown = code_of >= len(known)  # which null, -1, is not
        used = _in_order_of_use(unknown, indices)
        # a CSV file's values all occur, in their order
        is_done = np.array_equal(code_of[used], np.arange(len(known), len(joined.dictionary)))
        if not is_done:
            code_of[unknown] = -1
        if not len(used):
            return code_of
        if not is_done:
            joined = pa.concat_arrays([known, dictionary.take(pa.array(used))]).dictionary_encode()
            code_of[used] = index_codes(joined.indices)[len(known) :]
        self._values = joined.dictionary
        self._check_size()
        return code_of

    def _check_size(self) -> None:
        if len(self.values) > MOST_VALUES or self.values.nbytes > _MOST_TEXT:
            raise EngineError(
                f"column '{self.name}' has more than {min(len(self.values) - 1, MOST_VALUES):,} distinct values, too "
                "many to code while streaming; carry or drop it, or put classes of it into the file in its place"
            )


def _in_order_of_use(wanted: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The ``wanted`` values that ``indices`` have, in the order in which they first do."""
    wanted, found, start, length = wanted.copy(), [np.zeros(0, np.int32)], 0, _FEW
    first = np.zeros(len(wanted), np.int64)
    while start < len(indices) and wanted.any():  # mostly all of them occur among the first records
        part = indices[start : start + length]
        used = part[wanted[part]]
        place = np.arange(len(used))
        first[used[::-1]] = place[::-1]  # the last one that is written stays
        found.append(used[first[used] == place])
        wanted[found[-1]] = False
        start, length = start + length, 2 * length
    return np.concatenate(found)


def local_codes(source: str, name: str, values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """A column of a batch as a dictionary, which may hold values that do not occur, and 32-bit indices, -1 for null."""
    import pyarrow as pa

    if pa.types.is_null(values.type):
        return pa.array([], pa.string()), np.full(len(values), -1, np.int32)
    if pa.types.is_integer(values.type) and (coded := _by_subtraction(values)) is not None:
        return coded
    return encoded(source, name, values)


def encoded(source: str, name: str, values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The same of values with a type; those of a column without a dictionary are in order of first appearance."""
    import pyarrow as pa

    if not pa.types.is_dictionary(values.type):
        try:
            values = values.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise EngineError(
                f"'{source}': column '{name}' has the unsupported type {values.type}; store it as text or number"
            ) from None
    indices = values.indices
    if indices.type != pa.int32():
        indices = indices.cast(pa.int32())
    if indices.null_count:
        indices = indices.fill_null(-1)
    return values.dictionary, index_codes(indices)


def _by_subtraction(values: pa.Array) -> tuple[pa.Array, np.ndarray] | None:
    """:func:`local_codes` of whole numbers that lie close together, which is many times faster; None of others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(values)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None or high - low >= min(_CLOSE, len(values)):
        return None
    kind = values.type.to_pandas_dtype()
    numbers = np.frombuffer(values.buffers()[1], kind, len(values), values.offset * np.dtype(kind).itemsize)
    # differences of 64 bits without a sign are right whatever the type
    first = np.array([low], kind).astype(np.uint64)
    indices = (numbers.astype(np.uint64) - first).astype(np.int32)
    dictionary = pa.array((np.arange(high - low + 1, dtype=np.uint64) + first).astype(kind), values.type)
    if values.null_count:
        indices[~values.is_valid().to_numpy(zero_copy_only=False)] = -1
    return dictionary, indices


STREAMED = (".csv", ".tsv", ".parquet")
"""Files that can be read by streaming."""
_UNIT = 1 << 20  # records of a piece of a Parquet file, at least, where it has so many
_CSV_BLOCK = 8 << 20  # bytes
_PAGES = 1 << 20  # bytes of a column that are read at a time
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the folder of records without a value


@dataclass(frozen=True)
class Part:
    """One file: ``names`` and ``types`` (none of CSV) of its own columns, and the values that the names of its folders
    add, None where a folder stands for records without one."""

    path: Path
    names: tuple[str, ...]
    types: tuple[Any, ...] = ()
    delimiter: str = ""
    groups: tuple[int, ...] = ()
    added: tuple[tuple[str, str | None], ...] = ()

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return (*self.names, *(name for name, _ in self.added))


@dataclass(frozen=True)
class Unit:
    """A piece that can be read by itself: row groups ``first`` to before ``last`` of a Parquet part, or a whole CSV
    part, whose ``n_records`` are not known."""

    part: int
    index: int
    first: int = 0
    last: int = 0
    n_records: int | None = None


def units_of(part: Part, index: int) -> Iterator[Unit]:
    """Pieces of the part of this ``index``: neighbouring row groups that hold enough records, or a whole CSV file."""
    if part.delimiter:
        yield Unit(index, 0)
        return
    first = n_records = number = 0
    for group, n in enumerate(part.groups, 1):
        n_records += n
        if n_records >= _UNIT or (group == len(part.groups) and n_records):
            yield Unit(index, number, first, group, n_records)
            first, n_records, number = group, 0, number + 1


def files_of(path: Path) -> list[tuple[Path, tuple[tuple[str, str | None], ...]]]:
    """The files of a source with what their folders' names add, in order: the file itself, or those below a folder.

    Files and folders whose names begin with a dot or an underscore are passed over, as programs that write such folders
    put notes there.
    """
    if not path.is_dir():
        return [(path, ())]
    files = []
    try:
        below = sorted(path.rglob("*"), key=lambda file: file.relative_to(path).parts)
    except OSError as error:  # of a folder that went away meanwhile
        raise EngineError(f"folder '{path.name}' could not be read: {error.strerror}") from None
    for file in below:
        steps = file.relative_to(path).parts
        if any(step.startswith((".", "_")) for step in steps) or file.is_dir():
            continue
        if file.suffix.lower() not in STREAMED:
            raise EngineError(
                f"folder '{path.name}' holds '{file.name}'; its files must end in {STREAMED[0]}, {STREAMED[1]} or "
                f"{STREAMED[2]}, so move it elsewhere"
            )
        if plain := next((step for step in steps[:-1] if "=" not in step), None):
            raise EngineError(
                f"folder '{path.name}' holds the folder '{plain}', whose name is not of the form key=value; parts lie "
                "in the folder itself or in such folders, so move it elsewhere"
            )
        files.append((file, tuple(_added(path, step) for step in steps[:-1] if "=" in step)))
    if not files:
        raise EngineError(
            f"folder '{path.name}' holds no data; give a folder with files ending in {STREAMED[0]}, {STREAMED[1]} or "
            f"{STREAMED[2]}"
        )
    kinds = sorted({file.suffix.lower() == ".parquet" for file, _ in files})
    if len(kinds) > 1:
        raise EngineError(f"folder '{path.name}' holds both CSV and Parquet files; give one with files of one kind")
    return files


def _added(folder: Path, step: str) -> tuple[str, str | None]:
    name, value = map(unquote, step.split("=", 1))
    if is_blank(name):
        raise EngineError(f"folder '{folder.name}' holds '{step}', a folder without a column's name before the '='")
    return name, None if value == _NO_VALUE else value


def open_part(path: Path, added: tuple[tuple[str, str | None], ...]) -> Part:
    """Look at one file: its columns, and its row groups."""
    if path.stat().st_size == 0:
        raise EngineError(f"file '{path.name}' is empty; it needs a header line and records")
    part = _open_parquet(path, added) if path.suffix.lower() == ".parquet" else _open_text(path, added)
    repeated = first_twice(list(part.all_names))
    if repeated is not None:
        raise EngineError(
            f"file '{path.name}' has a column '{repeated}' and lies in a folder that gives one of that name; rename one"
        )
    return part


def _open_text(path: Path, added: tuple[tuple[str, str | None], ...]) -> Part:
    names, delimiter = checks.header(path)
    return Part(path, tuple(names), delimiter=delimiter, added=added)


def _open_parquet(path: Path, added: tuple[tuple[str, str | None], ...]) -> Part:
    from pyarrow import parquet

    with parquet_errors(path), arrow_file(path) as source, parquet.ParquetFile(source) as file:
        schema, metadata = file.schema_arrow, file.metadata
        if not schema.names:
            raise EngineError(f"file '{path.name}' has no columns")
        for column in schema:
            refuse_type(path.name, column)
        groups = tuple(metadata.row_group(k).num_rows for k in range(metadata.num_row_groups))
        return Part(path, tuple(told_apart(schema.names)), tuple(map(_value_type, schema)), groups=groups, added=added)


def _value_type(column: Any) -> Any:
    import pyarrow as pa

    return without_views(column.type.value_type if pa.types.is_dictionary(column.type) else column.type)


def check_alike(parts: Sequence[Part]) -> None:
    """Refuse (:class:`EngineError`) parts whose columns differ in names, order or types."""
    first = parts[0]
    for part in parts[1:]:
        for a, b in ((first, part), (part, first)):
            extra = [name for name in a.all_names if name not in b.all_names]
            if extra:
                raise EngineError(
                    f"file '{a.path.name}' has a column '{extra[0]}', which '{b.path.name}' lacks; all parts need the "
                    "same columns"
                )
        if part.all_names != first.all_names:
            raise EngineError(
                f"files '{first.path.name}' and '{part.path.name}' have their columns in another order; all parts need "
                "the same columns in the same order"
            )
        for name, a_type, b_type in zip(first.names, first.types, part.types, strict=False):
            if a_type != b_type:
                raise EngineError(
                    f"column '{name}' has the type {a_type} in '{first.path.name}' and {b_type} in "
                    f"'{part.path.name}'; write all parts with the same types"
                )


def read_unit(part: Part, unit: Unit, names: Sequence[str], most: int) -> Iterator[tuple[dict[str, pa.Array], int]]:
    """The columns of a piece of a part, at most ``most`` records at a time, with their number."""
    import pyarrow as pa

    own = [name for name in names if name in part.names]
    added = {name: value for name, value in part.added if name in names}
    batches = _text(part, own) if part.delimiter else _parquet(part, unit, own, most)
    for batch in batches:
        n = batch.num_rows
        columns = dict(zip(own, batch.columns, strict=False))
        for name, array in columns.items():
            if (kind := without_views(array.type)) != array.type:
                columns[name] = array.cast(kind)
        for name, value in added.items():
            columns[name] = pa.repeat(pa.scalar(value, pa.string()), n).dictionary_encode()
        yield columns, n


def _parquet(part: Part, unit: Unit, names: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import parquet

    texts = [
        name
        for name, kind in zip(part.names, part.types, strict=True)
        if name in names and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
        if not name.endswith(("\0", " "))  # not of a name that was told apart from others
    ]
    with (
        parquet_errors(part.path),
        arrow_file(part.path) as source,
        parquet.ParquetFile(source, read_dictionary=texts, buffer_size=_PAGES) as file,
    ):
        groups = list(range(unit.first, unit.last))
        # without any column asked for, the first one tells how many records there are
        wanted = list(names) or list(part.names[:1])
        n_records = 0
        places = [part.names.index(name) for name in wanted]
        for batch in file.reader.iter_batches(most, row_groups=groups, column_indices=places, use_threads=True):
            n_records += batch.num_rows
            yield batch
        if n_records != unit.n_records:
            raise pa.ArrowInvalid("another number of records than the file says")


def _text(part: Part, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    # the last column is always read: it tells whether the file's last quote is closed
    wanted, last = [*dict.fromkeys((*names, part.names[-1]))], part.names[-1]
    reading = sorted(wanted, key=part.names.index)
    end = None
    try:
        with closing(csv_batches(part.path, part.names, part.delimiter, _CSV_BLOCK, reading)) as batches:
            for batch in batches:
                if any(holds_nul(column.dictionary) for column in batch.columns):
                    raise pa.ArrowInvalid("a zero byte")
                end = batch.column(last)[-1].as_py() if batch.num_rows else end
                yield batch.select(list(names))
        if end is not None and ends_in_quotes(part.path, end, part.delimiter):
            raise pa.ArrowInvalid("an open quote")
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise EngineError(checks.diagnose(part.path, list(part.names), part.delimiter)) from None


BATCH = 1 << 20
"""Records of a batch, at most."""
_FILES_AT_ONCE = 2  # whose bytes are digested


@dataclass(frozen=True)
class BatchColumn:
    """One dictionary-coded column of a batch: ``indices`` of its records into ``code_of``, whose last entry -1 stands
    for null; ``values`` are all values of the column that were seen so far in this pass."""

    values: pa.Array
    indices: np.ndarray
    code_of: np.ndarray

    @property
    def codes(self) -> np.ndarray:
        """The code of each record among ``values``, -1 for null."""
        codes: np.ndarray = self.code_of[self.indices]
        return codes


@dataclass(frozen=True)
class Batch:
    """Consecutive records: their dictionary-coded columns by name, and those that were asked for as they are.

    ``columns[name].codes`` count the values of a column in order of first appearance in the whole pass, so two passes
    over an unchanged source give the same codes.
    """

    n_records: int
    coded: Mapping[str, BatchColumn]
    plain: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, RawColumn]:
        """The dictionary-coded columns, with the values seen so far."""
        return {name: RawColumn(name, column.values, column.codes) for name, column in self.coded.items()}


@dataclass(frozen=True)
class RecordStream:
    """The records of a file or of a folder's files, read when they are asked for.

    ``names`` are all columns in file order, those that folders' names add at the end; ``source`` is a short label,
    never a path; ``stored`` are their names in the files.  ``states`` say whether a file was changed since it was
    opened.  ``types`` are those that columns are coded with where a file has others: a format may lack a type.
    """

    path: Path
    names: tuple[str, ...]
    parts: tuple[Part, ...]
    states: tuple[FileState, ...]
    source: str
    stored: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    def units(self) -> list[Unit]:
        """The pieces of the source that can be read by themselves, in order: they depend on its files alone."""
        return [unit for index, part in enumerate(self.parts) for unit in units_of(part, index)]

    @property
    def n_bytes(self) -> int:
        """Size of all files, in bytes."""
        return sum(state[0] for state in self.states)

    @property
    def n_records(self) -> int | None:
        """Number of records where the files tell it (Parquet), else None."""
        known = [unit.n_records for unit in self.units()]
        return None if None in known else sum(n for n in known if n is not None)

    @cached_property
    def digest_of_files(self) -> bytes:
        """A digest of all bytes of the files, in order, and of what their folders' names add (32 bytes): reads each
        file once."""
        digest = hashlib.blake2b(digest_size=32)
        with ThreadPoolExecutor(_FILES_AT_ONCE) as executor:
            for part, of_file in zip(self.parts, executor.map(self._digest_of, range(len(self.parts))), strict=True):
                digest.update(of_file + repr(part.added).encode())
        return digest.digest()

    def _digest_of(self, part: int) -> bytes:
        self._check(part)
        with self.parts[part].path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).digest()
        self._check(part)
        return digest

    def batches(
        self,
        names: Sequence[str],
        plain: Sequence[str] = (),
        units: Sequence[Unit] | None = None,
        known: Mapping[str, pa.Array] | None = None,
    ) -> Iterator[Batch]:
        """All records in order, at most :data:`BATCH` at a time.

        Columns of ``names`` are dictionary-coded; those of ``plain`` are given as they are, for columns with very many
        values.  ``units`` are the pieces to read, by default all.  ``known`` are values of columns with which to begin,
        such as those of an earlier pass: then pieces that are read in another order have the same codes.  Raises
        :class:`EngineError` for damaged files and for files that have changed since they were opened.
        """
        known = known or {}
        values = {name: GrowingValues(name, self.source, known.get(name)) for name in names}
        for arrays, n_records in self.arrays([*dict.fromkeys((*names, *plain))], units):
            coded = {}
            for name in names:
                column = with_type(arrays[name], self.types.get(name))
                dictionary, indices = local_codes(self.source, name, column)
                code_of = values[name].add(dictionary, indices)
                coded[name] = BatchColumn(values[name].values, indices, code_of)
            yield Batch(n_records, coded, {name: typed_values(arrays[name]) for name in plain})

    def arrays(self, names: Sequence[str], units: Sequence[Unit] | None = None) -> Iterator[tuple[dict[str, Any], int]]:
        """The columns of all records as the files' readers give them, batch after batch, and how many records each
        batch has; ``units`` and errors are those of :meth:`batches`."""
        stored = {name: self.stored.get(name, name) for name in names}
        for unit in self.units() if units is None else units:
            self._check(unit.part)
            for arrays, n_records in read_unit(self.parts[unit.part], unit, [*stored.values()], BATCH):
                yield {name: arrays[old] for name, old in stored.items()}, n_records
            self._check(unit.part)

    def _check(self, part: int) -> None:
        check_unchanged(self.parts[part].path, self.states[part])


def first_records(stream: RecordStream, most: int, names: Sequence[str] | None = None) -> RawTable:
    """The first records of a source in memory, with some columns or all: those of its first batches, and ``most`` at
    most."""
    names = stream.names if names is None else names
    codes: dict[str, list[np.ndarray]] = {name: [] for name in names}
    values: dict[str, pa.Array] = {}
    left = most
    for batch in stream.batches(names):
        for name, column in batch.coded.items():
            codes[name].append(column.code_of[column.indices[:left]])
            values[name] = column.values
        left -= batch.n_records
        if left <= 0:
            break
    if not values:
        raise NoRecords(f"'{stream.source}' has columns but no records")
    columns = {name: _whole_column(name, values[name], np.concatenate(codes[name])) for name in names}
    return RawTable(columns, len(columns[names[0]].codes), stream.source)


def _whole_column(name: str, values: pa.Array, codes: np.ndarray) -> RawColumn:
    """A column with those of its values that occur."""
    n_values = int(codes.max()) + 1 if len(codes) else 0
    return RawColumn(name, values.slice(0, n_values), smallest(codes, n_values))


def open_stream(path: str | Path, clean_names: bool = False) -> RecordStream:
    """Open a file ending in ``.csv``, ``.tsv`` or ``.parquet``, or a folder of such files, to be read by streaming;
    ``clean_names`` replaces names that no format holds.

    Looks at the header of each file alone.  A folder that holds anything else is a :class:`UsageError`; parts whose
    columns differ are an :class:`EngineError`.
    """
    path = Path(path).absolute()
    files = files_of(path)
    states = tuple(file_state(file) for file, _ in files)
    opened = [open_part(file, added) for file, added in files]
    check_alike(opened)
    kind = "folder" if path.is_dir() else "file"
    stored = names_in_file(f"{kind} '{path.name}'", opened[0].all_names, clean_names)
    return RecordStream(path, tuple(stored), tuple(opened), states, path.name, stored)


def read_folder(stream: RecordStream) -> RawTable:
    """All records of the files of a source in memory, part after part.

    Raises :class:`EngineError` for damaged files, for those that change meanwhile and for a source without records.
    """
    chunks: dict[str, list[tuple[pa.Array, np.ndarray]]] = {name: [] for name in stream.names}
    types = dict(zip(stream.names, stream.parts[0].types, strict=False))  # none of CSV
    n_records = 0
    for arrays, n in stream.arrays(stream.names):
        n_records += n
        for name, column_chunks in chunks.items():
            array = arrays[name]
            if name in types:  # a dictionary of a Parquet file may hold values that do not occur, in any order
                array = typed_values(with_type(array, types[name]))
            values, indices = encoded(stream.source, name, array)
            column_chunks.append((values, smallest(indices, len(values))))
    if not n_records:
        raise NoRecords(f"'{stream.source}' has columns but no records")
    # popping frees a column's chunks as soon as it is joined
    columns = {name: join_chunks(name, chunks.pop(name)) for name in stream.names}
    return RawTable(columns, n_records, stream.source)
