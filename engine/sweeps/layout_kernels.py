"""Candidates of a group by split and stop, compiled: a sweep lays out thousands of groups of few candidates each."""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel


@kernel
def find_splits(spec_codes: np.ndarray, row_of: np.ndarray) -> tuple[np.ndarray, int]:
    """The row of each candidate's split, in the order in which splits first appear, and how many there are.

    ``row_of`` is scratch, an entry for each spec, -1 on entry and on return.
    """
    rows = np.empty(len(spec_codes), np.int64)
    n = 0
    for i in range(len(spec_codes)):
        code = spec_codes[i]
        if row_of[code] < 0:
            row_of[code] = n
            n += 1
        rows[i] = row_of[code]
    for i in range(len(spec_codes)):
        row_of[spec_codes[i]] = -1
    return rows, n


@kernel
def lay_out(
    roles: np.ndarray,
    swapped_role: Integer,
    masks: np.ndarray,
    rows: np.ndarray,
    n_rows: Integer,
    stops: np.ndarray,
    n_stops: Integer,
    indices: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lay candidates out by split and stop, from their roles, the row of their split, their stop and their scenario.

    Returns for each split the mask of the words of its swapped attributes, and at which stops it has a candidate; and
    for each candidate, split by split, its scenario, its stop and what it swaps.
    """
    d, width = masks.shape
    n = len(rows)
    words, place = np.zeros((n_rows, width), np.int64), np.full((n_rows, n_stops), -1, np.int64)
    for i in range(n):
        place[rows[i], stops[i]] = i
        for j in range(d):
            if roles[i, j] == swapped_role:
                words[rows[i]] |= masks[j]
    is_member = place >= 0
    scenarios, stop_of, swaps = np.empty(n, np.int64), np.empty(n, np.int64), np.empty((n, d), np.bool_)
    k = 0
    for row in range(n_rows):
        for stop in range(n_stops):
            i = place[row, stop]
            if i >= 0:
                scenarios[k] = indices[i]
                stop_of[k] = stop
                for j in range(d):
                    swaps[k, j] = roles[i, j] == swapped_role
                k += 1
    return words, is_member, scenarios, stop_of, swaps
