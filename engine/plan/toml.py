"""Read a plan from TOML and refuse a wrong entry by its name; :mod:`engine.plan.writing` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal, get_origin, get_type_hints

from engine.common.errors import Remedy, UsageError, did_you_mean
from engine.common.parsing import fits, shown
from engine.data.edit_rules import EditRule
from engine.plan.analysis import AnalysisPlan
from engine.plan.attribute import AttributePlan
from engine.plan.column_labels import ColumnPlan
from engine.plan.context import AboutPlan, LockPlan, PublishPlan, TablePlan, ThreatPlan, TolerancePlan
from engine.plan.mechanism import MechanismPlan
from engine.plan.reading import plan_text, toml_entries
from engine.plan.types import DataPlan, DecisionPlan, Plan, SpacePlan

_TEXTS = tuple[str, ...]
_TABLE = dict[str, _TEXTS]
_LABELS = dict[str, str]
_DECIMAL = str | int | float
_PARAMETER = _DECIMAL | bool
_PARAMETERS = _PARAMETER | tuple[_PARAMETER, ...]
_WORDS: dict[Any, str] = {
    str: "a text",
    str | None: "a text",
    _TEXTS: "a list of texts",
    str | _TEXTS | None: "a text, or a list of texts",
    _TABLE: "a table",
    _LABELS: 'a table of texts such as {1 = "Male"}',
    bool: "true or false",
    int: "a whole number",
    tuple[int, ...]: "a list of whole numbers",
    tuple[float, ...]: "a list of numbers",
    _DECIMAL: "a decimal number in quotes",
    tuple[_DECIMAL, ...]: "a list of decimal numbers in quotes",
    _PARAMETERS: "a text, a number, true or false, or a list of them",
}
_AS_WRITTEN = {
    **dict.fromkeys(("merge", "forbid"), _TABLE),
    "values": _LABELS,
    **dict.fromkeys(("max_risk", "slope", "probability", "change", "se", "se_ratio", "tau"), _DECIMAL),
    "rates": tuple[_DECIMAL, ...],
}
"""Entries that a plan's file writes in another type than the plan holds; ``change`` in [tolerances], not in [space]."""


def _types(kind: type, *left_out: str) -> dict[str, Any]:
    """The entries of a section as its dataclass declares them."""
    hints = {name: str if get_origin(hint) is Literal else hint for name, hint in get_type_hints(kind).items()}
    written = {name: as_written for name, as_written in _AS_WRITTEN.items() if (kind, name) != (SpacePlan, "change")}
    return {f.name: written.get(f.name, hints[f.name]) for f in fields(kind) if f.name not in left_out}


_LISTS = {
    "attribute": AttributePlan,
    "edit": EditRule,
    "analysis": AnalysisPlan,
    "mechanism": MechanismPlan,
    "table": TablePlan,
    "column": ColumnPlan,
}
_TABLES = {
    "space": SpacePlan,
    "decision": DecisionPlan,
    "about": AboutPlan,
    "threat": ThreatPlan,
    "tolerances": TolerancePlan,
    "publish": PublishPlan,
    "lock": LockPlan,
}
_SECTIONS = {
    **{name: _types(kind) for name, kind in {**_LISTS, **_TABLES}.items()},
    "data": _types(DataPlan, "attributes", "columns"),
    "roles": dict.fromkeys(("keys", "swap", "analyse"), _TEXTS),
    "measures": {"names": _TEXTS},
}
# An empty list here would silently mean "all" or "the default", the opposite of what it seems to say.
_NEVER_EMPTY = (
    *("keys", "swap", "analyse", "swap_sizes", "specs", "rates", "names", "columns", "view"),
    *("cut", "levels", "labels", "numeric", "by", "attributes"),
)
_EXAMPLES = {
    ("attribute", "name"): '"..."',
    ("analysis", "name"): '"survival"',
    ("analysis", "formula"): '"Survived ~ Sex + Age"',
    ("mechanism", "name"): '"rds"',
    ("table", "name"): '"work"',
    ("table", "attributes"): '["Age", "Job"]',
    ("column", "name"): '"SEX"',
}


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML file; every error names the file."""
    path = Path(path)
    text = plan_text(path)
    try:
        return plan_from_toml(text)
    except UsageError as error:
        raise UsageError(f"plan '{path.name}': {error}") from None


def plan_from_toml(text: str) -> Plan:
    """The plan written in ``text``; a mistake in it is a :class:`UsageError` that names the entry."""
    entries = toml_entries(text)
    for name, section in entries.items():
        _check_section(name, section)

    def listed(name: str) -> tuple[Any, ...]:
        return tuple(_LISTS[name](**_required(name, entry, i)) for i, entry in enumerate(entries.get(name, []), 1))

    return Plan(
        data=DataPlan(attributes=listed("attribute"), columns=listed("column"), **entries.get("data", {})),
        **entries.get("roles", {}),
        edits=listed("edit"),
        measures=entries.get("measures", {}).get("names", Plan.measures),
        analyses=listed("analysis"),
        mechanisms=tuple(_mechanism(entry, i) for i, entry in enumerate(entries.get("mechanism", []), 1)),
        tables=listed("table"),
        **{name: kind(**_required(name, entries[name])) for name, kind in _TABLES.items() if name in entries},
    )


def _check_section(name: str, section: object) -> None:
    if name not in _SECTIONS:
        raise UsageError(f"unknown section '{name}'.{did_you_mean(name, _SECTIONS)}")
    if name not in _LISTS:
        if not isinstance(section, dict):
            raise UsageError(f"'{name}' must be a table; write [{name}] above its entries")
        _check_entries(f"[{name}]", section, _SECTIONS[name])
        return
    if not (isinstance(section, list) and all(isinstance(entry, dict) for entry in section)):
        raise UsageError(f"'{name}' must be a list of tables; write [[{name}]] above each")
    for i, entry in enumerate(section, 1):
        # a mechanism's other entries are parameters, which the mechanism knows
        known = {**dict.fromkeys(entry, _PARAMETERS), "name": str} if name == "mechanism" else _SECTIONS[name]
        _check_entries(f"[[{name}]] number {i}", entry, known)


def _check_entries(where: str, entries: Mapping[str, object], known: Mapping[str, Any]) -> None:
    for key, value in entries.items():
        if key not in known:
            raise UsageError(f"{where} has the unknown entry '{key}'.{did_you_mean(key, known)}")
        if not fits(value, known[key]):
            raise UsageError(f"{where}: {key} is {shown(value)}, must be {_WORDS[known[key]]}")
        if key in _NEVER_EMPTY and value == []:
            raise UsageError(f"{where}: {key} is empty; leave it out for the default or list something")


def _required(name: str, entry: dict[str, Any], number: int | None = None) -> dict[str, Any]:
    """The entries of a section that holds all that it must, tables as pairs."""
    for f in fields(_LISTS.get(name) or _TABLES[name]):
        if f.name in entry or f.default is not MISSING:
            continue
        if name == "lock":
            raise UsageError(f"[lock] has no {f.name}; an approval writes this section", Remedy.LOCK)
        example = _EXAMPLES.get((name, f.name))
        add = f"; add {f.name} = {example}" if example else ""
        raise UsageError(f"[[{name}]] number {number} has no {f.name}{add}")
    tables = {key: value for key, value in entry.items() if isinstance(value, dict)}
    return entry | {
        key: tuple((level, raw if isinstance(raw, str) else tuple(raw)) for level, raw in table.items())
        for key, table in tables.items()
    }


def _mechanism(entry: dict[str, Any], number: int) -> MechanismPlan:
    grid = dict(_required("mechanism", entry, number))
    return MechanismPlan.of(grid.pop("name"), grid)
