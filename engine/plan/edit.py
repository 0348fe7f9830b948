"""Change a plan: the same plan with some entries replaced."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from engine.common.errors import Remedy, UsageError
from engine.plan.attribute_names import attributes_named
from engine.plan.mechanism import MechanismPlan
from engine.plan.types import DataPlan, DecisionPlan, Plan, SpacePlan, unknown_attribute
from engine.release.spec import RANDOM_SWAP, AttributeSpec

_ROLES: tuple[Literal["keys"], Literal["swap"], Literal["analyse"]] = ("keys", "swap", "analyse")
_OUTSIDE: tuple[Literal["fix"], Literal["change"]] = ("fix", "change")
_DESCRIPTIONS: tuple[Literal["swap_sizes"], Literal["all_specs"], Literal["specs"], Literal["search"]]
_DESCRIPTIONS = ("swap_sizes", "all_specs", "specs", "search")
_Part = TypeVar("_Part", SpacePlan, DecisionPlan)
_SPACE_ENTRIES = ("rates", "rule", "replicates", "budget", "adaptive", "screen")


class PlanChanges(TypedDict, total=False):
    """Entries of a plan that :func:`edit_plan` replaces; one that is missing or None stays as it is."""

    attributes: Sequence[str] | None
    keys: Sequence[str] | None
    swap: Sequence[str] | None
    analyse: Sequence[str] | None
    rates: Sequence[str] | None
    swap_sizes: Sequence[int] | None
    all_specs: bool | None
    specs: Sequence[str] | None
    search: bool | None
    budget: int | None
    adaptive: bool | None
    screen: int | None
    fix: Sequence[str] | None
    change: Sequence[str] | None
    rule: str | None
    replicates: int | None
    measures: Sequence[str] | None
    mechanisms: Sequence[MechanismPlan] | None
    risk: str | None
    utility: str | None
    max_risk: str | None
    slope: str | None
    probability: str | None
    realisation: str | None


def edit_plan(plan: Plan, **changes: Unpack[PlanChanges]) -> Plan:
    """Return ``plan`` with every entry of ``changes`` that is not None replaced.

    ``attributes`` restricts the plan to those attributes: each of keys, swap and analyse keeps the ones it had among
    them, or becomes all of them when it had none.  An attribute that some list named before and none names any more is
    no attribute any longer: its raw columns are carried with their record.  One of ``swap_sizes``, ``all_specs``,
    ``specs`` and ``search`` replaces the others, and so do ``max_risk`` and ``slope``.  What the plan itself had for
    fix, change and specs follows a restriction; an edit rule or an analysis on an attribute that goes is refused rather
    than silently forgotten, and so is a mechanism that names one.
    """
    if unknown := changes.keys() - PlanChanges.__annotations__.keys():
        raise TypeError(f"a plan has no entry '{min(unknown)}' to change")
    attributes, measures, mechanisms = changes.get("attributes"), changes.get("measures"), changes.get("mechanisms")
    remaining = dict.fromkeys(_known(plan, attributes, "attributes") if attributes is not None else plan.names)
    if not remaining:
        raise UsageError("attributes is empty; name at least one")
    roles: dict[str, Any] = {role: _role(plan, role, changes.get(role), remaining) for role in _ROLES}
    outside = _outside(plan, changes, remaining)
    description = _description(plan, changes, remaining)
    used = {name for names in (*roles.values(), *outside.values()) for name in names}
    used |= {name for spec in description.get("specs") or () for name in _roles_of(spec, plan.names)}
    mechanisms_left = plan.mechanisms if mechanisms is None else tuple(mechanisms)
    used |= {name for entry in mechanisms_left for name in attributes_named(entry)}
    attributes_left = _attributes_left(plan, remaining, used)
    if "swap_sizes" in description and changes.get("swap_sizes") is None:
        # Sizes that came with the plan shrink with the attributes; sizes that were asked for are checked instead.
        swappable = [name for name in roles["swap"] if all(name not in names for names in outside.values())]
        sizes = description["swap_sizes"]
        description["swap_sizes"] = tuple(size for size in sizes if size <= len(swappable)) or sizes[:0]
    _check_uses(plan, mechanisms_left, attributes_left)
    space = replace(plan.space, swap_sizes=(), all_specs=False, specs=(), search=False, **outside)
    space = replace(_replaced(space, {entry: changes.get(entry) for entry in _SPACE_ENTRIES}), **description)
    _refuse_idle(space, changes)
    return replace(
        plan,
        data=_data(plan, attributes_left),
        **roles,
        space=space,
        measures=plan.measures if measures is None else tuple(measures),
        mechanisms=mechanisms_left,
        decision=_decision(plan, changes),
    )


def extended_plan(old: Plan, new: Plan) -> Plan:
    """Return ``new`` with everything that ``old`` had besides: what a study is extended to."""
    space = new.space
    if space.specs and old.space.specs:
        space = replace(space, specs=tuple(dict.fromkeys((*old.space.specs, *space.specs))))
    if space.swap_sizes and old.space.swap_sizes:
        space = replace(space, swap_sizes=tuple(sorted({*old.space.swap_sizes, *space.swap_sizes})))
    rates = sorted({*old.space.rates, *space.rates}, key=float)
    mechanisms = tuple(dict.fromkeys((*old.mechanisms, *new.mechanisms)))
    published = MechanismPlan(RANDOM_SWAP)
    if mechanisms and not old.mechanisms and published not in mechanisms:
        mechanisms = (published, *mechanisms)
    return replace(new, space=replace(space, rates=tuple(rates)), mechanisms=mechanisms)


def _outside(plan: Plan, changes: PlanChanges, remaining: Collection[str]) -> dict[str, Any]:
    """Attributes on which partners of every spec must be equal (fix) or differ (change); a new list wins."""
    outside: dict[str, Any] = {}
    for entry in _OUTSIDE:
        new_list, before = changes.get(entry), tuple(name for name in getattr(plan.space, entry) if name in remaining)
        outside[entry] = before if new_list is None else _known(plan, new_list, entry, remaining)
    for entry, other in (_OUTSIDE, _OUTSIDE[::-1]):
        if changes.get(entry) is not None and changes.get(other) is None:
            outside[other] = tuple(name for name in outside[other] if name not in outside[entry])
    return outside


def _description(plan: Plan, changes: PlanChanges, remaining: Collection[str]) -> dict[str, Any]:
    """The description of the space that was asked for, or the plan's own on the attributes kept."""
    if chosen := _choice(changes):
        return {entry: value if isinstance(value, bool) else tuple(value) for entry, value in chosen.items()}
    own: dict[str, Any] = {entry: getattr(plan.space, entry) for entry in _DESCRIPTIONS}
    if own["specs"]:
        own["specs"] = _specs_within(plan, remaining)
    return own


def _attributes_left(plan: Plan, remaining: Collection[str], used: set[str]) -> set[str]:
    """The attributes that something uses, or that no list of the plan named before."""
    used = used | {name for edit in plan.edits for name in edit.attributes}
    used |= {name for analysis in plan.analyses for name in (*analysis.columns, *analysis.by)}
    before = {*plan.keys, *plan.swap, *plan.analyse}
    return {name for name in plan.names if name in remaining and (name in used or name not in before)}


def _check_uses(plan: Plan, mechanisms: Sequence[MechanismPlan], attributes_left: set[str]) -> None:
    """Refuse to take an attribute from under an edit rule, an analysis or a mechanism."""
    removed = set(plan.names) - attributes_left
    uses = [(f"edit rule '{edit.name}' names", list(edit.attributes), "rule") for edit in plan.edits]
    uses += [
        (f"analysis '{analysis.name}' uses", [*analysis.by, *analysis.columns], "analysis")
        for analysis in plan.analyses
    ]
    uses += [(f"mechanism '{entry.name}' names", list(attributes_named(entry)), "mechanism") for entry in mechanisms]
    for use, names, kind in uses:
        for name in names:
            if name in removed:
                raise UsageError(
                    f"{use} '{name}', which would no longer be an attribute; "
                    f"keep '{name}' among the attributes or take the {kind} out of the plan"
                )


def _data(plan: Plan, attributes_left: set[str]) -> DataPlan:
    """The data section with these attributes; raw columns of the others are carried."""
    carried = set(plan.data.carry)
    columns = (column for a in plan.attributes if a.name not in attributes_left for column in a.columns)
    return replace(
        plan.data,
        attributes=tuple(a for a in plan.attributes if a.name in attributes_left),
        carry=(*plan.data.carry, *(column for column in columns if column not in carried)),
    )


def _refuse_idle(space: SpacePlan, changes: PlanChanges) -> None:
    """Refuse an entry that the space makes no use of, rather than pass over it."""
    for entry, counts, needed in (
        ("budget", space.search, "search"),
        ("screen", space.search or space.adaptive, "adaptive or search"),
    ):
        if changes.get(entry) is not None and not counts:
            raise UsageError(f"{entry} has no effect without {needed}; give both or leave {entry} out")


def _known(plan: Plan, names: Sequence[str], what: str, remaining: Collection[str] | None = None) -> tuple[str, ...]:
    """``names`` in the plan's order for the attributes themselves, else as given; an unknown one is refused."""
    if isinstance(names, str):
        names = (names,)
    allowed = dict.fromkeys(plan.names if remaining is None else remaining)
    for name in names:
        if name not in allowed:
            raise UsageError(unknown_attribute(plan.data, what, name, allowed))
    distinct = dict.fromkeys(names)
    return tuple(name for name in plan.names if name in distinct) if remaining is None else tuple(distinct)


def _role(plan: Plan, role: str, new_list: Sequence[str] | None, remaining: Collection[str]) -> tuple[str, ...]:
    if new_list is None:
        return tuple(name for name in getattr(plan, role) if name in remaining) or tuple(remaining)
    names = _known(plan, new_list, role, remaining)
    if not names:
        raise UsageError(f"{role} is empty; name at least one attribute or leave it out")
    return names


def _choice(changes: PlanChanges) -> dict[str, Any]:
    """The one description of the space that was asked for, or {}; ``all_specs=False`` asks for nothing."""
    descriptions: dict[str, Any] = {entry: changes.get(entry) for entry in _DESCRIPTIONS}
    chosen = {entry: value for entry, value in descriptions.items() if value is not None and value is not False}
    if len(chosen) > 1:
        raise UsageError(f"the space is described by {' and '.join(chosen)}; choose one")
    for entry, value in chosen.items():
        if not isinstance(value, bool) and not list(value or ()):
            raise UsageError(f"{entry} is empty; list at least one or leave it out")
    return chosen


def _roles_of(spec: str, names: Sequence[str]) -> list[str]:
    parsed = AttributeSpec.parse(spec, names)
    return [name for name, role in zip(parsed.names, parsed.roles, strict=True) if role != "U"]


def _specs_within(plan: Plan, remaining: Collection[str]) -> tuple[str, ...]:
    """The plan's own specs that only name kept attributes; none left is an error."""
    specs = tuple(spec for spec in plan.space.specs if set(_roles_of(spec, plan.names)) <= set(remaining))
    if not specs:
        raise UsageError(
            "no spec of the plan is left on these attributes; give specs, swap sizes or all specs as well",
            Remedy.SPACE,
        )
    return specs


def _replaced(section: _Part, values: dict[str, Any]) -> _Part:
    return replace(section, **{entry: value for entry, value in values.items() if value is not None})


def _decision(plan: Plan, changes: PlanChanges) -> DecisionPlan:
    """The decision section with what was asked for."""
    decision, measures = plan.decision, changes.get("measures")
    if measures is not None:
        # A measure that is no longer asked for cannot decide; the default takes its place.
        bare = {*measures, *(str(measure).partition("[")[0] for measure in measures)}
        decision = replace(
            decision,
            risk=decision.risk if decision.risk in bare else None,
            utility=decision.utility if decision.utility in bare else None,
        )
    if changes.get("max_risk") is not None or changes.get("slope") is not None:
        decision = replace(decision, max_risk=changes.get("max_risk"), slope=changes.get("slope"))
    names = ("risk", "utility", "probability", "realisation")
    return _replaced(decision, {entry: changes.get(entry) for entry in names})
