"""Raw values as text and as numbers: one reading for plans, recodes and exports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?[ \t]*\z"
_NUMBER_RE = re.compile(_NUMBER.replace(r"\z", r"\Z"))
_FEW = 10_000  # up to here plain Python is as fast, and spares the import of what some pyarrow calls bring along


def as_text(values: pa.Array) -> pa.Array:
    """Each value as text, shape kept: text unchanged, whole floats without a point (5.0 is "5"), negative zero as zero,
    dates as ISO 8601."""
    import pyarrow as pa

    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return values
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return pa.array([None if v is None else v.hex() for v in values.to_pylist()], pa.string())
    try:
        written = values.cast(pa.string())
    except pa.ArrowInvalid:
        if not pa.types.is_fixed_size_binary(values.type):
            raise
        written = pa.array([None if v is None else v.hex() for v in values.to_pylist()], pa.string())
    if not pa.types.is_floating(values.type):
        return written
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(written, "-0"), "0", written)


def n_written(values: pa.Array) -> int:
    """Number of distinct values as text has them, of distinct ``values``: zero and negative zero are one."""
    import pyarrow as pa

    if not pa.types.is_floating(values.type):
        return len(values)
    figures = values.to_numpy(zero_copy_only=False)
    return len(values) - max(0, int(np.count_nonzero(figures == 0)) - 1)


def texts(values: pa.Array) -> list[str]:
    """:func:`as_text` as a Python list; ``values`` must not hold nulls (a raw column's distinct values never do)."""
    result: list[str] = as_text(values).to_pylist()
    return result


def numbers(values: pa.Array) -> np.ndarray:
    """Each value as a float, NaN where it is no number; shape ``(len(values),)``.

    Text counts as a number when it is written in ASCII digits with an optional sign, point and exponent: "1,234",
    "nan", "1_000" and dates do not.
    """
    import pyarrow as pa

    kind = values.type
    if pa.types.is_boolean(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        result: np.ndarray = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return result
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return np.full(len(values), np.nan)
    if len(values) <= _FEW:
        return np.array([float(text) if is_number(text) else np.nan for text in values.to_pylist()], dtype=float)
    import pyarrow.compute as pc

    numeric = pc.match_substring_regex(values, _NUMBER)
    digits = pc.ascii_trim_whitespace(pc.if_else(numeric, values, pa.scalar(None, kind)))
    result = digits.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return result


def is_number(text: str) -> bool:
    """Return whether one text counts as a number, by the rule of :func:`numbers`."""
    return _NUMBER_RE.match(text) is not None


def nan_mask(values: pa.Array) -> np.ndarray:
    """A mask of the values that are a floating-point NaN (a missing value, not a number); shape ``(len(values),)``."""
    import pyarrow as pa

    if not pa.types.is_floating(values.type):
        return np.zeros(len(values), dtype=bool)
    import pyarrow.compute as pc

    result: np.ndarray = pc.is_nan(values).to_numpy(zero_copy_only=False)
    return result


def text_mask(values: pa.Array, wanted: Sequence[str]) -> np.ndarray:
    """A mask of the values that read, as text, like one of ``wanted``; shape ``(len(values),)``."""
    if not wanted or not len(values):
        return np.zeros(len(values), dtype=bool)
    if len(values) <= _FEW:
        known = set(wanted)
        return np.array([text in known for text in texts(values)], dtype=bool)
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_string()
    result: np.ndarray = pc.is_in(as_text(values).cast(kind), pa.array(wanted, kind)).to_numpy(zero_copy_only=False)
    return result


def without_blanks(values: pa.Array) -> pa.Array:
    """Texts without blanks at their ends; any other values as they are."""
    import pyarrow as pa

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    if len(values) <= _FEW:
        return pa.array([text.strip() for text in values.to_pylist()], values.type)
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(values)


def smallest(codes: np.ndarray, n_values: int) -> np.ndarray:
    """``codes`` (-1 for null) as the smallest signed integers that hold ``n_values`` codes."""
    for kind in (np.int8, np.int16):
        if n_values <= np.iinfo(kind).max:
            return codes.astype(kind)
    return codes.astype(np.int32)


def index_codes(indices: pa.Array) -> np.ndarray:
    """The 32-bit indices of a dictionary-coded array without nulls, as a NumPy view.

    Read from the buffer itself: ``to_numpy`` would import pandas, which takes longer than reading a small file.
    """
    if not len(indices):
        return np.zeros(0, dtype=np.int32)
    return np.frombuffer(indices.buffers()[1], dtype=np.int32, count=len(indices), offset=4 * indices.offset)
