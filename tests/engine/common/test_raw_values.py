"""What a raw value looks like as text and as a number."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common import raw_values


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
