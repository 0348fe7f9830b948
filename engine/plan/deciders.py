"""Find the columns that decide others among very many: most pairs fail at a few records.

Every pair that is left is checked on all records, so the answer is exact; see :mod:`engine.plan.dependencies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.plan.partition import Partition, firsts

_WITNESSES = 12  # records beyond one per value of the decider that the rarer values of the decided must have
_SAMPLES = (256, 4096)
_MOST_BYTES = 1 << 26  # of a sample of many columns
_AT_ONCE = (4, 16, 4096)  # records at which the columns that are left are looked at together, step by step
_MOST_INTERVALS = 40
_PROBED = 32


class _Sample:
    """Some records of many columns, one byte a value: equal values have equal bytes, and mostly only they."""

    def __init__(self, columns: Sequence[Partition], n: int, size: int) -> None:
        size = max(2, min(n, size, _MOST_BYTES // max(1, len(columns))))
        self.rows = np.unique(np.linspace(0, n - 1, size).astype(np.int64))
        self.bytes = np.empty((len(self.rows), len(columns)), np.uint8)
        for i, column in enumerate(columns):
            self.bytes[:, i] = column.codes[self.rows]

    def agreeing(self, a: Partition, remaining: np.ndarray | slice) -> np.ndarray | slice:
        """Those of the columns ``remaining`` that are equal wherever ``a`` is, among the records of the sample."""
        codes = a.codes[self.rows]
        first_equal = firsts(codes)[codes]
        records = np.flatnonzero(first_equal != np.arange(len(first_equal)))
        records = records[
            np.argsort(records * 0x9E3779B1 % len(first_equal), kind="stable")
        ]  # early ones from everywhere
        start = 0
        for step in _AT_ONCE:
            probe = records[start : start + step]
            start += step
            if not len(probe):
                break
            if isinstance(remaining, slice):
                equal = self.bytes[probe[0], remaining] == self.bytes[first_equal[probe[0]], remaining]
                for record in probe[1:]:
                    equal &= self.bytes[record, remaining] == self.bytes[first_equal[record], remaining]
                remaining = np.flatnonzero(equal)
            else:
                pairs = (self.bytes[rows[:, None], remaining] for rows in (probe, first_equal[probe]))
                remaining = remaining[np.equal(*pairs).all(axis=0)]
        return remaining


def decided(deciders: Sequence[Partition], targets: Sequence[Partition], n: int) -> list[tuple[Partition, int]]:
    """Pairs (decider, place among ``targets``), exact on all records and not by accident."""
    order = sorted((j for j, t in enumerate(targets) if t.n_levels > 1), key=lambda j: targets[j].n_levels)
    if not order:
        return []
    inner = [targets[j] for j in order]
    sizes = np.array([t.n_levels for t in inner])
    samples = [_Sample(inner, n, size) for size in _SAMPLES]
    pairs = []
    for a in deciders:
        remaining: np.ndarray | slice = slice(int(np.searchsorted(sizes, a.n_levels, side="right")))
        for sample in samples:
            remaining = sample.agreeing(a, remaining)
        indices = range(remaining.stop) if isinstance(remaining, slice) else remaining.tolist()
        holds = _decides(a)
        pairs += [(a, j) for j in sorted(order[i] for i in indices) if holds(targets[j])]
    return pairs


def _decides(a: Partition) -> Callable[[Partition], bool]:
    """A test of whether ``a`` decides another column, and not by accident."""
    first_equal: list[np.ndarray] = []

    def holds(b: Partition) -> bool:
        if b.raw is a.raw or not _equal_at(b, b.rarer, a.first[a.codes[b.rarer]]):
            return False
        if not first_equal:  # once for all columns that get so far
            first_equal.append(a.first[a.codes])
        if not np.array_equal(b.codes, b.codes[first_equal[0]]):
            return False
        witnesses_spent = np.bincount(b.codes[a.first], minlength=b.n_levels)
        counts, mode = b.support
        excess = counts - witnesses_spent
        return bool(excess.sum() - excess[mode] >= _WITNESSES)

    return holds


def _equal_at(b: Partition, records: np.ndarray, others: np.ndarray) -> bool:
    return bool((b.codes[records] == b.codes[others]).all())


def intervals(columns: Sequence[Partition], done: Sequence[Partition], n: int) -> list[tuple[str, str]]:
    """Measurements whose range another column cuts into intervals, one interval a value."""
    decided_names = {column.name for column in done}
    measurements = [a for a in columns if a.name not in decided_names and a.n_levels > _MOST_INTERVALS]
    coarse = [b for b in columns if 2 <= b.n_levels <= _MOST_INTERVALS]
    if not measurements or not coarse:
        return []
    sample = _Sample(coarse, n, _SAMPLES[0])
    sizes = np.array([b.n_levels for b in coarse])
    return [(a.name, coarse[j].name) for a in measurements for j in _cut_by(a, coarse, sample, sizes)]


def _cut_by(a: Partition, coarse: Sequence[Partition], sample: _Sample, sizes: np.ndarray) -> Iterator[int]:
    values = a.raw.numbers
    first = a.first
    numbers_of_levels = values[a.raw.codes[first]]
    numbers_of_levels[a.raw.codes[first] < 0] = np.nan
    # Empty and text come last, in their own order; an interval must not be broken by them.
    order = first[np.argsort(numbers_of_levels, kind="stable")]
    n_numbers = int(np.count_nonzero(np.isfinite(numbers_of_levels)))
    if n_numbers < 0.5 * a.n_levels or n_numbers <= _MOST_INTERVALS:
        return
    # Along rising numbers a column that cuts them changes less often than it has values, at any of the records.
    sample_numbers = numbers_of_levels[a.codes[sample.rows]]
    distinct, rising = np.unique(sample_numbers, return_index=True)
    rising = rising[np.isfinite(distinct)]
    remaining = np.arange(len(coarse))
    for probed in (rising[:: max(1, len(rising) // _PROBED)], rising):
        in_order = sample.bytes[probed[:, None], remaining]
        remaining = remaining[(in_order[1:] != in_order[:-1]).sum(axis=0) < sizes[remaining]]
    first_equal: np.ndarray | None = None
    probe = slice(0, None, max(1, len(a.codes) // _SAMPLES[0]))
    for j in remaining.tolist():
        b = coarse[j]
        if b is a:
            continue
        in_order = b.codes[order[:n_numbers]]
        runs = 1 + int(np.count_nonzero(np.diff(in_order)))
        if runs < 2 or runs > len(np.unique(in_order)):
            continue
        first_equal = first[a.codes] if first_equal is None else first_equal
        if not _equal_at(b, np.arange(len(first_equal))[probe], first_equal[probe]) or not np.array_equal(
            b.codes, b.codes[first_equal]
        ):
            continue
        counts, mode = b.support
        if counts.sum() - counts[mode] >= _WITNESSES + b.n_levels:
            yield j
