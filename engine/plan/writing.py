"""Write a plan as TOML, short enough to be read and changed by hand.

Written directly: the general TOML libraries take half a second for a plan with hundreds of attributes, and the
dashboard writes the plan after every change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields

from engine.data.edit_rules import EditRule
from engine.plan.analysis import AnalysisPlan
from engine.plan.attribute import AttributePlan
from engine.plan.column_labels import ColumnPlan
from engine.plan.context import SINGLE_USES, AboutPlan, PublishPlan, ThreatPlan, TolerancePlan
from engine.plan.mechanism import MechanismPlan
from engine.plan.types import DEFAULT_MISSING, DEFAULT_PROBABILITY, DataPlan, DecisionPlan, Plan, SpacePlan

_WIDTH = 100  # signs from which a list or a table is written over several lines
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTEXT = {"about": AboutPlan, "threat": ThreatPlan, "tolerances": TolerancePlan, "publish": PublishPlan}

Entries = dict[str, object]
"""Entries of a section: a text, a truth, a number, a sequence of them, or a mapping of names to sequences of texts."""


def plan_to_toml(plan: Plan) -> str:
    """``plan`` as TOML text that :func:`engine.plan.plan_from_toml` reads back to an equal plan; defaults may be left
    out."""
    sections = [
        _block("[data]", _data(plan.data)),
        *(_block("[[attribute]]", _attribute(entry)) for entry in plan.attributes),
        *(_block("[[column]]", _column(entry)) for entry in plan.data.columns),
        _block("[roles]", {key: getattr(plan, key) for key in _ROLES if getattr(plan, key) != plan.names}),
        *(_block("[[edit]]", _edit(rule)) for rule in plan.edits),
        *(_block("[[analysis]]", _analysis(entry)) for entry in plan.analyses),
        *(_block("[[mechanism]]", _mechanism(entry)) for entry in plan.mechanisms),
        _block("[space]", _space(plan.space)),
        _block("[measures]", {"names": plan.measures}),
        _block("[decision]", _decision(plan.decision)),
        *(_block("[[table]]", {"name": entry.name, "attributes": entry.attributes}) for entry in plan.tables),
        *(_block(f"[{name}]", _changed(getattr(plan, name), kind())) for name, kind in _CONTEXT.items()),
        _block("[lock]", {} if plan.lock is None else vars(plan.lock)),
    ]
    return "\n".join(block for block in sections if block)


_ROLES = ("keys", "swap", "analyse")
_OF_COLUMN = ("label", "measure", "missing", "decimal", "thousands", "real")


def _data(data: DataPlan) -> Entries:
    entries: Entries = {} if data.missing == DEFAULT_MISSING else {"missing": data.missing}
    entries |= _given({use: getattr(data, use) for use in SINGLE_USES})
    return entries | _filled(data, "carry", "drop", "numeric", "seen")


def _attribute(attribute: AttributePlan) -> Entries:
    entries: Entries = {"name": attribute.name}
    if attribute.columns != (attribute.name,):
        entries["columns"] = attribute.columns
    if attribute.view != attribute.columns[:1]:
        entries["view"] = attribute.view
    entries |= _filled(attribute, "cut", "labels", "levels")
    if attribute.merge:
        entries["merge"] = dict(attribute.merge)
    entries |= _filled(attribute, "skip", "missing")
    if attribute.on_missing != "refuse":
        entries["on_missing"] = attribute.on_missing
    return entries


def _column(column: ColumnPlan) -> Entries:
    labels: Entries = {"values": dict(column.values)} if column.values else {}
    return {"name": column.name, **_filled(column, *_OF_COLUMN), **labels}


def _edit(rule: EditRule) -> Entries:
    forbid = {"forbid": dict(rule.forbid)} if rule.forbid else {}
    return {"name": rule.name, **forbid, **_filled(rule, "existing", "refuse")}


def _analysis(analysis: AnalysisPlan) -> Entries:
    entries: Entries = {key: getattr(analysis, key) for key in ("name", "formula", "family")}
    return entries | _filled(analysis, "tau", "by", "weighted")


def _mechanism(mechanism: MechanismPlan) -> Entries:
    grid = {key: values[0] if len(values) == 1 else values for key, values in mechanism.grid}
    return {"name": mechanism.name, **grid}


def _space(space: SpacePlan) -> Entries:
    entries = _filled(space, "all_specs", "search", "adaptive", "swap_sizes", "specs", "fix", "change")
    entries |= {"rule": space.rule, "rates": space.rates, "replicates": space.replicates}
    return entries | {
        key: getattr(space, key) for key in ("budget", "screen") if getattr(space, key) != getattr(SpacePlan, key)
    }


def _filled(section: object, *names: str) -> Entries:
    """The entries of a part that are not empty."""
    return {name: getattr(section, name) for name in names if getattr(section, name)}


def _given(entries: Mapping[str, object]) -> Entries:
    """Entries that are given at all."""
    return {name: value for name, value in entries.items() if value is not None}


def _decision(decision: DecisionPlan) -> Entries:
    """The rule of the decision, with the probability only where it is not the default: plans that were locked before
    there was one keep their digest."""
    entries = _given(vars(decision))
    if decision.probability == DEFAULT_PROBABILITY:
        del entries["probability"]
    return entries


def _changed(section: object, default: object) -> Entries:
    """The entries of a part that are not its defaults."""
    pairs = ((f.name, getattr(section, f.name)) for f in fields(section))  # type: ignore[arg-type]
    return {name: value for name, value in pairs if value != getattr(default, name)}


def _block(head: str, entries: Mapping[str, object]) -> str:
    """A section under its head; without entries it is empty.  A table too long for a line becomes a section of its own,
    after all other entries: what follows it would be its own."""
    lines, tables = [head], []
    for key, value in entries.items():
        if isinstance(value, Mapping):
            inside = ", ".join(
                f"{_key(name)} = {_value(entry) if isinstance(entry, str) else _list(entry)}"
                for name, entry in value.items()
            )
            if len(inside) + 2 > _WIDTH:
                within = head.strip("[]") + "." + key
                tables.append(_block(f"[{within}]", value))
                continue
            lines.append(f"{_key(key)} = {{{inside}}}")
        elif isinstance(value, tuple):
            lines.append(f"{_key(key)} = {_list(value, wrapped=True)}")
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    return "\n".join(["\n".join(lines) + "\n", *tables]) if entries else ""


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _list(values: Iterable[object], *, wrapped: bool = False) -> str:
    written = [_value(value) for value in values]
    line = "[" + ", ".join(written) + "]"
    if not wrapped or len(line) <= _WIDTH:
        return line
    return "[\n" + "".join(f"    {text},\n" for text in written) + "]"


def _value(value: object) -> str:
    """A text, a truth or a number."""
    if isinstance(value, str):
        # the same escapes as in JSON, and one sign that JSON lets stand
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else str(value)
