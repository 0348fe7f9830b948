"""Figures from arrays: directions, anchors, shapes, contrast, and the density for very many points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from frontier_app import charts
from frontier_app.charts import COLOURS, GROUNDS, QUIET, SHAPES, Cloud, Marks


def cloud(n: int = 4, **changes: object) -> Cloud:
    loss = np.linspace(0.4, 0.1, n)
    base = Cloud(
        loss=loss,
        risk=np.linspace(0.01, 0.04, n),
        loss_se=np.full(n, 0.01),
        risk_se=np.full(n, 0.001),
        place=np.arange(n) * 10,
        on=np.arange(n) % 2 == 0,
        category=np.arange(n) % 2,
        categories=("1 %", "2 %"),
        facet=np.zeros(n, int),
        facets=("",),
        hover=[f"point {i}" for i in range(n)],
    )
    return replace(base, **changes)  # type: ignore[arg-type]


MARKS = Marks(original=(0.0, 0.05), risk_title="risk", utility_title="utility")


def traces(figure: object, what: str) -> list[object]:
    return [t for t in figure.data if t.name == what or (t.text is not None and what in t.text)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("colour", [*COLOURS, QUIET])
@pytest.mark.parametrize("ground", GROUNDS)
def test_colours_keep_three_to_one_on_both_themes(colour: str, ground: str):
    assert charts.contrast(colour, ground) >= 3.0


def test_contrast_of_black_on_white_is_twenty_one():
    assert charts.contrast("#000000", "#FFFFFF") == pytest.approx(21.0)


def test_utility_is_to_the_right_and_risk_upwards():
    figure = charts.risk_utility(cloud(), MARKS)
    left, right = figure.layout.xaxis.range
    assert left > 0.4 and right < 0.0  # the loss runs backwards, with the figures as they are
    bottom, top = figure.layout.yaxis.range
    assert bottom < top and bottom < 0.01 and top > 0.05


def test_a_measure_where_more_is_better_runs_forwards_with_its_own_figures():
    turned = cloud(loss=-np.linspace(0.4, 0.1, 4), utility_sign=-1.0, risk=-np.linspace(0.9, 0.6, 4), risk_sign=-1.0)
    figure = charts.risk_utility(turned, replace(MARKS, original=(-0.5, -0.5), bound=-0.7))
    left, right = figure.layout.xaxis.range
    bottom, top = figure.layout.yaxis.range
    assert left < right and bottom > top  # less protection is riskier, so it is above
    points = [t for t in figure.data if t.customdata is not None]
    assert min(float(min(t.y)) for t in points) == pytest.approx(0.6)
    assert [shape.y0 for shape in figure.layout.shapes if shape.line.dash == "dash"] == [pytest.approx(0.7)]


def test_clicks_tell_places_and_shape_says_the_same_as_colour():
    figure = charts.risk_utility(cloud(), MARKS)
    points = [t for t in figure.data if t.customdata is not None]
    assert sorted(int(i) for t in points for i in t.customdata) == [0, 10, 20, 30]
    looks = {(t.marker.color, t.marker.symbol.removesuffix("-open")) for t in points}
    assert looks == {charts.look_of(0), charts.look_of(1)}
    for t in points:
        on = {0: True, 10: False, 20: True, 30: False}
        assert all(t.marker.symbol.endswith("-open") != on[int(i)] for i in t.customdata)


def test_both_anchors_and_only_the_frontier_is_a_line():
    figure = charts.risk_utility(cloud(), MARKS)
    assert len(traces(figure, "original data")) == 1
    assert len(traces(figure, "no release (no risk, below ↓)")) == 1
    (line,) = [t for t in figure.data if t.mode == "lines"]
    assert line.y.tolist() == sorted(line.y.tolist()) and line.line.shape == "hv"


@pytest.mark.parametrize(
    ("span", "words"), [("original", "risk does not start at zero"), ("frontier", "zoomed in"), ("zero", None)]
)
def test_what_the_axes_leave_out_is_said(span: str, words: str | None):
    high = cloud(risk=np.linspace(1.01, 1.04, 4))
    figure = charts.risk_utility(high, replace(MARKS, original=(0.0, 1.05), span=span))
    said = " ".join(a.text for a in figure.layout.annotations)
    assert (words in said) if words else "zero" not in said
    assert ("doing nothing is outside" in said) == (span == "frontier")
    if span == "zero":
        assert figure.layout.yaxis.range[0] < 0


def test_riskier_than_doing_nothing_is_marked_only_when_some_are():
    assert not any("riskier" in (a.text or "") for a in charts.risk_utility(cloud(), MARKS).layout.annotations)
    figure = charts.risk_utility(cloud(), replace(MARKS, original=(0.0, 0.02)))
    assert any("riskier" in (a.text or "") for a in figure.layout.annotations)


def test_undefined_figures_are_left_out_and_an_empty_map_is_drawn():
    holes = cloud(risk=np.array([np.nan, 0.02, 0.03, np.nan]), on=np.array([False, True, True, False]))
    assert np.isfinite(charts.risk_utility(holes, MARKS).layout.yaxis.range).all()
    none = cloud(loss=np.full(4, np.nan), risk=np.full(4, np.nan), on=np.zeros(4, bool))
    assert np.isfinite(charts.risk_utility(none, MARKS).layout.xaxis.range).all()


def test_panels_by_rate_share_their_axes():
    figure = charts.risk_utility(cloud(facet=np.arange(4) % 2, facets=("1 %", "2 %")), MARKS)
    assert list(figure.layout.xaxis.range) == list(figure.layout.xaxis2.range)
    assert [a.text for a in figure.layout.annotations][:2] == ["1 %", "2 %"]


def test_very_many_points_become_a_density_and_the_frontier_stays():
    n = charts.MANY + 10
    rng = np.random.default_rng(1)
    on = np.zeros(n, bool)
    on[:5] = True
    many = cloud(n, loss=rng.random(n), risk=rng.random(n), on=on, category=np.zeros(n, int), hover=[])
    figure = charts.risk_utility(many, MARKS)
    (heat,) = [t for t in figure.data if t.type == "heatmap"]
    assert np.nansum(heat.customdata) <= n - 5
    assert sum(len(t.customdata) for t in figure.data if t.type == "scattergl") == 5
    assert len(figure.to_json()) < 1_000_000


def test_many_categories_stay_apart():
    looks = [charts.look_of(i) for i in range(len(COLOURS) * len(SHAPES))]
    assert len(set(looks)) == len(looks)


def test_selected_point_and_optimum_are_drawn():
    figure = charts.risk_utility(cloud(), replace(MARKS, selected=2, optimum=2, bound=0.03))
    chosen = [t for t in figure.data if t.customdata is not None and t.selectedpoints]
    assert [int(t.customdata[t.selectedpoints[0]]) for t in chosen] == [20]
    assert any(t.marker.size == 24 for t in figure.data if t.mode == "markers" and t.customdata is None)


def test_levels_and_matrix():
    bars = charts.levels(("a", "b"), np.array([3, 2]), np.array([2, 3]))
    assert [list(b.x) for b in bars.data] == [[3, 2], [2, 3]]
    table = charts.matrix(("a", "b", "c"), np.array([[0, 0.1, 0], [0.1, 0, 0.2], [0, 0.2, 0]]))
    assert table.data[0].text[1][0] == "10.0" and table.data[0].text[2][0] == "0" and table.data[0].text[0][0] == ""
