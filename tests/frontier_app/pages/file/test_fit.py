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
from tests.frontier_app.file_page import answer, asked, next_may_be_opened, open_file, plan_of

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


@pytest.mark.slow
def test_all_that_differs_stands_on_the_page_and_is_settled_there(
    tmp_path: Path, last_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(tmp_path, replace(last_plan, data=replace(last_plan.data, carry=("old",))))
    assert not made.exception and not made.error
    assert made.title[0].value == "The plan and this file differ in 5 places" and not next_may_be_opened(made)
    sentences = " ".join(row[-1] for row in asked(made).values())
    for sentence in ("Column 'pet' of the data has no use in the plan.", "Attribute 'job' has a level '4'"):
        assert sentence in sentences
    answers = {"note": "Take it out of the plan", "old": "", "pet": "Drop it", "job": ""}
    made = answer(made, monkeypatch, answers)
    assert not made.exception and not made.error
    plan = plan_of(made)
    assert plan.names == ("sex", "job", "region") and plan.data.drop == ("pet",) and plan.data.carry == ()
    assert plan.attributes[1].levels == ("1", "2", "3", "4") and plan.attributes[1].missing == ("-9",)
    assert next_may_be_opened(made) and "differ" not in made.title[0].value


def test_an_answer_that_a_column_cannot_have_is_said_with_those_that_it_can(
    tmp_path: Path, last_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = answer(opened(tmp_path, last_plan), monkeypatch, {"note": "", "pet": "It means missing"})
    assert "no answer for pet, which can be: Drop it" in made.error[0].value
    assert "note" not in plan_of(made).names and plan_of(made).data.drop == ()


def test_a_column_that_probably_has_a_new_name_is_asked_about_once(
    tmp_path: Path, last_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "new.csv", "sex,job,notes,region", ROWS)
    made = with_plan(open_file(tmp_path / "new.csv"), plan_to_toml(last_plan))
    assert {column: row[2] for column, row in asked(made).items()} == {"note": "It is now called notes"}
    made = answer(made, monkeypatch)
    (note,) = [part for part in plan_of(made).attributes if part.name == "note"]
    assert note.columns == ("notes",) and not {"note", "notes"} & set(asked(made))
    made = press(made, "undo")
    assert plan_of(made) == last_plan and asked(made)


@pytest.mark.slow
def test_levels_that_nobody_has_stand_in_nobodys_way_and_may_be_kept(
    tmp_path: Path, last_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(sex, "1" if job == "3" else job, region, note) for sex, job, note, region in ROWS]
    made = opened(tmp_path, plan_to_toml(last_plan).replace('"note"', '"pet"'), rows)
    assert next_may_be_opened(made) and not made.error
    assert "has 1 level ('3') in the plan but not in the data" in asked(made)["job"][-1]
    made = answer(made, monkeypatch, {"job": ""})
    assert not made.exception and "job" not in asked(made)
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


def test_uses_that_contradict_each_other_are_no_dead_end(
    tmp_path: Path, last_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = replace(last_plan.data, carry=("p*",), drop=("*t",))
    made = opened(tmp_path, replace(last_plan, data=data))
    (row,) = asked(made).items()
    assert not made.exception and "matches a pattern under carry and one under drop" in row[1][-1]
    made = answer(made, monkeypatch, {row[0]: "Drop such columns"})
    assert not made.exception and "pet" in plan_of(made).data.drop and "note" in asked(made)


@pytest.mark.parametrize("page", ["threat", "candidates"])
def test_no_page_ends_in_a_dead_end(tmp_path: Path, last_plan: Plan, page: str) -> None:
    made = to_page(opened(tmp_path, last_plan), page)
    assert not made.exception
    if page != "candidates":
        assert any(str(button.key).startswith("go-data-") for button in made.button)


@pytest.mark.slow
def test_new_columns_that_only_a_pattern_covers_are_decided_all_at_once(
    tmp_path: Path, last_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = replace(last_plan.data, attributes=last_plan.data.attributes[:1], carry=("*",), seen=("job", "note"))
    made = opened(tmp_path, Plan(data))
    assert "name column 'pet', and only a pattern says that it is carried" in asked(made)["pet"][-1]
    assert made.session_state["frontier"].plan.data.seen == ("job", "note")
    made = answer(made, monkeypatch, {"region": "", "pet": ""})
    assert not made.exception and {"region", "pet"} <= set(plan_of(made).data.drop)


@pytest.mark.slow
def test_a_plan_written_by_hand_asks_for_a_decision_on_what_its_patterns_cover(
    tmp_path: Path, last_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(tmp_path, Plan(replace(last_plan.data, attributes=last_plan.data.attributes[:1], carry=("*",))))
    assert not made.exception and plan_of(made).data.seen == ()
    assert set(asked(made)) == {"region", "pet", "job"}
    made = answer(made, monkeypatch, dict.fromkeys(asked(made), "Carry it"))
    assert not made.exception and {"region", "pet", "job"} <= set(plan_of(made).data.carry)
    assert not any("only a pattern" in row[-1] for row in asked(made).values())


def test_the_last_plan_of_a_file_with_the_same_columns_is_offered(tmp_path: Path, last_plan: Plan) -> None:
    before = opened(tmp_path, replace(last_plan, keys=("sex",)))
    assert not has_button(before, "last-plan"), "there is none before"
    made = open_file(write(tmp_path / "next.csv", "sex,job,note,region", ROWS))
    (button,) = [button for button in made.button if button.key == "last-plan"]
    assert button.label == "Use the plan of new.csv"
    made = press(made, "last-plan")
    assert plan_of(made).keys == ("sex",) and not has_button(made, "last-plan")
    other = open_file(write(tmp_path / "other.csv", "a,b", [(row[0], row[1]) for row in ROWS]))
    assert not has_button(other, "last-plan")
