"""Change a plan: the same plan with other entries, roles, uses of columns, levels or names of attributes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from engine.common.errors import Remedy, UsageError, did_you_mean
from engine.common.raw_values import texts
from engine.data.microdata import RawTable
from engine.plan.coding import assign_columns
from engine.plan.columns import facts
from engine.plan.entries import (
    _SIGNS,
    HOUSEHOLD_SWAP,
    NAMING,
    SINGLE_USES,
    AttributePlan,
    MechanismPlan,
    SingleUse,
    UnitColumns,
    attributes_named,
    is_writable,
    unit_columns,
)
from engine.plan.guess import first_part
from engine.plan.types import ROLES, DataPlan, DecisionPlan, Plan, SpacePlan, covered, unknown_attribute
from engine.release.spec import RANDOM_SWAP, AttributeSpec

_OF_OWN_FORM = ("formula", "matrix")  # parameters of a mechanism that name attributes among other words


def writable_name(name: str, taken: Collection[str]) -> str:
    """A name like ``name`` that a measure can be written with and that is not ``taken``."""
    base = "_".join("".join(" " if sign in _SIGNS else sign for sign in name).split()) or "attribute"
    number, proposed = 1, base
    while proposed in taken:
        number, proposed = number + 1, f"{base}_{number + 1}"
    return proposed


def writable_names(plan: Plan) -> dict[str, str]:
    """The attributes of a plan that no measure can name, each with a free name like its own."""
    new_names: dict[str, str] = {}
    for name in plan.names:
        if not is_writable(name):
            new_names[name] = writable_name(name, {*plan.names, *new_names.values()})
    return new_names


def with_attributes_renamed(plan: Plan, new_names: Mapping[str, str]) -> Plan:
    """``plan`` with attributes renamed from the keys of ``new_names`` to its values, wherever the plan names them.

    Columns keep their names, and attributes their levels and roles.  A formula or matrix of a mechanism that names such
    an attribute is a :class:`UsageError`: nothing here can read it.
    """

    def now(name: str) -> str:
        return new_names.get(name, name)

    def all_now(names: Collection[str]) -> tuple[str, ...]:
        return tuple(map(now, names))

    attributes = tuple(replace(part, name=now(part.name)) for part in plan.attributes)
    in_formulas = dict(new_names) | {f"{a.name}_raw": f"{now(a.name)}_raw" for a in plan.attributes if a.cut}
    specs = []
    for text in plan.space.specs:
        spec = AttributeSpec.parse(text, plan.names)
        specs.append(str(replace(spec, names=all_now(spec.names))))
    judged = {entry: getattr(plan.decision, entry) for entry in ("risk", "utility")}
    decided = {entry: text and _in_measure(text, new_names) for entry, text in judged.items()}
    return replace(
        plan,
        data=replace(plan.data, attributes=attributes),
        keys=all_now(plan.keys),
        swap=all_now(plan.swap),
        analyse=all_now(plan.analyse),
        edits=tuple(
            replace(
                rule,
                forbid=tuple((now(name), levels) for name, levels in rule.forbid),
                existing=all_now(rule.existing),
            )
            for rule in plan.edits
        ),
        space=replace(plan.space, fix=all_now(plan.space.fix), change=all_now(plan.space.change), specs=tuple(specs)),
        measures=tuple(_in_measure(text, new_names) for text in plan.measures),
        decision=replace(plan.decision, **decided),
        analyses=tuple(replace(a.with_names(in_formulas), by=all_now(a.by)) for a in plan.analyses),
        mechanisms=tuple(_in_mechanism(entry, new_names) for entry in plan.mechanisms),
        tables=tuple(replace(table, attributes=all_now(table.attributes)) for table in plan.tables),
    )


def _in_measure(text: str, new_names: Mapping[str, str]) -> str:
    """A measure as the plan writes it, with new names in the parameters that name attributes."""
    name, bracket, inside = text.partition("[")
    if not bracket:
        return text
    parts = re.split("([;,])", inside.rstrip().removesuffix("]"))
    return f"{name}[{''.join(_in_parameter(part, new_names) for part in parts)}]"


def _in_parameter(part: str, new_names: Mapping[str, str]) -> str:
    key, equals, value = part.partition("=")
    return f"{key}={_in_list(value, new_names)}" if equals and key.strip() in NAMING else part


def _in_list(value: str, new_names: Mapping[str, str]) -> str:
    """Names joined by + or |, also with a number of steps behind (``Age:2``), with new ones among them."""
    return "".join(_in_entry(piece, new_names) for piece in re.split(r"([+|])", value))


def _in_entry(entry: str, new_names: Mapping[str, str]) -> str:
    if entry.strip() in new_names:
        return new_names[entry.strip()]
    name, colon, steps = entry.rpartition(":")
    return f"{new_names[name.strip()]}:{steps}" if colon and name.strip() in new_names else entry


def _in_mechanism(entry: MechanismPlan, new_names: Mapping[str, str]) -> MechanismPlan:
    for parameter, values in entry.grid:
        for name in new_names if parameter in _OF_OWN_FORM else ():
            if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", value) for value in values):
                raise UsageError(
                    f"the {parameter} of mechanism '{entry.name}' names '{name}', which would get another name; take "
                    "it out of there first"
                )
    grid = tuple(
        (parameter, tuple(_in_list(value, new_names) for value in values) if parameter in NAMING else values)
        for parameter, values in entry.grid
    )
    return replace(entry, grid=grid)


_OUTSIDE: tuple[Literal["fix"], Literal["change"]] = ("fix", "change")
_DESCRIPTIONS: tuple[Literal["swap_sizes"], Literal["all_specs"], Literal["specs"], Literal["search"]]
_DESCRIPTIONS = ("swap_sizes", "all_specs", "specs", "search")
_Part = TypeVar("_Part", SpacePlan, DecisionPlan)
_SPACE_ENTRIES = ("rates", "rule", "replicates", "budget", "adaptive", "screen")


class PlanEntries(TypedDict, total=False):
    """Entries of a plan by which commands and scripts describe it; one that is missing or None stays as it is."""

    keys: Sequence[str] | None
    swap: Sequence[str] | None
    analyse: Sequence[str] | None
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
    rates: Sequence[float | str] | None
    replicates: int | None
    measures: Sequence[str] | None
    risk: str | None
    utility: str | None
    max_risk: float | str | None
    slope: float | str | None


class PlanChanges(PlanEntries, total=False):
    """All entries that :func:`edit_plan` replaces."""

    attributes: Sequence[str] | None
    mechanisms: Sequence[MechanismPlan] | None
    probability: str | None
    realisation: str | None


FIRST_PLAN = ("cut", "carry", "drop", *SINGLE_USES)
"""Uses of columns that describe a first plan and change no other."""


def refuse_first_plan(options: Mapping[str, Any], sign: str = "") -> None:
    """Refuse options that describe a first plan, where there is one; ``sign`` stands before their names."""
    if used := [name for name in FIRST_PLAN if options.get(name)]:
        raise UsageError(
            f"{sign}{used[0]} describes a first plan and cannot change this one; write it into the plan's [data] "
            "section instead"
        )


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
    roles: dict[str, Any] = {role: _role(plan, role, changes.get(role), remaining) for role in ROLES}
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
    refuse_uses(_uses(plan, mechanisms_left), dict.fromkeys(set(plan.names) - attributes_left))
    space = replace(plan.space, swap_sizes=(), all_specs=False, specs=(), search=False, **outside)
    space = replace(_replaced(space, {entry: changes.get(entry) for entry in _SPACE_ENTRIES}), **description)
    _refuse_idle(space, changes)
    # the data section with these attributes; raw columns of the others are carried
    carried = set(plan.data.carry)
    columns = (column for a in plan.attributes if a.name not in attributes_left for column in a.columns)
    return replace(
        plan,
        data=replace(
            plan.data,
            attributes=tuple(a for a in plan.attributes if a.name in attributes_left),
            carry=(*plan.data.carry, *(column for column in columns if column not in carried)),
        ),
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
        # the plan's own specs that only name kept attributes; none left is an error
        specs = tuple(spec for spec in plan.space.specs if set(_roles_of(spec, plan.names)) <= set(remaining))
        if not specs:
            raise UsageError(
                "no spec of the plan is left on these attributes; give specs, swap sizes or all specs as well",
                Remedy.SPACE,
            )
        own["specs"] = specs
    return own


def _attributes_left(plan: Plan, remaining: Collection[str], used: set[str]) -> set[str]:
    """The attributes that something uses, or that no list of the plan named before."""
    used = used | {name for edit in plan.edits for name in edit.attributes}
    used |= {name for analysis in plan.analyses for name in (*analysis.columns, *analysis.by)}
    before = {*plan.keys, *plan.swap, *plan.analyse}
    return {name for name in plan.names if name in remaining and (name in used or name not in before)}


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


def _replaced(section: _Part, values: dict[str, Any]) -> _Part:
    return replace(section, **{entry: value for entry, value in values.items() if value is not None})


def _decision(plan: Plan, changes: PlanChanges) -> DecisionPlan:
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
        bounds: dict[str, Any] = {entry: changes.get(entry) for entry in ("max_risk", "slope")}
        decision = replace(decision, **bounds)
    names = ("risk", "utility", "probability", "realisation")
    return _replaced(decision, {entry: changes.get(entry) for entry in names})


def take_out(
    plan: Plan,
    carry: Sequence[str] = (),
    drop: Sequence[str] = (),
    *,
    id: str | None = None,
    unit: UnitColumns = None,
    weight: str | None = None,
) -> Plan:
    """``plan`` with columns taken out of the attributes; a use that the plan already gives to one of them stays."""
    single: dict[SingleUse, UnitColumns] = {"weight": weight, "id": id, "unit": unit}
    named = {name for columns in single.values() for name in unit_columns(columns)}
    set_aside = {*carry, *drop, *named}
    data = plan.data
    in_blocks = {c for a in data.attributes if len(a.columns) > 1 for c in a.columns}
    free = set_aside - in_blocks
    gone = {a.name for a in data.attributes if set(a.columns) <= free}
    attributes = tuple(a for a in data.attributes if a.name not in gone)
    special = data.single_uses
    carried = [
        c for c in carry if c in free and c not in special and not covered(c, data.carry) and not is_dropped(data, c)
    ]
    dropped = [c for c in drop if c in free and c not in special and not covered(c, data.drop)]
    given = {use: columns for use, columns in single.items() if columns and free.issuperset(unit_columns(columns))}
    changed = replace(
        data,
        attributes=attributes,
        **data.single_after(given),
        carry=(*(c for c in data.carry if c not in (*named, *dropped)), *carried),
        drop=(*(c for c in data.drop if c not in named), *dropped),
        numeric=tuple(c for c in data.numeric if c not in (id, *unit_columns(unit), *dropped)),
    )
    return on_data(plan, changed, dict.fromkeys(gone))


def is_dropped(data: DataPlan, column: str) -> bool:
    """Return whether a plan drops a column that no attribute holds."""
    return covered(column, data.drop) and not any(column in a.columns for a in data.attributes)


def on_data(plan: Plan, data: DataPlan, new_names: dict[str, str | None]) -> Plan:
    """``plan`` on ``data``, whose attributes in ``new_names`` went into another one, or out of the plan (None)."""
    if not new_names:
        return replace(plan, data=data)
    refuse_uses(uses_of_attributes(plan), new_names)
    remaining = tuple(a.name for a in data.attributes)

    def role(names: Iterable[str]) -> tuple[str, ...]:
        if tuple(names) == plan.names:
            return remaining
        new = dict.fromkeys(new_names.get(name, name) for name in names)
        return tuple(name for name in new if name is not None)

    fix = role(plan.space.fix) if plan.space.fix else ()
    change = tuple(name for name in (role(plan.space.change) if plan.space.change else ()) if name not in fix)
    swap = role(plan.swap)
    n_swappable = len([name for name in (swap or remaining) if name not in fix and name not in change])
    sizes = tuple(
        size for size in plan.space.swap_sizes if size <= max(1, min(n_swappable, max(1, len(remaining) - 1)))
    )
    space: SpacePlan = replace(plan.space, fix=fix, change=change, swap_sizes=sizes)
    return replace(plan, data=data, keys=role(plan.keys), swap=swap, analyse=role(plan.analyse), space=space)


Uses = list[tuple[str, Iterable[str]]]
"""Entries of a plan, each with the attributes that it names."""


def uses_of_attributes(plan: Plan) -> Uses:
    """All entries of a plan that would mean something else without an attribute."""
    in_specs = [(f"the spec '{spec}'", _roles_of(spec, plan.names)) for spec in plan.space.specs]
    return [*_uses(plan, plan.mechanisms), *in_specs]


def _uses(plan: Plan, mechanisms: Iterable[MechanismPlan]) -> Uses:
    """The same without specs, for a plan with these mechanisms."""
    uses: Uses = [(f"edit rule '{rule.name}'", rule.attributes) for rule in plan.edits]
    uses += [(f"analysis '{a.name}'", (*a.by, *a.columns)) for a in plan.analyses]
    uses += [(f"table '{table.name}'", table.attributes) for table in plan.tables]
    for entry in mechanisms:
        use = "the exchange of households" if entry.name == HOUSEHOLD_SWAP else f"mechanism '{entry.name}'"
        uses.append((use, attributes_named(entry)))
    return uses


def refuse_uses(uses: Uses, new_names: Mapping[str, str | None]) -> None:
    """Refuse (:class:`UsageError`) to take attributes from under an entry that names them: each would become part of
    the one that ``new_names`` gives, or go (None)."""
    for use, names in uses:
        for name in names:
            if name in new_names:
                where = (
                    f"would become part of '{new_names[name]}'"
                    if new_names[name]
                    else "would no longer be an attribute"
                )
                raise UsageError(f"{use} uses '{name}', which {where}; keep it, or change that first")


def could_be(raw: RawTable, plan: Plan) -> tuple[str, ...]:
    """Carried columns that could be attributes as they stand, and columns that could lead the block that holds them
    (:func:`led_by`), in file order."""
    known = {*assign_columns(plan.data, raw.names).carried, *(c for a in plan.attributes for c in a.columns)}
    known -= {*plan.names, *(column for a in plan.attributes for column in a.view)}
    return tuple(name for name in raw.names if name in known and facts(raw.columns[name], raw.n_records).categorical)


def led_by(raw: RawTable, plan: Plan, names: Iterable[str]) -> Plan:
    """``plan`` in which each column in ``names`` that is only part of a block leads it: the attribute is called after
    the column and has its levels.

    Names of attributes and other columns change nothing.  Two of ``names`` in one block, and an entry of the plan that
    names the block's attribute, are a :class:`UsageError`.
    """
    chosen = dict.fromkeys(names)
    for column in chosen:
        part = next((a for a in plan.attributes if column in a.columns), None)
        if part is None or column in (*part.view, *plan.names):
            continue
        if other := next((name for name in chosen if name != column and name in (part.name, *part.columns)), None):
            raise UsageError(f"'{other}' and '{column}' move together as one block; choose one of them to name it")
        _refuse_many_values(raw, column)
        refuse_uses(uses_of_attributes(plan), {part.name: column})
        plan = with_attributes_renamed(plan, {part.name: column})
        led = viewed_by(replace(part, name=column), raw, column)
        attributes = tuple(led if a.name == column else a for a in plan.attributes)
        plan = replace(plan, data=replace(plan.data, attributes=attributes))
    return plan


def add_attribute(plan: Plan, attribute: AttributePlan) -> Plan:
    """``plan`` with one more attribute, which takes part in everything; its columns are carried or dropped no more."""
    data = plan.data
    for column in attribute.columns:
        holder = next((a.name for a in data.attributes if column in a.columns), None)
        if holder is not None:
            raise UsageError(f"column '{column}' belongs to the attribute '{holder}' already")
        if column in data.single_uses:
            raise UsageError(f"column '{column}' is the plan's {data.single_uses[column]}; give that role up first")
    columns = set(attribute.columns)
    data = replace(
        data,
        attributes=(*data.attributes, attribute),
        carry=tuple(c for c in data.carry if c not in columns),
        drop=tuple(c for c in data.drop if c not in columns),
    )
    keys, swap, analyse = ((*names, attribute.name) for names in (plan.keys, plan.swap, plan.analyse))
    return replace(plan, data=data, keys=keys, swap=swap, analyse=analyse)


def set_roles(raw: RawTable, plan: Plan, *, keys: Sequence[str], swap: Sequence[str], analyse: Sequence[str]) -> Plan:
    """``plan`` with exactly these attributes in each role; those in none are carried with their record.

    A name may also be a column that could be an attribute as it stands (:func:`could_be`): it becomes one, or leads its
    block.
    What a rule, an analysis or a table names must stay an attribute, else a :class:`UsageError`.
    """
    for role, chosen in (("keys", keys), ("swap", swap), ("analyse", analyse)):
        if not chosen:
            raise UsageError(f"no attribute is chosen for {role}; choose at least one")
    chosen_names = {*keys, *swap, *analyse}
    plan = led_by(raw, plan, (*keys, *swap, *analyse))
    for name in raw.names:
        if name in chosen_names and name not in plan.names:
            _refuse_many_values(raw, name)
            plan = add_attribute(plan, first_part(raw, name))
    attribute_names = set(plan.names)
    for name in (*keys, *swap, *analyse):
        if name not in attribute_names:
            raise UsageError(f"'{name}' is no attribute and no column of the data.{did_you_mean(name, plan.names)}")
    for table in plan.tables:
        gone = [name for name in table.attributes if name not in chosen_names]
        if gone:
            raise UsageError(
                f"table '{table.name}' uses '{gone[0]}', which would no longer be an attribute; keep it in one of the "
                "roles or take the table out of the plan"
            )
    remaining = [name for name in plan.names if name in chosen_names]
    return edit_plan(plan, attributes=remaining, keys=keys, swap=swap, analyse=analyse)


def _refuse_many_values(raw: RawTable, name: str) -> None:
    if not facts(raw.columns[name], raw.n_records).categorical:
        raise UsageError(f"column '{name}' has too many values to be an attribute as it stands; cut it into levels")


def set_use(plan: Plan, column: str, use: Literal["drop"] | SingleUse) -> Plan:
    """``plan`` with one column dropped, or as its weight, id or unit; a weight before it is carried then, and an id or
    a unit before it is dropped.  The column gives up what it was.

    A column leaves the block that it belongs to.  One that makes the levels of a block of several columns, or of an
    attribute that a rule, an analysis or a table names, is a :class:`UsageError`.
    """
    data = plan.data
    part = next((a for a in data.attributes if column in a.columns), None)
    if part is not None and len(part.columns) > 1:
        if column in part.view:
            raise UsageError(
                f"column '{column}' makes the levels of '{part.name}'; let another column of the block make them first"
            )
        without = replace(part, columns=tuple(name for name in part.columns if name != column))
        data = replace(data, attributes=tuple(without if a is part else a for a in data.attributes))
    before = () if use == "drop" else tuple(name for name in unit_columns(getattr(data, use)) if name != column)
    if use == "weight" and before:
        data = replace(data, weight=None, carry=(*data.carry, *before))
    elif use != "drop" and before:
        data = replace(data, **data.single_after({use: None}), drop=(*data.drop, *before))
    given_up = data.single_uses.get(column)
    if given_up is not None and given_up != use:
        others = tuple(name for name in data.unit_columns if name != column) if given_up == "unit" else ()
        data = replace(data, **data.single_after({given_up: None}), drop=(*data.drop, *others))
    if use == "drop":
        data = replace(data, carry=tuple(name for name in data.carry if name != column))
        return take_out(replace(plan, data=data), drop=(column,))
    return take_out(replace(plan, data=data), **{use: column})


def set_unit(plan: Plan, columns: Sequence[str]) -> Plan:
    """``plan`` whose households are numbered by these columns, one or several together; each gives up what it was."""
    for column in columns:
        plan = set_use(plan, column, "drop")
    for column in plan.data.unit_columns:
        plan = set_use(plan, column, "drop")
    return take_out(plan, unit=tuple(columns))


def merge_levels(attribute: AttributePlan, raw: RawTable, levels: Sequence[str], into: str) -> AttributePlan:
    """``attribute`` with some of its levels put together under the name ``into``, which may be one of its levels.

    Works on attributes of one column that is not cut; the new level stands where the first of them stood.
    """
    into = into.strip()
    if attribute.cut:
        raise UsageError(f"attribute '{attribute.name}' is cut; change its edges instead of merging")
    if len(attribute.view) > 1:
        raise UsageError(f"attribute '{attribute.name}' views several columns; merge its levels in the plan file")
    if len(set(levels)) < 2:
        raise UsageError("choose at least two levels to put together")
    if not into:
        raise UsageError("the level that they become needs a name")
    merged = {value for _, values in attribute.merge for value in values}
    values_of = dict(attribute.merge)
    unmerged = {text for text in texts(raw.columns[attribute.view[0]].values) if text not in merged}
    chosen = list(dict.fromkeys(levels))
    if into in {*values_of, *unmerged, *attribute.levels} and into not in chosen:
        chosen.append(into)
    values: list[str] = []
    for level in chosen:
        level_values = [*values_of.get(level, ()), *([level] if level in unmerged else [])]
        if not level_values and level not in attribute.levels:
            raise UsageError(f"attribute '{attribute.name}' has no level '{level}'")
        values += level_values
    if not values:
        raise UsageError("no record has one of these levels, so there is nothing to put together")
    merge = []
    for level, raw_values in attribute.merge:
        if level not in chosen:
            merge.append((level, raw_values))
    merge.append((into, tuple(dict.fromkeys(values))))
    declared: list[str] = []
    for level in attribute.levels:
        name = into if level in chosen else level
        if name not in declared:
            declared.append(name)
    return replace(attribute, merge=tuple(merge), levels=tuple(declared))


def split_levels(attribute: AttributePlan, raw: RawTable) -> AttributePlan:
    """``attribute`` with the levels that a first plan would give it: nothing cut or put together by hand."""
    if len(attribute.view) > 1:
        return replace(attribute, merge=(), levels=())
    fresh = first_part(raw, attribute.view[0], missing=attribute.missing, skip=attribute.skip)
    return replace(
        attribute, cut=(), labels=(), merge=fresh.merge, levels=fresh.levels, on_missing=attribute.on_missing
    )


def viewed_by(attribute: AttributePlan, raw: RawTable, column: str) -> AttributePlan:
    """``attribute`` with its levels made from another column of its block, as a first plan would make them."""
    if column not in attribute.columns:
        raise UsageError(
            f"column '{column}' is not in the block of '{attribute.name}'.{did_you_mean(column, attribute.columns)}"
        )
    if attribute.view == (column,):
        return attribute
    if not facts(raw.columns[column], raw.n_records).categorical:
        return AttributePlan(attribute.name, attribute.columns, (column,), on_missing=attribute.on_missing)
    fresh = first_part(raw, column)
    return replace(fresh, name=attribute.name, columns=attribute.columns, view=(column,))
