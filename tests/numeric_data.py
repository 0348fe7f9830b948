"""Small data with key attributes and numeric columns, for mechanisms that model numbers by key cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from engine.data.domain import Attribute, Domain
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.release.records import ReleasedTable
from tests.level_codes import level_codes


def numbered(
    keys: Mapping[str, Sequence[int] | np.ndarray], numbers: Mapping[str, Sequence[float] | np.ndarray]
) -> Microdata:
    """Attributes by name as level codes (levels ``v0``, ``v1``, ...), columns by name as floats (NaN: null)."""
    coded = {name: np.asarray(codes, np.int32) for name, codes in keys.items()}
    n = len(next(iter(coded.values())))
    sizes = tuple((name, int(c.max()) + 1) for name, c in coded.items())
    raw = {name: RawColumn(name, _levels(size), coded[name]) for name, size in sizes}
    for name, values in numbers.items():
        floats = np.asarray(values, float)
        raw[name] = RawColumn(name, pa.array(floats), np.where(np.isnan(floats), -1, np.arange(n)).astype(np.int32))
    return Microdata(_domain(sizes), tuple(coded.values()), RawTable(raw, n, "numbered"))


@cache
def _levels(size: int) -> pa.Array:
    return pa.array([f"v{v}" for v in range(size)])


@cache
def _domain(sizes: tuple[tuple[str, int], ...]) -> Domain:
    return Domain(tuple(Attribute(name, tuple(_levels(size).to_pylist()), ()) for name, size in sizes))


def cells_of(table: ReleasedTable, places: Sequence[int]) -> np.ndarray:
    """Each record's key cell, numbered as the original's."""
    return table.cells(tuple(places))


@st.composite
def with_numbers(draw: st.DrawFn, most_records: int = 40) -> Microdata:
    """2 to 40 records, 1 to 3 keys of 1 to 4 levels, 1 or 2 numbers: ties, unique cells and equal records."""
    n = draw(st.integers(2, most_records))
    keys = {}
    for j in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 4))
        keys[chr(65 + j)] = draw(level_codes(n, size))
    value = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3, allow_nan=False, width=32))
    numbers = {f"y{c}": draw(st.lists(value, min_size=n, max_size=n)) for c in range(draw(st.integers(1, 2)))}
    return numbered(keys, numbers)
