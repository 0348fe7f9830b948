"""Arguments of the command line as values: lists, numbers, cuts; each is refused in one sentence where it is none."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Sequence
from math import isfinite

from engine.common.errors import UsageError

WHOLE = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")


def check_texts(argv: Sequence[str]) -> None:
    """Refuse arguments of bytes that are no text: no file that is written can hold them."""
    for position, text in enumerate(argv, 1):
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            raise UsageError(
                f"argument {position} holds bytes that are no text; rename the file, or type the name again"
            )


def shown(text: str) -> str:
    """A text as it was typed, in quotes; of a very long one the beginning."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def names(text: str) -> list[str]:
    """``A,B`` as a list; a name that holds a comma stands in double quotes."""
    try:
        items = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is no list of names; write A,B in one line, with both quotes"
        ) from None
    return [name.strip() for name in items if name.strip()]


def measures(text: str) -> list[str]:
    """Measures separated by commas outside brackets: ``small_cells[n_rule=5],hellinger``."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def cut(text: str) -> tuple[str, list[float]]:
    """``Age=25,55`` as a column and its edges."""
    column, equals, edges = text.rpartition("=")
    try:
        if not equals or not column:
            raise ValueError
        return column.strip(), [number(edge) for edge in edges.split(",")]
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no cut; write COLUMN=EDGE,EDGE such as Age=25,55") from None


def whole_number(text: str) -> int:
    """A whole number of at most nine digits."""
    if not WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no whole number of at most nine digits")
    return int(text)


def workers(text: str) -> int:
    """A number of processes."""
    return _within(text, 1, 1024, "a number of processes is 1 to 1,024")


def port(text: str) -> int:
    """A port of this machine."""
    return _within(text, 1, 65_535, "a port is 1 to 65,535")


def _within(text: str, low: int, high: int, range_text: str) -> int:
    value = whole_number(text)
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{shown(text)}: {range_text}")
    return value


def number(text: str) -> float:
    """A number such as 0.014."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no number; write it such as 0.014")
    return value
