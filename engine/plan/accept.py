"""Accept a proposal: return the plan with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from engine.common.errors import UsageError
from engine.plan.attribute import AttributePlan
from engine.plan.proposal import Proposal
from engine.plan.types import DataPlan, Plan, SpacePlan, is_pattern
from engine.release.spec import AttributeSpec


def accept(plan: Plan, proposal: Proposal) -> Plan:
    """``plan`` with ``proposal`` carried out; an equal plan when it changes nothing.

    Attributes that join another's block hand their roles to it.  An analysis, edit rule, table or spec that names an
    attribute which would go is a :class:`UsageError`: it says something that the proposal would silently change.
    """
    if proposal.kind == "missing":
        return _missing(plan, proposal)
    if proposal.kind in ("block", "skip"):
        return _join(plan, proposal)
    if proposal.kind == "constant":
        return _aside(plan, carry=proposal.columns)
    lead, *more = proposal.columns
    own = getattr(plan.data, proposal.kind)
    if own is not None:
        more = [name for name in proposal.columns if name != own]
        lead = own
    if proposal.kind == "id":
        # A second id would be released if it were carried.
        return _aside(plan, drop=more, id=lead)
    return _aside(plan, carry=more, weight=lead)


def changes(plan: Plan, proposal: Proposal) -> bool:
    """Whether :func:`accept` would change ``plan`` (or refuse to); much faster than to try for a block or a skip."""
    if proposal.kind in ("block", "skip"):
        columns, touched = _reach(plan.data, proposal)
        if len(touched) != 1 or not set(columns) <= set(touched[0].columns):
            return bool(touched)
        return _coded(touched[0], proposal, plan) != touched[0]
    try:
        return accept(plan, proposal) != plan
    except UsageError:
        return True  # what stands in its way is said when somebody accepts it


def _aside(
    plan: Plan, carry: Sequence[str] = (), drop: Sequence[str] = (), id: str | None = None, weight: str | None = None
) -> Plan:
    """Columns that stop being attributes of their own; what was already decided for one of them stays as it is."""
    gone = {*carry, *drop, *(name for name in (id, weight) if name is not None)}
    data = plan.data
    in_blocks = {c for a in data.attributes if len(a.columns) > 1 for c in a.columns}
    free = gone - in_blocks
    attributes = tuple(a for a in data.attributes if not set(a.columns) <= free)
    taken = {data.id, data.weight}
    carried = [c for c in carry if c in free and c not in taken and not _under(c, data.carry) and not _dropped(data, c)]
    dropped = [c for c in drop if c in free and c not in taken and not _under(c, data.drop)]
    changed = replace(
        data,
        attributes=attributes,
        id=id if id in free or id == data.id else data.id,
        weight=weight if weight in free or weight == data.weight else data.weight,
        carry=(*(c for c in data.carry if c not in (id, weight, *dropped)), *carried),
        drop=(*(c for c in data.drop if c not in (id, weight)), *dropped),
        numeric=tuple(c for c in data.numeric if c != id and c not in dropped),
    )
    return _renamed(plan, changed, {a.name: None for a in data.attributes if a not in attributes})


def _reach(data: DataPlan, proposal: Proposal) -> tuple[list[str], list[AttributePlan]]:
    """The columns that a block or skip concerns (what is dropped, id or weight stays that), and the attributes that
    hold some of them."""
    columns = [c for c in proposal.columns if c not in (data.id, data.weight) and not _dropped(data, c)]
    wanted = set(columns)
    return columns, [a for a in data.attributes if not wanted.isdisjoint(a.columns)]


def _join(plan: Plan, proposal: Proposal) -> Plan:
    """The columns of the proposal as one block, where at least one of them is in an attribute."""
    data = plan.data
    columns, touched = _reach(data, proposal)
    if not touched:
        return plan
    # The attribute that views the finest column keeps its coding.
    rank = {name: i for i, name in enumerate(columns)}
    home = min(touched, key=lambda a: min((rank.get(c, len(rank)) for c in a.view), default=len(rank)))
    members = dict.fromkeys((*home.columns, *columns, *(c for a in touched for c in a.columns)))
    joined = _coded(replace(home, columns=tuple(members)), proposal, plan)
    attributes = tuple(joined if a is home else a for a in data.attributes if a is home or a not in touched)
    changed = replace(data, attributes=attributes, carry=tuple(c for c in data.carry if c not in members))
    return _renamed(plan, changed, {a.name: home.name for a in touched if a is not home})


def _coded(part: AttributePlan, proposal: Proposal, plan: Plan) -> AttributePlan:
    """The attribute with the code that says "skipped" in the column it views."""
    codes = {link.column: link.code for link in proposal.links if link.kind == "skip"}
    if len(part.view) == 1 and part.view[0] in codes:
        return _with_skip(part, codes[part.view[0]], plan)
    return part


def _with_skip(part: AttributePlan, code: str | None, plan: Plan) -> AttributePlan:
    if code is None or code in (*plan.data.missing, *part.missing):
        return replace(part, on_missing="level")
    if code in part.skip:
        return part
    return replace(_without(part, {code}), skip=(*part.skip, code))


def _missing(plan: Plan, proposal: Proposal) -> Plan:
    codes = dict(proposal.codes)
    attributes = []
    for part in plan.attributes:
        new = {c for name in part.view for c in codes.get(name, ())} - {*part.missing, *part.skip, *plan.data.missing}
        if new:
            ordered = tuple(c for name in part.view for c in codes.get(name, ()) if c in new)
            part = _without(part, new)
            part = replace(part, missing=(*part.missing, *dict.fromkeys(ordered)), on_missing="level")
        attributes.append(part)
    return replace(plan, data=replace(plan.data, attributes=tuple(attributes)))


def _without(part: AttributePlan, codes: set[str]) -> AttributePlan:
    """The attribute whose value levels no longer hold these raw values."""
    merge = tuple((level, tuple(raw for raw in values if raw not in codes)) for level, values in part.merge)
    emptied = {level for level, values in merge if not values}
    levels = tuple(level for level in part.levels if level not in emptied and level not in codes)
    return replace(part, merge=tuple((level, raw) for level, raw in merge if raw), levels=levels)


def _under(column: str, entries: Iterable[str]) -> bool:
    return any(entry == column or (is_pattern(entry) and fnmatchcase(column, entry)) for entry in entries)


def _dropped(data: DataPlan, column: str) -> bool:
    return not any(column in a.columns for a in data.attributes) and _under(column, data.drop)


def _renamed(plan: Plan, data: DataPlan, to: dict[str, str | None]) -> Plan:
    """``plan`` on ``data``, whose attributes in ``to`` went into another one, or went (None)."""
    if not to:
        return replace(plan, data=data)
    _refuse_uses(plan, to)
    kept = tuple(a.name for a in data.attributes)

    def role(names: Iterable[str]) -> tuple[str, ...]:
        if tuple(names) == plan.names:
            return kept
        new = dict.fromkeys(to.get(name, name) for name in names)
        return tuple(name for name in new if name is not None)

    fix = role(plan.space.fix) if plan.space.fix else ()
    change = tuple(name for name in (role(plan.space.change) if plan.space.change else ()) if name not in fix)
    swap = role(plan.swap)
    may = len([name for name in (swap or kept) if name not in fix and name not in change])
    sizes = tuple(size for size in plan.space.swap_sizes if size <= max(1, min(may, max(1, len(kept) - 1))))
    space: SpacePlan = replace(plan.space, fix=fix, change=change, swap_sizes=sizes)
    return replace(plan, data=data, keys=role(plan.keys), swap=swap, analyse=role(plan.analyse), space=space)


def _refuse_uses(plan: Plan, to: dict[str, str | None]) -> None:
    uses: list[tuple[str, Iterable[str]]] = [
        (f"edit rule '{rule.name}'", [name for name, _ in rule.forbid]) for rule in plan.edits
    ]
    uses += [(f"analysis '{a.name}'", (*a.by, *a.columns)) for a in plan.analyses]
    uses += [(f"table '{table.name}'", table.attributes) for table in plan.tables]
    for spec in plan.space.specs:
        parsed = AttributeSpec.parse(spec, plan.names)
        named = [name for name, role in zip(parsed.names, parsed.roles, strict=True) if role != "U"]
        uses.append((f"the spec '{spec}'", named))
    for what, names in uses:
        for name in names:
            if name in to:
                where = f"would become part of '{to[name]}'" if to[name] else "would no longer be an attribute"
                raise UsageError(f"{what} uses '{name}', which {where}; change it first")
