"""Integer kernels that turn exchanged pairs of cells into changes of the table.

A cell is packed into words, a group of bits per attribute, so that an exchange of some attributes is one mask away.
Cells are found again by a table of buckets: of one bucket per possible word where words are few, else a hash table with
open addressing.  How departures and arrivals become the sparse post-swap tables is told in :func:`exchange`.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel

NO_RANK = 2**31 - 1
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
    pair_words: np.ndarray,
    sources: np.ndarray,
    known: np.ndarray,
) -> None:
    """Count the records that leave each cell, which no split changes.

    Row 0 of ``sources`` receives the cells of the pairs in the order of first use, row 1 their :func:`key_of`, row 2
    their counts, and row ``3 + k`` the records that stayed after ``stops[k]`` pairs, which meet the first ``known[k]``
    of them.  ``pair_words`` receives the first words of each pair's cells.  ``gone`` is scratch by key, zero on entry
    and on return.
    """
    n = np.uint64(0)
    done = 0
    for k in range(len(stops)):
        for i in range(done, stops[k]):
            at = np.uint64(i)
            for side in range(2):
                c = np.uint64(pairs[at, side])
                key = key_of(c, words, shift)
                before = gone[key]
                gone[key] = before + 1
                sources[0, n] = c
                sources[1, n] = key
                n += np.uint64(before == 0)
                pair_words[at, side] = words[c, 0]
        done = max(done, stops[k])
        known[k] = n
        for r in range(n):
            sources[2, r] = counts[np.uint64(sources[0, r])]
            sources[3 + k, r] = sources[2, r] - gone[np.uint64(sources[1, r])]
    for r in range(n):
        gone[np.uint64(sources[1, r])] = 0


@kernel
def arrive(
    pairs: np.ndarray,
    pair_words: np.ndarray,
    first: Integer,
    end: Integer,
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
    swapped: ``arrived`` by :func:`key_of`, and the keys of arrivals in ``fresh`` in the order of the first ones.
    Returns the numbers of known cells and of fresh keys."""
    new = np.uint64(n_fresh)
    if shift == DIRECT:
        bits = mask[0]
        for i in range(first, end):
            at = np.uint64(i)
            word = pair_words[at, 0]
            other = pair_words[at, 1]
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
                a = pairs[i, side]
                b = pairs[i, 1 - side]
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
def exchange(
    pairs: np.ndarray,
    stops: np.ndarray,
    split: int,
    swapped: np.ndarray,
    wanted: np.ndarray,
    rank: np.ndarray,
    sources: np.ndarray,
    known: np.ndarray,
    pair_words: np.ndarray,
    words: np.ndarray,
    n_cells: Integer,
    limit: Integer,
    buckets: np.ndarray,
    shift: Integer,
    counts: np.ndarray,
    arrived: np.ndarray,
    fresh: np.ndarray,
    out: np.ndarray,
    n_out: Integer,
    ends: np.ndarray,
) -> tuple[int, int, int]:
    """Post-swap cells that differ from the original, per split of S∪C and number of pairs in ``stops``
    (non-decreasing).

    A pair of cells (a, b) becomes (a with b's values on S, b with a's): two records leave a and b whatever S is, and
    two arrive elsewhere.  So departures are counted once for all splits (:func:`leave`) and only arrivals per split.
    Row ``k`` of ``swapped`` masks the words of split ``k``'s S; ``words`` holds the packed cells known so far (the
    original ones first, never more than ``limit``) with room for new ones, ``counts`` their original counts.
    ``arrived`` and ``rank`` are scratch, zero and NO_RANK on entry and on return, like ``fresh``, ``sources``,
    ``known`` and ``pair_words``.

    For each split and stop that is ``wanted``, the touched cells are appended to ``out`` from column ``n_out`` on
    (cell, count before, count after, records that stayed) and the end is written to ``ends[split, stop]``: first the
    cells that records left, in the order of first departure, then those where records only arrived, in the order of
    first arrival.  That order follows from the pairs alone, so sums over it have the same bits in whatever company.

    Begins with split ``split`` and stops before one for which room may run out; returns the split to go on with, the
    number of known cells and the number of columns in use.
    """
    leave(pairs, stops, words, shift, counts, arrived, pair_words, sources, known)
    n_sources = known[len(stops) - 1]
    for r in range(n_sources):
        rank[np.uint64(sources[0, r])] = r
    while split < len(swapped):
        most = min(n_cells + 2 * stops[len(stops) - 1], limit)
        room = 0
        for k in range(len(stops)):
            room += known[k] + min(2 * stops[k], most)
        if most >= len(words) or n_out + room >= out.shape[1]:
            break
        n_fresh: Integer = 0
        done = 0
        mask = swapped[split]
        o = np.uint64(n_out)
        for k in range(len(stops)):
            n_cells, n_fresh = arrive(
                pairs, pair_words, done, stops[k], mask, words, n_cells, buckets, shift, arrived, fresh, n_fresh
            )
            done = max(done, stops[k])
            if wanted[split, k]:
                for r in range(known[k]):
                    kept = sources[3 + k, r]
                    out[0, o] = sources[0, r]
                    out[1, o] = sources[2, r]
                    out[2, o] = kept + arrived[np.uint64(sources[1, r])]
                    out[3, o] = kept
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
                    before = counts[np.uint64(c)]
                    out[0, o] = c
                    out[1, o] = before
                    out[2, o] = before + arrived[key]
                    out[3, o] = before
                    o += np.uint64(rank[np.uint64(c)] >= known[k])
            ends[split, k] = o
        n_out = np.int64(o)
        for f in range(n_fresh):
            arrived[np.uint64(fresh[f])] = 0
        split += 1
    for r in range(n_sources):
        rank[np.uint64(sources[0, r])] = NO_RANK
    return split, int(n_cells), int(n_out)
