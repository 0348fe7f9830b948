"""Inner loops that number the distinct rows of packed keys: by the key itself, or in a hash table."""

from __future__ import annotations

import numpy as np

from engine.common.compiled import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def combine(numbers: np.ndarray, indices: np.ndarray, stride: np.int32) -> None:
    """Add a column's indices, times its stride, to numbers of 32 bits."""
    for i in range(len(indices)):
        numbers[i] += np.int32(indices[i] * stride)


@kernel
def pack(keys: np.ndarray, numbers: np.ndarray, parts: np.ndarray) -> None:
    """Add the parts of columns to keys, shape ``(n,)``: ``parts[numbers[i]]``."""
    for i in range(len(numbers)):
        keys[i] += parts[numbers[i]]


@kernel
def number_by_key(
    keys: np.ndarray, start: int, n_rows: int, rows: np.ndarray, row_keys: np.ndarray, out: np.ndarray
) -> tuple[int, int]:
    """:func:`number_rows` where a key of one word is itself the slot."""
    for i in range(start, len(keys)):
        key = keys[i, 0]
        row = rows[key]
        if row < 0:
            if n_rows == len(row_keys):
                return i, n_rows
            row = np.int32(n_rows)
            rows[key] = row
            row_keys[row, 0] = key
            n_rows += 1
        out[i] = row
    return len(keys), n_rows


@kernel
def mark_of(keys: np.ndarray, i: int) -> np.uint64:
    """A well mixed word for the key ``keys[i]``, another one for each key of one word."""
    mixed = np.uint64(0)
    for w in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(keys[i, w])) * _GOLDEN
        mixed ^= mixed >> np.uint64(32)
    return mixed * _GOLDEN


@kernel
def slot_of(
    keys: np.ndarray, i: int, marks: np.ndarray, rows: np.ndarray, row_keys: np.ndarray, shift: np.uint64
) -> np.int64:
    """The slot of the row with the key ``keys[i]``, or the free one where it belongs; taken slots lie one after
    another, and each has the mark of its row beside it, so that another row is seldom looked at."""
    mark = mark_of(keys, i)
    slot = np.int64(mark >> shift)
    last = np.int64(len(rows) - 1)
    while True:
        row = rows[slot]
        if row < 0:
            return slot
        if marks[slot] == mark:
            same = True
            for w in range(keys.shape[1] if keys.shape[1] > 1 else 0):
                if row_keys[row, w] != keys[i, w]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & last


@kernel
def number_rows(
    keys: np.ndarray,
    start: int,
    n_rows: int,
    table: tuple[np.ndarray, np.ndarray, np.ndarray],
    shift: np.uint64,
    out: np.ndarray,
) -> tuple[int, int]:
    """Number the rows of ``keys`` from ``start`` on, new ones in order of first appearance.

    ``table`` holds the mark and the row of each slot, and the key of each row.  Returns where it stopped, at the end or
    where there is no room for another row, and the number of rows.
    """
    marks, rows, row_keys = table
    for i in range(start, len(keys)):
        slot = slot_of(keys, i, marks, rows, row_keys, shift)
        row = rows[slot]
        if row < 0:
            if n_rows == len(row_keys):
                return i, n_rows
            row = np.int32(n_rows)
            rows[slot] = row
            marks[slot] = mark_of(keys, i)
            for w in range(keys.shape[1]):
                row_keys[row, w] = keys[i, w]
            n_rows += 1
        out[i] = row
    return len(keys), n_rows


@kernel
def add_weights(rows: np.ndarray, weights: np.ndarray, counts: np.ndarray) -> None:
    """Add up the weights of rows (one weight: the same for all)."""
    if len(weights) == 1:
        for i in range(len(rows)):
            counts[rows[i]] += weights[0]
    else:
        for i in range(len(rows)):
            counts[rows[i]] += weights[i]


@kernel
def find_rows(
    keys: np.ndarray, table: tuple[np.ndarray, np.ndarray, np.ndarray], shift: np.uint64, out: np.ndarray
) -> None:
    """The row of each key, -1 where there is none; ``shift`` 0 says that the key is the slot."""
    marks, rows, row_keys = table
    for i in range(len(keys)):
        slot = keys[i, 0] if shift == 0 else slot_of(keys, i, marks, rows, row_keys, shift)
        out[i] = rows[slot]
