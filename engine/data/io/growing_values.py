"""The distinct values of a column that is read in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import index_codes

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 20_000_000
"""Distinct values of a column that is coded by streaming."""
_MOST_TEXT = 1 << 30  # bytes
_FEW = 1 << 12  # records
_CLOSE = 1 << 16  # between the least and the largest of whole numbers


class GrowingValues:
    """All values of a column that were seen so far, in order of first appearance; ``known`` ones come first."""

    def __init__(self, name: str, source: str, known: pa.Array | None = None) -> None:
        self.name, self.source = name, source
        self._values = known

    @property
    def values(self) -> pa.Array:
        """The distinct values."""
        import pyarrow as pa

        return pa.array([], pa.string()) if self._values is None else self._values

    def add(self, dictionary: pa.Array, indices: np.ndarray) -> np.ndarray:
        """The code of each value of a ``dictionary`` that ``indices`` (-1: null) use, shape ``(len(dictionary) + 1,)``:
        -1 at the end, for null.  Values that were not there yet are added in the order in which records have them."""
        import pyarrow as pa

        code_of = np.full(len(dictionary) + 1, -1, np.int32)
        if not len(dictionary):
            self._values = dictionary if self._values is None else self._values  # a column of nulls has a type
            return code_of
        if self._values is not None and self._values.type != dictionary.type:
            raise EngineError(
                f"'{self.source}': column '{self.name}' has the type {dictionary.type} in one part and "
                f"{self._values.type} in another; write all parts with the same types"
            )
        known = dictionary.slice(0, 0) if self._values is None else self._values
        joined = pa.concat_arrays([known, dictionary]).dictionary_encode()
        code_of[:-1] = index_codes(joined.indices)[len(known) :]
        unknown = code_of >= len(known)  # which null, -1, is not
        used = _in_order_of_use(unknown, indices)
        # a CSV file's values all occur, in their order
        is_done = np.array_equal(code_of[used], np.arange(len(known), len(joined.dictionary)))
        if not is_done:
            code_of[unknown] = -1
        if not len(used):
            return code_of
        if not is_done:
            joined = pa.concat_arrays([known, dictionary.take(pa.array(used))]).dictionary_encode()
            code_of[used] = index_codes(joined.indices)[len(known) :]
        self._values = joined.dictionary
        self._check_size()
        return code_of

    def _check_size(self) -> None:
        if len(self.values) > MOST_VALUES or self.values.nbytes > _MOST_TEXT:
            raise EngineError(
                f"column '{self.name}' has more than {min(len(self.values) - 1, MOST_VALUES):,} distinct values, too "
                "many to code while streaming; carry or drop it, or put classes of it into the file in its place"
            )


def _in_order_of_use(wanted: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The ``wanted`` values that ``indices`` have, in the order in which they first do."""
    wanted, found, start, length = wanted.copy(), [np.zeros(0, np.int32)], 0, _FEW
    first = np.zeros(len(wanted), np.int64)
    while start < len(indices) and wanted.any():  # mostly all of them occur among the first records
        part = indices[start : start + length]
        used = part[wanted[part]]
        place = np.arange(len(used))
        first[used[::-1]] = place[::-1]  # the last one that is written stays
        found.append(used[first[used] == place])
        wanted[found[-1]] = False
        start, length = start + length, 2 * length
    return np.concatenate(found)


def local_codes(source: str, name: str, values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """A column of a batch as a dictionary, which may hold values that do not occur, and 32-bit indices, -1 for null."""
    import pyarrow as pa

    if pa.types.is_null(values.type):
        return pa.array([], pa.string()), np.full(len(values), -1, np.int32)
    if pa.types.is_integer(values.type) and (coded := _by_subtraction(values)) is not None:
        return coded
    return encoded(source, name, values)


def encoded(source: str, name: str, values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The same of values with a type; those of a column without a dictionary are in order of first appearance."""
    import pyarrow as pa

    if not pa.types.is_dictionary(values.type):
        try:
            values = values.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise EngineError(
                f"'{source}': column '{name}' has the unsupported type {values.type}; store it as text or number"
            ) from None
    indices = values.indices
    if indices.type != pa.int32():
        indices = indices.cast(pa.int32())
    if indices.null_count:
        indices = indices.fill_null(-1)
    return values.dictionary, index_codes(indices)


def _by_subtraction(values: pa.Array) -> tuple[pa.Array, np.ndarray] | None:
    """:func:`local_codes` of whole numbers that lie close together, which is many times faster; None of others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(values)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None or high - low >= min(_CLOSE, len(values)):
        return None
    kind = values.type.to_pandas_dtype()
    numbers = np.frombuffer(values.buffers()[1], kind, len(values), values.offset * np.dtype(kind).itemsize)
    # differences of 64 bits without a sign are right whatever the type
    first = np.array([low], kind).astype(np.uint64)
    indices = (numbers.astype(np.uint64) - first).astype(np.int32)
    dictionary = pa.array((np.arange(high - low + 1, dtype=np.uint64) + first).astype(kind), values.type)
    if values.null_count:
        indices[~values.is_valid().to_numpy(zero_copy_only=False)] = -1
    return dictionary, indices
