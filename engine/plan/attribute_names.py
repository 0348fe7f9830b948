"""Names of attributes: those that a measure can be written with, and a plan with attributes renamed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from engine.common.errors import UsageError
from engine.plan.mechanism import MechanismPlan
from engine.plan.types import Plan
from engine.release.spec import AttributeSpec

SIGNS = "[ ] ; , + ="
"""Signs of the form in which measures are written, which no name in a measure may hold."""
NAMING = (
    *("attributes", "by", "target", "hierarchy", "level", "risk", "near", "similar", "vars", "within", "strata"),
    *("swap", "boundary", "linked", "stratum"),
)
"""Parameters of measures and mechanisms whose values are names of attributes, joined by + or |."""
_OF_OWN_FORM = ("formula", "matrix")  # parameters of a mechanism that name attributes among other words
_SIGNS = frozenset(SIGNS) - {" "}


def attributes_named(entry: MechanismPlan) -> tuple[str, ...]:
    """The attributes that a mechanism of a plan names in its parameters, in :data:`NAMING` ones."""
    texts = [text for name, values in entry.grid if name in NAMING for text in values]
    parts = [part.strip() for text in texts for part in re.split(r"[+|]", text)]
    # of near, such as Age:2, a name stands before the steps
    return tuple(dict.fromkeys(name for part in parts for name in (part, part.rpartition(":")[0].strip()) if name))


def is_writable(name: str) -> bool:
    """Return whether a measure can be written with an attribute's name."""
    return not _SIGNS & set(name)


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
