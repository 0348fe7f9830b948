"""Values of a plan's entries in words."""

from __future__ import annotations

from engine.data.edit_rules import EditRule
from engine.plan.analysis import AnalysisPlan
from engine.plan.column_labels import ColumnPlan
from engine.plan.context import TablePlan
from engine.plan.mechanism import MechanismPlan


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
        return f"{value.name} (never {never}{refused})"
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
