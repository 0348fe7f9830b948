"""Last year's plan on this year's file: what does not fit stands on the page of the file, with ways to settle it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.data.io.readers import read_table
from engine.plan import Plan, first_plan, plan_from_toml, plan_to_toml
from frontier_app.pages.file import columns
from tests.frontier_app.conftest import to_page
from tests.frontier_app.elements import has_button, press
from tests.frontier_app.file_page import open_file, plan_of

ROWS = [("fm"[i % 2], str(1 + i % 3), f"n{i % 4}", "xy"[i % 7 % 2]) for i in range(120)]


def write(path: Path, head: str, rows: Sequence[tuple[str, ...]]) -> Path:
    path.write_text(head + "\n" + "".join(",".join(row) + "\n" for row in rows))
    return path


@pytest.fixture
def last_plan(tmp_path: Path) -> Plan:
    """The plan of a file with the columns sex, job, note and region."""
    return first_plan(read_table(write(tmp_path / "last.csv", "sex,job,note,region", ROWS)))


def opened(tmp_path: Path, plan: Plan | str, rows: Sequence[tuple[str, ...]] | None = None) -> AppTest:
    """This year's file, by default without note, with a new column, level and missing code; the plan given to it."""
    if rows is None:
        rows = [
            (sex, "4" if i % 9 == 0 else "-9" if i % 11 == 0 else job, region, str(i % 5))
            for i, (sex, job, _, region) in enumerate(ROWS)
        ]
    path = write(tmp_path / "new.csv", "sex,job,region,pet", rows)
    return with_plan(open_file(path), plan if isinstance(plan, str) else plan_to_toml(plan))


def with_plan(made: AppTest, toml: str) -> AppTest:
    """The page after a plan file was given to it, which AppTest cannot upload."""
    now = made.session_state["frontier"]
    plan = plan_from_toml(toml)
    view = replace(now.file_view, part=None, turn=now.file_view.turn + 1)
    made.session_state["frontier"] = replace(now, plan=plan, base=plan, version=now.version + 1, file_view=view)
    now.workspace.save_plan(toml)
    return made.run()


def words(made: AppTest) -> str:
    return "\n".join(str(part.value) for kind in (made.markdown, made.caption, made.warning) for part in kind)


def next_button(made: AppTest) -> bool:
    """Whether the next page may be opened."""
    return not next(button for button in made.button if str(button.key).startswith("go-threat-")).disabled


@pytest.mark.slow
def test_all_that_differs_stands_on_the_page_and_is_settled_there(tmp_path: Path, last_plan: Plan) -> None:
    made = opened(tmp_path, last_plan)
    assert not made.exception and not made.error
    assert "The plan does not fit this file yet" in words(made) and not next_button(made)
    for sentence in (
        "Column 'note' (attribute 'note') is not in the data.",
        "Column 'pet' of the data has no use in the plan.",
        "Attribute 'job' has a level '4'",
        "Attribute 'job' has a code '-9'",
    ):
        assert sentence in words(made)
    for key in ("absent:note-drop", "new:pet-drop", "level:job:4-level", "code:job:-9-missing"):
        press(made, f"fit-{key}")
        assert not made.exception and not made.error
    plan = plan_of(made)
    assert plan.names == ("sex", "job", "region") and plan.data.drop == ("pet",) and plan.data.carry == ()
    assert plan.attributes[1].levels == ("1", "2", "3", "4") and plan.attributes[1].missing == ("-9",)
    assert next_button(made) and "does not fit this file" not in words(made)
    assert not any(str(button.key).startswith("fit-") for button in made.button)


@pytest.mark.slow
def test_each_step_can_be_taken_back(tmp_path: Path, last_plan: Plan) -> None:
    made = opened(tmp_path, last_plan)
    press(made, "fit-new:pet-carry")
    assert plan_of(made).data.carry == ("pet",)
    press(made, "undo")
    assert plan_of(made) == last_plan and has_button(made, "fit-new:pet-carry")


def test_a_code_is_mapped_and_a_column_renamed_from_a_list(tmp_path: Path, last_plan: Plan) -> None:
    made = opened(tmp_path, last_plan)
    made.selectbox(key="fit-target-level:job:4-merge").set_value("3").run()
    press(made, "fit-use-level:job:4-merge")
    assert ("3", ("3", "4")) in plan_of(made).attributes[1].merge
    press(made, "fit-use-absent:note-rename")
    (note,) = [part for part in plan_of(made).attributes if part.name == "note"]
    assert note.columns == ("pet",)


@pytest.mark.slow
def test_levels_that_nobody_has_stand_in_nobodys_way_and_may_be_kept(tmp_path: Path, last_plan: Plan) -> None:
    rows = [(sex, "1" if job == "3" else job, region, note) for sex, job, note, region in ROWS]
    made = opened(tmp_path, plan_to_toml(last_plan).replace('"note"', '"pet"'), rows)
    assert next_button(made) and not made.error
    switch = next(group for group in made.button_group if str(group.key).startswith("file-part"))
    switch.set_value("fit").run()
    assert "has 1 level ('3') in the plan but not in the data" in words(made)
    press(made, "fit-unused:job-keep")
    assert not made.exception and not has_button(made, "fit-unused:job-keep")
    assert plan_of(made).attributes[1].levels == ("1", "2", "3")


@pytest.mark.slow
def test_columns_without_a_use_are_not_carried_by_an_edit_of_the_table(tmp_path: Path, last_plan: Plan) -> None:
    """What the table of columns says of one column says nothing of the others."""
    opened(tmp_path, last_plan)
    raw = read_table(tmp_path / "new.csv")
    rows = columns.column_table(raw, last_plan, columns.looks_like(raw))
    assert rows.loc[rows["decision"].isna(), "column"].tolist() == ["pet"]
    edited = rows.copy()
    edited.loc[edited["column"] == "region", "decision"] = "drop"
    plan = columns.plan_of(edited, rows, raw, last_plan)
    assert plan is not None
    assert plan.data.drop == ("region",) and plan.data.carry == ()
    (note,) = [part for part in plan.attributes if part.name == "note"]
    assert note == last_plan.attributes[2] and "note" in plan.keys


def test_uses_that_contradict_each_other_are_no_dead_end(tmp_path: Path, last_plan: Plan) -> None:
    data = replace(last_plan.data, carry=("p*",), drop=("*t",))
    made = opened(tmp_path, replace(last_plan, data=data))
    assert not made.exception and "matches a pattern under carry and one under drop" in words(made)
    press(made, "fit-clash-drop")
    assert not made.exception and "pet" in plan_of(made).data.drop and has_button(made, "fit-absent:note-drop")


@pytest.mark.parametrize("page", ["threat", "candidates"])
def test_no_page_ends_in_a_dead_end(tmp_path: Path, last_plan: Plan, page: str) -> None:
    made = to_page(opened(tmp_path, last_plan), page)
    assert not made.exception
    if page != "candidates":
        assert any(str(button.key).startswith("go-data-") for button in made.button)


@pytest.mark.slow
def test_new_columns_that_only_a_pattern_covers_are_decided_all_at_once(tmp_path: Path, last_plan: Plan) -> None:
    data = replace(last_plan.data, attributes=last_plan.data.attributes[:1], carry=("*",), seen=("job", "note"))
    plan = Plan(data)
    made = opened(tmp_path, plan)
    assert any("name column 'pet', and only a pattern says that it is carried" in m.value for m in made.markdown)
    assert made.session_state["frontier"].plan.data.seen == ("job", "note")
    press(made, "fit-all-new-drop")
    assert not made.exception and {"region", "pet"} <= set(plan_of(made).data.drop)
    assert not any("only a pattern" in m.value for m in made.markdown)


@pytest.mark.slow
def test_a_plan_written_by_hand_asks_for_a_decision_on_what_its_patterns_cover(tmp_path: Path, last_plan: Plan) -> None:
    plan = Plan(replace(last_plan.data, attributes=last_plan.data.attributes[:1], carry=("*",)))
    made = opened(tmp_path, plan)
    assert not made.exception and plan_of(made).data.seen == ()
    for name in ("region", "pet", "job"):
        assert any(f"name column '{name}', and only a pattern says" in m.value for m in made.markdown), name
    press(made, "fit-all-new-carry")
    assert not made.exception and {"region", "pet", "job"} <= set(plan_of(made).data.carry)
    assert not any("only a pattern" in m.value for m in made.markdown)
