"""Compare two plans entry by entry: differences in words, departures from an approved (locked) plan, merged changes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from engine.common.errors import EngineError, UsageError
from engine.common.wording import plural
from engine.data.domain import EditRule
from engine.plan.entries import AboutPlan, AnalysisPlan, ColumnPlan, LockPlan, MechanismPlan, PublishPlan, TablePlan
from engine.plan.schema import declared
from engine.plan.toml import plan_from_toml, plan_to_toml
from engine.plan.types import Plan


def entry_words(value: object) -> str:
    """The value of an entry as people write it; an empty one is ``nothing``."""
    if isinstance(value, tuple):
        apart = ", " if all(isinstance(item, str | int) for item in value) else "; "
        return apart.join(map(_item_words, value)) or "nothing"
    return "nothing" if value is None or value == "" else _item_words(value)


def _item_words(value: object) -> str:
    if isinstance(value, AnalysisPlan):
        by = f", by {' and '.join(value.by)}" if value.by else ""
        return f"{value.name} ({value.family_words}{', weighted' if value.weighted else ''}): {value.formula}{by}"
    if isinstance(value, MechanismPlan):
        grid = "; ".join(f"{name} {', '.join(values)}" for name, values in value.grid)
        return value.name + (f" ({grid})" if grid else "")
    if isinstance(value, EditRule):
        never = " with ".join(f"{name} {' or '.join(levels)}" for name, levels in value.forbid)
        if value.existing:
            never = f"a new combination of {' × '.join(value.existing)}"
        refused = "; no swap may make it" if value.refuse else ""
        limit = "" if value.at_most is None else f"; in at most {plural(value.at_most, 'record')}"
        return f"{value.name} (never {never}{refused}{limit})"
    if isinstance(value, ColumnPlan):
        said = [value.label, *(f"{raw} {label}" for raw, label in value.values)]
        missing = f"missing {', '.join(value.missing)}" if value.missing else ""
        signs = [f"{sign} {text!r}" for sign in ("decimal", "thousands") if (text := getattr(value, sign))]
        real = "no other value means missing" if value.real else ""
        return f"{value.name} ({', '.join(filter(None, [*said, missing, real, value.measure, *signs]))})"
    if isinstance(value, TablePlan):
        return f"{value.name} ({' × '.join(value.attributes)})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


_LISTS = [name for name, of in declared(Plan).items() if of.is_list]
_PARTS = [name for name, of in declared(Plan).items() if not of.is_list and name != "lock"]
CONTEXT = ("decision.", "about.", "threat.", "tolerances.", "publish.", "tables")
"""Beginnings of the entries that change no figure of a study."""
LABELS = "publish.labels"  # labels change no figure, missing codes and the notation of numbers may
ATTRIBUTE = "attribute."
"""Beginning of the entries that are attributes."""
OPEN = (
    "about.",
    *(f"publish.{name}" for name in ("title", "rate_policy", "rate_range", "wording")),
    "space.replicates",
)
"""Beginnings of the entries that an approval leaves open."""


@dataclass(frozen=True)
class PlanDifference:
    """One entry in which two plans differ: its name (``space.rates``, ``attribute.age``), and how, in words.

    The ``words`` of an attribute name it; those of other entries do not.
    """

    entry: str
    words: str
    of_attribute: bool = False

    @property
    def sentence(self) -> str:
        """The words with the entry's name.  Studies log a change in this form."""
        return self.words if self.of_attribute else f"{self.entry}: {self.words}"


def entry_values(plan: Plan) -> dict[str, Any]:
    """The values of a plan's entries by their names, each attribute an entry of its own; the lock is none."""
    values = {name: getattr(plan, name) for name in _LISTS}
    for section in _PARTS:
        part = getattr(plan, section)
        values |= {f"{section}.{f.name}": getattr(part, f.name) for f in fields(part) if f.compare}
    del values["data.attributes"]
    return values | {ATTRIBUTE + attribute.name: attribute for attribute in plan.attributes}


def plan_differences(
    old: Plan, new: Plan, *, ours: str = "the study has", theirs: str = "asked"
) -> dict[str, PlanDifference]:
    """Differences of two plans, by entry; a lock is not looked at."""
    differences: dict[str, PlanDifference] = {}
    before, after = entry_values(old), entry_values(new)
    for entry in dict.fromkeys((*before, *after)):
        x, y = before.get(entry), after.get(entry)
        if x == y:
            continue
        if entry.startswith(ATTRIBUTE):
            change = "is new" if x is None else "is missing" if y is None else "is coded differently"
            words = f"attribute '{entry.removeprefix(ATTRIBUTE)}' {change}"
            differences[entry] = PlanDifference(entry, words, of_attribute=True)
            continue
        if entry == "data.columns" and _reading(old.data.columns) == _reading(new.data.columns):
            entry = LABELS
        differences[entry] = PlanDifference(entry, f"{ours} {entry_words(x)}, {theirs} {entry_words(y)}")
    return differences


def _reading(columns: tuple[ColumnPlan, ...]) -> dict[str, object]:
    """What the plan says of columns that may change figures."""
    said = {column.name: (column.missing, column.notation) for column in columns}
    return {name: entries for name, entries in said.items() if any(entries)}


def deviations(approved: Plan, plan: Plan) -> dict[str, PlanDifference]:
    """Departures of a plan from the one that was approved, by entry; of replicates only fewer is a departure."""
    differences = plan_differences(approved, plan, ours="approved was", theirs="now it is")
    fewer = plan.space.replicates < approved.space.replicates
    return {
        name: difference
        for name, difference in differences.items()
        if not name.startswith(OPEN) or (fewer and name == "space.replicates")
    }


def approved_text(plan: Plan) -> str:
    """The part of a plan that an approval fixes, as TOML: all but the lock itself, who asks (about) and what is said in
    public; what is released besides, and whether a circulating copy leaves out the rate, is in it.  Replicates are in
    it as the fewest that must be run."""
    publish = PublishPlan(include=plan.publish.include, members_rate=plan.publish.members_rate)
    return plan_to_toml(replace(plan, lock=None, about=AboutPlan(), publish=publish)).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def lock(plan: Plan, number: str, by: str) -> Plan:
    """The plan with its approval written in; one that is locked already is refused."""
    if plan.lock is not None:
        raise UsageError(
            f"the plan is locked already (number {plan.lock.number}, by {plan.lock.by}); a new approval needs a copy "
            "without its [lock] section"
        )
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = approved_text(plan)
    return replace(plan, lock=LockPlan(number, by, at, _digest(text), text))


def approved_plan(plan: Plan) -> Plan | None:
    """The plan that was approved, or None without a lock; a lock that was written by hand is refused."""
    if plan.lock is None:
        return None
    if plan.lock.digest != _digest(plan.lock.approved):
        raise EngineError(
            f"the lock of the plan (number {plan.lock.number}) is damaged: its digest is not that of the approved plan;"
            " restore the file, or have the plan approved again"
        )
    return plan_from_toml(plan.lock.approved)


def departures(plan: Plan) -> dict[str, PlanDifference]:
    """Departures of a locked plan from what was approved, by entry; none without a lock."""
    approved = approved_plan(plan)
    return {} if approved is None else deviations(approved, plan)


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
