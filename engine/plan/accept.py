"""Accept a proposal: return the plan with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from engine.common.errors import UsageError
from engine.plan.attribute import AttributePlan
from engine.plan.attribute_names import attributes_named, is_writable, with_attributes_renamed
from engine.plan.column_labels import with_notation
from engine.plan.context import SingleUse, UnitColumns, unit_columns
from engine.plan.places import HOUSEHOLD_SWAP, with_mechanism
from engine.plan.proposal import Proposal
from engine.plan.types import DataPlan, Plan, SpacePlan, is_pattern
from engine.release.spec import AttributeSpec


def accept(plan: Plan, proposal: Proposal) -> Plan:
    """``plan`` with ``proposal`` carried out; an equal plan when it changes nothing.

    Attributes that join another's block hand their roles to it; the block keeps the name and the levels of one that the
    plan names or cuts.  An analysis, edit rule, table or spec that names an attribute which would go is a
    :class:`UsageError`: it says something that the proposal would silently change.
    """
    if proposal.kind in ("missing", "code"):
        return _missing(plan, proposal)
    if proposal.kind == "alike":
        return _alike(plan, proposal)
    if proposal.kind in ("block", "skip"):
        return _join(plan, proposal)
    if proposal.kind == "name":
        named = (part.name for part in plan.attributes if part.columns == proposal.columns)
        return with_attributes_renamed(plan, {name: proposal.new_name for name in named if not is_writable(name)})
    if proposal.notation is not None:
        columns = with_notation(plan.data.columns, proposal.columns[0], proposal.notation)
        return replace(plan, data=replace(plan.data, columns=columns))
    if proposal.kind == "number":
        return take_out(plan, drop=proposal.columns)
    if proposal.kind in ("constant", "line"):
        return take_out(plan, carry=proposal.columns)
    if proposal.exchange is not None:
        return with_mechanism(plan, proposal.exchange)
    if proposal.kind == "unit":
        return _unit(plan, proposal)
    leading, *others = proposal.columns
    declared = getattr(plan.data, proposal.kind)
    if declared is not None:
        others = [name for name in proposal.columns if name != declared]
        leading = declared
    if proposal.kind == "weight":
        return take_out(plan, carry=others, weight=leading)
    # A second number of records or households would be released if it were carried.
    return take_out(plan, drop=others, **{proposal.kind: leading})


def _unit(plan: Plan, proposal: Proposal) -> Plan:
    """The plan whose unit is the leading column of a proposal, or those that number households together."""
    leading = plan.data.unit_columns or proposal.together or proposal.columns[:1]
    if plan.data.unit is None and plan.data.id in leading:
        plan = replace(plan, data=replace(plan.data, id=None, drop=(*plan.data.drop, str(plan.data.id))))
    return take_out(plan, drop=[name for name in proposal.columns if name not in leading], unit=leading)


def changes(plan: Plan, proposal: Proposal) -> bool:
    """Return whether :func:`accept` would change ``plan`` (or refuse to); much faster than to try for a block or a
    skip."""
    if proposal.kind in ("block", "skip"):
        columns, affected = _reach(plan.data, proposal)
        if len(affected) != 1 or not set(columns) <= set(affected[0].columns):
            return bool(affected)
        return _coded(affected[0], proposal, plan) != affected[0]
    try:
        return accept(plan, proposal) != plan
    except UsageError:
        return True  # accepting it says what is in its way


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
        c for c in carry if c in free and c not in special and not _under(c, data.carry) and not _dropped(data, c)
    ]
    dropped = [c for c in drop if c in free and c not in special and not _under(c, data.drop)]
    given = {use: columns for use, columns in single.items() if columns and free.issuperset(unit_columns(columns))}
    changed = replace(
        data,
        attributes=attributes,
        **data.single_after(given),
        carry=(*(c for c in data.carry if c not in (*named, *dropped)), *carried),
        drop=(*(c for c in data.drop if c not in named), *dropped),
        numeric=tuple(c for c in data.numeric if c not in (id, *unit_columns(unit), *dropped)),
    )
    return _renamed(plan, changed, dict.fromkeys(gone))


def _reach(data: DataPlan, proposal: Proposal) -> tuple[list[str], list[AttributePlan]]:
    """The columns that a block or skip concerns (what is dropped, id, unit or weight stays that), and the attributes
    that hold some of them."""
    columns = [c for c in proposal.columns if c not in data.single_uses and not _dropped(data, c)]
    concerned = set(columns)
    return columns, [a for a in data.attributes if not concerned.isdisjoint(a.columns)]


def _join(plan: Plan, proposal: Proposal) -> Plan:
    """The columns of the proposal as one block, where at least one of them is in an attribute."""
    data = plan.data
    columns, affected = _reach(data, proposal)
    if not affected:
        return plan
    # An attribute that somebody chose keeps name and levels; else the one that views the finest column.
    rank, chosen = {name: i for i, name in enumerate(columns)}, _chosen(plan)
    target = min(
        affected,
        key=lambda a: (a.name not in chosen and not a.cut, min(rank.get(c, len(rank)) for c in a.view)),
    )
    joined_columns = dict.fromkeys((*target.columns, *columns, *(c for a in affected for c in a.columns)))
    joined = _coded(replace(target, columns=tuple(joined_columns)), proposal, plan)
    attributes = tuple(joined if a is target else a for a in data.attributes if a is target or a not in affected)
    changed = replace(data, attributes=attributes, carry=tuple(c for c in data.carry if c not in joined_columns))
    return _renamed(plan, changed, {a.name: target.name for a in affected if a is not target})


def _coded(attribute: AttributePlan, proposal: Proposal, plan: Plan) -> AttributePlan:
    """The attribute with the code that says "skipped" in the column it views."""
    codes = {link.column: link.code for link in proposal.links if link.kind == "skip"}
    if len(attribute.view) == 1 and attribute.view[0] in codes:
        return _with_skip(attribute, codes[attribute.view[0]], plan)
    return attribute


def _with_skip(attribute: AttributePlan, code: str | None, plan: Plan) -> AttributePlan:
    if code is None or code in (*plan.data.missing, *attribute.missing):
        return replace(attribute, on_missing="level")
    if code in attribute.skip:
        return attribute
    return replace(_without(attribute, {code}), skip=(*attribute.skip, code))


def _missing(plan: Plan, proposal: Proposal) -> Plan:
    codes = dict(proposal.codes)
    attributes = []
    for attribute in plan.attributes:
        of_plan = () if proposal.kind == "code" else plan.data.missing
        new = {c for name in attribute.view for c in codes.get(name, ())} - {
            *attribute.missing,
            *attribute.skip,
            *of_plan,
        }
        if new:
            ordered = tuple(c for name in attribute.view for c in codes.get(name, ()) if c in new)
            attribute = _without(attribute, new)
            attribute = replace(attribute, missing=(*attribute.missing, *dict.fromkeys(ordered)), on_missing="level")
        attributes.append(attribute)
    return replace(plan, data=replace(plan.data, attributes=tuple(attributes)))


def _alike(plan: Plan, proposal: Proposal) -> Plan:
    """Values that look alike as one level each, called as most of its records are; what the plan merges or declares to
    be no answer stays."""
    attributes = []
    for attribute in plan.attributes:
        for name, group in proposal.codes:
            taken = {*attribute.missing, *attribute.skip, *(raw for _, values in attribute.merge for raw in values)}
            alike = tuple(raw for raw in group if raw not in taken and raw in (attribute.levels or group))
            if attribute.view == (name,) and not attribute.cut and len(alike) > 1:
                levels = tuple(level for level in attribute.levels if level not in alike[1:])
                attribute = replace(attribute, levels=levels, merge=(*attribute.merge, (alike[0], alike)))
        attributes.append(attribute)
    return replace(plan, data=replace(plan.data, attributes=tuple(attributes)))


def _without(attribute: AttributePlan, codes: set[str]) -> AttributePlan:
    """The attribute whose value levels no longer hold these raw values."""
    merge = tuple((level, tuple(raw for raw in values if raw not in codes)) for level, values in attribute.merge)
    emptied = {level for level, values in merge if not values}
    levels = tuple(level for level in attribute.levels if level not in emptied and level not in codes)
    return replace(attribute, merge=tuple((level, raw) for level, raw in merge if raw), levels=levels)


def _under(column: str, entries: Iterable[str]) -> bool:
    return any(entry == column or (is_pattern(entry) and fnmatchcase(column, entry)) for entry in entries)


def _dropped(data: DataPlan, column: str) -> bool:
    return _under(column, data.drop) and not any(column in a.columns for a in data.attributes)


def _renamed(plan: Plan, data: DataPlan, new_names: dict[str, str | None]) -> Plan:
    """``plan`` on ``data``, whose attributes in ``new_names`` went into another one, or out of the plan (None)."""
    if not new_names:
        return replace(plan, data=data)
    refuse_uses(plan, new_names)
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


def _chosen(plan: Plan) -> set[str]:
    """The attributes that a list of roles, which is not that of all, or another entry names."""
    roles = (names for names in (plan.keys, plan.swap, plan.analyse) if names != plan.names)
    named = (*roles, plan.space.fix, plan.space.change, *(names for _, names in _uses(plan)))
    return {name for names in named for name in names}


def _uses(plan: Plan) -> list[tuple[str, Iterable[str]]]:
    """The entries of a plan that would mean something else without an attribute, each with those that it names."""
    uses: list[tuple[str, Iterable[str]]] = [(f"edit rule '{rule.name}'", rule.attributes) for rule in plan.edits]
    uses += [(f"analysis '{a.name}'", (*a.by, *a.columns)) for a in plan.analyses]
    uses += [(f"table '{table.name}'", table.attributes) for table in plan.tables]
    for entry in plan.mechanisms:
        use = "the exchange of households" if entry.name == HOUSEHOLD_SWAP else f"mechanism '{entry.name}'"
        uses.append((use, attributes_named(entry)))
    for spec in plan.space.specs:
        parsed = AttributeSpec.parse(spec, plan.names)
        named = [name for name, role in zip(parsed.names, parsed.roles, strict=True) if role != "U"]
        uses.append((f"the spec '{spec}'", named))
    return uses


def refuse_uses(plan: Plan, new_names: Mapping[str, str | None]) -> None:
    """Refuse (:class:`UsageError`) to take attributes from under an entry that names them: each would become part of
    the one that ``new_names`` gives, or go (None)."""
    for use, names in _uses(plan):
        for name in names:
            if name in new_names:
                where = (
                    f"would become part of '{new_names[name]}'"
                    if new_names[name]
                    else "would no longer be an attribute"
                )
                raise UsageError(f"{use} uses '{name}', which {where}; change it first")
