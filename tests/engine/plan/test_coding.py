"""Raw columns are coded by a plan: in memory, and of a streamed source by its distinct rows."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from engine.common.errors import EngineError, UsageError
from engine.data import microdata
from engine.data.domain import EditRule
from engine.data.io import stream as parts
from engine.data.io.counting import CellLookup
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.plan import AttributePlan, DataPlan, Plan, plan_from_toml
from engine.plan import coding as tabulation
from engine.plan.coding import code, edit_failures, key_table, small_by_key, tabulate
from engine.plan.samples import load
from tests.streamed_sources import FORMS, records, small_pieces, write_source


def table_of(**columns: list[Any] | pa.Array) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        raw[name] = RawColumn(name, coded.dictionary, coded.indices.fill_null(-1).to_numpy())
    return RawTable(raw, len(next(iter(columns.values()))), "test")


def coded(table: RawTable, *attributes: AttributePlan, edits: tuple[EditRule, ...] = (), **data: Any) -> Microdata:
    return code(table, Plan(DataPlan(attributes, **data), edits=edits))


def levels(micro: Microdata, j: int = 0) -> list[str]:
    """Each record's level."""
    return [micro.domain.attributes[j].levels[c] for c in micro.codes[j]]


def one(values: list[Any] | pa.Array, **how: Any) -> Microdata:
    return coded(table_of(A=values), AttributePlan("A", **how))


def test_levels_in_sorted_or_numeric_order() -> None:
    assert one(["b", "a", "10", "9"]).domain.attributes[0].levels == ("10", "9", "a", "b")
    assert one(["10", "9", "-1", "9.0"]).domain.attributes[0].levels == ("-1", "9", "9.0", "10")
    assert one([3, 10, 2]).domain.attributes[0].levels == ("2", "3", "10")
    assert one([True, False, True]).domain.attributes[0].levels == ("false", "true")
    assert levels(one(["b", "a", "b"])) == ["b", "a", "b"]


def test_declared_levels_fix_the_order_and_may_be_unused() -> None:
    micro = one(["b", "a", "b"], levels=("b", "c", "a"))
    assert micro.domain.attributes[0].levels == ("b", "c", "a")
    assert levels(micro) == ["b", "a", "b"]
    with pytest.raises(
        EngineError, match=r"column 'A' has 1 level that the plan does not declare, first 'yess'. Did you mean 'yes'\?"
    ):
        one(["yess", "no"], levels=("no", "yes"))


@pytest.mark.parametrize("values", [["24.9", "25", "54.99", " 55", "+6e1"], [24.9, 25.0, 54.99, 55.0, 60.0]])
def test_cut(values: list[Any]) -> None:
    micro = one(values, cut=(25, 55))
    assert levels(micro) == ["<25", "25-<55", "25-<55", ">=55", ">=55"]
    assert not micro.domain.attributes[0].exact
    assert levels(one(values, cut=(25,), labels=("young", "old"))) == ["young", "old", "old", "old", "old"]


def test_cut_refuses_what_is_no_number() -> None:
    with pytest.raises(
        EngineError, match=r"column 'A' is cut by numbers, but 2 values \(3 records\) cannot be read as one"
    ):
        one(["1", "many", "few", "many"], cut=(1,))
    assert levels(
        one(["1", "many", "few", "?"], cut=(1,), skip=("many",), missing=("few", "?"), on_missing="level")
    ) == [
        ">=1",
        "many",
        "missing",
        "missing",
    ]


def test_many_values_are_cut_like_few(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [str(i / 7) for i in range(500)] + ["+3", " 4 ", ".5", "5.", "x1", ""]
    few = one(values, cut=(20, 40), missing=("x1",), on_missing="level")
    monkeypatch.setattr("engine.common.raw_values._FEW", 0)
    many = one(values, cut=(20, 40), missing=("x1",), on_missing="level")
    assert levels(few) == levels(many)
    assert levels(many)[-2:] == ["missing", "missing"]


def test_merge() -> None:
    micro = one(["f", "s", "p", "f"], merge=(("Govt", ("f", "s", "never")),))
    assert levels(micro) == ["Govt", "Govt", "p", "Govt"]
    assert not micro.domain.attributes[0].exact
    assert one(["f", "p"], merge=(("Govt", ("f", "s")),)).domain.attributes[0].exact, "only one raw value occurs"


def test_skip_and_missing_levels_come_last() -> None:
    micro = one(["-1", "0", None, "-9", "zz"], skip=("-1",), missing=("-9",), on_missing="level")
    attribute = micro.domain.attributes[0]
    assert attribute.levels == ("0", "zz", "-1", "missing")
    assert attribute.kinds == ("value", "value", "skip", "missing")
    assert levels(micro) == ["-1", "0", "missing", "missing", "zz"]
    assert not attribute.exact, "null and -9 are two raw values of one level"
    assert one(["0", None, "1"], on_missing="level").domain.attributes[0].exact


def test_merged_skips_stay_skips() -> None:
    micro = one(["-1", "-2", "a"], skip=("-1", "-2"), merge=(("skipped", ("-1", "-2")),))
    assert micro.domain.attributes[0].kinds == ("value", "skip")
    with pytest.raises(UsageError, match="merge mixes answers with skipped or missing values in level 'x'"):
        one(["-1", "a"], skip=("-1",), merge=(("x", ("-1", "a")),))


@pytest.mark.parametrize("values", [["1", "", "NA", "2"], [1, None, None, 2], [1.0, float("nan"), None, 2.0]])
def test_missing_is_refused_in_the_words_of_the_specification(values: list[Any]) -> None:
    sentence = r"column 'A' has 2 missing values; fill, drop or recode them as a level before using it in random swap"
    with pytest.raises(EngineError, match=sentence + r" \(for a level of their own: on_missing = \"level\""):
        one(values)
    with pytest.raises(EngineError, match=sentence):
        one(values, cut=(2,))
    assert levels(one(values, on_missing="level")) == ["1", "missing", "missing", "2"]


def test_a_level_called_missing_is_in_the_way() -> None:
    with pytest.raises(UsageError, match="attribute 'A' already has a level 'missing'"):
        one(["missing", "a", ""], on_missing="level")
    assert levels(one(["missing", "a", ""], on_missing="level", missing=("missing",))) == ["missing", "a", "missing"]


def test_the_plan_says_what_means_missing() -> None:
    table = table_of(A=["", "NA", "x"])
    assert levels(coded(table, AttributePlan("A"), missing=())) == ["", "NA", "x"]
    with pytest.raises(EngineError, match="has 1 missing value;"):
        coded(table, AttributePlan("A"), missing=("x",))
    with pytest.raises(EngineError, match="has 1 missing value;"):
        one([1, -9], missing=("-9",))


def test_several_view_columns_are_combined() -> None:
    table = table_of(r=["2", "10", "2", "10"], h=["y", "n", "n", "y"], w=["1", "2", "3", "4"])
    micro = coded(table, AttributePlan("RH", columns=("r", "h", "w"), view=("r", "h")))
    assert micro.domain.attributes[0].levels == ("2 | n", "2 | y", "10 | n", "10 | y")
    assert levels(micro) == ["2 | y", "10 | n", "2 | n", "10 | y"]
    assert micro.domain.attributes[0].exact
    assert not coded(table, AttributePlan("RH", columns=("r", "h", "w"), view=("r",))).domain.attributes[0].exact
    merged = coded(table, AttributePlan("RH", ("r", "h", "w"), ("r", "h"), merge=(("no", ("2 | n", "10 | n")),)))
    assert levels(merged) == ["2 | y", "no", "no", "10 | y"]
    assert not merged.domain.attributes[0].exact


def test_missing_parts_of_a_combination() -> None:
    table = table_of(r=["a", None, None, "-1"], h=["y", "n", "", "y"])
    how: dict[str, Any] = {"columns": ("r", "h"), "view": ("r", "h"), "skip": ("-1",)}
    with pytest.raises(EngineError, match="attribute 'RH' has 2 missing values"):
        coded(table, AttributePlan("RH", **how))
    attribute = coded(table, AttributePlan("RH", on_missing="level", **how)).domain.attributes[0]
    assert dict(zip(attribute.levels, attribute.kinds, strict=True)) == {
        "a | y": "value",
        "-1 | y": "skip",
        "missing | n": "missing",
        "missing": "missing",
    }


def test_combinations_that_read_alike_are_refused() -> None:
    table = table_of(r=["a | b", "a"], h=["c", "b | c"])
    with pytest.raises(EngineError, match=r"two combinations of values both read 'a \| b \| c'"):
        coded(table, AttributePlan("RH", columns=("r", "h"), view=("r", "h")))


def test_every_column_has_one_fate() -> None:
    table = table_of(**{name: ["x", "y"] for name in ("A", "note_1", "note_2", "tmp", "wt", "id", "x[1]", "x1")})
    a = AttributePlan("A")
    micro = coded(table, a, carry=("note_*", "x[1]"), drop=("t*", "x1"), weight="wt", id="id")
    assert (micro.carried, micro.dropped, micro.weight, micro.id) == (
        ("note_1", "note_2", "x[1]"),
        ("tmp", "x1"),
        "wt",
        "id",
    )
    everything = coded(table, a, carry=("*",), drop=("tmp",))
    assert everything.dropped == ("tmp",), "a column's own name wins over a pattern"
    assert "A" not in everything.carried
    with pytest.raises(
        UsageError, match=r"7 columns of the data without a use in the plan: 'note_1', .* and 2 more; make each"
    ):
        coded(table, a)
    with pytest.raises(UsageError, match="column 'note_1' matches a pattern under carry and one under drop"):
        coded(table, a, carry=("*",), drop=("note_*",))
    with pytest.raises(
        UsageError, match=r"names column 'nota_1' \(carry\), which is not in the data. Did you mean 'note_1'"
    ):
        coded(table, a, carry=("*", "nota_1"))
    with pytest.raises(UsageError, match=r"column 'x\[1\]' is claimed by attribute 'x\[1\]' and by drop"):
        coded(table, AttributePlan("x[1]"), drop=("x[1]",), carry=("*",))


def test_edit_rules() -> None:
    table = table_of(A=["a", "a", "b", "b"], B=["x", "y", "x", "y"])
    parts = (AttributePlan("A"), AttributePlan("B"))
    rules = (EditRule("one", (("A", ("a",)), ("B", ("y",)))), EditRule("two", (("B", ("x",)), ("A", ("b",)))))
    micro = coded(table, *parts, edits=rules)
    cells, domain = micro.table.cells, micro.domain
    assert edit_failures(cells, domain, rules, cells).nonzero()[0].tolist() == [1, 2]
    assert edit_failures(cells, domain, rules, cells).any(axis=0).all()
    assert edit_failures(cells, domain, (), cells).shape == (4, 0)
    existing = (EditRule("known", existing=("B", "A")),)
    assert edit_failures(cells, domain, existing, cells[[0, 1, 2]])[:, 0].tolist() == [False] * 3 + [True]
    with pytest.raises(
        UsageError, match=r"edit rule 'one' names the unknown level 'z' of attribute 'A'\. Known: a, b\."
    ):
        coded(table, *parts, edits=(EditRule("one", (("A", ("z",)),)),))
    with pytest.raises(UsageError, match="edit rule 'one' names the unknown attribute 'Z'"):
        edit_failures(cells, domain, (EditRule("one", (("Z", ("z",)),)),), cells)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from("12")), min_size=2, max_size=30)
)
def test_exact_means_that_a_level_tells_the_raw_values(rows: list[tuple[str, str, str]]) -> None:
    a, b, c = (list(values) for values in zip(*rows, strict=True))
    table = table_of(a=a, b=b, c=c)
    micro = coded(table, AttributePlan("A", ("a", "b"), ("a",)), AttributePlan("C", ("c",), merge=(("n", ("1", "2")),)))
    for j, block in enumerate([(a, b), (c,)]):
        raw_of: dict[int, set[tuple[str, ...]]] = {}
        for level, raw in zip(micro.codes[j].tolist(), zip(*block, strict=True), strict=True):
            raw_of.setdefault(level, set()).add(raw)
        assert micro.domain.attributes[j].exact == all(len(raw) == 1 for raw in raw_of.values())
    assert all(np.issubdtype(codes.dtype, np.int32) for codes in micro.codes)


def table_of_of_key_table(**columns: list[object]) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        raw[name] = RawColumn(name, coded.dictionary, coded.indices.fill_null(-1).to_numpy())
    return RawTable(raw, len(next(iter(columns.values()))), "test")


PEOPLE = table_of_of_key_table(age=[1, 2, 3, 4, 4, 4], sex=["m", "f", "m", "f", "f", "f"])
FINE = Plan(DataPlan((AttributePlan("age"), AttributePlan("sex"))))


def test_cells_before_and_after_a_cut() -> None:
    fine = key_table(PEOPLE, FINE)
    assert (fine.possible, fine.cells, fine.small_cells, fine.small_records, fine.uniques) == (8, 4, 3, 3, 3)
    cut = replace(FINE, data=DataPlan((AttributePlan("age", cut=(4,)), AttributePlan("sex"))))
    coarse = key_table(PEOPLE, cut)
    assert (coarse.possible, coarse.cells, coarse.small_cells, coarse.uniques) == (4, 3, 2, 1)
    assert coarse.levels["age"] == (("<4", 3), (">=4", 3))
    assert key_table(PEOPLE, cut, ["sex"], n_rule=5).small_cells == 2


def test_values_that_the_plan_would_refuse_are_counted_but_are_no_levels() -> None:
    plan = replace(FINE, data=DataPlan((AttributePlan("age", levels=("1", "2", "3")), AttributePlan("sex"))))
    picture = key_table(PEOPLE, plan)
    assert picture.cells == 4
    assert sum(n for _, n in picture.levels["age"]) == 3


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=2, max_size=30), st.integers(1, 5))
def test_it_counts_as_a_counter_does(rows: list[tuple[int, str]], n_rule: int) -> None:
    table = table_of_of_key_table(age=[a for a, _ in rows], sex=[s for _, s in rows])
    counts = Counter(rows).values()
    picture = key_table(table, FINE, n_rule=n_rule)
    assert picture.cells == len(counts)
    assert picture.small_cells == sum(n < n_rule for n in counts)
    assert picture.small_records == sum(n for n in counts if n < n_rule)
    assert picture.uniques == sum(n == 1 for n in counts)


def test_what_cannot_be_tabulated_is_said() -> None:
    with pytest.raises(UsageError, match="unknown attribute 'agee'"):
        key_table(PEOPLE, FINE, ["agee"])
    with pytest.raises(UsageError, match="at least one attribute"):
        key_table(PEOPLE, FINE, [])


def test_many_sparse_attributes_do_not_allocate_their_product() -> None:
    columns = {f"c{i}": np.random.default_rng(i).integers(0, 200, 500).tolist() for i in range(12)}
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in columns)))
    picture = key_table(table_of_of_key_table(**columns), plan)
    assert picture.uniques == 500
    assert picture.possible > 10**26


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


def test_small_cells_by_key_are_those_of_the_tables_of_some_keys() -> None:
    raw, plan = load("census")
    known, without = small_by_key(raw, plan)
    assert known == tuple(key_table(raw, plan, plan.keys[: k + 1]).small_records for k in range(len(plan.keys)))
    others = [[name for name in plan.keys if name != out] for out in plan.keys]
    assert without == tuple(key_table(raw, plan, some).small_records for some in others)
