"""Every page on a study of several mechanisms."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from engine.decision import RiskUtilityMap, risk_utility_map
from engine.study import Study
from frontier_app import cards, drawing, jobs
from frontier_app.state import Look
from frontier_app.workspace import Workspace
from tests.frontier_app import mixed
from tests.frontier_app.test_pages import app, to, words

pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries inside the app are not ours to fail on


@pytest.fixture
def at(home: Path, tmp_path: Path) -> Workspace:
    return mixed.swept(tmp_path)


@pytest.fixture
def view(at: Workspace) -> RiskUtilityMap:
    with Study.open(at.folder / "study-1.study") as study:
        return risk_utility_map(study)


def label_of(view: RiskUtilityMap, short: str) -> str:
    return next(s.label for s in view.scenarios if str(s.spec).startswith(short))


@pytest.mark.parametrize("page", ["data", "plan", "sweep", "explore", "release"])
def test_every_page_works(page: str, at: Workspace):
    made = to(app(at), page)
    assert not made.exception and not made.error


def test_looking_at_the_plan_does_not_change_it(at: Workspace):
    made = app(at)
    before = made.session_state["frontier"].plan
    for page in ("plan", "data", "sweep"):
        to(made, page)
    assert made.session_state["frontier"].plan == before == mixed.plan()


def test_plan_counts_by_mechanism_and_complains_in_the_engines_words(at: Workspace):
    made = to(app(at), "plan")
    assert {m.label: m.value for m in made.metric}["Scenarios"] == "7"
    assert "| Probabilistic swapping of keys (MaPS) | 2 | 6 |" in words(made)
    tables = next(box for box in made.text_input if box.label == "D")
    tables.set_value("1, 2, 3").run()
    assert {m.label: m.value for m in made.metric}["Scenarios"] == "8"
    next(box for box in made.text_input if box.label == "D").set_value("0").run()
    assert any("D == 0, must be at least 1" in error.value for error in made.error)


def test_shapes_are_mechanisms_and_labels_count_tables(view: RiskUtilityMap):
    points = drawing.cloud(view, Look())
    assert points.shapes == ("random_swap", "maps", "rds", "pram")
    assert {label for label in points.labels if label} == {"D=3 "}
    assert any("3 tables published together" in line for line in points.hover)
    drawing.figure(view, Look(facets=True, errors=True))
    drawing.figure(view, Look(runs=True))


def test_colours_are_few_where_shapes_mean_something_else():
    names = ("no rate", *(f"{i} %" for i in range(1, 7)))
    codes, kept = drawing.binned(np.arange(7), names)
    assert kept == ("no rate", "1 % to 2 %", "3 % to 4 %", "5 % to 6 %")
    assert codes.tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert drawing.binned(np.arange(2), ("a", "b"))[1] == ("a", "b")


def test_neighbours_are_the_nearest_of_the_frontier(view: RiskUtilityMap):
    on = view.frontier().tolist()
    for place in range(len(view.scenarios)):
        beside = cards.neighbours(view, place)
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
        assert cards.neighbours(view, on[0])["more useful"] == on[1]
        assert "safer" not in cards.neighbours(view, on[0])


def test_a_candidate_of_several_tables_names_its_joint_risk(at: Workspace, view: RiskUtilityMap):
    label = label_of(view, "maps s=12 rule=le w0=0.8 D=3")
    made = to(app(at), "explore")
    made.selectbox(key="candidate").set_value(label).run()
    assert not made.exception and not made.error
    shown = words(made)
    assert "R2 = " in shown and "D=3 tables together" in shown and "(R2)" in shown
    assert "records in sensitive key cells" in shown
    assert "risk " in shown and " → " in shown


def test_several_tables_are_shown_and_exported(at: Workspace, view: RiskUtilityMap):
    label = label_of(view, "maps s=12 rule=le w0=0.8 D=3")
    made = to(app(at), "explore")
    made.selectbox(key="candidate").set_value(label).run()
    to(made, "release")
    assert not made.exception and not made.error
    assert "Records changed per attribute" in words(made)
    made.selectbox(key="release-table").set_value(2).run()
    assert "in table 3" in words(made)
    made.text_area(key="choose-why-0").set_value("several tables").run()
    next(b for b in made.button if b.label == "Record the choice").click().run()
    next(b for b in made.button if b.label.startswith("Make the release")).click().run()
    assert not made.exception and not made.error
    (archive,) = (at.folder / "exports").glob("*.zip")
    with zipfile.ZipFile(archive) as whole:
        assert sorted(whole.namelist()) == [f"release-0{d}.{kind}" for d in (1, 2, 3) for kind in ("csv", "parquet")]
    assert "release-01 to release-03" in words(made)


def test_a_mechanism_that_draws_anew_is_no_error(at: Workspace, view: RiskUtilityMap):
    made = to(app(at), "explore")
    made.selectbox(key="candidate").set_value(label_of(view, "pram")).run()
    to(made, "release")
    assert not made.exception and not made.error


@pytest.mark.slow
def test_finalists_run_again_beside_the_sweep(at: Workspace, view: RiskUtilityMap):
    label = label_of(view, "rds")
    risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
    jobs.start_recheck(at, [label], 4, risk, utility)
    until = time.monotonic() + 90
    while jobs.recheck(at)[0] and time.monotonic() < until:
        time.sleep(0.2)
    assert jobs.recheck(at) == (False, "")
    made = to(app(at), "explore")
    assert not made.exception and not made.error
    assert f"**{label}** rds" in words(made) and "3 → 4" in words(made)
    jobs.start_recheck(at, ["xnone"], 4, risk, utility)
    while jobs.recheck(at)[0] and time.monotonic() < until:
        time.sleep(0.2)
    assert "no candidate 'xnone'" in jobs.recheck(at)[1]


def test_an_illegal_input_leaves_the_others_as_they_are(at: Workspace):
    made = to(app(at), "plan")
    next(box for box in made.number_input if box.label == "Replicates of each").set_value(7).run()
    variants = next(box for box in made.text_input if box.label == "Variants of a measure")
    variants.set_value("total_variation").run()
    for label, bad, good in (("D", "x", "1, 3"), ("Swap rates, in percent of records", "250", "10")):
        next(box for box in made.text_input if box.label == label).set_value(bad).run()
        assert made.error
        assert next(box for box in made.text_input if box.label == "Variants of a measure").value == "total_variation"
        next(box for box in made.text_input if box.label == label).set_value(good).run()
        assert not made.error
    plan = made.session_state["frontier"].plan
    assert plan.space.replicates == 7 and plan.measures[-1] == "total_variation"
