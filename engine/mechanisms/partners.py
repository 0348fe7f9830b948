"""Integer kernels that find partners for records that exchange their keys.

Records stand at *positions* sorted by key cell, so that a record's cell is one run of positions.  A binary indexed tree
(Fenwick 1994, doi 10.1002/spe.4380240306) counts who is still in the pool: how many there are outside a run and which
of them is the r-th cost ``O(log n)``, so a partner is drawn with one uniform integer, exactly and without rejection,
however lopsided the cells are.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.common.random_words import below


@kernel
def plant(tree: np.ndarray, pool: np.ndarray) -> int:
    """Fill ``tree`` (length ``n + 1``) with the counts of ``pool`` (length ``n``, 0 or 1); returns their sum."""
    n = len(pool)
    total = 0
    for p in range(n):
        tree[p + 1] += pool[p]
        total += pool[p]
        parent = p + 1 + ((p + 1) & -(p + 1))
        if parent <= n:
            tree[parent] += tree[p + 1]
    return total


@kernel
def ahead(tree: np.ndarray, p: Integer) -> int:
    """Number of positions among ``0..p-1`` that are in the pool."""
    count = 0
    while p > 0:
        count += tree[p]
        p -= p & -p
    return count


@kernel
def take_out(tree: np.ndarray, p: Integer) -> None:
    """Take position ``p`` out of the pool."""
    at = p + 1
    while at < len(tree):
        tree[at] -= 1
        at += at & -at


@kernel
def place_of(tree: np.ndarray, rank: Integer) -> Integer:
    """The position in the pool that has exactly ``rank`` pool positions ahead of it."""
    step = 1
    while 2 * step < len(tree):
        step *= 2
    at = 0
    while step > 0:
        if at + step < len(tree) and tree[at + step] <= rank:
            at += step
            rank -= tree[at]
        step //= 2
    return at


@kernel
def pair_up(
    visits: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    pool: np.ndarray,
    tree: np.ndarray,
    state: np.ndarray,
    source: np.ndarray,
) -> int:
    """Visit positions in order; each that is not yet swapped exchanges with one drawn from the pool outside its run.

    Visit ``v`` excludes positions ``low[v]..high[v]-1``, which hold ``visits[v]`` itself.  ``pool`` (0 or 1 per
    position) says who may be drawn; whoever has swapped leaves it.  ``tree`` is scratch of zeros, one longer.
    ``source`` is the identity on entry and names on return whose keys each position carries.  Returns how many found no
    partner.
    """
    n_left = plant(tree, pool)
    unpaired = 0
    for v in range(len(visits)):
        p = visits[v]
        if source[p] != p:
            continue
        before = ahead(tree, low[v])
        in_run = ahead(tree, high[v]) - before
        if n_left == in_run:
            unpaired += 1
            continue
        rank = below(state, n_left - in_run)
        if rank >= before:
            rank += in_run
        q = np.int64(place_of(tree, rank))
        source[p] = q
        source[q] = p
        take_out(tree, q)
        n_left -= 1
        if pool[p]:
            take_out(tree, p)
            n_left -= 1
    return unpaired
