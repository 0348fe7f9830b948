"""Exchanges whose candidates are summed while they are counted, compiled: no touched cell is listed."""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.measures.sum_kernels import sum_of_part
from engine.release.exchanges import LEFT, arrive, forget, leave


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
