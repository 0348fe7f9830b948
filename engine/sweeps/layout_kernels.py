"""Candidates of a group by split and stop, compiled: a sweep lays out thousands of groups of few candidates each."""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel


@kernel
def lay_out(
    candidates: np.ndarray,
    roles: np.ndarray,
    swapped_role: Integer,
    masks: np.ndarray,
    place: np.ndarray,
    stops: np.ndarray,
    row_of: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lay candidates out by split and stop.

    The rows of ``candidates`` are the codes of their specs (rows of ``roles``) and of their procedures, and their
    scenarios. ``place`` is the stop of each procedure; ``stops`` are the pairs wanted at each stop and whether nothing
    is to be swapped. ``row_of`` is scratch, an entry for each spec, -1 on entry and on return.

    Returns for each split, in the order in which they first appear, the mask of the words of its swapped attributes,
    and at which stops it has a candidate; and for each candidate, split by split, its scenario, its stop, the pairs
    wanted and whether nothing is to be swapped (a row each), and what it swaps.
    """
    d, width = masks.shape
    n, n_stops, n_rows = candidates.shape[1], stops.shape[1], 0
    split = np.empty(n, np.int64)
    for i in range(n):
        code = candidates[0, i]
        if row_of[code] < 0:
            row_of[code] = n_rows
            split[n_rows] = code
            n_rows += 1
    at = np.zeros((n_rows, n_stops), np.int64)
    for i in range(n):
        at[row_of[candidates[0, i]], place[candidates[1, i]]] = i + 1
    words, is_member = np.zeros((n_rows, width), np.int64), np.zeros((n_rows, n_stops), np.bool_)
    listed, swaps = np.empty((4, n), np.int64), np.empty((n, d), np.bool_)
    k = 0
    for row in range(n_rows):
        code = split[row]
        row_of[code] = -1
        first = k
        for stop in range(n_stops):
            if at[row, stop] > 0:
                is_member[row, stop] = True
                listed[0, k] = candidates[2, at[row, stop] - 1]
                listed[1, k] = stop
                listed[2, k] = stops[0, stop]
                listed[3, k] = stops[1, stop]
                k += 1
        for j in range(d):
            swapped = roles[code, j] == swapped_role
            for i in range(first, k):
                swaps[i, j] = swapped
            if swapped:
                for w in range(width):
                    words[row, w] |= masks[j, w]
    return words, is_member, listed, swaps
