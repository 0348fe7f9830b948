"""The attack on the swap: its twin, the exact posterior of one pair, calibration, what must hold whatever is drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.table import occupied
from engine.measures import attack, call
from engine.measures.attack import Release, undo, wilson
from engine.mechanisms import random_swap
from engine.models.record_release import RecordRelease
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.records import ReleasedTable
from engine.release.scenarios import NoteKind
from engine.release.spec import AttributeSpec, ReleaseSpec, pairs_wanted
from engine.sweeps.evaluator import Evaluator, question_of
from tests.examples import examples
from tests.record_releases import figure, microdata, released
from tests.small_tables import KEY, Small, groups, roles_for, rules
from tests.twins import linkage as twin
from tests.twins import random_swap as swap_twin


def swapped(small, roles, rate, rule="strict", seed=0):
    """A release that the slow twin drew, with its spec."""
    pairs = swap_twin.draw(small.records, roles, rate, Random(seed), rule, small.kinds).pairs
    release = released(small, [swap_twin.exchange(small.records, pairs, roles)])
    release.spec = ReleaseSpec(small.spec(roles), rate, rule)
    return release


def rows_of(release):
    table = release.tables[0]
    return [tuple(int(x) for x in row) for row in np.array([table.codes(j) for j in range(len(release.data.domain))]).T]


@st.composite
def attacked(draw, most=10):
    """A varied table and a swap of it that exchanges something more often than not."""
    d = draw(st.integers(2, 4))
    shape = tuple(draw(st.lists(st.integers(2, 3), min_size=d, max_size=d)))
    row = st.tuples(*(st.integers(0, size - 1) for size in shape))
    records = tuple(draw(st.lists(row, min_size=4, max_size=most)))
    kinds = None
    if draw(st.sampled_from([False, False, True])):
        kinds = tuple(tuple(draw(st.sampled_from(("value", "value", "missing"))) for _ in range(k)) for k in shape)
    small = Small(records, shape, kinds)
    roles, rule = draw(roles_for(d, draw(st.sampled_from(["SU", "SUU", "SFCUU"])))), draw(rules)
    rate = draw(st.sampled_from(["0.3", "0.5", "0.8"]))
    release = swapped(small, roles, rate, rule, draw(st.integers(0, 99)))
    return small, roles, rule, rate, release


@pytest.mark.slow
@given(attacked(), st.data())
@examples(40)
def test_formula(case, data):
    small, roles, rule, rate, release = case
    after = rows_of(release)
    n_pairs = pairs_wanted(rate, len(after))[1]
    chance = twin.undo(after, roles, n_pairs, rule, small.kinds, attack._STEPS, attack._STEP, attack._DONE)
    cells, inverse = occupied(list(np.array(after).T), small.shape, len(after))
    origins = undo(Release(cells, np.bincount(inverse), small.domain), release.spec)
    for r, per_value in enumerate(chance):
        found = dict(zip(map(tuple, origins.values.tolist()), origins.chance[inverse[r]], strict=True))
        assert found == pytest.approx(per_value, abs=1e-8)
        assert sum(per_value.values()) == pytest.approx(1)
    names = data.draw(st.permutations(small.names))[: data.draw(st.integers(1, len(small.names)))]
    known = sorted(small.names.index(name) for name in names)
    threshold = data.draw(st.sampled_from(["0", "0.5", "0.9"]))
    text = f"attack[attributes={'+'.join(names)};threshold={threshold}]"
    want = twin.attack(small.records, after, roles, chance, known, None, float(threshold))
    assert figure(text, release).value == pytest.approx(want, abs=1e-9)
    target = data.draw(st.sampled_from(range(len(small.shape))))
    assume(known != [target])
    want = twin.attack(small.records, after, roles, chance, [j for j in known if j != target], target, float(threshold))
    got = figure(text[:-1] + f";target={small.names[target]}]", release)
    assert got.value == pytest.approx(want, abs=1e-9)
    assert 0 <= got.value <= 1


@pytest.mark.slow
@pytest.mark.parametrize("roles", ["SUU", "SFU", "SCU", "SSU", "SUF"])
def test_the_posterior_of_a_single_pair(roles):
    """With one pair drawn every possible original can be tried; the chances per record agree with that."""
    rng = Random(7)
    records = tuple((rng.choice((0, 0, 0, 1, 2)), rng.randrange(2), rng.choice((0, 1, 1))) for _ in range(60))
    small = Small(records, (3, 2, 2))
    release = swapped(small, roles, "0.02")
    assert pairs_wanted("0.02", 60)[1] == 1
    after = rows_of(release)
    cells, inverse = occupied(list(np.array(after).T), small.shape, 60)
    origins = undo(Release(cells, np.bincount(inverse), small.domain), release.spec)
    _, own = occupied([cells[:, j] for j in origins.swapped], [small.shape[j] for j in origins.swapped], len(cells))
    moved = 1 - origins.chance[np.arange(len(cells)), own]
    exact = np.array(twin.one_pair(after, roles))
    np.testing.assert_allclose(moved[inverse].sum(), 2, rtol=1e-3)
    np.testing.assert_allclose(moved[inverse], exact, rtol=0.12)


@lru_cache
def sample(name):
    raw, plan = load(name)
    return code(raw, plan), plan


def drawn(name, text, rate, replicate=1):
    """A release of a sample as a sweep makes it."""
    data, plan = sample(name)
    spec = ReleaseSpec(AttributeSpec.parse(text, data.domain.names), rate)
    structure = spec.structure()
    derived = random_swap.stream(KEY, structure, data.table, replicate)
    pairs = random_swap.prepare(structure, data.table).draw(derived, pairs_wanted(spec.rate, data.n_records)[1])
    records = random_swap.records_of_pairs(derived, pairs, data.cell_of_record)
    source = np.arange(data.n_records)
    source[records[:, 0]], source[records[:, 1]] = records[:, 1], records[:, 0]
    return RecordRelease(ReleasedTable(data), [ReleasedTable(data, source, spec.attributes.having("S"))], plan, spec)


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "target"), [("A:S", None), ("F:S", None), ("F:S A:C D:F", None), ("B:S C:S", 3)])
def test_the_intruder_is_right_as_often_as_expected(spec, target):
    """Calibration: over many releases, posterior probabilities add up to the number of correct attributions."""
    found = []
    for replicate in range(1, 16):
        release = drawn("czech", spec, "0.1", replicate)
        known = [j for j in range(6) if j != target]
        found.append(attack.attack_table(release, release.tables[0], release.spec, known, target, 0.0))
    right, believed = np.array([[s.confident_correct, s.believed] for s in found]).T
    # taking records one by one costs up to 2 % (over 40 releases 0 to 1.5 %), the rest is chance
    error = np.std(right - believed, ddof=1) / np.sqrt(len(found))
    assert abs((right - believed).mean()) < 0.02 * believed.mean() + 3 * error
    assert error < 0.01 * believed.mean(), "enough releases to tell"
    every = np.mean([s.correct for s in found])
    assert every == pytest.approx(right.mean()), "a threshold of 0 counts every attribution"


@pytest.mark.slow
def test_knowing_the_mechanism_beats_ignoring_it():
    """Someone who takes the release at face value is right no more often than someone who allows for the swap."""
    total = {True: 0.0, False: 0.0}
    for replicate in range(1, 11):
        release = drawn("czech", "F:S", "0.25", replicate)
        for knows in total:
            spec = release.spec if knows else None
            total[knows] += attack.attack_table(release, release.tables[0], spec, range(6), None, 0.0).correct
    assert total[True] >= total[False] > 0


@pytest.mark.slow
@given(attacked(most=20), st.randoms(use_true_random=True))
@examples(25)
def test_order_of_records_and_names_of_levels_do_not_matter(case, rng):
    small, *_, release = case
    after = rows_of(release)
    order = list(range(len(after)))
    rng.shuffle(order)
    again = released(
        Small(tuple(small.records[i] for i in order), small.shape, small.kinds), [[after[i] for i in order]]
    )
    again.spec = release.spec
    assert figure("attack", again).value == figure("attack", release).value
    levels = [rng.sample(range(size), size) for size in small.shape]
    renamed = [[tuple(levels[j][x] for j, x in enumerate(r)) for r in rows] for rows in (small.records, after)]
    kinds = small.kinds and tuple(
        tuple(k[levels[j].index(x)] for x in range(len(k))) for j, k in enumerate(small.kinds)
    )
    other = released(Small(tuple(renamed[0]), small.shape, kinds), [renamed[1]])
    other.spec = release.spec
    for text in ("attack", "attack[threshold=0]", "attack[target=A;threshold=0]"):
        assert figure(text, other).value == pytest.approx(figure(text, release).value, abs=1e-9)


def test_bounds():
    distinct = Small(tuple((a, b) for a in range(5) for b in range(4)), (5, 4))
    same = RecordRelease(*(lambda t: (t, [t]))(ReleasedTable(microdata(distinct))), distinct.plan())
    assert figure("attack", same).value == 1
    assert figure("attack[target=A;attributes=B;threshold=0]", same).value == pytest.approx(1 / 5)
    equal = Small(((1, 2),) * 9, (3, 3))
    same = RecordRelease(*(lambda t: (t, [t]))(ReleasedTable(microdata(equal))), equal.plan())
    assert figure("attack", same).value == 0, "one of nine is not more likely than not"
    got = figure("attack[threshold=0]", same)
    assert got.value == pytest.approx(1 / 9)
    assert got.note.endswith("right for 1.0 of 9 with any confidence against 1.0 by guessing")


def test_a_swapped_key_is_allowed_for():
    """Four distinct records, one pair exchanged: the intruder no longer knows for sure."""
    small = Small(((0, 0), (0, 1), (1, 2), (1, 3)), (2, 4))
    release = swapped(small, "SU", "0.5")
    sure = figure("attack[threshold=0.5]", release)
    assert sure.value == 1, "the unswapped key is unique, so it tells everything about whose record it is"
    assert figure("attack[attributes=A;threshold=0.5]", release).value == 0
    value = figure("attack[target=A;threshold=0.9]", release)
    assert value.value == 0, "each of the four may have been exchanged, so no value of A is sure"


def test_a_release_whose_making_is_unknown():
    small = Small(((0, 0), (0, 1), (1, 2), (1, 3)), (2, 4))
    release = swapped(small, "SU", "0.5")
    release.spec = None
    got = figure("attack", release)
    assert np.isnan(got.value) and got.note == "attack: the scenario of the release is not known"
    release.spec = ReleaseSpec(small.spec("SU"), "0.5", mechanism="pram")
    got = figure("attack", release)
    assert np.isnan(got.value) and "not pram" in got.note


def test_a_sweep_says_which_scenario_it_is():
    """The evaluator hands the scenario down, so every candidate has a figure, and the original has its own."""
    data, plan = sample("czech")
    asked = question_of(plan, data, [call("attack[threshold=0]"), call("distance_linkage")])
    specs = [ReleaseSpec(AttributeSpec.parse("A:S", data.domain.names), rate) for rate in ("0", "0.05", "0.5")]
    outcome = [Evaluator(asked, KEY).run(one, [1]) for one in groups(asked, specs)]
    found = np.concatenate([o.rows for o in outcome])[:, 4:]
    assert not np.isnan(found).any()
    assert asked.original() == pytest.approx(dict(zip(map(str, asked.calls), found[0], strict=True)))
    assert found[0, 0] > found[1, 0] > found[2, 0]
    notes = [note.text for o in outcome for note in o.notes if note.kind == NoteKind.FIGURE]
    assert len(notes) == 6 and all("by guessing" in text for text in notes)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.floats(0, n), st.just(n))))
def test_wilson(case):
    hits, n = case
    low, high = wilson(hits, n)
    assert (low, high) == pytest.approx(twin.wilson(hits, n), abs=1e-9)
    assert 0 <= low <= hits / n + 1e-12 and hits / n - 1e-12 <= high <= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attack[threshold=1]", "threshold == 1, must be at least 0 and below 1."),
        ("attack[threshold=half]", "must be a decimal number"),
        ("attack[target=C]", "unknown attribute 'C'."),
        ("attack[target=A;attributes=A]", "'A' is the only key"),
    ],
)
def test_a_wrong_request_is_answered_in_words(text, message):
    small = Small(((0, 0), (1, 1)), (2, 2))
    with pytest.raises(UsageError) as got:
        figure(text, swapped(small, "SU", "0"))
    assert message in str(got.value)


def test_an_intruder_who_does_not_know_how_records_were_drawn_is_told_of():
    release = drawn("czech", "A:S", "0.1")
    places = range(6)
    plain = attack.attack(release, places, "", "0.5")
    assert plain.note is not None and "does not know" not in plain.note
    leaning = replace(release.spec, params=(("lean", "1"), ("risk", "A+B")))
    told = attack.attack(RecordRelease(release.original, release.tables, release.plan, leaning), places, "", "0.5")
    assert told.value == plain.value
    assert str(told.note).endswith(
        "; the intruder does not know that records are drawn by 1/count to the power 1: who does may do better"
    )
