"""Integer kernels of the random swap over cells.

Why cells suffice.  Whether two records may swap depends only on their original attribute values, so records in one cell
of the full table are exchangeable: drawing *which cells* swap, with each cell weighted by its records still available,
has exactly the law of drawing records (Gomatam, Karr and Sanil 2005, Appendix A).  Records are chosen afterwards, and
only when asked for.

How a partner is drawn.  Cells are sorted by *stratum* (equal on F, equal kinds where that is asked) and inside it by
*class* (the values on S∪C).  The classes that differ from a given class on all of S∪C form a few runs of cells; one
uniform draw over the runs, rejected while it falls on a used record or (strict rule without C) on equal U values, is
uniform over the feasible partners.  After ``RETRIES`` rejections the feasible partners are counted exactly and one of
them is drawn: the same law, and the proof that there is none.  Unavailability is permanent because the pool only
shrinks and feasibility is symmetric; when nothing available differs on S∪C the whole class is closed at once.

Positions.  Available records are addressed by positions ``0..start[-1]``, cell after cell; those of cell ``c`` from
``start[c]`` up to before ``limit[c]`` are still available.  Once draws on used positions have cost as much as numbering
anew, positions are numbered anew.

Speed.  What is asked of a cell lies side by side in one row of ``cells`` and the generator's state in local variables;
indices are unsigned, because compiled code looks at the sign of others each time.

Everything that decides which random number is used for what is part of the stream: sort order, runs, ``RETRIES``, the
rule for renumbering.  Changing any of it needs a new ``streams.STREAM_VERSION``.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import COMPILED, Integer, kernel
from engine.common.random_words import step_below

GUIDE_STEP = 8 if COMPILED else 1
"""Entries of the guide table that are written at once: compiled code does that in one instruction, and a jump that the
processor does not foresee costs more."""
RETRIES = 64
PATIENCE = 4
"""Rejections after which a look tells whether anybody is left; RETRIES is part of the stream, this is not."""
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)


@kernel
def number_positions(cells: np.ndarray, guide: np.ndarray, shift: Integer) -> np.int64:
    """Number the available records of the rows of ``cells`` anew, and fill a guide table from positions to cells as far
    as there are positions, and up to ``GUIDE_STEP`` entries more; returns how many positions there are."""
    position = np.int64(0)
    g = np.int64(0)
    for c in range(len(cells) // 4 - 1):
        at = np.uint64(c) << _TWO
        available = cells[at + _ONE] - cells[at]
        cells[at] = position
        position += available
        cells[at + _ONE] = position
        end = ((position - 1) >> shift) + 1
        while True:
            for j in range(GUIDE_STEP):
                guide[np.uint64(g + j)] = c
            if g + GUIDE_STEP >= end:
                break
            g += GUIDE_STEP
        g = end
    cells[len(cells) - 4] = position
    return position


@kernel
def cell_at(position: Integer, cells: np.ndarray, guide: np.ndarray, shift: Integer) -> np.uint64:
    """The cell that holds a position."""
    c = np.uint64(guide[np.uint64(position >> shift)])
    while cells[(c + _ONE) << _TWO] <= position:
        c += _ONE
    return c


@kernel
def spread_values(values: np.ndarray, words: np.ndarray) -> tuple[bool, np.uint64, np.uint64]:
    """The values of each class in one word, a group of bits for each column with a zero above it: ``(words, ones,
    guards)`` with all bits of the groups, and those above.  No words where 64 bits do not hold them.

    Two classes differ in every column when their difference by bits, with ``ones`` added, has all ``guards``.
    """
    ones = np.uint64(0)
    guards = np.uint64(0)
    at = 0
    for j in range(values.shape[1]):
        most = np.int64(0)
        for k in range(len(values)):
            most = max(most, values[k, j])
        bits = 1
        while most >> bits > 0:
            bits += 1
        if at + bits >= 64:
            return False, ones, guards
        for k in range(len(values)):
            words[k] |= np.uint64(values[k, j]) << np.uint64(at)
        ones |= ((_ONE << np.uint64(bits)) - _ONE) << np.uint64(at)
        guards |= _ONE << np.uint64(at + bits)
        at += bits + 1
    return True, ones, guards


@kernel
def find_runs(
    k: Integer,
    values: np.ndarray,
    words: np.ndarray,
    fits: bool,
    ones: np.uint64,
    guards: np.uint64,
    class_start: np.ndarray,
    first_class: np.ndarray,
    last_class: np.ndarray,
    runs: np.ndarray,
    at: Integer,
    end: Integer,
) -> int:
    """Runs of cells whose class differs from class ``k`` on every column of ``values`` (one row per class), inside its
    stratum; ``words``, ``fits``, ``ones`` and ``guards`` are of :func:`spread_values`.

    Written to ``runs[at:end]`` as (first cell, cell after the last); returns how many, or -1 when they do not fit.
    """
    n = 0
    open_run = False
    for other in range(first_class[k], last_class[k]):
        if fits:
            differs = ((words[np.uint64(other)] ^ words[k]) + ones) & guards == guards
        else:
            differs = True
            for j in range(values.shape[1]):
                if values[other, j] == values[k, j]:
                    differs = False
                    break
        if differs and not open_run:
            if at + n >= end:
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
def measure_runs(
    runs: np.ndarray, at: Integer, n_runs: Integer, cells: np.ndarray, reach: np.ndarray, offset: np.ndarray
) -> np.int64:
    """Number of positions in the runs ``at .. at + n_runs - 1``, used ones included.

    ``reach[r]`` receives how many lie in run ``r`` and those before it; what is added to such a number to make it a
    position goes to ``offset[r]``.
    """
    total = np.int64(0)
    for r in range(at, at + n_runs):
        offset[r] = cells[4 * runs[r, 0]] - total
        total += cells[4 * runs[r, 1]] - cells[4 * runs[r, 0]]
        reach[r] = total
    return total


@kernel
def run_at(number: Integer, at: Integer, n_runs: Integer, reach: np.ndarray) -> np.uint64:
    """The run that holds a position counted over the runs: the first whose ``reach`` is above ``number``."""
    low = np.int64(at)
    n = np.int64(n_runs)
    while n > 1:
        half = n >> 1
        # half, or nothing where its end is above: shifted out, since of a condition compilers make a jump
        short = np.int64(number - reach[np.uint64(low + half - 1)]) >> 58
        low += half >> (short & 63)
        n -= half
    return np.uint64(low)


@kernel
def count_partners(
    runs: np.ndarray, at: Integer, n_runs: Integer, cells: np.ndarray, own: Integer
) -> tuple[np.int64, np.int64]:
    """Count the available records of some runs exactly.

    Returns ``(differing, feasible)``: all of them, which differ from a cell on S∪C, and those that differ from it on U
    too where that is asked; ``own`` is its number among ``others``.
    """
    differing = np.int64(0)
    feasible = np.int64(0)
    for r in range(at, at + n_runs):
        for c in range(runs[r, 0], runs[r, 1]):
            available = cells[4 * c + 1] - cells[4 * c]
            differing += available
            if cells[4 * c + 3] != own:
                feasible += available
    return differing, feasible


@kernel
def partner_number(
    number: Integer, runs: np.ndarray, at: Integer, n_runs: Integer, cells: np.ndarray, own: Integer
) -> np.uint64:
    """The cell of one of the feasible records that :func:`count_partners` counted, by its number among them."""
    for r in range(at, at + n_runs):
        for c in range(runs[r, 0], runs[r, 1]):
            if cells[4 * c + 3] != own:
                available = cells[4 * c + 1] - cells[4 * c]
                if number < available:
                    return np.uint64(c)
                number -= available
    return np.uint64(len(cells) // 4 - 1)


@kernel
def nobody_left(runs: np.ndarray, at: Integer, n_runs: Integer, cells: np.ndarray) -> bool:
    """Return whether no record of the runs is available."""
    for r in range(at, at + n_runs):
        for c in range(runs[r, 0], runs[r, 1]):
            if cells[4 * c + 1] > cells[4 * c]:
                return False
    return True


@kernel
def draw_pairs(
    wanted: Integer,
    order: np.ndarray,
    first_cells: np.ndarray,
    class_start: np.ndarray,
    first_class: np.ndarray,
    last_class: np.ndarray,
    values: np.ndarray,
    first_guide: np.ndarray,
    shift: Integer,
    runs: np.ndarray,
    spare: Integer,
    reach: np.ndarray,
    offset: np.ndarray,
    memo: np.ndarray,
    used: np.ndarray,
    s: np.ndarray,
    pairs: np.ndarray,
) -> Integer:
    """Draw up to ``wanted`` pairs of cells; returns how many were drawn.

    All cells are in sorted order, ``order`` is their place in the table.  ``first_cells`` has four numbers for each
    cell: its first position, the end of those available, its class, and a number that two cells share which must not
    meet although they differ on S∪C (those equal on all U attributes where a pair must differ on one of them, and no
    two elsewhere); four more follow, the first of them the number of positions.  ``values`` are the S∪C codes per
    class.  ``first_cells`` and ``first_guide`` are of the first numbering of positions, and stay.

    ``runs``, ``reach``, ``offset``, ``memo`` and ``used`` remember the runs of classes met before: what is remembered
    saves time and never changes a draw.  ``memo[k]`` = where the runs of class ``k`` begin or -1, how many, the
    numbering that their ``reach`` and ``offset`` belong to (0, the first one, is the same in every replicate; later
    ones get numbers of their own from ``used[1]``), and how many positions they hold.  ``runs`` from ``spare`` on is
    for classes that there is no room to remember.  ``pairs`` of shape ``(wanted, 2)`` receives the cells by their
    places in the table, in drawing order.
    """
    s0, s1, s2, s3 = s
    nobody = np.uint64(len(order))
    cells = first_cells.copy()
    guide = first_guide.copy()
    kept = memo.reshape(4 * len(memo))
    words = np.zeros(len(values), np.uint64)
    is_spread = fits = False
    ones = guards = _ONE
    numbering = np.int64(0)
    positions = np.int64(cells[nobody << _TWO])
    available = positions
    wasted = 0
    n_pairs = np.uint64(0)
    while n_pairs < np.uint64(wanted) and available > 0:
        # first record: uniform over what is neither swapped nor closed
        position, s0, s1, s2, s3 = step_below(positions, s0, s1, s2, s3)
        a = cell_at(position, cells, guide, shift)
        at_a = a << _TWO
        if position >= cells[at_a + _ONE]:
            wasted += 1
        else:
            # runs of its class: remembered, or looked up now; reach and offset are those of the current numbering
            k = np.uint64(cells[at_a + _TWO])
            at_k = k << _TWO
            if kept[at_k] < 0:
                if not is_spread:
                    fits, ones, guards = spread_values(values, words)
                    is_spread = True
                n_found = find_runs(
                    k, values, words, fits, ones, guards, class_start, first_class, last_class, runs, used[0], spare
                )
                if n_found >= 0:
                    kept[at_k] = used[0]
                    kept[at_k + _ONE] = n_found
                    kept[at_k + _TWO] = -1
                    used[0] += n_found
            at = np.int64(kept[at_k])
            if at < 0:
                at = np.int64(spare)
                found = find_runs(
                    k, values, words, fits, ones, guards, class_start, first_class, last_class, runs, at, len(runs)
                )
                n_runs = np.int64(found)
                total = measure_runs(runs, at, n_runs, cells, reach, offset)
            else:
                n_runs = np.int64(kept[at_k + _ONE])
                if kept[at_k + _TWO] != numbering:
                    kept[at_k + _TWO] = numbering
                    kept[at_k + _THREE] = measure_runs(runs, at, n_runs, cells, reach, offset)
                total = np.int64(kept[at_k + _THREE])

            # second record: uniform over the runs until it is available and differs on some U attribute where it must
            own = cells[at_a + _THREE]
            b = nobody
            tries = 0 if total > 0 else RETRIES
            while tries < RETRIES:
                tries += 1
                number, s0, s1, s2, s3 = step_below(total, s0, s1, s2, s3)
                position = number + offset[run_at(number, at, n_runs, reach)]
                c = cell_at(position, cells, guide, shift)
                if position >= cells[(c << _TWO) + _ONE]:
                    wasted += 1
                elif cells[(c << _TWO) + _THREE] != own:
                    b = c
                    break
                if tries == PATIENCE and nobody_left(runs, at, n_runs, cells):
                    # all that is still to be drawn falls on used records, wherever that may be
                    for _ in range(PATIENCE, RETRIES):
                        number, s0, s1, s2, s3 = step_below(total, s0, s1, s2, s3)
                    wasted += RETRIES - PATIENCE
                    break

            # the same law by counting; finding nobody closes the cell, or its whole class when nobody differs on S∪C
            if b == nobody:
                differing, feasible = count_partners(runs, at, n_runs, cells, own)
                if feasible > 0:
                    number, s0, s1, s2, s3 = step_below(feasible, s0, s1, s2, s3)
                    b = partner_number(number, runs, at, n_runs, cells, own)
                elif differing > 0:
                    available -= cells[at_a + _ONE] - cells[at_a]
                    cells[at_a + _ONE] = cells[at_a]
                else:
                    for closed in range(class_start[k], class_start[k + _ONE]):
                        available -= cells[4 * closed + 1] - cells[4 * closed]
                        cells[4 * closed + 1] = cells[4 * closed]
            if b != nobody:
                pairs[n_pairs, 0] = order[a]
                pairs[n_pairs, 1] = order[b]
                n_pairs += _ONE
                cells[at_a + _ONE] -= 1
                cells[(b << _TWO) + _ONE] -= 1
                available -= 2
        if wasted >= len(order):
            positions = number_positions(cells, guide, shift)
            used[1] += 1
            numbering = np.int64(used[1])
            wasted = 0
    return np.int64(n_pairs)
