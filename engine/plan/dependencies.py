"""Exact functional dependencies and skips between the columns of a file, checked on every record.

A column *decides* another when equal values in the one always go with equal values in the other.  Candidates are found
on a sample of records, where most pairs fail at once, and every one that is left is checked on all records.  What could
hold by accident is left out: deciders that are nearly unique (ids, exact weights, measurements) unless the other column
cuts their range into intervals, and columns whose rarer values have too few records to say anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.data.microdata import GroupedColumns, RawTable
from engine.plan.columns import (
    Facts,
    Partition,
    facts,
    firsts,
    flags,
    is_id,
    is_weight,
    likeliest_first,
    may_be_weight,
    missing_codes,
    partition,
    says_skip,
    skip_like,
)
from engine.plan.doubts import Proposal, doubts
from engine.plan.households import household_numbers

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


_LEAST_SKIPPED = 10
_MOST_WEIGHTS = 5  # columns that are taken for possible weights by their values alone


@dataclass(frozen=True)
class SkipPattern:
    """``columns`` (each with the code that says "skipped"; None: empty) are skipped in exactly the records where
    ``gate`` has one of ``values``; ``gate`` is None where the columns share a skip that no column decides."""

    gate: str | None
    values: tuple[str, ...]
    columns: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Dependencies:
    """Dependencies between columns, as the records show them; columns in file order.

    ``recodes`` are pairs (decider, decided); ``same`` groups of columns with the same information; ``flags`` pairs
    (column, its flag by name); ``ids``, ``units`` (columns that number households) and ``weights`` are left out of all
    of them.  ``possible_weights`` may be
    weights by their values alone, the likeliest first; nothing else hangs together with them.  ``together`` number
    households only together, ``repeated`` say the same as one of these, and ``lines`` number the members of each
    household: they are left out too.
    """

    facts: dict[str, Facts]
    levels: dict[str, int]
    constant: tuple[str, ...]
    ids: tuple[str, ...]
    weights: tuple[str, ...]
    same: tuple[tuple[str, ...], ...]
    recodes: tuple[tuple[str, str], ...]
    flags: tuple[tuple[str, str], ...]
    skips: tuple[SkipPattern, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]
    possible_weights: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    doubtful: tuple[Proposal, ...] = ()
    together: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def decided(self) -> tuple[tuple[str, str], ...]:
        """All pairs (decider, decided): ``recodes`` with every column of the same information instead of the one that
        stands for it, and such columns in both directions.

        A gate of two answers is decided by every column that is skipped for one of them, and stands here too: it is no
        recode, since what it asks for is a skip pattern, but it can be worked out all the same.
        """
        group_of = {group[0]: group for group in self.same}
        pairs = [(a, b) for x, y in self.recodes for a in group_of.get(x, (x,)) for b in group_of.get(y, (y,))]
        pairs += [(a, b) for group in self.same for a in group for b in group if a != b]
        for skip in self.skips:
            if skip.gate is not None and self.levels[skip.gate] == 2:
                pairs += [(name, gate) for name, _ in skip.columns for gate in group_of.get(skip.gate, (skip.gate,))]
        return tuple(dict.fromkeys(pairs))


def decided_among(
    table: RawTable, names: Collection[str], known: Dependencies | None = None, touching: Collection[str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Pairs (decider, decided) among the columns ``names``; ``known`` are dependencies among all columns, found before;
    without them only these columns are looked through.

    Where only pairs with a column of ``touching`` are of interest, others may be left out: then a file whose columns
    are read in groups is looked through group by group.
    """
    if known is None:
        searched: Collection[str] = names
        if touching is not None and isinstance(table.columns, GroupedColumns):
            searched = _related(table, table.columns, names, touching)
        known = dependencies(_only(table, searched))
    return tuple((a, b) for a, b in known.decided if a in names and b in names)


def _only(table: RawTable, names: Collection[str]) -> RawTable:
    return replace(table, columns={name: table.columns[name] for name in table.names if name in names})


def _related(
    table: RawTable, columns: GroupedColumns, names: Collection[str], touching: Collection[str]
) -> Collection[str]:
    """Those of the columns ``names`` that stand in some pair with one of ``touching``, and these."""
    present = set(touching).intersection(names)
    if 2 * len(present) > columns.group_size:
        return names  # the columns held are most of what there is to compare
    columns.keep_in_memory(present)
    related = set(present)
    for group in columns.groups():
        compared = present.union(name for name in group if name in names)
        pairs = dependencies(_only(table, compared)).decided
        related |= {name for pair in pairs if not present.isdisjoint(pair) for name in pair}
    columns.keep_in_memory(related)
    return related


def dependencies(table: RawTable) -> Dependencies:
    """Look through all columns of ``table``; some seconds for 300 columns of 20,000 records, and worth keeping."""
    columns = {c.name: partition(c, position) for position, c in enumerate(table.columns.values())}
    n = table.n_records
    facts_of = {name: facts(column.raw, n) for name, column in columns.items()}
    constant = tuple(name for name, column in columns.items() if column.n_levels < 2)
    households = household_numbers(table, facts_of)
    ids = tuple(
        name
        for name, c in columns.items()
        if name not in (*households.numbers, *households.lines) and is_id(c, facts_of[name])
    )
    numbering = {*households.numbers, *households.lines, *ids}
    weights = tuple(name for name, c in columns.items() if name not in numbering and is_weight(c.raw, facts_of[name]))
    set_aside = {*constant, *numbering, *weights}
    comparable = [column for name, column in columns.items() if name not in set_aside]
    same = _same(comparable)
    duplicates = {name for group in same for name in group[1:]}
    distinct = [column for column in comparable if column.name not in duplicates]
    skipped = _skip_indicators(comparable)
    deciders = [column for column in distinct if not column.nearly_unique]
    indicators = [Partition(first.raw, z, 2, first.position) for z, ((first, _), *_) in skipped]
    pairs = decided(deciders, [*distinct, *indicators], n)
    skips = tuple(_gates(pairs, skipped, len(distinct)))
    skip_codes = {(name, code) for pattern in skips for name, code in pattern.columns}
    skips_of: dict[str, list[np.ndarray]] = {}
    for z, columns_skipped in skipped:
        for column, _ in columns_skipped:
            skips_of.setdefault(column.name, []).append(z)
    recodes = [
        (a.name, distinct[j].name)
        for a, j in pairs
        if j < len(distinct) and not any(_is_gate_of(distinct[j], a, z) for z in skips_of.get(a.name, ()))
    ]
    recodes += intervals(distinct, deciders, n)
    flagged = tuple(flags(comparable))
    # what is recoded, flagged or skipped is a measurement
    measured = {name for pair in (*recodes, *flagged) for name in pair} | {name for name, _ in skip_codes}
    unrelated = (c for c in comparable if c.name not in measured and may_be_weight(c, facts_of[c.name]))
    return Dependencies(
        facts=facts_of,
        levels={name: column.n_levels for name, column in columns.items()},
        constant=constant,
        ids=ids,
        weights=weights,
        same=same,
        recodes=tuple(sorted(set(recodes), key=lambda pair: (columns[pair[0]].position, columns[pair[1]].position))),
        flags=flagged,
        skips=skips,
        missing=tuple(missing_codes(comparable, skip_codes)),
        possible_weights=tuple(column.name for column in likeliest_first(list(unrelated))[:_MOST_WEIGHTS]),
        units=households.single,
        doubtful=tuple(
            doubt for name, column in columns.items() if name not in numbering for doubt in doubts(column.raw)
        ),
        together=households.together,
        repeated=households.repeated,
        lines=households.lines,
    )


def _same(columns: Sequence[Partition]) -> tuple[tuple[str, ...], ...]:
    """Groups of columns that part the records alike; nearly unique ones must rise or fall together too."""
    groups: dict[bytes, list[Partition]] = {}
    for column in columns:
        groups.setdefault(column.signature, []).append(column)
    same_groups = []
    for group in groups.values():
        equal_columns = [c for c in group[1:] if not c.nearly_unique or _monotone(group[0], c)]
        if equal_columns:
            same_groups.append((group[0].name, *(c.name for c in equal_columns)))
    return tuple(same_groups)


def _monotone(a: Partition, b: Partition) -> bool:
    x, y = (c.raw.numbers for c in (a, b))
    if len(x) != len(y) or np.isnan(x).any() or np.isnan(y).any():
        return False
    in_order = y[np.argsort(x)]
    return bool((in_order[1:] > in_order[:-1]).all() or (in_order[1:] < in_order[:-1]).all())


_Skipped = list[tuple[Partition, str | None]]  # columns with the raw value that says "skipped"


def _skip_indicators(columns: Sequence[Partition]) -> list[tuple[np.ndarray, _Skipped]]:
    """Distinct sets of skipped records, as 0/1 codes, each with the columns skipped there."""
    indicators: dict[bytes, tuple[np.ndarray, _Skipped]] = {}
    for column in columns:
        for level, code in skip_like(column):
            skipped = column.codes == level
            n = int(np.count_nonzero(skipped))
            if column.n_levels < 3 or not _LEAST_SKIPPED <= n <= len(skipped) - _LEAST_SKIPPED:
                continue  # with two levels, "skipped" is an answer like the other one
            key = np.packbits(skipped).tobytes()
            indicators.setdefault(key, (skipped.astype(np.int8), []))[1].append((column, code))
    return list(indicators.values())


def _is_gate_of(b: Partition, a: Partition, skipped: np.ndarray) -> bool:
    """Return whether all that ``a`` says about ``b`` is that ``a`` was skipped: then ``b`` is the gate and no
    recode."""
    return b.n_levels == 2 < a.n_levels and bool(np.array_equal(b.codes == b.codes[0], skipped == skipped[0]))


def _gates(
    pairs: Sequence[tuple[Partition, int]],
    gated: Sequence[tuple[np.ndarray, _Skipped]],
    offset: int,
) -> Iterable[SkipPattern]:
    """Each set of skipped records with the plainest column that decides it."""
    deciders: dict[int, list[Partition]] = {}
    for a, j in pairs:
        if j >= offset:
            deciders.setdefault(j - offset, []).append(a)
    for i, (skipped, columns_skipped) in enumerate(gated):
        names_skipped = {column.name for column, _ in columns_skipped}
        open_ = [a for a in deciders.get(i, []) if a.name not in names_skipped]
        columns = tuple((column.name, code) for column, code in columns_skipped)
        start = min(column.position for column, _ in columns_skipped)
        if open_:
            gate = min(open_, key=lambda a: (a.n_levels, a.position > start, a.position))
            closed = gate.codes[skipped == 1]
            levels = np.unique(closed)
            yield SkipPattern(gate.name, tuple(gate.read(level) for level in levels.tolist()), columns)
        elif len(columns_skipped) > 1 and all(says_skip(column, code) for column, code in columns_skipped):
            yield SkipPattern(None, (), columns)
