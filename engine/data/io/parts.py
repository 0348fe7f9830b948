"""The files that make up a streamed source: which they are, in which pieces they are read, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from engine.common.errors import EngineError
from engine.common.os_support import arrow_file
from engine.common.wording import first_twice, is_blank
from engine.data.io import sniff
from engine.data.io.arrow_columns import without_views
from engine.data.io.chunks import check_names
from engine.data.io.csv_batches import csv_batches
from engine.data.io.readers import ends_in_quotes, holds_nul, parquet_errors, refuse_type

if TYPE_CHECKING:
    import pyarrow as pa

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
    for file in sorted(path.rglob("*"), key=lambda file: file.relative_to(path).parts):
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
    names, delimiter = sniff.header(path)
    check_names(path.name, names)
    return Part(path, tuple(names), delimiter=delimiter, added=added)


def _open_parquet(path: Path, added: tuple[tuple[str, str | None], ...]) -> Part:
    from pyarrow import parquet

    with parquet_errors(path), arrow_file(path) as source, parquet.ParquetFile(source) as file:
        schema, metadata = file.schema_arrow, file.metadata
        check_names(path.name, schema.names)
        if not schema.names:
            raise EngineError(f"file '{path.name}' has no columns")
        for column in schema:
            refuse_type(path.name, column)
        groups = tuple(metadata.row_group(k).num_rows for k in range(metadata.num_row_groups))
        return Part(path, tuple(schema.names), tuple(map(_value_type, schema)), groups=groups, added=added)


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
        for batch in file.iter_batches(most, groups, wanted):
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
        raise EngineError(sniff.diagnose(part.path, list(part.names), part.delimiter)) from None
