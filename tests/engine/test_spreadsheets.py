"""Tables that people open in a spreadsheet program hold no formulas."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.spreadsheets import as_cell, as_cells


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", "-x", "+ 1"]
)
def test_a_text_that_may_be_a_formula_is_led_by_an_apostrophe(text: str):
    assert as_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "-9", "+1.5", "-1e-3", "1", "x7f", "Age:S Race:F", "'=1"])
def test_numbers_and_other_texts_stay(text: str):
    assert as_cell(text) == text


def test_columns_keep_numbers_and_nulls():
    made = as_cells({"=a": pa.array(["=1", None, "b"]), "n": pa.array([-1.0, 2.0, None])})
    assert made["'=a"].to_pylist() == ["'=1", None, "b"] and made["n"].to_pylist() == [-1.0, 2.0, None]
