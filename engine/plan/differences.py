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
_LABELS = "publish.labels"  # labels change no figure, missing codes and the notation of numbers may
_OPEN = (
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


def plan_differences(
    old: Plan, new: Plan, *, ours: str = "the study has", theirs: str = "asked"
) -> dict[str, PlanDifference]:
    """Differences of two plans, by entry; a lock is not looked at."""
    differences: dict[str, PlanDifference] = {}
    pairs: list[tuple[str, Any, Any, tuple[str, ...]]] = [("", old, new, _LISTS)]
    for section in _PARTS:
        a, b = getattr(old, section), getattr(new, section)
        pairs.append((section + ".", a, b, tuple(f.name for f in fields(a) if f.name != "attributes" and f.compare)))
    for prefix, a, b, names in pairs:
        for name in names:
            x, y = getattr(a, name), getattr(b, name)
            if x != y:
                entry = prefix + name
                if entry == "data.columns" and _reading(x) == _reading(y):
                    entry = _LABELS
                differences[entry] = PlanDifference(entry, f"{ours} {entry_words(x)}, {theirs} {entry_words(y)}")
    before, after = {a.name: a for a in old.attributes}, {a.name: a for a in new.attributes}
    for name in [*before, *(n for n in after if n not in before)]:
        if before.get(name) != after.get(name):
            if name in before and name in after:
                change = "is coded differently"
            else:
                change = "is new" if name in after else "is missing"
            entry = "attribute." + name
            differences[entry] = PlanDifference(entry, f"attribute '{name}' {change}", of_attribute=True)
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
        if not name.startswith(_OPEN) or (fewer and name == "space.replicates")
    }
