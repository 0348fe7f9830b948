"""Measures that declared uses bring: distances on tables, overlap of intervals, right guesses of sensitive answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.common.errors import UsageError
from engine.measures import call
from engine.plan import Plan, TablePlan

_SENSITIVE = "correct_attribution"
_SIGNS = frozenset("[];,+=")  # of the form in which a measure is written


def measures_of_uses(plan: Plan) -> tuple[str, ...]:
    """The measures of the declared tables and regressions, as a plan names them."""
    tables = (table_measure(table) for table in plan.tables)
    overlap = ("ci_overlap",) if plan.analyses else ()
    return tuple(dict.fromkeys((*(name for name in tables if name), *overlap)))


def table_measure(table: TablePlan) -> str:
    """The distance on a declared table, as a plan names it; "" where an attribute's name cannot be written in it."""
    if any(_SIGNS & set(name) for name in table.attributes):
        return ""
    return str(call(f"total_variation[attributes={'+'.join(table.attributes)}]"))


def with_uses_measured(before: Plan, plan: Plan) -> Plan:
    """``plan`` with the measures of the uses that it declares and ``before`` did not, and without those of uses that it
    no longer declares, unless the rule of choice names one."""
    old, new = measures_of_uses(before), measures_of_uses(plan)
    named = {str(call(name)) for name in (plan.decision.risk, plan.decision.utility) if name is not None}
    gone = {name for name in old if name not in new and name not in named}
    present = {str(call(name)) for name in plan.measures}
    kept = tuple(name for name in plan.measures if str(call(name)) not in gone)
    added = tuple(name for name in new if name not in old and name not in present)
    return replace(plan, measures=(*kept, *added)) if kept else plan


def sensitive(plan: Plan) -> tuple[str, ...]:
    """Attributes whose right guesses by an intruder a plan measures."""
    calls = map(call, plan.measures)
    return tuple(str(one.values["target"]) for one in calls if one.measure.name == _SENSITIVE)


def with_sensitive(plan: Plan, names: Sequence[str]) -> Plan:
    """``plan`` that measures the right guesses of exactly these attributes."""
    for name in names:
        if _SIGNS & set(name):
            raise UsageError(f"'{name}' cannot be written in a measure, since it holds one of [ ] ; , + =; rename it")
    present = {str(call(name)) for name in plan.measures}
    wanted = {str(call(f"{_SENSITIVE}[target={name}]")) for name in names}
    others = tuple(
        name for name in plan.measures if call(name).measure.name != _SENSITIVE or call(name).values["target"] in names
    )
    return replace(plan, measures=(*others, *sorted(wanted - present)))
