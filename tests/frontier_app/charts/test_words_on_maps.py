"""Nothing is drawn over the words of a map: points, bars, rings and the frontier's line keep off them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.report import map_model
from frontier_app.charts import maps
from frontier_app.charts.map_data import Cloud, Marks

_MARKS = Marks(original=(0.0, 0.05), risk_title="risk", utility_title="utility", errors=True)
_HALF = 0.5 * 15
"""Half the height of a line of words, pixels."""
Box = tuple[float, float, float, float]


def _cloud(**changes: object) -> Cloud:
    """The first candidate has a neighbour to the right, whose bar stands where its letter would."""
    n = 4
    base = Cloud(
        loss=np.array([0.4, 0.379, 0.2, 0.1]),
        risk=np.array([0.02, 0.021, 0.03, 0.04]),
        loss_se=np.full(n, 0.004),
        risk_se=np.array([0.012, 0.012, 0.002, 0.002]),
        index=np.arange(n),
        on=np.ones(n, bool),
        category=np.zeros(n, int),
        categories=("1 %",),
        facet=np.zeros(n, int),
        facets=("",),
        hover=[],
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def _pixels(figure: Any, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    (left, right), (low, high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    wide, tall = map_model.SIZE
    return wide * (np.asarray(x, float) - left) / (right - left), tall * (np.asarray(y, float) - low) / (high - low)


def _words(figure: Any) -> dict[str, Box]:
    """Where letters and the words of no release stand, in pixels."""
    boxes = {}
    for note in figure.layout.annotations:
        if note.showarrow:
            plain = note.text.replace("<b>", "").replace("</b>", "")
            x, y = (float(place) for place in _pixels(figure, note.x, note.y))
            half = 7.2 * len(plain) / 2
            x, y = x + note.ax, y - note.ay
            boxes[plain] = (x - half, y - _HALF, x + half, y + _HALF)
    (none,) = [trace for trace in figure.data if trace.text and "no release" in trace.text[0]]
    lines = none.text[0].split("<br>")
    x, y = (float(place[0]) for place in _pixels(figure, none.x, none.y))
    tall = _HALF * len(lines)
    boxes["no release"] = (x - 7, y - tall, x + 12 + 6.6 * max(map(len, lines)), y + tall)
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


_ENDLESS = (np.full(4, -np.inf), np.full(4, np.inf))


@pytest.mark.parametrize("interval", [None, _ENDLESS])
@pytest.mark.parametrize("span", ["original", "zero"])
def test_no_bar_is_drawn_over_letters_and_the_words_of_no_release(span: str, interval: Any) -> None:
    marks = replace(_MARKS, span=span, flags={0: "A", 1: "B", 2: "C"}, pins={3: "mine"}, optimum=0)
    figure = maps.risk_utility(_cloud(interval=interval), marks)
    words, bars = _words(figure), _bars(figure)
    assert len(words) == 5 and len(bars) == 8
    assert not [name for name, box in words.items() if any(_met(box, bar) for bar in bars)]


def test_rings_keep_off_the_letters_of_others() -> None:
    near = _cloud(loss=np.array([0.4, 0.3642, 0.2, 0.1]), risk=np.array([0.02, 0.0177, 0.03, 0.04]))
    figure = maps.risk_utility(near, replace(_MARKS, errors=False, flags={0: "A"}, optimum=1))
    x, y = (float(place) for place in _pixels(figure, 0.3642, 0.0177))
    assert not _met(_words(figure)["A"], (x - 13, y - 13, x + 13, y + 13))


def test_no_bar_is_cut_off() -> None:
    figure = maps.risk_utility(_cloud(risk_se=np.full(4, 0.03)), _MARKS)
    low, high = figure.layout.yaxis.range
    assert low < 0.02 - 0.03 and high > 0.04 + 0.03
