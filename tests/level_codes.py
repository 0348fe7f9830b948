"""Level codes of records at random, drawn all at once."""

from __future__ import annotations

from hypothesis import strategies as st


def level_codes(n: int, n_levels: int) -> st.SearchStrategy[list[int]]:
    """So many codes, at most 256 levels: a byte each, since hypothesis takes as long for one number as for many
    bytes."""
    return st.binary(min_size=n, max_size=n).map(lambda content: [byte % n_levels for byte in content])
