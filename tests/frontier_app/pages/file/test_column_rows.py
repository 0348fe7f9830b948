"""From rows of the table of columns to a plan and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import AttributePlan, DataPlan, Plan, edit_plan, first_plan, samples
from engine.plan.edit import set_roles
from frontier_app.pages.file import columns


def table(raw: RawTable, plan: Plan | None) -> pd.DataFrame:
    return columns.column_table(raw, plan, columns.looks_like(raw))


def edited(raw: RawTable, plan: Plan | None, **cells: str | bool) -> Plan:
    """The plan after ``column__field=value`` edits."""
    before = table(raw, plan)
    after = before.copy()
    for what, value in cells.items():
        name, _, field = what.partition("__")
        after.loc[after["column"] == name, field] = value
    made = columns.plan_of(after, before, raw, plan)
    assert made is not None
    return made


@pytest.fixture
def czech() -> tuple[RawTable, Plan]:
    return samples.load("czech")


@pytest.fixture
def survey(tmp_path: Path) -> RawTable:
    lines = ["caseid,sex,age,age_flag,pay,wt"]
    lines += [f"P{i:04d},{'fm'[i % 2]},{20 + i % 50},{i % 3 % 2},{1000 + 7 * i},{1 + i % 4}.5" for i in range(200)]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_table(path)


@pytest.mark.parametrize("name", ["czech", "nces", "fair"])
def test_rows_left_alone_are_the_plan(name: str):
    raw, plan = samples.load(name)
    before = table(raw, plan)
    assert columns.plan_of(before.copy(), before, raw, plan) is plan
    assert list(before["column"]) == list(raw.names)


def test_an_id_shows_none_of_its_values(survey: RawTable):
    shown = columns.looks_like(survey).set_index("column")["holds"]
    assert shown["caseid"] == "looks like an id"
    assert shown["age"] == "numbers 20 to 69"
    assert shown["sex"] == "f, m"


def test_marks_become_roles(czech: tuple[RawTable, Plan]):
    raw, plan = czech
    made = edited(raw, plan, A__keys=False, B__swap=False, C__analyse=False)
    assert made.keys == ("B", "C", "D", "E", "F") and "B" not in made.swap and "C" not in made.analyse
    assert made.data == plan.data


def test_a_cleared_mark_is_none(czech: tuple[RawTable, Plan]):
    """The key Delete leaves a cell of the grid without a value."""
    raw, plan = czech
    before = table(raw, plan)
    after = before.copy()
    after.iat[0, list(after.columns).index("keys")] = None  # as the grid does it
    made = columns.plan_of(after, before, raw, plan)
    assert made is not None and made.keys == ("B", "C", "D", "E", "F")


def test_a_role_without_attributes_is_refused(czech: tuple[RawTable, Plan]):
    raw, plan = czech
    with pytest.raises(UsageError, match="no attribute is marked keys"):
        edited(raw, plan, **{f"{name}__keys": False for name in plan.names})


def test_dropping_an_attribute_takes_it_out_of_the_space(czech: tuple[RawTable, Plan]):
    raw, plan = czech
    plan = edit_plan(plan, fix=["A"], change=["B"])
    made = edited(raw, plan, A__decision="drop", B__decision="carry")
    assert made.names == ("C", "D", "E", "F") and made.data.drop == ("A",) and made.data.carry == ("B",)
    assert made.space.fix == made.space.change == ()


def test_an_attribute_in_an_edit_rule_is_not_silently_forgotten(czech: tuple[RawTable, Plan]):
    raw, plan = czech
    plan = replace(plan, edits=(EditRule("never", (("A", ("no",)), ("B", ("no",)))),))
    with pytest.raises(UsageError, match="edit rule 'never'"):
        edited(raw, plan, A__decision="drop")
    renamed = edited(raw, plan, A__attribute="smokes")
    assert renamed.edits[0].forbid[0] == ("smokes", ("no",))


def test_renaming_keeps_order_levels_and_specs(czech: tuple[RawTable, Plan]):
    raw, plan = czech
    plan = edit_plan(plan, specs=["A:S B:F", "C:S"])
    made = edited(raw, plan, A__attribute="smokes")
    assert made.names[0] == "smokes" and made.attributes[0].columns == ("A",)
    assert made.attributes[0].levels == plan.attributes[0].levels
    assert made.space.specs == ("smokes:S B:F", "C:S")


def test_columns_of_one_name_are_one_block(survey: RawTable):
    plan = first_plan(survey)
    made = edited(survey, plan, age__decision="attribute", age__attribute="age", age_flag__attribute="age")
    block = next(a for a in made.attributes if a.name == "age")
    assert set(block.columns) == {"age", "age_flag"}
    again = edited(survey, made, age_flag__keys=False)
    assert "age" not in again.keys


def test_a_block_called_after_another_of_its_columns_has_the_levels_of_that(survey: RawTable):
    block = AttributePlan("sex", columns=("sex", "age_flag"), levels=("f", "m"))
    plan = Plan(DataPlan((block,), carry=("caseid", "age", "pay", "wt")))
    made = edited(survey, plan, sex__attribute="age_flag", age_flag__attribute="age_flag")
    assert made.names == ("age_flag",) and made.attributes[0].levels == ("0", "1")
    assert edited(survey, plan, sex__attribute="S", age_flag__attribute="S").attributes[0].levels == ("f", "m")


def test_a_new_attribute_is_called_after_its_column_and_takes_part(survey: RawTable):
    made = edited(survey, first_plan(survey), pay__decision="attribute")
    assert "pay" in made.names and "pay" in made.keys and "pay" in made.swap and "pay" in made.analyse


def test_one_weight_and_one_id(survey: RawTable):
    made = edited(survey, first_plan(survey), wt__decision="weight")
    assert made.data.weight == "wt" and made.data.id == "caseid"
    several = edited(survey, made, age__decision="unit", age_flag__decision="unit")
    assert several.data.unit == ("age", "age_flag") and several.data.weight == "wt"
    assert edited(survey, several, age_flag__decision="carry").data.unit == "age"
    with pytest.raises(UsageError, match="both marked weight"):
        edited(survey, first_plan(survey), wt__decision="weight", pay__decision="weight")


def test_a_plan_can_be_made_from_nothing(survey: RawTable):
    before = table(survey, None)
    assert set(before["decision"]) == {"carry"}
    made = edited(survey, None, sex__decision="attribute", age_flag__decision="attribute")
    assert made.names == ("sex", "age_flag") and "pay" in made.data.carry


@pytest.mark.slow
def test_an_edit_writes_all_columns_that_are_no_attributes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "wide.csv"
    lines = [",".join(f"c{i}" for i in range(100)), *(",".join("ab"[i % 2] * 100) for i in range(9))]
    path.write_text("\n".join(lines) + "\n")
    raw = read_table(path)
    plan = set_roles(raw, first_plan(raw), keys=["c1", "c2"], swap=["c1", "c2"], analyse=["c1", "c2"])
    before = table(raw, plan)
    rows = before.copy()
    rows.loc[rows["column"] == "c2", "swap"] = False
    written: list[object] = []
    write = type(rows.loc).__setitem__

    def counting(at: Any, key: Any, value: Any) -> None:
        written.append(key)
        write(at, key, value)

    monkeypatch.setattr(type(rows.loc), "__setitem__", counting)
    made = columns.plan_of(rows, before, raw, plan)
    assert made is not None and made.swap == ("c1",) and made.names == plan.names
    assert len(written) < 10


def test_a_text_that_begins_like_a_number_is_none(tmp_path: Path) -> None:
    lines = ["room,age,kind"] + [f"number {i % 9},{20 + i % 50},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    seen = columns.looks_like(read_table(tmp_path / "a.csv")).set_index("column")
    assert seen["holds"]["room"].startswith("number 0, number 1")
    assert seen["numeric"].to_dict() == {"room": False, "age": True, "kind": False}
