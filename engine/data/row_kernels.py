"""Inner loops that number the distinct rows of packed keys in a hash table with linear probing."""

from __future__ import annotations

import numpy as np

from engine.common.compiled import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def pack(keys: np.ndarray, indices: np.ndarray, shifted: np.ndarray) -> None:
    """Add a column's field to keys, shape ``(n,)``: ``shifted[indices[i]]``, where -1 means the last entry."""
    for i in range(len(indices)):
        keys[i] |= shifted[indices[i]]


@kernel
def slot_of(words: np.ndarray, row_keys: np.ndarray, rows: np.ndarray, shift: np.uint64) -> np.int64:
    """The slot of ``rows`` that holds the row with the key ``words``, or the free one where it belongs."""
    mixed = np.uint64(0)
    for w in range(len(words)):
        mixed = (mixed ^ np.uint64(words[w])) * _GOLDEN
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64((mixed * _GOLDEN) >> shift)
    last = len(rows) - 1
    while True:
        row = rows[slot]
        if row < 0:
            return slot
        same = True
        for w in range(len(words)):
            if row_keys[row, w] != words[w]:
                same = False
                break
        if same:
            return slot
        slot = (slot + 1) & last


@kernel
def number_rows(
    keys: np.ndarray,
    weights: np.ndarray,
    start: int,
    n_rows: int,
    table: tuple[np.ndarray, np.ndarray, np.ndarray],
    shift: np.uint64,
    out: np.ndarray,
) -> tuple[int, int]:
    """Number the rows of ``keys`` from ``start`` on, new ones in order of first appearance, and add up their weights
    (one weight: the same for all).

    ``table`` holds the slots, and the key and the weight of each row.  Returns where it stopped, at the end or where
    the table is full, and the number of rows.
    """
    rows, row_keys, counts = table
    most = min(len(rows) // 2, len(counts))
    step = 0 if len(weights) == 1 else 1
    for i in range(start, len(keys)):
        slot = slot_of(keys[i], row_keys, rows, shift)
        row = rows[slot]
        if row < 0:
            if n_rows == most:
                return i, n_rows
            row = n_rows
            rows[slot] = row
            row_keys[row] = keys[i]
            counts[row] = 0
            n_rows += 1
        counts[row] += weights[i * step]
        out[i] = row
    return len(keys), n_rows


@kernel
def find_rows(keys: np.ndarray, rows: np.ndarray, row_keys: np.ndarray, shift: np.uint64, out: np.ndarray) -> None:
    """The row of each key, -1 where there is none."""
    for i in range(len(keys)):
        out[i] = rows[slot_of(keys[i], row_keys, rows, shift)]
