"""Figures of a members' bundle as changes of which an interval is known, and what a swap would do to them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from engine.models.rate_likelihood import Shift
from engine.report.exposed_counts import count_digits
from engine.report.facts import CellRow, NamedTable
from engine.report.findings import Findings
from engine.report.parameters import ROLE_WORDS
from engine.report.rate_facts import STEPS, ChangeRow, Range

_CROSS = " × "
_TYPICAL = 0.2  # an association that is not shown
_STRONG = 0.05  # an association below is mostly noise
_CLEAR = 1.96  # standard errors from 0 below which a coefficient is mostly noise
_EXACT, _TWO_DIGITS = STEPS[:2]


class _Shown(NamedTuple):
    """A figure before, with the interval of its change (its size, if ``either`` way)."""

    table: str
    level: str
    n: int
    before: float
    low: float
    high: float
    either: bool
    se: float = 0.0


def evidence(board: Findings) -> dict[str, list[Shift]]:
    """Changes by kind of figure, each with what it tells of the rate."""
    member = Member(board)
    return {
        "percentages": list(member.percentages()),
        "means": list(member.means()),
        "associations": list(member.associations()),
        "correlations": list(member.correlations()),
        "coefficients": list(member.coefficients()),
        "tables": list(member.tables()),
        "groups": list(member.groups()),
    }


def unit_of_digits(value: float, digits: int) -> float:
    """The place of the last of so many significant digits."""
    return float(10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)) if value else 0.0


@dataclass(frozen=True)
class Member:
    """A bundle as its reader sees it."""

    board: Findings

    @cached_property
    def levels(self) -> Mapping[str, Mapping[str, int]]:
        """Counts of the levels of each attribute, of those whose percentages are shown."""
        found: dict[str, dict[str, int]] = {a.name: {} for a in self.board.design.attributes}
        for row in self.board.utility.shares:
            if row.table in found and not row.weighted:
                found[row.table][row.level] = row.n
        return found

    @cached_property
    def swapped(self) -> frozenset[str]:
        """Exchanged attributes, which the memo names."""
        return frozenset(a.name for a in self.board.design.attributes if a.role == ROLE_WORDS["S"])

    @property
    def n(self) -> int:
        """Number of records."""
        return self.board.design.n_records

    def part(self, attribute: str, level: str) -> float:
        """The share of all records that change at a rate of 1 and leave this level: partners have different ones."""
        sizes = self.levels[attribute]
        total = sum(sizes.values())
        odds = {name: size / max(total - size, 1) for name, size in sizes.items()}
        whole = sum(odds.values())
        own = odds[level] * (total - sizes[level]) + sizes[level] * (whole - odds[level])
        return own / (2 * total) if total else 0.0

    # -- what is shown -----------------------------------------------------------------------------------------------

    def _of_percentages(self) -> Iterator[_Shown]:
        """Counts of cells of two attributes."""
        for row in self.board.utility.shares:
            if not row.weighted and _CROSS in row.table:
                exact = self.n * (row.after - row.before) / 100
                room = self._room(row.after) * self.n / 100
                yield _Shown(row.table, row.level, row.n, float(row.n), exact - room, exact + room, False)
        for change in self._changes("percentage"):
            if not change.weighted and _CROSS in change.table and change.before:
                before = change.before * self.n / 100
                share = change.before / 100
                error = math.sqrt(self.n * share * (1 - share))
                low, high = self._size(change, before, error)
                yield _Shown(change.table, change.level, 0, before, low, high, True)

    def _of_means(self) -> Iterator[_Shown]:
        for row in self.board.utility.means:
            if not row.weighted:
                exact, room = row.after - row.before, self._room(row.after)
                error = abs(exact) / row.errors if row.errors else 0.0
                yield _Shown(row.column, row.group, row.n, row.before, exact - room, exact + room, False, error)
        for change in self._changes("mean"):
            relative, errors = change.relative, change.errors
            if change.weighted or change.before is None or not change.n or not relative or not errors:
                continue
            # the standard error is not shown: the middles of both sizes give it roughly
            error = abs(change.before) * _middle(relative) / max(_middle(errors), 0.1)
            low, high = self._size(change, abs(change.before), 0.0)
            yield _Shown(change.table, change.level, change.n, change.before, low, high, True, error)

    def _of_associations(self) -> Iterator[_Shown]:
        """Cramér's V."""
        for row in self.board.utility.associations:
            if row.statistic == "Cramér's V" and row.before is not None and row.after is not None:
                exact, room = row.after - row.before, self._room(row.after)
                yield _Shown(_CROSS.join((row.first, row.second)), "", 0, row.before, exact - room, exact + room, False)
        for change in self._changes("association"):
            if change.level == "Cramér's V":
                before = change.before or _TYPICAL  # the relative change tells the rate without the original's figure
                low, high = self._size(change, before, 0.0)
                yield _Shown(change.table, "", 0, before, low, high, True)

    def _changes(self, kind: str) -> Iterator[ChangeRow]:
        return (row for row in self.board.utility.changes if row.kind == kind)

    def _room(self, value: float) -> float:
        return unit_of_digits(value, 2) / 2 if self.board.members_rate.step == _TWO_DIGITS else 0.0

    def _size(self, change: ChangeRow, before: float, error: float) -> tuple[float, float]:
        """The interval of the size of a change, by its classes and its flag."""
        low, high = 0.0, math.inf
        tolerances = self.board.utility.tolerances
        if change.kind == "percentage" and before <= tolerances.min_n:
            error = 0.0  # of few records it is not that of the original
        for size, unit in ((change.relative, before), (change.errors, error)):
            if size is not None and unit > 0:
                low, high = max(low, size.low * unit), min(high, math.inf if size.high is None else size.high * unit)
        if error > 0 and not change.flagged:
            high = min(high, tolerances.se * error)
        # rounded originals may contradict the classes at their ends
        return (low, high) if low < high else (min(low, high), max(low, high) + 1e-9)

    # -- what it tells -----------------------------------------------------------------------------------------------

    def percentages(self) -> Iterator[Shift]:
        """Cells of an exchanged attribute and another one, each that tells something of its own."""
        merged: dict[tuple[str, str, str, str], Shift] = {}
        for shown in self._of_percentages():
            first, _, second = shown.table.partition(_CROSS)
            for attribute, other in ((first, second), (second, first)):
                if attribute not in self.swapped or other in self.swapped or other not in self.levels:
                    continue
                names = self._levels_of(shown.level, first, second)
                if names is None:
                    continue
                level, x = names if attribute == first else names[::-1]
                shift = self._cell(attribute, level, shown, self.levels[other][x])
                key, sign = self._one_of(attribute, level, other, x)
                if shift is not None:
                    merged[key] = _both(merged.get(key), _turned(shift, sign))
        yield from merged.values()

    def _levels_of(self, text: str, first: str, second: str) -> tuple[str, str] | None:
        pairs = ((a, b) for a in self.levels.get(first, ()) for b in self.levels.get(second, ()))
        return next(((a, b) for a, b in pairs if f"{a}, {b}" == text), None)

    def _one_of(self, attribute: str, level: str, other: str, x: str) -> tuple[tuple[str, str, str, str], int]:
        """Of two levels one moves as the other does, the other way."""
        sign = 1
        if len(self.levels[attribute]) == 2 and level != min(self.levels[attribute]):
            level, sign = min(self.levels[attribute]), -sign
        if len(self.levels[other]) == 2 and x != min(self.levels[other]):
            x, sign = min(self.levels[other]), -sign
        return (attribute, level, other, x), sign

    def _cell(self, attribute: str, level: str, shown: _Shown, n_x: float) -> Shift | None:
        """What a swap does to the count of a level of an exchanged attribute and something that is not exchanged."""
        size = self.levels[attribute].get(level, 0)
        if not 0 < size < self.n:
            return None
        inside = min(shown.before / size, 1.0)
        outside = min(max((n_x - shown.before) / (self.n - size), 0.0), 1.0)
        leaving = self.n * self.part(attribute, level)
        variance = leaving * (inside * (1 - inside) + outside * (1 - outside))
        if variance <= 0:
            return None
        return Shift(shown.low, shown.high, leaving * (outside - inside), variance, shown.either)

    def means(self) -> Iterator[Shift]:
        """Means in groups of an exchanged attribute, against the other groups of the same."""
        shown = list(self._of_means())
        for attribute in self.swapped:
            for row in shown:
                level = row.level.removeprefix(f"{attribute}: ")
                size = self.levels[attribute].get(level, 0)
                if level == row.level or not 0 < size < self.n or not row.se:
                    continue
                own = [(r, r.level.removeprefix(f"{attribute}: ")) for r in shown if r.table == row.table]
                groups = [(r, self.levels[attribute][name]) for r, name in own if name in self.levels[attribute]]
                others = sum(count for r, count in groups if r.level != row.level)
                if others != self.n - size:
                    continue
                rest = sum(r.before * count for r, count in groups if r.level != row.level) / others
                leaving = self.part(attribute, level) * self.n / size
                variance = leaving / size * 2 * row.n * row.se**2
                yield Shift(row.low, row.high, leaving * (rest - row.before), variance, row.either)

    def associations(self) -> Iterator[Shift]:
        """Cramér's V of an exchanged attribute, which falls in proportion to the records that moved."""
        for shown in self._of_associations():
            first, _, second = shown.table.partition(_CROSS)
            attribute = next((a for a in (first, second) if a in self.swapped), "")
            if not attribute or {first, second} <= self.swapped or shown.before < _STRONG:
                continue
            pull = self._pull(attribute)
            if pull is not None:
                yield Shift(shown.low, shown.high, -shown.before * pull, 2 * pull / self.n, shown.either)

    def _pull(self, attribute: str) -> float | None:
        """By how many times the rate an exchange weakens what hangs on an attribute: one over the chance that two
        records differ on it."""
        differ = 1 - sum((size / self.n) ** 2 for size in self.levels.get(attribute, {}).values())
        return 1 / differ if self.levels.get(attribute) and differ > 0 else None

    def _of_column(self, name: str) -> str:
        """The exchanged attribute that a column, or a coefficient, is of; empty where there is none."""
        column = name.partition("[")[0]
        own = (a.name for a in self.board.design.attributes if a.name in self.swapped)
        columns = {a.name: a.columns for a in self.board.design.attributes}
        return next((a for a in own if column == a or column in columns[a]), "")

    def correlations(self) -> Iterator[Shift]:
        """Correlations of a column that is exchanged and one that is not, which fall as associations do."""
        shown: list[tuple[str, str, float, float, float, bool]] = []
        for row in self.board.utility.correlations:
            if row.before is not None and row.after is not None:
                change, room = row.after - row.before, self._room(row.after)
                shown.append((row.first, row.second, row.before, change - room, change + room, False))
        for told in self._changes("correlation"):
            first, _, second = told.table.partition(_CROSS)
            if told.before:
                shown.append((first, second, told.before, *self._size(told, abs(told.before), 0.0), True))
        for first, second, before, low, high, either in shown:
            inside = [attribute for attribute in map(self._of_column, (first, second)) if attribute]
            pull = self._pull(inside[0]) if len(inside) == 1 else None
            if pull is not None and abs(before) >= _STRONG:
                yield Shift(low, high, -before * pull, 2 * pull / self.n, either)

    def coefficients(self) -> Iterator[Shift]:
        """Coefficients of an exchanged attribute, which fall as associations do."""
        shown: list[tuple[str, float, float, float, float, bool]] = []
        for row in self.board.utility.coefficients:
            if row.before is not None and row.after is not None and row.se_before:
                change, room = row.after - row.before, self._room(row.after)
                shown.append((row.name, row.before, row.se_before, change - room, change + room, False))
        for told in self._changes("coefficient"):
            if told.before and told.relative and told.errors:
                error = abs(told.before) * _middle(told.relative) / max(_middle(told.errors), 0.1)
                shown.append((told.level, told.before, error, *self._size(told, abs(told.before), 0.0), True))
        for name, before, error, low, high, either in shown:
            pull = None if ":" in name else self._pull(self._of_column(name))
            if pull is not None and abs(before) > _CLEAR * error:
                yield Shift(low, high, -before * pull, 2 * pull * error**2, either)

    def tables(self) -> Iterator[Shift]:
        """Cells of the tables that users make, where a whole table is shown."""
        for table in self.board.utility.tables:
            if len(table.rows) == table.cells:
                yield from self._named(table)

    def _named(self, table: NamedTable) -> Iterator[Shift]:
        inside = [a for a in table.attributes if a in self.swapped]
        if len(inside) != 1:
            return
        at = table.attributes.index(inside[0])
        totals: dict[tuple[str, ...], int] = {}
        for cell in table.rows:
            totals[_without(cell, at)] = totals.get(_without(cell, at), 0) + cell.before
        for cell in table.rows:
            exact, room = cell.after - cell.before, max(self._room(cell.after), 0.5)
            shown = _Shown(table.name, "", cell.before, cell.before, exact - room, exact + room, False)
            shift = self._cell(inside[0], cell.levels[at], shown, totals[_without(cell, at)])
            if shift is not None:
                yield shift

    def groups(self) -> Iterator[Shift]:
        """Unaltered records in small cells among those of one level of an exchanged attribute: as many fewer as left
        the level, roughly."""
        for row in self.board.exposure.groups:
            attribute, _, level = row.group.partition(": ")
            size = self.levels.get(attribute, {}).get(level, 0)
            if attribute in self.swapped and size and row.before > self.board.utility.tolerances.min_n:
                room = max(self.count_room(row.after), 0.5)
                change = row.after - row.before
                leaving = self.n * self.part(attribute, level) / size * row.before
                yield Shift(change - room, change + room, -leaving, 2 * leaving)

    def count_room(self, value: float) -> float:
        """How far a count may be from the one that is shown."""
        places = count_digits(self.board)
        return unit_of_digits(value, places) / 2 if places else 0.0


def _without(cell: CellRow, at: int) -> tuple[str, ...]:
    return cell.levels[:at] + cell.levels[at + 1 :]


def _middle(size: Range) -> float:
    return size.low * 1.5 if size.high is None else (size.low + size.high) / 2


def _turned(shift: Shift, sign: int) -> Shift:
    if sign > 0 or shift.either:
        return shift if sign > 0 else shift._replace(slope=-shift.slope)
    return Shift(-shift.high, -shift.low, -shift.slope, shift.variance)


def _both(one: Shift | None, other: Shift) -> Shift:
    """What two figures of the same change tell of it together."""
    if one is None:
        return other
    low, high = max(one.low, other.low), min(one.high, other.high)
    return one._replace(low=low, high=high) if low <= high else min(one, other, key=lambda s: s.high - s.low)
