"""The page of the file: opening, suggestions, roles, columns, levels, codebook, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from datasets.make_survey import survey
from engine.common.resources import user_folder
from engine.plan import plan_to_toml
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, launched, to_page
from tests.frontier_app.elements import press


def _people(folder: Path) -> Path:
    """Ages with their recode, a question skipped by those without a job, an id, and an income."""
    lines = ["case,age,agegrp,sex,job,hours,pay"]
    for i in range(240):
        age = 18 + 5 * (i * 7 % 8)
        job = "yes" if i % 3 else "no"
        group = "young" if age < 34 else "old"
        hours = "-1" if job == "no" else str(20 + 10 * (i % 2))
        lines.append(f"c{i:04d},{age},{group},{'mf'[i // 3 % 2]},{job},{hours},{1000.5 + 13 * i}")
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _start(owner: bool = True) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=60)
    if owner:
        made.query_params["w"] = launched(None)
    return made.run()


def _open(path: Path) -> AppTest:
    made = _start()
    made.text_input(key="open-path-text").set_value(str(path))
    return _click(made, "Open this file")


def _click(made: AppTest, label: str) -> AppTest:
    return next(b for b in made.button if b.label.startswith(label)).click().run()


def _button(made: AppTest, start: str) -> str:
    return next(str(b.key) for b in made.button if str(b.key).startswith(start))


def _part(made: AppTest, part: str) -> AppTest:
    switch = next(group for group in made.button_group if str(group.key).startswith("file-part"))
    return switch.set_value(part).run()


def _plan(made: AppTest):
    return made.session_state["frontier"].plan


def _at(made: AppTest) -> Workspace:
    at = made.session_state["frontier"].workspace
    assert at is not None
    return at


def _words(made: AppTest) -> str:
    return "\n".join(str(p.value) for kind in (made.markdown, made.caption, made.success) for p in kind)


def test_a_path_is_opened_and_stands_in_no_address(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    assert not made.exception and not made.error
    assert made.title[0].value == "people.csv"
    assert _at(made).about["data"] == str(tmp_path / "people.csv") and not (_at(made).folder / "data").exists()
    assert str(tmp_path) not in str(dict(made.query_params)) and str(tmp_path) not in plan_to_toml(_plan(made))
    again = AppTest.from_file(str(APP), default_timeout=60)
    again.query_params["w"] = _at(made).token
    assert again.run().title[0].value == "people.csv"
    assert again.session_state["frontier"].owner


def test_without_the_owners_address_no_path_is_read(tmp_path: Path) -> None:
    path = _people(tmp_path)
    made = _start(owner=False)
    assert not any(box.key == "open-path-text" for box in made.text_input)
    assert "the address that *frontier app* printed" in _words(made)
    script = (
        f"import sys; sys.path.insert(0, {str(APP.parents[2])!r})\n"
        "from frontier_app.session import loading\nfrom frontier_app.widgets import elements\n"
        f"with elements.errors_shown():\n    loading.open_path({str(path)!r})\n"
    )
    forced = AppTest.from_string(script).run()
    assert "only at the address" in forced.error[0].value


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "No path is given"),
        ("people.csv", "does not begin at the top"),
        ("{}/none.csv", "does not exist"),
        ("{}", "is a folder"),
        ("{}/odd.doc", "supported are"),
        ("{}/empty.sav", "is empty"),
        ("{}/broken.sav", "no readable .sav file"),
    ],
)
def test_what_cannot_be_opened_is_said_and_nothing_is_left_behind(tmp_path: Path, typed: str, said: str) -> None:
    for name, content in (("odd.doc", b"x"), ("empty.sav", b""), ("broken.sav", b"$FL2" + b"\0" * 400)):
        (tmp_path / name).write_bytes(content)
    made = _start()
    made.text_input(key="open-path-text").set_value(typed.format(tmp_path))
    _click(made, "Open this file")
    assert not made.exception
    assert said in made.error[0].value and str(tmp_path) not in made.error[0].value
    assert not list(user_folder().glob("workspaces/*"))
    assert any(b.label == "Open fair" for b in made.button)


def test_suggestions_are_accepted_a_kind_at_a_time_and_taken_back(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    assert "decides" in _words(_kind(made, "block"))
    before = _plan(made)
    made.button(key=_button(made, "accept-block:age")).click().run()
    assert not made.exception and not made.error
    block = next(a for a in _plan(made).attributes if "agegrp" in a.columns)
    assert set(block.columns) == {"age", "agegrp"}
    assert "1 block accepted" in _words(made)
    made.button(key="undo").click().run()
    assert _plan(made) == before and not any(b.key == "undo" for b in made.button)


def _kind(made: AppTest, kind: str) -> AppTest:
    group = next(g for g in made.button_group if str(g.key).startswith("proposal-kind"))
    return group.set_value(kind).run()


def test_a_declined_suggestion_stays_away_until_it_is_asked_for(tmp_path: Path) -> None:
    made = _kind(_open(_people(tmp_path)), "skip")
    made.button(key=_button(made, "decline-skip:job")).click().run()
    (declined,) = _at(made).about["declined"]
    assert declined.startswith("skip:job")
    again = AppTest.from_file(str(APP), default_timeout=60)
    again.query_params["w"] = _at(made).token
    again.run()
    assert not any(str(b.key).startswith("accept-skip:job") for b in again.button)
    _click(again, "Look again at the 1 declined")
    assert _at(again).about["declined"] == []


def test_what_is_on_the_page_belongs_to_its_present_inputs(tmp_path: Path) -> None:
    """A file given to an input of a version that the next run no longer draws would be lost."""
    made = _open(_people(tmp_path))
    for part in ("columns", "levels", "roles", "suggestions"):
        version = made.session_state["frontier"].version
        assert any(box.key == f"sure-{version}" for box in made.checkbox), f"before {part}"
        _part(made, part)


def test_one_action_is_taken_back_whichever_control_did_it(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    first = _plan(made)
    _kind(made, "block").button(key=_button(made, "accept-block:age")).click().run()
    accepted = _plan(made)
    _kind(made, "skip").button(key=_button(made, "decline-skip:job")).click().run()
    to_page(made, "threat")
    keys = next(box for box in made.multiselect if str(box.key).startswith("threat-keys"))
    keys.set_value(["sex", "job"]).run()
    assert _plan(made).keys == ("sex", "job")
    to_page(made, "data")
    assert "Done: 2 attributes are not known to an intruder." in _words(made)
    press(made, "undo")
    assert _plan(made) == accepted and _at(made).about["declined"]
    assert "Done: 1 skip pattern declined." in _words(made)
    press(made, "undo")
    assert _plan(made) == accepted and not _at(made).about["declined"]
    assert "Done: 1 block accepted." in _words(made)
    press(made, "undo")
    assert _plan(made) == first and not any(b.key == "undo" for b in made.button)


def test_looking_at_pages_is_no_action(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    for page in ("threat", "plan", "data"):
        to_page(made, page)
    for part in ("columns", "levels", "roles", "suggestions"):
        _part(made, part)
    assert made.session_state["frontier"].actions == ()


def test_a_warning_about_a_column_is_mended_on_the_page(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    to_page(made, "threat")
    assert any("Tells records apart" in str(box.value) and "'pay'" in str(box.value) for box in made.warning)
    press(made, "mend-under-file")
    to_page(made, "data")
    assert "Column 'pay' is carried and differs in 240 of 240 records" in _words(made)
    press(made, "mend-1-warning:pay")
    assert _plan(made).data.weight == "pay" and "Done: pay is the weight." in _words(made)
    assert not any("warning:pay" in str(button.key) for button in made.button)
    press(made, "mend-0-warning:age:agegrp")
    assert any(set(part.columns) == {"age", "agegrp"} for part in _plan(made).attributes)


def test_a_warning_can_be_lived_with_unless_it_bars_the_bundle(tmp_path: Path) -> None:
    made = _part(_open(_people(tmp_path)), "warnings")
    assert not any(str(button.key) == "leave-warning:age:agegrp" for button in made.button)
    press(made, "leave-warning:pay")
    assert not any("warning:pay" in str(button.key) for button in made.button)
    assert "Done: 1 warning left as it is." in _words(made)


def test_while_warnings_are_open_the_blue_button_leaves_all_that_may_be_or_mends_the_first(tmp_path: Path) -> None:
    made = _part(_open(_people(tmp_path)), "warnings")
    blue = [button for button in made.button if button.proto.type == "primary"]
    assert len(blue) == 1
    while blue and str(blue[0].key).startswith(("leave", "mend")):
        press(made, str(blue[0].key))
        blue = [button for button in made.button if button.proto.type == "primary"]
        assert len(blue) == 1 and not made.exception
    press(made, str(blue[0].key))
    assert made.session_state["frontier"].file_view.part == "suggestions"


def test_all_warnings_that_may_be_are_left_so_by_the_blue_button(tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[i % 2]},{1000.5 + 13 * i},{700.5 + 11 * (i * 7 % 240)}\n" for i in range(240))
    (tmp_path / "amounts.csv").write_text("sex,wage,rent\n" + rows, encoding="utf-8")
    made = _part(_open(tmp_path / "amounts.csv"), "warnings")
    assert [b.label for b in made.button if b.proto.type == "primary"] == ["Leave all 2 so"]
    press(made, "leave-all")
    assert "Done: 2 warnings left as they are." in _words(made)


def test_the_weight_is_set_where_columns_are_set_together(tmp_path: Path) -> None:
    names = ["w1", *(f"q{i}" for i in range(13))]
    rows = [",".join([str(1 + i % 37 / 8), *(str((i // (k + 1)) % 3) for k in range(13))]) for i in range(300)]
    (tmp_path / "many.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    made = _part(_open(tmp_path / "many.csv"), "columns")
    made.selectbox(key="set-decision").set_value("weight").run()
    press(made, "set-all")
    assert any("14 columns are found, and a plan has one weight" in str(error.value) for error in made.error)
    made.text_input(key="find-columns").set_value("w1").run()
    made.selectbox(key="set-decision").set_value("weight").run()
    press(made, "set-all")
    assert not made.error and _plan(made).data.weight == "w1"
    made.text_input(key="find-columns").set_value("q1*").run()
    made.text_input(key="find-columns").set_value("q12").run()
    made.selectbox(key="set-decision").set_value("id").run()
    press(made, "set-all")
    assert _plan(made).data.id == "q12" and "q12" not in _plan(made).names


def _list(made: AppTest, role: str):
    return next(box for box in made.multiselect if str(box.key).startswith(f"role-{role}-"))


def test_roles_are_given_in_three_lists(tmp_path: Path) -> None:
    made = _part(_open(_people(tmp_path)), "roles")
    _list(made, "keys").set_value(["sex", "agegrp"])
    _list(made, "swap").set_value(["sex"])
    _list(made, "analyse").set_value([])
    _click(made, "Use these roles")
    assert not made.exception and not made.error
    plan = _plan(made)
    assert (plan.keys, plan.swap, plan.analyse) == (("sex", "agegrp"), ("sex",), ("sex", "agegrp"))
    assert "job" in plan.data.carry
    made = _part(made, "roles")
    _list(made, "keys").set_value([])
    _click(made, "Use these roles")
    assert any("no attribute is chosen for keys" in e.value.lower() for e in made.error)
    assert _plan(made) == plan


def test_a_number_is_cut_with_its_picture_before_it_is_used(tmp_path: Path) -> None:
    made = _part(_open(_people(tmp_path)), "levels")
    next(s for s in made.selectbox if str(s.key).startswith("recode-which")).set_value("pay").run()
    edges = next(box for box in made.text_input if box.label == "Edges of the levels")
    assert edges.placeholder == "such as 2000, 3000", "from the data, since 25 and 55 are no incomes"
    edges.set_value("1500, x").run()
    assert "not all numbers" in made.error[0].value
    next(box for box in made.text_input if box.label == "Edges of the levels").set_value("1500, 2500").run()
    assert not made.error and "pay" not in _plan(made).names
    shown = [(m.label, m.delta) for m in made.metric if m.delta]
    assert [label for label, _ in shown] == ["Occupied cells", "Cells of 1–2", "Records in them", "Records alone"]
    assert any("was" in delta for _, delta in shown)
    _click(made, "Use these levels")
    part = _plan(made).attributes[-1]
    assert (part.name, part.cut) == ("pay", (1500, 2500)) and "pay" in _plan(made).keys


def test_levels_are_put_together(tmp_path: Path) -> None:
    made = _part(_open(_people(tmp_path)), "levels")
    next(s for s in made.selectbox if str(s.key).startswith("recode-which")).set_value("hours").run()
    how = next(g for g in made.button_group if str(g.key).startswith("recode-how"))
    how.set_value("merge").run()
    next(box for box in made.multiselect if box.label == "Levels to put together").set_value(["20", "30"]).run()
    _click(made, "Use these levels")
    assert not made.exception and not made.error
    part = next(a for a in _plan(made).attributes if a.name == "hours")
    assert dict(part.merge) == {"20 or 30": ("20", "30")}
    _click(made, "Make every value a level")
    assert next(a for a in _plan(made).attributes if a.name == "hours").merge == ()


def test_an_attribute_of_one_level_is_said_to_be_of_no_use(tmp_path: Path) -> None:
    made = _part(_open(_people(tmp_path)), "levels")
    next(s for s in made.selectbox if str(s.key).startswith("recode-which")).set_value("sex").run()
    assert "sex: 2 levels." in _words(made) and "cannot be swapped" not in _words(made)
    next(box for box in made.multiselect if box.label == "Levels to put together").set_value(["f", "m"]).run()
    assert "sex: 1 level. No two records differ on it, so it cannot be swapped." in _words(made)


def test_a_codebook_gives_labels_and_roles_and_is_kept(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    script = (
        f"import sys; sys.path.insert(0, {str(APP.parents[2])!r})\n"
        "from frontier_app.session import actions, loading, state, workspace\n"
        "from frontier_app.widgets import elements\n"
        f"if state.get().raw is None:\n    loading.open_workspace(workspace.find({_at(made).token!r}))\n"
        "with elements.errors_shown():\n    actions.use_codebook('book.csv', state.input_value('book'))\n"
    )
    runs = AppTest.from_string(script)
    runs.session_state["book"] = b"name,label,role\nsex,Sex of person,key swap\nnosuch,x,\n"
    runs.run()
    assert "nosuch" in runs.error[0].value and not _at(made).codebook_path.exists()
    runs.session_state["book"] = b"name,label,role\nsex,Sex of person,key swap\nage*,Age,key\n"
    runs.run()
    assert not runs.error and not runs.exception
    assert runs.session_state["frontier"].actions[0].done == "the codebook was applied"
    assert _plan(runs).keys == ("age", "agegrp", "sex") and _plan(runs).swap == ("sex",)
    again = AppTest.from_file(str(APP), default_timeout=60)
    again.query_params["w"] = _at(made).token
    again.run()
    assert again.session_state["frontier"].raw.columns["sex"].about.label == "Sex of person"
    assert _plan(again) == _plan(runs)


def test_a_codebook_is_taken_back_with_its_labels(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    script = (
        f"import sys; sys.path.insert(0, {str(APP.parents[2])!r})\n"
        "from frontier_app.session import actions, loading, state, workspace\n"
        f"if state.get().raw is None:\n    loading.open_workspace(workspace.find({_at(made).token!r}))\n"
        "else:\n    actions.take_back()\n"
        "if not state.input_value('given'):\n"
        "    for words in ('Sex of person', 'Other words'):\n"
        "        actions.use_codebook('book.csv', f'name,label\\nsex,{words}\\n'.encode())\n"
        "    state.set_input('given', True)\n"
    )
    runs = AppTest.from_string(script).run()
    for label in ("Sex of person", ""):
        runs.run()
        assert not runs.exception
        assert runs.session_state["frontier"].raw.columns["sex"].about.label == label
        assert _at(made).codebook_path.exists() == bool(label)


def test_from_300_columns_to_a_plan_in_few_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from frontier_app.session import loading

    table, _ = survey(1500)
    monkeypatch.setattr(loading, "read_table", lambda path: table)
    made = _open(tmp_path / "survey.sav")
    decisions = 1
    assert not made.exception and not made.error
    assert any("283 keys" in w.value or "keys. Nobody knows" in w.value for w in made.warning)
    chosen = ["region", "agegrp", "sex", "race4", "marital3"]
    _list(made, "keys").set_value(chosen)
    decisions += len(chosen)
    _click(made, "Use these roles")
    decisions += 1
    while accept := [b for b in made.button if b.label.startswith("Accept")]:
        assert [b.label for b in made.button if b.proto.type == "primary"] == [accept[0].label], "one blue button"
        accept[0].click().run()
        decisions += 1
        assert not made.exception and not made.error
    assert "households of 2.4 persons on average" in _words(made), "what comes next is shown"
    assert decisions <= 15
    assert _plan(made).keys == tuple(chosen) and len(_plan(made).names) == len(chosen)
    assert _plan(made).data.id and _plan(made).data.weight
    made = _part(made, "columns")
    assert not made.exception and not made.error


def test_leaving_forgets_the_work_at_hand_and_keeps_whose_session_it_is(tmp_path: Path) -> None:
    made = _open(_people(tmp_path))
    now = made.session_state["frontier"]
    made.session_state["frontier"] = replace(now, shown="A", selected="A", map_key=("m", 1), touring=True, picks=3)
    made = _click(made, "Open other data")
    left = made.session_state["frontier"]
    assert left.workspace is left.raw is left.plan is left.shown is left.selected is left.map_key is None
    assert left.file_view.column is None and left.owner and left.touring and left.picks == 3
    assert left.version > now.version


def test_a_study_takes_the_data_that_it_was_made_on_and_no_other(
    swept: Callable[..., Workspace], tmp_path: Path
) -> None:
    at = swept()
    at.note(data=None)
    made = AppTest.from_file(str(APP), default_timeout=60)
    made.query_params["w"] = launched(at)
    made.run()
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    made.text_input(key="open-path-text").set_value(str(other))
    press(made, "open-path")
    assert any("was made on other data" in error.value for error in made.error) and at.about["data"] is None
    press(made, "add-sample")
    assert not made.exception and not made.error and at.about["data"] == "czech"
    assert made.title[0].value == "czech"
