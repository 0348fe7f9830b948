"""The measures that a plan asks for: those it names, and those that it cannot do without."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from engine.common.errors import UsageError
from engine.measures import MEASURES, MeasureCall, call
from engine.measures.base import Kind
from engine.mechanisms import MECHANISMS, mechanism
from engine.plan import Plan
from engine.plan.uses import in_no_use

_MOST_CROSSED = 60  # attributes up to which all pairs of them are tabulated unasked


def releases_several_tables(plan: Plan) -> bool:
    """Return whether some candidate of a plan publishes several tables together."""
    return any(
        mechanism(declared.name).most_tables(declared.grid) > 1
        for declared in plan.mechanisms
        if declared.name in MECHANISMS
    )


def planned_calls(plan: Plan) -> tuple[MeasureCall, ...]:
    """Return all measures of a plan: :func:`comparable_calls`, edit failures where edit rules are declared, and the
    largest change of a two-way table where something may be exchanged that no other measure need look at."""
    calls = comparable_calls(plan)
    further = []
    if plan.edits:
        further.append(call("edit_failures"))
    if in_no_use(plan, plan.swap_candidates) and len(plan.names) <= _MOST_CROSSED:
        further.append(call("largest_two_way"))
    return (*calls, *(more for more in further if str(more) not in map(str, calls)))


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
            f"a bound is for a measure where lower is better; of '{risk}' higher is better, so judge risk by another "
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
