"""When a published figure and ours agree, and that every kind of row can fail."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest

from tests.papers.row import MOST, Row, of_other

MEAN = Row("a mean", 0.5, 0.52, "B", 3, error=0.003, theirs=0.004)


def test_errors_of_both_sides_count() -> None:
    assert MEAN.spread == pytest.approx(0.005)
    assert MEAN.errors_apart() == pytest.approx((0.02 - 0.0005) / 0.005)
    assert MEAN.allowed == pytest.approx(MOST * 0.005 + 0.0005)
    assert of_other(0.01, 400, 100) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("ours", "agrees"), [(0.5, True), (0.5154, True), (0.5156, False), (0.48, False), (nan, False)]
)
def test_three_errors_and_rounding(ours: float, agrees: bool) -> None:
    assert replace(MEAN, ours=ours).agrees == agrees


def test_a_tolerance_does_not_grow_with_the_figure() -> None:
    """0.013 published and 0.033 found, each with an error of 0.0025, do not agree."""
    assert not Row("a shift", 0.013, 0.033, "B", 3, 0.0025, 0.0025, units=1).agrees


@pytest.mark.parametrize(
    "row",
    [
        Row("a count", 36, 36, "A", units=0),
        Row("a share", 1.0, 1.0, "A", 3, units=0),
        Row("a likelihood", -6665.46, -6665.4633, "A", 2),
    ],
)
def test_what_leaves_nothing_to_chance_must_be_equal(row: Row) -> None:
    assert row.agrees and row.errors_apart() == 0
    assert isinstance(row.ours, (int, float))
    for wrong in (row.ours + 10.0**-row.digits, row.ours - 10.0**-row.digits):
        other = replace(row, ours=wrong)
        assert not other.agrees and row.rejects(other) == inf


def test_words_and_bounds_can_fail() -> None:
    words = Row("a statement", "yes", "yes", "C", holds=True)
    bound = Row("largest |z|", "at most 4.5", 2.0, "B", 2, holds=True)
    assert words.agrees and bound.agrees
    assert not replace(words, holds=False).agrees
    assert bound.rejects(replace(bound, ours=9.0, holds=False)) == inf and bound.rejects(bound) == 0
    assert not Row("not tried", 0.5, None, "X", 2).agrees


def test_a_mutant_is_judged_by_the_larger_error() -> None:
    """A wrong implementation that varies less, or more, than the right one gains nothing by it."""
    still = replace(MEAN, ours=0.514, error=0.0, theirs=0.0)
    assert not still.agrees and MEAN.rejects(still) == 0
    wild = replace(MEAN, ours=0.6, error=0.1)
    assert MEAN.rejects(wild) == 0
    assert MEAN.rejects(replace(MEAN, ours=0.6)) == pytest.approx((0.1 - 0.0005) / 0.005)
    assert MEAN.rejects(replace(MEAN, ours=nan)) == inf
