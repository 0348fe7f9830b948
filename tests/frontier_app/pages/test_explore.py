"""The map's page: its states, its controls, the card, the table, pins, and finalists that can be stopped."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from engine.frontier.risk_utility_map import RiskUtilityMap, inside
from engine.plan import edit_plan
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study, pin, pins
from frontier_app.charts import map_data, maps
from frontier_app.charts import map_data as drawing
from frontier_app.pages.explore.table import rows
from frontier_app.session import jobs, state
from frontier_app.session.state import Look
from frontier_app.session.workspace import Workspace
from frontier_app.widgets.recommendation import Rule, rule
from frontier_app.wording import text
from tests.frontier_app.elements import press
from tests.frontier_app.pages.test_pages import app, to, words


@pytest.fixture
def at(swept: Callable[..., Workspace]) -> Workspace:
    return swept()


@pytest.fixture
def view(at: Workspace) -> RiskUtilityMap:
    with Study.open(at.folder / "study-1.study") as study:
        return risk_utility_map(study)


def explored(at: Workspace) -> AppTest:
    made = app(at, "explore")
    assert not made.exception and not made.error
    return made


def look(made: AppTest, **changes: object) -> AppTest:
    now = made.session_state["frontier"]
    made.session_state["frontier"] = replace(now, look=replace(now.look, **changes))
    made.run()
    assert not made.exception and not made.error
    return made


def sprintf(form: str, value: float) -> str:
    """A figure as the browser writes it, without the words before it."""
    return f"%{form.partition('%')[2]}" % value


def middle(view: RiskUtilityMap) -> float:
    """A bound with candidates on both sides of it."""
    return float(np.nanmedian(view.risk_loss))


@pytest.mark.slow
def test_one_sentence_of_counts_and_no_recommendation_before_a_rule(at: Workspace):
    shown = words(explored(at))
    assert re.search(
        r"##### Without protection, \d+ of 1,841 records are in small cells \(fewer than 3 records\)\.", shown
    )
    assert "Nothing is recommended yet: set the largest acceptable risk α" in shown


@pytest.mark.slow
def test_a_bound_recommends_letters_and_moves_the_optimum(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    made.toggle(key="bound-on").set_value(True).run()
    (number,) = [box for box in made.number_input if box.label == "Largest acceptable risk"]
    number.set_value(round(middle(view), 5)).run()
    bound = made.session_state["frontier"].look.bound
    best = view.scenarios[view.under_bound(bound)]
    shown = words(made)
    assert f"({best.label}) is recommended" in shown and "tried here, not the plan's" in shown
    assert re.search(r"records\); under [A-G], [\d.]+ unaltered ones? on average\.", shown)
    assert f"· {text.swap_short(best.spec)}" in shown  # without a selection the card shows what is recommended
    (slider,) = [box for box in made.slider if box.label == "Largest acceptable risk"]
    assert slider.value == number.value
    made.toggle(key="bound-on").set_value(False).run()
    assert "Nothing is recommended yet" in words(made)


def test_a_slope_recommends_too_and_takes_the_place_of_the_bound(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    made.toggle(key="bound-on").set_value(True).run()
    made.toggle(key="slope-on").set_value(True).run()
    assert not made.exception and not made.error
    now = made.session_state["frontier"].look
    assert now.rule == "slope" and now.bound is None and not made.toggle(key="bound-on").value
    made.number_input(key="slope-number").set_value(now.slope * 50).run()
    best = view.scenarios[view.by_slope(now.slope * 50)[0]].label
    assert f"({best}) is recommended" in words(made)
    assert "| wins | for slopes |" in words(made)


@pytest.mark.slow
def test_the_plans_own_rule_recommends_without_being_asked(swept: Callable[..., Workspace], view: RiskUtilityMap):
    made = explored(swept(max_risk=f"{middle(view):.4f}"))
    assert "is recommended: the most useful within the plan's limit α = " in words(made)
    assert made.toggle(key="bound-on").value


def test_a_bound_below_everything_says_so(at: Workspace, view: RiskUtilityMap):
    with Study.open(at.folder / "study-1.study") as study:
        found = rule(study, view, Look(rule="bound", bound=-1.0))
    assert found.index is None and "no candidate meets the limit" in found.trouble


@pytest.mark.slow
def test_a_bound_that_nothing_meets_says_what_would_and_does_it(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    made.toggle(key="bound-on").set_value(True).run()
    (number,) = [box for box in made.number_input if box.label == "Largest acceptable risk"]
    number.set_value(0.0001).run()
    (warning,) = [str(one.value) for one in made.warning]
    assert warning.startswith("No candidate meets the limit 0.0001 (0.01 % of unaltered records). The least risk")
    assert "Fewer keys leave fewer small cells" in words(made)
    press(made, "unmet-allow")
    assert warning not in [one.value for one in made.warning]
    assert not made.exception and "is recommended" in words(made)
    bound = made.session_state["frontier"].look.bound
    assert view.meets(bound).any()
    assert bound <= 1.1 * view.original[view.risk], "with room for new runs, and no riskier than doing nothing"


@pytest.mark.parametrize(
    "drawn",
    [pytest.param(name, marks=[] if name in ("labelled", "runs") else [pytest.mark.slow]) for name in drawing.DRAWN],
)
def test_every_figure_is_one_click(drawn: str, at: Workspace):
    made = explored(at)
    made.selectbox(key="look-colour").set_value("number").run()  # by rate, a map is coloured as the pooled figure is
    before = [json.loads(chart.proto.spec) for chart in made.get("plotly_chart")]
    after = [json.loads(chart.proto.spec) for chart in look(made, drawn=drawn).get("plotly_chart")]
    assert after, "a figure is drawn"
    assert (before == after) == (drawn == "map"), "each draws another one"
    assert ("Labels without room are left out" in words(made)) == (drawn in ("labelled", "rates"))
    assert [box.value for box in made.selectbox if box.key == "look-highlight"] == (["A"] if drawn == "runs" else [])


def test_the_quantile_of_single_runs_is_that_of_the_runs(view: RiskUtilityMap):
    """A slow twin: sorted runs, and the frontier pair by pair."""
    runs, risk = view.results, view.risk
    points = drawing.cloud(view, Look(drawn="quantile"))
    places = []
    for index, shown in zip(points.index.tolist(), points.risk.tolist(), strict=True):
        mine = np.sort(runs.values[(runs.scenario == index) & runs.counted(view.allow_partial), risk])
        assert shown == mine[int(np.ceil(0.9 * len(mine))) - 1]
        places.append((shown, float(view.utility_loss[index]), len(mine) >= 10))
    for (r, u, enough), on in zip(places, points.on.tolist(), strict=True):
        beaten = any(b and x <= r and y <= u and (x < r or y < u) for x, y, b in places)
        assert on == (enough and not beaten)
    assert points.ends is not None
    assert (points.ends[0] <= points.risk).all() and (points.ends[1] >= points.risk).all()


def test_bars_of_a_quantile_reach_from_end_to_end_and_out_of_the_figure_without_one(view: RiskUtilityMap):
    found = view.quantiles
    figure = maps.candidate_figure(view, Look(drawn="quantile"))
    top = max(figure.layout.yaxis.range)
    bars = [trace for trace in figure.data if trace.error_y.array is not None]
    assert bars
    for trace in bars:
        for i, y, up, down in zip(
            trace.customdata, trace.y, trace.error_y.array, trace.error_y.arrayminus, strict=True
        ):
            high, low = float(found.high[i]), float(found.low[i])
            assert y + up == pytest.approx(high if np.isfinite(high) else max(top, y))
            assert y - down == pytest.approx(low) or np.isinf(low)
    assert "90 % quantile of runs" in figure.layout.yaxis.title.text.replace("<br>", " ")


def test_a_bound_on_the_mean_is_not_drawn_beside_a_quantile(view: RiskUtilityMap):
    on_mean = replace(view, single_runs=None)
    for shown, bounds in ((view, 1), (on_mean, 0)):
        figure = maps.candidate_figure(shown, Look(drawn="quantile", bound=0.1))
        assert sum("acceptable risk" in note.text for note in figure.layout.annotations) == bounds
    assert on_mean.quantiles.probability == view.quantiles.probability


def test_words_beside_the_quantile_say_what_is_drawn(at: Workspace):
    shown = words(look(explored(at), drawn="quantile"))
    assert (
        "One run is released, so the risk drawn here is what 90 % of a candidate's single runs do not exceed" in shown
    )


@pytest.mark.slow
def test_how_much_of_the_true_frontier_was_found_stands_below_the_map(at: Workspace):
    assert "of the truly best candidates may be missing from the frontier" in words(explored(at))


def test_each_rate_has_a_frontier_of_its_own(view: RiskUtilityMap):
    points = drawing.cloud(view, Look(drawn="rates"))
    assert len(points.facets) == 2
    for panel in range(2):
        mine = points.facet == panel
        pairs = np.column_stack([points.risk[mine], points.use[mine]])
        beaten = [((pairs <= p).all(1) & (pairs < p).any(1)).any() for p in pairs]
        assert points.on[mine].tolist() == [not b for b in beaten]
    assert points.on.sum() >= drawing.cloud(view, Look()).on.sum()


def test_many_candidates_by_rate_are_a_density_in_every_panel(view: RiskUtilityMap, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drawing, "_PANELLED", 3)
    points, known = drawing.cloud(view, Look(drawn="rates")), ~np.isnan(view.risk_loss)
    assert points.on.all() and points.bulk is not None
    assert len(points.index) + len(points.bulk[0]) == known.sum()
    heat = [trace for trace in maps.candidate_figure(view, Look(drawn="rates")).data if trace.type == "heatmap"]
    assert sum(int(np.nansum(trace.customdata)) for trace in heat) == len(points.bulk[0])
    assert drawing.cloud(view, Look()).bulk is None, "a map alone draws more, one by one"


def test_abbreviations_are_distinct():
    short = map_data.abbreviations(["Age", "AvgHrs", "AnnSal", "a", "A1"])
    assert short["Age"] == "A" and len(set(short.values())) == 5
    assert len(set(map_data.abbreviations([f"v{i}" for i in range(80)]).values())) == 80


def test_a_range_of_the_map_fills_the_table(at: Workspace, view: RiskUtilityMap):
    box = (0.0, middle(view), 0.0, 1.0)
    made = look(explored(at), rows="box", box=box)
    expected = inside(view, box[:2], box[2:])
    (shown,) = made.dataframe
    assert shown.value["id"].tolist() == [view.scenarios[i].label for i in expected.tolist()]
    assert f"{len(expected)} candidates." in words(made)


def test_rows_say_letters_and_pins_and_leave_empty_columns_out(view: RiskUtilityMap):
    places = view.frontier()[:3]
    made = rows(view, places, Rule(index=int(places[1]), letters=(("B", int(places[1])),)), {})
    assert made["letter"].tolist() == ["", "B", ""] and "pin" not in made.columns and "failed" not in made.columns
    assert "risk_se" in made.columns
    alone = replace(view, summary=replace(view.summary, loss_se=np.full_like(view.summary.loss_se, np.nan)))
    assert "risk_se" not in rows(alone, places, Rule(), {}).columns


@pytest.mark.slow
def test_why_not_another_names_neighbours_and_what_dominates(at: Workspace, view: RiskUtilityMap):
    dominated = int(np.flatnonzero(~view.dominance.undominated & ~np.isnan(view.risk_loss))[0])
    made = explored(at)
    made.selectbox(key="candidate").set_value(view.scenarios[dominated].label).run()
    shown = words(made)
    assert f"**Better than {text.named(view.scenarios[dominated])}:**" in shown and " → " in shown
    other = next(b for b in made.button if (b.key or "").startswith("dominator-"))
    other.click().run()
    assert not made.exception
    assert made.session_state["frontier"].selected == str(other.key).removeprefix("dominator-")


@pytest.mark.slow
def test_a_pin_is_kept_in_the_study_and_named_on_the_map(at: Workspace, view: RiskUtilityMap):
    label = view.scenarios[4].label
    made = explored(at)
    made.selectbox(key="candidate").set_value(label).run()
    made.text_input(key=f"pin-name-{label}").set_value("the mild one").run()
    made.button(key=f"pin-{label}").click().run()
    assert not made.exception and not made.error
    with Study.open(at.folder / "study-1.study") as study:
        assert [(one.label, one.name) for one in pins(study)] == [(label, "the mild one")]
    assert "the mild one" in words(made)
    drawn = maps.candidate_figure(view, Look(), drawing.Shown(pins={4: "the mild one"}))
    assert [a.text for a in drawn.layout.annotations if a.showarrow] == ["the mild one"]
    made.button(key=f"unpin-{label}").click().run()
    with Study.open(at.folder / "study-1.study") as study:
        assert not pins(study)


def test_pins_are_listed_with_the_letters(at: Workspace, view: RiskUtilityMap):
    with Study.open(at.folder / "study-1.study") as study:
        pin(study, view.scenarios[2].label, "two")
    made = look(explored(at), rows="near")
    (shown,) = made.dataframe
    assert shown.value["pin"].tolist() == ["two"]


@pytest.mark.slow
def test_other_measures_have_no_bound_from_before(at: Workspace):
    made = explored(at)
    made.toggle(key="bound-on").set_value(True).run()
    other = made.selectbox(key="look-utility").options[1]
    made.selectbox(key="look-utility").select(other).run()
    assert not made.exception and not made.error
    now = made.session_state["frontier"].look
    assert now.bound is None and now.rule == "plan"


def test_measures_together_need_two(at: Workspace):
    made = look(explored(at), drawn="measures", objectives=("hellinger", "total_variation", "small_cells"))
    assert "on all 3 measures" in words(made)
    made.multiselect(key="look-objectives").set_value(["hellinger"]).run()
    assert any("two or more measures" in info.value for info in made.info)


@pytest.mark.slow
def test_how_the_map_is_looked_at_survives_leaving_the_page(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    made.toggle(key="bound-on").set_value(True).run()
    made.number_input[0].set_value(round(middle(view), 5)).run()
    made.toggle(key="look-distortion").set_value(True).run()
    bound = made.session_state["frontier"].look.bound
    to(made, "compare")
    to(made, "explore")
    assert made.session_state["frontier"].look.bound == bound and made.number_input[0].value == pytest.approx(bound)
    assert made.toggle(key="look-distortion").value and made.toggle(key="bound-on").value


@pytest.mark.slow
def test_finalists_can_be_stopped_and_what_is_done_stays(swept: Callable[..., Workspace]):
    at = swept(swap_sizes=[1, 2], all_specs=False)
    with Study.open(at.folder / "study-1.study") as study:
        labels = study.scenarios.labels()
        view = risk_utility_map(study)
    risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
    jobs.start_recheck(at, labels, 100_000, risk, utility)
    until = time.monotonic() + 60
    while jobs.recheck_job(at).done == 0 and time.monotonic() < until:
        time.sleep(0.05)
    assert jobs.recheck_job(at).state == "running"
    jobs.cancel_recheck(at)
    while jobs.recheck_job(at).busy and time.monotonic() < until:
        time.sleep(0.05)
    job = jobs.recheck_job(at)
    assert job.state == "cancelled" and 0 < job.done < job.total == len(labels) * 100_000
    made = explored(at)
    assert any("stopped after" in info.value for info in made.info)


@pytest.mark.slow
def test_a_reload_shows_the_map_as_it_was_looked_at(at: Workspace, view: RiskUtilityMap):
    made = look(explored(at), rule="bound", bound=middle(view), span="frontier", box=(0.0, 1.0, 0.0, 1.0))
    made.selectbox(key="candidate").set_value(view.scenarios[4].label).run()
    before = made.session_state["frontier"]
    after = explored(at).session_state["frontier"]
    assert (after.look, after.selected) == (before.look, view.scenarios[4].label)
    at.note(study="study-2.study")
    assert state.load(at) == (Look(), None)
    at.note(study="study-1.study")
    at.save_look('{"study": "study-1.study", "look": {"risk": null}}')
    assert state.load(at) == (Look(), None)


@pytest.mark.slow
def test_the_slider_reaches_as_far_as_the_candidates_do_and_any_bound_can_be_typed(at: Workspace, view: RiskUtilityMap):
    made = look(explored(at), rule="bound", bound=middle(view))
    slider = made.slider[0]
    number = next(box for box in made.number_input if box.label == slider.label)
    assert slider.min == pytest.approx(view.risk_loss.min(), abs=slider.step)
    assert slider.proto.format.startswith("α = %.") and slider.proto.format.endswith("g"), "a figure without its name"
    assert f"{slider.max - slider.step:.12g}" == sprintf(slider.proto.format, slider.max - slider.step)
    number.set_value(0.0).run()
    assert made.session_state["frontier"].look.bound == 0.0
    slider = made.slider[0]
    assert slider.value == slider.min == 0.0
    slider.set_value(slider.max).run()
    assert made.session_state["frontier"].look.bound == pytest.approx(slider.max)
    assert next(box for box in made.number_input if box.label == slider.label).value == pytest.approx(slider.max)


@pytest.mark.slow
def test_a_changed_plan_is_said_where_the_map_rests_on_the_old_one(at: Workspace):
    made = explored(at)
    assert not any("plan has changed" in one.value for one in made.info)
    now = made.session_state["frontier"]
    made.session_state["frontier"] = replace(now, plan=edit_plan(now.plan, replicates=9))
    made.run()
    assert any("plan has changed" in one.value for one in made.info)


@pytest.mark.slow
@pytest.mark.parametrize("risk", [0.0, 0.25, 1.0])
def test_a_bound_can_be_set_where_all_candidates_have_the_same_risk(
    at: Workspace, view: RiskUtilityMap, monkeypatch: pytest.MonkeyPatch, risk: float
):
    flat = np.full(len(view.scenarios), risk)
    original = view.original_losses.copy()
    original[view.risk] = risk
    monkeypatch.setattr(RiskUtilityMap, "risk_loss", property(lambda self: flat))
    monkeypatch.setattr(RiskUtilityMap, "original_losses", property(lambda self: original))
    made = look(explored(at), rule="bound", bound=risk)
    slider = made.slider[0]
    assert slider.min <= slider.value <= slider.max and slider.min < slider.max
