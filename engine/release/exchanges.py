"""Integer kernels that turn exchanged pairs of cells into changes of the table.

A cell is packed into words, a group of bits per attribute, so that an exchange of some attributes is one mask away.
Cells are found again by a table of buckets: of one bucket per possible word where words are few, else a hash table with
open addressing.  How departures and arrivals become the sparse post-swap tables is told in :func:`arrive`.
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
def leave(
    pairs: np.ndarray, stops: np.ndarray, rank: np.ndarray, source: np.ndarray, removed: np.ndarray, known: np.ndarray
) -> int:
    """Count the records that leave each cell, which no split changes.

    ``source`` receives the cells of the pairs in the order of first use and ``rank`` their places in it (``NO_RANK``
    everywhere on entry; :func:`forget` restores it); after ``stops[k]`` pairs ``known[k]`` of them are in use and
    ``removed[k]`` records have left each.  Returns how many there are in all.
    """
    n = 0
    done = 0
    for k in range(len(stops)):
        if k > 0:
            for before in range(n):
                removed[k, before] = removed[k - 1, before]
        while done < stops[k]:
            for side in range(2):
                c = pairs[done, side]
                r = np.int64(rank[c])
                if r == NO_RANK:
                    r = np.int64(n)
                    rank[c] = n
                    source[n] = c
                    removed[k, n] = 0
                    n += 1
                removed[k, r] += 1
            done += 1
        known[k] = n
    return n


@kernel
def forget(rank: np.ndarray, source: np.ndarray, n: Integer) -> None:
    """Undo the ranks that :func:`leave` gave."""
    for r in range(n):
        rank[source[r]] = NO_RANK


@kernel
def arrive(
    pairs: np.ndarray,
    stops: np.ndarray,
    split: int,
    swapped: np.ndarray,
    wanted: np.ndarray,
    rank: np.ndarray,
    source: np.ndarray,
    removed: np.ndarray,
    known: np.ndarray,
    words: np.ndarray,
    n_cells: int,
    limit: Integer,
    buckets: np.ndarray,
    shift: Integer,
    counts: np.ndarray,
    arrived: np.ndarray,
    fresh: np.ndarray,
    out: np.ndarray,
    n_out: int,
    ends: np.ndarray,
) -> tuple[int, int, int]:
    """Post-swap cells that differ from the original, per split of S∪C and number of pairs in ``stops``
    (non-decreasing).

    A pair of cells (a, b) becomes (a with b's values on S, b with a's): two records leave a and b whatever S is, and
    two arrive elsewhere.  So departures are counted once for all splits (:func:`leave`) and only arrivals per split.
    Row ``k`` of ``swapped`` masks the words of split ``k``'s S; ``words`` holds the packed cells known so far (the
    original ones first, never more than ``limit``) with room for new ones, ``counts`` their original counts.
    ``arrived`` is scratch, zero on entry and on return, like ``fresh``.

    For each split and stop that is ``wanted``, the touched cells are appended to ``out`` from column ``n_out`` on
    (cell, count before, count after, records that stayed) and the end is written to ``ends[split, stop]``: first the
    cells that records left, in the order of first departure, then those where records only arrived, in the order of
    first arrival.  That order follows from the pairs alone, so sums over it have the same bits in whatever company.

    Begins with split ``split`` and stops before one for which room may run out; returns the split to go on with, the
    number of known cells and the number of columns in use.
    """
    width = words.shape[1]
    while split < len(swapped):
        most = min(n_cells + 2 * stops[len(stops) - 1], limit)
        room = 0
        for k in range(len(stops)):
            room += known[k] + min(2 * stops[k], most)
        if most >= len(words) or n_out + room >= out.shape[1]:
            break
        n_fresh = 0
        done = 0
        mask = swapped[split, 0]
        for k in range(len(stops)):
            if width == 1:
                for i in range(done, stops[k]):
                    a = words[pairs[i, 0], 0]
                    b = words[pairs[i, 1], 0]
                    crossing = (a ^ b) & mask
                    for side in range(2):
                        word = (a if side == 0 else b) ^ crossing
                        if shift == DIRECT:
                            c: Integer = np.int64(buckets[word])
                            if c < 0:
                                words[n_cells, 0] = word
                                buckets[word] = n_cells
                                c = n_cells
                                n_cells += 1
                        else:
                            words[n_cells, 0] = word
                            c = locate(words, n_cells, buckets, shift)
                            if c == n_cells:
                                n_cells += 1
                        n = arrived[c]
                        fresh[n_fresh] = c
                        n_fresh += n == 0
                        arrived[c] = n + 1
            else:
                for i in range(done, stops[k]):
                    for side in range(2):
                        a = pairs[i, side]
                        b = pairs[i, 1 - side]
                        for w in range(width):
                            words[n_cells, w] = words[a, w] ^ ((words[a, w] ^ words[b, w]) & swapped[split, w])
                        c = locate(words, n_cells, buckets, shift)
                        if c == n_cells:
                            n_cells += 1
                        n = arrived[c]
                        fresh[n_fresh] = c
                        n_fresh += n == 0
                        arrived[c] = n + 1
            done = max(done, stops[k])
            if wanted[split, k]:
                for r in range(known[k]):
                    c = source[r]
                    before = counts[c]
                    kept = before - removed[k, r]
                    out[0, n_out] = c
                    out[1, n_out] = before
                    out[2, n_out] = kept + arrived[c]
                    out[3, n_out] = kept
                    n_out += 1
                for f in range(n_fresh):
                    c = fresh[f]
                    before = counts[c]
                    out[0, n_out] = c
                    out[1, n_out] = before
                    out[2, n_out] = before + arrived[c]
                    out[3, n_out] = before
                    n_out += rank[c] >= known[k]
            ends[split, k] = n_out
        for f in range(n_fresh):
            arrived[fresh[f]] = 0
        split += 1
    return split, n_cells, n_out
