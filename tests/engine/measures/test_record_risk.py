"""Risk record by record adds up to the measures on whole releases."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.measures.record_risk import record_risk
from tests.examples import examples
from tests.record_releases import released
from tests.small_tables import Small, roles_for, smalls
from tests.twins import measures as twin
from tests.twins import random_swap as swap_twin
from tests.twins import tables


@given(smalls(), st.data())
@examples(60)
def test_it_adds_up(small, data):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(1), "loose").pairs
    after = swap_twin.exchange(small.records, pairs, roles)
    found = released(small, [after])
    places = tuple(range(len(small.shape)))
    everywhere = (small.records, after, places, small.shape)
    assert record_risk(found, places).sum() == pytest.approx(tables.r1(*everywhere))
    assert record_risk(found, places, s=2, rule="lt").sum() == pytest.approx(tables.r1(*everywhere, s=1))
    eq6 = record_risk(found, places, "small_cells", n_rule=2)
    wanted = twin.small_cells(*everywhere, n_rule=2)
    if math.isnan(wanted):
        assert np.isnan(eq6).all()
    else:
        assert np.nanmean(eq6) == pytest.approx(wanted)
        assert np.isnan(eq6).tolist() == [a != b for a, b in zip(small.records, after, strict=True)]
    assert record_risk(found, places, "cell_size").sum() == pytest.approx(len(set(after)))


def test_record_by_record():
    small = Small(((0, 0), (0, 1), (0, 1), (1, 1)), (2, 2))
    swapped = [(0, 0), (1, 1), (0, 1), (0, 1)]  # the second and the last exchange A
    found = released(small, [swapped])
    assert record_risk(found, (0, 1)).tolist() == [1, 0, 0.5, 0]
    assert record_risk(found, (0, 1), "cell_size").tolist() == [1, 1, 0.5, 0.5]
    np.testing.assert_array_equal(record_risk(found, (0, 1), "small_cells", n_rule=2), [1, np.nan, 0, np.nan])
    # two tables: the second leaves everything as it was
    both = released(small, [swapped, small.records])
    assert record_risk(both, (0, 1)).tolist() == [1, 0.25, 0.5, 0.5]
    assert record_risk(both, (0, 1), "small_cells", n_rule=2).tolist() == [1, 0, 0, 1]
    # over one attribute
    assert record_risk(found, (1,), "cell_size").tolist() == [1, 1 / 3, 1 / 3, 1 / 3]


def test_an_unknown_kind():
    with pytest.raises(UsageError, match=r"kind of record risk == 'littleliu'.*Did you mean 'little_liu'"):
        record_risk(released(Small(((0,), (1,)), (2,)), [[(0,), (1,)]]), (0,), "littleliu")
