"""Integer kernels that turn exchanged pairs of cells into changes of the table.

A cell is packed into words, a group of bits per attribute, so that an exchange of some attributes is one mask away.
Cells are found again by a table of buckets: of one bucket per possible word where words are few, else a hash table with
open addressing.  How departures and arrivals become the sparse post-swap tables is told in :func:`exchange`.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel

LEFT = -(2**31)
"""Added to the arrivals at a cell that records left, so that their sign tells such cells."""
DIRECT = 64
"""In place of a hash's shift: every possible packed word has a bucket of its own."""


@kernel
def bucket_of(words: np.ndarray, i: Integer, shift: Integer) -> Integer:
    """Bucket of row ``i`` of packed cell words: the word itself with ``shift`` DIRECT (it is its own bucket then), else
    the high bits of a multiplicative hash."""
    if shift == DIRECT:
        word: Integer = words[i, 0]
        return word
    h = np.uint64(0)
    for w in range(words.shape[1]):
        h = (h ^ np.uint64(words[i, w])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return np.int64((h * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(shift))


@kernel
def fill_buckets(words: np.ndarray, n_cells: Integer, buckets: np.ndarray, shift: Integer) -> None:
    """Enter cells ``0..n_cells-1`` into an empty open-addressing table (-1 is empty) of length ``2**(64 - shift)``, or
    of one bucket per possible word with ``shift`` DIRECT."""
    mask = len(buckets) - 1
    for i in range(n_cells):
        at = bucket_of(words, i, shift)
        while buckets[at] >= 0:
            at = (at + 1) & mask
        buckets[at] = i


@kernel
def locate(words: np.ndarray, n_cells: Integer, buckets: np.ndarray, shift: Integer) -> Integer:
    """Index of the cell whose words stand in row ``n_cells``; when it is new it stays there and gets that index."""
    mask = len(buckets) - 1
    at = bucket_of(words, n_cells, shift)
    while True:
        i = np.int64(buckets[at])
        if i < 0:
            buckets[at] = n_cells
            return n_cells
        same = True
        for w in range(words.shape[1]):
            if words[i, w] != words[n_cells, w]:
                same = False
                break
        if same:
            return i
        at = (at + 1) & mask


@kernel
def key_of(c: Integer, words: np.ndarray, shift: Integer) -> np.uint64:
    """The place of a cell where records are counted: its word with ``shift`` DIRECT, else its index."""
    return np.uint64(words[c, 0]) if shift == DIRECT else np.uint64(c)


@kernel
def leave(
    pairs: np.ndarray,
    stops: np.ndarray,
    words: np.ndarray,
    shift: Integer,
    counts: np.ndarray,
    gone: np.ndarray,
    pair_keys: np.ndarray,
    sources: np.ndarray,
    known: np.ndarray,
) -> Integer:
    """Count the records that leave each cell, which no split changes.

    Row 0 of ``sources`` receives the :func:`key_of` of the pairs' cells in the order of first use, row 1 their counts,
    and row ``2 + k`` the records that stayed after ``stops[k]`` pairs, which meet the first ``known[k]`` of them.
    ``pair_keys`` receives the keys of each pair's cells.  ``gone`` is scratch by key, zero on entry and on return.
    Returns the number of cells.
    """
    n = np.uint64(0)
    done = 0
    for k in range(len(stops)):
        for i in range(done, stops[k]):
            at = np.uint64(i)
            for side in range(2):
                key = key_of(np.uint64(pairs[at, side]), words, shift)
                pair_keys[at, side] = key
                before = gone[key]
                gone[key] = before + 1
                sources[0, n] = key
                n += np.uint64(before == 0)
        done = max(done, stops[k])
        known[k] = n
        for r in range(n):
            key = np.uint64(sources[0, r])
            sources[1, r] = counts[key]
            sources[2 + k, r] = counts[key] - gone[key]
    n_sources = np.int64(n)
    forget(sources[0], n_sources, gone)
    return n_sources


@kernel
def arrive(
    pair_keys: np.ndarray,
    first: Integer,
    end: Integer,
    sources: np.ndarray,
    marked: Integer,
    known: Integer,
    mask: np.ndarray,
    words: np.ndarray,
    n_cells: Integer,
    buckets: np.ndarray,
    shift: Integer,
    arrived: np.ndarray,
    fresh: np.ndarray,
    n_fresh: Integer,
) -> tuple[Integer, Integer]:
    """Count the records that the pairs from ``first`` to before ``end`` send elsewhere, under the ``mask`` of what is
    swapped: ``arrived`` by :func:`key_of`, and in ``fresh`` the keys of cells where records only arrived, in the order
    of the first ones.  The ``known`` first ``sources`` are cells that records left, ``marked`` of them so by LEFT on
    entry and all on return.  Returns the numbers of known cells and of fresh keys."""
    for r in range(marked, known):
        arrived[np.uint64(sources[0, r])] += LEFT
    new = np.uint64(0)
    for f in range(n_fresh):
        key = np.uint64(fresh[f])
        fresh[new] = key
        new += np.uint64(arrived[key] > 0)
    if shift == DIRECT:
        bits = mask[0]
        for i in range(first, end):
            at = np.uint64(i)
            word = pair_keys[at, 0]
            other = pair_keys[at, 1]
            crossing = (word ^ other) & bits
            key = np.uint64(word ^ crossing)
            n = arrived[key]
            fresh[new] = key
            new += np.uint64(n == 0)
            arrived[key] = n + 1
            key = np.uint64(other ^ crossing)
            n = arrived[key]
            fresh[new] = key
            new += np.uint64(n == 0)
            arrived[key] = n + 1
    else:
        for i in range(first, end):
            for side in range(2):
                a = pair_keys[i, side]
                b = pair_keys[i, 1 - side]
                for w in range(len(mask)):
                    words[n_cells, w] = words[a, w] ^ ((words[a, w] ^ words[b, w]) & mask[w])
                c = locate(words, n_cells, buckets, shift)
                if c == n_cells:
                    n_cells += 1
                key = np.uint64(c)
                n = arrived[key]
                fresh[new] = key
                new += np.uint64(n == 0)
                arrived[key] = n + 1
    return n_cells, np.int64(new)


@kernel
def forget(keys: np.ndarray, n: Integer, scratch: np.ndarray) -> None:
    """Set ``scratch`` back to zero at the first ``n`` ``keys``."""
    for i in range(n):
        scratch[np.uint64(keys[np.uint64(i)])] = 0


@kernel
def exchange(
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
    ends: np.ndarray,
    out: np.ndarray,
    n_out: Integer,
) -> tuple[int, int, int]:
    """Post-swap cells that differ from the original, per split of S∪C and number of pairs in ``stops``
    (non-decreasing).

    A pair of cells (a, b) becomes (a with b's values on S, b with a's): two records leave a and b whatever S is, and
    two arrive elsewhere.  So departures are counted once for all splits (:func:`leave`) and only arrivals per split.
    Row ``k`` of ``swapped`` masks the words of split ``k``'s S; ``words`` holds the packed cells known so far (the
    original ones first, never more than ``limit``) with room for new ones, ``counts`` the original counts by
    :func:`key_of`.  ``arrived`` is scratch by key, zero on entry and on return, like ``fresh``, ``sources``, ``known``
    and ``pair_keys``.

    For each split and stop that is ``wanted``, the touched cells are appended to ``out`` from column ``n_out`` on
    (cell, count before, count after, records that stayed) and the end is written to ``ends[split, stop]``: first the
    cells that records left, in the order of first departure, then those where records only arrived, in the order of
    first arrival.  That order follows from the pairs alone, so sums over it have the same bits in whatever company.

    Begins with split ``split`` and stops before one for which room may run out; returns the split to go on with, the
    number of known cells and the number of columns in use.
    """
    n_sources = leave(pairs, stops, words, shift, counts, arrived, pair_keys, sources, known)
    while split < len(swapped):
        most = min(n_cells + 2 * stops[len(stops) - 1], limit)
        room = 0
        for k in range(len(stops)):
            room += known[k] + min(2 * stops[k], most)
        if most >= len(words) or n_out + room >= out.shape[1]:
            break
        n_fresh: Integer = 0
        done = marked = 0
        o = np.uint64(n_out)
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
                for r in range(known[k]):
                    key = np.uint64(sources[0, r])
                    stayed = np.int64(sources[2 + k, r])
                    out[0, o] = buckets[key] if shift == DIRECT else np.int64(key)
                    out[1, o] = sources[1, r]
                    out[2, o] = stayed - LEFT + arrived[key]
                    out[3, o] = stayed
                    o += np.uint64(1)
                for f in range(n_fresh):
                    key = np.uint64(fresh[f])
                    c = np.int64(key)
                    if shift == DIRECT:
                        c = np.int64(buckets[key])
                        if c < 0:
                            c = np.int64(n_cells)
                            words[c, 0] = key
                            buckets[key] = c
                            n_cells += 1
                    before = np.int64(counts[key])
                    out[0, o] = c
                    out[1, o] = before
                    out[2, o] = before + arrived[key]
                    out[3, o] = before
                    o += np.uint64(1)
            ends[split, k] = o
        n_out = np.int64(o)
        forget(sources[0], n_sources, arrived)
        forget(fresh, n_fresh, arrived)
        split += 1
    return split, int(n_cells), int(n_out)
