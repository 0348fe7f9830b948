"""Differences of two plans in the words of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from engine.plan import AttributePlan, Plan
from engine.plan.coding import assign_columns
from engine.plan.differences import ATTRIBUTE, LABELS, PlanDifference, entry_words, plan_differences
from engine.release.spec import percent
from frontier_app.wording import mechanisms, recognised, text

ENTRIES = {
    "decision.risk": "Measure that judges risk",
    "decision.utility": "Measure that judges use",
    "decision.max_risk": "Largest acceptable risk (α)",
    "decision.probability": "Share of single runs that must meet the bound",
    "decision.slope": "Slope",
    "decision.realisation": "Run that is released",
    "threat.intruder": "Who the intruder could be",
    "threat.public_files": "Files that overlap",
    "threat.harm": "Harm of a disclosure",
    "threat.published_tables": recognised.PUBLISHED,
    "tolerances.change": "Tolerated change of a share or mean",
    "tolerances.min_n": "Records that it rests on",
    "tolerances.se": "Tolerated shift of a coefficient",
    "tolerances.se_ratio": "Tolerated growth of a standard error",
    "publish.include": "Released with the file",
    "publish.members_rate": "Whether a circulating copy leaves out the rate",
    "publish.title": "Title in public",
    "publish.rate_policy": "How much of the rates is told in public",
    "publish.rate_range": "Range of rates told in public",
    "publish.wording": "Words on the method in public",
    "data.missing": "Codes that mean missing",
    "data.weight": "Weight",
    "data.id": "Id",
    "data.unit": "Column that numbers households",
    "data.carry": "Columns that stay with their record",
    "data.drop": "Columns that never leave",
    "data.seen": "Columns that patterns covered so far",
    "data.numeric": "Columns used as numbers",
    "data.columns": "Labels and missing codes of columns",
    "keys": "Keys",
    "tables": "Tables that users make",
    "analyses": "Regressions that users run",
    "edits": "Combinations that must not occur",
    "measures": "Measures",
    "mechanisms": "Mechanisms",
    "swap": "Attributes that may be swapped",
    "analyse": "Attributes that users tabulate",
    "space.rates": "Swap rates",
    "space.replicates": "Replicates",
    "space.swap_sizes": "Numbers of attributes swapped together",
    "space.all_specs": "Complete space",
    "space.search": "Search of the complete space",
    "space.budget": "Scenarios that the search looks at",
    "space.specs": "Swaps written out",
    "space.fix": "Attributes that partners agree on (F)",
    "space.change": "Attributes that partners differ on (C)",
    "space.rule": "What a true swap is",
    "space.adaptive": "Replicates spent where dominance is uncertain",
    "space.screen": "Runs before a scenario is given up",
}
"""What entries of a plan are called on the page; others are said as the engine says them."""
_ROLES = {"keys": "known to an intruder", "swap": "exchanged", "analyse": "tabulated by users"}
_SHORT = 60  # letters up to which a value is said in the words for an action
_TOLD = 6  # changes of another tab that are told one by one
_IN_ROWS = ("edits", "analyses", "tables", "data.columns")
"""Entries of which a name alone would not tell two values apart."""
_NAMED = 2  # changes that are named one by one


def differences(old: Plan, new: Plan) -> dict[str, str]:
    """The differences between a study's plan and another, by entry: one sentence each in the words of the pages."""
    return {name: _words(change, old, new) for name, change in plan_differences(old, new).items()}


def taken_words(old: Plan, new: Plan, entries: Sequence[str]) -> list[str]:
    """The changes that another tab made in these entries, in few words."""
    changes = _entries_changed(old, new, entries)
    more = len(changes) - _TOLD
    lock = [f"the plan has {_approval(new)}"] if "lock" in entries else []
    return [*lock, *changes[:_TOLD], *([f"and {text.plural(more, 'more change')}"] if more > 0 else [])]


def disputed_words(entry: str, plan: Plan) -> tuple[str, str]:
    """An entry that two tabs changed otherwise: what it is called, and its value in a plan."""
    if entry.startswith(ATTRIBUTE):
        name = entry.removeprefix(ATTRIBUTE)
        coding = next((attribute for attribute in plan.attributes if attribute.name == name), None)
        return f"Attribute {name}", "no attribute" if coding is None else _coding(coding)
    if entry in _IN_ROWS:
        section, _, name = entry.rpartition(".")
        return _label(entry), entry_words(getattr(getattr(plan, section) if section else plan, name))
    return _label(entry), _value(plan, entry)


def _coding(attribute: AttributePlan) -> str:
    """The coding of an attribute: what it says besides its name, entry by entry."""
    said = {f.name: getattr(attribute, f.name) for f in fields(attribute) if getattr(attribute, f.name) != f.default}
    said["merge"] = tuple(f"{level} of {' or '.join(raw)}" for level, raw in attribute.merge)
    return "; ".join(
        f"{name.replace('_', ' ')} {entry_words(value)}" for name, value in said.items() if value and name != "name"
    )


def _approval(plan: Plan) -> str:
    lock = plan.lock
    return "no approval any more" if lock is None else f"been approved as {lock.number} by {lock.by} and is locked"


def _words(change: PlanDifference, old: Plan, plan: Plan) -> str:
    """A difference in words; what is declared in rows is said by its names."""
    name = change.entry
    if name not in ENTRIES and not name.startswith("about."):
        return change.sentence
    has, now = (_value(p, name) for p in (old, plan))
    label = _label(name)
    return f"{label}: {has} in the study, {now} here" if has != now else f"{label}: changed inside"


def _label(name: str) -> str:
    return ENTRIES.get(name, name.replace("about.", "Who asks: ").replace("_", " "))


def _value(plan: Plan, name: str) -> str:
    if name == "mechanisms":
        return "; ".join(mechanisms.entry_words(entry) for entry in mechanisms.chosen(plan))
    part, _, field = name.rpartition(".")
    value = getattr(getattr(plan, part) if part else plan, field)
    if name == "space.rates":
        return text.listed([percent(rate) for rate in value])
    if name == "analyses":
        value = tuple(f"{entry.name} ({entry.formula}, {entry.family_words})" for entry in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        value = ", ".join(getattr(entry, "name", str(entry)) for entry in value)
    return "nothing" if value is None or value == "" else str(value)


def action_words(old: Plan, new: Plan, columns: Sequence[str]) -> str:
    """The changes by one action, in few words: first the use of ``columns`` of the file, then roles, levels and the
    other entries, each only where it does not follow from what is said before."""
    changes = _used_otherwise(old, new, columns) or _roles_changed(old, new) or _entries_changed(old, new)
    more = len(changes) - _NAMED
    return "; ".join(changes[:_NAMED]) + (f"; and {text.plural(more, 'more change')}" if more > 0 else "")


def _used_otherwise(old: Plan, new: Plan, columns: Sequence[str]) -> list[str]:
    if old.data == new.data:
        return []
    before, after = _uses(old, columns), _uses(new, columns)
    changed: dict[str, list[str]] = {}
    for column in columns:
        if before[column] != after[column]:
            changed.setdefault(after[column], []).append(column)
    return [f"{_columns(names)} {'is' if len(names) == 1 else 'are'} {use}" for use, names in changed.items()]


def _uses(plan: Plan, columns: Sequence[str]) -> dict[str, str]:
    """The use of each column in words."""
    assigned = assign_columns(plan.data, columns)
    uses = dict.fromkeys(columns, "without a use")
    uses |= dict.fromkeys(assigned.carried, "carried") | dict.fromkeys(assigned.dropped, "dropped")
    blocks = {column: part.name for part in plan.attributes for column in part.columns}
    uses |= {c: "an attribute" if c == name else f"in the block {name}" for c, name in blocks.items()}
    special = {"weight": "the weight", "id": "the id", "unit": "the number of the household"}
    return uses | {column: special[use] for column, use in plan.data.single_uses.items()}


def _columns(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else text.plural(len(names), "column")


def _roles_changed(old: Plan, new: Plan) -> list[str]:
    changes = []
    for role, meaning in _ROLES.items():
        before, after = getattr(old, role), getattr(new, role)
        gained, lost = ([n for n in a if n not in b] for a, b in ((after, before), (before, after)))
        changes += [f"{_attributes(gained)} {meaning}"] if gained else []
        changes += [f"{_attributes(lost)} not {meaning}"] if lost else []
    return changes


def _attributes(names: Sequence[str]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{text.plural(len(names), 'attribute')} are"


def _entries_changed(old: Plan, new: Plan, entries: Sequence[str] = ()) -> list[str]:
    """The changes of entries, of all where none are named."""
    changes = []
    for name, change in plan_differences(old, new).items():
        if entries and name not in entries and not (name == LABELS and "data.columns" in entries):
            continue
        if change.of_attribute:
            attribute = name.removeprefix(ATTRIBUTE)
            both = attribute in old.names and attribute in new.names
            changes.append(f"levels of {attribute} changed" if both else change.words)
            continue
        value = _value(new, name)
        changes.append(f"{_label(name)}: {value}" if len(value) <= _SHORT else f"{_label(name)} changed")
    return changes
