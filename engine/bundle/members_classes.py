"""Percentages of two attributes that are told in classes or by flags, as evidence on the rate.

Where a table's own figures are not shown, its one-way percentages are, and they leave few tables: of two attributes
with two levels each, one number is unknown and four cells say in which class the same change lies.  Counts are averaged
over, and how strongly the two attributes hang together is unknown, see :mod:`engine.models.unknown_counts`.

Cells of one table are the same change counted several times: of r x c of them (r - 1)(c - 1) are free, and together
they weigh as many.  Where only the worst figures are in classes, or only tables are named, what is told is the largest
change of a table; of all that is not named the largest is below that of the last that is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from engine.models.rate_likelihood import RATES, log_likelihood
from engine.models.unknown_counts import SCALES, UnknownCount, known_count, unknown_count, up_to_largest
from engine.report.rate_facts import COARSE, STEPS, ChangeRow
from engine.report.shares import MOST

if TYPE_CHECKING:
    from engine.bundle.members_evidence import Member
    from engine.report.facts import Tolerances
    from engine.report.rate_facts import Range

_CROSS = " × "
_FEW_RATES = RATES[np.r_[0 : len(RATES) - 1 : 5, len(RATES) - 1]]  # others are interpolated
_LEAST = 1e-300  # a probability of none is taken to be so much
_MOST_CELLS = 40  # cells of a table that stand for all of it
_MOST_TABLES = 60  # tables that stand for all of which as much is told
_CLASS_STEPS = COARSE[:-1]  # at the last one no table of percentages is named
_WORST_STEPS = ("flags", "worst")
_TABLE_STEPS = ("worst", "tables")


class _Alike(NamedTuple):
    """A cell whose change has the same size as another one's, and whose count is ``constant + sign * count``."""

    name: str
    constant: int
    sign: int

    def of(self, unknown: UnknownCount) -> np.ndarray:
        """Its counts, for each that the cell may have."""
        return np.asarray(np.maximum(self.constant + self.sign * unknown.counts, 0.0))


class _Cell(NamedTuple):
    """A cell of an exchanged attribute and another one: the records of its level ``size`` and of the other's ``n_x``,
    how many leave the level at a rate of 1, and all cells with the same change, itself first."""

    size: int
    n_x: int
    leaving: float
    alike: tuple[_Alike, ...]


@dataclass(frozen=True)
class _Table:
    """A table of an exchanged attribute and another one: cells, of which ``free`` can change independently, and what is
    told of them by name; empty where the table is not named."""

    cells: tuple[_Cell, ...]
    free: int
    rows: Mapping[str, ChangeRow]

    @property
    def told(self) -> tuple[bool, bool]:
        """Whether it is named, and whether a class is told of one of its changes."""
        return bool(self.rows), any(row.errors is not None for row in self.rows.values())


class _Told(NamedTuple):
    """What a bundle says beside its rows: the number of records, the tolerances, how many standard errors a change is
    below that is not named, below how many that of a cell is that is not listed, and whether changes are told as shares
    of the original (``has_shares``)."""

    n: int
    tolerances: Tolerances
    below: float
    unlisted: float
    has_shares: bool


def class_evidence(member: Member) -> np.ndarray | None:
    """Logarithm of the likelihood of each of :data:`~engine.models.rate_likelihood.RATES`; None where no change is told
    in classes."""
    board = member.board
    if board.members_rate.step not in _CLASS_STEPS:
        return None
    told = _told(member)
    are_named = board.members_rate.step in _TABLE_STEPS
    groups: dict[tuple[bool, bool], list[_Table]] = {}
    for table in _tables(member):
        groups.setdefault(table.told, []).append(table)
    by_largest = np.zeros((len(SCALES), len(_FEW_RATES)))
    for group in groups.values():
        used = _spread(group, _MOST_TABLES)
        for table in used:
            likelihood = _likelihood(table.cells, table.free, tuple(table.rows.items()), told, are_named)
            by_largest += len(group) / len(used) * likelihood
    total = np.logaddexp.reduce(by_largest, axis=0)
    return np.interp(np.log(RATES), np.log(_FEW_RATES), total) if groups else None


@lru_cache(maxsize=256)  # counts are told step by step more coarsely, beside the same tables
def _likelihood(
    cells: tuple[_Cell, ...], free: int, rows: tuple[tuple[str, ChangeRow], ...], told: _Told, are_named: bool
) -> np.ndarray:
    """That of one table, of which only its name and its largest change may be told (``are_named``)."""
    table = _Table(cells, free, dict(rows))
    result = up_to_largest((_of_table if are_named else _of_cells)(table, told))
    result.flags.writeable = False  # it is given out again
    return result


_T = TypeVar("_T")


def _spread(values: Sequence[_T], most: int) -> list[_T]:
    """So many of them at most, at even distances."""
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, min(len(values), most)).round().astype(int))]


def _told(member: Member) -> _Told:
    board = member.board
    highs = [_high(row.errors) for row in board.utility.changes if row.errors is not None]
    is_worst = board.members_rate.step in _WORST_STEPS
    below = min(highs, default=math.inf) if is_worst else math.inf
    listed = [row for row in board.utility.changes if row.kind == "percentage" and not row.weighted]
    # findings hold so many rows at least, where so many have changed
    least = min(highs, default=math.inf) if len(listed) >= MOST else 0.0
    has_shares = STEPS.index(board.members_rate.step) < STEPS.index("flags")
    return _Told(member.n, board.utility.tolerances, below, least, has_shares)


# -- tables and their cells --------------------------------------------------------------------------------------------


def _tables(member: Member) -> Iterator[_Table]:
    """Tables of an exchanged attribute and another one, in the order of their names."""
    rows: dict[frozenset[str], dict[str, ChangeRow]] = {}
    names: dict[frozenset[str], str] = {}
    for row in member.board.utility.changes:
        if row.kind == "percentage" and not row.weighted and _CROSS in row.table:
            pair = frozenset(row.table.split(_CROSS))
            names[pair] = row.table
            rows.setdefault(pair, {})[row.level] = row
    for attribute in sorted(member.swapped):
        for other in sorted(set(member.levels) - member.swapped):
            pair = frozenset((attribute, other))
            is_first = names.get(pair, attribute).startswith(attribute + _CROSS)
            own, others = (
                {level: size for level, size in member.levels[name].items() if size} for name in (attribute, other)
            )
            free = (len(own) - _is_whole(own, member.n)) * (len(others) - _is_whole(others, member.n))
            if free > 0:
                cells = sorted(_cells(member, attribute, own, others, is_first), key=lambda cell: cell.size * cell.n_x)
                yield _Table(tuple(_spread(cells, _MOST_CELLS)), free, rows.get(pair, {}))


def _cells(
    member: Member, attribute: str, own: Mapping[str, int], others: Mapping[str, int], is_first: bool
) -> Iterator[_Cell]:
    """Each that moves by itself: of two levels one moves as the other does, the other way."""
    n = member.n
    is_binary, other_is_binary = (len(levels) == 2 and _is_whole(levels, n) for levels in (own, others))
    for level in list(own)[:1] if is_binary else own:
        for x in list(others)[:1] if other_is_binary else others:
            size, n_x = own[level], others[x]
            alike = [(level, x, 0, 1)]
            if is_binary:
                alike.append((_other(own, level), x, n_x, -1))
            if other_is_binary:
                alike.append((level, _other(others, x), size, -1))
            if is_binary and other_is_binary:
                alike.append((_other(own, level), _other(others, x), n - size - n_x, 1))
            named = (_Alike(f"{a}, {b}" if is_first else f"{b}, {a}", *count) for a, b, *count in alike)
            yield _Cell(size, n_x, n * member.part(attribute, level), tuple(named))


def _is_whole(levels: Mapping[str, int], n: int) -> bool:
    """Whether the percentages of all levels are shown: of many the largest are."""
    return sum(levels.values()) == n


def _other(levels: Mapping[str, int], level: str) -> str:
    return next(name for name in levels if name != level)


# -- what is told of a change ------------------------------------------------------------------------------------------


def _of_cells(table: _Table, told: _Told) -> np.ndarray:
    """Logarithm of the likelihood of each rate under each scale, where cells are told one by one."""
    weight = min(1.0, table.free / len(table.cells))
    return np.asarray(weight * np.sum([_of_cell(cell, table, told) for cell in table.cells], axis=0))


def _of_cell(cell: _Cell, table: _Table, told: _Told) -> np.ndarray:
    rows = [table.rows.get(one.name) for one in cell.alike]
    unknown, below = _count(cell, rows, told), _below(table, told)
    low, high = np.zeros(len(unknown.counts)), np.full(len(unknown.counts), np.inf)
    for one, row in zip(cell.alike, rows, strict=True):
        own_low, own_high = _ends(row, one.of(unknown), told)
        high = np.minimum(high, _of_errors(below, one.of(unknown), told))
        low, high = np.maximum(low, own_low), np.minimum(high, own_high)
    return _log_mean(cell, unknown, low, high, told.n)


def _below(table: _Table, told: _Told) -> float:
    """Below how many standard errors all changes of a table are."""
    classes = [row.errors for row in table.rows.values() if row.errors is not None]
    return max((_high(size) for size in classes), default=told.below)


def _high(size: Range) -> float:
    return math.inf if size.high is None else size.high


def _of_table(table: _Table, told: _Told) -> np.ndarray:
    """The same where the largest change of the table is told, or whether one is flagged: cells are below an upper end
    and not all below a lower one."""
    row = next(iter(table.rows.values()), None)
    below_upper, below_lower = (np.zeros((len(SCALES), len(_FEW_RATES))) for _ in range(2))
    for cell in table.cells:
        unknown = unknown_count(cell.size, cell.n_x, told.n)
        upper, lower = (np.full(len(unknown.counts), np.inf) for _ in range(2))
        for one in cell.alike:
            own_upper, own_lower = _largest(row, one.of(unknown), told)
            upper, lower = np.minimum(upper, own_upper), np.minimum(lower, own_lower)
        none = np.zeros(len(unknown.counts))
        below_upper += _log_mean(cell, unknown, none, upper, told.n)
        if row is not None:
            below_lower += _log_mean(cell, unknown, none, np.minimum(lower, upper), told.n)
    weight = table.free / len(table.cells)
    if row is None:
        return np.asarray(weight * below_upper)
    share_below = np.exp(np.minimum(weight * (below_lower - below_upper), 0.0))
    return np.asarray(weight * below_upper + np.log(np.maximum(1 - share_below, _LEAST)))


def _largest(row: ChangeRow | None, counts: np.ndarray, told: _Told) -> tuple[np.ndarray, np.ndarray]:
    """Below which change, in records, every cell of a table is, and below which one not all are."""
    upper = _of_errors(told.below, counts, told)
    if row is None:
        return np.minimum(upper, _tolerated(counts, told)), np.zeros(len(counts))
    if row.errors is None:
        return upper, _tolerated(counts, told)
    return _of_errors(_high(row.errors), counts, told), _of_errors(row.errors.low, counts, told)


def _count(cell: _Cell, rows: Sequence[ChangeRow | None], told: _Told) -> UnknownCount:
    """What is known of the count of a cell, by the original's figures where they are shown to two digits.  A change
    that is not told as a share of the original is of nothing."""
    ends = (0.0, math.inf)
    for one, row in zip(cell.alike, rows, strict=True):
        before = None if row is None else 0.0 if told.has_shares and row.relative is None else row.before
        if before is not None:
            middle = before * told.n / 100
            room = 1.01 * max(0.05 * 10 ** math.floor(math.log10(middle)) if middle else 0.5, 0.5)
            own = one.sign * (middle - one.constant)
            if 2 * room < ends[1] - ends[0]:
                ends = (own - room, own + room)
    if math.isinf(ends[1]):
        return unknown_count(cell.size, cell.n_x, told.n)
    least, most = max(0, cell.size + cell.n_x - told.n), min(cell.size, cell.n_x)
    return known_count(*(min(max(end, least), most) for end in ends))


def _log_mean(cell: _Cell, unknown: UnknownCount, low: np.ndarray, high: np.ndarray, n: int) -> np.ndarray:
    """Logarithm of the probability that a change is between its ends, on average over counts, by scale and rate."""
    inside, outside = unknown.counts / cell.size, (cell.n_x - unknown.counts) / (n - cell.size)
    variance = np.maximum(cell.leaving * (inside * (1 - inside) + outside * (1 - outside)), 1e-6)
    slope = cell.leaving * (outside - inside)
    is_possible = low < high
    high = np.where(is_possible, high, low + 1.0)
    low, high, slope, variance = (array[:, None] for array in (low, high, slope, variance))
    by_count = np.exp(log_likelihood(low, high, slope, variance, _FEW_RATES, either=True)) * is_possible[:, None]
    return np.asarray(np.log(np.maximum(unknown.weights @ by_count, _LEAST)))


def _ends(row: ChangeRow | None, counts: np.ndarray, told: _Told) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest change, in records, of cells of so many."""
    low, high = np.full(len(counts), 0.5), np.full(len(counts), np.inf)
    if row is None:
        return np.zeros(len(counts)), np.maximum(
            np.minimum(_of_errors(told.unlisted, counts, told), _tolerated(counts, told)), 0.5
        )
    if row.relative is not None:
        low = np.maximum(low, row.relative.low * counts)
        if row.relative.high is not None:
            high = np.where(counts > 0, row.relative.high * counts, high)
    if row.errors is not None:
        errors = row.errors.low
        low = np.maximum(low, np.where(counts > 0, errors * np.sqrt(counts * (1 - counts / told.n)), errors**2))
        high = np.minimum(high, _of_errors(_high(row.errors), counts, told))
    tolerated = _tolerated(counts, told)
    if row.flagged:
        return np.maximum(low, tolerated), high
    return low, np.minimum(high, tolerated)


def _tolerated(counts: np.ndarray, told: _Told) -> np.ndarray:
    """Up to which change cells are not flagged."""
    by_errors = _of_errors(told.tolerances.se, counts, told)
    by_change = np.where(counts > told.tolerances.min_n, told.tolerances.change * counts, np.inf)
    return np.asarray(np.minimum(by_errors, by_change))


def _of_errors(errors: float, counts: np.ndarray, told: _Told) -> np.ndarray:
    """So many standard errors in records: of few records it is the release's, if that is larger."""
    if math.isinf(errors):
        return np.full(len(counts), np.inf)
    of_few = (errors**2 + errors * np.sqrt(errors**2 + 4 * counts)) / 2
    of_many = errors * np.sqrt(counts * (1 - counts / told.n))
    return np.asarray(np.where(counts > told.tolerances.min_n, of_many, of_few))
