"""Measures that declared uses bring: distances on tables, overlap of intervals, right guesses of sensitive answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.common.errors import Remedy, UsageError
from engine.measures import BY_FILE, MeasureCall, call
from engine.plan import Plan, TablePlan
from engine.plan.attribute_names import SIGNS, is_writable, writable_names

_OF_ANALYSES = frozenset(BY_FILE["reanalysis"])
_SENSITIVE = "correct_attribution"


@dataclass(frozen=True)
class UnmeasuredUse:
    """A declared use that no measure of the plan looks at.

    ``use`` names it, ``measure`` is the one that is missing, as a plan names it; "" where the name of ``attribute``
    cannot be written in one.
    """

    use: str
    measure: str = ""
    attribute: str = ""
    proposed: str = ""

    @property
    def sentence(self) -> str:
        """A sentence that names the missing measure and the way out."""
        if self.measure:
            return f"{self.use} is declared and not measured; add '{self.measure}' to measures in the plan"
        return (
            f"{self.use} is declared and not measured, since no measure can name '{self.attribute}', which holds one of"
            f" {SIGNS}; rename that attribute to '{self.proposed}'; its column keeps its name"
        )


def unmeasured_uses(plan: Plan) -> list[UnmeasuredUse]:
    """The declared tables and regressions of a plan that none of its measures looks at."""
    calls = [call(name) for name in plan.measures]
    found = []
    for table in plan.tables:
        if any(_looks_at(one, table.attributes, plan) for one in calls):
            continue
        use = f"the table '{table.name}'"
        if measure := table_measure(table):
            found.append(UnmeasuredUse(use, measure))
        else:
            attribute = next(name for name in table.attributes if not is_writable(name))
            found.append(UnmeasuredUse(use, "", attribute, writable_names(plan)[attribute]))
    if plan.analyses and not any(one.measure.name in _OF_ANALYSES for one in calls):
        names = " and ".join(f"'{analysis.name}'" for analysis in plan.analyses[:2])
        more = f" and {len(plan.analyses) - 2} more" if len(plan.analyses) > 2 else ""
        found.append(UnmeasuredUse(f"the regression {names}{more}", "ci_overlap"))
    return found


def _looks_at(one: MeasureCall, attributes: Sequence[str], plan: Plan) -> bool:
    """Return whether a measure of use compares the table of exactly these attributes."""
    own = plan.names if one.measure.over == "all" else plan.analyse
    counted = one.attributes if one.attributes is not None else own
    return one.measure.kind == "utility" and one.measure.needs == "counts" and set(counted) == set(attributes)


def measures_of_uses(plan: Plan) -> tuple[str, ...]:
    """The measures of the declared tables and regressions, as a plan names them."""
    tables = (table_measure(table) for table in plan.tables)
    overlap = ("ci_overlap",) if plan.analyses else ()
    return tuple(dict.fromkeys((*(name for name in tables if name), *overlap)))


def table_measure(table: TablePlan) -> str:
    """The distance on a declared table, as a plan names it; "" where an attribute's name cannot be written in it."""
    if not all(map(is_writable, table.attributes)):
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
        if not is_writable(name):
            raise UsageError(
                f"no measure can name '{name}', which holds one of {SIGNS}; rename that attribute to "
                f"'{writable_names(plan)[name]}'; its column keeps its name",
                Remedy.RENAME,
            )
    present = {str(call(name)) for name in plan.measures}
    wanted = {str(call(f"{_SENSITIVE}[target={name}]")) for name in names}
    others = tuple(
        name for name in plan.measures if call(name).measure.name != _SENSITIVE or call(name).values["target"] in names
    )
    return replace(plan, measures=(*others, *sorted(wanted - present)))
