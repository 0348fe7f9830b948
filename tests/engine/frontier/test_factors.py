"""Factors of candidates, their grid, what decides, and a rate between two."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.frontier.factors import between, decided, factors, grid, role_counts
from engine.release.spec import AttributeSpec, ReleaseSpec

SPECS = [
    ReleaseSpec(AttributeSpec(("A", "B"), roles), rate)
    for rate, roles in product(("0.1", "0.02", "0.05"), ("SU", "US"))
]
ALL = np.ones(6, bool)


def test_factors_are_what_candidates_differ_in_with_numbers_in_order() -> None:
    swap, rate = factors(SPECS)
    assert (swap.name, swap.values) == ("swap", ("A", "B"))
    assert (rate.name, rate.values, rate.counts) == ("rate", ("0.02", "0.05", "0.1"), True)
    assert [rate.values[code] for code in rate.codes] == [spec.rate for spec in SPECS]
    assert factors(SPECS[:1]) == () == factors([])


@given(st.lists(st.booleans(), min_size=6, max_size=6), st.permutations(range(6)))
def test_a_grid_has_each_candidate_once_at_its_values(known: list[bool], order: list[int]) -> None:
    specs = [SPECS[i] for i in order]
    found = factors(specs)
    laid = grid(found, np.where(known, np.arange(6.0), np.nan))
    assert sorted(laid.cells[laid.cells >= 0].tolist()) == list(range(6))
    assert laid.columns[-1].name == "rate"
    for (row, column), index in np.ndenumerate(laid.cells):
        assert laid.rows[0].codes[index] == row and laid.columns[0].codes[index] == column


def test_the_factor_on_which_figures_differ_most_makes_the_rows() -> None:
    specs = [
        ReleaseSpec(AttributeSpec(("A",), "S"), rate, "strict", "rds", (("s", s), ("t", t)))
        for s, t, rate in product("123", "45", ("",))
    ]
    found = factors([*specs])
    by_t = np.array([float(dict(spec.params)["t"]) for spec in specs])
    assert [factor.name for factor in grid(found, by_t).rows] == ["t"]
    assert [factor.name for factor in grid(found, by_t % 2 + 10 * np.repeat([1, 2, 3], 2)).rows] == ["s"]


def test_a_value_decides_where_all_with_it_are_within_and_not_all_others() -> None:
    found = factors(SPECS)
    within = np.array([spec.attributes.roles == "SU" or spec.rate == "0.1" for spec in SPECS])
    told = decided(found, within, ALL)
    assert told is not None
    assert (told.factor.name, told.value, told.n, told.others, told.others_within) == ("swap", "A", 3, 3, 1)
    assert decided(found, np.ones(6, bool), ALL) is None and decided(found, np.zeros(6, bool), ALL) is None


@pytest.mark.parametrize(
    ("least", "told"), [("0.05", ("0.02", "0.05", 2, "0.03")), ("0.1", ("0.05", "0.1", 2, "0.07")), ("0.02", None)]
)
def test_the_limit_lies_between_two_rates(least: str, told: tuple[str, str, int, str] | None) -> None:
    within = np.array([float(spec.rate) >= float(least) for spec in SPECS])
    crossing = between(factors(SPECS), within, ALL)
    got = crossing and (crossing.over, crossing.within, crossing.cases, crossing.rate)
    assert got == told


def test_a_risk_that_grows_with_the_rate_is_over_the_limit_at_the_larger_one() -> None:
    crossing = between(factors(SPECS), np.array([float(spec.rate) < 0.05 for spec in SPECS]), ALL)
    assert crossing is not None and (crossing.over, crossing.within) == ("0.05", "0.02")


def test_candidates_are_counted_by_attribute_and_role() -> None:
    counts = role_counts(("A", "B"), ("SU", "US"), np.array([0, 1, 0, 1, 0, 1]), np.array([1, 0, 1, 0, 0, 0], bool))
    assert counts.all.tolist() == [[3, 0, 0, 3], [3, 0, 0, 3]]
    assert counts.within.tolist() == [[2, 0, 0, 0], [0, 0, 0, 2]]


def test_what_is_not_known_neither_decides_nor_crosses() -> None:
    found, known = factors(SPECS), np.array([spec.rate != "0.1" for spec in SPECS])
    within = np.array([spec.rate == "0.02" for spec in SPECS])
    crossing, told = between(found, within, known), decided(found, within, known)
    assert crossing is not None and (crossing.over, crossing.within, crossing.cases) == ("0.05", "0.02", 2)
    assert told is not None and (told.value, told.others, told.others_within) == ("0.02", 2, 0)
    assert between(found, within, np.zeros(6, bool)) is None is decided(found, within, np.zeros(6, bool))


def test_the_commoner_direction_of_crossing_is_told_with_its_own_number() -> None:
    specs = [
        ReleaseSpec(AttributeSpec(("A", "B", "C"), r), rate) for r in ("SUU", "USU", "UUS") for rate in ("0.1", "0.2")
    ]
    crossing = between(factors(specs), np.array([0, 1, 0, 1, 1, 0], bool), np.ones(6, bool))
    assert crossing is not None and (crossing.over, crossing.within, crossing.cases) == ("0.1", "0.2", 2)


def test_one_factor_of_many_values_stands_in_rows_and_what_reads_as_no_number_is_a_text() -> None:
    specs = [ReleaseSpec(AttributeSpec(("A",), "S"), "", "strict", "cgs", (("x", f"v{i}"),)) for i in range(20)]
    assert grid(factors(specs), np.arange(20.0)).cells.shape == (20, 1)
    odd = [ReleaseSpec(AttributeSpec(("A",), "S"), "", "strict", "cgs", (("x", x),)) for x in ("NaN", "2", "inf")]
    assert factors(odd)[0].values == ("2", "NaN", "inf")
