"""Uses of the data that a plan declares (tables, regressions, what users tabulate), and attributes in none of them."""

from __future__ import annotations

from collections.abc import Iterable

from engine.common.wording import listed
from engine.plan.types import Plan


def in_no_use(plan: Plan, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the attributes ``names`` that users do not tabulate and that no declared table or regression uses."""
    used = {*plan.analyse, *(name for table in plan.tables for name in table.attributes)}
    columns = {name for analysis in plan.analyses for name in (*analysis.columns, *analysis.by)}
    parts = {part.name: {part.name, f"{part.name}_raw", *part.columns} for part in plan.attributes}
    return tuple(name for name in names if name not in used and columns.isdisjoint(parts[name]))


def no_use_sentence(names: Iterable[str]) -> str:
    """A sentence on altered attributes that no measure of a declared use looks at; "" for none."""
    altered = tuple(names)
    if not altered:
        return ""
    return (
        f"No declared table or regression uses {listed(altered)}, and users do not tabulate "
        f"{'it' if len(altered) == 1 else 'them'}: figures of declared uses stay the same however much of "
        f"{'it' if len(altered) == 1 else 'them'} is exchanged."
    )
