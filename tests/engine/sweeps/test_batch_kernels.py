"""The compiled layout of a group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.sweeps.batch_kernels import lay_out
from tests.examples import examples

S, OTHER = ord("S"), ord("C")


@pytest.mark.slow
@given(st.data(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 2))
@examples(100)
def test_candidates_are_laid_out_split_by_split(data, d, n_stops, width):
    n_specs = data.draw(st.integers(1, 6))
    places = [(code, stop) for code in range(n_specs) for stop in range(n_stops)]
    chosen = data.draw(st.lists(st.sampled_from(places), min_size=1, unique=True))
    swapped = [data.draw(st.lists(st.booleans(), min_size=d, max_size=d)) for _ in range(n_specs)]
    masks = np.array([[(j % width == w) << j for w in range(width)] for j in range(d)], np.int64)
    codes, stops = (np.array(column, np.int64) for column in zip(*chosen, strict=True))
    indices = 100 + np.arange(len(chosen))
    roles = np.array([[S if swaps else OTHER for swaps in of_spec] for of_spec in swapped], np.uint8)
    place = data.draw(st.permutations(range(n_stops)))
    rows = np.array([[7 * stop, stop == 0] for stop in range(n_stops)], np.int64).T.copy()

    row_of = np.full(n_specs, -1, np.int64)
    candidates = np.array([codes, [place.index(stop) for stop in stops], indices])
    words, is_member, listed, swaps = lay_out(candidates, roles, S, masks, np.array(place), rows, row_of)
    assert (row_of == -1).all(), "the scratch is as it was"
    splits = list(dict.fromkeys(codes.tolist()))
    scenario_at = dict(zip(chosen, indices.tolist(), strict=True))
    ordered = [(code, stop) for code in splits for stop in range(n_stops) if (code, stop) in scenario_at]
    assert is_member.tolist() == [[(code, stop) in scenario_at for stop in range(n_stops)] for code in splits]
    assert listed.T.tolist() == [[scenario_at[code, stop], stop, 7 * stop, stop == 0] for code, stop in ordered]
    assert swaps.tolist() == [swapped[code] for code, _ in ordered]
    expected = [masks[swapped[code]].sum(axis=0).tolist() for code in splits]
    assert words.tolist() == expected
