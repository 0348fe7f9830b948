"""Write the release of data that are read by streaming: a second pass, an external shuffle, files, and reading them
back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from engine.bundle.external_shuffle import ExternalShuffle, buckets_for
from engine.bundle.files import sha256
from engine.bundle.second_pass import SecondPass
from engine.common.errors import EngineError
from engine.common.messages import Message, Report
from engine.data.io.stream import open_stream
from engine.data.io.writers import ROW_GROUP, csv_file, parquet_file
from engine.data.labels import NO_LABELS, ColumnLabels
from engine.data.table import ContingencyTable
from engine.plan.coding import code, tabulate
from engine.plan.types import DataPlan, Plan
from engine.sweeps.remake import RemadeCells

if TYPE_CHECKING:
    import pyarrow as pa

_LINES = 1 << 18  # records turned into lines of CSV at a time
_Write = Callable[["Sequence[pa.Array]"], None]


@dataclass(frozen=True)
class StreamedRelease:
    """A release that was written: the SHA-256 of its files, the two original records of each of its pairs, the number
    of buckets of its shuffle, which its order depends on, and a column that shows the original ids, if one does, with
    what it shows in words."""

    digests: dict[str, str]
    pairs: np.ndarray
    n_buckets: int
    ids: tuple[str, str] | None


def write_streamed(
    folder: Path,
    remade: RemadeCells,
    plan: Plan,
    include: tuple[str, ...],
    formats: Sequence[str],
    secret: bytes,
    n_buckets: int | None = None,
    tell: Report | None = None,
) -> StreamedRelease:
    """Write the release of one realisation into an existing folder, its rows in the order of a secret.

    ``n_buckets`` are those of an earlier export in whose order the rows are to stand, else as many as memory asks for.
    Every file is read back: its table must be the one that was measured (:class:`EngineError`).  Buckets lie in a
    folder of their own beside the files meanwhile.  ``tell`` gets messages on progress.
    """
    say = tell or (lambda message: None)
    second_pass = SecondPass(remade, include)
    n_records = remade.data.n_records
    buckets = n_buckets or buckets_for(n_records, second_pass.row_bytes)
    scratch = folder / "shuffle"
    scratch.mkdir(mode=0o700)
    try:
        shuffle = ExternalShuffle(scratch, secret, buckets)
        try:
            say(Message("step", "reading the records a second time"))
            for rows in second_pass.rows():
                shuffle.add(rows)
            say(Message("step", "writing the release in its new order"))
            labels = {column.name: column.of(NO_LABELS) for column in plan.data.columns}
            write_files(folder, formats, second_pass, shuffle.shuffled(), labels)
        finally:
            shuffle.close()
    finally:
        shutil.rmtree(scratch)
    paths = [folder / f"release.{name}" for name in formats]
    for path in paths:
        say(Message("step", f"reading '{path.name}' back"))
        check_written(path, remade, plan, second_pass.names)
    digests = {path.name: sha256(path) for path in sorted(paths)}
    return StreamedRelease(digests, second_pass.pairs, buckets, second_pass.ids.found())


def write_files(
    folder: Path,
    formats: Sequence[str],
    second_pass: SecondPass,
    rows: Iterator[pa.Table],
    labels: Mapping[str, ColumnLabels] = MappingProxyType({}),
) -> None:
    """Write all rows, as they come, in every format at once; Parquet holds ``labels`` too."""
    with ExitStack() as files:
        parquet: _Write | None = None
        csv: _Write | None = None
        if "csv" in formats:
            csv = files.enter_context(csv_file(folder / "release.csv", second_pass.names))
        first = 0
        for group in _of_size(rows, ROW_GROUP):
            columns = second_pass.columns(group, first)
            first += group.num_rows
            if "parquet" in formats:
                if parquet is None:
                    types = {name: values.type for name, values in columns.items()}
                    parquet = files.enter_context(parquet_file(folder / "release.parquet", types, labels=labels))
                parquet([*columns.values()])
            for start in range(0, group.num_rows if csv else 0, _LINES):
                assert csv is not None
                csv([values.slice(start, _LINES) for values in columns.values()])


def _of_size(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The rows of tables as tables of so many rows; the last may have fewer."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    n_waiting = 0
    for table in tables:
        while table.num_rows:
            part = table.slice(0, size - n_waiting)
            table = table.slice(part.num_rows)
            waiting.append(part)
            n_waiting += part.num_rows
            if n_waiting == size:
                yield pa.concat_tables(waiting)
                waiting, n_waiting = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def check_written(path: Path, remade: RemadeCells, plan: Plan, names: Iterable[str]) -> None:
    """Read a released file back by streaming: its records must give the table that was measured, cell for cell.

    ``plan`` is the study's and ``names`` are the released columns.
    """
    coded = {column for attribute in plan.attributes for column in (*attribute.columns, *attribute.view)}
    carried = tuple(name for name in names if name not in coded)
    columns = tuple(column for column in plan.data.columns if column.name in {*coded, *carried})
    as_released = Plan(data=DataPlan(plan.attributes, plan.data.missing, carry=carried, columns=columns))
    types = {name: remade.data.raw.columns[name].values.type for name in coded}
    written = replace(open_stream(path), types=types if path.suffix == ".parquet" else _numbers(types))
    problem = _difference(code(tabulate(written, as_released), as_released).table, remade.table)
    if problem:
        raise EngineError(
            f"the file '{path.name}' does not hold the table that was measured: {problem}. Nothing was written; is the "
            "disk full or damaged? Otherwise please report this"
        )


def _numbers(types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """The types of columns that a CSV file is to be read with: its texts are the levels of others, but "nan" is a
    missing number and "inf" a large one."""
    import pyarrow as pa

    return {name: kind for name, kind in types.items() if pa.types.is_floating(kind)}


def _difference(written: ContingencyTable, measured: ContingencyTable) -> str:
    """The difference of two tables, whose levels may be numbered in other orders, in words; empty where they are
    equal."""
    if written.n_records != measured.n_records:
        return f"it has {written.n_records:,} records, and the release {measured.n_records:,}"
    columns = []
    for j, attribute in enumerate(measured.domain.attributes):
        number = {level: k for k, level in enumerate(attribute.levels)}
        own = [number.get(level, -1) for level in written.domain.attributes[j].levels]
        columns.append(np.array(own, np.int32)[written.cells[:, j]])
    cells = np.column_stack(columns)
    order = np.lexsort(cells.T[::-1])
    if cells.shape != measured.cells.shape or not np.array_equal(cells[order], measured.cells):
        return f"it has {len(cells):,} combinations of levels, not the {len(measured.cells):,} of the release"
    differing = int(np.count_nonzero(written.counts[order] != measured.counts))
    return f"{differing:,} of {len(cells):,} counts are others" if differing else ""
