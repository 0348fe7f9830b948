"""Percentages of two attributes that are told in classes or by flags, as evidence on the rate.

Where a table's own figures are not shown, its one-way percentages are, and they leave few tables: of two attributes
with two levels each, one number is unknown and four cells say in which class the same change lies.  Each possible count
is held as likely as any other, so that classes of several cells tell together what none tells alone.  Where only the
worst figures are in classes, all others are below the end of the first one's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.models.rate_likelihood import RATES, log_likelihood
from engine.report.rate_facts import AT_LEAST_ONE, ChangeRow, Range

if TYPE_CHECKING:
    from engine.bundle.members_evidence import Member

_CROSS = " × "
_MOST_COUNTS = 120  # possible counts of a cell that are tried
_ALMOST = 1e-9  # a probability of one is taken to be less by so much
_MOST_CELLS = 400  # cells that are attacked, of those whose change is in the highest classes
_MOST_UNNAMED = 60  # and of those of which only the class of a worse one is told
_WORST_STEPS = ("flags", "worst")


class _Cell(NamedTuple):
    """A cell of an exchanged attribute and another one: records of its level ``size`` and of the other's level
    ``n_x``, the share of all records that leaves it at a rate of 1, and what is told of it and of the cells whose
    change has the same size, whose counts are ``constant + sign * count``; without ``has_flag`` nothing is said of
    tolerances."""

    size: int
    n_x: int
    leaving: float
    told: tuple[tuple[int, int, ChangeRow], ...]
    has_flag: bool = True

    @property
    def rank(self) -> tuple[float, float]:
        """By the highest class of its changes."""
        rows = [row for _, _, row in self.told]
        return max(_low(row.errors) for row in rows), max(_low(row.relative) for row in rows)


def class_evidence(member: Member) -> np.ndarray | None:
    """Logarithm of the likelihood of each of :data:`~engine.models.rate_likelihood.RATES`; None where no change is told
    in classes."""
    cells = [cell for cell in _cells(member) if any(_tells(row) for _, _, row in cell.told)]
    cells = sorted(cells, key=lambda cell: cell.rank, reverse=True)[:_MOST_CELLS]
    likelihoods: list[np.ndarray] = []
    tables: dict[str, np.ndarray] = {}
    for cell in cells:
        of_cell, row = _likelihood(member, cell), cell.told[0][2]
        if of_cell is None:
            continue
        if row.level == AT_LEAST_ONE:
            # of a table's cells one is flagged, whichever
            none = np.log1p(-np.exp(np.minimum(of_cell, -_ALMOST)))
            tables[row.table] = tables.get(row.table, np.zeros(len(RATES))) + none
        else:
            likelihoods.append(of_cell)
    likelihoods += [np.log1p(-np.exp(np.minimum(none, -_ALMOST))) for none in tables.values()]
    likelihoods += [below for cell in _unnamed(member) if (below := _likelihood(member, cell)) is not None]
    return np.sum(likelihoods, axis=0) if likelihoods else None


def _unnamed(member: Member) -> list[_Cell]:
    """Cells of tables that are not named, because they change by less than the worst figure: by less than the end of
    its class.  The largest ones are taken, which a rate moves most."""
    board = member.board
    worst = next(iter(board.utility.changes), None)
    if board.members_rate.step not in _WORST_STEPS or worst is None or worst.errors is None or not worst.errors.high:
        return []
    below = ChangeRow("percentage", "", "", False, None, None, None, Range(0.0, worst.errors.high), False)
    named = {frozenset(row.table.split(_CROSS)) for row in board.utility.changes}
    cells: list[_Cell] = []
    for attribute in sorted(member.swapped):
        for other, levels in member.levels.items():
            if other not in member.swapped and {attribute, other} not in named:
                rows = {f"{a}, {b}": below for a in member.levels[attribute] for b in levels}
                cells += [cell._replace(has_flag=False) for cell in _cells_of(member, attribute, other, rows, True)]
    return sorted(cells, key=lambda cell: -min(cell.leaving, cell.n_x))[:_MOST_UNNAMED]


def _low(size: Range | None) -> float:
    return size.low if size else 0.0


def _tells(row: ChangeRow) -> bool:
    """Whether a change is above the lowest class: one that may be none is a change at any rate."""
    return row.flagged or _low(row.relative) > 0 or _low(row.errors) > 0


def _cells(member: Member) -> Iterator[_Cell]:
    rows: dict[str, dict[str, ChangeRow]] = {}
    for row in member.board.utility.changes:
        if row.kind == "percentage" and not row.weighted and _CROSS in row.table:
            rows.setdefault(row.table, {})[row.level] = row
    for table, of_table in rows.items():
        first, _, second = table.partition(_CROSS)
        for attribute, other in ((first, second), (second, first)):
            is_between = attribute in member.swapped and other not in member.swapped
            if is_between and member.levels.get(attribute) and member.levels.get(other):
                yield from _cells_of(member, attribute, other, of_table, attribute == first)


def _cells_of(
    member: Member, attribute: str, other: str, rows: dict[str, ChangeRow], is_first: bool
) -> Iterator[_Cell]:
    levels, others = member.levels[attribute], member.levels[other]
    own = list(levels)[:1] if len(levels) == 2 else list(levels)
    for level in own:
        for x in list(others)[:1] if len(others) == 2 else others:
            size, n_x = levels[level], others[x]
            alike = [(level, x, 0, 1)]
            if len(levels) == 2:
                alike.append((_other(levels, level), x, n_x, -1))
            if len(others) == 2:
                alike.append((level, _other(others, x), size, -1))
            if len(levels) == len(others) == 2:
                alike.append((_other(levels, level), _other(others, x), member.n - size - n_x, 1))
            names = [(f"{a}, {b}" if is_first else f"{b}, {a}", constant, sign) for a, b, constant, sign in alike]
            of_any = rows.get(AT_LEAST_ONE)
            told = tuple((constant, sign, rows[name]) for name, constant, sign in names if name in rows)
            told = ((0, 1, of_any),) if of_any else told
            if told and 0 < size < member.n:
                yield _Cell(size, n_x, member.n * member.part(attribute, level), told)


def _other(levels: Iterable[str], level: str) -> str:
    return next(name for name in levels if name != level)


def _likelihood(member: Member, cell: _Cell) -> np.ndarray | None:
    """Of each rate, on average over possible counts; None where no count suits the classes."""
    n, most = member.n, min(cell.size, cell.n_x)
    least = max(0, cell.size + cell.n_x - n)
    counts = np.unique(np.linspace(least, most, min(most - least + 1, _MOST_COUNTS)).round())
    low, high = np.zeros(len(counts)), np.full(len(counts), np.inf)
    for constant, sign, row in cell.told:
        own = constant + sign * counts
        own_low, own_high = _sizes(member, row, own, cell.has_flag)
        low, high = np.maximum(low, own_low), np.minimum(high, own_high)
    inside, outside = counts / cell.size, (cell.n_x - counts) / (n - cell.size)
    variance = cell.leaving * (inside * (1 - inside) + outside * (1 - outside))
    use = (low < high) & (variance > 0)
    if not use.any():
        return None
    slope = cell.leaving * (outside - inside)
    low, high, slope, variance = (array[use, None] for array in (low, high, slope, variance))
    by_count = log_likelihood(low, high, slope, variance, RATES, either=True)
    return np.asarray(np.logaddexp.reduce(by_count, axis=0) - math.log(len(counts)))


def _sizes(member: Member, row: ChangeRow, counts: np.ndarray, has_flag: bool) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest change, in records, of cells of so many."""
    n, tolerances = member.n, member.board.utility.tolerances
    counts = np.maximum(counts, 0.0)
    error = np.sqrt(counts * (1 - counts / n))
    low, high = np.zeros(len(counts)), np.full(len(counts), np.inf)
    # the standard error of a cell of few records is not that of the original
    known = counts > tolerances.min_n
    for size, unit, applies in ((row.relative, counts, counts > 0), (row.errors, error, known)):
        if size is not None:
            low = np.where(applies, np.maximum(low, size.low * unit), low)
            high = np.where(applies & (size.high is not None), np.minimum(high, (size.high or 0.0) * unit), high)
    beyond = np.minimum(tolerances.se * error, tolerances.change * counts)
    low = np.where(known & (has_flag and row.flagged), np.maximum(low, beyond), low)
    high = np.where(known & (has_flag and not row.flagged), np.minimum(high, tolerances.se * error), high)
    if row.before is not None:  # to two digits, as a percentage
        middle = row.before * n / 100
        room = 0.05 * 10 ** math.floor(math.log10(middle)) if middle else 0.5
        high = np.where(np.abs(counts - middle) <= max(room, 0.5) * 1.01, high, -1.0)
    return low, high
