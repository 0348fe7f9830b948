"""Tables that people open in a spreadsheet program hold no formulas."""

from __future__ import annotations

import pytest

from engine.common.wording import as_cell


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\uff1d1", "-x", "+ 1"])
def test_a_text_that_may_be_a_formula_is_led_by_an_apostrophe(text: str):
    assert as_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("\r=1", "'\\u000d=1"),
        ("=\x1b[2J", "'=\\u001b[2J"),
        ("a\x1b]0;b\x07", "a\\u001b]0;b\\u0007"),
        ("a\x9bb\x00\x7f", "a\\u009bb\\u0000\\u007f"),
        ("a\u202eb\u2066", "a\\u202eb\\u2066"),
    ],
)
def test_signs_that_steer_are_written_out_wherever_they_stand(text: str, cell: str):
    assert as_cell(text) == cell


@pytest.mark.parametrize("text", ["", "a=1", "-9", "+1.5", "-1e-3", "1", "x7f", "Age:S Race:F", "'=1"])
def test_numbers_and_other_texts_stay(text: str):
    assert as_cell(text) == text
