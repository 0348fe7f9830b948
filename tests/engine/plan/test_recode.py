"""Raw columns and a plan become levels: fates, cuts, merges, skips, missing values and edit rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.data.domain import EditRule
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code, edit_failures


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
    assert edit_failures(cells, domain, rules, cells).tolist() == [False, True, True, False]
    assert edit_failures(cells, domain, (), cells).tolist() == [False] * 4
    existing = (EditRule("known", existing=("B", "A")),)
    assert edit_failures(cells, domain, existing, cells[[0, 1, 2]]).tolist() == [False] * 3 + [True]
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
