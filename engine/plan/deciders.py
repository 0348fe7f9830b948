"""Find the columns that decide others among very many: most pairs fail at a few records.

Every pair that is left is checked on all records, so the answer is exact; see :mod:`engine.plan.dependencies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.common.raw_values import numbers
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

    def agreeing(self, a: Partition, left: np.ndarray | slice) -> np.ndarray | slice:
        """Those of the columns ``left`` that are equal wherever ``a`` is, among the records of the sample."""
        own = a.codes[self.rows]
        twin = firsts(own)[own]
        records = np.flatnonzero(twin != np.arange(len(twin)))
        records = records[np.argsort(records * 0x9E3779B1 % len(twin), kind="stable")]  # early ones from everywhere
        start = 0
        for step in _AT_ONCE:
            some = records[start : start + step]
            start += step
            if not len(some):
                break
            if isinstance(left, slice):
                alike = self.bytes[some[0], left] == self.bytes[twin[some[0]], left]
                for record in some[1:]:
                    alike &= self.bytes[record, left] == self.bytes[twin[record], left]
                left = np.flatnonzero(alike)
            else:
                pairs = (self.bytes[one[:, None], left] for one in (some, twin[some]))
                left = left[np.equal(*pairs).all(axis=0)]
        return left


def decided(deciders: Sequence[Partition], targets: Sequence[Partition], n: int) -> list[tuple[Partition, int]]:
    """Pairs (decider, place among ``targets``), exact on all records and not by accident."""
    order = sorted((j for j, t in enumerate(targets) if t.n_levels > 1), key=lambda j: targets[j].n_levels)
    if not order:
        return []
    inner = [targets[j] for j in order]
    sizes = np.array([t.n_levels for t in inner])
    samples = [_Sample(inner, n, size) for size in _SAMPLES]
    found = []
    for a in deciders:
        left: np.ndarray | slice = slice(int(np.searchsorted(sizes, a.n_levels, side="right")))
        for sample in samples:
            left = sample.agreeing(a, left)
        places = range(left.stop) if isinstance(left, slice) else left.tolist()
        holds = _decides(a)
        found += [(a, j) for j in sorted(order[i] for i in places) if holds(targets[j])]
    return found


def _decides(a: Partition) -> Callable[[Partition], bool]:
    """Whether ``a`` decides another column, and not by accident."""
    twin: list[np.ndarray] = []

    def holds(b: Partition) -> bool:
        if b.raw is a.raw or not _equal_at(b, b.rarer, a.first[a.codes[b.rarer]]):
            return False
        if not twin:  # once for all columns that get so far
            twin.append(a.first[a.codes])
        if not np.array_equal(b.codes, b.codes[twin[0]]):
            return False
        spent = np.bincount(b.codes[a.first], minlength=b.n_levels)
        counts, mode = b.support
        excess = counts - spent
        return bool(excess.sum() - excess[mode] >= _WITNESSES)

    return holds


def _equal_at(b: Partition, some: np.ndarray, others: np.ndarray) -> bool:
    return bool((b.codes[some] == b.codes[others]).all())


def intervals(columns: Sequence[Partition], done: Sequence[Partition], n: int) -> list[tuple[str, str]]:
    """Measurements whose range another column cuts into intervals, one interval a value."""
    settled = {column.name for column in done}
    measured = [a for a in columns if a.name not in settled and a.n_levels > _MOST_INTERVALS]
    coarse = [b for b in columns if 2 <= b.n_levels <= _MOST_INTERVALS]
    if not measured or not coarse:
        return []
    sample = _Sample(coarse, n, _SAMPLES[0])
    sizes = np.array([b.n_levels for b in coarse])
    return [(a.name, coarse[j].name) for a in measured for j in _cut_by(a, coarse, sample, sizes)]


def _cut_by(a: Partition, coarse: Sequence[Partition], sample: _Sample, sizes: np.ndarray) -> Iterator[int]:
    values = numbers(a.raw.values)
    first = a.first
    at = values[a.raw.codes[first]]
    at[a.raw.codes[first] < 0] = np.nan
    # Empty and text come last, in their own order; an interval must not be broken by them.
    order = first[np.argsort(at, kind="stable")]
    n_numbers = int(np.count_nonzero(np.isfinite(at)))
    if n_numbers < 0.5 * a.n_levels or n_numbers <= _MOST_INTERVALS:
        return
    # Along rising numbers a column that cuts them changes less often than it has values, at any of the records.
    here = at[a.codes[sample.rows]]
    distinct, rising = np.unique(here, return_index=True)
    rising = rising[np.isfinite(distinct)]
    left = np.arange(len(coarse))
    for some in (rising[:: max(1, len(rising) // _PROBED)], rising):
        along = sample.bytes[some[:, None], left]
        left = left[(along[1:] != along[:-1]).sum(axis=0) < sizes[left]]
    twin: np.ndarray | None = None
    probe = slice(0, None, max(1, len(a.codes) // _SAMPLES[0]))
    for j in left.tolist():
        b = coarse[j]
        if b is a:
            continue
        along = b.codes[order[:n_numbers]]
        runs = 1 + int(np.count_nonzero(np.diff(along)))
        if runs < 2 or runs > len(np.unique(along)):
            continue
        twin = first[a.codes] if twin is None else twin
        if not _equal_at(b, np.arange(len(twin))[probe], twin[probe]) or not np.array_equal(b.codes, b.codes[twin]):
            continue
        counts, mode = b.support
        if counts.sum() - counts[mode] >= _WITNESSES + b.n_levels:
            yield j
