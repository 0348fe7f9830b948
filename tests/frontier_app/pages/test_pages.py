"""Every page in every state it can be in, without a browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.measures import MEASURES, MeasureCall
from engine.mechanisms import mechanism, names
from engine.plan.samples import load
from engine.study.study import Study
from frontier_app.session import workspace
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, launched, to_page
from tests.frontier_app.elements import has_button, leads_to, press

PAGES = ("data", "threat", "candidates", "explore", "compare", "decide", "release")


def app(at: Workspace | None = None, page: str | None = None) -> AppTest:
    """The dashboard on a workspace, at its first page or at once at another one, as by its address."""
    made = AppTest.from_file(str(APP), default_timeout=300)
    if at is not None:
        made.query_params["w"] = at.token or launched(at)
    return made.run() if page is None else to_page(made, page)


def token_of(made: AppTest) -> str | None:
    held = made.query_params.get("w")
    return held[0] if isinstance(held, list) else held


def select(made: AppTest, label: str) -> AppTest:
    """Put a candidate at hand, as a click on the map does."""
    made.session_state["frontier"] = replace(made.session_state["frontier"], selected=label)
    made.run()
    assert not made.exception and not made.error
    return made


def to(made: AppTest, page: str) -> AppTest:
    return to_page(made, page)


def words(made: AppTest) -> str:
    kinds = (made.markdown, made.caption, made.title, made.subheader, made.info, made.error, made.warning, made.success)
    return "\n".join(str(part.value) for kind in kinds for part in kind)


@pytest.mark.parametrize("page", PAGES)
def test_with_nothing_open_a_page_says_what_to_do_next(page: str):
    made = to(app(), page)
    assert not made.exception
    assert not made.error
    if page != "data":
        assert leads_to(made, "data")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_with_data_and_no_study(page: str):
    made = app()
    made.button(key="open-czech").click().run()
    to(made, page)
    assert not made.exception
    assert not made.error


def test_an_unknown_or_malformed_workspace_is_said_and_left():
    for token in ("A" * 22, "../../etc", "", "x" * 500):
        made = AppTest.from_file(str(APP), default_timeout=300)
        made.query_params["w"] = token
        made.run()
        assert not made.exception
        assert token_of(made) in ("", None)


@pytest.mark.slow
def test_the_sample_opens_with_its_counts_and_its_plan():
    made = app()
    made.button(key="open-czech").click().run()
    assert made.title[0].value == "6 attributes of the file can be protected"
    at = workspace.find(token_of(made))
    assert at is not None and at.about["data"] == "czech" and at.plan_path.exists()
    assert at.folder.stat().st_mode & 0o777 == 0o700


def test_plan_counts_and_complains_in_the_engines_words():
    made = app()
    made.button(key="open-czech").click().run()
    to(made, "candidates")
    shown = {m.label: m.value for m in made.metric}
    assert shown == {"Swaps to try": "21", "Scenarios": "63", "Runs": "1,260"}
    rates = next(box for box in made.text_input if box.label.startswith("Swap rates"))
    rates.set_value("1, 250").run()
    assert any("A swap rate of 250 % is no share of the records" in error.value for error in made.error)
    rates.set_value("5").run()
    assert not made.error
    assert {m.label: m.value for m in made.metric}["Scenarios"] == "21"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["czech", "nces", "fair"])
def test_looking_at_a_plan_does_not_change_it(name: str):
    made = app()
    made.button(key=f"open-{name}").click().run()
    for page in ("candidates", "data", "candidates"):
        to(made, page)
    assert made.session_state["frontier"].plan == load(name)[1]


@pytest.mark.slow
def test_plan_survives_leaving_the_page_and_reloading():
    made = app()
    made.button(key="open-czech").click().run()
    to(made, "candidates")
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("3, 4").run()
    to(made, "compare")
    to(made, "candidates")
    assert next(box for box in made.text_input if box.label.startswith("Swap rates")).value == "3, 4"
    again = AppTest.from_file(str(APP), default_timeout=300)
    again.query_params["w"] = token_of(made)
    to(again.run(), "candidates")
    assert next(box for box in again.text_input if box.label.startswith("Swap rates")).value == "3, 4"


@pytest.mark.slow
def test_a_candidate_at_hand_is_shown_in_words(swept: Callable[..., Workspace]):
    at = swept()
    with Study.open(at.folder / "study-1.study") as study:
        label = study.scenarios[4].label
    made = to(app(at), "explore")
    assert "No candidate selected" in words(made)
    select(made, label)
    assert "exchange" in words(made)
    to(made, "decide")
    made.radio(key="recommend-rule-0-none").set_value("hand").run()
    assert f"({label})" in words(made)


@pytest.mark.slow
def test_every_option_of_the_map(swept: Callable[..., Workspace]):
    made = to(app(swept()), "explore")
    for key in ("look-errors", "look-distortion", "look-partial"):
        made.toggle(key=key).set_value(key != "look-errors").run()
        assert not made.exception and not made.error
    for span in ("zero", "frontier", "original"):
        made.selectbox(key="look-span").set_value(span).run()
        assert not made.exception
    for colour in made.selectbox(key="look-colour").options:
        made.selectbox(key="look-colour").select(colour).run()
        assert not made.exception


def test_a_study_without_its_data_can_be_explored(swept: Callable[..., Workspace], tmp_path: Path):
    study = tmp_path / "mine.study"
    shutil.copy(swept().folder / "study-1.study", study)
    at = workspace.link(study, None)
    assert not to(app(at), "explore").exception
    made = to(app(at), "release")
    assert not made.exception
    assert workspace.link(study, None) == at


@pytest.mark.slow
def test_a_changed_plan_offers_a_new_study_and_the_way_back(swept: Callable[..., Workspace]):
    made = to(app(swept()), "candidates")
    next(box for box in made.text_input if box.label.startswith("Swap rates")).set_value("2, 10, 20").run()
    to(made, "candidates")
    assert has_button(made, "begin-more") and has_button(made, "begin-new")
    press(made, "sweep-back-to-study")
    assert not has_button(made, "begin-more")


def _glossary():
    from frontier_app.widgets.glossary import entries
    from frontier_app.wording import markup

    markup.prepare()
    entries()


def test_glossary_finds_a_word():
    assert press(app(), "glossary-open").text_input(key="glossary-find")
    made = AppTest.from_function(_glossary).run()
    made.text_input(key="glossary-find").set_value("hellinger").run()
    assert "Hellinger distance" in words(made)
    made.text_input(key="glossary-find").set_value("zzzz").run()
    assert any("zzzz" in info.value for info in made.info)


@pytest.mark.slow
def test_glossary_has_every_symbol_and_mechanism_with_meaning_and_source():
    made = AppTest.from_function(_glossary).run()
    said = words(made).replace("\\", "")
    for one in MEASURES.values():
        assert f"{one.symbol} – {one.title}" in said and f"Source: {one.source}" in said
        assert MeasureCall(one).meaning in said, "a parameter is named in place of its number"
    for name in names():
        assert mechanism(name).title in said and mechanism(name).source in said
    made.text_input(key="glossary-find").set_value("|ΔV|").run()
    assert "Cramér" in words(made) and "Hellinger" not in words(made)


@pytest.mark.slow
def test_the_first_page_loads_no_heavy_library(home: Path):
    script = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        f"made = AppTest.from_file({str(APP)!r}, default_timeout=300).run()\n"
        "assert not made.exception\n"
        "print([m for m in ('statsmodels', 'scipy', 'numba', 'plotly.express') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=APP.parents[2], timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
