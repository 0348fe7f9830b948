"""What differs between a plan and a file, as values and in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.microdata import ColumnLabels, RawTable
from engine.plan import AttributePlan, DataPlan, Plan, check_plan, plan_from_toml, plan_to_toml, samples
from engine.plan.check import mismatches, settle
from engine.plan.coding import check_seen, code, with_seen
from engine.plan.differences import plan_differences
from engine.plan.entries import AnalysisPlan
from engine.plan.mismatches import AbsentColumn, Clash, NewLevel, NewMissingCode, NotNumbers, NoValues
from tests.engine.plan.test_guess import table_of


def with_labels(table: RawTable, column: str, labels: ColumnLabels) -> RawTable:
    """A table one of whose columns has labels."""
    return replace(table, columns={**table.columns, column: replace(table.columns[column], about=labels)})


def test_what_a_new_file_changes() -> None:
    plan = Plan(
        DataPlan(
            (
                AttributePlan("Sex", levels=("f", "m")),
                AttributePlan("Age", cut=(30,)),
                AttributePlan("Job"),
                AttributePlan("Old", levels=("o",)),
                AttributePlan("Gone", columns=("gone",)),
            ),
            drop=("scratch",),
        ),
        edits=(EditRule("rule", (("Job", ("clerk",)),)),),
    )
    new = table_of(
        Sex=["f", "x", "f"],
        Age=["12", "young", "40"],
        Job=["smith", "", "smith"],
        Old=["o", "o", "o"],
        Extra=["1", "2", "3"],
    )
    assert check_plan(plan, new) == [
        "column 'gone' (attribute 'Gone') is not in the data",
        "column 'scratch' (drop) is not in the data",
        "column 'Extra' of the data has no use in the plan",
        "attribute 'Sex' has a level 'x', in 1 record, that the plan does not declare",
        "attribute 'Job' has 1 missing value, which the plan refuses",
        "column 'Age' is cut by numbers, and 1 value of it ('young'; 1 record) cannot be read as one",
        "edit rule 'rule' names the unknown level 'clerk' of attribute 'Job'",
        "attribute 'Sex' has 1 level ('m') in the plan but not in the data",
    ]
    assert [mismatch.key for mismatch in mismatches(plan, new)] == [
        "absent:gone",
        "absent:scratch",
        "new:Extra",
        "level:Sex:x",
        "missing:Job",
        "number:Age",
        "rule:rule:Job:clerk",
        "unused:Sex",
    ]


def test_a_clash_of_patterns_is_one_of_them() -> None:
    plan = Plan(DataPlan((AttributePlan("A"),), carry=("x*",), drop=("*1",)))
    words = "column 'x1' matches a pattern under carry and one under drop; name it in one of them"
    assert mismatches(plan, table_of(A=["a", "b"], x1=["1", "2"])) == (Clash(words),)


def test_missing_that_is_a_level_and_vanished_cut_levels() -> None:
    plan = Plan(DataPlan((AttributePlan("A", cut=(10, 20), on_missing="level"),)))
    assert check_plan(plan, table_of(A=["1", "", "30"])) == [
        "attribute 'A' has 1 level ('10-<20') in the plan but not in the data"
    ]


@pytest.mark.parametrize(
    ("value", "labels", "expected"),
    [
        ("3", ColumnLabels(), NewLevel),
        ("-7", ColumnLabels(), NewMissingCode),
        ("7", ColumnLabels(values=(("7", "Don't know"),)), NewMissingCode),
        ("7", ColumnLabels(missing=("7",)), NewMissingCode),
        ("7", ColumnLabels(values=(("7", "Widowed"),)), NewLevel),
        ("99", ColumnLabels(), NewMissingCode),
    ],
    ids=[
        "an answer",
        "a negative code",
        "its label",
        "the file",
        "a label that answers",
        "a code of another attribute",
    ],
)
def test_a_new_code_is_told_from_a_new_answer(value: str, labels: ColumnLabels, expected: Any) -> None:
    table = with_labels(table_of(A=["1", "2", value, value], B=["a", "a", "b", "b"]), "A", labels)
    other = AttributePlan("B", levels=("a", "b"), missing=("99",), on_missing="level")
    (found,) = mismatches(Plan(DataPlan((AttributePlan("A", levels=("1", "2")), other))), table)
    assert found == expected("A", value, 2, labels.label_of.get(value, ""))


def test_records_of_a_combination_are_counted() -> None:
    plan = Plan(DataPlan((AttributePlan("A", columns=("a", "b"), view=("a", "b"), levels=("1 | x",)),)))
    found = mismatches(plan, table_of(a=["1", "1", "2", "2"], b=["x", "y", "y", "y"]))
    assert found == (NewLevel("A", "1 | y", 1), NewLevel("A", "2 | y", 2))


def test_a_column_that_only_an_analysis_names_is_missed_too() -> None:
    plan = Plan(
        DataPlan((AttributePlan("A"),), carry=("x*",), numeric=("x1",), seen=("x3",)),
        analyses=(AnalysisPlan("pay", "x2 ~ A + A_raw + x1"),),
    )
    table = table_of(A=["1", "2"], x3=["1", "2"])
    assert mismatches(plan, table) == (AbsentColumn("x1", "numeric"), AbsentColumn("x2", "analysis 'pay'"))


def test_an_attribute_without_any_value_is_said() -> None:
    table = table_of(A=["1", "2"], B=["", ""])
    plan = Plan(DataPlan((AttributePlan("A"), AttributePlan("B"))))
    assert NoValues("B") in mismatches(plan, table)


def test_what_cannot_be_cut_is_listed_by_value() -> None:
    plan = Plan(DataPlan((AttributePlan("A", cut=(5,), skip=("skipped",)),)))
    table = table_of(A=["1", "9", "none", "none", "refused", "skipped"])
    assert mismatches(plan, table) == (NotNumbers("A", "A", ("none", "refused"), 3),)


@pytest.mark.parametrize("name", ["czech", "nces"])
def test_a_sample_fits_its_plan(name: str) -> None:
    raw, plan = samples.load(name)
    assert mismatches(plan, raw) == ()


def test_levels_of_other_attributes_are_checked_where_one_cannot_be_read(tmp_path: Any) -> None:
    """A contradiction in one attribute hides nothing about the others."""
    broken = AttributePlan("A", merge=(("both", ("1", "skip")),), skip=("skip",))
    plan = Plan(DataPlan((broken, AttributePlan("B", levels=("x",)))))
    found = mismatches(plan, table_of(A=["1", "skip", "2"], B=["x", "y", "x"]))
    assert [mismatch.kind for mismatch in found] == ["level", "clash"]


WAVES = Plan(DataPlan((AttributePlan("A"),), carry=("rep*",), drop=("tmp_*",)))


def waves(*columns: str) -> RawTable:
    return table_of(A=["a", "b"], **{name: ["1", "2"] for name in columns})


def test_new_columns_that_only_a_pattern_covers_need_a_decision() -> None:
    plan = replace(WAVES, data=with_seen(WAVES.data, waves("rep1", "tmp_x").names))
    assert plan.data.seen == ("rep1", "tmp_x") and mismatches(plan, waves("rep1", "tmp_x")) == ()
    plan = plan_from_toml(plan_to_toml(plan))
    table = waves("rep1", "rep2", "report", "tmp_x", "tmp_y")
    found = mismatches(plan, table)
    assert [mismatch.sentence for mismatch in found] == [
        "the plan does not name column 'rep2', and only a pattern says that it is carried",
        "the plan does not name column 'report', and only a pattern says that it is carried",
        "the plan does not name column 'tmp_y', and only a pattern says that it is dropped",
    ]
    with pytest.raises(UsageError, match=r"only a pattern covers: .*rep2.*report.*tmp_y"):
        code(table, plan)
    settled = settle(settle(plan, table, found[1:], "drop"), table, found[:1], "carry")
    assert mismatches(settled, table) == ()
    data = code(table, settled)
    assert data.carried == ("rep1", "rep2") and data.dropped == ("report", "tmp_x", "tmp_y")


def test_a_plan_written_by_hand_decides_on_no_column_by_a_pattern_alone() -> None:
    table = waves("rep1", "rep2")
    found = mismatches(WAVES, table)
    assert [mismatch.key for mismatch in found] == ["new:rep1", "new:rep2"] and "seen" not in plan_to_toml(WAVES)
    with pytest.raises(UsageError, match="2 columns of the data that the plan does not name, and only a pattern cov"):
        check_seen(WAVES.data, table.names)
    settled = settle(WAVES, table, found, "carry")
    assert mismatches(settled, table) == ()
    check_seen(settled.data, table.names)


def test_the_plan_of_an_earlier_study_which_does_not_say_what_it_saw_is_read_as_before() -> None:
    assert code(waves("rep1", "rep2"), WAVES).carried == ("rep1", "rep2")
    seen = replace(WAVES, data=with_seen(WAVES.data, ("A", "rep1")))
    assert seen == WAVES and not plan_differences(WAVES, seen)
    assert with_seen(seen.data, ("A", "rep1", "rep2")).seen == ("rep1",), "another file does not change it"


class _Watched(AttributePlan):
    """An attribute that counts how often somebody asks for its codes for missing."""

    asked: ClassVar[int] = 0

    def __getattribute__(self, name: str) -> Any:
        _Watched.asked += name == "missing"
        return super().__getattribute__(name)


def test_each_attribute_is_looked_at_as_often_however_many_there_are() -> None:
    asked = []
    for n in (20, 80):
        table = table_of(**{f"c{i}": ["a", "b", "a"] for i in range(n)})
        plan = Plan(DataPlan(tuple(_Watched(f"c{i}", missing=("-9",)) for i in range(n))))
        _Watched.asked = 0
        assert check_plan(plan, table) == []
        asked.append(_Watched.asked / n)
    assert asked[0] == asked[1] > 0
