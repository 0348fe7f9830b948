"""Columns as Arrow arrays: plain values, one array, one length; chunks of a file joined into columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import holds_bytes, index_codes, n_written, nan_mask, smallest
from engine.data.microdata import RawColumn

if TYPE_CHECKING:
    import pyarrow as pa


def plain_values(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Plain values of a dictionary-coded column; others as they are."""
    import pyarrow as pa

    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def without_views(kind: pa.DataType) -> pa.DataType:
    """The type of the same values in an array that Arrow can index; some writers note views of text and of bytes."""
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) else kind


def typed_values(values: pa.Array) -> pa.Array:
    """:func:`plain_values`, and text in place of values without a type, which are all null."""
    import pyarrow as pa

    return values.cast(pa.string()) if pa.types.is_null(values.type) else plain_values(values)


def with_type(values: pa.Array, kind: pa.DataType | None) -> pa.Array:
    """A column with values of a type; without one as it is.  An empty text stands for null in other types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = values if kind is None else plain_values(values)
    if kind is None or plain.type == kind:
        return values
    if pa.types.is_string(plain.type) and not pa.types.is_large_string(kind):
        plain = pc.if_else(pc.equal(plain, ""), pa.scalar(None, plain.type), plain)
    return plain.cast(kind)


def one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The chunks of a column as one array."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        combined = values.combine_chunks()
        return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
    return values


def one_length(columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> int:
    """The common length of the columns; none, or unequal ones, are refused."""
    lengths = {name: len(values) for name, values in columns.items()}
    if not lengths:
        raise EngineError("there is no column to write; release at least one")
    if len(set(lengths.values())) > 1:
        a, b = next((a, b) for a in lengths for b in lengths if lengths[a] != lengths[b])
        raise EngineError(
            f"column '{a}' has {lengths[a]} values and column '{b}' {lengths[b]}; all must be equally long"
        )
    return next(iter(lengths.values()))


def refuse_zero_bytes(column: str, texts: pa.Array) -> None:
    """Refuse (:class:`EngineError`) texts that end within for the readers of every format but Parquet."""
    import pyarrow.compute as pc

    if pc.any(pc.match_substring(texts, "\0")).as_py():
        raise EngineError(
            f"column '{column}' has texts with a zero byte, which only Parquet files can hold; take it out of the "
            "data, or release them as Parquet alone"
        )


def clock_times(values: pa.Array) -> pa.Array:
    """Date-times as the clocks of their time zone showed them; those without a zone as they are."""
    import pyarrow.compute as pc

    return values if values.type.tz is None else pc.local_timestamp(values)


def value_notes(
    column: str, values: pa.Array | pa.ChunkedArray, file: str, *, has_zones: bool = False
) -> tuple[str, ...]:
    """A sentence for each way in which a ``file`` of texts and numbers says the values of a column otherwise; one that
    ``has_zones`` writes the offset of a time zone beside the clock time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, notes = values.type.value_type if pa.types.is_dictionary(values.type) else values.type, []
    if pa.types.is_timestamp(kind) and kind.tz is not None and not has_zones:
        notes.append(f"'{column}' has times of the zone {kind.tz}: {file} has its clock times, without the zone.")
    if holds_bytes(kind):
        notes.append(f"'{column}' holds bytes: {file} has them in hexadecimal.")
    if pa.types.is_duration(kind):
        notes.append(f"'{column}' holds spans of time: {file} has them as numbers ({_UNITS[kind.unit]}).")
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if is_text and values.null_count and pc.any(pc.equal(plain_values(values), "")).as_py():
        notes.append(f"'{column}': empty texts and missing values are both empty in {file}.")
    return tuple(notes)


def merged_note(
    column: str, values: pa.Array | pa.ChunkedArray, held: pa.Array, file: str, what: str = "values"
) -> tuple[str, ...]:
    """A sentence where different ``values`` of a column are one value in a ``file``, which has them as ``held``, in any
    order; missing and empty ones are left out."""
    n_values, n_held = _n_different(values), _n_different(held)
    if n_held >= n_values:
        return ()
    return (f"'{column}': its {n_values:,} different {what} are only {n_held:,} in {file}, where some look the same.",)


def _n_different(values: pa.Array | pa.ChunkedArray) -> int:
    import pyarrow as pa

    distinct = one_array(plain_values(values)).unique().drop_null()
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        return len(distinct) - int(distinct.index("").as_py() >= 0)
    return n_written(distinct) - int(np.count_nonzero(nan_mask(distinct)))


_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def join_chunks(name: str, chunks: list[tuple[pa.Array, np.ndarray]]) -> RawColumn:
    """One column from its chunks, each with its own dictionary; values end up in order of first appearance."""
    import pyarrow as pa

    if len(chunks) == 1:  # a reader codes the values of a chunk in this order; Arrow's functions take long to load
        return RawColumn(name, chunks[0][0], chunks[0][1])
    dictionaries = [values for values, _ in chunks]
    if sum(values.nbytes for values in dictionaries) > 2**30:
        # 32-bit offsets end at 2 GiB of text.
        dictionaries = [values.cast(pa.large_string()) for values in dictionaries]
    coded = pa.concat_arrays(dictionaries or [pa.array([], pa.string())]).dictionary_encode()
    global_codes = smallest(index_codes(coded.indices), len(coded.dictionary))
    codes = np.empty(sum(len(local) for _, local in chunks), dtype=global_codes.dtype)
    start = offset = 0
    for values, local in chunks:
        target = codes[start : start + len(local)]
        if len(values):
            np.take(global_codes[offset : offset + len(values)], local, out=target, mode="clip")
        target[local < 0] = -1
        start += len(local)
        offset += len(values)
    return RawColumn(name, coded.dictionary, codes)
