"""The questions that the page of the file asks of columns: suggestions, warnings, roles, levels, and the way back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from datasets.make_survey import survey
from engine.data.io.readers import read_table
from engine.plan import TablePlan, first_plan
from engine.plan.entries import ColumnPlan
from frontier_app.pages.file import columns, questions
from tests.frontier_app.conftest import APP, to_page
from tests.frontier_app.elements import press
from tests.frontier_app.file_page import (
    answer,
    asked,
    button_key,
    click,
    open_file,
    people,
    plan_of,
    to_part,
    words_of,
    workspace_of,
)


@pytest.mark.slow
def test_what_is_ticked_is_applied_by_one_button_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = open_file(people(tmp_path))
    assert asked(made)["age +1"][:3] == ("decides agegrp", "2 columns", "one block")
    before = plan_of(made)
    made = answer(made, monkeypatch, {"age +1": ""})
    assert not made.exception and not made.error
    block = next(a for a in plan_of(made).attributes if "agegrp" in a.columns)
    assert set(block.columns) == {"age", "agegrp"} and "age +1" not in asked(made)
    assert "Done: 1 answer applied" in words_of(made)
    made.button(key="undo").click().run()
    assert plan_of(made) == before and not any(b.key == "undo" for b in made.button)
    made = answer(made, monkeypatch)
    assert "one block" not in {row[2] for row in asked(made).values()}, "what is certain is ticked"


def test_what_is_left_as_it_is_stays_away_until_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = answer(open_file(people(tmp_path)), monkeypatch, {"job +1": questions.LEAVE})
    (declined,) = workspace_of(made).about["declined"]
    assert declined.startswith("skip:job") and "job +1" not in asked(made)
    again = AppTest.from_file(str(APP), default_timeout=300)
    again.query_params["w"] = workspace_of(made).token
    assert "job +1" not in asked(again.run())
    press(again, "ask-again")
    assert workspace_of(again).about["declined"] == [] and "job +1" in asked(again)


@pytest.mark.slow
def test_one_action_is_taken_back_whichever_control_did_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = open_file(people(tmp_path))
    first = plan_of(made)
    made = answer(made, monkeypatch, {"age +1": ""})
    accepted = plan_of(made)
    made = answer(made, monkeypatch, {"job +1": questions.LEAVE})
    to_page(made, "threat")
    keys = next(box for box in made.multiselect if str(box.key).startswith("threat-keys"))
    keys.set_value(["sex", "job"]).run()
    assert plan_of(made).keys == ("sex", "job")
    to_page(made, "data")
    assert "Done: 2 attributes are not known to an intruder." in words_of(made)
    press(made, "undo")
    assert plan_of(made) == accepted and workspace_of(made).about["declined"]
    assert "Done: 1 question left as it is." in words_of(made)
    press(made, "undo")
    assert plan_of(made) == accepted and not workspace_of(made).about["declined"]
    assert "Done: 1 answer applied." in words_of(made)
    press(made, "undo")
    assert plan_of(made) == first and not any(b.key == "undo" for b in made.button)


@pytest.mark.slow
def test_a_warning_about_a_column_is_mended_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = open_file(people(tmp_path))
    to_page(made, "threat")
    assert any("Tells records apart" in str(box.value) and "'pay'" in str(box.value) for box in made.warning)
    press(made, "mend-under-file")
    to_page(made, "data")
    assert asked(made)["pay"][:3] == ("may be a weight", "carried", "survey weight")
    made = answer(made, monkeypatch, {"pay": questions.LEAVE})
    found, now, to, why = asked(made)["pay"]
    assert (found, now, to) == ("240 different values", "released", "not released")
    assert "Column 'pay' is carried and differs in 240 of 240 records" in why
    made = answer(made, monkeypatch, {"pay": "survey weight"})
    assert plan_of(made).data.weight == "pay" and "pay" not in asked(made)


@pytest.mark.slow
def test_a_warning_can_be_lived_with_unless_it_bars_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = answer(open_file(people(tmp_path)), monkeypatch, {"age +1": questions.LEAVE, "pay": questions.LEAVE})
    made = answer(made, monkeypatch, {"pay": questions.LEAVE})
    assert "pay" not in asked(made) and asked(made)["age"][2] == "one block"
    made = answer(made, monkeypatch, {"age": questions.LEAVE})
    assert "is no answer for age" in made.error[0].value and "age" in asked(made)


def test_the_blue_button_is_the_next_step_until_nothing_is_asked(tmp_path: Path) -> None:
    made = open_file(people(tmp_path))
    pressed: list[str] = []
    while len(pressed) < 9:
        (blue,) = [button for button in made.button if button.proto.type == "primary"]
        pressed.append(str(blue.key).split("-")[0])
        if pressed[-1] == "go":
            break
        press(made, str(blue.key))
        assert not made.exception
    assert pressed[0] == "apply" and "leave" in pressed and pressed[-1] == "go"


@pytest.mark.slow
def test_the_weight_is_set_where_columns_are_set_together(tmp_path: Path) -> None:
    names = ["w1", *(f"q{i}" for i in range(13))]
    rows = [",".join([str(1 + i % 37 / 8), *(str((i // (k + 1)) % 3) for k in range(13))]) for i in range(300)]
    (tmp_path / "many.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    made = to_part(open_file(tmp_path / "many.csv"), "columns")
    made.selectbox(key="set-decision").set_value("weight").run()
    press(made, "set-all")
    assert any("14 columns are found, and a plan has one weight" in str(error.value) for error in made.error)
    made.text_input(key="find-columns").set_value("w1").run()
    made.selectbox(key="set-decision").set_value("weight").run()
    press(made, "set-all")
    assert not made.error and plan_of(made).data.weight == "w1"
    made.text_input(key="find-columns").set_value("q1*").run()
    made.text_input(key="find-columns").set_value("q12").run()
    made.selectbox(key="set-decision").set_value("id").run()
    press(made, "set-all")
    assert plan_of(made).data.id == "q12" and "q12" not in plan_of(made).names


def _list(made: AppTest, role: str):
    return next(box for box in made.multiselect if str(box.key).startswith(f"role-{role}-"))


@pytest.mark.slow
def test_roles_are_given_in_three_lists(tmp_path: Path) -> None:
    made = to_part(open_file(people(tmp_path)), "roles")
    _list(made, "keys").set_value(["sex", "agegrp"])
    _list(made, "swap").set_value(["sex"])
    _list(made, "analyse").set_value([])
    click(made, "Use these roles")
    assert not made.exception and not made.error
    plan = plan_of(made)
    assert (plan.keys, plan.swap, plan.analyse) == (("sex", "agegrp"), ("sex",), ("sex", "agegrp"))
    assert "job" in plan.data.carry
    made = to_part(made, "roles")
    _list(made, "keys").set_value([])
    click(made, "Use these roles")
    assert any("no attribute is chosen for keys" in e.value.lower() for e in made.error)
    assert plan_of(made) == plan


def test_a_number_is_cut_with_its_picture_before_it_is_used(tmp_path: Path) -> None:
    made = to_part(open_file(people(tmp_path)), "levels")
    next(s for s in made.selectbox if str(s.key).startswith("recode-which")).set_value("pay").run()
    edges = next(box for box in made.text_input if box.label == "Edges of the levels")
    assert edges.placeholder == "such as 2000, 3000", "from the data, since 25 and 55 are no incomes"
    edges.set_value("1500, x").run()
    assert "not all numbers" in made.error[0].value
    next(box for box in made.text_input if box.label == "Edges of the levels").set_value("1500, 2500").run()
    assert not made.error and "pay" not in plan_of(made).names
    shown = [(m.label, m.delta) for m in made.metric if m.delta]
    assert [label for label, _ in shown] == ["Occupied cells", "Cells of 1–2", "Records in them", "Records alone"]
    assert any("was" in delta for _, delta in shown)
    click(made, "Use these levels")
    part = plan_of(made).attributes[-1]
    assert (part.name, part.cut) == ("pay", (1500, 2500)) and "pay" in plan_of(made).keys


def test_levels_are_put_together(tmp_path: Path) -> None:
    made = to_part(open_file(people(tmp_path)), "levels")
    next(s for s in made.selectbox if str(s.key).startswith("recode-which")).set_value("hours").run()
    how = next(g for g in made.button_group if str(g.key).startswith("recode-how"))
    how.set_value("merge").run()
    next(box for box in made.multiselect if box.label == "Levels to put together").set_value(["20", "30"]).run()
    click(made, "Use these levels")
    assert not made.exception and not made.error
    part = next(a for a in plan_of(made).attributes if a.name == "hours")
    assert dict(part.merge) == {"20 or 30": ("20", "30")}
    click(made, "Make every value a level")
    assert next(a for a in plan_of(made).attributes if a.name == "hours").merge == ()


@pytest.mark.slow
def test_an_attribute_of_one_level_is_said_to_be_of_no_use(tmp_path: Path) -> None:
    made = to_part(open_file(people(tmp_path)), "levels")
    next(s for s in made.selectbox if str(s.key).startswith("recode-which")).set_value("sex").run()
    assert "sex: 2 levels." in words_of(made) and "cannot be swapped" not in words_of(made)
    next(box for box in made.multiselect if box.label == "Levels to put together").set_value(["f", "m"]).run()
    assert "sex: 1 level. No two records differ on it, so it cannot be swapped." in words_of(made)


@pytest.mark.slow
def test_from_300_columns_to_a_plan_in_few_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from frontier_app.session import loading

    table, _ = survey(1500)
    monkeypatch.setattr(loading, "open_source", lambda path, **_: (table, None))
    made = open_file(tmp_path / "survey.sav")
    decisions = 1
    assert not made.exception and not made.error
    assert made.title[0].value == "What may an intruder know?"
    chosen = ["region", "agegrp", "sex", "race4", "marital3"]
    _list(made, "keys").set_value(chosen)
    decisions += len(chosen)
    click(made, "Use these roles")
    decisions += 1
    made = answer(made, monkeypatch)
    decisions += 1
    assert not made.exception and not made.error
    to_part(made, "households")
    assert "households of 2.4 persons on average" in words_of(made), "what comes next is shown"
    assert decisions <= 8
    assert plan_of(made).keys == tuple(chosen) and len(plan_of(made).names) == len(chosen)
    assert plan_of(made).data.id and plan_of(made).data.weight
    made = to_part(made, "columns")
    assert not made.exception and not made.error


@pytest.fixture
def odd_names(tmp_path: Path) -> Path:
    """A file two of whose columns have names that no measure can hold."""
    rows = "".join(f"{'fm'[i % 2]},{i % 3},{(i // 2) % 4}\n" for i in range(120))
    (tmp_path / "odd.csv").write_text(f'sex,"job, main",rooms [n]\n{rows}', encoding="utf-8")
    return tmp_path / "odd.csv"


def test_names_that_no_measure_can_hold_are_replaced_by_one_click(
    odd_names: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = open_file(odd_names)
    before = plan_of(made)
    assert before.names == ("sex", "job, main", "rooms [n]")
    assert "which holds one of" in words_of(made) and "in the release and its codebook too" in words_of(made)
    made = answer(made, monkeypatch, {"job, main": ""})
    assert plan_of(made).names == ("sex", "job_main", "rooms [n]")
    press(made, "undo")
    assert plan_of(made) == before
    made = answer(made, monkeypatch)
    plan = plan_of(made)
    assert plan.names == ("sex", "job_main", "rooms_n") == plan.keys
    assert [part.columns for part in plan.attributes] == [("sex",), ("job, main",), ("rooms [n]",)]
    assert not made.exception and not made.error


def test_a_declared_table_is_measured_when_its_attribute_is_renamed_on_threat(odd_names: Path) -> None:
    made = open_file(odd_names)
    now = made.session_state["frontier"]
    plan = replace(now.plan, tables=(TablePlan("jobs", ("sex", "job, main")),))
    made.session_state["frontier"] = replace(now, plan=plan, base=plan, version=now.version + 1)
    to_page(made, "threat")
    assert any("rename that attribute to 'job_main'" in str(box.value) for box in made.warning)
    (button,) = (button for button in made.button if button.key == "rename-attributes")
    assert button.label == "Rename to job_main"
    press(made, "rename-attributes")
    assert plan_of(made).tables[0].attributes == ("sex", "job_main")
    assert "total_variation[attributes=sex+job_main]" in plan_of(made).measures
    assert not any("not measured" in str(box.value) for box in made.warning) and not made.exception


def test_an_attribute_of_a_declared_table_is_renamed_in_the_table_of_columns(odd_names: Path) -> None:
    raw = read_table(odd_names)
    plan = replace(first_plan(raw), tables=(TablePlan("jobs", ("sex", "job, main")),))
    before = columns.column_table(raw, plan, columns.looks_like(raw))
    edited = before.copy()
    edited.loc[edited["column"] == "job, main", "attribute"] = "job"
    made = columns.plan_of(edited, before, raw, plan)
    assert made is not None and made.names == ("sex", "job", "rooms [n]")
    assert made.tables[0].attributes == ("sex", "job")


@pytest.mark.slow
def test_numbers_that_can_be_read_in_two_ways_are_decided_by_a_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pay.csv"
    path.write_text("sex;pay\n" + "".join(f"{'fm'[i % 2]};{1000 + 7 * i:,}\n" for i in range(120)))
    made = open_file(path)
    assert asked(made)["pay"][2] == "decimal point"
    made = answer(made, monkeypatch, {"pay": "decimal comma"})
    assert not made.exception and not made.error
    assert plan_of(made).data.columns == (ColumnPlan("pay", decimal=","),)
    to_part(made, "levels")
    next(box for box in made.selectbox if str(box.key).startswith("recode-which")).set_value("pay").run()
    next(box for box in made.text_input if str(box.key).startswith("cut-pay")).set_value("1.2, 1.5").run()
    made.button(key=button_key(made, "apply-pay")).click().run()
    assert not made.exception and not made.error
    assert plan_of(made).attributes[-1].cut == (1.2, 1.5)
