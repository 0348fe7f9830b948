"""Compare two plans entry by entry, and list the entries that an approval leaves open."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from engine.plan.column_labels import ColumnPlan
from engine.plan.entry_words import entry_words
from engine.plan.types import Plan

_LISTS = ("keys", "swap", "analyse", "edits", "measures", "analyses", "mechanisms", "tables")
_PARTS = ("data", "space", "decision", "about", "threat", "tolerances", "publish")
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
