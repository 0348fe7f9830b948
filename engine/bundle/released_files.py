"""The released tables as files: their order, their new numbers and their formats, in memory or by streaming.

The secret of the order comes from the operating system and stays in the analyst's bundle.  The same secret gives the
same order and the same numbers, so all tables of a release and the files that are linked to it agree.  Records stand in
an order in which each is as likely as any other, members of a household apart from each other: since neither the order
nor a number depends on what was swapped, nobody can read from them who moved.

Data that are read by streaming are read a second time, shuffled on disk, written and read back.  Which records take
part in the pairs is dealt while they come by (:mod:`engine.mechanisms.dealing`), so that memory follows the pairs and
the distinct raw rows.  These tell what each partner shows; of columns that were counted by intervals a pass between the
two notes it.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.bundle.folder import sha256
from engine.bundle.readers import Refused
from engine.common.errors import EngineError, UsageError
from engine.common.os_support import arrow_file
from engine.common.output import Message, Report
from engine.common.raw_values import as_text, smallest, text_mask, texts
from engine.common.streams import derive, generator
from engine.common.wording import listed
from engine.data.io.arrow_columns import plain_values
from engine.data.io.counting import CellLookup
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.stream import Batch, open_stream
from engine.data.io.writers import ROW_GROUP, csv_file, parquet_file, write_csv, write_parquet
from engine.data.microdata import NO_LABELS, ColumnLabels, Microdata, Units
from engine.data.table import ContingencyTable
from engine.mechanisms.dealing import deal_rows
from engine.models.record_release import missing_values
from engine.plan.coding import code, tabulate
from engine.plan.types import DataPlan, Plan
from engine.release.reader_view import rounded_codes, same_rows
from engine.sweeps.remake import Remade, RemadeCells, released_columns

if TYPE_CHECKING:
    import pyarrow as pa


def new_secret() -> bytes:
    """A fresh secret of the row order: 256 bits from the operating system's secure source."""
    return secrets.token_bytes(32)


@dataclass(frozen=True)
class Rows:
    """The order of ``n_records`` records in every released table, and their new ids."""

    secret: bytes
    n_records: int

    @cached_property
    def order(self) -> np.ndarray:
        """The original record that stands in each row of the release, shape ``(n_records,)``."""
        return generator(derive(self.secret, "rows")).permutation(self.n_records)

    @cached_property
    def row_of(self) -> np.ndarray:
        """The row of the release in which each original record stands, shape ``(n_records,)``."""
        return np.argsort(self.order)

    @cached_property
    def ids(self) -> np.ndarray:
        """The new id of each original record: 1 to ``n_records`` in an order that tells nothing of either order."""
        return generator(derive(self.secret, "ids")).permutation(self.n_records).astype(np.int64) + 1

    def unit_numbers(self, units: Units) -> np.ndarray:
        """The new number, 1 to the number of units, of each original record's unit, shape ``(n_records,)``."""
        new = generator(derive(self.secret, "units")).permutation(len(units)).astype(np.int64) + 1
        return np.take(new, units.of_record)

    def new_numbers(self, data: Microdata) -> dict[str, np.ndarray]:
        """New numbers in place of those of id and unit (of several columns the first), by column, one per record."""
        numbers = {} if data.id is None else {data.id: self.ids}
        if data.unit is not None and data.units is not None:
            numbers[data.unit_columns[0]] = self.unit_numbers(data.units)
        return numbers


_WRITERS: dict[str, Callable[..., Iterable[str]]] = {
    "csv": lambda path, columns, labels: write_csv(path, columns),
    "parquet": write_parquet,
    "sav": write_sav,
    "dta": write_dta,
}
FORMATS = tuple(_WRITERS)
"""The formats of a release: CSV, Parquet, SPSS and Stata."""
Tables = dict[str, "dict[str, pa.Array]"]


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """The formats named, each once, in the order of :data:`FORMATS`."""
    names = tuple(formats)
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"format == '{name}', must be one of {', '.join(FORMATS)}")
    if not names:
        raise UsageError(f"no format is named; give one or more of {', '.join(FORMATS)}")
    return tuple(name for name in FORMATS if name in names)


def tables_of(remade: Remade, rows: Rows, include: Iterable[str]) -> Tables:
    """The released tables by the name of their files: one release, or release-01 and so on; all in one order."""
    names = table_names(len(remade.tables))
    new_numbers = rows.new_numbers(remade.data)
    return {name: released_columns(remade, d, rows.order, include, new_numbers) for d, name in enumerate(names)}


def table_names(n_tables: int) -> list[str]:
    """The names of a release's tables, without their endings."""
    return ["release"] if n_tables == 1 else [f"release-{d + 1:02d}" for d in range(n_tables)]


def refuse_original(tables: Tables, data: Microdata) -> None:
    """Refuse (:class:`Refused`) tables of which one holds the original's rows, as its reader sees them: new numbers
    tell only who belongs together, and numbers that were drawn count as rounded."""
    for name, columns in tables.items():
        before, after, units = list[np.ndarray](), list[np.ndarray](), None
        for column, values in columns.items():
            raw = data.raw.columns[column]
            if column == data.id:
                continue
            if column == data.unit_column and data.units is not None:
                units = data.units, Units.from_codes(values.to_numpy())
            elif hasattr(values, "indices"):
                before.append(raw.codes + 1)
                after.append(values.indices.fill_null(-1).to_numpy() + 1)
            else:
                both = rounded_codes(raw, values.to_numpy(zero_copy_only=False))
                before.append(both[0])
                after.append(both[1])
        if same_rows(before, after, units):
            raise Refused(
                f"the release was refused: the rows of '{name}' are those of the original, so nothing is protected; "
                "choose another candidate. Nothing was written",
                "no change",
            )


def labels_of(remade: Remade, names: Iterable[str], plan: Plan) -> dict[str, ColumnLabels]:
    """The labels of released columns, with the codes that the plan takes as missing among the missing codes, as far as
    they occur; new ids and numbers of units keep their variable label alone, since their values are others."""
    data = remade.data
    labels, parts = {}, data.unit_columns
    for name in names:
        column = data.raw.columns[name]
        if name in data.renumbered:
            together = len(parts) > 1 and name == data.unit_column
            label = f"new number of the household, in place of {listed(parts)}" if together else column.about.label
            labels[name] = replace(NO_LABELS, label=label)
            continue
        known = {*column.about.missing, ""}
        codes = [code for code in missing_values(plan, name, column.about).missing if code not in known]
        occurring = set(texts(column.values.filter(text_mask(column.values, codes))))
        missing = (*column.about.missing, *(code for code in codes if code in occurring))
        labels[name] = replace(column.about, missing=missing)
    return labels


def write_tables(
    folder: Path, tables: Tables, formats: Sequence[str], labels: Mapping[str, ColumnLabels]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write every table in every format into an existing folder.

    Returns the SHA-256 of each file written and notes, a sentence for each value, name or label that a format cannot
    hold as it is.
    """
    before, notes = set(folder.iterdir()), dict[str, None]()
    for name, columns in tables.items():
        for form in formats:
            notes |= dict.fromkeys(_WRITERS[form]((folder / name).with_suffix(f".{form}"), columns, labels))
    return {path.name: sha256(path) for path in sorted(set(folder.iterdir()) - before)}, tuple(notes)


def coded_names(data: Microdata) -> tuple[str, ...]:
    """The raw columns that attributes need, which streaming codes by their distinct values."""
    assert data.raw.streamed is not None, "the records are in memory"
    return data.raw.streamed.rows.names


def released_names(data: Microdata, include: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a release in file order: dropped ones never, weight and id where they are included."""
    # a household's new number stands in the place of the first of the columns that number it
    unreleased = {*data.dropped, *data.unit_columns[1:]}
    unreleased |= {name for name, use in data.single_uses.items() if use not in include}
    return tuple(name for name in data.raw.names if name not in unreleased)


_SHOWN = 1e-3  # share of records of which a column shows the id; of unrelated numbers far fewer agree
_FEWEST = 20
_IN_ORDER = 0.95


class IdWatch:
    """Counts of agreement between original ids and other columns, by the name of the column: values of both, equal
    ones, steps from a record to the next, those in the same and in the opposite direction."""

    def __init__(self) -> None:
        self._counts: dict[str, np.ndarray] = {}

    def compare(self, ids: pa.Array, columns: Mapping[str, pa.Array]) -> None:
        """Compare the ids of some records, in file order, with other columns of theirs."""
        import pyarrow.compute as pc

        texts, rises, falls = as_text(ids), _steps(ids, pc.greater), _steps(ids, pc.less)
        for name, values in columns.items():
            equal = pc.equal(texts, as_text(values))
            up, down = _steps(values, pc.greater), _steps(values, pc.less)
            alike = _count(pc.and_(rises, up)) + _count(pc.and_(falls, down))
            reverse = _count(pc.and_(rises, down)) + _count(pc.and_(falls, up))
            counts = [len(equal) - equal.null_count, _count(equal), len(up) - up.null_count, alike, reverse]
            self._counts[name] = self._counts.get(name, 0) + np.array(counts)

    def found(self) -> tuple[str, str] | None:
        """A column that shows the original ids or stands in their order, and which of the two in words; else None."""
        for name, (known, equal, steps, alike, reverse) in self._counts.items():
            if equal >= max(_FEWEST, _SHOWN * known):
                return name, "the original ids of records"
            if steps > _FEWEST and max(alike, reverse) > _IN_ORDER * steps:
                return name, "values in the order of the original ids of records"
        return None


def _steps(values: pa.Array, compare: Callable[[pa.Array, pa.Array], pa.Array]) -> pa.Array:
    """Return whether each record compares so with the one before it; null where one of them is."""
    import pyarrow as pa

    if pa.types.is_float16(values.type):  # which Arrow does not compare
        values = values.cast(pa.float32())
    return compare(values.slice(1), values.slice(0, max(0, len(values) - 1)))


def _count(truths: pa.Array) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(truths).as_py() or 0)


MOST_BUCKETS = 128
"""The most buckets: their files are open at the same time, and some systems allow a process 256."""
_BUCKET_BYTES = 1 << 26
_BLOCK = 1 << 16  # rows whose buckets are drawn together; part of the order


def buckets_for(n_rows: int, row_bytes: int) -> int:
    """The number of buckets for so many rows of so many bytes: of 64 MB each, at most :data:`MOST_BUCKETS`."""
    return min(MOST_BUCKETS, 1 + n_rows * row_bytes // _BUCKET_BYTES)


class ExternalShuffle:
    """Rows in a uniformly random order that follows from a secret, in memory of one bucket.

    Each row goes to one of ``B`` buckets on disk, drawn uniformly and independently of everything else; at the end
    every bucket is read, put in a uniformly random order, and the buckets follow each other.

    Each of the ``N!`` orders of ``N`` rows is equally likely.  Take one order of the rows and sizes of buckets
    ``k_1 + ... + k_B = N``.  The rows come out in this order with buckets of these sizes just where the first ``k_1``
    of them went to the first bucket, the next ``k_2`` to the second, and so on, which has the chance ``B ** -N``; and
    where each bucket was put in the one order that is asked, which has the chance ``1 / (k_1! ... k_B!)``.  Neither
    depends on the order that was taken, and so neither does their sum over all sizes.

    Numbers of buckets are drawn in blocks of rows, so that the order follows from the secret, the rows and the number
    of buckets alone, and not from the batches in which the rows come.

    ``folder`` is an existing private folder for the buckets, which its owner removes.  :meth:`add` all rows, of one
    schema without dictionary-coded columns, then go once through :meth:`shuffled`.
    """

    def __init__(self, folder: Path, secret: bytes, n_buckets: int) -> None:
        if not 1 <= n_buckets <= MOST_BUCKETS:
            raise ValueError(f"{n_buckets} buckets, must be 1 to {MOST_BUCKETS}")
        self._secret = secret
        self._paths = [folder / f"{bucket}.rows" for bucket in range(n_buckets)]
        self._files: list[Any] = []
        self._writers: list[Any] = []
        self.n_rows = 0  # that were added
        self._block = np.empty(0, np.uint8)

    def add(self, rows: pa.RecordBatch) -> None:
        """Take the next rows."""
        import pyarrow as pa
        from pyarrow import ipc

        if not self.n_rows:
            self._files = [arrow_file(path, "wb") for path in self._paths]
            self._writers = [ipc.new_stream(file, rows.schema) for file in self._files]
        bucket = self._buckets(rows.num_rows)
        order = np.argsort(bucket, kind="stable")
        partitioned, first = rows.take(pa.array(order)), 0
        for number, size in enumerate(np.bincount(bucket, minlength=len(self._paths)).tolist()):
            if size:
                self._writers[number].write_batch(partitioned.slice(first, size))
            first += size

    def shuffled(self) -> Iterator[pa.Table]:
        """The rows in their new order, a bucket at a time, whose file is removed."""
        import pyarrow as pa
        from pyarrow import ipc

        self.close()
        for number, path in enumerate(self._paths if self.n_rows else ()):
            with arrow_file(path) as file, ipc.open_stream(file) as stored:
                rows = stored.read_all().combine_chunks()
            path.unlink()
            order = generator(derive(self._secret, "rows in a bucket", (number,))).permutation(rows.num_rows)
            if rows.num_rows:
                yield rows.take(pa.array(order))

    def close(self) -> None:
        """Close the files of all buckets, even where a full disk makes one fail: some systems keep open files."""
        with ExitStack() as closing:
            for file in (*self._files, *self._writers):  # writers are closed first
                closing.callback(file.close)
            self._files, self._writers = [], []

    def _buckets(self, n_rows: int) -> np.ndarray:
        parts, needed = [], n_rows
        while needed:
            if not len(self._block):
                rng = generator(derive(self._secret, "bucket of a row", (self.n_rows // _BLOCK,)))
                self._block = rng.integers(0, len(self._paths), _BLOCK, dtype=np.uint8)
            part, self._block = self._block[:needed], self._block[needed:]
            parts.append(part)
            needed -= len(part)
            self.n_rows += len(part)
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)


class SecondPass:
    """The released records of one realisation, and after :meth:`rows` was gone through their pairs.

    ``names`` are the released columns in file order.  ``pairs`` are the two original records of each pair, counted from
    0 in file order, shape ``(pairs, 2)``; ``ids`` has compared the original ids, where there are some, with the columns
    that stay with their records.
    """

    def __init__(self, remade: RemadeCells, include: tuple[str, ...]) -> None:
        data, streamed = remade.data, remade.data.raw.streamed
        assert streamed is not None and data.streamed is not None, "the records are in memory"
        self._stream, self._lookup = streamed.stream, CellLookup(data)
        self._deal = deal_rows(remade.derived, remade.pairs, data.streamed.cell_of_row, streamed.counts)
        attributes = [data.domain.attributes[j] for j in remade.swapped]
        columns = [*dict.fromkeys(name for attribute in attributes for name in attribute.columns)]
        rows = streamed.rows.columns
        self._unknown = [name for name in columns if name in streamed.representatives]
        self._shown = {
            name: rows[name].codes[self._deal.cell_of_place] for name in columns if name not in self._unknown
        }
        self._values: dict[str, pa.Array] = {name: data.raw.columns[name].values for name in coded_names(data)}
        self._id = data.id
        self.names = released_names(data, include)
        self._carried = [name for name in self.names if name not in self._values and name != data.id]
        # half the memory, where records are few enough
        self.pairs = np.empty((len(remade.pairs), 2), np.uint32 if data.n_records <= 1 << 32 else np.int64)
        self.ids = IdWatch()

    @property
    def row_bytes(self) -> int:
        """About how many bytes the row of a record takes: codes, and of a carried column a word."""
        coded = [name for name in self.names if name in self._values]
        sizes = [smallest(np.zeros(0, np.int32), len(self._values[name])).itemsize for name in coded]
        return sum(sizes) + 16 * len(self._carried)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The records in the file order of the original, batch after batch: codes (-1: null) of attributes' columns,
        and carried ones as they are; no column of new ids."""
        import pyarrow as pa

        if self._unknown:  # columns of which the first pass counted intervals: a pass of its own notes their values
            self._shown |= {name: np.empty(self.pairs.size, np.int32) for name in self._unknown}
            for batch, paired, place in self._placed([]):
                for name in self._unknown:
                    self._shown[name][place] = batch.coded[name].codes[paired]
        begun, record_of_place = 0, self.pairs.reshape(-1)
        plain = [*self._carried, *([] if self._id is None else [self._id])]
        for batch, paired, place in self._placed(plain):
            record_of_place[place] = begun + paired
            begun += batch.n_records
            carried = {name: plain_values(batch.plain[name]) for name in self._carried}
            if self._id is not None:
                self.ids.compare(plain_values(batch.plain[self._id]), carried)
            columns = {}
            for name in self.names:
                if name in self._values:
                    codes = batch.coded[name].codes
                    if name in self._shown:
                        codes[paired] = self._shown[name][place ^ 1]
                    columns[name] = pa.array(smallest(codes, len(self._values[name])))
                elif name in carried:
                    columns[name] = carried[name]
            yield pa.RecordBatch.from_pydict(columns)

    def _placed(self, plain: list[str]) -> Iterator[tuple[Batch, np.ndarray, np.ndarray]]:
        """The batches of one pass, the records of each that take part in pairs, and their places in these."""
        self._deal.restart()
        for batch in self._stream.batches(self._lookup.columns, plain, known=self._lookup.values):
            places = self._deal.places(self._lookup.rows_of(batch))
            paired = np.flatnonzero(places >= 0)
            yield batch, paired, places[paired]
        self._deal.check_complete()

    def columns(self, rows: pa.Table, first: int) -> dict[str, pa.Array]:
        """Some rows in their released order as released columns, ``first`` being the number of those before them."""
        import pyarrow as pa

        columns = {}
        for name in self.names:
            if name in self._values:
                codes = rows[name].combine_chunks().to_numpy(zero_copy_only=False)
                indices = pa.array(codes.astype(np.int32), mask=codes < 0)
                columns[name] = pa.DictionaryArray.from_arrays(indices, self._values[name])
            elif name in self._carried:
                columns[name] = rows[name].combine_chunks()
            else:
                columns[name] = pa.array(np.arange(first + 1, first + rows.num_rows + 1))
        return columns


_LINES = 1 << 18  # records turned into lines of CSV at a time


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
    with (
        tempfile.TemporaryDirectory(dir=folder) as scratch,
        closing(ExternalShuffle(Path(scratch), secret, buckets)) as shuffle,
    ):
        say(Message("step", "reading the records a second time"))
        for rows in second_pass.rows():
            shuffle.add(rows)
        say(Message("step", "writing the release in its new order"))
        labels = {column.name: column.of(NO_LABELS) for column in plan.data.columns}
        write_files(folder, formats, second_pass, shuffle.shuffled(), labels)
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
        writers: dict[str, Callable[[Sequence[pa.Array]], None]] = {}
        first = 0
        for group in _of_size(rows, ROW_GROUP):
            columns = second_pass.columns(group, first)
            first += group.num_rows
            if not writers:
                types = {name: values.type for name, values in columns.items()}
                if "csv" in formats:
                    writers["csv"] = files.enter_context(csv_file(folder / "release.csv", second_pass.names))
                if "parquet" in formats:
                    file = parquet_file(folder / "release.parquet", types, labels=labels)
                    writers["parquet"] = files.enter_context(file)
            for name, write in writers.items():
                size = _LINES if name == "csv" else ROW_GROUP
                for start in range(0, group.num_rows, size):
                    write([values.slice(start, size) for values in columns.values()])


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
    import pyarrow as pa

    coded = {column for attribute in plan.attributes for column in (*attribute.columns, *attribute.view)}
    carried = tuple(name for name in names if name not in coded)
    columns = tuple(column for column in plan.data.columns if column.name in {*coded, *carried})
    as_released = Plan(data=DataPlan(plan.attributes, plan.data.missing, carry=carried, columns=columns))
    types = {name: remade.data.raw.columns[name].values.type for name in coded}
    if path.suffix != ".parquet":  # texts of CSV are the levels of others, but "nan" is a missing number
        types = {name: kind for name, kind in types.items() if pa.types.is_floating(kind)}
    written = replace(open_stream(path), types=types)
    problem = _difference(code(tabulate(written, as_released), as_released).table, remade.table)
    if problem:
        raise EngineError(
            f"the file '{path.name}' does not hold the table that was measured: {problem}. Nothing was written; is the "
            "disk full or damaged? Otherwise please report this"
        )


def _difference(written: ContingencyTable, measured: ContingencyTable) -> str:
    """The difference of two tables, whose levels may be numbered in other orders, in words; else empty."""
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
