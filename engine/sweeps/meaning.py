"""Plans of which every candidate would have the same figure, whatever is drawn."""

from __future__ import annotations

from collections.abc import Iterable

from engine.common.errors import UsageError
from engine.common.wording import listed
from engine.measures import MeasureCall
from engine.measures.planned import comparable_calls, deciding_column
from engine.mechanisms import mechanism
from engine.plan import Plan
from engine.release.spec import AttributeSpec, ReleaseSpec

_LISTS = {"keys": "keys", "analyse": "analyse", "all": "attributes"}


def check_meaning(plan: Plan, others: Iterable[ReleaseSpec]) -> None:
    """Refuse a plan whose measures of risk, or of utility, have one figure for all candidates by structure alone.

    So it is where no candidate changes an attribute that is tabulated, or all exchange the whole of what is tabulated.
    Where a rule of choice is set, the measure that it compares must differ too.  ``others`` are the candidates of other
    mechanisms than the random swap.
    """
    calls = comparable_calls(plan)
    others = [*others]
    for kind in ("risk", "utility"):
        of_kind = [call for call in calls if call.measure.kind == kind]
        named = getattr(plan.decision, kind)
        column = deciding_column(plan, calls, kind)
        deciding = next((call for call in calls if named in (str(call), call.measure.name)), None)
        if deciding is None and column is not None:
            deciding = calls[column]
        ruled = plan.decision.max_risk is not None or plan.decision.slope is not None
        judged = [deciding] if deciding is not None and ruled else of_kind
        if judged and not any(_differs(call, plan, others) for call in judged):
            raise UsageError(_sentence(judged[0], plan, others))
        for spec in others if judged and kind == "utility" else ():
            # beside other candidates it would look as if it cost nothing
            if mechanism(spec.mechanism).exchanges and not any(_seen(call, plan, spec) for call in judged):
                raise UsageError(f"of mechanism '{spec.mechanism}' {_sentence(judged[0], plan, [spec], True)}")


def _tabulated(call: MeasureCall, plan: Plan) -> frozenset[str]:
    """Names of the attributes that a measure tabulates."""
    lists = {"keys": plan.keys, "analyse": plan.analyse, "all": plan.names}
    return frozenset(call.attributes or lists[call.measure.over])


def _differs(call: MeasureCall, plan: Plan, others: Iterable[ReleaseSpec]) -> bool:
    """Return whether some candidate can have another figure than the original."""
    if call.measure.on_records or call.measure.named or any(_seen(call, plan, spec) for spec in others):
        return True
    return plan.swaps_at_random and _swaps_differ(plan, _tabulated(call, plan), _by_table(call))


def _by_table(call: MeasureCall) -> bool:
    """Return whether a measure sees the released table alone, and not which records changed."""
    depends = call.measure.depends_on
    return depends == "table" or (not depends and call.measure.kind == "utility")


def _seen(call: MeasureCall, plan: Plan, spec: ReleaseSpec) -> bool:
    """Return whether a measure can see what a candidate of another mechanism changes."""
    if call.measure.on_records or call.measure.named:
        return True
    tabulated, changed = _tabulated(call, plan), frozenset(spec.attributes.names_having("S"))
    as_whole = _by_table(call) and not mechanism(spec.mechanism).redraws_levels and tabulated <= changed
    return bool(changed & tabulated) and not as_whole


def _swaps_differ(plan: Plan, tabulated: frozenset[str], by_table: bool) -> bool:
    """Return whether a random swap of the plan can change a figure."""
    if plan.space.specs:
        swaps = [frozenset(AttributeSpec.parse(spec, plan.names).names_having("S")) for spec in plan.space.specs]
        return any(swap & tabulated and not (by_table and tabulated <= swap) for swap in swaps)
    able = frozenset(plan.swap_candidates)
    if not able & tabulated or not by_table:
        return bool(able & tabulated)
    if not tabulated <= able:
        return True
    fewest = min(plan.space.swap_sizes, default=1)
    return len(tabulated) > 1 and fewest < len(able)


def _sentence(call: MeasureCall, plan: Plan, others: Iterable[ReleaseSpec], of_one: bool = False) -> str:
    """What is the same of all candidates (``of_one``: of one mechanism's), why, and what to change."""
    tabulated = _tabulated(call, plan)
    specs = [AttributeSpec.parse(spec, plan.names) for spec in plan.space.specs]
    changed = {name for spec in (*specs, *(one.attributes for one in others)) for name in spec.names_having("S")}
    if of_one:
        changed = {name for one in others for name in one.attributes.names_having("S")}
    elif plan.swaps_at_random and not specs:
        changed |= set(plan.swap_candidates)
    own = listed(name for name in plan.names if name in tabulated)
    what = f"every candidate has the same {call.measure.kind}, by '{call}'"
    entry = "its attributes" if call.attributes else _LISTS[call.measure.over]
    if not changed & tabulated:
        altered = listed(name for name in plan.names if name in changed) or "no attribute"
        return (
            f"{what}: it tabulates {own}, and candidates change {altered} alone. Name an attribute that is changed in "
            f"{entry}, or let one of those tabulated be changed (swap)"
        )
    return (
        f"{what}: its table of {own} stays as it is, since {'it is' if len(tabulated) == 1 else 'they are'} exchanged "
        f"as a whole. Name an attribute in {entry} that stays with its record, or exchange fewer"
    )
