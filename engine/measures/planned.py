"""The measures that a plan asks for: those it names, and those that it cannot do without.

Measures that declared uses bring: distances on tables, overlap of intervals, right guesses of sensitive answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple

from engine.common.errors import Remedy, UsageError
from engine.data.domain import EditRule
from engine.measures import BY_FILE, MEASURES, MeasureCall, call
from engine.measures.base import Kind
from engine.mechanisms import MECHANISMS, mechanism
from engine.plan import Plan, TablePlan
from engine.plan.edit import writable_names
from engine.plan.entries import SIGNS, is_writable
from engine.plan.types import in_no_use

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


_MOST_CROSSED = 60  # attributes up to which all pairs of them are tabulated unasked


def releases_several_tables(plan: Plan) -> bool:
    """Return whether some candidate of a plan publishes several tables together."""
    return any(
        mechanism(declared.name).most_tables(declared.grid) > 1
        for declared in plan.mechanisms
        if declared.name in MECHANISMS
    )


def planned_calls(plan: Plan) -> tuple[MeasureCall, ...]:
    """Return all measures of a plan: :func:`comparable_calls`, edit failures where edit rules are declared, also of
    each rule with a limit, and the largest change of a two-way table where something may be exchanged that no other
    measure need look at."""
    calls = comparable_calls(plan)
    further: list[MeasureCall] = []
    if plan.edits:
        further += map(call, dict.fromkeys(("edit_failures", *_limited_rules(plan))))
    if in_no_use(plan, plan.swap_candidates) and len(plan.names) <= _MOST_CROSSED:
        further.append(call("largest_two_way"))
    return (*calls, *(more for more in further if str(more) not in map(str, calls)))


def _limited_rules(plan: Plan) -> dict[str, EditRule]:
    """The edit rules that limit how many records may break them, by the name of the measure that counts these."""
    only = len(plan.edits) == 1
    return {
        "edit_failures" if only else f"edit_failures[rule_no={number}]": rule
        for number, rule in enumerate(plan.edits, 1)
        if rule.at_most is not None
    }


class EditLimit(NamedTuple):
    """The most records (``at_most``) that may break an edit rule (``rule``, its name); ``column`` is the measure that
    counts them."""

    rule: str
    at_most: int
    column: int


def edit_limits(plan: Plan, calls: Sequence[MeasureCall]) -> tuple[EditLimit, ...]:
    """The limits of a plan's edit rules; ``calls`` are the measures of its study."""
    columns = {str(one): k for k, one in enumerate(calls)}
    return tuple(
        EditLimit(rule.name, rule.at_most, columns[name])
        for name, rule in _limited_rules(plan).items()
        if rule.at_most is not None
    )


def comparable_calls(plan: Plan) -> tuple[MeasureCall, ...]:
    """Return the measures by which the candidates of a plan may be compared: those it names and, where several tables
    are released together, the risk that judges them jointly."""
    calls = {str(named): named for named in map(call, plan.measures)}
    joint = _joint(tuple(calls.values())) if releases_several_tables(plan) else None
    return (*calls.values(), *([] if joint is None else [joint]))


def _joint(calls: Sequence[MeasureCall]) -> MeasureCall | None:
    """The measure of all tables of a release; None where one is named already.  It is computed as the measure of one
    table beside it is, with the same parameters and attributes."""
    if joint_column(calls) is not None:
        return None
    measure = next((measure for measure in map(MEASURES.find, MEASURES) if measure.judges_jointly), None)
    if measure is None:
        return None
    beside = next((one for one in calls if one.measure.name in measure.judges_jointly), None)
    if beside is None:
        return MeasureCall(measure)
    shared = tuple((name, value) for name, value in beside.parameters if name in measure.parameters)
    return MeasureCall(measure, shared, beside.attributes)


def joint_column(calls: Sequence[MeasureCall]) -> int | None:
    """The first of some measures that judges all tables of a release jointly; None without one."""
    return next((k for k, one in enumerate(calls) if one.measure.judges_jointly), None)


def deciding_column(plan: Plan, calls: Sequence[MeasureCall], kind: Kind) -> int | None:
    """The measure (of ``calls``) of a kind by which candidates are compared where the plan names none: of risk the
    joint one where several tables are released together, else the first of its kind; None without one.

    An intruder sees all tables that are released, so a risk of one table at a time is too low.
    """
    joint = joint_column(calls) if kind == "risk" else None
    if joint is not None and releases_several_tables(plan):
        return joint
    return next((k for k, one in enumerate(calls) if one.measure.kind == kind), None)


def check_bounded(risk: MeasureCall, bound: float) -> None:
    """Refuse a bound on a measure of which more is better ("at most" would ask for the least protection), and one above
    the measure's range, which every candidate meets."""
    if risk.measure.better == "higher":
        raise UsageError(
            f"a limit is for a measure where lower is better; of '{risk}' higher is better, so judge risk by another "
            "measure, or choose a slope"
        )
    low, high = risk.measure.least, risk.measure.most
    if risk.measure.better == "zero":  # its size is bounded
        low, high = 0.0, max(-low, high)
    if bound > high:
        legal = f"between {low:g} and {high:g}" if isfinite(low) else f"at most {high:g}"
        hint = f" Did you mean {bound / 100:g}?" if high == 1 and 1 < bound <= 100 else ""
        raise UsageError(f"max_risk == {bound:g}, must be {legal}, the range of '{risk}'.{hint}")


def check_decision(plan: Plan, calls: Sequence[MeasureCall]) -> None:
    """Refuse a plan's bound on a risk that cannot have it."""
    if plan.decision.max_risk is None:
        return
    risk = next((one for one in calls if plan.decision.risk in (str(one), one.measure.name)), None)
    column = deciding_column(plan, calls, "risk")
    if risk is None and column is not None:
        risk = calls[column]
    if risk is not None:
        check_bounded(risk, float(plan.decision.max_risk))
