"""Measures on unswapped keys and on a sensitive attribute, each from its formula on records; see ``measures.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import isnan, log, nan

from tests.twins.measures import Record, seen, small_cells

Records = Sequence[Record]
Places = Sequence[int]


def unswapped(before: Records, after: Records, attributes: Places) -> list[int]:
    """The attributes on which every record is as it was."""
    return [j for j in attributes if all(old[j] == new[j] for old, new in zip(before, after, strict=True))]


def small_cells_unswapped(before: Records, after: Records, attributes: Places, shape: Places, n_rule: int = 3) -> float:
    return small_cells(after, after, unswapped(before, after, attributes), shape, n_rule)


def uniques_unswapped(before: Records, after: Records, attributes: Places, shape: Places) -> float:
    counts = Counter(seen(r, unswapped(before, after, attributes)) for r in after)
    return sum(1 for count in counts.values() if count == 1)


def expected_matches_unswapped(
    before: Records, after: Records, attributes: Places, shape: Places, n_rule: int = 3
) -> float:
    """Every record of a small cell is linked to one of the cell at random: right with probability 1 / count."""
    keys = unswapped(before, after, attributes)
    counts = Counter(seen(r, keys) for r in after)
    return sum(1 / counts[seen(r, keys)] for r in before if counts[seen(r, keys)] < n_rule)


def small_cells_subset(
    before: Records, after: Records, attributes: Places, shape: Places, size: int = 3, n_rule: int = 3
) -> float:
    subsets = combinations(attributes, min(size, len(attributes)))
    figures = [small_cells(before, after, some, shape, n_rule) for some in subsets]
    return max((figure for figure in figures if not isnan(figure)), default=nan)


def values_by_cell(after: Records, keys: Places, target: int) -> dict[Record, list[int]]:
    cells: dict[Record, list[int]] = {}
    for record in after:
        cells.setdefault(seen(record, keys), []).append(record[target])
    return cells


def l_diversity(
    before: Records,
    after: Records,
    attributes: Places,
    shape: Places,
    target: str,
    l: int = 2,  # noqa: E741
    diversity: str = "distinct",
) -> float:
    """Machanavajjhala et al. (2007): distinct values, or entropy of at least log l; the share of records that miss
    it."""
    t = ord(target) - ord("A")
    cells = values_by_cell(after, [j for j in attributes if j != t], t)
    missing = 0
    for values in cells.values():
        shares = [count / len(values) for count in Counter(values).values()]
        few = len(shares) < l
        if diversity == "entropy":
            few = -sum(p * log(p) for p in shares) < log(l) - 1e-12
        missing += len(values) * few
    return missing / len(after)


def t_closeness(
    before: Records, after: Records, attributes: Places, shape: Places, target: str, distance: str = "equal"
) -> float:
    """Li et al. (2007): the earth mover's distance with equal and with ordered costs."""
    t = ord(target) - ord("A")
    cells = values_by_cell(after, [j for j in attributes if j != t], t)
    overall = [sum(r[t] == level for r in after) / len(after) for level in range(shape[t])]
    largest = 0.0
    for values in cells.values():
        away = [values.count(level) / len(values) - overall[level] for level in range(shape[t])]
        if distance == "equal":
            far = sum(map(abs, away)) / 2
        else:
            far = sum(abs(sum(away[: i + 1])) for i in range(len(away))) / max(len(away) - 1, 1)
        largest = max(largest, far)
    return largest


TWINS: dict[str, Callable[..., float]] = {
    "small_cells_unswapped": small_cells_unswapped,
    "uniques_unswapped": uniques_unswapped,
    "expected_matches_unswapped": expected_matches_unswapped,
    "small_cells_subset": small_cells_subset,
    "l_diversity": l_diversity,
    "t_closeness": t_closeness,
}
