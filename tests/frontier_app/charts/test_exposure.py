"""Pictures of what an intruder knows and of the limit: bars that add up."""

from __future__ import annotations

import pytest

from frontier_app.charts.exposure import fact_bars, reach


def test_each_fact_begins_where_the_one_before_ended() -> None:
    figure = fact_bars(["a", "+ b", "+ c"], [0, 3, 5], [3, 2, 15], 20, 1)
    base, added = (list(trace.x) for trace in figure.data)
    assert [low + more for low, more in zip(base, added, strict=True)] == [*base[1:], 20]


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [(0.3, [0.2, 0.1, 0.0], [0.0, 0.2, 0.1]), (None, [0.2, 0.3, 0.1], [0.0, 0.0, 0.0])],
)
def test_a_range_is_blue_up_to_the_limit(bound: float | None, inside: list[float], outside: list[float]) -> None:
    rows = [("1 %", 0.1, 0.3), ("2 %", 0.2, 0.5), ("5 %", 0.4, 0.5)]
    figure = reach(rows, bound, 0.6, "risk")
    assert list(figure.data[0].x) == pytest.approx(inside) and list(figure.data[1].x) == pytest.approx(outside)
    assert list(figure.data[2].x) == [0.6] and len(figure.layout.shapes) == (2 if bound else 0)
