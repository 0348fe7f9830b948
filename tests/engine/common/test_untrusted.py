"""Plain values as typed ones: equal where they fit, refused by their place where they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from engine.common.errors import EngineError
from engine.common.untrusted import fits, parse


@dataclass(frozen=True)
class Row:
    name: str
    share: float | None
    pair: tuple[str, int]


@dataclass(frozen=True)
class Table:
    rows: tuple[Row, ...]
    final: bool


GOOD: dict[str, Any] = {"rows": [{"name": "a", "share": 1, "pair": ["b", 2]}], "final": True}


def test_what_fits_becomes_its_type() -> None:
    found = parse(Table, GOOD, "the file")
    assert found == Table((Row("a", 1.0, ("b", 2)),), True)
    assert isinstance(found.rows[0].share, float)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": 3}, "the file: rows 1: name is 3, must be a text"),
        ({"share": "x"}, "the file: rows 1: share is 'x', must be a number or null"),
        ({"share": True}, "the file: rows 1: share is true, must be a number or null"),
        ({"share": 10**400}, "the file: rows 1: share is too large a number"),
        ({"share": 2**53 + 1}, "the file: rows 1: share is too large a number"),
        ({"pair": ["b"]}, "the file: rows 1: pair is ['b'], must be a list of length 2"),
        ({"pair": ["b", 2**60]}, "the file: rows 1: pair 2 is too large a number"),
        ({"shares": 1}, "the file: rows 1 holds 'shares', which does not belong there. Did you mean 'share'?"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(EngineError) as caught:
        parse(Table, {**GOOD, "rows": [{**GOOD["rows"][0], **change}]}, "the file")
    assert str(caught.value) == words


def test_a_missing_entry_and_another_kind_of_value_are_named() -> None:
    with pytest.raises(EngineError, match=r"^the file: rows 1 lacks 'pair'$"):
        parse(Table, {"rows": [{"name": "a", "share": None}], "final": True}, "the file")
    with pytest.raises(EngineError, match=r"^the file is 3, must be a record$"):
        parse(Table, 3, "the file")


def test_a_truth_is_no_number_and_an_inner_value_counts() -> None:
    assert fits({"a": None, "b": 1}, dict[str, float | None]) and fits([["a", "b"]], list[list[str]])
    assert not fits(True, int) and not fits({"a": [1]}, dict[str, list[str]]) and not fits(1.5, int)


@dataclass(frozen=True)
class Measured:
    kind: Literal["risk", "utility"]


def test_a_text_that_is_none_of_its_choices_is_refused_with_them() -> None:
    assert parse(list[Measured], [{"kind": "risk"}], "the file") == [Measured("risk")]
    with pytest.raises(EngineError, match=r"^the file 2: kind is 'harm', must be 'risk' or 'utility'$"):
        parse(list[Measured], [{"kind": "risk"}, {"kind": "harm"}], "the file")
    with pytest.raises(EngineError, match=r"^the file is {'a': 'harm'}, must be 'risk' or 'utility'$"):
        parse(dict[str, Literal["risk", "utility"]], {"a": "harm"}, "the file")
