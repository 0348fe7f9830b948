"""Figures: the risk–utility map, its words, and figures before and after."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.data.io.readers import read_table
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import call
from engine.plan import plan_from_toml
from engine.report import map_model
from engine.study.map_reader import LiveFrontier, risk_utility_map
from engine.sweeps.sweep import sweep
from frontier_app.charts import before_after, map_data, maps, style
from frontier_app.charts.map_data import Cloud, Marks
from frontier_app.charts.style import COLOURS, QUIET, SHAPES, TOOLBAR
from frontier_app.pages.explore.table import rows
from frontier_app.widgets import candidate_card
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import text
from tests.frontier_app.contrast import INKS, contrast
from tests.households import CENSUS_PLAN, census_files


def cloud(n: int = 4, **changes: object) -> Cloud:
    base = Cloud(
        use=np.linspace(0.4, 0.1, n),
        risk=np.linspace(0.01, 0.04, n),
        use_se=np.full(n, 0.01),
        risk_se=np.full(n, 0.001),
        index=np.arange(n) * 10,
        on=np.arange(n) % 2 == 0,
        category=np.arange(n) % 2,
        categories=("1 %", "2 %"),
        facet=np.zeros(n, int),
        facets=("",),
        hover=np.array([f"point {i}" for i in range(n)], object),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


MARKS = Marks(original=(0.0, 0.05), risk_title="risk", utility_title="utility")


def traces(figure: Any, what: str) -> list[Any]:
    return [t for t in figure.data if t.name == what or (t.text is not None and what in t.text)]


@pytest.mark.slow
def test_the_toolbar_has_room_above_the_legend():
    one = maps.risk_utility(cloud(), MARKS).layout
    several = maps.risk_utility(cloud(facet=np.arange(4) % 2, facets=("1 %", "2 %")), MARKS).layout
    values = [np.arange(4.0), np.arange(4.0)]
    axes = [before_after.Axis(name, "riskier", False, column, 0.0) for name, column in zip("ab", values, strict=True)]
    candidates = before_after.MatrixPoints(values[0] > 1, np.arange(4), [], np.zeros(4, int), ("1 %",))
    matrix = before_after.splom(axes, candidates).layout
    assert min(layout.margin.t for layout in (one, several, matrix)) >= TOOLBAR + 30
    names = ("a rather long name of it", "another", "and another", "a last one")
    crowded = cloud(4, category=np.arange(4), categories=names)
    rows = maps.risk_utility(crowded, replace(MARKS, optimum=10, pins={20: "mine"})).layout
    assert rows.margin.t >= one.margin.t + 2 * maps.LEGEND_ROW
    for layout in (one, rows):
        assert layout.height - layout.margin.t == MARKS.height - 32, "the drawing itself loses nothing"
    assert maps.risk_utility(cloud(), replace(MARKS, legend=None)).layout.margin.t >= TOOLBAR


def test_the_axes_of_all_figures_lead_the_same_way():
    assert text.towards(call("small_cells")) == "riskier" and text.towards(call("hellinger")) == "more useful"
    assert text.risk_axis(call("small_cells")).endswith("riskier ↑")
    assert text.utility_axis(call("hellinger")).endswith("more useful →")


def test_names_of_people_keep_their_capital_within_a_sentence():
    named = [text.measure_within(call(name)) for name in ("hellinger", "small_cells", "entropy_change")]
    assert named == ["Hellinger distance", "small-cell risk", "size of entropy change"]


def test_utility_is_to_the_right_and_risk_upwards():
    figure = maps.risk_utility(cloud(), MARKS)
    left, right = figure.layout.xaxis.range
    assert left > 0.4 and right < 0.0  # the loss runs backwards, with the figures as they are
    bottom, top = figure.layout.yaxis.range
    assert bottom < top and bottom < 0.01 and top > 0.05


def test_a_measure_where_more_is_better_runs_forwards_with_its_own_figures():
    turned = cloud(risk=np.linspace(0.9, 0.6, 4), signs=(-1.0, -1.0))
    figure = maps.risk_utility(turned, replace(MARKS, original=(0.5, 0.5), bound=0.7))
    left, right = figure.layout.xaxis.range
    bottom, top = figure.layout.yaxis.range
    assert left < right and bottom > top  # less protection is riskier, so it is above
    points = [t for t in figure.data if t.customdata is not None]
    assert min(float(min(t.y)) for t in points) == pytest.approx(0.6)
    assert [shape.y0 for shape in figure.layout.shapes if shape.line.dash == "dash"] == [pytest.approx(0.7)]


def test_clicks_tell_places_and_shape_says_the_same_as_colour():
    figure = maps.risk_utility(cloud(), MARKS)
    points = [t for t in figure.data if t.customdata is not None]
    assert sorted(int(i) for t in points for i in t.customdata) == [0, 10, 20, 30]
    looks = {(t.marker.color, t.marker.symbol.removesuffix("-open")) for t in points}
    assert looks == {style.look_of(0), style.look_of(1)}
    for t in points:
        on = {0: True, 10: False, 20: True, 30: False}
        assert all(t.marker.symbol.endswith("-open") != on[int(i)] for i in t.customdata)


def test_the_unprotected_file_is_marked_and_only_the_frontier_is_a_line():
    figure = maps.risk_utility(cloud(), MARKS)
    assert len(traces(figure, "unprotected file")) == 1
    (line,) = [t for t in figure.data if t.mode == "lines"]
    assert list(line.y) == sorted(line.y) and line.line.shape == "vh"


@pytest.mark.parametrize(
    ("span", "words"), [("original", "risk does not start at zero"), ("frontier", "zoomed in"), ("zero", None)]
)
def test_what_the_axes_leave_out_is_said(span: str, words: str | None):
    high = cloud(risk=np.linspace(1.01, 1.04, 4))
    figure = maps.risk_utility(high, replace(MARKS, original=(0.0, 1.05), span=span))
    said = " ".join(a.text for a in figure.layout.annotations)
    assert (words in said) if words else "zero" not in said
    assert ("unprotected is outside" in said) == (span == "frontier")
    if span == "zero":
        assert figure.layout.yaxis.range[0] < 0


def test_riskier_than_doing_nothing_is_marked_only_when_some_are():
    assert not any("riskier than" in (a.text or "") for a in maps.risk_utility(cloud(), MARKS).layout.annotations)
    figure = maps.risk_utility(cloud(), replace(MARKS, original=(0.0, 0.02)))
    assert any("riskier than" in (a.text or "") for a in figure.layout.annotations)


def test_undefined_figures_are_left_out_and_an_empty_map_is_drawn():
    holes = cloud(risk=np.array([np.nan, 0.02, 0.03, np.nan]), on=np.array([False, True, True, False]))
    assert np.isfinite(maps.risk_utility(holes, MARKS).layout.yaxis.range).all()
    none = cloud(use=np.full(4, np.nan), risk=np.full(4, np.nan), on=np.zeros(4, bool))
    assert np.isfinite(maps.risk_utility(none, MARKS).layout.xaxis.range).all()


def test_panels_by_rate_have_scales_of_their_own_and_say_so():
    panels = cloud(facet=np.array([0, 0, 1, 1]), facets=("1 % (a scale of its own)", "2 % (a scale of its own)"))
    figure = maps.risk_utility(panels, MARKS)
    assert list(figure.layout.xaxis.range) != list(figure.layout.xaxis2.range)
    assert sum("a scale of its own" in (a.text or "") for a in figure.layout.annotations) == 2
    for axis in ("x", "x2"):  # doing nothing is in every panel
        (own,) = [t for t in traces(figure, "unprotected file") if (t.xaxis or "x") == axis]
        low, high = sorted(figure.layout[axis.replace("x", "xaxis")].range)
        assert low <= own.x[0] <= high


@pytest.mark.slow
def test_very_many_points_are_a_density_and_the_frontier_stays():
    n = map_data.MANY + 10
    rng = np.random.default_rng(1)
    bulk = np.array([rng.random(n), rng.random(n), np.zeros(n), np.ones(n)])
    many = cloud(5, on=np.ones(5, bool), category=np.zeros(5, int), hover=None, bulk=bulk)
    figure = maps.risk_utility(many, MARKS)
    (heat,) = [t for t in figure.data if t.type == "heatmap"]
    assert np.nansum(heat.customdata) == n
    points = [t for t in figure.data if t.customdata is not None and t.type != "heatmap"]
    assert sum(len(t.customdata) for t in points) == 5
    assert len(figure.to_json()) < 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("picks", [False, True])
def test_a_framed_figure_holds_nothing_that_is_drawn_twice(picks: bool):
    n = map_data.MANY + 10
    bulk = np.array([np.linspace(0, 1, n), np.linspace(0, 1, n), np.zeros(n), np.ones(n)])
    for points in (cloud(), cloud(bulk=bulk)):
        made = style.framed(maps.risk_utility(points, MARKS), picks=picks)
        sent = json.loads(made.to_json())
        assert "template" not in sent["layout"] and "bdata" not in made.to_json() and "NaN" not in made.to_json()
        assert sent["layout"]["datarevision"] == 1 and sent["layout"]["font"]["color"] == style.INK
        assert (sent["layout"].get("clickmode") == "event+select") == picks
        assert sent["layout"]["height"] == maps.risk_utility(points, MARKS).layout.height


def test_the_page_makes_a_figures_ink_its_own():
    said = f"rgb({', '.join(str(int(style.INK[i : i + 2], 16)) for i in (1, 3, 5))})"
    assert f'[style*="fill: {said}"]' in style.CSS and f'[style*="stroke: {said}"]' in style.CSS
    assert contrast(*style._NOTE) >= 7.0


@pytest.mark.parametrize("n", [8, style.WEBGL + 8])
def test_the_growing_map_draws_every_candidate_once(n: int):
    losses = np.column_stack([np.linspace(0, 1, n), np.linspace(1, 0, n) ** 2])
    losses[3] += 1
    on = np.ones(n, bool)
    on[3] = False
    found = LiveFrontier(n, np.arange(n), losses, on, (1.0, 1.0), 0.5)
    made = maps.live_figure(found, "risk", "use", (1.0, 1.0), (1.0, 0.0))
    points = [trace for trace in made.data if trace.customdata is not None]
    assert sorted(len(trace.x) for trace in points) == [1, n - 1] and traces(made, "unprotected file")
    assert points[0].type == ("scatter" if n < style.WEBGL else "scattergl")


def test_numbers_are_sent_as_a_list_until_they_are_very_many():
    assert style.sent(np.array([1.5, np.nan])) == [1.5, None] and style.sent(np.array([3, 4])) == [3, 4]
    many = style.sent(np.arange(20_000))
    assert isinstance(many, np.ndarray) and many.dtype == np.int32
    assert style.sent(np.linspace(0, 1, 20_000)).dtype == np.float32  # type: ignore[union-attr]


def test_a_density_counts_every_point_once_but_undefined_ones():
    bulk = np.array([[0.0, 0.25, 0.4, np.nan, 0.25], [0.01, 0.02, 0.05, 0.02, np.nan], np.zeros(5), np.ones(5)])
    (heat,) = [t for t in maps.risk_utility(cloud(bulk=bulk), MARKS).data if t.type == "heatmap"]
    counts = np.array(heat.customdata)
    assert counts.sum() == 3 and counts.shape == (120, 120) and (len(heat.x), len(heat.y)) == (121, 121)
    for use, risk in bulk[:2, :3].T:
        assert counts[np.searchsorted(heat.y, risk) - 1, np.searchsorted(heat.x, use) - 1] == 1


def test_what_the_filters_leave_out_fades_and_stays() -> None:
    lit = np.array([True, False, True, False])
    points = [t for t in maps.risk_utility(cloud(lit=lit), MARKS).data if t.customdata is not None]
    faded = {int(i): t.marker.opacity < 0.2 for t in points for i in t.customdata}
    assert faded == {0: False, 10: True, 20: False, 30: True}
    bulk = np.array([[0.1, 0.2, 0.3], [0.01, 0.02, 0.03], np.zeros(3), [1, 0, 1]])
    grey, blue = [t for t in maps.risk_utility(cloud(bulk=bulk), MARKS).data if t.type == "heatmap"]
    assert (np.sum(grey.customdata), np.sum(blue.customdata)) == (1, 2)


def test_a_selected_range_stays_drawn_and_what_is_filled_is_within_the_limit() -> None:
    marks = replace(MARKS, box=(0.3, 0.1, 0.02, 0.03), bound=0.025, within="within the limit: 2", shares=(False, True))
    figure = maps.risk_utility(cloud(filled=np.array([True, True, False, False])), marks)
    (box,) = [shape for shape in figure.layout.shapes if shape.xref == "x" and shape.type == "rect"]
    assert (box.x0, box.x1, box.y0, box.y1) == marks.box
    said = [note.text for note in figure.layout.annotations]
    assert "<b>limit 2.5 %</b>" in said and "<b>within the limit: 2</b>" in said
    assert figure.layout.yaxis.tickformat == "~%" and figure.layout.xaxis.tickformat is None
    filled = {
        int(i): not symbol.endswith("-open")
        for t in figure.data
        if t.customdata is not None
        for i, symbol in zip(t.customdata, t.marker.symbol, strict=True)
    }
    assert filled == {0: True, 10: True, 20: False, 30: False}


def test_the_candidate_at_hand_has_a_ring_among_very_many() -> None:
    bulk = np.array([[0.1, 0.2], [0.01, 0.02], np.zeros(2), np.ones(2)])
    figure = maps.risk_utility(cloud(bulk=bulk), replace(MARKS, selected=20))
    rings = [t for t in figure.data if t.type == "scatter" and t.customdata is None and t.marker.size == 34]
    assert all(t.x[0] == pytest.approx(0.2) for t in rings) and {t.marker.color for t in rings} == {"white", INKS[0]}


def test_many_categories_stay_apart():
    looks = [style.look_of(i) for i in range(len(COLOURS) * len(SHAPES))]
    assert len(set(looks)) == len(looks)


def test_selected_point_and_optimum_are_drawn():
    figure = maps.risk_utility(cloud(), replace(MARKS, selected=20, optimum=20, bound=0.03))
    chosen = [t for t in figure.data if t.customdata is not None and t.selectedpoints]
    assert [int(t.customdata[t.selectedpoints[0]]) for t in chosen] == [20]
    stars = [t for t in figure.data if t.mode == "markers" and t.marker.symbol == "star"]
    assert [float(t.x[0]) for t in stars if t.x[0] is not None] == [pytest.approx(0.2)]


def test_letters_and_pins_are_named_beside_their_points():
    marks = replace(MARKS, flags={0: "A", 20: "B D=3"}, pins={20: "mine", 30: "x1"}, optimum=20)
    figure = maps.risk_utility(cloud(), marks)
    named = {a.text: a.x for a in figure.layout.annotations if a.showarrow}
    assert named == {
        "<b>A</b>": pytest.approx(0.4),
        "<b>B D=3</b> mine": pytest.approx(0.2),
        "x1": pytest.approx(0.1),
    }
    assert sum(t.marker.symbol == "square-open" and t.x[0] is not None for t in figure.data if t.mode == "markers") == 2


def test_in_the_distortion_view_more_distortion_is_to_the_right():
    figure = maps.risk_utility(cloud(), replace(MARKS, distortion=True))
    left, right = figure.layout.xaxis.range
    assert left < 0 < 0.4 < right


def test_a_straight_trade_off_touches_the_candidate_it_picks():
    figure = maps.risk_utility(cloud(), replace(MARKS, optimum=20, slope=0.1))
    (line,) = [t for t in figure.data if t.mode == "lines" and t.line.dash == "dash"]
    (x0, x1), (y0, y1) = line.x, line.y
    assert (y1 - y0) / (x1 - x0) == pytest.approx(-0.1)  # less loss is worth more risk
    at = y0 + (0.2 - x0) * (y1 - y0) / (x1 - x0)
    assert at == pytest.approx(0.03)


def test_what_is_muted_is_grey_and_behind():
    figure = maps.risk_utility(cloud(muted=1, on=np.zeros(4, bool)), MARKS)
    points = [t for t in figure.data if t.customdata is not None]
    assert [t.marker.color for t in points] == [QUIET, COLOURS[0]]


def test_labels_never_cover_each_other():
    rng = np.random.default_rng(3)
    x, y = 0.1 + 0.8 * rng.random(40), 0.1 + 0.8 * rng.random(40)
    words = [f"W{i}" for i in range(40)]
    sides = map_model.beside(x, y, words, first=[7])
    assert sides[7] and sum(map(bool, sides)) > 20
    crowd = map_model.beside(np.full(30, 0.5), np.full(30, 0.5), words[:30])
    assert sum(map(bool, crowd)) < 9  # eight sides; what has no room is left out


def test_a_matrix_of_measures_has_axes_and_colours_of_the_map_tells_places_and_shows_doing_nothing():
    axes = [
        before_after.Axis("a", "more useful", True, np.array([1.0, 2.0, 3.0]), 0.0),
        before_after.Axis("b", "more useful", False, np.array([3.0, 2.0, 1.0]), 4.0),
        before_after.Axis("c", "riskier", False, np.array([1.0, 1.0, 2.0]), 0.0),
    ]
    on, category = np.array([True, False, True]), np.array([0, 1, 1])
    points = before_after.MatrixPoints(on, np.array([4, 5, 6]), ["p", "q", "r"], category, ("1 %", "2 %"))
    figure = before_after.splom(axes, points)
    assert sum(t.name == "original data" and not t.showlegend for t in figure.data if t.x[0] is not None) == 3
    titles = [figure.layout[f"{axis}axis{n}"].title.text for axis, n in (("x", 3), ("x", 4), ("y", ""), ("y", 3))]
    ends = ("more useful →", "more useful →", "more useful ↑", "riskier ↑")
    assert titles == [f"{name}<br><i>{end}</i>" for name, end in zip("abbc", ends, strict=True)]
    assert figure.layout.xaxis3.autorange == "reversed" and figure.layout.yaxis3.autorange is True
    first = [t for t in figure.data if t.xaxis == "x" and t.customdata is not None]
    looks = {t.customdata[0]: (t.marker.color, t.marker.symbol) for t in first}
    assert looks == {4: (COLOURS[0], SHAPES[0]), 5: (COLOURS[1], f"{SHAPES[1]}-open"), 6: (COLOURS[1], SHAPES[1])}


def test_the_words_of_doing_nothing_go_where_no_candidate_is():
    above = cloud(use=np.array([0.4, 0.02, 0.0, -0.02]), risk=np.array([0.01, 0.052, 0.053, 0.052]))
    sides = {
        trace.textposition
        for points in (cloud(), above)
        for trace in maps.risk_utility(points, MARKS).data
        if trace.text == ("unprotected file",)
    }
    assert sides == {"top left", "bottom left"}


def test_the_ring_of_a_pin_has_neither_the_colour_of_a_rate_nor_the_shape_of_the_recommended_one():
    figure = maps.risk_utility(cloud(), replace(MARKS, pins={10: "kept"}, optimum=20))
    rings = {trace.name: trace.marker for trace in figure.data if trace.name in ("pinned", "recommended")}
    assert rings["pinned"].color not in COLOURS
    assert rings["pinned"].symbol != rings["recommended"].symbol


def test_a_mean_that_rounds_to_zero_has_no_sign():
    assert text.with_error(-0.00001, 0.0004) == "0.0000 ± 0.0004"
    assert text.with_error(-0.0012, 0.0004) == "-0.0012 ± 0.0004"
    assert text.with_error(2416.4, 4.0) == "2,416 ± 4"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RiskUtilityMap:
    folder = tmp_path_factory.mktemp("households")
    raw = read_table(census_files(folder)[0])
    with sweep(raw, plan_from_toml(CENSUS_PLAN), folder / "census.study", workers=1) as study:
        return risk_utility_map(study)


def test_households_stand_beside_records_over_a_point_on_its_card_and_in_the_table(view: RiskUtilityMap) -> None:
    assert view.households is not None
    mean = f"{view.households[0]:,.0f} households"
    assert f"{mean} moved" in map_data.words(view, 0)
    assert f"On average {mean} moved, with all who live in them." in candidate_card.certainty(view, 0, 10, 0)
    table, _ = rows(view, np.arange(1), Rule(), {})
    assert table["households"].tolist() == [view.households[0]]


@pytest.mark.parametrize("households", [None, np.array([np.nan])])
def test_nothing_is_said_of_households_where_single_records_move(
    view: RiskUtilityMap, households: np.ndarray | None
) -> None:
    of_records = replace(view, households=households)
    assert "household" not in map_data.words(of_records, 0)
    assert "household" not in candidate_card.certainty(of_records, 0, 10, 0)
    assert "households" not in rows(of_records, np.arange(1), Rule(), {})[0]


_HALF = 0.5 * 15
"""Half the height of a line of words, pixels."""
Box = tuple[float, float, float, float]


def _cloud(**changes: object) -> Cloud:
    """The first candidate has a neighbour to the right, whose bar stands where its letter would."""
    places = {"use": np.array([0.4, 0.379, 0.2, 0.1]), "risk": np.array([0.02, 0.021, 0.03, 0.04])}
    errors = {"use_se": np.full(4, 0.004), "risk_se": np.array([0.012, 0.012, 0.002, 0.002])}
    return cloud(4, **{**places, **errors, "on": np.ones(4, bool), "index": np.arange(4), **changes})


def _pixels(figure: Any, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    (left, right), (low, high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    wide, tall = map_model.SIZE
    return wide * (np.asarray(x, float) - left) / (right - left), tall * (np.asarray(y, float) - low) / (high - low)


def _words(figure: Any) -> dict[str, Box]:
    """Where letters stand, in pixels."""
    boxes = {}
    for note in figure.layout.annotations:
        if note.showarrow:
            plain = note.text.replace("<b>", "").replace("</b>", "")
            x, y = (float(place) for place in _pixels(figure, note.x, note.y))
            half = 7.2 * len(plain) / 2
            x, y = x + note.ax, y - note.ay
            boxes[plain] = (x - half, y - _HALF, x + half, y + _HALF)
    return boxes


def _bars(figure: Any) -> list[Box]:
    """Every bar about a candidate as a thin box, in pixels."""
    boxes: list[Box] = []
    for trace in figure.data:
        if trace.customdata is None:
            continue
        for name in ("error_x", "error_y"):
            array = np.asarray(trace[name].array, float)
            minus = array if trace[name].arrayminus is None else np.asarray(trace[name].arrayminus, float)
            x, y = np.asarray(trace.x, float), np.asarray(trace.y, float)
            across = name == "error_x"
            (x0, y0), (x1, y1) = (
                _pixels(figure, x + step * across, y + step * (not across)) for step in (-minus, array)
            )
            boxes += zip(np.minimum(x0, x1), np.minimum(y0, y1), np.maximum(x0, x1), np.maximum(y0, y1), strict=True)
    return boxes


def _met(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


_ENDLESS = np.array([np.full(4, -np.inf), np.full(4, np.inf)])


@pytest.mark.parametrize("ends", [None, _ENDLESS])
@pytest.mark.parametrize("span", ["original", "zero"])
def test_no_bar_is_drawn_over_letters(span: str, ends: Any) -> None:
    marks = replace(MARKS, errors=True, span=span, flags={0: "A", 1: "B", 2: "C"}, pins={3: "mine"}, optimum=0)
    figure = maps.risk_utility(_cloud(ends=ends), marks)
    words, bars = _words(figure), _bars(figure)
    assert len(words) == 4 and len(bars) == 8
    assert not [name for name, box in words.items() if any(_met(box, bar) for bar in bars)]


def test_rings_keep_off_the_letters_of_others() -> None:
    near = _cloud(use=np.array([0.4, 0.3642, 0.2, 0.1]), risk=np.array([0.02, 0.0177, 0.03, 0.04]))
    figure = maps.risk_utility(near, replace(MARKS, flags={0: "A"}, optimum=1))
    x, y = (float(place) for place in _pixels(figure, 0.3642, 0.0177))
    assert not _met(_words(figure)["A"], (x - 13, y - 13, x + 13, y + 13))


def test_no_bar_is_cut_off() -> None:
    figure = maps.risk_utility(_cloud(risk_se=np.full(4, 0.03)), replace(MARKS, errors=True))
    low, high = figure.layout.yaxis.range
    assert low < 0.02 - 0.03 and high > 0.04 + 0.03
