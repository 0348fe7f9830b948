"""Streamed records are shuffled, released with the pairs of the study, each once, and read back; ids are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import factorial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from scipy.stats import chisquare

import engine.plan.coding
from engine.bundle import released_files
from engine.bundle.released_files import (
    MOST_BUCKETS,
    ExternalShuffle,
    IdWatch,
    SecondPass,
    StreamedRelease,
    buckets_for,
    write_streamed,
)
from engine.common.errors import EngineError
from engine.common.streams import derive, generator
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.io.writers import write_csv, write_parquet
from engine.plan import plan_from_toml
from engine.plan.coding import code, tabulate
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import RemadeCells, remake_cells
from tests.small_tables import KEY
from tests.streamed_sources import FORMS, records, small_pieces, write_source

PLAN = plan_from_toml(
    """
[data]
carry = ["note"]
[[attribute]]
name = "age"
cut = [25, 55]
[[attribute]]
name = "job"
on_missing = "level"
merge = { other = ["guard"] }
[[attribute]]
name = "sex"
columns = ["sex", "income"]
"""
)
N = 600
SECRET = derive(KEY, "order")


def remade_of(path: Path, roles: str = "SSU", rate: str = "0.2") -> RemadeCells:
    """A realisation of a source: age and job are exchanged by default."""
    data = code(tabulate(open_stream(path), PLAN), PLAN)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, roles), rate)
    return remake_cells(data, question_of(PLAN, data), spec, derive(KEY, "run"))


def released(folder: Path, remade: RemadeCells, *formats: str, secret: bytes = SECRET) -> StreamedRelease:
    folder.mkdir()
    return write_streamed(folder, remade, PLAN, (), formats or ("parquet",), secret)


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def as_texts(table: pa.Table) -> pa.Table:
    """A table as a CSV file holds it."""
    return pa.table({name: pc.fill_null(table[name].cast(pa.string()), "") for name in table.column_names})


def exchanged_by_hand(original: pa.Table, pairs: np.ndarray, names: tuple[str, ...]) -> list[tuple[object, ...]]:
    """The records, in file order, after both of each pair have taken what the other had in some columns."""
    columns = {name: original[name].to_pylist() for name in original.column_names}
    for first, second in pairs.tolist():
        for name in names:
            column = columns[name]
            column[first], column[second] = column[second], column[first]
    return list(zip(*columns.values(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("roles", ["SSU", "UUS", "USC"])
def test_every_record_is_released_once_with_what_its_partner_had(tmp_path: Path, form: str, roles: str) -> None:
    original = records(N)
    path = write_source(tmp_path, form, original, [100, 450], 128)
    remade = remade_of(path, roles)
    with small_pieces(70, 100, 2048):
        release = released(tmp_path / "out", remade)
    if "csv" in form:
        original = as_texts(original)
    swapped = {"SSU": ("age", "job"), "UUS": ("sex", "income"), "USC": ("job",)}[roles]
    assert len(release.pairs) == len(remade.pairs) == 60
    expected = exchanged_by_hand(original, release.pairs, swapped)
    written = parquet.read_table(tmp_path / "out" / "release.parquet")
    assert Counter(rows_of(written)) == Counter(expected)
    assert Counter(rows_of(written)) != Counter(rows_of(original))
    assert rows_of(written) != expected


@pytest.mark.parametrize("form", ["csv", "parquet folder"])
def test_values_of_columns_that_were_counted_by_intervals_are_those_of_the_partners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    original = records(N)
    path = write_source(tmp_path, form, original, [100, 450], 128)
    plain = released(tmp_path / "plain", remade_of(path))
    monkeypatch.setattr(engine.plan.coding, "MANY_ROWS", 10)
    remade = remade_of(path)
    streamed = remade.data.raw.streamed
    assert streamed is not None and set(streamed.representatives) == {"age"}
    with small_pieces(70, 100, 2048):
        release = released(tmp_path / "out", remade)
    assert len(release.pairs) == len(plain.pairs)
    if form == "csv":
        original = as_texts(original)
    written = parquet.read_table(tmp_path / "out" / "release.parquet")
    assert Counter(rows_of(written)) == Counter(exchanged_by_hand(original, release.pairs, ("age", "job")))


@pytest.mark.slow
def test_records_of_pairs_lie_in_the_cells_of_the_study(tmp_path: Path) -> None:
    path = write_source(tmp_path, "parquet", records(N), [])
    remade = remade_of(path)
    release = released(tmp_path / "out", remade)
    in_memory = code(read_table(path), PLAN)
    assert np.array_equal(in_memory.cell_of_record[release.pairs], remade.pairs)
    assert len(np.unique(release.pairs)) == release.pairs.size


def test_columns_have_the_names_and_types_that_they_have_in_memory(tmp_path: Path) -> None:
    path = write_source(tmp_path, "parquet", records(N), [])
    released(tmp_path / "out", remade_of(path))
    schema = parquet.read_schema(tmp_path / "out" / "release.parquet")
    in_memory = {name: column.values.type for name, column in read_table(path).columns.items()}
    assert dict(zip(schema.names, schema.types, strict=True)) == in_memory
    assert schema.metadata is None


@pytest.mark.slow
def test_files_are_the_bytes_that_the_same_columns_give_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(released_files, "buckets_for", lambda n_rows, row_bytes: 7)
    path = write_source(tmp_path, "parquet", records(N), [])
    release = released(tmp_path / "out", remade_of(path), "csv", "parquet")
    assert release.n_buckets == 7
    table = parquet.read_table(tmp_path / "out" / "release.parquet")
    columns = {name: table[name] for name in table.column_names}
    write_parquet(tmp_path / "whole.parquet", columns)
    write_csv(tmp_path / "whole.csv", columns)
    for kind in ("csv", "parquet"):
        assert (tmp_path / f"whole.{kind}").read_bytes() == (tmp_path / "out" / f"release.{kind}").read_bytes()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["release.csv", "release.parquet"]


@pytest.mark.slow
def test_the_secret_decides_the_order_and_pieces_do_not(tmp_path: Path) -> None:
    path = write_source(tmp_path, "parquet", records(N), [], 100)
    remade = remade_of(path)
    first = released(tmp_path / "a", remade)
    with small_pieces(33, 100, 2048):
        assert released(tmp_path / "b", remade).digests == first.digests
    other = released(tmp_path / "c", remade, secret=derive(KEY, "another"))
    assert other.digests != first.digests
    assert np.array_equal(other.pairs, first.pairs)
    notes = parquet.read_table(tmp_path / "a" / "release.parquet")["note"].to_pylist()
    assert sum(int(b[1:]) == int(a[1:]) + 1 for a, b in pairwise(notes)) < 10


def _losing(self: SecondPass) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(ROWS(self)):
        yield batch.slice(1) if number == 0 else batch


def _doubling(self: SecondPass) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(ROWS(self)):
        yield batch
        if number == 0:
            yield batch.slice(0, 1)


def _replacing(self: SecondPass) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(ROWS(self)):
        first = batch.slice(0, 1).to_pylist()[0]
        others = (k for k in range(batch.num_rows) if batch["job"][k].as_py() != first["job"])
        if number == 0:
            yield batch.slice(0, 1)
            other = next(others)
            yield pa.concat_batches([batch.slice(1, other - 1), batch.slice(0, 1), batch.slice(other + 1)])
        else:
            yield batch


def _staying(self: SecondPass) -> Iterator[pa.RecordBatch]:
    self._shown.pop("job")
    yield from ROWS(self)


ROWS = SecondPass.rows


@pytest.mark.parametrize("mutant", [_losing, _doubling, _replacing, _staying])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_release_that_is_not_the_one_measured_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: object, kind: str
) -> None:
    remade = remade_of(write_source(tmp_path, "parquet", records(N), []))
    monkeypatch.setattr(SecondPass, "rows", mutant)
    with pytest.raises(EngineError, match=f"'release.{kind}' does not hold the table that was measured"):
        released(tmp_path / "out", remade, kind)


def test_a_source_that_was_changed_after_it_was_counted_is_refused(tmp_path: Path) -> None:
    path = write_source(tmp_path, "csv", records(N), [])
    remade = remade_of(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(EngineError, match="changed since it was opened"):
        released(tmp_path / "out", remade)
    assert list((tmp_path / "out").iterdir()) == []


def test_buckets_are_removed_whatever_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: ExternalShuffle, rows: pa.RecordBatch) -> None:
        raise OSError(28, "No space left on device")

    remade = remade_of(write_source(tmp_path, "parquet", records(N), []))
    monkeypatch.setattr(ExternalShuffle, "add", full)
    with pytest.raises(OSError, match="No space"):
        released(tmp_path / "out", remade)
    assert list((tmp_path / "out").iterdir()) == []


def released_values(folder: Path, values: pa.Array, options: str) -> tuple[pa.Table, str]:
    """Hundred records with ``values`` in a first column, whose attribute has ``options``, streamed and released: as a
    Parquet file has them, and the text of the CSV file."""
    plan = plan_from_toml(f'[[attribute]]\nname = "size"\n{options}\n[[attribute]]\nname = "sex"')
    parquet.write_table(pa.table({"size": values, "sex": ["f", "m"] * 50}), folder / "people.parquet")
    data = code(tabulate(open_stream(folder / "people.parquet"), plan), plan)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, "SU"), "0.2")
    remade = remake_cells(data, question_of(plan, data), spec, derive(KEY, "run"))
    (folder / "out").mkdir()
    write_streamed(folder / "out", remade, plan, (), ("csv", "parquet"), SECRET)
    return parquet.read_table(folder / "out" / "release.parquet"), (folder / "out" / "release.csv").read_text()


@pytest.mark.parametrize("edges", [(), (1.0,)])
def test_numbers_that_are_missing_are_found_missing_in_a_text_file(tmp_path: Path, edges: tuple[float, ...]) -> None:
    cut = f"cut = {list(edges)}" if edges else ""
    sizes = pa.array(np.tile([0.5, np.nan, 2.0, 2.0], 25), from_pandas=False)
    _, text = released_values(tmp_path, sizes, f'on_missing = "level"\n{cut}')
    assert text.count("nan,") == 25


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_infinite_numbers_lie_in_the_outer_intervals_of_a_cut(tmp_path: Path, kind: pa.DataType) -> None:
    sizes = pa.array([0.5, np.inf, -np.inf, None] * 25, pa.float64()).cast(kind)
    written, text = released_values(tmp_path, sizes, 'on_missing = "level"\ncut = [1.0]')
    assert Counter(written["size"].to_pylist()) == Counter(sizes.to_pylist())
    assert text.count("\ninf,") == text.count("\n-inf,") == 25


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ns", "+05:30"), pa.timestamp("s"), pa.time32("s"), pa.date64()],
)
def test_times_are_released_whose_type_a_parquet_file_holds_otherwise(tmp_path: Path, kind: pa.DataType) -> None:
    days = pa.array([0, 1, None, 3] * 25, pa.int32())
    values = days.cast(kind) if pa.types.is_time(kind) else days.cast(pa.date32()).cast(pa.timestamp("us")).cast(kind)
    if pa.types.is_timestamp(kind) and kind.tz:
        values = pc.assume_timezone(days.cast(pa.date32()).cast(pa.timestamp(kind.unit)), kind.tz)
    written, _ = released_values(tmp_path, values, 'on_missing = "level"')
    assert Counter(written["size"].cast(kind).to_pylist()) == Counter(values.to_pylist())


def test_a_column_without_values_keeps_its_type(tmp_path: Path) -> None:
    written, _ = released_values(tmp_path, pa.nulls(100, pa.int16()), 'on_missing = "level"')
    assert written["size"].type == pa.int16() and written["size"].null_count == 100


def test_a_carried_column_that_holds_nothing_is_released_as_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    parquet.write_table(records(N).set_column(4, "note", pa.nulls(N)), path)
    remade = remade_of(path)
    released(tmp_path / "out", remade, "csv", "parquet")
    schema = parquet.read_schema(tmp_path / "out" / "release.parquet")
    assert schema.field("note").type == read_table(path).columns["note"].values.type == pa.string()


@pytest.mark.parametrize("sign", ["thousands", "decimal"])
def test_numbers_that_the_plan_says_how_to_read_are_read_back_so(tmp_path: Path, sign: str) -> None:
    sizes = pa.array(["1,234", "1,500", "2,345", "12,345"] * 25)
    edge = 2000 if sign == "thousands" else 2
    written, _ = released_values(tmp_path, sizes, f'cut = [{edge}]\n[[column]]\nname = "size"\n{sign} = ","')
    assert Counter(written["size"].to_pylist()) == Counter(sizes.to_pylist())


def test_new_numbers_follow_those_of_the_rows_before() -> None:
    made: Any = SimpleNamespace(names=("a", "c", "id"), _values={"a": pa.array(["x", "y"])}, _carried=("c",))
    rows = pa.table({"a": pa.array([1, -1, 0], pa.int32()), "c": pa.array(["p", "q", "r"])})
    found = SecondPass.columns(made, rows, 7)
    assert {name: column.to_pylist() for name, column in found.items()} == {
        "a": ["y", None, "x"],
        "c": ["p", "q", "r"],
        "id": [8, 9, 10],
    }


SCHEMA = pa.schema([("row", pa.int32()), ("text", pa.string())])


@cache
def batches(n_rows: int, batch: int) -> list[pa.RecordBatch]:
    """Rows 0 to ``n_rows - 1``, ``batch`` at a time."""
    made = []
    for start in range(0, n_rows, batch):
        numbers = range(start, min(start + batch, n_rows))
        rows = [pa.array(numbers, pa.int32()), pa.array([str(number) if number % 3 else None for number in numbers])]
        made.append(pa.record_batch(rows, schema=SCHEMA))
    return made


def shuffled(folder: Path, n_rows: int, secret: bytes, n_buckets: int, batch: int) -> list[int]:
    """The new order of rows 0 to ``n_rows - 1`` that are added ``batch`` at a time."""
    shuffle = ExternalShuffle(folder, secret, n_buckets)
    for rows in batches(n_rows, batch):
        shuffle.add(rows)
    assert shuffle.n_rows == n_rows
    order: list[int] = []
    for table in shuffle.shuffled():
        assert table["text"].to_pylist() == [str(n) if n % 3 else None for n in table["row"].to_pylist()]
        order += table["row"].to_pylist()
    assert list(folder.iterdir()) == []
    return order


def chance(folder: Path, n_rows: int, n_buckets: int) -> float:
    """The chance of orders as uneven as those of many secrets, were all orders alike."""
    found = Counter(tuple(shuffled(folder, n_rows, derive(KEY, "shuffle", (run,)), n_buckets, 3)) for run in range(800))
    return float(chisquare([*found.values(), *[0] * (factorial(n_rows) - len(found))]).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_buckets"), [(3, 2), (4, 3), (4, 1)])
def test_every_order_is_equally_likely(tmp_path: Path, n_rows: int, n_buckets: int) -> None:
    assert chance(tmp_path, n_rows, n_buckets) > 1e-6


class _InFileOrder:
    """Random numbers for the buckets, and none for the order in a bucket."""

    def __init__(self, derived: bytes) -> None:
        self.integers = generator(derived).integers

    def permutation(self, n: int) -> np.ndarray:
        return np.arange(n)


class _InTurn:
    """Random orders in buckets to which rows go in turn."""

    def __init__(self, derived: bytes) -> None:
        self.permutation = generator(derived).permutation

    def integers(self, low: int, high: int, n: int, dtype: type) -> np.ndarray:
        return (np.arange(n) % high).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [_InFileOrder, _InTurn])
def test_a_shuffle_that_is_nearly_right_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: type
) -> None:
    monkeypatch.setattr("engine.bundle.released_files.generator", wrong)
    assert chance(tmp_path, 4, 2) < 1e-9


@pytest.mark.slow
def test_every_row_comes_once_from_all_over_the_file(tmp_path: Path) -> None:
    order = np.array(shuffled(tmp_path, 200_000, KEY, 5, 70_000))
    assert np.array_equal(np.sort(order), np.arange(200_000))
    assert abs(np.corrcoef(order, np.arange(200_000))[0, 1]) < 0.01
    assert np.count_nonzero(np.diff(order) == 1) < 10


@pytest.mark.slow
def test_the_secret_decides_and_batches_do_not(tmp_path: Path) -> None:
    order = shuffled(tmp_path, 100_000, KEY, 3, 100_000)
    assert shuffled(tmp_path, 100_000, KEY, 3, 9_999) == order
    assert shuffled(tmp_path, 100_000, derive(KEY, "other"), 3, 100_000) != order


def test_no_rows_are_no_rows(tmp_path: Path) -> None:
    assert shuffled(tmp_path, 0, KEY, 4, 1) == []


def test_buckets_are_as_many_as_memory_asks_and_files_allow() -> None:
    assert buckets_for(0, 16) == buckets_for(1_000, 16) == 1
    assert buckets_for(100_000_000, 16) == 24
    assert buckets_for(1_400_000_000, 40) == MOST_BUCKETS
    with pytest.raises(ValueError, match="must be 1 to"):
        ExternalShuffle(Path(), KEY, 0)


def test_all_files_are_closed_where_one_cannot_be_written_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffle = ExternalShuffle(tmp_path, KEY, 3)
    shuffle.add(pa.record_batch([pa.array(range(9), pa.int32()), pa.array([""] * 9)], schema=SCHEMA))
    files, full = list(shuffle._files), mock.Mock()
    full.close.side_effect = OSError(28, "No space left on device")
    monkeypatch.setattr(shuffle, "_writers", [*shuffle._writers[:2], full])
    with pytest.raises(OSError, match="No space"):
        shuffle.close()
    assert all(file.closed for file in files)


N_IDS = 3_000
RNG = np.random.default_rng(4)
RISING = np.cumsum(RNG.integers(1, 9, N_IDS))
SHUFFLED = RNG.permutation(RISING)


def seen(ids: np.ndarray, column: pa.Array, size: int = 700) -> tuple[str, str] | None:
    """What is found where records come so many at a time."""
    watch = IdWatch()
    for start in range(0, N_IDS, size):
        watch.compare(pa.array(ids[start : start + size]), {"other": column.slice(start, size)})
    return watch.found()


@pytest.mark.parametrize("ids", [RISING, SHUFFLED])
@pytest.mark.parametrize(
    ("made", "what"),
    [
        (lambda ids: pa.array(ids.astype(str)), "the original ids of records"),
        (lambda ids: pa.array(np.where(np.arange(N_IDS) % 100 == 0, ids, -1)), "the original ids of records"),
        (lambda ids: pa.array(ids + 17), "values in the order of"),
        (lambda ids: pa.array(-0.5 * ids), "values in the order of"),
        (lambda ids: pa.array([f"case {number:09}" for number in ids]), "values in the order of"),
    ],
)
def test_ids_are_found_as_they_are_and_in_their_order(ids: np.ndarray, made, what: str) -> None:
    found = seen(ids, made(ids))
    assert found is not None
    assert found[0] == "other" and found[1].startswith(what)


def test_records_without_a_value_do_not_count_among_those_that_differ() -> None:
    """25 of 20,000 known values are ids; of unrelated numbers fewer agree."""
    ids = pa.array(np.arange(60_000) * 7)
    column = np.where(np.arange(60_000) < 25, ids, -1)
    watch = IdWatch()
    watch.compare(ids, {"other": pa.array(column, mask=np.arange(60_000) >= 20_000)})
    assert watch.found() == ("other", "the original ids of records")


@pytest.mark.parametrize("ids", [RISING, SHUFFLED])
@pytest.mark.parametrize(
    "column",
    [
        pa.array(RNG.gamma(2, 700, N_IDS)),
        pa.array(RNG.integers(0, 90, N_IDS)),
        pa.array([["a", "b", None][k] for k in RNG.integers(0, 3, N_IDS)]),
        pa.array([None] * N_IDS, pa.string()),
        pa.array(RNG.integers(0, 90, N_IDS).astype(np.float16)),
        pa.array(np.ones(N_IDS)),
        pa.array(RNG.permutation(RISING + 1_000_000)),
    ],
)
def test_unrelated_columns_are_left_alone(ids: np.ndarray, column: pa.Array) -> None:
    assert seen(ids, column) is None
