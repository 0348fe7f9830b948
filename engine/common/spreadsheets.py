"""Cells for spreadsheet programs, safe from being taken for formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.common.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa

_BEGINS = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # the last four are the signs' wide forms


def may_be_formula(text: str) -> bool:
    """Return whether a spreadsheet program may take a cell for a formula: it begins with one of ``= + - @``, a tab or a
    carriage return, and is no number."""
    return text.startswith(_BEGINS) and not _is_number(text)


def as_cell(text: str) -> str:
    """A text as a cell of CSV that no spreadsheet program computes: an apostrophe before what may be a formula, and
    what would steer a terminal or turn the direction of writing written out."""
    return f"'{printable(text)}" if may_be_formula(text) else printable(text)


def as_cells(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Columns whose names and texts are :func:`as_cell`; numbers stay as they are."""
    import pyarrow as pa

    return {
        as_cell(name): pa.array([None if text is None else as_cell(text) for text in values.to_pylist()], values.type)
        if pa.types.is_string(values.type)
        else values
        for name, values in columns.items()
    }


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text
