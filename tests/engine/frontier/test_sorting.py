"""Sorting by digits, beside sorting by comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine.frontier import sorting
from engine.frontier.sorting import by_digits, ranked, sorted_order
from tests.engine.losses import FEW

WHOLE = st.one_of(st.integers(0, 3), st.integers(0, 2**32 - 1), st.sampled_from([65535, 65536, 2**31, 2**32 - 1]))
FLOATS = st.one_of(FEW.filter(lambda value: value == value), st.floats(allow_nan=False))


@given(hnp.arrays(np.uint32, st.integers(0, 40), elements=WHOLE))
def test_digits_keep_equal_numbers_in_their_order(numbers):
    assert by_digits(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()


def test_every_sort_of_numbers_is_sorted():
    @given(hnp.arrays(np.float64, st.integers(1, 40), elements=FLOATS))
    def check(values):
        order = sorted_order(values)
        assert sorted(order.tolist()) == list(range(len(values)))
        assert values[order].tolist() == sorted(values.tolist())
        assert ranked(values).tolist() == np.unique(values, return_inverse=True)[1].tolist()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_FEW", 0)
        for compares_many in (False, True):
            patch.setattr(sorting, "_COMPARES_MANY", compares_many)
            check()


def many():
    rng = np.random.default_rng(8)
    uniform = rng.random(5000)
    near = uniform.copy()
    near[:100] = uniform[100:200] + 1e-12
    infinite = uniform.copy()
    infinite[::9] = np.inf
    return {
        "uniform": uniform,
        "tied": np.round(uniform, 2),
        "closer than digits tell": near,
        "most closer than digits tell": uniform**40,
        "one far away": np.append(uniform, 1e300),
        "beyond the range of floats": np.append(uniform, [1.7e308, -1.7e308]),
        "infinite": infinite,
        "equal": np.ones(5000),
        "whole": rng.integers(0, 2**62, 5000),
    }


@pytest.mark.parametrize("compares_many", [False, True])
@pytest.mark.parametrize("name", many())
def test_many_numbers_of_every_kind(name, compares_many, monkeypatch):
    monkeypatch.setattr(sorting, "_COMPARES_MANY", compares_many)
    values = many()[name]
    assert values[sorted_order(values)].tolist() == sorted(values.tolist())
    assert ranked(values).tolist() == np.unique(values, return_inverse=True)[1].tolist()


@pytest.mark.parametrize("found", [["X86_V3", "X86_V4"], ["AVX2", "AVX512_SKX"], ["X86_V3"], ["NEON"], None])
def test_numpy_says_whether_it_compares_many_at_a_time(found, monkeypatch):
    told = None if found is None else {"SIMD Extensions": {"found": found}}
    monkeypatch.setattr(np, "show_config", lambda mode: told)
    assert sorting._compares_many() == bool(found and ("X86_V4" in found or "AVX512_SKX" in found))
