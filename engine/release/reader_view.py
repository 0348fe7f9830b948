"""A release as its reader sees it: rows without names, so that a row that is still there counts as unaltered.

The reader of a released file sees a multiset of rows: every released column of each record.  Whether a record kept its
row, or got an equal one from another record, makes no difference.  :func:`as_seen` therefore gives each record its own
row back wherever the release holds one, and :func:`is_original` compares the multisets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from engine.data.microdata import Microdata, RawColumn, Units
from engine.data.table import occupied
from engine.release.records import ReleasedTable

_MOST_DECIMALS = 12


def columns_beside(data: Microdata, include: Iterable[str]) -> tuple[str, ...]:
    """Columns that leave with the attributes and stay with their record: carried ones, and of the weight and the unit
    those that are ``include``d.  Released ids are new random numbers, which tell nothing apart."""
    single = [data.weight if role == "weight" else data.unit_column for role in include if role in ("weight", "unit")]
    return (*(name for name in data.carried if name not in data.single_uses), *filter(None, single))


def exchange_is_void(
    data: Microdata, exchanged: Sequence[int], beside: Sequence[str], by_units: bool, agree: Sequence[int] = ()
) -> bool:
    """Return whether records that exchange these attributes can only change places: all else that leaves is the same
    in any two that ``agree`` on some attributes, as partners do (and units that exchange as wholes are of one size)."""
    rest = [c for j, a in enumerate(data.domain.attributes) if j not in exchanged for c in a.columns]
    names = [name for name in (*rest, *beside) if name not in data.dropped and name != data.unit_column]
    kind = occupied([data.codes[j] for j in agree], [data.domain.shape[j] for j in agree], data.n_records)[1]
    if any(_varies(data.raw.columns[name].codes, kind) for name in names):
        return False
    units = data.units if data.unit is not None and (by_units or data.unit_column in beside) else None
    if units is None:
        return True
    return not _varies(units.size, kind[units.first]) if by_units else len(units) in (1, data.n_records)


def _varies(codes: np.ndarray, kind: np.ndarray) -> bool:
    first = np.empty(int(kind.max()) + 1, codes.dtype)
    first[kind] = codes
    return bool((codes != first[kind]).any())


def as_seen(table: ReleasedTable, original: ReleasedTable, beside: Sequence[str]) -> ReleasedTable:
    """The release in which a record has its own values wherever the file holds a row like its own.

    The rows are those of ``table``; only records that are alike in all that the mechanism left alone trade them, whole
    units (households) where it moved these.  Of each row as many records count as unaltered as the original and the
    release both hold.  ``original`` caches what all releases share.
    """
    columns = _altered_columns(table)
    if table.renumbered or not columns:
        return table
    own, shown = ([pair[k] for pair in columns] for k in (0, 1))
    units = _moved_units(table, own, shown)
    rest = _rest(table, original, [name for name in beside if units is None or name != table.data.unit_column], units)
    if rest is None:
        return table
    if units is not None:
        own, shown = [codes[units.first] for codes in own], [codes[units.first] for codes in shown]
    concerned = _differing(own, shown)
    giver = _givers(rest[concerned], [codes[concerned] for codes in own], [codes[concerned] for codes in shown])
    if giver is None:
        return table
    row_of = np.arange(len(rest))
    row_of[concerned] = concerned[giver]
    if units is not None:
        first = units.first[row_of][units.of_record]
        row_of = np.where((row_of == np.arange(len(rest)))[units.of_record], np.arange(len(first)), first)
    return table.reordered(row_of)


def is_original(table: ReleasedTable, original: ReleasedTable, beside: Sequence[str]) -> bool:
    """Return whether the released rows are those of the original, in whatever order.

    Numbers that a mechanism drew are compared at the decimals of their column: whoever rounds them has the original.
    """
    columns = [*_altered_columns(table), *(rounded_codes(*pair) for pair in _drawn_numbers(table))]
    if not columns:
        return True
    own, shown = ([pair[k] for pair in columns] for k in (0, 1))
    concerned = _differing(own, shown)
    if not len(concerned):
        return True
    unit = table.data.unit_column
    names = [name for name in beside if name != unit and name not in table.renumbered]
    rest = _rest(table, original, names, None)
    if rest is None:
        return False
    if unit is not None and unit in beside:
        assert table.data.units is not None
        return same_rows([rest, *own], [rest, *shown], (table.data.units, table.data.units))
    part = rest[concerned]
    return same_rows([part, *(codes[concerned] for codes in own)], [part, *(codes[concerned] for codes in shown)])


def _differing(own: Sequence[np.ndarray], shown: Sequence[np.ndarray]) -> np.ndarray:
    differs = np.zeros(len(own[0]), bool)
    for before, after in zip(own, shown, strict=True):
        differs |= before != after
    return np.flatnonzero(differs)


def same_rows(
    before: Iterable[np.ndarray], after: Iterable[np.ndarray], units: tuple[Units, Units] | None = None
) -> bool:
    """Return whether two tables, as columns of codes from 0, hold the same multiset of rows; with the ``units`` of both
    the same multiset of units, each a multiset of rows."""
    row, n = np.zeros(0, np.int64), 0
    for own, shown in zip(before, after, strict=True):
        codes, n = np.concatenate([own, shown]), len(own)
        row = row if len(row) else np.zeros(2 * n, np.int64)
        row = occupied([row, codes], [int(row.max()) + 1, int(codes.max()) + 1], 2 * n)[1]
        if not np.array_equal(np.bincount(row[:n], minlength=2 * n), np.bincount(row[n:], minlength=2 * n)):
            return False
    if units is None:
        return True
    first, second = map(np.sort, _signatures((units[0], row[:n]), (units[1], row[n:])))
    return np.array_equal(first, second)


def _signatures(*rows: tuple[Units, np.ndarray]) -> list[np.ndarray]:
    """For each numbering of rows by units, a number for each unit that is equal for units that hold equal rows."""
    largest = max(int(units.size.max()) for units, _ in rows)
    listed = []
    for units, row in rows:
        order = np.lexsort((row, units.of_record))
        unit, ends = units.of_record[order], np.cumsum(units.size)
        table = np.full((len(units), largest), -1, np.int64)
        table[unit, np.arange(len(order)) - (ends - units.size)[unit]] = row[order]
        listed.append(table)
    numbers = np.unique(np.concatenate(listed), axis=0, return_inverse=True)[1].ravel()
    return np.split(numbers, np.cumsum([len(table) for table in listed])[:-1])


def _altered_columns(table: ReleasedTable) -> list[tuple[np.ndarray, np.ndarray]]:
    """Codes before and after of what a release exchanged or drew anew: raw columns, and levels that were drawn."""
    data, columns = table.data, []
    for j in sorted(table.altered):
        if table.is_replaced(j):
            columns.append((data.codes[j], table.codes(j)))
            continue
        for name in data.domain.attributes[j].columns:
            if name not in data.dropped:
                codes = data.raw.columns[name].codes + 1
                columns.append((codes, codes[table.source]))
    return columns


def _drawn_numbers(table: ReleasedTable) -> list[tuple[RawColumn, np.ndarray]]:
    return [(table.data.raw.columns[name], table.numeric(name)) for name in table.renumbered]


def rounded_codes(column: RawColumn, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of a column's numbers before and after, both rounded to the decimals that the numbers before have, and to
    the precision of a column of shorter floating-point numbers."""
    before = np.append(column.numbers, np.nan)[column.codes]
    if column.values.type in ("halffloat", "float"):
        before, after = (
            numbers.astype(column.values.type.to_pandas_dtype()).astype(float) for numbers in (before, after)
        )
    decimals = decimals_of(before[np.isfinite(before)])
    both = np.round(np.concatenate([before, after]), decimals) + 0.0
    codes = np.unique(both, return_inverse=True)[1]
    return codes[: len(before)], codes[len(before) :]


def decimals_of(known: np.ndarray) -> int:
    """The decimals of finite numbers; of those with more, as many as are compared."""
    magnitude = np.frexp(np.abs(known).max(initial=0.0))[1] * np.log10(2)
    most = _MOST_DECIMALS + min(int(max(0, -magnitude)), 280)  # of numbers below 1 as many digits
    return next((d for d in range(most) if np.array_equal(np.round(known, d), known)), most)


def renumbered_records(table: ReleasedTable) -> np.ndarray:
    """Mask of the records in which some number that a mechanism drew differs at the decimals of its column."""
    mask = np.zeros(table.data.n_records, bool)
    for column, after in _drawn_numbers(table):
        own, shown = rounded_codes(column, after)
        mask |= own != shown
    return mask


def _moved_units(table: ReleasedTable, own: Sequence[np.ndarray], shown: Sequence[np.ndarray]) -> Units | None:
    """The units of the data, where what a release exchanged is the same in all members of each, before and after."""
    units = table.data.units if table.source is not None else None
    if units is None or any(map(table.is_replaced, table.altered)):
        return None
    return units if all(units.constant(codes).all() for codes in (*own, *shown)) else None


def _rest(
    table: ReleasedTable, original: ReleasedTable, beside: Sequence[str], units: Units | None
) -> np.ndarray | None:
    """A number for each record (each of the ``units``) that is equal for those alike in all that leaves and was not
    altered; None where no two are alike."""
    data, altered = table.data, table.altered
    names = {c for j, a in enumerate(data.domain.attributes) if j not in altered for c in a.columns} | {*beside}
    names -= {*data.dropped, *table.renumbered}
    key = "rest", frozenset(names), units is not None
    return original.cached(key, lambda: _number_rest(data, names, units))


def _number_rest(data: Microdata, names: Collection[str], units: Units | None) -> np.ndarray | None:
    number = np.zeros(data.n_records, np.int64)
    for name in data.raw.names:  # in file order, for a very wide file is read in that order
        if name in names and (most := int(number.max()) + 1) < len(number):
            joint = data.units if name == data.unit_column and len(data.unit_columns) > 1 else None
            codes = data.raw.columns[name].codes + 1 if joint is None else joint.of_record
            number = occupied([number, codes], [most, int(codes.max()) + 1], len(number))[1]
    if units is not None:
        (number,) = _signatures((units, number))
    return None if int(number.max()) + 1 == len(number) else number


def _givers(rest: np.ndarray, own: Sequence[np.ndarray], shown: Sequence[np.ndarray]) -> np.ndarray | None:
    """For each record whose values differ the one whose released row it takes, among those alike in the rest: one with
    its own values where there is one, else itself or what is left.  None where no record finds its own."""
    n = len(rest)
    stacked = [np.concatenate([rest, rest]), *(np.concatenate(pair) for pair in zip(own, shown, strict=True))]
    row = occupied(stacked, [int(column.max()) + 1 for column in stacked], 2 * n)[1] if n else np.zeros(0, np.int64)
    wanted, offered = row[:n], row[n:]
    by_want, by_offer = np.argsort(wanted, kind="stable"), np.argsort(offered, kind="stable")
    in_order = wanted[by_want]
    rank = np.arange(n) - np.searchsorted(in_order, in_order)
    # the k-th record that wants a row takes it from the k-th that shows it
    place = np.searchsorted(offered[by_offer], in_order) + rank
    found = place < n
    found[found] &= offered[by_offer][place[found]] == in_order[found]
    if not found.any():
        return None
    giver = np.full(n, -1)
    giver[by_want[found]] = by_offer[place[found]]
    taken = np.zeros(n, bool)
    taken[giver[giver >= 0]] = True
    keeps = (giver < 0) & ~taken
    giver[keeps] = np.flatnonzero(keeps)
    taken[keeps] = True
    left, free = np.flatnonzero(giver < 0), np.flatnonzero(~taken)
    giver[left[np.argsort(rest[left], kind="stable")]] = free[np.argsort(rest[free], kind="stable")]
    return giver
