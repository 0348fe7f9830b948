"""Fixes of mismatches: each makes the plan fit, and says what goes with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.microdata import ColumnLabels, RawTable
from engine.plan import AttributePlan, DataPlan, Plan, PublishPlan, SpacePlan, TablePlan
from engine.plan.check import fixes, mismatches, settle
from engine.plan.coding import code
from engine.plan.entries import AnalysisPlan
from tests.engine.plan.test_check import with_labels
from tests.engine.plan.test_guess import table_of

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
