"""Correct attribution: published definition by hand, baselines, targets."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures import call, evaluate
from tests.examples import examples
from tests.small_tables import Small, release, roles_for, smalls
from tests.twins import random_swap as swap_twin


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


def test_wrong_names():
    small = Small(((0, 0), (1, 1)), (2, 2))
    batch = release(small, "SU", [])
    with pytest.raises(UsageError, match=r"no target is named; write for example correct_attribution\[target=Income\]"):
        value("correct_attribution", small, batch)
    with pytest.raises(UsageError, match="unknown attribute 'Z'"):
        value("attribution_gain[target=Z]", small, batch)
    with pytest.raises(UsageError, match="unmatched == 'drop', must be zero or skip"):
        call("correct_attribution[target=A;unmatched=drop]")


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
