"""Scenarios in memory are those that are read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.untrusted import sum_of
from engine.release.ids import short_ids
from engine.release.release_specs import ReleaseSpecs
from engine.release.scenarios import Scenario, Scenarios, params_text
from tests.engine.release.test_release_specs import LISTS, NAMES
from tests.examples import examples


@pytest.mark.slow
@given(LISTS, st.data())
@examples(100)
def test_scenarios_of_specs_are_those_of_their_rows(listed, data):
    every = ReleaseSpecs.of(dict.fromkeys(listed), NAMES)
    specs = every.take(np.array(data.draw(st.permutations(range(len(every)))), int))
    labels = short_ids(specs.digests())
    rows = [
        (index, label.decode(), s.mechanism, s.rate, s.rule, s.attributes.roles, params_text(s.params))
        for index, (label, s) in enumerate(zip(labels.tolist(), specs, strict=True))
    ]
    made, read = Scenarios.of_specs(labels, specs), Scenarios.of_rows(NAMES, [(*row, sum_of(row)) for row in rows])
    assert made == read == Scenarios(NAMES, made.arrays())
    assert list(read) == [
        Scenario(index, row[1], spec) for index, (row, spec) in enumerate(zip(rows, specs, strict=True))
    ]
    assert [read[index] for index in range(len(read))] == list(made)
    assert made.specs == specs == read.specs
    for name, array in read.arrays().items():
        assert made.arrays()[name].dtype == array.dtype
        np.testing.assert_array_equal(made.arrays()[name], array)
