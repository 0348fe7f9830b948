"""Numbers as people write them: one notation for all values of a column, or none where two would do."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.raw_values import PLAIN, UNCLEAR, Notation, could_be_thousands, notation_of

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
