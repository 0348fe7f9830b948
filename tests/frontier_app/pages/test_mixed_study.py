"""Every page on a study of several mechanisms."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.charts import map_data, maps
from frontier_app.charts import map_data as drawing
from frontier_app.session import jobs
from frontier_app.session.state import Look
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import candidate_card
from tests.frontier_app import mixed_study
from tests.frontier_app.finished_studies import FinishedStudies
from tests.frontier_app.pages.test_pages import app, select, to, words


@pytest.fixture
def at(home: Path, tmp_path: Path, finished_studies: FinishedStudies) -> Workspace:
    return mixed_study.swept(tmp_path, finished_studies)


@pytest.fixture
def view(at: Workspace) -> RiskUtilityMap:
    with Study.open(at.folder / "study-1.study") as study:
        return risk_utility_map(study)


def label_of(view: RiskUtilityMap, short: str) -> str:
    return next(s.label for s in view.scenarios if str(s.spec).startswith(short))


@pytest.mark.slow
@pytest.mark.parametrize("page", ["data", "candidates", "explore", "compare", "decide", "release"])
def test_every_page_works(page: str, at: Workspace):
    made = app(at, page)
    assert not made.exception and not made.error


def test_looking_at_the_plan_does_not_change_it(at: Workspace):
    made = app(at)
    before = made.session_state["frontier"].plan
    for page in ("candidates", "data", "candidates"):
        to(made, page)
    assert made.session_state["frontier"].plan == before == mixed_study.plan()


@pytest.mark.slow
def test_plan_counts_by_mechanism_and_complains_in_the_engines_words(at: Workspace):
    made = app(at, "candidates")
    assert {m.label: m.value for m in made.metric}["Scenarios"] == "7"
    assert "| Probabilistic swapping of keys (MaPS) | 2 | 6 |" in words(made)
    tables = next(box for box in made.text_input if box.label == "Tables published together (D)")
    tables.set_value("1, 2, 3").run()
    assert {m.label: m.value for m in made.metric}["Scenarios"] == "8"
    next(box for box in made.text_input if box.label == "Tables published together (D)").set_value("0").run()
    assert any("D == 0, must be at least 1" in error.value for error in made.error)


@pytest.mark.slow
def test_shapes_are_mechanisms_and_labels_count_tables(view: RiskUtilityMap):
    points = drawing.cloud(view, Look())
    assert points.shapes == ("random swap", "MaPS", "RDS", "PRAM")
    assert points.hover is not None and any("3 tables published together" in line for line in points.hover)
    several = next(s.index for s in view.scenarios if drawing.badge(view, s.index) == "D=3")
    shown = drawing.Shown(optimum=several, letters={"B": several})
    drawn = maps.candidate_figure(view, Look(), shown)
    assert [a.text for a in drawn.layout.annotations if a.showarrow] == ["<b>B D=3</b>"]
    for name in drawing.DRAWN:
        maps.candidate_figure(view, Look(drawn=name), shown)


def test_the_table_of_several_mechanisms_has_no_empty_rates(view: RiskUtilityMap):
    from frontier_app.pages.explore.table import rows
    from frontier_app.widgets.recommendation import Rule

    made, config = rows(view, np.arange(len(view.scenarios)), Rule(), {})
    titles = {name: settings["label"] for name, settings in config.items()}
    assert "Method" in titles.values() and not made.astype(str).map(lambda cell: "None" in cell).to_numpy().any()


def test_colours_are_few_where_shapes_mean_something_else():
    names = (map_data.OTHER, *(f"{i} %" for i in range(1, 7)))
    codes, kept = map_data.binned(np.arange(7), names)
    assert kept == (map_data.OTHER, "1 % to 2 %", "3 % to 4 %", "5 % to 6 %")
    assert codes.tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert map_data.binned(np.arange(2), ("a", "b"))[1] == ("a", "b")


def test_neighbours_are_the_nearest_of_the_frontier(view: RiskUtilityMap):
    on = view.frontier().tolist()
    for place in range(len(view.scenarios)):
        beside = candidate_card.neighbours(view, place)
        for words_, i in beside.items():
            assert i in on and i != place
            if words_ == "safer":
                assert view.risk_loss[i] < view.risk_loss[place]
                between = [j for j in on if view.risk_loss[i] < view.risk_loss[j] < view.risk_loss[place]]
            else:
                assert view.utility_loss[i] < view.utility_loss[place]
                between = [j for j in on if view.utility_loss[i] < view.utility_loss[j] < view.utility_loss[place]]
            assert not between
    if len(on) > 1:
        assert candidate_card.neighbours(view, on[0])["more useful"] == on[1]
        assert "safer" not in candidate_card.neighbours(view, on[0])


@pytest.mark.slow
def test_a_candidate_of_several_tables_names_its_joint_risk(at: Workspace, view: RiskUtilityMap):
    label = label_of(view, "maps s=12 rule=le w0=0.8 D=3")
    shown = words(select(app(at, "explore"), label))
    assert "R2 = " in shown and "D=3 tables together" in shown and "records in sensitive key cells" in shown


def test_a_dominated_candidate_names_what_is_better(at: Workspace, view: RiskUtilityMap):
    dominated = [i for i in np.flatnonzero(~view.dominance.undominated).tolist() if len(view.dominators(i))]
    place = next(i for i in dominated if not map_data.beside_original(view, i))
    shown = words(select(app(at, "explore"), view.scenarios[place].label))
    assert "is no worse on either axis" in shown


def before_and_after(at: Workspace, label: str) -> AppTest:
    """The page that shows one candidate before and after."""
    made = to(select(app(at, "explore"), label), "compare")
    return made.pills(key="compare-part").set_value("altered").run()


def test_several_tables_are_shown(at: Workspace, view: RiskUtilityMap):
    made = before_and_after(at, label_of(view, "maps s=12 rule=le w0=0.8 D=3"))
    assert not made.exception and not made.error
    assert "in table 1" in words(made)
    made.selectbox(key="inspect-table").set_value(2).run()
    assert "in table 3" in words(made)
    made.pills(key="compare-part").set_value("coefficients").run()
    assert not made.exception and "combined over 3 tables" in words(made)


def test_a_mechanism_that_draws_anew_is_no_error(at: Workspace, view: RiskUtilityMap):
    made = before_and_after(at, label_of(view, "pram"))
    assert not made.exception and not made.error
    made.pills(key="compare-part").set_value("levels").run()
    assert "draws values anew" in words(made)


@pytest.mark.slow
def test_finalists_run_again_beside_the_sweep(at: Workspace, view: RiskUtilityMap):
    label = label_of(view, "rds")
    risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
    jobs.start_recheck(at, [label], 4, risk, utility)
    until = time.monotonic() + 90
    while jobs.recheck(at)[0] and time.monotonic() < until:
        time.sleep(0.2)
    assert jobs.recheck(at) == (False, "") and jobs.recheck_job(at).state == "finished"
    assert (jobs.recheck_job(at).done, jobs.recheck_job(at).total) == (4, 4)
    made = app(at, "explore")
    assert not made.exception and not made.error
    assert f"({label})" in words(made) and "3 → 4" in words(made)
    jobs.start_recheck(at, ["xnone"], 4, risk, utility)
    while jobs.recheck(at)[0] and time.monotonic() < until:
        time.sleep(0.2)
    assert "no candidate 'xnone'" in jobs.recheck(at)[1]


@pytest.mark.slow
def test_an_illegal_input_leaves_the_others_as_they_are(at: Workspace):
    made = app(at, "candidates")
    next(box for box in made.number_input if box.label == "Replicates of each").set_value(7).run()
    variants = next(box for box in made.text_input if box.label == "Variants of a measure")
    variants.set_value("total_variation").run()
    for label, bad, good in (
        ("Tables published together (D)", "x", "1, 3"),
        ("Swap rates, in percent of records", "250", "10"),
    ):
        next(box for box in made.text_input if box.label == label).set_value(bad).run()
        assert made.error
        assert next(box for box in made.text_input if box.label == "Variants of a measure").value == "total_variation"
        next(box for box in made.text_input if box.label == label).set_value(good).run()
        assert not made.error
    plan = made.session_state["frontier"].plan
    assert plan.space.replicates == 7 and plan.measures[-1] == "total_variation"
