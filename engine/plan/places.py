"""Households and the places where they live: as a plan names them, as the records suggest them, and what is usually
tried on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.common.errors import Remedy, UsageError
from engine.data.microdata import Microdata, RawTable
from engine.data.units import Units
from engine.plan.attribute_names import SIGNS, is_writable
from engine.plan.context import UnitColumns, unit_columns
from engine.plan.mechanism import MechanismPlan
from engine.plan.types import Plan
from engine.release.spec import RANDOM_SWAP

HOUSEHOLD_SWAP = "trs"
"""The mechanism that exchanges whole households between places."""
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


def usual_profiles(data: Microdata, places: Sequence[str]) -> tuple[str, ...]:
    """The attributes on which households that exchange places usually agree, each entry a list of profiles from strict
    to lax as the mechanism reads it: a household's size and kind, then its size; the same within the coarsest place
    first."""
    return _profiles(household_attributes(data, places), places)


def _profiles(able: Sequence[str], places: Sequence[str]) -> tuple[str, ...]:
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
