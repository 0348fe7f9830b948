"""Sums over the touched cells of many candidates, compiled: what the distances of tables and eq. 6 add up.

Floating point figures of counts come from tables, and are added in the very order of NumPy's ``add.reduceat``: to the
first of a candidate's figures the pairwise sum of the others.  So a sum has the same bits from here as from NumPy.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel

_BLOCK = 128  # figures that are added without halving


@kernel
def block_sum(values: np.ndarray, first: Integer, n: Integer) -> float:
    """Sum of up to ``_BLOCK`` figures from ``first`` on: eight sums side by side, then the sums, then the others."""
    total = 0.0
    whole = n - n % 8
    if whole:
        one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
        five, six, seven = np.uint64(5), np.uint64(6), np.uint64(7)
        at = np.uint64(first)
        a, b, c, d = values[at], values[at + one], values[at + two], values[at + three]
        e, f, g, h = values[at + four], values[at + five], values[at + six], values[at + seven]
        for i in range(first + 8, first + whole, 8):
            at = np.uint64(i)
            a += values[at]
            b += values[at + one]
            c += values[at + two]
            d += values[at + three]
            e += values[at + four]
            f += values[at + five]
            g += values[at + six]
            h += values[at + seven]
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(first + whole, first + n):
        total += values[np.uint64(i)]
    return total


@kernel
def pairwise_sum(values: np.ndarray, first: Integer, n: Integer, lefts: np.ndarray, rights: np.ndarray) -> float:
    """Sum of ``n`` figures from ``first`` on.

    More than a block are halved, the left half into whole eights, and the sums of both halves added.  ``lefts`` and
    ``rights`` are scratch, an entry for each time that ``n`` can be halved: the sum of a left half and the length of
    the right one, -1 once that is under way.
    """
    depth = 0
    while True:
        while n > _BLOCK:
            half = n // 2
            half -= half % 8
            rights[depth] = n - half
            depth += 1
            n = half
        total = block_sum(values, first, n)
        first += n
        while depth > 0 and rights[depth - 1] < 0:
            depth -= 1
            total = lefts[depth] + total
        if depth == 0:
            return total
        lefts[depth - 1] = total
        n = rights[depth - 1]
        rights[depth - 1] = -1


@kernel
def sum_of_part(values: np.ndarray, n: Integer, lefts: np.ndarray, rights: np.ndarray) -> float:
    """Sum of the first ``n`` figures as ``add.reduceat`` forms it; 0 of none, and of negative zeros."""
    if n == 0:
        return 0.0
    total: float = 0.0 + (values[0] + pairwise_sum(values, 1, n - 1, lefts, rights))
    return total


@kernel
def distance_sums(
    ends: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    roots: np.ndarray,
    x_log_x: np.ndarray,
    squares: np.ndarray,
    terms: np.ndarray,
    sums: np.ndarray,
) -> Integer:
    """Fill the rows of ``sums`` for each candidate: its squared changes of roots, its changes of counts in size, and
    its x log x before less after.

    ``roots`` and ``x_log_x`` are tables by count; ``squares`` and ``terms``, as long as the longest candidate, are
    scratch.  Returns a count that the tables are too short for; -1 where there is none.
    """
    lefts, rights = np.empty(64), np.empty(64, np.int64)
    begin = np.int64(0)
    for i in range(len(ends)):
        n = ends[i] - begin
        changes = np.int64(0)
        for j in range(n):
            was, is_now = before[begin + j], after[begin + j]
            most: Integer = max(was, is_now)
            if most >= len(roots):
                return most
            change = roots[is_now] - roots[was]
            squares[j] = change * change
            terms[j] = x_log_x[was] - x_log_x[is_now]
            changes += abs(is_now - was)
        sums[0, i] = sum_of_part(squares, n, lefts, rights)
        sums[2, i] = sum_of_part(terms, n, lefts, rights)
        sums[1, i] = changes
        begin = ends[i]
    return -1


@kernel
def small_cell_sums(
    ends: np.ndarray, before: np.ndarray, after: np.ndarray, kept: np.ndarray, n_rule: Integer, sums: np.ndarray
) -> None:
    """Fill ``sums`` for each candidate: records that stayed in cells that are small after, less those of cells that
    were small before."""
    begin = np.int64(0)
    for i in range(len(ends)):
        total = np.int64(0)
        for j in range(begin, ends[i]):
            was, is_now = before[j], after[j]
            if was < n_rule:
                total -= was
            if 0 < is_now < n_rule:
                total += kept[j]
        sums[i] = total
        begin = ends[i]
