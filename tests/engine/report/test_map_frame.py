"""The edge drawn on the board's map promises nothing that was not made, and its window cuts no bar."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from engine.report.map_facts import CandidateRow, Map
from engine.report.map_frame import MARKER, inside, staircase, window
from engine.report.words import about, bar, bar_is_rounded


def a_map(frontier=(), utility_better="lower", risk_better="lower", candidates=(), nothing=(None, None)) -> Map:
    return Map(
        "risk", "", risk_better, "use", "", utility_better, 9, len(frontier), None, 5, 0, "",
        nothing[1], nothing[0], tuple(candidates), tuple(sorted(frontier)), (), (), False,
    )  # fmt: skip


def row(utility: float | None, utility_se: float | None, risk: float | None, risk_se: float | None) -> CandidateRow:
    return CandidateRow(
        "A", "", risk, risk_se, utility, utility_se, True, True, None, None, False, True, None, None, True, True
    )


@pytest.mark.parametrize(
    ("utility", "risk"), list(itertools.product(("lower", "higher"), repeat=2)), ids=lambda word: word
)
def test_between_candidates_the_edge_goes_up_and_then_across(utility: str, risk: str):
    use, safe = (-1 if better == "higher" else 1 for better in (utility, risk))
    # (utility loss, risk loss) from the safest to the most useful; the third is beaten by the second as shown
    losses = [(5.0, 1.0), (3.0, 2.0), (3.0, 2.5), (1.0, 4.0)]
    corners = staircase(a_map([(use * u, safe * r) for u, r in losses], utility, risk))
    assert [(use * u, safe * r) for u, r in corners] == [(5, 1), (5, 2), (3, 2), (3, 4), (1, 4)]
    for u, r in [(use * u, safe * r) for u, r in corners]:
        assert any(u >= made_u and r >= made_r for made_u, made_r in losses), "a made candidate is at least as good"


def test_of_one_candidate_or_none_there_is_no_edge_to_draw():
    assert staircase(a_map()) == [] and staircase(a_map([(1.0, 2.0)])) == [(1.0, 2.0)]


def test_the_window_holds_every_bar_and_doing_nothing():
    rows = [row(1.0, 0.5, 10.0, 2.0), row(2.0, None, 20.0, None), row(None, None, 99.0, 1.0)]
    across, up = window(a_map(candidates=rows), 0.0) or ((0, 0), (0, 0))
    assert (across, up) == ((0.0, 2.0), (6.0, 20.0))
    across, up = window(a_map(candidates=rows, nothing=(-1.0, 26.0)), 0.1) or ((0, 0), (0, 0))
    assert across == pytest.approx((-1.3, 2.3)) and up == pytest.approx((4.0, 28.0))
    assert window(a_map(), 0.1) is None
    bounded = replace(a_map(candidates=rows), bound_at=30.0)
    assert window(bounded, 0.0) == ((0.0, 2.0), (6.0, 30.0))


def test_a_symbol_that_an_edge_would_cut_is_not_drawn():
    ranges = ((0.0, 2.0), (10.0, 20.0))
    across, up = 2 * MARKER, 10 * MARKER
    kept = [(across, 15.0), (1.0, 10 + up), (2 - across, 20 - up)]
    cut = [(across * 0.9, 15.0), (1.0, 20.0), (1.0, 20 - 0.9 * up), (2.1, 15.0)]
    assert inside([*kept, *cut], ranges) == kept


@pytest.mark.parametrize(
    ("value", "se", "said", "reach", "rounded"),
    [
        (0.1105, 0.0008, "0.1105 ± 0.0008", 0.0016, False),
        (0.11, 0.01, "about 0.11", None, False),  # of 0.1105 ± 0.0008, rounded for members
        (1700.0, 100.0, "about 1,700", None, False),
        (1700.0, 200.0, "1,700 ± 200", 400.0, True),
        (0.058, 0.002, "0.058 ± 0.002", 0.004, True),
        (808.0, 1.6, "808.0 ± 1.6", 3.2, False),
        (0.11, 0.0, "0.11 ± 0", 0.0, False),
        (0.11, None, "0.11", None, False),
        (None, None, "–", None, False),
    ],
)
def test_a_bar_is_two_standard_errors_or_none(value, se, said: str, reach: float | None, rounded: bool):
    assert about(value, se) == said
    assert bar(value, se) == (None if reach is None else pytest.approx(reach))
    assert bar_is_rounded(value, se) == rounded


def test_no_bar_is_longer_than_the_error_rounded_up_to_the_place_of_its_figure():
    from engine.report.redaction import error_beside, two_digits

    rng = np.random.default_rng(5)
    values = rng.uniform(1, 10, 400) * 10.0 ** rng.integers(-4, 4, 400)
    errors = values * 10.0 ** rng.uniform(-5, 0, 400)
    rounded = two_digits(values)
    shown = error_beside(values, rounded, errors)
    reach = [bar(float(v), float(se)) for v, se in zip(rounded, shown, strict=True)]
    drawn = np.array([length_ is not None for length_ in reach])
    assert 50 < drawn.sum() < 350
    length = np.array([length_ for length_ in reach if length_ is not None])
    assert (length >= 2 * errors[drawn] * (1 - 1e-9)).all() and (length <= 4 * errors[drawn] * (1 + 1e-9)).all()
