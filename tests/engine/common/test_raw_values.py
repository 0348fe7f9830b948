"""Raw values as text and numbers, in every notation; equal numbers are found among many."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.common import raw_values
from engine.common.raw_values import (
    PLAIN,
    UNCLEAR,
    Notation,
    could_be_thousands,
    first_places,
    fit_a_table,
    in_use,
    notation_of,
)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (["007", "", " x "], ["007", "", " x "]),
        ([5.0, 0.1, 1e20], ["5", "0.1", "1e+20"]),
        ([-9, 10], ["-9", "10"]),
        ([True, False], ["true", "false"]),
        ([date(2020, 1, 2)], ["2020-01-02"]),
        ([b"\x01\xff"], ["01ff"]),
    ],
)
def test_texts(raw: list[Any], wanted: list[str]) -> None:
    assert raw_values.texts(pa.array(raw)) == wanted


NUMBERS = {"1": 1, "-1.50": -1.5, "+.5": 0.5, "5.": 5, " 7\t": 7, "1e3": 1000, "2E-1": 0.2}
WORDS = ["", "1,234", "nan", "inf", "1_000", "0x1", "1 2", "2020-01-02", "½", "\u0661", "1\n", "e5", ".", "--1"]


@pytest.mark.parametrize("few", [0, 10_000])
def test_numbers_of_text(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_values, "_FEW", few)
    assert raw_values.numbers(pa.array(list(NUMBERS))).tolist() == list(NUMBERS.values())
    assert np.isnan(raw_values.numbers(pa.array(WORDS))).all()
    assert raw_values.numbers(pa.array([], pa.string())).shape == (0,)
    assert raw_values.text_mask(pa.array(["a", "b", "a"]), ["a", "c"]).tolist() == [True, False, True]
    assert raw_values.text_mask(pa.array([1.0, 2.5]), ["1"]).tolist() == [True, False]
    assert raw_values.text_mask(pa.array([1.0, 2.5]), []).tolist() == [False, False]


def test_numbers_of_other_types() -> None:
    assert raw_values.numbers(pa.array([1, 2])).tolist() == [1, 2]
    assert raw_values.numbers(pa.array([Decimal("1.5")])).tolist() == [1.5]
    cents = [Decimal(i).scaleb(-2) for i in range(100)]
    assert raw_values.numbers(pa.array(cents, pa.decimal128(20, 2))).tolist() == list(map(float, cents))
    assert np.isnan(raw_values.numbers(pa.array([True]))).all()
    assert np.isnan(raw_values.numbers(pa.array([date(2020, 1, 2)]))).all()
    assert raw_values.nan_mask(pa.array([1.0, float("nan")])).tolist() == [False, True]
    assert raw_values.nan_mask(pa.array(["nan"])).tolist() == [False]


@pytest.mark.slow
@given(st.lists(st.text("0123456789+-.eE _,\t", max_size=7), max_size=20))
def test_short_and_long_columns_are_read_alike(texts: list[str]) -> None:
    raw = pa.array(texts, pa.string())
    few = raw_values.numbers(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_values, "_FEW", -1)
        many = raw_values.numbers(raw)
    np.testing.assert_array_equal(few, many)
    assert [raw_values.is_number(text) for text in texts] == (~np.isnan(few)).tolist()


DECIMAL_COMMA, SIGNS = Notation(",", "."), [(",", "."), (".", ","), (".", " "), (",", " "), (".", "'")]


@pytest.mark.parametrize(
    ("texts", "figures"),
    [
        (["48525,3", "1,25", "-7"], [48525.3, 1.25, -7]),
        (["1,234", "999", "1,234,567"], [1234, 999, 1234567]),
        (["1.234,5", "3"], [1234.5, 3]),
        (["1,234.50", "2"], [1234.5, 2]),
        (["1.5", "1,234"], [1.5, 1234]),
        (["1 234", "12 345", "7"], [1234, 12345, 7]),
        (["1\u202f234,5", "3"], [1234.5, 3]),
        (["1'234", "1’234’567"], [1234, 1234567]),
        (["1.234.567", "12.345"], [1234567, 12345]),
        (["0,123", "1,234"], [0.123, 1.234]),
        (["−3,5", "+2"], [-3.5, 2]),
    ],
)  # fmt: skip
def test_one_notation_is_found(texts: list[str], figures: list[float]) -> None:
    values = pa.array(texts)
    assert notation_of(values).numbers(values).tolist() == figures
    # words beside the numbers change nothing
    with_words = pa.array([*texts, "NA", "-"])
    assert notation_of(with_words) == notation_of(values)


@pytest.mark.parametrize(
    ("texts", "notation"),
    [
        (["1,234", "12,345"], UNCLEAR),
        (["1,234", "999"], UNCLEAR),
        (["1,5", "1.5"], UNCLEAR),
        (["1,2,3", "1,2", "2"], PLAIN),
        (["a1", "1,5"], PLAIN),
        (["12 34", "5"], PLAIN),
        (["1,5 kg", "2"], PLAIN),
        (["1.5", "1e5", "x"], PLAIN),
    ],
)
def test_what_two_notations_or_none_fit_is_no_number(texts: list[str], notation: Notation) -> None:
    assert notation_of(pa.array(texts)) == notation


def test_values_that_are_no_texts_are_plain() -> None:
    assert notation_of(pa.array([1.5, 2.0])) == notation_of(pa.array([], pa.string())) == PLAIN


def test_points_that_may_stand_between_thousands() -> None:
    assert could_be_thousands(pa.array(["1.234", "12.345", "999"]))
    for texts in (
        ["1.234", "12345.678"],
        ["1.25", "2.345"],
        ["0.123", "0.456"],
        ["1.234", "5000"],
        ["1", "2"],
    ):
        assert not could_be_thousands(pa.array(texts))


@given(
    st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), min_size=1, unique=True),
    st.sampled_from(SIGNS),
)
def test_what_is_read_is_what_was_written(figures: list[float], signs: tuple[str, str]) -> None:
    decimal, thousands = signs
    swap = str.maketrans({".": decimal, ",": thousands})
    values = pa.array([f"{x:,.2f}".translate(swap) for x in [*figures, 1234.5]])
    assert notation_of(values).numbers(values).tolist() == [*figures, 1234.5]


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
    monkeypatch.setattr(raw_values, "_SHORT", 0)
    monkeypatch.setattr(raw_values, "_SPARSE", 0)
    assert first_places(near).tolist() == found == [0, 1, 0, 3, 1]


@given(arrays("i4", st.integers(0, 40), elements=st.integers(0, 12)))
def test_codes_in_use_are_those_that_sorting_finds(codes: np.ndarray) -> None:
    used, places = in_use(codes, 13)
    wanted, wanted_places = np.unique(codes, return_inverse=True)
    assert used.tolist() == wanted.tolist()
    assert places.tolist() == wanted_places.tolist()
