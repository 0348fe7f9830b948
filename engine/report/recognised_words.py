"""Sentences for the board on other keys and on published tables of the original, from findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def small_cells_words(fewest: int) -> str:
    """What a small cell is, in words."""
    return "combinations that nobody shares" if fewest == 2 else f"combinations that fewer than {fewest} records share"
