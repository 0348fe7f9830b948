"""Lists of columns and plurals for messages."""

from __future__ import annotations

from collections.abc import Sequence


def count(n: int, noun: str) -> str:
    """A number with its noun: ``1 level``, ``3 levels``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first few names in quotes, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more
