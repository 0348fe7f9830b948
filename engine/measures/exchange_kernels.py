"""Exchanges whose candidates are summed while they are counted, compiled: no touched cell is listed.

Floating point figures of counts come from tables, and are added in the very order of NumPy's ``add.reduceat``: to the
first of a candidate's figures the pairwise sum of the others.  So a sum has the same bits from here as from NumPy.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.release.exchanges import LEFT, arrive, forget, leave

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
def exchange_sums(
    pairs: np.ndarray,
    stops: np.ndarray,
    split: int,
    swapped: np.ndarray,
    wanted: np.ndarray,
    sources: np.ndarray,
    known: np.ndarray,
    pair_keys: np.ndarray,
    words: np.ndarray,
    n_cells: Integer,
    limit: Integer,
    buckets: np.ndarray,
    shift: Integer,
    counts: np.ndarray,
    arrived: np.ndarray,
    fresh: np.ndarray,
    roots: np.ndarray,
    x_log_x: np.ndarray,
    n_rule: Integer,
    squares: np.ndarray,
    terms: np.ndarray,
    sums: np.ndarray,
    n_sums: Integer,
) -> tuple[int, int, int]:
    """Sums over the touched cells of each candidate that is ``wanted``, with the meaning, order and bits that they have
    over the cells that :func:`engine.release.exchanges.exchange` lists; what is not told here is told there.

    The columns of ``sums`` are filled from ``n_sums`` on: squared changes of roots, changes of counts in size, x log x
    before less after, and the records that stayed in cells of fewer than ``n_rule`` after, less those of cells that
    small before.  ``roots`` and ``x_log_x`` are tables up to the number of records; ``squares`` and ``terms`` are
    scratch, as long as ``fresh``.  Returns the split to go on with, the number of known cells and of columns in use.
    """
    lefts, rights = np.empty(64), np.empty(64, np.int64)
    n_sources = leave(pairs, stops, words, shift, counts, arrived, pair_keys, sources, known)
    source_roots, source_terms, after = np.empty(n_sources), np.empty(n_sources), np.empty_like(sources[0])
    for r in range(n_sources):
        source_roots[r] = roots[np.uint64(sources[1, r])]
        source_terms[r] = x_log_x[np.uint64(sources[1, r])]
    while split < len(swapped):
        if min(n_cells + 2 * stops[len(stops) - 1], limit) >= len(words):
            break
        n_fresh: Integer = 0
        done = marked = 0
        for k in range(len(stops)):
            n_cells, n_fresh = arrive(
                pair_keys,
                done,
                stops[k],
                sources,
                marked,
                known[k],
                swapped[split],
                words,
                n_cells,
                buckets,
                shift,
                arrived,
                fresh,
                n_fresh,
            )
            done, marked = max(done, stops[k]), known[k]
            if wanted[split, k]:
                moved, small = np.int64(0), np.int64(0)
                n = np.uint64(known[k])
                for i in range(known[k]):
                    source = np.uint64(i)
                    after[source] = np.int64(sources[2 + k, source]) - LEFT + arrived[np.uint64(sources[0, source])]
                for i in range(known[k]):
                    source = np.uint64(i)
                    was, is_now, stayed = sources[1, source], after[source], sources[2 + k, source]
                    moved += abs(is_now - was)
                    small += (stayed if 0 < is_now < n_rule else 0) - (was if was < n_rule else 0)
                for i in range(known[k]):
                    source = np.uint64(i)
                    at = np.uint64(after[source])
                    change = roots[at] - source_roots[source]
                    squares[source] = change * change
                    terms[source] = source_terms[source] - x_log_x[at]
                for f in range(n_fresh):
                    key = np.uint64(fresh[np.uint64(f)])
                    was = counts[key]
                    is_now = was + arrived[key]
                    moved += is_now - was
                    small -= was if was < n_rule <= is_now else 0
                    change = roots[np.uint64(is_now)] - roots[np.uint64(was)]
                    squares[n] = change * change
                    terms[n] = x_log_x[np.uint64(was)] - x_log_x[np.uint64(is_now)]
                    n += np.uint64(1)
                length = np.int64(n)
                sums[0, n_sums] = sum_of_part(squares, length, lefts, rights)
                sums[1, n_sums] = moved
                sums[2, n_sums] = sum_of_part(terms, length, lefts, rights)
                sums[3, n_sums] = small
                n_sums += 1
        forget(sources[0], n_sources, arrived)
        forget(fresh, n_fresh, arrived)
        split += 1
    return split, int(n_cells), int(n_sums)
