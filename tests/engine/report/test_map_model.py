"""The board's map as values: one mark a candidate, an edge that promises nothing, and letters that never meet."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.report.facts import CandidateRow, Map
from engine.report.map_model import Mark, box_at, emptiest, flags, lettered, map_model, on_lines, overlap, staircase
from engine.report.words import about, bar


def a_map(frontier=(), utility_better="lower", risk_better="lower", candidates=(), nothing=(None, None)) -> Map:
    return Map(
        "risk", "", risk_better, "use", "", utility_better, 9, len(frontier), None, 5, 0, "",
        nothing[1], nothing[0], tuple(candidates), tuple(sorted(frontier)), (),
    )  # fmt: skip


def row(utility: float | None, utility_se: float | None, risk: float | None, risk_se: float | None) -> CandidateRow:
    return CandidateRow(
        "A", "", risk, risk_se, utility, utility_se, True, True, None, None, True, None, None, True, True
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


def test_the_window_holds_every_bar_the_frontier_the_limit_and_the_unprotected_file():
    def window(found: Map, room: float):
        return map_model(found).window(room) or ((0, 0), (0, 0))

    rows = [row(1.0, 0.5, 10.0, 2.0), row(2.0, None, 20.0, None), row(None, None, 99.0, 1.0)]
    assert window(a_map(candidates=rows), 0.0) == ((0.0, 2.0), (6.0, 20.0))
    across, up = window(a_map(candidates=rows, nothing=(-1.0, 26.0)), 0.1)
    assert across == pytest.approx((-1.3, 2.3)) and up == pytest.approx((4.0, 28.0))
    assert window(a_map([(5.0, 12.0)], candidates=rows), 0.0) == ((0.0, 5.0), (6.0, 20.0))
    assert map_model(a_map()).window(0.1) is None
    assert window(replace(a_map(candidates=rows), bound_at=30.0), 0.0) == ((0.0, 2.0), (6.0, 30.0))
    near_and_far = replace(a_map(candidates=rows), others=((3.0, 12.0), (90.0, 12.0)))
    assert window(near_and_far, 0.0) == ((0.0, 3.0), (6.0, 20.0)), "one far away does not press the others together"


def test_each_candidate_has_one_mark():
    rows = [row(1.0, None, 10.0, None), replace(row(1.0, None, 10.0, None), letter="B", recommended=False)]
    made = map_model(replace(a_map([(1.0, 10.0)] * 3, candidates=rows), others=((1.0, 10.0), (2.0, 20.0))))
    assert len(made.marks) == 2 and made.frontier == ((1.0, 10.0),)
    assert made.others == ((1.0, 10.0), (2.0, 20.0)), "two candidates took the two of the frontier"


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_filled_is_what_the_limit_counts_not_what_has_a_mean_within_it(better: str):
    """A limit on a share of the runs is not met by every candidate whose mean is within it."""
    places = ((1.0, 2.9), (2.0, 3.1), (3.0, 3.0))
    rows = [
        replace(row(1.0, None, 2.9, None), within_bound=False),
        replace(row(2.0, None, 3.1, None), within_bound=False),
        replace(row(3.0, None, 3.0, None), within_bound=True),
    ]
    found = replace(a_map(candidates=rows, risk_better=better), bound_at=3.0, others=places, within_at=(places[2],))
    made = map_model(found)
    assert [mark.within for mark in made.marks] == [False, False, True]
    assert [made.meets(place) for place in places] == [False, False, True]
    earlier = map_model(replace(found, within_at=None))
    assert [earlier.meets(place) for place in places] == (
        [True, False, True] if better == "lower" else [False, True, True]
    )
    assert map_model(a_map(candidates=rows)).meets((0.0, 99.0)), "without a limit nothing is beyond it"


POINT = st.tuples(st.floats(0, 1), st.floats(0, 1))
FRAMES = ((520.0, 300.0), (196.0, 190.0), (450.0, 200.0))


@settings(max_examples=60, deadline=None)
@given(st.lists(POINT, min_size=1, max_size=14), st.lists(POINT, max_size=30), st.sampled_from(FRAMES))
def test_letters_never_meet_and_never_leave_the_frame(points, others, frame):
    labels = [", ".join("ABCDEFGHIJKLMN"[k] for k in range(n % 3 + 1)) for n in range(len(points))]
    x, y = (np.array([point[k] for point in points]) for k in (0, 1))
    covered = np.array([u for u, _ in others]), np.array([r for _, r in others])
    taken = [(0.0, 0.0, 90.0, 15.0)]
    offsets = flags(x, y, labels, covered, frame, taken, (6.2, 11.0))
    boxes = [
        box_at(px * frame[0] + dx, py * frame[1] + dy, label, 6.2)
        for px, py, label, (dx, dy) in zip(x, y, labels, offsets, strict=True)
    ]
    for left, low, right, top in boxes:
        assert left >= -1e-3 and low >= -1e-3 and right <= frame[0] + 1e-3 and top <= frame[1] + 1e-3
    for a, b in itertools.combinations([*taken, *boxes], 2):
        assert overlap(a, b) < 1e-3


def test_a_letter_is_three_pixels_off_every_point_of_a_sparse_drawing():
    drawn = np.random.default_rng(5)
    for _ in range(25):
        px, py = drawn.random((2, 4))
        others = drawn.random(40), drawn.random(40)
        offsets = flags(px, py, ["A", "B", "C", "D"], others)
        points = np.append(others[0], px) * 520, np.append(others[1], py) * 300
        for x, y, letter, (dx, dy) in zip(px * 520, py * 300, "ABCD", offsets, strict=True):
            left, low, right, top = box_at(x + dx, y + dy, letter, 7.2)
            near = (points[0] > left - 3) & (points[0] < right + 3) & (points[1] > low - 3) & (points[1] < top + 3)
            assert not near.any()


def test_places_along_lines_reach_from_end_to_end():
    x, y = on_lines((np.array([0.0]), np.array([1.0])), (np.array([2.0]), np.array([5.0])))
    assert (x[0], x[-1], y[0], y[-1]) == (0, 2, 1, 5) and len(x) >= 3
    assert np.allclose(y, 1 + 2 * x)


@pytest.mark.parametrize("height", [0.2, 0.8])
@pytest.mark.parametrize(("full", "empty"), [("middle right", "middle left"), ("top center", "bottom center")])
def test_words_stand_on_the_side_with_fewest_points(full: str, empty: str, height: float):
    dx, dy = (25 / 520, 0) if full == "middle right" else (0, 14 / 300)
    points = np.array([0.5 + dx]), np.array([height + dy])
    assert emptiest((0.5, height), "word", points, (full, empty)) == empty
    assert emptiest((0.5, height), "word", points, (empty, full)) == empty
    assert emptiest((0.5, height), "word", (points[0][:0], points[1][:0]), (full, empty)) == full


def test_marks_that_lie_on_each_other_share_a_label():
    def share(points):
        return tuple(np.array(points).T)

    marks = [Mark(letter, at, True) for letter, at in zip("ABC", [(30.0, 0.0), (0.0, 0.0), (3.0, 4.0)], strict=True)]
    for last in (marks[2], replace(marks[2], recommended=True)):
        told = lettered(replace(map_model(a_map()), marks=(*marks[:2], last)), share, (1.0, 1.0), 6.0)
        first = [("C, B", last), ("A", marks[0])]
        assert told == (first if last.recommended else [("A", marks[0]), ("B, C", marks[1])])


@pytest.mark.parametrize(
    ("value", "se", "said", "reach"),
    [
        (0.1105, 0.0008, "0.1105 ± 0.0008", 0.0016),
        (0.11, 0.01, "0.110 ± 0.010", 0.02),
        (1700.0, 100.0, "1,700 ± 100", 200.0),
        (1700.0, 200.0, "1,700 ± 200", 400.0),
        (0.058, 0.002, "0.058 ± 0.002", 0.004),
        (808.0, 1.6, "808.0 ± 1.6", 3.2),
        (0.11, 0.0, "0.11 ± 0", 0.0),
        (0.11, None, "0.11", None),
        (None, None, "–", None),
    ],
)
def test_a_bar_is_two_standard_errors_or_none(value, se, said: str, reach: float | None):
    assert about(value, se) == said
    assert bar(value, se) == (None if reach is None else pytest.approx(reach))
