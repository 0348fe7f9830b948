"""A bound in the unit of its measure, and an example that follows the data."""

from __future__ import annotations

import math

import pytest

from engine.decision.bound_words import bound_words, example_bound, figure_words, reachable_bound
from engine.measures import call


def test_a_share_of_unaltered_records_is_no_share_of_all() -> None:
    words = bound_words(call("small_cells"), 0.55, 12_000)
    assert words == (
        "That is 55 % of unaltered records. It is at most 6,600 records of 12,000, and fewer the more records a "
        "candidate alters."
    )


def test_a_share_of_all_records_is_told_in_records_and_other_units_are_not() -> None:
    assert bound_words(call("k_anonymity_share"), 0.01, 12_000) == "That is 1 % of records: 120 of 12,000."
    assert bound_words(call("k_anonymity_share"), 0.29, 100).endswith(": 29 of 100.")
    assert bound_words(call("sample_uniques"), 40, 12_000) == ""


def test_a_figure_has_its_unit() -> None:
    assert figure_words(call("small_cells"), 0.0141) == "0.0141 (1.41 % of unaltered records)"


@pytest.mark.parametrize(
    ("doing_nothing", "example"),
    [(0.129, "0.065"), (0.0027, "0.0014"), (812.0, "406"), (3.0, "1.5"), (0.0, ""), (None, ""), (math.nan, "")],
)
def test_an_example_is_half_the_risk_of_doing_nothing(doing_nothing: float | None, example: str) -> None:
    assert example_bound(doing_nothing) == example


@pytest.mark.parametrize(("least", "example"), [(0.0742601, "0.075"), (0.02, "0.039"), (math.nan, "0.039")])
def test_an_example_is_no_less_than_what_candidates_reach(least: float, example: str) -> None:
    assert example_bound(0.078, least) == example


@pytest.mark.parametrize("least", [0.0, 0.012344, 0.0123451, 0.99996, 812.0, 81234.5])
def test_the_reachable_bound_is_met_by_the_least_risk(least: float) -> None:
    assert least <= reachable_bound(least) <= least * 1.1
