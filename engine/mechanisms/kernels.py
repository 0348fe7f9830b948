"""The random swap over cells: integer kernels.

Why cells suffice.  Whether two records may swap depends only on their original attribute values, so records in one cell
of the full table are exchangeable: drawing *which cells* swap, with each cell weighted by its records still available,
has exactly the law of drawing records (Gomatam, Karr and Sanil 2005, Appendix A).  Records are chosen afterwards, and
only when asked for.

How a partner is drawn.  Cells are sorted by *block* (equal on F, equal kinds where that is asked) and inside it by
*class* (the values on S∪C).  The classes that differ from a given class on all of S∪C form a few runs of cells; one
uniform draw over the runs, rejected while it falls on a used record or (strict rule without C) on equal U values, is
uniform over the feasible partners.  After ``RETRIES`` rejections the feasible partners are counted exactly and one of
them is drawn: the same law, and the proof that there is none.  Unavailability is permanent because the pool only
shrinks and feasibility is symmetric; when nothing available differs on S∪C the whole class is closed at once.

Positions.  Available records are addressed by positions ``0..start[-1]``, cell after cell; the first ``left[c]``
positions of cell ``c`` are still available.  Once draws on used positions have cost as much as numbering anew,
positions are numbered anew.

Everything that decides which random number is used for what is part of the stream: sort order, runs, ``RETRIES``, the
rule for renumbering.  Changing any of it needs a new ``streams.STREAM_VERSION``.
"""

from __future__ import annotations

import numpy as np

from engine.compiled import kernel

RETRIES = 64
NO_RANK = 2**31 - 1
DIRECT = 64
"""In place of a hash's shift: every possible packed word has a bucket of its own."""

_LOW = np.uint64(0xFFFFFFFF)
_TWO32 = np.uint64(1 << 32)


@kernel
def next_word(s):
    """Next output of xoshiro256** (Blackman and Vigna 2018, doi 10.1145/3460772); ``s`` is its state of four words."""
    x = s[1] * np.uint64(5)
    result = ((x << np.uint64(7)) | (x >> np.uint64(57))) * np.uint64(9)
    t = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << np.uint64(45)) | (s[3] >> np.uint64(19))
    return result


@kernel
def below(s, n):
    """A uniform integer in ``0..n-1`` for ``1 <= n < 2**32``, without modulo bias (Lemire 2019, doi
    10.1145/3230636)."""
    bound = np.uint64(n)
    m = (next_word(s) >> np.uint64(32)) * bound
    if (m & _LOW) < bound:
        threshold = (_TWO32 - bound) % bound
        while (m & _LOW) < threshold:
            m = (next_word(s) >> np.uint64(32)) * bound
    return np.int64(m >> np.uint64(32))


@kernel
def sort_cells(keys, sizes):
    """Order of cells by the columns of ``keys``, first column first: stable counting sorts from the last column to the
    first."""
    m, width = keys.shape
    order = np.arange(m)
    other = np.empty(m, np.int64)
    for back in range(width):
        j = width - 1 - back
        at = np.zeros(sizes[j] + 1, np.int64)
        for i in range(m):
            at[keys[i, j] + 1] += 1
        for v in range(sizes[j]):
            at[v + 1] += at[v]
        for i in range(m):
            v = keys[order[i], j]
            other[at[v]] = order[i]
            at[v] += 1
        order, other = other, order
    return order


@kernel
def classes(keys, n_block):
    """Classes and blocks of sorted keys.

    Returns ``(class_of, class_start, first_class, last_class)``: each cell's class, each class's first cell (one more
    entry at the end), and for each class the range of classes of its block.
    """
    m, width = keys.shape
    class_of = np.zeros(m, np.int64)
    class_start = np.zeros(m + 1, np.int64)
    first_class = np.zeros(m, np.int64)
    last_class = np.zeros(m, np.int64)
    q = 0
    block_first = 0
    for i in range(1, m):
        new_block = False
        new_class = False
        for j in range(width):
            if keys[i, j] != keys[i - 1, j]:
                new_class = True
                if j < n_block:
                    new_block = True
                break
        if new_class:
            q += 1
            class_start[q] = i
            if new_block:
                for k in range(block_first, q):
                    last_class[k] = q
                block_first = q
            first_class[q] = block_first
        class_of[i] = q
    q += 1
    class_start[q] = m
    for k in range(block_first, q):
        last_class[k] = q
    return class_of, class_start[: q + 1], first_class[:q], last_class[:q]


@kernel
def number_positions(left, start, guide, shift):
    """Number the available records anew: fill ``start`` and a guide table from positions to cells."""
    m = len(left)
    start[0] = 0
    for c in range(m):
        start[c + 1] = start[c] + left[c]
    c = 0
    for g in range(len(guide)):
        position = np.int64(g) << shift
        while c < m - 1 and start[c + 1] <= position:
            c += 1
        guide[g] = c


@kernel
def cell_at(position, start, guide, shift):
    """The cell that holds a position."""
    c = guide[position >> shift]
    while start[c + 1] <= position:
        c += 1
    return c


@kernel
def find_runs(k, values, class_start, first_class, last_class, runs, at):
    """Runs of cells whose class differs from class ``k`` on every column of ``values`` (one row per class), inside its
    block.

    Written to ``runs[at:]`` as (first cell, cell after the last); returns how many, or -1 when ``runs`` is full.
    """
    n = 0
    open_run = False
    for other in range(first_class[k], last_class[k]):
        differs = True
        for j in range(values.shape[1]):
            if values[other, j] == values[k, j]:
                differs = False
                break
        if differs and not open_run:
            if at + n >= len(runs):
                return -1
            runs[at + n, 0] = class_start[other]
            open_run = True
        if not differs and open_run:
            runs[at + n, 1] = class_start[other]
            n += 1
            open_run = False
    if open_run:
        runs[at + n, 1] = class_start[last_class[k]]
        n += 1
    return n


@kernel
def same_row(free, a, b):
    """Whether two cells are equal on all U attributes."""
    for j in range(free.shape[1]):
        if free[a, j] != free[b, j]:
            return False
    return True


@kernel
def draw_pairs(
    wanted,
    counts,
    class_of,
    class_start,
    first_class,
    last_class,
    values,
    free,
    need_free,
    guide,
    shift,
    runs,
    cumulated,
    memo,
    used,
    s,
    pairs,
):
    """Draw up to ``wanted`` pairs of cells; returns how many were drawn.

    All cells are in sorted order.  ``counts`` are records per cell; ``values`` the S∪C codes per class; ``free`` the U
    codes per cell, looked at when ``need_free``.  ``runs``, ``cumulated``, ``memo`` and ``used`` remember the runs of
    classes met before: what is remembered saves time and never changes a draw.  (``memo[k]`` = where the runs of class
    ``k`` begin or -1, how many, and the numbering that their cumulated lengths belong to; numbering 0 is the same in
    every replicate, later ones get numbers of their own from ``used[1]``.)  ``pairs`` of shape ``(wanted, 2)`` receives
    the cells, in drawing order.
    """
    m = len(counts)
    left = counts.copy()
    start = np.empty(m + 1, np.int64)
    number_positions(left, start, guide, shift)
    epoch = np.int64(0)
    available = start[m]
    wasted = np.int64(0)
    n_pairs = 0
    spare = np.empty((m + 1, 2), np.int64)
    spare_cumulated = np.empty(m + 1, np.int64)
    while n_pairs < wanted and available > 0:
        # first record: uniform over what is neither swapped nor closed
        position = below(s, start[m])
        a = cell_at(position, start, guide, shift)
        if position - start[a] >= left[a]:
            wasted += 1
            if wasted >= m:
                number_positions(left, start, guide, shift)
                used[1] += 1
                epoch = used[1]
                wasted = np.int64(0)
            continue

        # runs of its class: remembered, or looked up now; cumulated lengths are those of the current numbering
        k = class_of[a]
        if memo[k, 0] < 0:
            n_found = find_runs(k, values, class_start, first_class, last_class, runs, used[0])
            if n_found >= 0:
                memo[k, 0] = used[0]
                memo[k, 1] = n_found
                memo[k, 2] = -1
                used[0] += n_found
        if memo[k, 0] >= 0:
            at = memo[k, 0]
            mine = runs[at : at + memo[k, 1]]
            lengths = cumulated[at : at + memo[k, 1]]
            fresh = memo[k, 2] != epoch
            memo[k, 2] = epoch
        else:
            mine = spare[: find_runs(k, values, class_start, first_class, last_class, spare, 0)]
            lengths = spare_cumulated[: len(mine)]
            fresh = True
        n_runs = len(mine)
        if fresh:
            total = np.int64(0)
            for r in range(n_runs):
                total += start[mine[r, 1]] - start[mine[r, 0]]
                lengths[r] = total
        total = lengths[n_runs - 1] if n_runs > 0 else np.int64(0)

        # second record: uniform over the runs until it is available and differs on some U attribute where it must
        b = np.int64(-1)
        tries = 0
        while total > 0 and tries < RETRIES:
            tries += 1
            position = below(s, total)
            low = 0
            high = n_runs - 1
            while low < high:
                middle = (low + high) >> 1
                if lengths[middle] > position:
                    high = middle
                else:
                    low = middle + 1
            if low > 0:
                position -= lengths[low - 1]
            position += start[mine[low, 0]]
            c = cell_at(position, start, guide, shift)
            if position - start[c] >= left[c]:
                wasted += 1
            elif not (need_free and same_row(free, a, c)):
                b = c
                break

        # the same law by counting; finding nobody closes the cell, or its whole class when nobody differs on S∪C
        if b < 0:
            differing = np.int64(0)
            feasible = np.int64(0)
            for r in range(n_runs):
                for c in range(mine[r, 0], mine[r, 1]):
                    differing += left[c]
                    if left[c] > 0 and not (need_free and same_row(free, a, c)):
                        feasible += left[c]
            if feasible > 0:
                position = below(s, feasible)
                for r in range(n_runs):
                    for c in range(mine[r, 0], mine[r, 1]):
                        if b < 0 and left[c] > 0 and not (need_free and same_row(free, a, c)):
                            if position < left[c]:
                                b = np.int64(c)
                            position -= left[c]
            elif differing > 0:
                available -= left[a]
                left[a] = 0
            else:
                for c in range(class_start[k], class_start[k + 1]):
                    available -= left[c]
                    left[c] = 0
        if b >= 0:
            pairs[n_pairs, 0] = a
            pairs[n_pairs, 1] = b
            n_pairs += 1
            left[a] -= 1
            left[b] -= 1
            available -= 2
        if wasted >= m:
            number_positions(left, start, guide, shift)
            used[1] += 1
            epoch = used[1]
            wasted = np.int64(0)
    return n_pairs


@kernel
def bucket_of(words, i, shift):
    """Bucket of row ``i`` of packed cell words: the word itself with ``shift`` DIRECT (it is its own bucket then), else
    the high bits of a multiplicative hash."""
    if shift == DIRECT:
        return words[i, 0]
    h = np.uint64(0)
    for w in range(words.shape[1]):
        h = (h ^ np.uint64(words[i, w])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return np.int64((h * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(shift))


@kernel
def fill_buckets(words, n_cells, buckets, shift):
    """Enter cells ``0..n_cells-1`` into an empty open-addressing table (-1 is empty) of length ``2**(64 - shift)``, or
    of one bucket per possible word with ``shift`` DIRECT."""
    mask = len(buckets) - 1
    for i in range(n_cells):
        at = bucket_of(words, i, shift)
        while buckets[at] >= 0:
            at = (at + 1) & mask
        buckets[at] = i


@kernel
def locate(words, n_cells, buckets, shift):
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
def leave(pairs, stops, rank, source, removed, known):
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
def forget(rank, source, n):
    """Undo the ranks that :func:`leave` gave."""
    for r in range(n):
        rank[source[r]] = NO_RANK


@kernel
def arrive(
    pairs,
    stops,
    split,
    swapped,
    asked,
    rank,
    source,
    removed,
    known,
    words,
    n_cells,
    limit,
    buckets,
    shift,
    counts,
    arrived,
    fresh,
    out,
    n_out,
    ends,
):
    """Post-swap cells that differ from the original, per split of S∪C and number of pairs in ``stops``
    (non-decreasing).

    A pair of cells (a, b) becomes (a with b's values on S, b with a's): two records leave a and b whatever S is, and
    two arrive elsewhere.  So departures are counted once for all splits (:func:`leave`) and only arrivals per split.
    Row ``k`` of ``swapped`` masks the words of split ``k``'s S; ``words`` holds the packed cells known so far (the
    original ones first, never more than ``limit``) with room for new ones, ``counts`` their original counts.
    ``arrived`` is scratch, zero on entry and on return, like ``fresh``.

    For each split and stop that is ``asked`` for, the touched cells are appended to ``out`` from column ``n_out`` on
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
                            c = np.int64(buckets[word])
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
            if asked[split, k]:
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
