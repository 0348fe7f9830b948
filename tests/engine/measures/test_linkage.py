"""Distance-based linkage: its bounds, its twin, numbers, samples."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import call, evaluate_records, linkage
from engine.models.record_release import RecordRelease
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.records import ReleasedTable
from tests.examples import examples
from tests.record_releases import figure, microdata, released
from tests.small_tables import Small, smalls
from tests.twins import linkage as twin


@st.composite
def altered(draw, most=14):
    """A table and a released one, in which any value may have become any other."""
    small = draw(smalls(most_records=most))
    row = st.tuples(*(st.integers(0, size - 1) for size in small.shape))
    after = [draw(st.one_of(st.just(record), row)) for record in small.records]
    return small, after


def with_numbers(small, after, old, new):
    """A release with the raw column ``w`` too."""
    data = microdata(small, old)
    codes = {j: column.astype(np.int32) for j, column in enumerate(np.array(after).reshape(len(after), -1).T)}
    release = released(small, [after], weights=old)
    changed = ReleasedTable(data, replaced=codes, numbers={"w": np.array(new, float)})
    return RecordRelease(ReleasedTable(data), [changed], release.plan)


@pytest.mark.slow
@given(altered(), st.data())
@examples(50)
def test_formula(case, data):
    small, after = case
    names = data.draw(st.permutations(small.names))[: data.draw(st.integers(1, len(small.names)))]
    some = sorted(small.names.index(name) for name in names)
    got = figure(f"distance_linkage[attributes={'+'.join(names)}]", released(small, [after]))
    assert got.value == pytest.approx(twin.distance_linkage(small.records, after, some), abs=1e-12)
    assert 0 <= got.value <= 1


@given(altered(most=10), st.data(), st.sampled_from(["euclidean", "gower"]))
@examples(50)
def test_formula_with_numbers(case, data, distance):
    small, after = case
    n = len(after)
    some = st.sampled_from([0.0, 1.0, 2.0, 5.5, float("nan")])
    old = data.draw(st.lists(some, min_size=n, max_size=n))
    new = [data.draw(st.one_of(st.just(x), some)) for x in old]
    if np.isnan(old).all():
        old[0] = 1.0
    before, now = ([None if np.isnan(x) else x for x in column] for column in (old, new))
    got = figure(f"distance_linkage[numeric=w;distance={distance}]", with_numbers(small, after, old, new))
    everything = range(len(small.shape))
    want = twin.distance_linkage(small.records, after, everything, [(before, now)], 2 if distance == "euclidean" else 1)
    assert got.value == pytest.approx(want, abs=1e-12)


def test_bounds():
    distinct = Small(tuple((a, b) for a in range(5) for b in range(4)), (5, 4))
    assert figure("distance_linkage", released(distinct, [distinct.records])).value == 1
    equal = Small(((1, 2),) * 9, (3, 3))
    assert figure("distance_linkage", released(equal, [equal.records])) == (
        1 / 9,
        "1.0 of 9 records linked correctly, 1.0 by guessing",
    )
    wiped = figure("distance_linkage", released(distinct, [[(0, 0)] * 20]))
    assert wiped.value == pytest.approx(1 / 20), "a file of equal records leaves guessing"


def test_missing_numbers_and_columns_that_do_not_vary():
    small = Small(((0, 0),) * 4, (1, 1))
    nan = float("nan")
    same = [3.0, 3.0, 3.0, 3.0]
    assert figure("distance_linkage[numeric=w]", with_numbers(small, small.records, same, same)).value == 1 / 4
    old = [1.0, 2.0, 3.0, nan]
    assert figure("distance_linkage[numeric=w]", with_numbers(small, small.records, old, old)).value == 1
    empty = figure("distance_linkage[numeric=w]", with_numbers(small, small.records, [nan] * 4, [nan] * 4))
    assert np.isnan(empty.value) and "column 'w' holds no numbers" in empty.note


@pytest.mark.slow
@given(altered(), st.randoms(use_true_random=True))
@examples(25)
def test_order_of_records_and_names_of_levels_do_not_matter(case, rng):
    small, after = case
    order = list(range(len(after)))
    rng.shuffle(order)
    again = Small(tuple(small.records[i] for i in order), small.shape)
    value = figure("distance_linkage", released(small, [after])).value
    assert figure("distance_linkage", released(again, [[after[i] for i in order]])).value == value
    levels = [rng.sample(range(size), size) for size in small.shape]
    renamed = [[tuple(levels[j][x] for j, x in enumerate(r)) for r in rows] for rows in (small.records, after)]
    other = Small(tuple(renamed[0]), small.shape)
    assert figure("distance_linkage", released(other, [renamed[1]])).value == value


def test_several_tables_give_their_mean():
    small = Small(tuple((i,) for i in range(6)), (6,))
    both = released(small, [small.records, [(0,)] * 6])
    assert figure("distance_linkage", both).value == pytest.approx((1 + 1 / 6) / 2)


def fair(share):
    """The sample ``fair`` with a share of its records in pairs that exchange one attribute."""
    raw, plan = load("fair")
    data = code(raw, plan)
    order = np.random.default_rng(5).permutation(data.n_records)
    pairs = order[: 2 * int(share * data.n_records / 2)].reshape(-1, 2)
    source = np.arange(data.n_records)
    source[pairs[:, 0]], source[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    return RecordRelease(ReleasedTable(data), [ReleasedTable(data, source, (1,))], plan)


@pytest.mark.slow
def test_more_swapping_lowers_linkage():
    values = [evaluate_records(call("distance_linkage"), fair(share)).value for share in (0, 0.1, 0.3, 0.6, 1.0)]
    assert values == sorted(values, reverse=True) and len(set(values)) == 5
    counts = np.bincount(fair(0).original.cells(range(8)))
    assert values[0] == pytest.approx(np.count_nonzero(counts) / 6366), "undisturbed: one credit for every cell"


@pytest.mark.slow
def test_a_sample_stands_for_the_whole(monkeypatch):
    release = fair(0.5)
    text = call("distance_linkage[numeric=age+yrs_married]")
    whole = evaluate_records(text, release)
    assert "sample" not in whole.note
    monkeypatch.setattr(linkage, "_PAIRS", 200_000)
    part = evaluate_records(text, release)
    error = float(part.note.partition("standard error ")[2].split()[0])
    assert 0 < error < 0.05
    assert part.value != whole.value and abs(part.value - whole.value) < 4 * error
    assert evaluate_records(text, fair(0.5)) == part, "the same sample every time"


def test_its_standard_error_is_the_spread_over_samples(monkeypatch):
    rng = Random(3)
    small = Small(tuple((rng.randrange(4), rng.randrange(3), rng.randrange(3)) for _ in range(200)), (4, 3, 3))
    old = [float(i) for i in range(200)]
    new = [x + rng.gauss(0, 2) for x in old]
    release = with_numbers(small, list(small.records), old, new)
    rows = linkage.link_rows(release, release.tables[0], (0, 1, 2), ("w",))
    whole, none = linkage.credits_of(rows, 2)
    assert none == 0
    monkeypatch.setattr(linkage, "_PAIRS", 60 * 200)
    seen = []
    for number in range(200):
        monkeypatch.setattr(linkage, "generator", lambda key, number=number: np.random.default_rng(number))
        seen.append(linkage.credits_of(rows, 2))
    estimates, errors = np.array(seen).T
    assert abs(estimates.mean() - whole) < 4 * estimates.std() / np.sqrt(200)
    assert estimates.std() == pytest.approx(errors.mean(), rel=0.2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("distance_linkage[distance=euclid]", "unknown distance 'euclid'. Did you mean 'euclidean'?"),
        ("distance_linkage[numeric=w+]", "numeric == 'w+' holds an empty name"),
        ("distance_linkage[numeric=w+w]", "names a column twice"),
        ("distance_linkage[numeric=v]", "unknown column 'v'."),
    ],
)
def test_a_wrong_request_is_answered_in_words(text, message):
    small = Small(((0,), (1,)), (2,))
    with pytest.raises(UsageError) as got:
        figure(text, with_numbers(small, small.records, [1.0, 2.0], [1.0, 2.0]))
    assert message in str(got.value)


def test_a_swap_moves_the_numbers_behind_its_attribute():
    """The intruder meets the number that came with the exchanged level, and every other number where it was."""
    release = fair(0.4)
    table = release.tables[0]
    for name, moved in (("age", True), ("yrs_married", False)):
        rows = linkage.link_rows(release, table, (0,), (name,))
        mine, theirs = rows.numbers[rows.row_of_original, 0], rows.numbers[rows.row_of_released, 0]
        np.testing.assert_array_equal(theirs, mine[table.source] if moved else mine)
        assert (theirs != mine).any() == moved
        assert np.std(mine, ddof=1) == pytest.approx(1)
