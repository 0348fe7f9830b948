"""Detection of a swap: what it must not see, independent attributes, grades by hand, and what the twins must reject."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import call, detection, evaluate
from engine.measures import detection as detection_grades
from engine.measures.detection import (
    Graded,
    altered_by_level,
    attacked,
    auc,
    calibration,
    graded,
    precision,
)
from engine.models import level_model, margin_inference, swap_detection
from engine.models import margin_inference as adjusted_table
from engine.models.margin_inference import AdjustedTable, TablesFit, two_way_tables
from engine.models.swap_detection import Detection, Release
from engine.release.batch import ReleaseBatch
from tests.examples import examples
from tests.small_tables import Small, release, roles_for, smalls
from tests.swapped_batches import swaps
from tests.twins import detection as twin
from tests.twins import random_swap as swap_twin

TEXTS = (
    "rate_error",
    "detection_auc",
    "detection_auc[model=main]",
    "detection_precision[top=0.25]",
    "small_cells_recognised[n_rule=5]",
    "altered_share_max[least=3]",
)


def figure(text: str, batch: ReleaseBatch, small: Small) -> np.ndarray:
    return evaluate(call(text), batch, small.domain, {"keys": small.names, "analyse": small.names})


def case(random: Random) -> tuple[Small, str, list[tuple[int, int]]]:
    """Records of which some hang together, and pairs that exchange."""
    d = random.randint(3, 4)
    shape = tuple(random.randint(2, 3) for _ in range(d))
    few = [tuple(random.randrange(size) for size in shape) for _ in range(5)]
    records = tuple(
        random.choice(few) if random.random() < 0.6 else tuple(random.randrange(size) for size in shape)
        for _ in range(random.randint(15, 50))
    )
    roles = random.choice(("SUSU"[-d:], "SSUU"[-d:], "".join(random.choice("UUFS") for _ in range(d - 2)) + "SU"))
    return Small(records, shape), roles, swap_twin.draw(records, roles, "0.3", random, "loose").pairs


# -- what the attack sees --------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(smalls(), st.data(), st.integers(0, 99))
@examples(30)
def test_the_attack_sees_neither_pairs_nor_flags(small, data, seed):
    """With other flags beside the same released table it comes to the same conclusions, bit for bit."""
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(seed), "loose").pairs
    batch = release(small, roles, pairs)
    kept = np.array([data.draw(st.integers(0, int(n))) for n in np.minimum(batch.before, batch.after)], np.int64)
    flagged = replace(
        batch, kept=kept, changed=batch.changed + 1, swaps=~batch.swaps, own=type(batch.own)(), _margins={}
    )
    for one, other in zip(graded(batch), graded(flagged), strict=True):
        assert repr(one.inference) == repr(other.inference)
        assert one.detection.score.tobytes() == other.detection.score.tobytes()
        assert one.detection.unaltered.tobytes() == other.detection.unaltered.tobytes()
        assert one.detection.unlikely.tobytes() == other.detection.unlikely.tobytes()


def test_of_the_original_it_sees_two_way_tables_only():
    """Another original with the same two-way tables: the same conclusions."""
    cube = np.array(list(np.ndindex(2, 2, 2)))
    parity = 1 - 2 * (cube.sum(axis=1) % 2)  # a three-way term, which no two-way table shows
    released = Release(cube, np.array([9, 5, 6, 8, 4, 7, 8, 3]), (2, 2, 2))
    one, other = (two_way_tables(cube, counts, (2, 2, 2)) for counts in (6 + 3 * parity, 6 - 3 * parity))
    results = [swap_detection.infer_from_release(original, released) for original in (one, other)]
    assert results[0].rate == results[1].rate and results[0].attributes == results[1].attributes


@given(smalls(), st.data(), st.randoms(use_true_random=True))
@examples(20)
def test_rows_may_come_in_any_order(small, data, random):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.4", Random(1), "loose").pairs
    order = list(range(len(small.records)))
    random.shuffle(order)
    at = {old: new for new, old in enumerate(order)}
    other = Small(tuple(small.records[i] for i in order), small.shape)
    moved = release(other, roles, [(at[a], at[b]) for a, b in pairs])
    for one, two in zip(graded(release(small, roles, pairs)), graded(moved), strict=True):
        assert one.detection.score.tobytes() == two.detection.score.tobytes()


# -- oracles ---------------------------------------------------------------------------------------------------------


def areas(n: int, releases: int, *, hang_together: bool) -> list[float]:
    """Areas under the curve of releases of an attribute that two others tell something about, or nothing, by level:
    what gives the released level away by its size alone is no anomaly."""
    rng, figures = np.random.default_rng(12), []
    for _ in range(releases):
        columns = [rng.integers(0, size, n) for size in (2, 3, 3)]
        if hang_together:
            columns[0] = (rng.random(n) < 0.05 + 0.45 * columns[1]).astype(int)
        records = Small(tuple(zip(*(column.tolist() for column in columns), strict=True)), (2, 3, 3))
        (one,) = graded(swaps(records.coded()[0], "A:S", "0.1", 1))
        for believed in (one.detection.unaltered, 1 - one.detection.unlikely):  # the better of two is above a half
            alone = one._replace(detection=one.detection._replace(unaltered=believed, unlikely=1 - believed))
            figures += [auc(alone, one.release.cells[:, 0] == level) for level in (0, 1)]
    return figures


@pytest.mark.slow
def test_a_swap_of_independent_attributes_cannot_be_detected():
    """The mean area under the curve is a half but for the chance differences of the published tables, which vanish with
    more records; with attributes that hang together it is far above."""
    few, many = (np.mean(areas(n, releases, hang_together=False)) for n, releases in ((600, 40), (30_000, 12)))
    assert abs(many - 0.5) < 0.01 and abs(few - 0.5) < 0.04
    assert np.mean(areas(600, 40, hang_together=True)) > 0.6


def test_without_a_swap_nothing_is_recognised():
    small, roles, _ = case(Random(4))
    batch = release(small, roles, [])
    (one,) = graded(batch)
    assert one.inference.k == 0 and one.inference.attributes == () and one.rate == 0
    for text in TEXTS[:4]:
        assert math.isnan(figure(text, batch, small)[0])
    assert figure("small_cells_recognised[n_rule=5]", batch, small)[0] == 1
    assert math.isnan(figure("altered_share_max[least=3]", batch, small)[0])


def test_a_swap_that_moves_no_table_is_guessed_at():
    """Everybody looks alike: the area is a half, the precision the rate, and the rate is inferred as nought."""
    small = Small(((0, 0), (1, 1), (0, 0), (1, 1)), (2, 2))
    batch = release(small, "SS", [(0, 1)])  # two records change places
    assert figure("rate_error", batch, small)[0] == 1
    assert figure("detection_auc", batch, small)[0] == 0.5
    assert figure("detection_precision[top=0.25]", batch, small)[0] == 0.5


# -- grades ----------------------------------------------------------------------------------------------------------


def by_hand() -> Graded:
    """Three cells of an attribute: probabilities of being altered .8, .1 and .1."""
    public = Release(np.array([[0], [1], [2]]), np.array([2, 4, 4]), (3,))
    inference = swap_detection.infer_from_release({}, public)
    detection_ = Detection(np.array([0.5, 0.9, 0.7]), np.array([0.2, 0.9, 0.9]), np.zeros(3))
    return Graded(public, inference, detection_, np.array([1, 1, 0]))


def test_grades_by_hand():
    one = by_hand()
    assert one.rate == 0.2
    # the altered record above beats 7 and ties with 1, the one below loses to 1 and ties with 7
    assert auc(one) == pytest.approx((7 + 0.5 + 3.5) / 16)
    assert precision(one, 0.2) == 0.5 and precision(one, 0.01) == 0.5
    assert precision(one, 0.3) == pytest.approx((1 + 1 / 8) / 3), "a record of the tie is altered in one of eight"
    assert precision(one, 1) == 0.2
    assert auc(one, np.array([True, False, False])) == 0.5
    assert math.isnan(auc(one, np.array([False, False, True])))
    assert math.isnan(precision(one, 0.5, np.array([False, False, True])))


def test_shares_of_altered_records_by_level():
    assert [tuple(row) for row in altered_by_level(by_hand())] == [(0, 0, 2, 0.5), (0, 1, 4, 0.25), (0, 2, 4, 0.0)]


def test_calibration_by_range():
    rows = calibration(by_hand(), (0, 0.5, 1))
    assert [(row.records, row.altered) for row in rows] == [(8, 0.125), (2, 0.5)]
    assert [row.probability for row in rows] == pytest.approx([0.1, 0.8])
    assert all(a.high == b.low for a, b in pairwise(rows))


@given(smalls(), st.data())
@examples(30)
def test_laws_of_the_grades(small, data):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(2), "loose").pairs
    batch = release(small, roles, pairs)
    (one,) = graded(batch)
    assert ((one.detection.unaltered >= 0) & (one.detection.unaltered <= 1)).all()
    assert 0 <= one.inference.low <= one.inference.high <= 1 and 0 <= one.inference.rate <= 1
    assert sum(row.records for row in altered_by_level(one)) == len(small.records) * len(small.shape)
    assert sum(row.records for row in calibration(one)) == len(small.records)
    if one.rate:
        assert precision(one, 1) == pytest.approx(one.rate)
        assert figure("altered_share_max[least=1]", batch, small)[0] >= 1 - 1e-12
        if one.rate < 1:
            assert 0 <= auc(one) <= 1
    assert attacked(batch)[0][0].counts.sum() == len(small.records)


# -- what the comparison with the twins rejects ----------------------------------------------------------------------


def agrees(number: int = 25) -> bool:
    """Whether the measures and their twins agree on some releases."""
    random = Random(9)
    for _ in range(number):
        small, roles, pairs = case(random)
        after = swap_twin.exchange(small.records, pairs, roles)
        batch = release(small, roles, pairs)
        for text in TEXTS:
            asked = call(text)
            got = figure(text, batch, small)[0]
            wanted = twin.TWINS[asked.measure.name](
                small.records, after, range(len(small.shape)), small.shape, **asked.values
            )
            if got != pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True):
                return False
    return True


@pytest.mark.slow
def test_the_twins_agree():
    assert agrees()


_by_suspicion, _pair_shares = detection_grades._by_suspicion, margin_inference.pair_shares
_stayed, _adjusted, _model = swap_detection._Stayed.of, adjusted_table.adjusted, swap_detection._adjusted
MUTANTS = {
    "ties are broken by the order of cells": (detection_grades, "_DIGITS", -1),
    "main effects in place of pairs": (
        swap_detection,
        "design_of",
        lambda patterns, totals, shape, model: level_model.design_of(patterns, totals, shape, "main"),
    ),
    "a tenth of the ridge": (
        swap_detection,
        "design_of",
        lambda patterns, totals, shape, model: level_model.design_of(patterns, totals, shape, model, 0.1),
    ),
    "strata of fixed attributes are ignored": (
        swap_detection._Stayed,
        "of",
        lambda release, swapped, fixed: _stayed(release, swapped, []),
    ),
    "all records, not those that are altered": (
        detection_grades,
        "_by_suspicion",
        lambda one, within: _by_suspicion(one._replace(altered=one.release.counts), within),
    ),
    "the least suspect first": (
        detection_grades,
        "_by_suspicion",
        lambda one, within: tuple(
            type(groups)(*(sums[::-1] for sums in groups)) for groups in _by_suspicion(one, within)
        ),
    ),
    "the score of the release alone is graded": (
        detection_grades,
        "_by_suspicion",
        lambda one, within: _by_suspicion(
            one._replace(detection=one.detection._replace(unaltered=1 - one.detection.score)), within
        ),
    ),
    "the tables alone are not graded": (
        detection_grades,
        "_by_suspicion",
        lambda one, within: _by_suspicion(one, within)[:1],
    ),
    "the tables alone are graded": (
        detection_grades,
        "_by_suspicion",
        lambda one, within: _by_suspicion(one, within)[1:],
    ),
    "one table less": (
        swap_detection,
        "adjusted",
        lambda start, totals, margins: _adjusted(start, totals, margins[1:]),
    ),
    "tables start alike, not as the release": (
        swap_detection,
        "adjusted",
        lambda start, totals, margins: _adjusted(np.ones_like(start), totals, margins),
    ),
    "a single sweep": (adjusted_table, "MOST_SWEEPS", 1),
    "attributes that moved together are taken one by one": (
        swap_detection,
        "_adjusted",
        lambda tables, stayed, moved, chances=None: (
            AdjustedTable(np.ones(1), TablesFit(0, 0, math.inf))
            if len(moved.places) > 1
            else _model(tables, stayed, moved, chances)
        ),
    ),
    "twice the pairs": (swap_detection, "pair_shares", lambda sizes, may: 2 * _pair_shares(sizes, may)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_twins_reject(name, monkeypatch):
    module, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(module, attribute, mutant)
    assert not agrees()


def test_the_twins_reject_a_rule_that_takes_n_rule_records_as_small(monkeypatch):
    recognised = detection._recognised
    monkeypatch.setattr(detection, "_recognised", lambda one, places, n_rule: recognised(one, places, n_rule + 1))
    assert not agrees()


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("detection_auc[model=twoway]", "model == 'twoway', must be two_way, main or level. Did you mean 'two_way'?"),
        ("detection_precision[top=0]", "detection_precision: top == 0, must be above 0 and at most 1"),
        ("detection_precision[top=x]", "detection_precision: top"),
        ("small_cells_recognised[n_rule=1]", "small_cells_recognised: n_rule == 1, must be at least 2"),
        ("altered_share_max[least=0]", "altered_share_max: least == 0, must be at least 1"),
    ],
)
def test_wrong_parameters(text, message):
    with pytest.raises(UsageError) as got:
        call(text)
    assert message in str(got.value)


def test_a_model_too_large_for_the_data_is_refused_before_anything_is_fitted():
    rng = np.random.default_rng(0)
    small = Small(tuple(map(tuple, rng.integers(0, 40, (3000, 3)).tolist())), (40, 40, 40))
    with pytest.raises(UsageError, match="terms, must have at most 2,000"):
        figure("detection_auc", release(small, "SUU", []), small)


@pytest.mark.parametrize("name", ["rate_error", "detection_auc", "detection_precision", "small_cells_recognised"])
def test_an_attack_says_that_it_supposes_the_random_swap(name: str) -> None:
    assert "supposes the random swap, whatever made the candidate" in call(name).meaning
