"""Every measure from its formula, on full record tables and plain dicts.

``before`` and ``after`` are lists of records (tuples of level codes); record i is the same subject in both.
``attributes`` are the places that are tabulated.  No sparse batches, no sharing, no vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from math import log, nan, sqrt

Record = tuple[int, ...]
Distance = Callable[[Sequence[Record], Sequence[Record], Sequence[int], Sequence[int]], float]


def seen(record: Record, attributes: Sequence[int]) -> Record:
    return tuple(record[j] for j in attributes)


def full_table(records: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]) -> dict[Record, int]:
    """Count of every cell, empty ones included."""
    counts = dict.fromkeys(product(*(range(shape[j]) for j in attributes)), 0)
    for record in records:
        counts[seen(record, attributes)] += 1
    return counts


def small_cells(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int], n_rule: int = 3
) -> float:
    """Eq. 6: of the records not changed on the tabulated attributes, the share in cells of 1 to n_rule - 1 after."""
    counts = full_table(after, attributes, shape)
    unchanged = [
        seen(new, attributes)
        for old, new in zip(before, after, strict=True)
        if seen(old, attributes) == seen(new, attributes)
    ]
    if not unchanged:
        return nan
    return sum(1 for cell in unchanged if 1 <= counts[cell] < n_rule) / len(unchanged)


def proportions(records: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]) -> dict[Record, float]:
    return {cell: count / len(records) for cell, count in full_table(records, attributes, shape).items()}


def hellinger(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]
) -> float:
    """Eq. 9, on proportions."""
    p, q = proportions(before, attributes, shape), proportions(after, attributes, shape)
    return sqrt(sum((sqrt(p[c]) - sqrt(q[c])) ** 2 for c in p)) / sqrt(2)


def total_variation(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]
) -> float:
    """Eq. 10."""
    p, q = proportions(before, attributes, shape), proportions(after, attributes, shape)
    return sum(abs(p[c] - q[c]) for c in p) / 2


def entropy(records: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]) -> float:
    return -sum(p * log(p) for p in proportions(records, attributes, shape).values() if p > 0)


def entropy_change(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]
) -> float:
    """Eq. 11: after less before."""
    return entropy(after, attributes, shape) - entropy(before, attributes, shape)


def false_zeros(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]
) -> float:
    old, new = full_table(before, attributes, shape), full_table(after, attributes, shape)
    return sum(1 for c in old if old[c] > 0 and new[c] == 0)


def false_nonzeros(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]
) -> float:
    old, new = full_table(before, attributes, shape), full_table(after, attributes, shape)
    return sum(1 for c in old if old[c] == 0 and new[c] > 0)


def two_way(distance: Distance) -> Callable[..., float]:
    """Appendix B: the distance on every two-way margin; their mean, or the largest in size with its sign."""

    def compute(
        before: Sequence[Record],
        after: Sequence[Record],
        attributes: Sequence[int],
        shape: Sequence[int],
        summary: str = "mean",
    ) -> float:
        figures = [distance(before, after, pair, shape) for pair in combinations(attributes, 2)]
        if not figures:
            return nan
        return sum(figures) / len(figures) if summary == "mean" else max(figures, key=abs)

    return compute


def largest_two_way(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]
) -> float:
    """The largest total variation distance of a two-way margin."""
    return two_way(total_variation)(before, after, attributes, shape, "max")


def edit_failures(records: Sequence[Record], rules: Sequence[Mapping[int, Sequence[int]]]) -> int:
    """Records that break some rule; a rule maps places of attributes to forbidden levels."""
    return sum(any(all(record[j] in levels for j, levels in rule.items()) for rule in rules) for record in records)


def new_combinations(
    before: Sequence[Record], after: Sequence[Record], attributes: Sequence[int], shape: Sequence[int]
) -> float:
    """Records after that have some two values together which none has before."""
    if len(attributes) < 2:
        return nan
    there = {pair: {seen(record, pair) for record in before} for pair in combinations(attributes, 2)}
    return sum(any(seen(record, pair) not in known for pair, known in there.items()) for record in after)


TWINS: dict[str, Callable[..., float]] = {
    "small_cells": small_cells,
    "hellinger": hellinger,
    "total_variation": total_variation,
    "entropy_change": entropy_change,
    "false_zeros": false_zeros,
    "false_nonzeros": false_nonzeros,
    "new_combinations": new_combinations,
    "hellinger_two_way": two_way(hellinger),
    "total_variation_two_way": two_way(total_variation),
    "entropy_change_two_way": two_way(entropy_change),
    "largest_two_way": largest_two_way,
}
