"""Household numbers, places, the usual exchanges, and values of them, of ids and weights that may mean missing."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.raw_values import texts
from engine.data.microdata import GroupedColumns, Microdata, RawColumn, RawTable, Units
from engine.plan.columns import Facts, facts, is_weight, names_units, numbers_units, units_first
from engine.plan.doubts import code_like, reads_as_missing, records_of
from engine.plan.entries import HOUSEHOLD_SWAP, SIGNS, MechanismPlan, UnitColumns, is_writable, labelled, unit_columns
from engine.plan.mismatches import DoubtfulNumber
from engine.plan.types import DEFAULT_MISSING, Plan
from engine.release.spec import RANDOM_SWAP

if TYPE_CHECKING:
    import pyarrow as pa


_LINE_NAME = re.compile(
    r"(pu|p|a_)?line_?(no|num|nr|number)?|lno|pernum|pno|per(s(on)?)?_?(no|num|nr|number)|sporder|(h|hv|hm)idx|[hm]?v003|"
    r"mem(ber)?_?(no|num|nr|id)|hhmem\w*|indiv_?(no|num|nr)",
    re.IGNORECASE,
)
_PART_NAME = re.compile(
    r"\w*hh_?(id|no|nr|num|key|serial|ld)\w*|hh|hid\d*|house(hold)?\w*|(h|m)?v00[124]|clust(er)?\w*|serial\w*|"
    r"dwell\w*|b(ui)?ld(in)?g\w*|struct\w*|addr(ess)?\w*|ea_?(no|id|code)?|psu|segment\w*|famil?y?_?(id|no|num)\w*|quest(ionnaire)?_?(no|id)",
    re.IGNORECASE,
)
_DESIGN_NAME = re.compile(
    r"[hm]?v(00[124]|021)|clust(er)?(_?(id|no|nr|num|number|code))?|(psu|ea)(_?(id|no|nr|num|number|code))?",
    re.IGNORECASE,
)
_PERIOD_NAME = re.compile(
    r"year|wave|month|quarter|round|period|jahr|welle|ann[ée]e|trimestre|(^|_)(sample|a[nñ]i?o|yr|qtr)($|_|\d)",
    re.IGNORECASE,
)
_MOST_LINES = 60
_MOST_MEMBERS = 15
_IN_HOUSEHOLDS, _SEVERAL, _FOLLOWS = 0.98, 0.05, 0.95
_FEWEST = 50  # records
_FEW_GAPS = 0.02  # share of records without a part of their household's number that are left out of the search
_MOST_PARTS, _MOST_TRIED = 3, 12  # columns of a number, one more by name, and columns that may be part of it
_SECONDS = 20  # second members of whom the first is looked for, before all are
_HEAD = 2000  # households or records that are compared before all are


@dataclass(frozen=True)
class HouseholdNumbers:
    """``together`` are the columns that number households only together; () where one column does or none do.
    ``single`` number them alone, those first whose names say household, and ``lines`` number the members of each
    household: 1, 2, 3 and so on.  ``repeated`` say the same as one of ``together``, are parts of a number beside a
    column that is one alone, or number clusters of households."""

    together: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @property
    def numbers(self) -> frozenset[str]:
        """The columns that number households, or are part of such a number."""
        return frozenset((*self.together, *self.single, *self.repeated))


def household_numbers(table: RawTable, facts_of: Mapping[str, Facts]) -> HouseholdNumbers:
    """The columns of a table that number households and their members; of a very wide one, those with names of such.
    A few records without a part of such a number are left out."""
    table, facts_of = _without_gaps(table, facts_of)
    named = [name for name in table.names if _PART_NAME.fullmatch(name) or _LINE_NAME.fullmatch(name)]
    columns = [table.columns[name] for name in (named if isinstance(table.columns, GroupedColumns) else table.names)]
    if table.n_records <= _FEWEST or not columns:
        return HouseholdNumbers()
    single = units_first([column for column in columns if numbers_units(column, facts_of[column.name])])
    whole = [c for c in columns if facts_of[c.name].n_distinct > 1 and not facts_of[c.name].n_missing and _is_code(c)]
    by_name = {column.name: column for column in whole}
    units = [Units.from_codes(by_name[name].codes) for name in single if name in by_name]
    members = {c.name: v for c in whole if (v := _counted(c, facts_of[c.name])) is not None}
    restarting = [name for name, values in members.items() if _restarts(values)]
    named = [name for name in members if _LINE_NAME.fullmatch(name)]
    in_units = [name for name, values in members.items() if any(_numbers_members(values, unit) for unit in units)]
    lines = tuple(name for name in members if name in {*restarting, *named, *in_units})
    others = [c for c in whole if c.name not in lines and not is_weight(c, facts_of[c.name])]
    together: tuple[str, ...] = ()
    if restarting:
        values = members[restarting[0]]
        together = _decided_by(Units.from_codes(np.cumsum(values == values.min())), others)
    elif not any(_tells_apart(unit, members[name]) for unit in units for name in named) and (named or not units):
        together = _named_parts(others, [members[name] for name in named])
        together = together or _numbered_parts(others, {name: members[name] for name in named or members})
        lines = tuple(name for name in lines if name not in together)
    if not together and single and single[0] in by_name:
        together = _in_periods(by_name[single[0]], columns)
    if len(together) == 1:
        single = (*together, *(name for name in single if name not in together))
    if len(together) < 2:
        repeated = _parts_of(by_name[single[0]], others, facts_of) if single and single[0] in by_name else ()
        return HouseholdNumbers((), single, lines, tuple(name for name in repeated if name not in single))
    known = Units.of_columns([by_name[name].codes for name in together])
    repeated = tuple(
        c.name
        for c in others
        if c.name not in together
        and (_names_clusters(c, known, facts_of) or any(_repeats(c, by_name[name]) for name in together))
    )
    return HouseholdNumbers(together, tuple(name for name in single if name not in together), lines, repeated)


def _without_gaps(table: RawTable, facts_of: Mapping[str, Facts]) -> tuple[RawTable, Mapping[str, Facts]]:
    """The records of a table that have all parts of a household's number, by the names of columns, where nearly all
    have, with the facts of these."""
    most = _FEW_GAPS * table.n_records
    parts = [name for name in table.names if _PART_NAME.fullmatch(name) and 0 < facts_of[name].n_missing <= most]
    if not parts or isinstance(table.columns, GroupedColumns):
        return table, facts_of
    kept = np.ones(table.n_records, bool)
    for name in parts:
        column = table.columns[name]
        kept &= ~np.append(column.about.absent_mask(column.values, DEFAULT_MISSING), True)[column.codes]
    for name, column in table.columns.items():
        counts = None if facts_of[name].n_missing or not _is_code(column) else _counted(column, facts_of[name])
        if counts is not None and _restarts(counts):  # a household goes with the number of one of its members
            household = np.cumsum(counts == counts.min())
            kept = np.bincount(household, ~kept)[household] == 0
            break
    records = np.flatnonzero(kept)
    columns = {name: _of_records(column, records) for name, column in table.columns.items()}
    smaller = replace(table, columns=columns, n_records=len(records))
    return smaller, {name: facts(column, len(records)) for name, column in columns.items()}


def _of_records(column: RawColumn, records: np.ndarray) -> RawColumn:
    codes = column.codes[records].astype(np.int64)
    used = np.unique(codes[codes >= 0])
    place = np.full(len(column.values) + 1, -1)
    place[used] = np.arange(len(used))
    return replace(column, values=column.values.take(used), codes=place[codes])


def _repeats(column: RawColumn, other: RawColumn) -> bool:
    """Return whether equal values in the one always go with equal values in the other, and the other way round."""
    n_values = len(column.values)
    return n_values == len(other.values) == len(Units.of_columns([column.codes, other.codes]))


def _names_clusters(column: RawColumn, households: Units, facts_of: Mapping[str, Facts]) -> bool:
    named = _DESIGN_NAME.fullmatch(column.name) and not facts_of[column.name].labelled
    return bool(named) and bool(households.constant(column.codes).all())


def _parts_of(number: RawColumn, columns: Sequence[RawColumn], facts_of: Mapping[str, Facts]) -> tuple[str, ...]:
    """The columns that are parts of what ``number`` numbers alone: by their names, or since they count the households
    of a cluster from the first to the last, with the clusters within which they do; places stay attributes."""
    households = Units.from_codes(number.codes)
    rest = [c for c in columns if c.name != number.name and not facts_of[c.name].labelled]
    rest = [c for c in rest if households.constant(c.codes).all()]
    counting = [*_counting(rest, households)]
    last = {parts[-1].name for parts in counting}
    clusters = [c for parts in counting for c in parts[:-1] if _DESIGN_NAME.fullmatch(c.name)]
    return tuple(
        c.name for c in rest if c.name in last or names_units(c) or any(_repeats(c, cluster) for cluster in clusters)
    )


def _is_code(column: RawColumn) -> bool:
    """Return whether a column holds texts or whole numbers."""
    figures = column.numbers
    return bool(np.isnan(figures).all() or (np.isfinite(figures).all() and (np.mod(figures, 1) == 0).all()))


def _counted(column: RawColumn, facts: Facts) -> np.ndarray | None:
    """The values of a column of few whole numbers from 0 or 1 on; None for any other one."""
    if not facts.numeric or facts.n_distinct > _MOST_LINES:
        return None
    figures = column.numbers
    if figures.min() < 0 or figures.max() >= 100 or not (figures.min() < 2 or _LINE_NAME.fullmatch(column.name)):
        return None
    values: np.ndarray = figures[column.codes].astype(np.int64)
    return values


def _restarts(values: np.ndarray) -> bool:
    """Return whether numbers count up through the file and begin anew: each but the first follows the one before it.

    Three numbers at least, since a rare answer follows the common one nearly always and the next rare one seldom, and
    no pattern: households differ in size."""
    start, before = int(values.min()), np.append(-1, values[:-1])
    later = np.flatnonzero(values > start)
    if values[0] != start or len(later) < _SEVERAL * len(values) or values.max() < start + 2:
        return False
    follows = values == before + 1
    occurring = np.flatnonzero(np.bincount(values - start) >= 5)[1:] + start
    by_level = [float(follows[values == level].mean()) for level in occurring.tolist()]
    starts = np.flatnonzero(values == start)
    return len(by_level) > 1 and min(by_level) >= _FOLLOWS and _differ(np.diff(starts))


def _numbers_members(values: np.ndarray, units: Units) -> bool:
    """Return whether numbers count the members of nearly each unit: 1 to its size, each once, three or more in some."""
    if not _differ(units.size) or np.count_nonzero(units.size > 2) < 5:
        return False
    last = -units.least(-values)
    return bool((last - values.min() + 1 == units.size).mean() >= _FOLLOWS) and _tells_apart(units, values)


def _differ(sizes: np.ndarray) -> bool:
    """Return whether sizes of households differ, as those of a pattern that comes again and again do not."""
    return len(sizes) > 1 and bool(np.bincount(sizes).max() <= 0.95 * len(sizes))


def _tells_apart(units: Units, values: np.ndarray) -> bool:
    """Return whether unit and number together name single records."""
    pairs = units.of_record * (int(values.max()) + 1) + values
    return len(np.unique(pairs)) == len(values)


def _decided_by(households: Units, columns: Sequence[RawColumn]) -> tuple[str, ...]:
    """The fewest columns that are constant in each household and together tell all of them apart; those that count the
    households of a group before others, and of these the ones with the fewest values."""
    able = [column for column in columns if households.constant(column.codes).all()]
    alone = [column for column in able if len(column.values) == len(households)]
    if alone:
        return (min(alone, key=lambda c: not _PART_NAME.fullmatch(c.name)).name,)
    for parts in _counting(able, households):
        return _in_file_order(parts, columns)
    able.sort(key=lambda c: (not _PART_NAME.fullmatch(c.name), -len(c.values)))
    for parts in sorted(_choices(able[:_MOST_TRIED]), key=_unlikely):
        if _is_likely(parts, len(households)) and _tell_apart(parts, households):
            return _in_file_order(parts, columns)
    return ()


def _is_likely(parts: Sequence[RawColumn], n_households: int) -> bool:
    """Return whether one of the columns has the name of such a number, or nearly as many values as households."""
    return any(_PART_NAME.fullmatch(c.name) or 3 * len(c.values) >= n_households for c in parts)


def _unlikely(parts: Sequence[RawColumn]) -> tuple[int, bool, int]:
    """Sorts few columns with names of numbers and few values first."""
    named = all(_PART_NAME.fullmatch(part.name) for part in parts)
    return len(parts), not named, prod(len(part.values) for part in parts)


def _tell_apart(parts: Sequence[RawColumn], households: Units) -> bool:
    """Return whether the columns have other values in each household; the first households are looked at first."""
    if prod(len(part.values) for part in parts) < len(households):
        return False
    for most in (_HEAD, 16 * _HEAD, len(households)):
        records = households.first[:most]
        if _n_groups(parts, records) < len(records):
            return False
    return True


def _n_groups(columns: Sequence[RawColumn], records: np.ndarray) -> int:
    if prod(len(column.values) + 1 for column in columns) >= 2**63:
        return len(Units.of_columns([column.codes[records] for column in columns]))
    joint = np.zeros(len(records), np.int64)
    for column in columns:
        joint = joint * (len(column.values) + 1) + column.codes[records] + 1
    return len(np.unique(joint))


def _counting(columns: Sequence[RawColumn], households: Units) -> Iterator[tuple[RawColumn, ...]]:
    """Columns of which the last counts up within each group of the others, whose households stand together in the
    file."""
    tried = sorted(columns, key=lambda c: (not _PART_NAME.fullmatch(c.name), -len(c.values)))[:_MOST_TRIED]
    head = households.first[:_HEAD]
    figures = {column.name: column.numbers for column in tried}
    for parts in _choices(tried):
        for inner in parts:
            outer = [part for part in parts if part is not inner]
            if (
                _rises_within(outer, figures[inner.name][inner.codes[head]], head)
                and _rises_within(outer, figures[inner.name][inner.codes[households.first]], households.first, 2)
                and _tell_apart(parts, households)
            ):
                yield (*outer, inner)


def _rises_within(outer: Sequence[RawColumn], figures: np.ndarray, records: np.ndarray, least: int = 1) -> bool:
    """Return whether the values of ``outer`` stand together in the file, and the ``figures`` of the records count up
    within each, of ``least`` records on average; what does so among the first records may do so among all."""
    codes = [column.codes[records] for column in outer]
    same = np.logical_and.reduce([numbers[1:] == numbers[:-1] for numbers in codes])
    runs = int(np.count_nonzero(~same)) + 1
    if least * runs > len(records):
        return False
    return bool((np.diff(figures)[same] > 0).all()) and runs == _n_groups(outer, records)


def _numbered_parts(columns: Sequence[RawColumn], lines: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """The fewest columns that group the records so that line numbers count the members of each group, in any order."""
    for name, values in lines.items():
        n_of = np.bincount(values)[values.min() :]
        if len(n_of) < 3 or (np.diff(n_of) > 0).any():
            continue  # each household with a third member has a second one
        firsts = np.flatnonzero(values == values.min())
        able = [column for column in columns if column.name != name]
        able = sorted(able, key=lambda c: not _PART_NAME.fullmatch(c.name))[:_MOST_TRIED]
        seconds = np.flatnonzero(values == values.min() + 1)
        seconds = seconds[:: max(1, len(seconds) // _SECONDS)][:_SECONDS]
        equal = {c.name: c.codes[seconds][:, None] == c.codes[firsts] for c in able}
        for parts in _choices(able):
            if not (_LINE_NAME.fullmatch(name) or _is_likely(parts, len(firsts))):
                continue  # no name says that these columns number anything
            with_first = np.logical_and.reduce([equal[part.name] for part in parts]).any(axis=1)
            if 2 * np.count_nonzero(with_first) < len(seconds):
                continue  # a second member has a first one
            if _tell_apart(parts, Units(firsts, firsts, firsts)) and _numbers_members(
                values, Units.of_columns([part.codes for part in parts])
            ):
                return _in_file_order(parts, columns)
    return ()


def _named_parts(columns: Sequence[RawColumn], lines: Sequence[np.ndarray]) -> tuple[str, ...]:
    """The fewest columns with names of such numbers that group the records as households are: few members each, which
    stand together in the file and whose line numbers differ."""
    named = [column for column in columns if _PART_NAME.fullmatch(column.name)][:_MOST_TRIED]
    for parts in _choices(named):
        head = Units.of_columns([part.codes[:_HEAD] for part in parts])
        if not (_adjoin(head) and all(_tells_apart(head, values[:_HEAD]) for values in lines)):
            continue  # what the first records are not, all are not
        units = Units.of_columns([part.codes for part in parts])
        few = units.size[units.size <= _MOST_MEMBERS].sum() >= _IN_HOUSEHOLDS * len(units.of_record)
        several = np.count_nonzero(units.size > 1) >= max(1.0, _SEVERAL * len(units))
        if few and several and _adjoin(units) and all(_tells_apart(units, values) for values in lines):
            return _in_file_order(parts, columns)
    return ()


def _adjoin(units: Units) -> bool:
    return int(np.count_nonzero(np.diff(units.of_record))) + 1 == len(units)


def _in_periods(number: RawColumn, columns: Sequence[RawColumn]) -> tuple[str, ...]:
    """A household's number with the year or wave in which it is numbered, where each comes again in later ones."""
    n_runs = int(np.count_nonzero(np.diff(number.codes))) + 1
    if n_runs > len(number.values):
        for period in columns:
            if period.name != number.name and _PERIOD_NAME.search(period.name):
                units = Units.of_columns([period.codes, number.codes])
                if len(units) == n_runs and _adjoin(units):
                    return _in_file_order((period, number), columns)
    return ()


def _choices(columns: Sequence[RawColumn]) -> Iterator[tuple[RawColumn, ...]]:
    for size in range(2, _MOST_PARTS + 1):
        yield from combinations(columns, size)
    yield from combinations([column for column in columns if _PART_NAME.fullmatch(column.name)], _MOST_PARTS + 1)


def _in_file_order(parts: Sequence[RawColumn], columns: Sequence[RawColumn]) -> tuple[str, ...]:
    chosen = {part.name for part in parts}
    return tuple(column.name for column in columns if column.name in chosen)


_PLACE = re.compile(
    r"(^|_|\b)(nuts\d?|lau\d?|region\w*|division|state|province|county|district\w*|canton|kreis|bezirk|land|"
    r"municip\w*|commune|gemeinde|city|town|village|ward|parish|postal\w*|postcode|zip\w*|tract|block|msoa|lsoa|"
    r"place\w*|area\w*|geo\w*|residence)($|_|\d|\b)",
    re.IGNORECASE,
)
_RATES = ("0.02", "0.05", "0.1")
_MOST_AGREED = 3  # attributes on which partners usually agree; more leave few of them


def places_of(plan: Plan) -> tuple[str, ...]:
    """The places that the plan's exchange of households names, from coarse to fine; () where it has none."""
    return next((places for entry in plan.mechanisms if (places := _hierarchy(entry))), ())


def _hierarchy(entry: MechanismPlan) -> tuple[str, ...]:
    """The places that an exchange of households names; () for another mechanism, and where it names none."""
    values = dict(entry.grid).get("hierarchy") if entry.name == HOUSEHOLD_SWAP else None
    return tuple(filter(None, (name.strip() for name in values[0].split("+")))) if values else ()


def suggested_places(raw: RawTable, plan: Plan, unit: UnitColumns) -> tuple[str, ...]:
    """Attributes whose names or labels speak of places and whose values nest, from coarse to fine, the longest such
    list; of a ``unit`` all members live in one place."""
    units = None if unit is None else _units(raw, unit)
    codes = {}
    for part in plan.attributes:
        column = raw.columns.get(part.view[0])
        if column is None or len(part.view) > 1 or part.cut:
            continue
        if not (_PLACE.search(part.name) or _PLACE.search(column.about.label)):
            continue
        if units is None or units.constant(column.codes).all():
            codes[part.name] = column.codes
    coarse_first = sorted(codes, key=lambda name: len(np.unique(codes[name])))
    lists: list[tuple[str, ...]] = []
    for name in coarse_first:
        above = [names for names in lists if _lies_in(codes[name], codes[names[-1]])]
        lists.append((*max(above, key=len, default=()), name))
    return max(lists, key=len, default=())


def places_in(raw: RawTable, plan: Plan) -> tuple[str, ...]:
    """The places of the plan's exchange of households, or else those that the records suggest."""
    return places_of(plan) or suggested_places(raw, plan, plan.data.unit)


def _lies_in(fine: np.ndarray, coarse: np.ndarray) -> bool:
    """Return whether each area of a finer column lies in one of a coarser one, which has fewer areas."""
    pairs = np.unique(np.stack([fine, coarse]), axis=1)
    n_fine, n_coarse = len(np.unique(fine)), len(np.unique(coarse))
    return bool(n_coarse < n_fine == pairs.shape[1])


def household_attributes(data: Microdata, places: Sequence[str]) -> tuple[str, ...]:
    """Attributes that are the same for all members of each household, places left out; first those that tell how many
    members it has, then the others in the order of the plan."""
    units = data.units
    if units is None:
        return ()
    same = [
        (name, data.codes[j][units.first])
        for j, name in enumerate(data.domain.names)
        if name not in places and units.constant(data.codes[j]).all()
    ]
    return _sizes_first(same, units)


def _units(raw: RawTable, unit: UnitColumns) -> Units:
    return Units.of_columns([raw.columns[name].codes for name in unit_columns(unit)])


def household_columns(raw: RawTable, plan: Plan, unit: UnitColumns, places: Sequence[str]) -> tuple[str, ...]:
    """The same by the columns that attributes view, before records are coded; what mechanisms cannot name is left
    out."""
    units = _units(raw, unit)
    same = []
    for part in plan.attributes:
        column = raw.columns.get(part.view[0])
        if column is None or len(part.view) > 1 or part.name in places or not can_name_place(part.name):
            continue
        if units.constant(column.codes).all():
            same.append((part.name, column.codes[units.first]))
    return _sizes_first(same, units)


def _sizes_first(same: Sequence[tuple[str, np.ndarray]], units: Units) -> tuple[str, ...]:
    """Names with codes by household: first those that tell how many members it has."""
    sizes = [name for name, codes in same if _lies_in_or_is(codes, units.size)]
    return (*sizes, *(name for name, _ in same if name not in sizes))


def _lies_in_or_is(codes: np.ndarray, size: np.ndarray) -> bool:
    return bool(np.unique(np.stack([codes, size]), axis=1).shape[1] == len(np.unique(codes)))


def _profiles(able: Sequence[str], places: Sequence[str]) -> tuple[str, ...]:
    """The attributes on which households that exchange places usually agree, each entry a list of profiles from strict
    to lax as the mechanism reads it: a household's size and kind, then its size; the same within the coarsest place
    first."""
    strict, lax = "+".join(able[:_MOST_AGREED]), "+".join(able[:1])
    plain = strict if strict == lax else f"{strict}|{lax}"
    if len(places) < 2:
        return (plain,)
    return (plain, f"{places[0]}{'+' if strict else ''}{strict}|{plain}")


def usual_exchange(data: Microdata, places: Sequence[str]) -> MechanismPlan:
    """The exchange of households between these places, with the grid that is tried where nobody says otherwise."""
    return exchange_of(household_attributes(data, places), places)


def exchange_of(able: Sequence[str], places: Sequence[str]) -> MechanismPlan:
    """The same where partners may agree on the attributes ``able``, the likeliest first."""
    grid = {
        "rate": list(_RATES),
        "hierarchy": "+".join(places),
        "similar": list(_profiles(able, places)),
        "must": ["all", "within"],
        "lean": ["0", "1"],
    }
    return MechanismPlan.of(HOUSEHOLD_SWAP, grid)


def with_exchange(plan: Plan, data: Microdata, places: Sequence[str]) -> Plan:
    """``plan`` that exchanges whole households between these places, in place of the random swap, which would tear them
    apart; the finest place becomes a key, and risk, distance and who leaves are measured at each level of place.

    ``data`` are the records as ``plan`` codes them.  Of a plan that exchanges households already, only the places
    change.
    """
    return _with_mechanism(plan, usual_exchange(data, places), tuple(places))


def with_mechanism(plan: Plan, exchange: MechanismPlan) -> Plan:
    """The same with this ``exchange``, where the plan exchanges no households yet."""
    return _with_mechanism(plan, exchange, _hierarchy(exchange))


def _with_mechanism(plan: Plan, exchange: MechanismPlan, places: tuple[str, ...]) -> Plan:
    if places_of(plan) == places:
        return plan
    for name in places:
        if not can_name_place(name):
            raise UsageError(
                f"'{name}' cannot name a place, since it holds | or one of {SIGNS}; rename that attribute",
                Remedy.RENAME,
            )
    written = "+".join(places)
    if places_of(plan):
        mechanisms = tuple(
            replace(
                entry,
                grid=tuple((name, (written,) if name == "hierarchy" else values) for name, values in entry.grid),
            )
            if entry.name == HOUSEHOLD_SWAP
            else entry
            for entry in plan.mechanisms
        )
    else:
        others = tuple(entry for entry in plan.mechanisms if not entry.by_roles)
        mechanisms = (*others, exchange)
    keys = plan.keys if places[-1] in plan.keys else (*plan.keys, places[-1])
    known = tuple(name for name in plan.keys if name not in (*places, *places_of(plan)))
    weighted = plan.data.weight is not None
    gone = measured_by(places_of(plan), known, weighted)
    wanted = measured_by(places, known, weighted)
    measures = [name for name in plan.measures if name not in gone or _decides(plan, name)]
    measures += [name for name in wanted if name not in measures]
    return replace(plan, mechanisms=mechanisms, keys=keys, measures=tuple(measures))


def lacks_exchange(plan: Plan) -> bool:
    """Return whether a plan numbers households and does not say whether these or single records are exchanged."""
    return plan.data.unit is not None and not names_exchange(plan)


def names_exchange(plan: Plan) -> bool:
    """Return whether a plan names an exchange of households, or the random swap of single records."""
    return bool(places_of(plan)) or any(entry.by_roles for entry in plan.mechanisms)


def with_records_exchanged(plan: Plan) -> Plan:
    """``plan`` that names the random swap, which exchanges records one by one, where it named no mechanism of that
    kind."""
    if any(entry.by_roles for entry in plan.mechanisms):
        return plan
    return replace(plan, mechanisms=(MechanismPlan(RANDOM_SWAP), *plan.mechanisms))


def can_name_place(name: str) -> bool:
    """Return whether mechanisms and measures can name this attribute."""
    return is_writable(name) and "|" not in name


def measured_by(places: Sequence[str], known: Sequence[str], weighted: bool) -> tuple[str, ...]:
    """Measures of an exchange of households between these places, at each level with what is ``known`` of persons; with
    a weight also those of weighted tables, since weights move along."""
    if not places:
        return ()
    measures = ["exposed_households", "household_uniques", f"risky_left[hierarchy={'+'.join(places)}]", "rarity_auc"]
    for place in places:
        table = f"attributes={'+'.join((place, *known))}"
        if known:
            measures += [f"small_cells[{table}]", f"hellinger[{table}]"]
            measures += [f"weighted_hellinger[{table}]"] if weighted else []
        if place != places[-1]:
            measures.append(f"exposed_households[{table}]")
        measures += [f"left_level[level={place}]", f"area_change[level={place}]"]
    return tuple(measures)


def _decides(plan: Plan, name: str) -> bool:
    """Return whether the rule of choice names a measure, with its parameters or without."""
    return any(text in (name, name.partition("[")[0]) for text in (plan.decision.risk, plan.decision.utility))


SURVEY_SWAP = "survey_swap"
"""The mechanism that swaps targets of a survey with partners of near weight."""
_SURVEY_RATES = ("0.01", "0.025", "0.05")  # of targets; twice as many records are perturbed
_MOST_EXCHANGED = 2  # attributes that partners usually exchange; more make cells too small to tell near ones


def personal_attributes(plan: Plan, data: Microdata) -> tuple[str, ...]:
    """Attributes that partners may exchange: all but those that members of each household share, where some household
    has several members; the plan's keys that may be swapped come first."""
    units = data.units
    in_households = units is not None and len(units) < data.n_records
    shared = household_attributes(data, ()) if in_households else ()
    able = [name for name in plan.names if name not in shared]
    first = [name for name in able if name in plan.keys and name in plan.swap_candidates]
    return (*first, *(name for name in able if name not in first))


def usual_survey_swap(plan: Plan, data: Microdata) -> MechanismPlan:
    """The survey swap with the grid that is tried where nobody says otherwise: within the coarsest place that the
    records suggest, if any, partners exchange the first personal attributes that are no places."""
    places = suggested_places(data.raw, plan, data.unit)
    able = [name for name in personal_attributes(plan, data) if name not in places]
    grid: dict[str, object] = {"rate": list(_SURVEY_RATES), "swap": "+".join(able[:_MOST_EXCHANGED])}
    if places:
        grid["boundary"] = places[0]
    return MechanismPlan.of(SURVEY_SWAP, grid)


_FAR_LARGER, _CROWD, _FEW = 3, 10, 3  # times the next unit's size; its least size; units that may be so
_MARGIN = 3  # records that a unit numbered 0 or 99 has more than any other


def doubtful_numbers(plan: Plan, table: RawTable) -> Iterator[DoubtfulNumber]:
    """Values of the plan's household numbers, id, weight and places that may mean missing and that it takes for real
    ones; it says of a column that none does, or lists those that do."""
    decided = {column.name for column in plan.data.columns if column.real}
    places = [part for part in plan.attributes if part.name in places_of(plan) and len(part.view) == 1 and not part.cut]
    names = [*plan.data.single_uses, *(part.view[0] for part in places)]
    names = [name for name in names if name in table.columns]
    table.keep_in_memory(names)
    unit = [name for name in plan.data.unit_columns if name in table.columns]
    if unit and len(unit) == len(plan.data.unit_columns) and table.streamed is None:  # else a unit is refused
        yield from _of_groups(_rows(table, unit), "unit", plan, decided)
    if plan.data.id in names:
        yield from _of_groups(_rows(table, [str(plan.data.id)]), "id", plan, decided)
    if plan.data.weight in names and plan.data.weight not in decided:
        yield from _of_weight(_rows(table, [str(plan.data.weight)]), plan)
    for part in places:
        if part.view[0] in names and part.view[0] not in decided:
            column = table.distinct.columns[part.view[0]]
            answers = {raw for level, values in part.merge for raw in values if not reads_as_missing(level)}
            known = {*part.missing_codes(plan.data.missing), *part.skip, *(answers - {*column.about.label_of})}
            mask = code_like(column)[1] & ~column.about.missing_mask(column.values)
            yield from _found(column, table.multiplicity, "place", mask, known)


def refuse_doubtful(plan: Plan, table: RawTable) -> None:
    """Refuse (:class:`EngineError`) a plan that takes for a real household, record, weight or place what may mean that
    there is none, where nobody said so; ``table`` as the plan labels it."""
    for doubtful in doubtful_numbers(plan, labelled(table, plan.data.columns)):
        raise EngineError(f"{doubtful.sentence}; {doubtful.remedy}")


@dataclass(frozen=True)
class _Rows:
    """Columns with the number of records of each row and the first of these; None where each row is one record."""

    columns: tuple[RawColumn, ...]
    counts: np.ndarray | None = None
    first: np.ndarray | None = None


def _rows(table: RawTable, names: Sequence[str]) -> _Rows:
    """Columns of records, or of streamed ones the distinct values of the one column."""
    if table.streamed is None:
        return _Rows(tuple(table.columns[name] for name in names))
    (name,) = names
    counted = table.streamed.values_of(name, _tells)
    column = RawColumn(name, counted.values, np.arange(len(counted.values)), table.about(name))
    return _Rows((column,), counted.counts, counted.first)


def _tells(values: pa.Array) -> np.ndarray:
    """Mask of values that read like codes, and of the largest number among the others."""
    column = RawColumn("", values, np.arange(len(values)))
    like, figures = code_like(column)[0], column.numbers
    others = figures[~like & np.isfinite(figures)]
    mask: np.ndarray = like | (figures == others.max(initial=-np.inf))
    return mask


def _found(
    column: RawColumn, counts: np.ndarray | None, use: str, mask: np.ndarray, known: Container[str] = ()
) -> Iterator[DoubtfulNumber]:
    values = [text for i in np.flatnonzero(mask).tolist() if (text := texts(column.values.slice(i, 1))[0]) not in known]
    for value, n in records_of(column, values, counts).items():
        if n and not (use == "place" and len(value) < 3 and value.isalpha()):  # DK is Denmark among countries
            yield DoubtfulNumber(column.name, use, value, n, column.about.label_of.get(value, ""))


def _of_groups(rows: _Rows, use: str, plan: Plan, decided: set[str]) -> Iterator[DoubtfulNumber]:
    """Values of columns that number groups of records together, such as households."""
    columns = rows.columns
    absent = [np.append(c.about.absent_mask(c.values, plan.data.missing), True) for c in columns]
    units = Units.of_columns([column.codes for column in columns])
    if len(units) < 2:
        return
    value_of = [column.codes[units.first] for column in columns]
    n_of = units.size if rows.counts is None else rows.counts[units.first]
    size = np.where(np.any([mask[codes] for mask, codes in zip(absent, value_of, strict=True)], axis=0), 0, n_of)
    masks = [code_like(column) for column in columns]
    usual = ~np.any([like[codes] for (like, _), codes in zip(masks, value_of, strict=True)], axis=0)
    largest = int(size[usual].max(initial=0))
    asked = np.zeros(len(units), bool)
    for column, (like, apart), codes in zip(columns, masks, value_of, strict=True):
        most = np.zeros(len(column.values) + 1, np.int64)
        np.maximum.at(most, codes, size)
        doubtful = apart & (most[:-1] > 1)
        doubtful |= like & (most[:-1] >= largest + _MARGIN) & (2 * most[:-1] >= 3 * largest)
        asked |= np.append(doubtful, False)[codes]
        if column.name not in decided:
            yield from _found(column, rows.counts, use, doubtful)
    rest = np.sort(np.where(asked, 0, size))[::-1][: _FEW + 1]
    leaps = [i for i in range(len(rest) - 1) if rest[i] >= max(_CROWD, _FAR_LARGER * rest[i + 1])]
    if leaps and decided.isdisjoint(column.name for column in columns):
        for unit in np.flatnonzero(~asked & (size >= rest[leaps[0]])).tolist():
            column, codes = columns[-1], value_of[-1]
            value = texts(column.values.slice(int(codes[unit]), 1))[0]
            first = int(units.first[unit] if rows.first is None else rows.first[units.first[unit]]) + 1
            yield DoubtfulNumber(column.name, use, value, int(size[unit]), first=first)


def _of_weight(rows: _Rows, plan: Plan) -> Iterator[DoubtfulNumber]:
    """Weights such as 99999 that lie far above all others; what is negative or no number is refused besides."""
    (column,) = rows.columns
    figures = column.numbers
    absent = column.about.absent_mask(column.values, plan.data.missing)
    like, apart = code_like(column)
    usual = figures[~absent & ~like & np.isfinite(figures)]
    if len(usual):
        yield from _found(column, rows.counts, "weight", apart & ~absent & (figures / 2 > usual.max()))
