"""Merge two changes of one plan: an entry that one side alone changed is taken, one that both changed is a conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.common.errors import UsageError
from engine.plan.differences import ATTRIBUTE, OPEN, entry_values
from engine.plan.types import Plan

_NEVER_EMPTY = ("keys", "swap", "analyse", "measures")  # an empty one means the default
_BY_NAME = (
    *(*_NEVER_EMPTY, "edits", "analyses", "tables"),
    *("data.carry", "data.drop", "data.numeric", "data.columns"),
)
"""Lists of names, and of what has a name: both sides may add to them and take from them."""


@dataclass(frozen=True)
class Merge:
    """A plan made of two, the entries ``taken`` from the other side, and the ``conflicts``, of which it has the other
    side's."""

    plan: Plan
    taken: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


def merged(base: Plan | None, mine: Plan, theirs: Plan) -> Merge:
    """Merge two plans that were made from ``base``; None: from nothing, so all in which they differ is a conflict.

    So it is where both changes together are no plan, or ``mine`` is a new approval: it was given to that plan alone.
    Where ``theirs`` is newly approved, all that ``mine`` changed and the approval does not leave open is a conflict.
    """
    if mine in (base, theirs):
        return Merge(theirs, _changed(base or mine, theirs) if mine != theirs else ())
    if theirs == base:
        return Merge(mine)
    taken = _changed(base or mine, theirs)
    apart = tuple(name for name in _changed(mine, theirs) if name != "lock")  # an approval is never taken from a plan
    if base is None or mine.lock not in (base.lock, theirs.lock):
        return Merge(theirs, taken, apart)
    sides = [entry_values(side) for side in (base, mine, theirs)]
    approved = theirs.lock is not None and theirs.lock != base.lock
    values: dict[str, Any] = {}
    conflicts = []
    for name in dict.fromkeys(name for side in sides for name in side):
        b, m, t = (side.get(name) for side in sides)
        if m in (b, t):
            continue
        fewer = name == "space.replicates" and mine.space.replicates < theirs.space.replicates
        if approved and (fewer or not name.startswith(OPEN)):
            conflicts.append(name)
        elif t == b:
            values[name] = m
        elif name in _BY_NAME and (both := _merged_names(b, m, t)) is not None and (both or name not in _NEVER_EMPTY):
            values[name] = both
        else:
            conflicts.append(name)
    try:
        plan = _replaced(theirs, values, _order(base, mine, theirs))
    except UsageError:
        return Merge(theirs, taken, apart)
    return Merge(plan, tuple(name for name in taken if name not in conflicts), tuple(conflicts))


def with_entries(plan: Plan, source: Plan, entries: Iterable[str]) -> Plan:
    """Return ``plan`` with these entries as ``source`` has them."""
    values = entry_values(source)
    return _replaced(plan, {name: values.get(name) for name in entries}, (*source.names, *plan.names))


def _changed(old: Plan, new: Plan) -> tuple[str, ...]:
    before, after = entry_values(old), entry_values(new)
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    return (*names, *(["lock"] if old.lock != new.lock else []))


def _merged_names(*sides: Any) -> tuple[Any, ...] | None:
    """Both changes of a list; None where they contradict each other."""
    b, m, t = ({getattr(item, "name", item): item for item in side} for side in sides)
    common = b.keys() & m.keys() & t.keys()
    if len({tuple(name for name in side if name in common) for side in (b, m, t)}) > 1:
        return None  # one side put them into another order
    chosen = []
    for name in dict.fromkeys((*t, *m, *b)):
        before, ours, other = b.get(name), m.get(name), t.get(name)
        if before != ours != other != before:
            return None
        chosen.append(ours if other == before else other)
    return tuple(item for item in chosen if item is not None)


def _order(base: Plan, mine: Plan, theirs: Plan) -> tuple[str, ...]:
    """The names of all attributes, in the order of the side that changed it."""
    common = {*base.names} & {*mine.names} & {*theirs.names}
    before, other = (tuple(name for name in side.names if name in common) for side in (base, theirs))
    return (*mine.names, *theirs.names) if other == before else (*theirs.names, *mine.names)


def _replaced(plan: Plan, values: Mapping[str, Any], order: Iterable[str]) -> Plan:
    """The plan with other values of entries, its attributes in an order of names."""
    parts: dict[str, dict[str, Any]] = {}
    attributes: dict[str, Any] = {attribute.name: attribute for attribute in plan.attributes}
    for entry, value in values.items():
        section, _, name = entry.partition(".")
        if entry.startswith(ATTRIBUTE):
            attributes[name] = value
        else:
            parts.setdefault(section if name else "", {})[name or section] = value
    listed = (attributes.get(name) for name in dict.fromkeys(order))
    parts.setdefault("data", {})["attributes"] = tuple(attribute for attribute in listed if attribute is not None)
    top = parts.pop("", {})
    return replace(plan, **top, **{name: replace(getattr(plan, name), **part) for name, part in parts.items()})
