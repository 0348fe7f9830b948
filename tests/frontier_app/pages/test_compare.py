"""The page of comparisons in every state it can be in, and what its table and figures say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.decision.comparison import Difference, differences
from engine.frontier.risk_utility_map import lettered
from engine.plan import plan_from_toml, plan_to_toml
from engine.study.map_reader import realisation_of, risk_utility_map
from engine.study.study import Study, pin, pins
from engine.sweeps.sweep import sweep
from frontier_app.charts import before_after
from frontier_app.session import workspace
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import candidate_card, elements, recommendation
from frontier_app.wording import plan_words
from tests.frontier_app.elements import leads_to, press
from tests.frontier_app.pages.test_pages import app, to, words
from tests.weighted_sample import PLAN, write_survey

PARTS = ("levels", "associations", "cells", "coefficients", "altered", "intruder", "runs")


def opened(at: Workspace) -> AppTest:
    return app(at, "compare")


def html(made: AppTest) -> str:
    return "\n".join(str(one.proto.body) for one in made.get("html"))


@pytest.mark.slow
def test_pins_are_set_named_compared_and_taken_away(swept: Callable[..., Workspace]):
    at = swept(replicates=6)
    path = at.folder / "study-1.study"
    made = opened(at)
    assert made.title[0].value.endswith("than the unprotected file")
    press(made, "pin-frontier")
    with Study.open(path) as study:
        kept = pins(study)
        assert [one.name for one in kept] == ["the safest", "the knee", "the most useful"]
        view = risk_utility_map(study)
        first = study.find(kept[0].label)[0].index
        (risk, *_) = differences(view, first, together=3)
    assert leads_to(made, "decide")
    shown = html(made)
    assert candidate_card.verdict(risk)[1] in shown and "clearly worse" in shown and "the unprotected file" in shown
    assert f"{100 * risk.absolute / risk.reference:.1f} %".replace("-", "−") in shown
    label = kept[0].label
    made.text_input(key=f"pin-name-{label}").set_value("careful <b>").run()
    made.text_input(key=f"pin-note-{label}").set_value("for the board").run()
    with Study.open(path) as study:
        assert (pins(study)[0].name, pins(study)[0].note) == ("careful <b>", "for the board")
    assert "careful &lt;b&gt;" in html(made) and "careful <b>" not in html(made) and "for the board" in html(made)
    made.text_input(key=f"pin-name-{kept[1].label}").set_value("careful <b>").run()
    assert any("already called" in info.value for info in made.info)
    made.checkbox(key=f"pin-in-{kept[2].label}").set_value(False).run()
    assert "the most useful" not in html(made)
    made.selectbox(key="compare-reference").set_value(label).run()
    assert not made.exception and made.selectbox(key="compare-reference").value == label
    to(made, "data")
    to(made, "compare")
    assert made.selectbox(key="compare-reference").value == label
    assert not made.checkbox(key=f"pin-in-{kept[2].label}").value
    made.button(key=f"pin-away-{label}").click().run()
    assert not made.exception and made.selectbox(key="compare-reference").value is None
    with Study.open(path) as study:
        assert len(pins(study)) == 2


@pytest.mark.slow
def test_it_opens_with_the_recommended_one_beside_its_neighbours(swept: Callable[..., Workspace]):
    at = swept(max_risk="0.0025", swap_sizes=[1, 2])
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        best = view.under_bound(0.0025)
        near = candidate_card.neighbours(view, best, list(lettered(view, best).values()))
    made = opened(at)
    assert made.selectbox(key="compare-reference").value == view.scenarios[best].label
    assert near and all(view.scenarios[i].label in html(made) for i in near.values())
    assert made.title[0].value.endswith("than A")


def test_a_candidate_is_picked_from_the_frontier_or_typed(swept: Callable[..., Workspace], monkeypatch):
    at = swept()
    made = opened(at)
    listed = made.selectbox(key="pin-add-0").options
    made.selectbox(key="pin-add-0").select(listed[0]).run()
    assert not made.exception and not made.error
    with Study.open(at.folder / "study-1.study") as study:
        assert [one.label for one in pins(study)] == [listed[0].rpartition("(")[2].rstrip(")")]
        view = risk_utility_map(study)
        off = int(np.flatnonzero(~view.dominance.undominated)[0])
        label = study.scenarios[off].label
        said: list[str] = []
        monkeypatch.setattr(elements, "show_error", lambda error: said.append(str(error)))
        place = int(view.frontier()[0])
        monkeypatch.setattr(recommendation, "letters_of", lambda *_: (("C", place),))
        as_before = f"Z · A + C, 10 % ({label})"  # what the box says when the letter of an option has changed since
        known = ((label, label), (f" {label}/2", label), (f"A + C, 10 % “mine” ({label})", label), (as_before, label))
        named = ("c", view.scenarios[place].label)
        for typed, wanted in (*known, named, ("nobody", None)):
            monkeypatch.setattr(st, "selectbox", lambda *_, typed=typed, **__: typed)
            got = recommendation.candidate(study, view, "x", None, key="k")
            assert got == wanted
    assert "no candidate 'nobody'" in said[-1]


@pytest.fixture
def weighted(tmp_path) -> Workspace:
    from engine.plan.samples import open_data

    data = write_survey(tmp_path)
    raw, _ = open_data(str(data))
    plan = plan_from_toml(PLAN)
    at = workspace.create()
    at.note(data=str(data), study="study-1.study")
    at.save_plan(plan_to_toml(plan))
    (at.folder / "study-1.study.key").write_text("0123456789abcdef" * 2)
    sweep(raw, plan, at.folder / "study-1.study", workers=1).close()
    return at


def inspect(made: AppTest, part: str) -> AppTest:
    return made.pills(key="compare-part").set_value(part).run()


@pytest.mark.slow
def test_every_part_of_one_candidate(weighted: Workspace):
    made = opened(weighted)
    for part in PARTS:
        inspect(made, part)
        assert not made.exception and not made.error
    made = inspect(made, "levels")
    assert "exactly as it was" in words(made)
    counted = made.dataframe[0].value
    assert set(counted["difference"]) == {"0"} and set(counted["in percent"]) == {""}
    made.toggle(key="inspect-weighted").set_value(True).run()
    totals = made.dataframe[0].value
    assert list(totals["difference"]) == ["+1.11", "−1.11"]
    assert totals["release"].sum() == pytest.approx(totals["original"].sum())
    inspect(made, "coefficients")
    columns = ["coefficient", "original", "release", "shift in SE", "overlap", "flag"]
    assert list(made.dataframe[0].value.columns) == columns
    assert len(made.dataframe[0].value) == 4
    assert "A positive coefficient stands for more of this" in words(made)


def test_without_data_only_the_runs_are_shown(swept: Callable[..., Workspace]):
    at = swept()
    at.note(data=None)
    made = opened(at)
    assert made.pills(key="compare-part").value == "pinned"
    inspect(made, "levels")
    assert not made.exception and leads_to(made, "data")
    assert not inspect(made, "runs").info


@pytest.mark.slow
def test_the_run_shown_is_the_recommended_one_where_its_own_bound_picked_another_than_the_plans_rule(
    swept: Callable[..., Workspace],
):
    at = swept(max_risk="1")
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        rows = {i: view.results.values[view.results.scenario == i, view.risk] for i in range(len(view.scenarios))}
        safer = {i: risk[risk < view.original[view.risk]] for i, risk in rows.items()}
        index = next(i for i, risk in safer.items() if len(risk) > 1 and risk[0] > risk.min())
        bound = float((safer[index][0] + safer[index].min()) / 2)
        first = realisation_of(study, view.results, index, view.risk, allow_partial=False)
        released = realisation_of(study, view.results, index, view.risk, bound=bound, allow_partial=False)
        assert first != released
        study.choices.record(study.scenarios[index], released, "its own limit", "safe", {"bound": bound, "risk": ""})
    made = inspect(opened(at), "runs")
    assert f"Run {released} is the one to release" in words(made)


def test_without_an_analysis_the_page_says_where_to_declare_one(swept: Callable[..., Workspace]):
    made = inspect(opened(swept()), "coefficients")
    assert any("declares no analysis" in info.value for info in made.info)


def difference(**changes: object) -> Difference:
    base = {"value": 1.0, "value_se": 0.1, "reference": 2.0, "reference_se": 0.0, "absolute": -1.0}
    return Difference(**{**base, "better": 1, "clear": True, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({}, "better", "✓ clearly better"),
        ({"better": -1}, "worse", "✗ clearly worse"),
        ({"clear": False}, "noise", "≈ better, but within noise"),
        ({"better": -1, "clear": False}, "noise", "≈ worse, but within noise"),
        ({"better": 0, "absolute": 0.0}, "noise", "= the same"),
        ({"better": 0, "absolute": float("nan")}, "noise", "not known"),
    ],
)
def test_verdicts_say_direction_and_noise_in_words(changes, kind, said):
    assert candidate_card.verdict(difference(**changes)) == (kind, said)


def test_words_in_a_table_are_text():
    made = candidate_card.listing(("<a>", "b"), [("<script>", "x & y")], "label")
    assert "<script>" not in made and "&lt;script&gt;" in made and "x &amp; y" in made and "&lt;a&gt;" in made


def test_equal_runs_are_drawn_above_each_other():
    figure = before_after.runs(np.array([1.0, 1.0, 2.0]), np.array([1.5]), 1.0, 3.0, "title")
    first = figure.data[0]
    assert len(set(zip(first.x, first.y, strict=True))) == 3
    assert figure.data[1].name == "fresh runs"


def test_levels_stand_side_by_side():
    bars = before_after.levels(("a", "b"), np.array([3, 2]), np.array([2, 3]), "records")
    assert [list(bar.x) for bar in bars.data] == [[3, 2], [2, 3]]
    assert bars.layout.xaxis.title.text == "records"


def test_intervals_are_drawn_about_the_originals_estimate():
    figure = before_after.intervals(["a"], np.array([1.96]), np.array([-0.5]), np.array([2.5]))
    original, release = figure.data
    assert (list(original.x), list(original.error_x.array)) == ([0], [1.96])
    assert (list(release.x), list(release.error_x.array)) == ([-0.5], [2.5])


def test_changes_of_pairs_stand_in_the_lower_half():
    figure = before_after.associations(["a", "b", "c"], [(0, 2, -0.1)])
    z = np.array(figure.data[0].z, float)
    assert z[2, 0] == -0.1 and z[1, 0] == 0 and np.isnan(z[0, 1])
    assert figure.data[0].zmin == -figure.data[0].zmax == -0.1


@pytest.mark.slow
def test_pins_set_elsewhere_are_shown(swept: Callable[..., Workspace]):
    at = swept()
    with Study.open(at.folder / "study-1.study") as study:
        pin(study, study.scenarios[0].label, "mine")
    made = opened(at)
    assert "mine" in html(made) and not made.exception


def test_who_carries_the_change_and_what_an_intruder_sees_stand_beside_the_release(weighted: Workspace):
    made = inspect(opened(weighted), "altered")
    groups = made.dataframe[1].value
    assert list(groups.columns) == ["group", "records", "altered", "share altered"] and len(groups) > 2
    assert list(groups["share altered"]) == pytest.approx(
        [100 * a / n for a, n in zip(groups["altered"], groups["records"], strict=True)]
    )
    assert "the public does not" in words(made)
    made = inspect(made, "intruder")
    shown = words(made)
    assert plan_words.UNSWAPPED in shown and plan_words.UNDONE in shown
    assert "Whoever has two-way tables of the original and the release finds" in shown


def test_pins_say_which_keys_stay_as_they_are(swept: Callable[..., Workspace]):
    made = opened(swept())
    press(made, "pin-frontier")
    shown = html(made)
    assert plan_words.UNSWAPPED in shown and "no record in small cells" in shown and not made.exception


@pytest.mark.slow
@pytest.mark.parametrize("page", ["explore", "compare", "decide"])
def test_a_candidate_of_which_users_see_nothing_says_so(swept: Callable[..., Workspace], page: str):
    at = swept(
        keys=["A", "B", "C"],
        analyse=["A", "B"],
        swap=["C"],
        measures=["small_cells", "hellinger[attributes=A+C]", "largest_two_way"],
    )
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        pin(study, view.scenarios[0].label)
        assert "largest_two_way" in map(str, study.measures)
    made = app(at)
    made.session_state["frontier"] = replace(made.session_state["frontier"], selected=view.scenarios[0].label)
    to(made, page)
    assert not made.exception
    if page == "compare":
        assert "In no declared use" in html(made)
    else:
        assert "No declared table or regression uses C" in words(made)
