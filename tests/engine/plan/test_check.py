"""A plan is held against a new file, and what does not fit is fixed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.microdata import ColumnLabels, RawTable
from engine.plan import (
    AttributePlan,
    DataPlan,
    Plan,
    PublishPlan,
    SpacePlan,
    TablePlan,
    check_plan,
    plan_from_toml,
    plan_to_toml,
    samples,
)
from engine.plan.check import fixes, mismatches, settle
from engine.plan.coding import check_seen, code, with_seen
from engine.plan.differences import plan_differences
from engine.plan.entries import AnalysisPlan
from engine.plan.mismatches import AbsentColumn, Clash, NewLevel, NewMissingCode, NotNumbers, NoValues
from tests.engine.plan.tables import table_of, with_labels


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


@pytest.mark.parametrize(("name", "word"), [("income.total", "total"), ("wage€", "wage"), ("hours worked", "hours")])
def test_a_name_that_is_no_word_in_a_formula_is_told_how_to_be_written(name: str, word: str) -> None:
    table = table_of(**{"A": ["1", "2"], name: ["1", "2"]})
    data = DataPlan((AttributePlan("A"),), carry=(name,))
    (found,) = mismatches(Plan(data, analyses=(AnalysisPlan("pay", f"{word} ~ A"),)), table)
    assert f'Q("{name}")' in found.sentence
    assert not mismatches(Plan(data, analyses=(AnalysisPlan("pay", f'Q("{name}") ~ A'),)), table)


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


LAST = Plan(
    DataPlan(
        (
            AttributePlan("sex", levels=("f", "m")),
            AttributePlan(
                "job", columns=("job", "job2"), levels=("Clerk", "Smith"), merge=(("Clerk", ("1",)), ("Smith", ("2",)))
            ),
            AttributePlan("age", cut=(30, 60)),
        ),
        weight="wt",
        carry=("note", "pay"),
        numeric=("pay",),
    ),
    edits=(EditRule("no young smiths", (("job", ("Smith",)), ("age", ("<30",)))),),
    analyses=(AnalysisPlan("wages", "pay ~ sex"), AnalysisPlan("ages", "age_raw ~ sex", weighted=True)),
    tables=(TablePlan("jobs", ("sex", "job")),),
    space=SpacePlan(specs=("sex:S", "job:S age:F")),
    publish=PublishPlan(include=("weight",)),
)


def this_year(**changes: list[str] | None) -> RawTable:
    """A file that fits the plan, with some columns changed, added or (None) left out."""
    columns = {
        "sex": ["f", "m", "f", "m"],
        "job": ["1", "2", "2", "1"],
        "job2": ["a", "b", "b", "a"],
        "age": ["20", "40", "70", "41"],
        "wt": ["1.5", "2", "1", "3"],
        "note": ["x", "x", "y", "y"],
        "pay": ["10", "20", "30", "40"],
    }
    return table_of(**{name: values for name, values in {**columns, **changes}.items() if values is not None})


def settled(table: RawTable, key: str, fix: str, plan: Plan = LAST) -> Plan:
    """The plan with one fix of one mismatch."""
    (mismatch,) = [found for found in mismatches(plan, table) if found.key == key]
    return settle(plan, table, [mismatch], fix)


def test_last_years_plan_fits_last_years_file() -> None:
    assert mismatches(LAST, this_year()) == ()


def test_every_fix_of_every_mismatch_settles_it() -> None:
    """Whatever is offered leaves a plan that fits there, and the file is coded by what comes of all of them."""
    table = this_year(
        job=["1", "3", "2", "-9"],
        sex=["f", "f", "", "f"],
        age=["20", "40", "?", "41"],
        note=None,
        new=["a"] * 4,
        wt=None,
    )
    table = with_labels(table, "job", ColumnLabels(values=(("3", "Baker"),)))
    found = mismatches(LAST, table)
    assert {mismatch.kind for mismatch in found} == {"absent", "new", "code", "level", "missing", "number", "unused"}
    for mismatch in found:
        for fix in fixes(mismatch, LAST, table):
            if fix.verb != "keep":
                left = {other.key for other in mismatches(settle(LAST, table, [mismatch], fix.name), table)}
                assert mismatch.key not in left, fix.name
    plan = LAST
    for mismatch in found:
        ways = fixes(mismatch, plan, table)
        plan = settle(plan, table, [mismatch], ways[0].name)
    assert {mismatch.kind for mismatch in mismatches(plan, table)} <= {"unused"}
    code(table, plan)


def test_an_attribute_that_goes_takes_along_what_names_it_and_says_so() -> None:
    table = this_year(sex=None)
    (mismatch,) = mismatches(LAST, table)
    fix = next(fix for fix in fixes(mismatch, LAST, table) if fix.verb == "drop")
    assert fix.done == (
        "sex is out of the plan with attribute 'sex', analysis 'wages', analysis 'ages', table 'jobs' and spec 'sex:S'"
    )
    plan = fix.apply(LAST)
    assert plan.names == ("job", "age") and plan.keys == ("job", "age")
    assert plan.tables == () and plan.analyses == () and plan.space.specs == ("job:S age:F",)
    assert plan.edits == LAST.edits and "sex" not in plan.data.carry


def test_the_last_attribute_of_a_role_does_not_go_silently() -> None:
    plan = replace(LAST, keys=("sex",))
    with pytest.raises(UsageError, match="'sex' is the only attribute that is known to an intruder"):
        settled(this_year(sex=None), "absent:sex", "drop", plan)


def test_a_block_is_seen_by_another_of_its_columns_when_the_first_goes() -> None:
    plan = settled(this_year(job=None), "absent:job", "drop", replace(LAST, edits=()))
    assert plan.attributes[1] == AttributePlan("job", columns=("job2",), levels=("a", "b"))
    assert mismatches(plan, this_year(job=None)) == ()


def test_a_weight_and_a_number_that_go_take_their_uses_along() -> None:
    plan = settled(this_year(wt=None), "absent:wt", "drop")
    assert plan.data.weight is None and plan.publish.include == () and [a.name for a in plan.analyses] == ["wages"]
    plan = settled(this_year(pay=None), "absent:pay", "drop")
    assert plan.data.numeric == () and plan.data.carry == ("note",) and [a.name for a in plan.analyses] == ["ages"]


@pytest.mark.parametrize("old", ["sex", "job", "wt", "note", "pay"])
def test_a_column_that_was_renamed_keeps_its_place(old: str) -> None:
    before = this_year()
    values = [str(value) for value in before.columns[old].values.take(before.columns[old].codes).to_pylist()]
    table = this_year(**{old: None, f"{old}_2": values})
    (likeliest, *_) = fixes(mismatches(LAST, table)[0], LAST, table)
    assert likeliest.name == f"rename:{old}_2" and likeliest.likely
    plan = settled(table, f"absent:{old}", likeliest.name)
    assert mismatches(plan, table) == () and plan.names == LAST.names
    if old == "pay":
        assert plan.analyses[0].formula == "pay_2 ~ sex" and plan.data.numeric == ("pay_2",)
    code(table, plan)


def test_a_new_column_waits_for_a_decision() -> None:
    table = this_year(extra=["a", "b", "a", "b"])
    (mismatch,) = mismatches(LAST, table)
    assert not any(fix.likely for fix in fixes(mismatch, LAST, table))
    assert settled(table, "new:extra", "carry").data.carry[-1] == "extra"
    assert settled(table, "new:extra", "drop").data.drop == ("extra",)
    added = settled(table, "new:extra", "attribute")
    assert added.attributes[-1] == AttributePlan("extra", levels=("a", "b")) and "extra" in added.keys


def test_a_new_level_stands_where_its_code_belongs_under_its_label() -> None:
    table = with_labels(
        this_year(job=["1", "3", "2", "0"]), "job", ColumnLabels(values=(("3", "Baker"), ("0", "Smith")))
    )
    plan = settled(table, "level:job:3", "level")
    assert plan.attributes[1].levels == ("Clerk", "Smith", "Baker")
    # a label that another level has already: the code counts as that level
    (mismatch,) = [found for found in mismatches(plan, table) if found.kind == "level"]
    assert fixes(mismatch, plan, table)[0].name == "merge:Smith"
    plan = settle(plan, table, [mismatch], "merge:Smith")
    assert dict(plan.attributes[1].merge)["Smith"] == ("2", "0") and mismatches(plan, table) == ()
    first = settled(this_year(job=["1", "0", "2", "1"]), "level:job:0", "level")
    assert first.attributes[1].levels == ("0", "Clerk", "Smith")


def test_a_new_missing_code_becomes_the_level_missing() -> None:
    table = this_year(job=["1", "2", "2", "-9"])
    plan = settled(table, "code:job:-9", "missing")
    assert plan.attributes[1].missing == ("-9",)
    assert code(table, plan).domain.attributes[1].levels == ("Clerk", "Smith", "missing")


def test_unused_levels_leave_the_rules_too() -> None:
    table = this_year(job=["1", "1", "1", "1"])
    plan = settled(table, "unused:job", "drop")
    assert plan.attributes[1].levels == ("Clerk",) and plan.edits == () and mismatches(plan, table) == ()
    assert settled(table, "unused:job", "keep") == LAST


def test_a_rule_follows_a_renamed_level() -> None:
    plan = replace(LAST, edits=(EditRule("rule", (("job", ("Smyth", "Clerk")), ("age", ("<30",))), refuse=True),))
    table = this_year()
    assert settled(table, "rule:rule:job:Smyth", "rename:Smith", plan).edits[0].forbid[0] == ("job", ("Smith", "Clerk"))
    assert all(settled(table, "rule:rule:job:Smyth", fix, plan).edits[0].refuse for fix in ("rename:Smith", "drop"))
    assert settled(table, "rule:rule:job:Smyth", "drop", plan).edits[0].forbid[0] == ("job", ("Clerk",))


def test_contradicting_uses_are_settled_for_the_safe_side() -> None:
    plan = replace(LAST, data=replace(LAST.data, carry=("n*", "pay"), drop=("*te",)))
    settled_plan = settled(this_year(), "clash", "drop", plan)
    assert mismatches(settled_plan, this_year()) == () and "note" in settled_plan.data.drop


def test_levels_that_cannot_be_read_are_made_anew() -> None:
    part = AttributePlan("sex", merge=(("both", ("f", "m")),), skip=("m",))
    plan = replace(LAST, data=replace(LAST.data, attributes=(part, *LAST.attributes[1:])))
    assert mismatches(settled(this_year(), "clash:sex", "redo", plan), this_year()) == ()


def test_all_of_a_kind_are_settled_at_once_also_where_one_takes_another_along() -> None:
    table = this_year(sex=None, note=None, job=["1", "3", "2", "1"], a=["1"] * 4, b=["2"] * 4)
    found = mismatches(LAST, table)
    plan = settle(LAST, table, [mismatch for mismatch in found if mismatch.kind == "absent"], "drop")
    plan = settle(plan, table, [mismatch for mismatch in found if mismatch.kind == "new"], "drop")
    plan = settle(plan, table, [mismatch for mismatch in found if mismatch.kind == "level"], "level")
    assert mismatches(plan, table) == () and plan.data.drop == ("a", "b")


def test_a_fix_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"'carry' does not settle level:job:3\. Known: level, missing, skip"):
        settled(this_year(job=["1", "3", "2", "1"]), "level:job:3", "carry")
