"""The cells of a table made ready for one structure of the random swap, in one compiled call.

The order of cells is part of the stream: by the columns of the stratum, then by those of S∪C, and by their place in the
table where these are equal.
"""

from __future__ import annotations

import numpy as np

from engine.common.compiled import Integer, kernel
from engine.mechanisms.kernels import number_positions


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
    """Fill what :func:`engine.mechanisms.kernels.draw_pairs` takes of one structure.

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
