"""Differences between plans and what is recognised in a release, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from engine.common.wording import upper_first
from engine.frontier.choosing import ShareWithin
from engine.plan import AttributePlan, Plan
from engine.plan.coding import assign_columns
from engine.plan.differences import ATTRIBUTE, LABELS, PlanDifference, entry_words, plan_differences
from engine.plan.entries import PublishedTables
from engine.plan.types import declaration
from engine.release.spec import percent
from engine.report.detected import TOP, Detected, units_words
from engine.report.recognised_facts import KeySet
from engine.report.sentences import Exposed
from engine.report.words import figure, small_cells_words
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import Markdown, markdown

UNSWAPPED = "Unswapped keys"
PUBLISHED = "Two-way tables of the original are published"
CARRIED = "Who carries the change"
POLICIES: dict[PublishedTables, str] = {"yes": "yes", "no": "no", "not known": "not known (taken as yes)"}
UNDONE = (
    "Published tables of the original undo part of the protection. Two-way tables of it, beside the released file, tell"
    " which attributes were swapped and in about how many records, and which records are probably altered."
)
"""What published tables do, in general."""


def within_words(share: ShareWithin, bound: str, asked: str) -> Markdown:
    """Words on how many single runs of a candidate meet a bound (its figure, with its unit), and how many must
    (``asked``, a sentence)."""
    verb = "meets" if share.within == 1 else "meet"
    return markdown("**{:,} of {:,} runs** {} the limit {}: {}.", share.within, share.runs, verb, bound, asked)


def exposed_words(exposure: Exposed) -> Markdown:
    """The risk of a candidate in records."""
    between = (
        "" if exposure.low == exposure.high else f", from {exposure.low:,.10g} to {exposure.high:,.10g} in its runs"
    )
    each = f" Each run counts as the mean of its {exposure.tables} tables." if exposure.tables > 1 else ""
    mean = figure(exposure.mean)
    subject = markdown("**{} unaltered record** stands" if mean == "1" else "**{} unaltered records** stand", mean)
    return subject + markdown(
        " on average in {}{}; **{:,}** if nothing is done.{}", exposure.cells, between, exposure.original, each
    )


def unswapped_words(nothing: KeySet, unswapped: KeySet | None, fewest: int) -> Markdown:
    """The keys that a candidate leaves as they are, and what stands out on them."""
    cells = small_cells_words(fewest)
    if unswapped is None:
        return markdown("**{}:** none. The candidate alters all keys.", UNSWAPPED)
    if not nothing.exchanged:
        return markdown(
            "**{}:** all. **{}** in {}, {:,} alone, as if nothing were done.",
            UNSWAPPED,
            _records(unswapped),
            cells,
            unswapped.alone,
        )
    original = markdown(
        " On all keys of the original {} in such combinations, {:,} of them alone.",
        _standing(nothing.small),
        nothing.alone,
    )
    keys = markdown("**{}** ({}) keep their true values.", UNSWAPPED, text.listed(unswapped.keys))
    if not unswapped.small:
        return keys + markdown(" On them no record stands in {}.", cells) + original
    return (
        keys
        + markdown(
            " On them **{}** in {}, {:,} of them alone, and an intruder is expected to match {:,} rightly.",
            _standing(unswapped.small),
            cells,
            unswapped.alone,
            unswapped.matches,
        )
        + original
    )


def _standing(records: int) -> str:
    return f"{text.plural(records, 'record')} {'stands' if records == 1 else 'stand'}"


def unswapped_short(unswapped: KeySet | None) -> str:
    """The same for a cell of a table."""
    if unswapped is None:
        return "none"
    if not unswapped.small:
        return f"{text.listed(unswapped.keys)}: no record in small cells"
    return (
        f"{text.listed(unswapped.keys)}: {_records(unswapped)} in small cells, {unswapped.alone:,} alone,"
        f" {unswapped.matches:,} expected matches"
    )


def _records(keys: KeySet) -> str:
    return text.plural(keys.small, "record")


def few_keys_words(few: KeySet, fewest: int) -> Markdown:
    """The worst set of so many keys."""
    altered = f" ({text.listed(few.exchanged)} altered)" if few.exchanged else ""
    return markdown(
        "**The worst {} keys:** {}{}: {} in {} of the original, {:,} alone.",
        len(few.keys),
        text.listed(few.keys),
        altered,
        _records(few),
        small_cells_words(fewest),
        few.alone,
    )


def detection_words(found: Detected) -> str:
    """Words on what somebody with published two-way tables of the original finds out about a release, with the truth
    beside."""
    units = [] if found.units is None or not found.units.altered else [units_words(found.units)]
    if found.why:
        return " ".join([f"What published tables of the original tell was not worked out: {found.why}.", *units])
    return " ".join([found_words(vars(found) | {"top": TOP}), *units])


def found_words(found: Mapping[str, Any]) -> str:
    """The same from the report of an attack on an exported release."""
    if found["attributes"]:
        right = "" if set(found["attributes"]) == set(found["altered"]) else f" (in truth {_names(found['altered'])})"
        attributes = f"that {_names(found['attributes'])} {_was(found['attributes'])} swapped{right}"
    else:
        attributes = "no attribute that was swapped"
    sentences = [
        f"Whoever has two-way tables of the original and the release finds {attributes}, and infers that"
        f" {_percent(found['inferred'])} of the records are altered (95 %, for chance alone: {_percent(found['low'])}"
        f" to {_percent(found['high'])}; in truth {_percent(found['rate'])})."
    ]
    if found["auc"] is not None and found["precision"] is not None and found.get("model", True):
        sentences.append(
            f"An altered record is more suspect than an unaltered one in {_percent(found['auc'])} of cases"
            f" (guessing: 50 %), and {_percent(found['precision'])} of the {_percent(found['top'])} of records that"
            " are most suspect are altered."
        )
    if not_known := found.get("not_known"):
        sentences.append(f"The attack does not know that {' and that '.join(not_known)}; whoever does may find more.")
    return " ".join([*sentences, *_rare_words(found)])


def _rare_words(found: Mapping[str, Any]) -> list[str]:
    """Words on how well rarity tells what a method altered that takes those at risk first."""
    if found.get("rare_auc") is None:
        return []
    share = found["alone_altered"]
    alone = (
        "" if share is None else f" Of {found['alone']:,} {found['of']} alone there, {_percent(share)} were altered."
    )
    return [
        f"Whoever knows that those at risk were altered first suspects the rare: altered {found['of']} are rarer in the"
        f" release than others in {_percent(found['rare_auc'])} of cases (guessing: 50 %).{alone}"
    ]


def _names(names: tuple[str, ...]) -> str:
    return text.listed(names)


def _was(names: tuple[str, ...]) -> str:
    return "was" if len(names) == 1 else "were"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


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
    if not label_of(name):
        return change.sentence
    has, now = (_value(p, name) for p in (old, plan))
    label = _label(name)
    return f"{label}: {has} in the study, {now} here" if has != now else f"{label}: changed inside"


def label_of(name: str) -> str:
    """An entry of a plan as pages call it; "" for what is said as the engine says it."""
    return upper_first(declaration(name).label)


def _label(name: str) -> str:
    return label_of(name) or name.replace("_", " ")


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
