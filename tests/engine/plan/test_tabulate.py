"""A streamed source has the cell table that its records have in memory, and no records."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data import microdata
from engine.data.io import stream as parts
from engine.data.io.counting import CellLookup
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import Microdata
from engine.plan import coding as tabulation
from engine.plan import plan_from_toml
from engine.plan.coding import code, tabulate
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


def streamed(path: Path) -> Microdata:
    return code(tabulate(open_stream(path), PLAN), PLAN)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    form=st.sampled_from(FORMS),
    n=st.integers(2, 400),
    seed=st.integers(0, 99),
    cuts=st.lists(st.integers(0, 400), max_size=4),
    pieces=st.tuples(st.integers(1, 300), st.integers(1, 300), st.integers(256, 4096)),
    group=st.integers(1, 300),
)
def test_the_table_is_that_of_the_records_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    n: int,
    seed: int,
    cuts: list[int],
    pieces: tuple[int, int, int],
    group: int,
) -> None:
    folder, table = tmp_path_factory.mktemp("source"), records(n, seed)
    path = write_source(folder, form, table, [min(cut, n) for cut in cuts], group)
    whole = code(read_table(write_source(folder, form.split()[0], table, [])), PLAN)
    with small_pieces(*pieces):
        data = streamed(path)
        lookup = CellLookup(data)
        stream = open_stream(path)
        cells = [lookup.cells_of(batch) for batch in stream.batches(lookup.columns, known=lookup.values)]
    assert data.domain == whole.domain
    assert np.array_equal(data.table.cells, whole.table.cells)
    assert np.array_equal(data.table.counts, whole.table.counts)
    assert data.n_records == n
    assert np.array_equal(np.concatenate(cells), whole.cell_of_record)


@pytest.mark.parametrize(
    "use",
    [
        lambda data: data.codes[0],
        lambda data: len(data.codes),
        lambda data: data.cell_of_record + 1,
        lambda data: np.bincount(data.cell_of_record),
        lambda data: data.raw.columns["age"].codes >= 0,
        lambda data: data.raw.columns["age"].codes.min(),
        lambda data: np.asarray(data.raw.columns["age"].codes),
    ],
)
def test_records_that_are_not_in_memory_are_refused_in_words(
    tmp_path: Path, use: Callable[[Microdata], object]
) -> None:
    data = streamed(write_source(tmp_path, "csv", records(50), []))
    with pytest.raises(EngineError, match=r"the records of 'people\.csv' are read by streaming and are not in memory"):
        use(data)


def test_a_column_of_no_attribute_is_not_in_memory(tmp_path: Path) -> None:
    data = streamed(write_source(tmp_path, "csv", records(50), []))
    assert data.raw.names == ("age", "job", "sex", "income", "note")
    with pytest.raises(EngineError, match=r"column 'note' of 'people\.csv' belongs to no attribute"):
        _ = data.raw.columns["note"]


def test_errors_count_records_and_not_distinct_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,job,sex,income,note\n" + "x,a,f,1,n\n" * 7 + "30,a,f,1,n\n")
    with pytest.raises(EngineError, match=r"1 value \(7 records\) cannot be read as one"):
        streamed(path)


def test_a_record_unlike_those_of_the_first_pass_is_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    head = "age,job,sex,income,note\n20,a,f,1,n\n60,b,m,1,n\n"
    first.write_text(head)
    for line in ("20,b,f,1,n\n", "20,c,f,1,n\n"):
        second.write_text(head + line)
        lookup = CellLookup(streamed(first))
        with pytest.raises(EngineError, match=r"'a\.csv' holds a record that it did not hold when it was counted"):
            for batch in open_stream(second).batches(lookup.columns, known=lookup.values):
                lookup.cells_of(batch)


CUT = plan_from_toml(
    """
[data]
carry = ["note", "age"]
[[attribute]]
name = "income"
cut = [1000, 2000.5]
skip = ["1500"]
missing = ["2001"]
on_missing = "level"
[[attribute]]
name = "job"
on_missing = "level"
[[attribute]]
name = "sex"
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_cut_columns_are_counted_by_intervals_where_their_values_make_too_many_rows(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = records(900)
    path = write_source(tmp_path, form, table, [100, 101, 500], group=150)
    whole = code(read_table(write_source(tmp_path, form.split()[0], table, [])), CUT)
    by_value = tabulate(open_stream(path), CUT)
    monkeypatch.setattr(tabulation, "MANY_ROWS", 300)
    with small_pieces(70, 200, 4096):
        by_interval = tabulate(open_stream(path), CUT)
        assert by_interval.streamed is not None and by_value.streamed is not None
        assert list(by_interval.streamed.representatives) == ["income"]
        assert by_interval.streamed.rows.n_records < 60 < 800 < by_value.streamed.rows.n_records
        data = code(by_interval, CUT)
        lookup = CellLookup(data)
        cells = [lookup.cells_of(batch) for batch in open_stream(path).batches(lookup.columns, known=lookup.values)]
    assert data.domain == whole.domain  # exactness of attributes among it
    assert np.array_equal(data.table.cells, whole.table.cells)
    assert np.array_equal(data.table.counts, whole.table.counts)
    assert np.array_equal(np.concatenate(cells), whole.cell_of_record)
    assert by_interval.n_values("income") == by_value.n_values("income")


def test_a_change_within_an_interval_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabulation, "MANY_ROWS", 0)
    path, digests = tmp_path / "a.csv", set()
    for incomes in ((100, 200, 100), (100, 200, 200), (100, 201, 100)):
        path.write_text("age,job,sex,income,note\n" + "".join(f"1,a,f,{income},n\n" for income in incomes))
        digests.add(tabulate(open_stream(path), CUT).content_digest())
    assert len(digests) == 3


def test_errors_of_cut_columns_count_all_records_of_an_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabulation, "MANY_ROWS", 0)
    path = tmp_path / "a.csv"
    path.write_text("age,job,sex,income,note\n" + "1,a,f,x,n\n" * 3 + "1,a,f,y,n\n1,a,f,5,n\n")
    with pytest.raises(EngineError, match=r"2 values \(4 records\) cannot be read as one"):
        code(tabulate(open_stream(path), CUT), CUT)


@pytest.mark.slow
def test_files_that_say_they_hold_too_many_records_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, n_parts = tmp_path / "people", 257
    folder.mkdir()
    part = pa.table({name: pa.nulls(1 << 24, pa.int8()) for name in ("age", "job", "sex", "income", "note")})
    parquet.write_table(part, folder / "000.parquet", row_group_size=1 << 24)
    for number in range(1, n_parts):
        shutil.copy(folder / "000.parquet", folder / f"{number:03}.parquet")
    monkeypatch.setattr(parts, "read_unit", None)
    message = "'people' holds 4,311,744,512 records or more, and records are drawn evenly from at most 4,294,967,295; "
    with pytest.raises(EngineError, match=message):
        tabulate(open_stream(folder), PLAN)


def test_more_records_than_can_be_drawn_from_are_refused_while_they_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_source(tmp_path, "csv folder", records(500), [100, 200, 300])
    monkeypatch.setattr(microdata, "MOST_RECORDS", 250)
    with pytest.raises(EngineError, match="'people' holds 300 records or more"):
        tabulate(open_stream(path), PLAN)


def test_records_in_memory_have_the_same_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = read_table(write_source(tmp_path, "csv", records(500), []))
    monkeypatch.setattr(microdata, "MOST_RECORDS", 499)
    with pytest.raises(EngineError, match=r"'people\.csv' holds 500 records or more"):
        code(table, PLAN)
