"""The map's page: its states, its controls, the card, the table, pins, and finalists that can be stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

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
from frontier_app.widgets import candidate_card
from frontier_app.widgets.recommendation import Rule, rule
from tests.frontier_app.elements import press
from tests.frontier_app.pages.test_pages import app, select, to, words


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
    if "drawn" in changes:
        made.session_state["look-drawn"] = "map" if changes["drawn"] == "labelled" else changes["drawn"]
        made.session_state["look-names"] = changes["drawn"] == "labelled"
    made.run()
    assert not made.exception and not made.error
    return made


def limit(made: AppTest) -> Any:
    """The input of the largest acceptable risk."""
    return next(box for box in made.number_input if box.label.startswith("Limit"))


def middle(view: RiskUtilityMap) -> float:
    """A bound with candidates on both sides of it."""
    return float(np.nanmedian(view.risk_loss))


def test_the_title_is_the_finding_and_nothing_is_recommended_before_a_limit(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    assert made.title[0].value == f"{len(view.frontier())} of {len(view.scenarios)} candidates are on the frontier"
    assert "No candidate selected" in words(made) and limit(made).value is None


@pytest.mark.slow
def test_a_limit_recommends_letters_and_moves_the_optimum(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    limit(made).set_value(round(100 * middle(view), 3)).run()
    bound = made.session_state["frontier"].look.bound
    assert bound == pytest.approx(middle(view), abs=1e-5), "a share is typed in percent"
    best, n = view.under_bound(bound), int(view.meets(bound).sum())
    assert made.title[0].value == f"{n} of {len(view.scenarios)} candidates are within the limit"
    shown = words(made)
    assert "recommended" in shown and f"A · {candidate_card.differing(view).name(best)}" in shown
    limit(made).set_value(None).run()
    assert made.session_state["frontier"].look.rule == "none" and "No candidate selected" in words(made)


def test_a_slope_recommends_too_and_takes_the_place_of_the_limit(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    limit(made).set_value(0.2).run()
    slope = 3 * max(high for _, _, high in view.slope_intervals() if np.isfinite(high))
    made.number_input(key="slope").set_value(slope).run()
    assert not made.exception and not made.error
    now = made.session_state["frontier"].look
    assert now.rule == "slope" and now.bound is None and limit(made).value is None
    assert candidate_card.differing(view).name(view.by_slope(slope)[0]) in words(made)
    assert "| wins | for slopes |" in words(made)


@pytest.mark.slow
def test_the_plans_own_rule_recommends_without_being_asked(swept: Callable[..., Workspace], view: RiskUtilityMap):
    made = explored(swept(max_risk=f"{middle(view):.4f}"))
    assert "recommended" in words(made) and limit(made).value == pytest.approx(100 * round(middle(view), 4))
    assert made.session_state["frontier"].look.rule == "plan"


def test_a_bound_below_everything_says_so(at: Workspace, view: RiskUtilityMap):
    with Study.open(at.folder / "study-1.study") as study:
        found = rule(study, view, Look(rule="bound", bound=-1.0))
    assert found.index is None and "no candidate meets the limit" in found.trouble


@pytest.mark.slow
def test_a_bound_that_nothing_meets_says_what_would_and_does_it(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    limit(made).set_value(0.01).run()
    (warning,) = [str(one.value) for one in made.warning]
    assert warning.startswith("No candidate meets the limit 0.0001 (0.01 % of unaltered records). The least risk")
    assert "Fewer keys leave fewer small cells" in words(made)
    press(made, "unmet-allow")
    assert warning not in [one.value for one in made.warning]
    assert not made.exception and "recommended" in words(made)
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
    assert ("Names without room are left out" in words(made)) == (drawn == "labelled")
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
    assert any("90 % quantile of runs" in note.text for note in figure.layout.annotations)


def test_a_bound_on_the_mean_is_not_drawn_beside_a_quantile(view: RiskUtilityMap):
    on_mean = replace(view, single_runs=None)
    for shown, bounds in ((view, 1), (on_mean, 0)):
        figure = maps.candidate_figure(shown, Look(drawn="quantile", bound=0.1))
        assert sum("limit" in note.text for note in figure.layout.annotations) == bounds
    assert on_mean.quantiles.probability == view.quantiles.probability


def test_words_beside_the_quantile_say_what_is_drawn(at: Workspace):
    shown = words(look(explored(at), drawn="quantile"))
    assert "Risk here is what 90 % of a candidate's single runs do not exceed" in shown


@pytest.mark.slow
def test_how_much_of_the_true_frontier_was_found_stands_below_the_map(at: Workspace):
    assert "of its true members" in words(explored(at))


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


def test_a_range_of_the_map_fills_the_table(at: Workspace, view: RiskUtilityMap):
    box = (0.0, middle(view), 0.0, 1.0)
    made = look(explored(at), box=box)
    expected = inside(view, box[:2], box[2:])
    (shown,) = made.dataframe
    assert sorted(shown.value["id"]) == sorted(view.scenarios[i].label for i in expected.tolist())
    assert f"{len(expected)} of {len(view.scenarios)} · most useful first" in words(made)
    boxed = [
        shape for shape in json.loads(made.get("plotly_chart")[0].proto.spec)["layout"]["shapes"] if "xref" in shape
    ]
    assert any(shape["xref"] == "x" for shape in boxed), "it stays drawn"
    next(one for one in made.button if "Box on the map" in one.label).click().run()
    assert made.session_state["frontier"].look.box is None and len(made.dataframe[0].value) == len(view.scenarios)


def test_chips_filter_the_table_and_fade_the_map(at: Workspace, view: RiskUtilityMap):
    made = explored(at)
    (rate,) = [each for each in candidate_card.differing(view).filters if each.title == "Rate"]
    role = next(each for each in candidate_card.differing(view).filters if each.is_role)
    made.pills(key=f"filter-{rate.name}").set_value([rate.values[0]]).run()
    made.pills(key=f"filter-{role.name}").set_value(["S"]).run()
    assert not made.exception and not made.error
    passes = (rate.codes == 0) & (role.codes == role.values.index("S"))
    listed = made.dataframe[0].value
    assert set(listed["id"]) == {view.scenarios[i].label for i in np.flatnonzero(passes).tolist()} and passes.any()
    traces = json.loads(made.get("plotly_chart")[0].proto.spec)["data"]
    faded = sum(len(t["customdata"]) for t in traces if "customdata" in t and t["marker"]["opacity"] < 0.2)
    assert faded == len(view.scenarios) - passes.sum(), "none is removed"
    assert state.load(at)[0].filters == ((rate.name, (rate.values[0],)), (role.name, ("S",)))


def test_roles_are_letters_in_the_table_and_names_tell_what_differs(at: Workspace, view: RiskUtilityMap):
    made, config = rows(view, np.arange(len(view.scenarios)), Rule(), {})
    names = view.scenarios[0].spec.attributes.names
    of = {settings["label"]: name for name, settings in config.items()}
    for j, name in enumerate(names):
        letters = [cell[0] for cell in made[of[name]]]
        assert letters == [
            {"U": "·"}.get(s.spec.attributes.roles[j], s.spec.attributes.roles[j]) for s in view.scenarios
        ]
    told = candidate_card.differing(view)
    assert len({told.name(i) for i in range(len(view.scenarios))}) == len(view.scenarios)


def test_a_candidate_no_better_than_the_original_is_never_the_frontier_without_a_word(view: RiskUtilityMap):
    on = int(view.frontier()[0])
    risk, use = (float(view.original_losses[k]) for k in (view.risk, view.utility))
    for shift, said in ((0.001, "worse than the original"), (0.0, "equal to the original")):
        loss = view.summary.loss.copy()
        loss[on, [view.risk, view.utility]] = risk + shift, use + shift
        worse = replace(view, summary=replace(view.summary, loss=loss))
        assert said in map_data.dominance_words(worse, on) and said in map_data.words(worse, on)
        assert said in candidate_card.badges(worse, on)


def test_rows_say_letters_and_pins_and_leave_empty_columns_out(view: RiskUtilityMap):
    places = view.frontier()[:3]
    made, _ = rows(view, places, Rule(index=int(places[1]), letters=(("B", int(places[1])),)), {})
    assert made["letter"].tolist() == ["", "B", ""] and "pin" not in made.columns and "failed" not in made.columns
    bounded, _ = rows(view, places, Rule(bound=middle(view)), {})
    runs, k = view.results, view.risk
    of = [(runs.scenario == i) & runs.counted(view.allow_partial) for i in places.tolist()]
    assert bounded["within"].tolist() == [f"{(runs.values[m, k] <= middle(view)).sum()} of {m.sum()}" for m in of]


def test_the_card_has_at_most_six_lines(at: Workspace, view: RiskUtilityMap):
    made = select(look(explored(at), rule="bound", bound=middle(view)), view.scenarios[4].label)
    (lines,) = [one.proto.body for one in made.get("html") if "sf-lines" in one.proto.body and "<tr>" in one.proto.body]
    assert 4 <= lines.count("<tr>") <= 6 and lines.count("<span style") == int(view.summary.counted[4])


@pytest.mark.slow
def test_a_pin_is_kept_in_the_study_and_named_on_the_map(at: Workspace, view: RiskUtilityMap):
    label = view.scenarios[4].label
    made = select(explored(at), label)
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
    made = look(explored(at), filters=(("standing", ("named",)),))
    (shown,) = made.dataframe
    assert shown.value["pin"].tolist() == ["two"]


@pytest.mark.slow
def test_other_measures_have_no_bound_from_before(at: Workspace):
    made = explored(at)
    limit(made).set_value(0.2).run()
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
    limit(made).set_value(round(100 * middle(view), 3)).run()
    made.toggle(key="look-distortion").set_value(True).run()
    bound = made.session_state["frontier"].look.bound
    to(made, "compare")
    to(made, "explore")
    assert made.session_state["frontier"].look.bound == bound and limit(made).value == pytest.approx(100 * bound)
    assert made.toggle(key="look-distortion").value


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
    made = select(made, view.scenarios[4].label)
    before = made.session_state["frontier"]
    after = explored(at).session_state["frontier"]
    assert (after.look, after.selected) == (before.look, view.scenarios[4].label)
    at.note(study="study-2.study")
    assert state.load(at) == (Look(), None)
    at.note(study="study-1.study")
    at.save_look('{"study": "study-1.study", "look": {"risk": null}}')
    assert state.load(at) == (Look(), None)


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
    assert limit(made).value == pytest.approx(100 * risk)
