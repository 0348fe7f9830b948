"""Flags only edit a plan: the same plan with some entries replaced."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from engine.common.errors import UsageError, did_you_mean
from engine.plan.mechanism import MechanismPlan
from engine.plan.types import Plan
from engine.release.spec import AttributeSpec

_ROLES = ("keys", "swap", "analyse")


def edit_plan(
    plan: Plan,
    *,
    attributes: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    swap: Sequence[str] | None = None,
    analyse: Sequence[str] | None = None,
    rates: Sequence[str] | None = None,
    swap_sizes: Sequence[int] | None = None,
    all_specs: bool | None = None,
    specs: Sequence[str] | None = None,
    search: bool | None = None,
    budget: int | None = None,
    adaptive: bool | None = None,
    screen: int | None = None,
    fix: Sequence[str] | None = None,
    change: Sequence[str] | None = None,
    rule: str | None = None,
    replicates: int | None = None,
    measures: Sequence[str] | None = None,
    mechanisms: Sequence[MechanismPlan] | None = None,
    risk: str | None = None,
    utility: str | None = None,
    max_risk: str | None = None,
    slope: str | None = None,
    realisation: str | None = None,
) -> Plan:
    """``plan`` with every entry that is not None replaced.

    ``attributes`` restricts the plan to those attributes: each of keys, swap and analyse keeps the ones it had among
    them, or becomes all of them when it had none.  An attribute that some list named before and none names any more is
    no attribute any longer: its raw columns are carried with their record.  One of ``swap_sizes``, ``all_specs``,
    ``specs`` and ``search`` replaces the others, and so do ``max_risk`` and ``slope``.  What the plan itself had for
    fix, change and specs follows a restriction; an edit rule or an analysis on an attribute that goes is refused rather
    than silently forgotten.
    """
    kept = dict.fromkeys(_known(plan, attributes, "attributes") if attributes is not None else plan.names)
    if not kept:
        raise UsageError("attributes is empty; name at least one")
    roles: dict[str, Any] = {
        role: _role(plan, role, given, kept) for role, given in zip(_ROLES, (keys, swap, analyse), strict=True)
    }
    outside: dict[str, Any] = {}
    for what, given in (("fix", fix), ("change", change)):
        old = tuple(name for name in getattr(plan.space, what) if name in kept)
        outside[what] = old if given is None else _known(plan, given, what, kept)
    if fix is not None and change is None:
        outside["change"] = tuple(name for name in outside["change"] if name not in outside["fix"])
    if change is not None and fix is None:
        outside["fix"] = tuple(name for name in outside["fix"] if name not in outside["change"])
    chosen = _choice(swap_sizes=swap_sizes, all_specs=all_specs, specs=specs, search=search)
    if not chosen:
        chosen = {what: getattr(plan.space, what) for what in ("swap_sizes", "all_specs", "specs", "search")}
        if chosen["specs"]:
            chosen["specs"] = _specs_within(plan, kept)
    in_specs = {name for spec in chosen.get("specs") or () for name in _roles_of(spec, plan.names)}
    named = {*roles["keys"], *roles["swap"], *roles["analyse"], *outside["fix"], *outside["change"], *in_specs}
    named |= {name for edit in plan.edits for name, _ in edit.forbid if name in kept}
    named |= {name for analysis in plan.analyses for name in (*analysis.columns, *analysis.by) if name in kept}
    before = {*plan.keys, *plan.swap, *plan.analyse}
    stays = {name for name in plan.names if name in kept and (name in named or name not in before)}
    if "swap_sizes" in chosen and swap_sizes is None:
        # Sizes that came with the plan shrink with the attributes; sizes that were asked for are checked instead.
        able = [name for name in roles["swap"] if name not in outside["fix"] and name not in outside["change"]]
        sizes = chosen["swap_sizes"]
        chosen["swap_sizes"] = tuple(size for size in sizes if size <= len(able)) or sizes[:0]
    for edit in plan.edits:
        gone = [name for name, _ in edit.forbid if name not in stays]
        if gone:
            raise UsageError(
                f"edit rule '{edit.name}' names '{gone[0]}', which would no longer be an attribute; "
                f"keep '{gone[0]}' among the attributes or take the rule out of the plan"
            )
    known = set(plan.names)
    for analysis in plan.analyses:
        gone = [n for n in (*analysis.by, *analysis.columns) if n in known and n not in stays]
        if gone:
            raise UsageError(
                f"analysis '{analysis.name}' uses '{gone[0]}', which would no longer be an attribute; "
                f"keep '{gone[0]}' among the attributes or take the analysis out of the plan"
            )
    carried = set(plan.data.carry)
    columns = tuple(c for a in plan.attributes if a.name not in stays for c in a.columns)
    data = replace(
        plan.data,
        attributes=tuple(a for a in plan.attributes if a.name in stays),
        carry=(*plan.data.carry, *(c for c in columns if c not in carried)),
    )
    space = _replaced(
        replace(plan.space, swap_sizes=(), all_specs=False, specs=(), search=False, **outside),
        rates=rates,
        rule=rule,
        replicates=replicates,
        budget=budget,
        adaptive=adaptive,
        screen=screen,
    )
    space = replace(
        space, **{what: value if isinstance(value, bool) else tuple(value) for what, value in chosen.items()}
    )
    return replace(
        plan,
        data=data,
        **roles,
        space=space,
        measures=plan.measures if measures is None else tuple(measures),
        mechanisms=plan.mechanisms if mechanisms is None else tuple(mechanisms),
        decision=_decision(plan, measures, risk, utility, max_risk, slope, realisation),
    )


def _known(plan: Plan, names: Sequence[str], what: str, kept: Collection[str] | None = None) -> tuple[str, ...]:
    """``names`` in the plan's order for the attributes themselves, else as given; an unknown one is refused."""
    if isinstance(names, str):
        names = (names,)
    allowed = dict.fromkeys(plan.names if kept is None else kept)
    for name in names:
        if name not in allowed:
            raise UsageError(f"{what} names the unknown attribute '{name}'.{did_you_mean(name, allowed)}")
    asked = dict.fromkeys(names)
    return tuple(name for name in plan.names if name in asked) if kept is None else tuple(asked)


def _role(plan: Plan, role: str, given: Sequence[str] | None, kept: Collection[str]) -> tuple[str, ...]:
    if given is None:
        return tuple(name for name in getattr(plan, role) if name in kept) or tuple(kept)
    names = _known(plan, given, role, kept)
    if not names:
        raise UsageError(f"{role} is empty; name at least one attribute or leave it out")
    return names


def _choice(
    *, swap_sizes: Sequence[int] | None, all_specs: bool | None, specs: Sequence[str] | None, search: bool | None
) -> dict[str, Any]:
    """The one description of the space that was asked for, or {}; ``all_specs=False`` asks for nothing."""
    given = {"swap_sizes": swap_sizes, "all_specs": all_specs or None, "specs": specs, "search": search or None}
    asked = [what for what, value in given.items() if value is not None]
    if len(asked) > 1:
        raise UsageError(f"the space is described by {' and '.join(asked)}; choose one")
    if not asked:
        return {}
    value = given[asked[0]]
    if not isinstance(value, bool) and not list(value or ()):
        raise UsageError(f"{asked[0]} is empty; list at least one or leave it out")
    return {asked[0]: value}


def _roles_of(spec: str, names: Sequence[str]) -> list[str]:
    parsed = AttributeSpec.parse(spec, names)
    return [name for name, role in zip(parsed.names, parsed.roles, strict=True) if role != "U"]


def _specs_within(plan: Plan, kept: Collection[str]) -> tuple[str, ...]:
    """The plan's own specs that only name kept attributes; none left is an error."""
    specs = tuple(spec for spec in plan.space.specs if set(_roles_of(spec, plan.names)) <= set(kept))
    if not specs:
        raise UsageError(
            "no spec of the plan is left on these attributes; give --specs, --swap-sizes or --all-specs as well"
        )
    return specs


def _replaced(part: Any, **values: Any) -> Any:
    return replace(part, **{what: value for what, value in values.items() if value is not None})


def _decision(
    plan: Plan,
    measures: Sequence[str] | None,
    risk: str | None,
    utility: str | None,
    max_risk: str | None,
    slope: str | None,
    realisation: str | None,
) -> Any:
    decision = plan.decision
    if measures is not None:
        # A measure that is no longer asked for cannot decide; the default takes its place.
        bare = {*measures, *(str(measure).partition("[")[0] for measure in measures)}
        decision = replace(
            decision,
            risk=decision.risk if decision.risk in bare else None,
            utility=decision.utility if decision.utility in bare else None,
        )
    if max_risk is not None or slope is not None:
        decision = replace(decision, max_risk=max_risk, slope=slope)
    return _replaced(decision, risk=risk, utility=utility, realisation=realisation)
