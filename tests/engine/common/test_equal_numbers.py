"""Equal numbers, found in a table and by sorting, beside what a dictionary says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.common import raw_values as equal_numbers
from engine.common.raw_values import first_places, fit_a_table, in_use


def first_by_dict(numbers: np.ndarray) -> list[int]:
    first: dict[int, int] = {}
    return [first.setdefault(number, place) for place, number in enumerate(numbers.tolist())]


@given(arrays(st.sampled_from(["i8", "i4", "u2", "u8"]), st.integers(0, 40), elements=st.integers(0, 30)))
def test_first_places_are_those_of_a_dictionary(numbers: np.ndarray) -> None:
    assert first_places(numbers).tolist() == first_by_dict(numbers)


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_numbers_far_apart_are_sorted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = (np.array([2**62, 0, 5, 2**62, 5, 7], np.int64)).astype(kind)
    assert not fit_a_table(int(numbers.max()) + 1, len(numbers))
    assert first_places(numbers).tolist() == [0, 1, 2, 0, 2, 5]
    near = np.array([3, 1, 3, 0, 1], kind)
    found = first_places(near).tolist()
    monkeypatch.setattr(equal_numbers, "_SHORT", 0)
    monkeypatch.setattr(equal_numbers, "_SPARSE", 0)
    assert first_places(near).tolist() == found == [0, 1, 0, 3, 1]


@given(arrays("i4", st.integers(0, 40), elements=st.integers(0, 12)))
def test_codes_in_use_are_those_that_sorting_finds(codes: np.ndarray) -> None:
    used, places = in_use(codes, 13)
    wanted, wanted_places = np.unique(codes, return_inverse=True)
    assert used.tolist() == wanted.tolist()
    assert places.tolist() == wanted_places.tolist()
