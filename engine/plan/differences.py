"""What differs between two plans, entry by entry, and what of it an approval leaves open."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from engine.plan.entry_words import entry_words
from engine.plan.types import Plan

_LISTS = ("keys", "swap", "analyse", "edits", "measures", "analyses", "mechanisms", "tables")
_PARTS = ("data", "space", "decision", "about", "threat", "tolerances", "publish")
CONTEXT = ("decision.", "about.", "threat.", "tolerances.", "publish.", "tables")
"""Beginnings of the entries that change no figure of a study."""
_OPEN = (
    "about.",
    *(f"publish.{name}" for name in ("title", "rate_policy", "rate_range", "wording")),
    "space.replicates",
)
"""Beginnings of the entries that an approval leaves open."""


def plan_differences(old: Plan, new: Plan, *, ours: str = "the study has", theirs: str = "asked") -> dict[str, str]:
    """What differs between two plans, one sentence per entry; a lock is not looked at."""
    found: dict[str, str] = {}
    pairs: list[tuple[str, Any, Any, tuple[str, ...]]] = [("", old, new, _LISTS)]
    for part in _PARTS:
        a, b = getattr(old, part), getattr(new, part)
        pairs.append((part + ".", a, b, tuple(f.name for f in fields(a) if f.name != "attributes")))
    for prefix, a, b, names in pairs:
        for name in names:
            x, y = getattr(a, name), getattr(b, name)
            if x != y:
                found[prefix + name] = f"{prefix}{name}: {ours} {entry_words(x)}, {theirs} {entry_words(y)}"
    before, after = {a.name: a for a in old.attributes}, {a.name: a for a in new.attributes}
    for name in [*before, *(n for n in after if n not in before)]:
        if before.get(name) != after.get(name):
            if name in before and name in after:
                how = "is coded differently"
            else:
                how = "is new" if name in after else "is missing"
            found["attribute." + name] = f"attribute '{name}' {how}"
    return found


def deviations(approved: Plan, plan: Plan) -> dict[str, str]:
    """How a plan departs from the one that was approved, one sentence per entry; of replicates only fewer is a
    departure."""
    found = plan_differences(approved, plan, ours="approved was", theirs="now it is")
    fewer = plan.space.replicates < approved.space.replicates
    return {
        name: text
        for name, text in found.items()
        if not name.startswith(_OPEN) or (fewer and name == "space.replicates")
    }
