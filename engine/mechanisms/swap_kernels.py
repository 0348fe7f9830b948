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

The cells of a table made ready for one structure of the random swap, in one compiled call.

The order of cells is part of the stream: by the columns of the stratum, then by those of S∪C, and by their place in the
table where these are equal.

Integer kernels of a random swap that draws records by weight, or refuses pairs for more than their roles.

The law is that of :mod:`engine.mechanisms.swap_kernels`, step by step, but for two things: each draw takes a record in
proportion to its weight, and feasible is only who passes all that is asked.  Feasibility is symmetric and the pool only
shrinks, so who finds nobody once never will.  With equal weights and nothing refused the law is the published one.

Cells are sorted by stratum and class as there.  A binary indexed tree (Fenwick 1994, doi 10.1002/spe.4380240306) holds
the weight of all available records of each cell.  A partner is drawn from the whole stratum and drawn anew while it is
not feasible; after ``RETRIES`` tries the feasible ones are counted exactly and one of them is drawn: the same law, and
the proof that there is none.  Everything that decides which random number is used for what is part of the stream.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import COMPILED, Integer, kernel, next_word, step_below

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


@kernel
def sort_by(
    columns: np.ndarray,
    chosen: np.ndarray,
    sizes: np.ndarray,
    order: np.ndarray,
    other: np.ndarray,
    keys: np.ndarray,
    begins: np.ndarray,
) -> None:
    """Fill ``order`` with the places of rows in the order of the ``chosen`` columns, the first one first; equal rows
    stay in their order.

    ``columns`` has a row for each column and ``sizes`` its number of values.  Counting sorts go from the last columns
    to the first, each over as many columns as have fewer combinations than ``begins`` has room for.  ``other`` and
    ``keys``, as long as ``order``, and ``begins``, longer than every size, are scratch.
    """
    m = len(order)
    for i in range(m):
        order[i] = i
    end = len(chosen)
    while end > 0:
        first = end - 1
        size = np.int64(sizes[chosen[first]])
        while first > 0 and size * sizes[chosen[first - 1]] < len(begins):
            first -= 1
            size *= sizes[chosen[first]]
        for i in range(m):
            keys[i] = columns[chosen[first], i]
        for j in range(first + 1, end):
            factor, column = sizes[chosen[j]], columns[chosen[j]]
            for i in range(m):
                keys[i] = keys[i] * factor + column[i]
        for v in range(size + 1):
            begins[v] = 0
        for i in range(m):
            begins[keys[i] + 1] += 1
        for v in range(size):
            begins[v + 1] += begins[v]
        for i in range(m):
            row = order[i]
            v = keys[row]
            other[begins[v]] = row
            begins[v] += 1
        for i in range(m):
            order[i] = other[i]
        end = first


@kernel
def find_classes(
    order: np.ndarray,
    words: np.ndarray,
    masks: np.ndarray,
    columns: np.ndarray,
    kinds: np.ndarray,
    cells: np.ndarray,
    classes: tuple[np.ndarray, ...],
) -> int:
    """Fill each sorted cell's class (the third number of its row in ``cells``) and the arrays of ``classes``: each
    class's first cell (one more entry at the end), and for each class the range of classes of its stratum; returns how
    many classes there are.

    Cells of a stratum agree on the words under ``masks[0]`` and on the rows ``kinds`` of ``columns``, those of a class
    also under ``masks[1]``.
    """
    class_start, first_class, last_class = classes
    m, several = len(order), words.shape[1] > 1 or len(kinds) > 0
    equal, differ = masks[0, 0], masks[0, 0] | masks[1, 0]
    before = words[np.uint64(order[0]), 0]
    n = stratum = np.int64(0)
    for i in range(m):
        # where classes begin is as good as random: what is written at each cell takes no jump that nobody foresees
        b = np.uint64(order[i])
        differs = before ^ words[b, 0]
        before = words[b, 0]
        new_stratum, new_class = (differs & equal) != 0, (differs & differ) != 0
        if several and i > 0:
            a = np.uint64(order[i - 1])
            for w in range(1, words.shape[1]):
                differs = words[a, w] ^ words[b, w]
                new_stratum |= (differs & masks[0, w]) != 0
                new_class |= (differs & masks[1, w]) != 0
            for j in kinds:
                new_stratum |= columns[j, a] != columns[j, b]
            new_class |= new_stratum
        n += np.int64(new_class)
        stratum = n if new_stratum else stratum
        cells[np.uint64(4 * i + 2)] = n
        class_start[np.uint64(n + 1)] = i + 1
        first_class[np.uint64(n)] = stratum
    class_start[0] = 0
    n += 1
    end = n
    for back in range(n):
        k = np.uint64(n - 1 - back)
        last_class[k] = end
        end = end if first_class[k] < n - 1 - back else n - 1 - back
    return int(n)


@kernel
def prepare_cells(
    columns: np.ndarray,
    sizes: np.ndarray,
    counts: np.ndarray,
    words: np.ndarray,
    bits: np.ndarray,
    listed: np.ndarray,
    n_equal: Integer,
    n_stratum: Integer,
    n_sorted: Integer,
    must_differ: bool,
    shift: Integer,
    order: np.ndarray,
    other: np.ndarray,
    keys: np.ndarray,
    begins: np.ndarray,
    cells: np.ndarray,
    class_start: np.ndarray,
    first_class: np.ndarray,
    last_class: np.ndarray,
    values: np.ndarray,
    guide: np.ndarray,
    memo: np.ndarray,
) -> tuple[int, int, int]:
    """Fill what :func:`engine.mechanisms.swap_kernels.draw_pairs` takes of one structure.

    ``columns`` are the codes of the table's cells and the kinds of their levels, a row each; ``words`` the cells packed
    and ``bits`` the bits of each attribute in them.  ``listed`` are rows of ``columns``: ``n_equal`` of attributes on
    which a pair is equal, those of kinds up to ``n_stratum``, those of attributes on which it differs up to
    ``n_sorted``, then the free ones; with ``must_differ`` a pair must also differ on one of the free, which lie in one
    word.  ``values`` receives the levels of the attributes on which a pair differs, class after class.

    Returns the number of classes, and of the runs of cells that any one of them may have the sum and the most.
    """
    m, n_words = words.shape
    equal, kinds, differ, free = (
        listed[:n_equal],
        listed[n_equal:n_stratum],
        listed[n_stratum:n_sorted],
        listed[n_sorted:],
    )
    sort_by(columns, listed[:n_sorted], sizes, order, other, keys, begins)
    masks = np.zeros((3, n_words), np.int64)
    for w in range(n_words):
        for j in equal:
            masks[0, w] |= bits[j, w]
        for j in differ:
            masks[1, w] |= bits[j, w]
        for j in free:
            masks[2, w] |= bits[j, w]
    n_classes = find_classes(order, words, masks, columns, kinds, cells, (class_start, first_class, last_class))
    for k in range(n_classes):
        other[k] = order[np.uint64(class_start[k])]
    for j in range(len(differ)):
        column = columns[differ[j]]
        for k in range(n_classes):
            values[np.uint64(k * len(differ) + j)] = column[np.uint64(other[k])]
    for i in range(m):
        cells[np.uint64(4 * i)] = 0
        cells[np.uint64(4 * i + 1)] = counts[np.uint64(order[i])]
        cells[np.uint64(4 * i + 3)] = i
    if must_differ:
        for i in range(m):
            cells[np.uint64(4 * i + 3)] = words[np.uint64(order[i]), 0] & masks[2, 0]
    number_positions(cells, guide, shift)
    total = most = 0
    for k in range(n_classes):
        for j in range(memo.shape[1]):
            memo[k, j] = -1
        runs = (last_class[k] - first_class[k]) // 2 + 1
        total += runs
        most = max(most, runs)
    return n_classes, total, most


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
