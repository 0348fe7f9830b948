"""Files and folders of files that are read by streaming: all records in order, some at a time, never all in memory.

A folder holds parts of one data set, all CSV or all Parquet files with the same columns; they are read in the order of
their names.  Folders called ``key=value`` inside it add a text column ``key``, after those of the files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import NoRecords
from engine.common.raw_values import smallest
from engine.data.io import parts
from engine.data.io.arrow_columns import typed_values, with_type
from engine.data.io.chunks import names_in_file
from engine.data.io.growing_values import GrowingValues, local_codes
from engine.data.io.parts import Part, Unit, check_alike, files_of, open_part
from engine.data.io.reread import FileState, check_unchanged, file_state
from engine.data.microdata import RawColumn, RawTable

if TYPE_CHECKING:
    import pyarrow as pa

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
        return [unit for index, part in enumerate(self.parts) for unit in parts.units_of(part, index)]

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
            for arrays, n_records in parts.read_unit(self.parts[unit.part], unit, [*stored.values()], BATCH):
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
