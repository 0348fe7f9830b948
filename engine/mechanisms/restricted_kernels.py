"""Integer kernels of a random swap that draws records by weight, or refuses pairs for more than their roles.

The law is that of :mod:`engine.mechanisms.kernels`, step by step, but for two things: each draw takes a record in
proportion to its weight, and feasible is only who passes all that is asked.  Feasibility is symmetric and the pool only
shrinks, so who finds nobody once never will.  With equal weights and nothing refused the law is the published one.

Cells are sorted by stratum and class as there.  A binary indexed tree (Fenwick 1994, doi 10.1002/spe.4380240306) holds
the weight of all available records of each cell.  A partner is drawn from the whole stratum and drawn anew while it is
not feasible; after ``RETRIES`` tries the feasible ones are counted exactly and one of them is drawn: the same law, and
the proof that there is none.  Everything that decides which random number is used for what is part of the stream.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.common.random_words import next_word
from engine.mechanisms.kernels import RETRIES

FEASIBLE, ALIKE, NO_CHANGE, FAR, UNLIKE, REFUSED = range(6)
"""What keeps two cells from exchanging: nothing; they are equal on some attribute of S or C, or of different kinds
there; the exchange would change nothing; they lie too far apart; they agree on too few attributes; an edit rule."""
OBSTACLES = 6


@kernel
def sort_cells(keys: np.ndarray, sizes: np.ndarray) -> np.ndarray:
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
def classes(keys: np.ndarray, n_stratum: Integer) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Classes and strata of sorted keys.

    Returns ``(class_of, class_start, first_class, last_class)``: each cell's class, each class's first cell (one more
    entry at the end), and for each class the range of classes of its stratum.
    """
    m, width = keys.shape
    class_of = np.zeros(m, np.int64)
    class_start = np.zeros(m + 1, np.int64)
    first_class = np.zeros(m, np.int64)
    last_class = np.zeros(m, np.int64)
    q = 0
    stratum_first = 0
    for i in range(1, m):
        new_stratum = False
        new_class = False
        for j in range(width):
            if keys[i, j] != keys[i - 1, j]:
                new_class = True
                if j < n_stratum:
                    new_stratum = True
                break
        if new_class:
            q += 1
            class_start[q] = i
            if new_stratum:
                for k in range(stratum_first, q):
                    last_class[k] = q
                stratum_first = q
            first_class[q] = stratum_first
        class_of[i] = q
    q += 1
    class_start[q] = m
    for k in range(stratum_first, q):
        last_class[k] = q
    return class_of, class_start[: q + 1], first_class[:q], last_class[:q]


@kernel
def below_wide(s: np.ndarray, n: Integer) -> np.int64:
    """A uniform integer in ``0..n-1`` for ``1 <= n < 2**63``: leading bits of a word, drawn anew while too large."""
    bits = np.uint64(0)
    top = np.uint64(n - 1)
    while top > np.uint64(0):
        top >>= np.uint64(1)
        bits += np.uint64(1)
    if bits == np.uint64(0):
        return np.int64(0)
    shift = np.uint64(64) - bits
    value = np.int64(next_word(s) >> shift)
    while value >= n:
        value = np.int64(next_word(s) >> shift)
    return value


@kernel
def plant(tree: np.ndarray, held: np.ndarray) -> None:
    """Fill ``tree`` (one longer, zeros on entry) with the weights ``held`` by each cell."""
    m = len(held)
    for c in range(m):
        tree[c + 1] += held[c]
        parent = c + 1 + ((c + 1) & -(c + 1))
        if parent <= m:
            tree[parent] += tree[c + 1]


@kernel
def ahead(tree: np.ndarray, c: Integer) -> np.int64:
    """The weight of the cells ``0..c-1``."""
    total = np.int64(0)
    while c > 0:
        total += tree[c]
        c -= c & -c
    return total


@kernel
def take(tree: np.ndarray, c: Integer, weight: Integer) -> None:
    """Take a weight from a cell."""
    at = c + 1
    while at < len(tree):
        tree[at] -= weight
        at += at & -at


@kernel
def cell_of(tree: np.ndarray, number: Integer) -> np.int64:
    """The cell that holds a unit of weight by its number, counted over all cells."""
    step = 1
    while 2 * step < len(tree):
        step *= 2
    at = np.int64(0)
    while step > 0:
        if at + step < len(tree) and tree[at + step] <= number:
            at += step
            number -= tree[at]
        step //= 2
    return at


@kernel
def obstacle(
    a: Integer,
    b: Integer,
    values: np.ndarray,
    others: np.ndarray,
    ranks: np.ndarray,
    steps: np.ndarray,
    agreeing: tuple[np.ndarray, int],
    rules: tuple[np.ndarray, np.ndarray],
) -> int:
    """The obstacle that keeps cells ``a`` and ``b`` of one stratum from exchanging, one of :data:`FEASIBLE` to
    :data:`REFUSED`.

    ``values`` are the cells' levels on S∪C; ``others`` numbers cells that must not meet although they differ there;
    ``ranks`` are ranks on attributes where at most so many ``steps`` may lie between, negative ones being equal or
    apart for good; ``agreeing`` holds levels and on how many of them partners agree at least; ``rules`` the bits of
    edit rules whose unswapped and whose swapped part a cell meets.
    """
    for j in range(values.shape[1]):
        if values[a, j] == values[b, j]:
            return ALIKE
    if others[a] == others[b]:
        return NO_CHANGE
    for j in range(ranks.shape[1]):
        x, y = ranks[a, j], ranks[b, j]
        if x != y and (x < 0 or y < 0 or abs(x - y) > steps[j]):
            return FAR
    levels, least = agreeing
    agree = 0
    for j in range(levels.shape[1]):
        if levels[a, j] == levels[b, j]:
            agree += 1
    if agree < least:
        return UNLIKE
    stays, moves = rules
    for w in range(stays.shape[1]):
        of_a, of_b = moves[a, w], moves[b, w]
        if (stays[a, w] & of_b & ~of_a) | (stays[b, w] & of_a & ~of_b):
            return REFUSED
    return FEASIBLE


@kernel
def draw_restricted(
    wanted: Integer,
    left: np.ndarray,
    weight: np.ndarray,
    stratum: np.ndarray,
    same_class: np.ndarray,
    pair: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, int], tuple[np.ndarray, np.ndarray]],
    s: np.ndarray,
    pairs: np.ndarray,
    turned_down: np.ndarray,
    alone: np.ndarray,
) -> int:
    """Draw up to ``wanted`` pairs of cells, written to ``pairs`` by their sorted order; returns how many were drawn.

    ``left`` counts each cell's available records and is used up; ``weight`` is that of one record; ``stratum`` and
    ``same_class`` hold the first cell of each cell's stratum and class and the one after the last; ``pair`` are the
    arguments of :func:`obstacle`.  ``turned_down[i, o]`` receives how often obstacle ``o`` turned a partner down before
    pair ``i`` was drawn (in all, in the last row); ``alone[o]`` how many records were found without any partner, by
    the last obstacle that all who were left met.
    """
    values, others, ranks, steps, agreeing, rules = pair
    m = len(left)
    tree = np.zeros(m + 1, np.int64)
    plant(tree, left * weight)
    total = ahead(tree, m)
    turned = np.zeros(OBSTACLES, np.int64)
    n_pairs = 0
    while n_pairs < wanted and total > 0:
        a = cell_of(tree, below_wide(s, total))
        begin, end = stratum[a, 0], stratum[a, 1]
        before = ahead(tree, begin)
        around = ahead(tree, end) - before
        b: Integer = np.int64(-1)
        for _ in range(RETRIES):
            c: Integer = cell_of(tree, before + below_wide(s, around))
            why: Integer = obstacle(a, c, values, others, ranks, steps, agreeing, rules)
            if why == FEASIBLE:
                b = c
                break
            turned[why] += 1
        if b < 0:
            feasible = np.int64(0)
            furthest: Integer = ALIKE
            for c in range(begin, end):
                if left[c] > 0:
                    why = obstacle(a, c, values, others, ranks, steps, agreeing, rules)
                    if why == FEASIBLE:
                        feasible += left[c] * weight[c]
                    elif why > furthest:
                        furthest = why
            if feasible > 0:
                number = below_wide(s, feasible)
                for c in range(begin, end):
                    if left[c] > 0 and obstacle(a, c, values, others, ranks, steps, agreeing, rules) == FEASIBLE:
                        number -= left[c] * weight[c]
                        if number < 0:
                            b = np.int64(c)
                            break
            else:
                # nobody is left for the cell, or for its whole class where all differ in nothing that must differ
                first, last = (same_class[a, 0], same_class[a, 1]) if furthest == ALIKE else (a, a + 1)
                for c in range(first, last):
                    alone[furthest] += left[c]
                    take(tree, c, left[c] * weight[c])
                    total -= left[c] * weight[c]
                    left[c] = 0
        turned_down[n_pairs] = turned
        if b >= 0:
            pairs[n_pairs, 0], pairs[n_pairs, 1] = a, b
            n_pairs += 1
            for c in (a, b):
                left[c] -= 1
                take(tree, c, weight[c])
                total -= weight[c]
            turned_down[n_pairs] = turned
    return n_pairs


@kernel
def nearest_to_a_pair(
    stratum: np.ndarray,
    pair: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, int], tuple[np.ndarray, np.ndarray]],
    most: Integer,
) -> Integer:
    """:data:`FEASIBLE` where some two cells may exchange, else the last obstacle that any two meet; FEASIBLE too where
    ``most`` comparisons do not tell."""
    values, others, ranks, steps, agreeing, rules = pair
    furthest: Integer = ALIKE
    done = 0
    for a in range(len(others)):
        for c in range(a + 1, stratum[a, 1]):
            why = obstacle(a, c, values, others, ranks, steps, agreeing, rules)
            done += 1
            if why == FEASIBLE or done > most:
                return FEASIBLE
            if why > furthest:
                furthest = why
    return furthest
