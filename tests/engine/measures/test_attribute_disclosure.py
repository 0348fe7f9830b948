"""l-diversity and t-closeness: the papers' examples, the laws, and what the comparison with the twins rejects.

Correct attribution: published definition by hand, baselines, targets.
"""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import attribute_disclosure, call, evaluate
from tests.examples import examples
from tests.small_tables import Small, release, roles_for, smalls
from tests.twins import disclosure
from tests.twins import random_swap as swap_twin

TEXTS = (
    "l_diversity[target=A]",
    "l_diversity[target=B;l=3]",
    "l_diversity[target=A;diversity=entropy]",
    "t_closeness[target=A]",
    "t_closeness[target=B;distance=ordered]",
)


def figure(text: str, small: Small, batch) -> float:
    lists = {"keys": small.names, "analyse": small.names}
    return float(evaluate(call(text), batch, small.domain, lists)[0])


def unaltered(small: Small):
    return release(small, "S" + "U" * (len(small.shape) - 1), [])


def test_t_closeness_by_the_example_of_its_paper():
    """Li et al. (2007), section 4.2: salaries 3k to 11k, of which {3k, 4k, 5k} is .375 from the whole and {6k, 8k, 11k}
    .167, by the ordered distance; by the equal one either is two thirds."""
    salaries = range(9)
    for some, ordered in (((0, 1, 2), 0.375), ((3, 5, 8), 1 / 6)):
        records = tuple((int(salary in some), salary) for salary in salaries)
        small = Small(tuple((group, salary) for group, salary in records), (2, 9))
        cells = disclosure.values_by_cell(small.records, [0], 1)
        away = attribute_disclosure._ordered(
            np.array([[cells[group,].count(level) for level in salaries] for group in (1, 0)])
        )
        assert away[0] == pytest.approx(ordered)
        assert figure("t_closeness[target=B]", small, unaltered(small)) == pytest.approx(2 / 3)
        assert figure("t_closeness[target=B;distance=ordered]", small, unaltered(small)) == pytest.approx(max(away))


def test_l_diversity_by_hand():
    """A cell of two values and one of one value; entropy asks for evenness beyond that."""
    small = Small(((0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (2, 0), (2, 1)), (3, 2))
    assert figure("l_diversity[target=B]", small, unaltered(small)) == pytest.approx(1 / 7)
    assert figure("l_diversity[target=B;diversity=entropy]", small, unaltered(small)) == pytest.approx(5 / 7)
    assert figure("l_diversity[target=B;l=3]", small, unaltered(small)) == 1


@pytest.mark.slow
@given(smalls(), st.data(), st.integers(0, 99))
@examples(40)
def test_laws(small, data, seed):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(seed), "loose").pairs
    batch = release(small, roles, pairs)
    rising = [figure(f"l_diversity[target=A;l={l}]", small, batch) for l in (2, 3, 4)]  # noqa: E741
    entropy = [figure(f"l_diversity[target=A;l={l};diversity=entropy]", small, batch) for l in (2, 3, 4)]  # noqa: E741
    assert rising == sorted(rising) and entropy == sorted(entropy)
    assert all(a <= b for a, b in zip(rising, entropy, strict=True)), "entropy l-diversity is the stronger one"
    assert figure(f"l_diversity[target=A;l={small.shape[0] + 1}]", small, batch) == 1
    # who knows nothing is in one cell with everybody, which is as close as can be
    assert figure("t_closeness[target=A;attributes=A]", small, batch) == 0
    if small.shape[0] == 2:
        two = [figure(f"t_closeness[target=A;distance={distance}]", small, batch) for distance in ("equal", "ordered")]
        assert two[0] == pytest.approx(two[1])


def agrees() -> bool:
    random = Random(6)
    for _ in range(40):
        d = random.randint(2, 4)
        shape = tuple(random.randint(2, 4) for _ in range(d))
        records = tuple(tuple(random.randrange(size) for size in shape) for _ in range(random.randint(6, 30)))
        roles = "S" + "U" * (d - 1)
        small, pairs = Small(records, shape), swap_twin.draw(records, roles, "0.4", random, "loose").pairs
        after, batch = swap_twin.exchange(records, pairs, roles), release(small, roles, pairs)
        for text in TEXTS:
            asked = call(text)
            wanted = disclosure.TWINS[asked.measure.name](records, after, range(d), shape, **asked.values)
            if figure(text, small, batch) != pytest.approx(wanted, rel=1e-9, abs=1e-12):
                return False
    return True


@pytest.mark.slow
def test_the_twins_agree():
    assert agrees()


_few, _little, _equal, _ordered = (
    attribute_disclosure._few_values,
    attribute_disclosure._little_entropy,
    attribute_disclosure._equal,
    attribute_disclosure._ordered,
)
MUTANTS = {
    "at most l values are few": ("_few_values", lambda table, least: _few(table, least + 1)),
    "entropy against l and not its logarithm": (
        "_little_entropy",
        lambda table, least: _little(table, round(math.exp(least))),
    ),
    "the sum and not half of it": ("_equal", lambda table: 2 * _equal(table)),
    "ordered distances over all levels": (
        "_ordered",
        lambda table: _ordered(table) * (table.shape[1] - 1) / table.shape[1],
    ),
    "equal distances for ordered ones": ("_ordered", _equal),
    "the mean cell in place of the farthest": ("_equal", lambda table: np.array([_equal(table).mean()])),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_twins_reject(name, monkeypatch):
    monkeypatch.setattr(attribute_disclosure, *MUTANTS[name])
    assert not agrees()


@pytest.mark.parametrize("name", ["l_diversity", "t_closeness", "correct_attribution", "attribution_gain"])
def test_a_target_must_be_named_and_known(name):
    small = Small(((0, 0), (1, 1)), (2, 2))
    with pytest.raises(UsageError, match="no target is named; write for example"):
        figure(name, small, unaltered(small))
    with pytest.raises(UsageError, match="unknown attribute 'Z'"):
        figure(f"{name}[target=Z]", small, unaltered(small))


def value(text, small, batch, keys=None):
    return evaluate(call(text), batch, small.domain, {"keys": keys or small.names, "analyse": small.names})[0]


def test_by_hand():
    # keys A; target B.  A=0: targets 0, 0, 1; A=1: 1; A=2: 0.
    small = Small(((0, 0), (0, 0), (0, 1), (1, 1), (2, 0)), (3, 2))
    nothing = release(small, "US", [])
    assert value("correct_attribution[target=B]", small, nothing) == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1 + 1) / 5)
    assert value("attribution_gain[target=B]", small, nothing) == pytest.approx(11 / 15 - (9 + 4) / 25)
    swapped = release(small, "US", [(3, 4)])
    assert value("correct_attribution[target=B]", small, swapped) == pytest.approx((5 / 3) / 5)
    both = release(small, "US", [(3, 4), (0, 2)])  # two records of one cell exchange: nothing changes for it
    assert value("correct_attribution[target=B]", small, both) == pytest.approx((5 / 3) / 5)


def test_keys_that_vanish():
    # keys A and C, target B: swapping A moves both key cells away
    small = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
    batch = release(small, "SUU", [(0, 1)])
    assert value("correct_attribution[target=B]", small, batch) == 0
    assert math.isnan(value("correct_attribution[target=B;unmatched=skip]", small, batch))
    assert value("attribution_gain[target=B]", small, batch) == -0.5
    assert value("correct_attribution[target=B;attributes=A]", small, batch) == 0
    assert value("correct_attribution[target=B;attributes=C]", small, batch) == 1


@pytest.mark.slow
@given(smalls(), st.data())
@examples(60)
def test_no_keys_is_guessing_and_the_target_is_never_a_key(small, data):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(3), "loose").pairs
    batch = release(small, roles, pairs)
    assert value("attribution_gain[target=A;attributes=A]", small, batch) == pytest.approx(0, abs=1e-12)
    others = small.names[1:]
    for text in ("correct_attribution[target=A]", "attribution_gain[target=A;unmatched=skip]"):
        with_target, without = (value(text, small, batch, keys=keys) for keys in (small.names, others))
        assert with_target == without or (math.isnan(with_target) and math.isnan(without))


def test_the_target_may_stand_outside_the_keys():
    small = Small(((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)), (2, 2, 2))
    nothing = release(small, "SUU", [])
    assert value("correct_attribution[target=C]", small, nothing, keys=("A",)) == 0.5
    assert value("correct_attribution[target=C]", small, nothing, keys=("A", "B")) == 1


def test_sums_of_wide_keys_are_the_same_sorted_or_tabulated(monkeypatch):
    from engine.measures import attribute_disclosure as attribution
    from tests.small_tables import releases

    small = Small(tuple((i % 2, i % 7, i % 5) for i in range(60)), (2, 7, 5))
    several = [("USU", [(i, i + 1), (i + 10, i + 12)]) for i in range(20)]
    lists = {"keys": ("B", "C"), "analyse": small.names}
    asked = call("correct_attribution[target=A]")
    tabulated = evaluate(asked, releases(small, several), small.domain, lists)
    for at_once in (-(1 << 30), 1, 100):
        monkeypatch.setattr(attribution, "_AT_ONCE", at_once)
        assert evaluate(asked, releases(small, several), small.domain, lists).tobytes() == tabulated.tobytes()
