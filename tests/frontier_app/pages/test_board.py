"""The board's page: with nothing, before a recommendation, with one, and from a board bundle alone."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.decision.choice import choose
from engine.decision.statements import statement
from engine.decision.states import decide
from engine.plan import samples
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.findings import BOARD
from engine.report.map_model import map_model, staircase
from engine.report.sheet import choices
from engine.report.words import bar
from engine.study.ledger import change_plan
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.charts import maps
from frontier_app.session import workspace
from frontier_app.session.workspace import Workspace
from tests.engine.report.test_earlier_formats import old
from tests.frontier_app.conftest import APP, launched, to_page
from tests.frontier_app.elements import press


def board(at: Workspace | None = None) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300)
    if at is not None:
        made.query_params["w"] = at.token or launched(at)
    made.run()
    if at is None or at.board is None:
        to_page(made, "board")
    assert not made.exception
    return made


def words(made: AppTest) -> str:
    return "\n".join(str(p.value) for kind in (made.title, made.markdown, made.caption, made.warning) for p in kind)


def recommend(at: Workspace) -> Study:
    assert at.study is not None
    study = Study.open(at.study)
    view = risk_utility_map(study)
    label = view.scenarios[int(view.frontier()[0])].label
    choose(study, view, "a <b>good</b> reason: 1 > 0 | $x$ *and* [so]", candidate=label)
    return study


@pytest.mark.slow
def test_a_study_with_a_recommendation_shows_the_decision_sheet(swept: Callable[..., Workspace]):
    at = swept()
    recommend(at).close()
    made = board(at)
    assert not made.error and len(made.expander) == 5
    assert "$x$" not in words(made)
    assert not made.selectbox and not made.text_input and not made.checkbox  # nothing can be changed here
    assert {m.label for m in made.metric} >= {"Small-cell risk", "Users' figures"}


def test_a_decision_to_release_nothing(swept: Callable[..., Workspace]):
    at = swept()
    with recommend(at) as study:
        decide(study, "withheld", "Ada", why="too risky")
        label = study.choices.all()[-1].label
    made = board(at)
    assert label not in words(made) and not made.exception and not made.error


def test_a_bundle_alone_shows_the_board_and_the_glossary_only(swept: Callable[..., Workspace], tmp_path: Path):
    at = swept()
    with recommend(at) as study:
        choice = study.choices.all()[-1]
        found = findings(study, remade(study, samples.load("czech")[0], choice.label, choice.replicate))
    bundle = tmp_path / "board"
    bundle.mkdir()
    (bundle / BOARD).write_text(found.to_json(), encoding="utf-8")
    at.delete()
    linked = workspace.link_board(bundle)
    assert workspace.link_board(bundle) == linked
    made = board(linked)
    assert not made.error
    assert f"release {found.recommendation.letter}" in made.title[0].value
    assert len(made.expander) == 5 and len(words(made).split()) <= 2500
    assert choice.label not in words(made)
    press(made, "glossary-open")
    assert not made.exception
    (bundle / BOARD).write_text("{}", encoding="utf-8")
    made = board(linked)
    assert "lacks 'format'" in made.error[0].value


@pytest.mark.parametrize("name", ["fair-withhold", "census-withhold", "census-tell"])
def test_a_bundle_of_format_1_opens_and_its_map_is_never_empty(tmp_path: Path, name: str) -> None:
    plain = json.loads(old(name))
    (tmp_path / BOARD).write_text(json.dumps(plain), encoding="utf-8")
    made = board(workspace.link_board(tmp_path))
    assert not made.exception and len(made.expander) == 5
    assert made.get("plotly_chart")
    for row in plain["map"]["candidates"]:
        row["utility"] = None
    (tmp_path / BOARD).write_text(json.dumps(plain), encoding="utf-8")
    made = board(workspace.link_board(tmp_path))
    assert not made.exception and len(made.expander) == 5
    assert not made.get("plotly_chart")


@pytest.mark.slow
def test_the_map_holds_the_letters_and_no_names(swept: Callable[..., Workspace]):
    at = swept()
    with recommend(at) as study:
        choice = study.choices.all()[-1]
        found = findings(study, remade(study, samples.load("czech")[0], choice.label, choice.replicate))
        labels = [s.label for s in study.scenarios]
    for dark in (False, True):
        drawn = maps.board_map(found, dark=dark)
        text = drawn.to_json()
        assert not any(f'"{label}"' in text for label in labels)
        names = [trace.name for trace in drawn.data]
        assert {"recommended", "unprotected file", "frontier"} <= set(names)
        edge, points = (trace for trace in drawn.data if trace.name == "frontier")
        corners = [(utility, 100 * risk) for utility, risk in staircase(found.map)]
        assert list(zip(edge.x, edge.y, strict=True)) == corners and edge.mode == "lines"
        lettered = [c for c in found.map.candidates if c.letter in {choice.letter for choice in choices(found)}]
        letters = sum(candidate.undominated for candidate in lettered)
        assert len(points.x) == found.map.n_frontier - letters and points.mode == "markers", "one mark a candidate"
        low, high = sorted(drawn.layout.yaxis.range)
        bars = [(100 * float(c.risk or 0), 100 * (bar(c.risk, c.risk_se) or 0.0)) for c in lettered]
        assert all(low <= risk - bar <= risk + bar <= high for risk, bar in bars)


@pytest.mark.slow
def test_letters_of_one_place_on_the_map_do_not_cover_each_other(
    swept: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
):
    at = swept()
    monkeypatch.setattr(maps, "board_model", lambda found, small: map_model(found.map))
    with recommend(at) as study:
        choice = study.choices.all()[-1]
        found = findings(study, remade(study, samples.load("czech")[0], choice.label, choice.replicate))
    own = next(c for c in found.map.candidates if c.recommended)
    two = tuple(replace(own, letter=letter, recommended=False) for letter in ("X", "Y"))
    drawn = maps.board_map(replace(found, map=replace(found.map, candidates=(own, *two))), dark=True)
    others, star = (trace for trace in drawn.data if trace.customdata is not None)
    assert star.name == "recommended"
    assert [note.text for note in drawn.layout.annotations] == [f"<b>{own.letter}, X, Y</b>"]
    assert [said[:8] for said in others.customdata] == ["<b>X</b>", "<b>Y</b>"]
    assert own.risk is not None
    (low, high) = sorted(drawn.layout.yaxis.range)
    near = tuple(replace(c, risk=own.risk + k * (high - low) / 25) for k, c in enumerate(two, 1))
    bound_at = own.risk - (high - low) / 20
    crowded = replace(found.map, candidates=(own, *near), bound_at=bound_at)
    drawn = maps.board_map(replace(found, map=crowded), dark=False)
    bottom, top = drawn.layout.yaxis.range
    pixels = 400 / (top - bottom)
    placed = [((note.x, note.y * pixels - note.ay), note.ax) for note in drawn.layout.annotations]
    assert len(placed) == 3
    for k, ((_, height), right) in enumerate(placed):
        assert abs(height - bound_at * pixels) > 8, "a letter stands on the line of the limit"
        for (_, other), other_right in placed[:k]:
            assert abs(height - other) > 15 or abs(right - other_right) > 12, "two letters stand on each other"
    # A neighbour's bar stands where the letter would.
    assert own.utility is not None
    (left, right) = drawn.layout.xaxis.range
    away = 20 / 720 * (right - left)
    beside = replace(two[0], utility=own.utility + away, risk_se=(top - bottom) / 4)
    drawn = maps.board_map(replace(found, map=replace(found.map, candidates=(own, beside))), dark=False)
    (left, right) = drawn.layout.xaxis.range
    bar_at = 720 * away / (right - left)
    (first,) = [note for note in drawn.layout.annotations if note.text == f"<b>{own.letter}</b>"]
    assert abs(first.ax - bar_at) > 8 or abs(first.ay) > 100, "a letter stands on a bar"


def test_the_command_opens_a_bundle_and_refuses_another_folder(
    swept: Callable[..., Workspace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from engine.cli.main import main
    from frontier_app.session import launch

    at = swept()
    with recommend(at) as study:
        choice = study.choices.all()[-1]
        found = findings(study, remade(study, samples.load("czech")[0], choice.label, choice.replicate))
    opened: list[Path | None] = []

    def pretend(study: object, data: object, port: object, browser: object, *, board: Path | None) -> int:
        opened.append(board)
        return 0

    monkeypatch.setattr(launch, "launch", pretend)
    folder = tmp_path / "bundle"
    folder.mkdir()
    assert main(["app", str(folder), "--no-browser"]) == 1
    (folder / BOARD).write_text(found.to_json(), encoding="utf-8")
    assert main(["app", str(folder), "--no-browser"]) == 0
    assert opened == [folder]


@pytest.mark.slow
def test_hostile_texts_of_a_bundle_stay_text(swept: Callable[..., Workspace], tmp_path: Path):
    at = swept()
    with recommend(at) as study:
        choice = study.choices.all()[-1]
        found = findings(study, remade(study, samples.load("czech")[0], choice.label, choice.replicate))
    bad = "see http://evil.example/a or www.evil.example, me@evil.example :material/home:\n\n# big\n1. one"
    hostile = replace(
        found,
        cover=replace(found.cover, survey=bad),
        recommendation=replace(found.recommendation, why=bad, cautions=(statement("recorded", text="1. " + bad),)),
        map=replace(found.map, utility_title='<a href="http://evil.example">x</a>'),
    )
    bundle = tmp_path / "board"
    bundle.mkdir()
    (bundle / BOARD).write_text(hostile.to_json(), encoding="utf-8")
    made = board(workspace.link_board(bundle))
    said = html.unescape(words(made))  # addresses are looked for after such signs were read
    assert "evil" in said
    assert not re.search(r"https?://|www\.|[\w.]@\w|:material/", said)
    assert "\n# big" not in said and "\n1. one" not in said
    assert r"1\. see" in words(made)  # no list within a list
    assert "<a " not in maps.board_map(hostile, dark=False).to_json()


@pytest.mark.slow
def test_the_circulating_copy_can_be_looked_at_where_the_plan_has_one_made(swept: Callable[..., Workspace]) -> None:
    at = swept()
    with recommend(at) as study:
        assert study.plan.publish.members_rate == "tell"
    made = board(at)
    assert not made.exception and not [button for button in made.get("download_button") if "Circulating" in str(button)]
    assert at.study is not None
    with Study.open(at.study) as study:
        change_plan(study, replace(study.plan, publish=replace(study.plan.publish, members_rate="withhold")))
    made = board(at)
    assert not made.exception and [button for button in made.get("download_button") if "Circulating" in str(button)]
