"""The plan read from TOML: a wrong entry is refused by its name.  :mod:`engine.plan.writing` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from engine.common.errors import UsageError, did_you_mean
from engine.data.microdata import EditRule
from engine.plan.analysis import AnalysisPlan
from engine.plan.attribute import AttributePlan
from engine.plan.context import AboutPlan, LockPlan, PublishPlan, TablePlan, ThreatPlan, TolerancePlan
from engine.plan.mechanism import MechanismPlan
from engine.plan.reading import plan_text, toml_entries
from engine.plan.types import (
    DEFAULT_MEASURES,
    DataPlan,
    DecisionPlan,
    Plan,
    SpacePlan,
)

_TEXTS, _TEXT, _TABLE, _TRUTH, _WHOLE, _NUMBERS, _DECIMAL, _DECIMALS, _WHOLES = (
    "a list of texts",
    "a text",
    "a table",
    "true or false",
    "a whole number",
    "a list of numbers",
    "a decimal number in quotes",
    "a list of decimal numbers in quotes",
    "a list of whole numbers",
)
_SECTIONS = {
    "data": {"missing": _TEXTS, "weight": _TEXT, "id": _TEXT, "carry": _TEXTS, "drop": _TEXTS, "numeric": _TEXTS},
    "attribute": {
        "name": _TEXT,
        "columns": _TEXTS,
        "view": _TEXTS,
        "cut": _NUMBERS,
        "labels": _TEXTS,
        "levels": _TEXTS,
        "merge": _TABLE,
        "skip": _TEXTS,
        "missing": _TEXTS,
        "on_missing": _TEXT,
    },
    "roles": {"keys": _TEXTS, "swap": _TEXTS, "analyse": _TEXTS},
    "edit": {"name": _TEXT, "forbid": _TABLE},
    "analysis": {"name": _TEXT, "formula": _TEXT, "family": _TEXT, "by": _TEXTS, "weighted": _TRUTH},
    "space": {
        "swap_sizes": _WHOLES,
        "all_specs": _TRUTH,
        "specs": _TEXTS,
        "fix": _TEXTS,
        "change": _TEXTS,
        "rule": _TEXT,
        "rates": _DECIMALS,
        "replicates": _WHOLE,
        "search": _TRUTH,
        "budget": _WHOLE,
        "adaptive": _TRUTH,
        "screen": _WHOLE,
    },
    "mechanism": {"name": _TEXT},
    "measures": {"names": _TEXTS},
    "decision": {"risk": _TEXT, "utility": _TEXT, "max_risk": _DECIMAL, "slope": _DECIMAL, "realisation": _TEXT},
    "about": dict.fromkeys((f.name for f in fields(AboutPlan)), _TEXT),
    "threat": {"intruder": _TEXT, "public_files": _TEXTS, "harm": _TEXT},
    "table": {"name": _TEXT, "attributes": _TEXTS},
    "tolerances": {"change": _DECIMAL, "min_n": _WHOLE, "se": _DECIMAL, "se_ratio": _DECIMAL},
    "publish": {**dict.fromkeys((f.name for f in fields(PublishPlan)), _TEXT), "include": _TEXTS},
    "lock": dict.fromkeys((f.name for f in fields(LockPlan)), _TEXT),
}
_LISTS_OF_TABLES = ("attribute", "edit", "analysis", "mechanism", "table")
_CONTEXT = {"about": AboutPlan, "threat": ThreatPlan, "tolerances": TolerancePlan, "publish": PublishPlan}
# An empty list here would silently mean "all" or "the default", the opposite of what it seems to say.
_NEVER_EMPTY = (
    "keys",
    "swap",
    "analyse",
    "swap_sizes",
    "specs",
    "rates",
    "names",
    "columns",
    "view",
    "cut",
    "levels",
    "labels",
    "numeric",
    "by",
    "attributes",
)


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
        if name not in _SECTIONS:
            raise UsageError(f"unknown section '{name}'.{did_you_mean(name, _SECTIONS)}")
        _check_section(name, section)
    data = entries.get("data", {})
    roles = entries.get("roles", {})
    space = entries.get("space", {})
    return Plan(
        data=DataPlan(
            attributes=tuple(_attribute(entry, i) for i, entry in enumerate(entries.get("attribute", []), 1)), **data
        ),
        **roles,
        edits=tuple(_edit(entry, i) for i, entry in enumerate(entries.get("edit", []), 1)),
        space=SpacePlan(**space),
        measures=entries.get("measures", {}).get("names", DEFAULT_MEASURES),
        decision=DecisionPlan(**entries.get("decision", {})),
        analyses=tuple(_analysis(entry, i) for i, entry in enumerate(entries.get("analysis", []), 1)),
        mechanisms=tuple(_mechanism(entry, i) for i, entry in enumerate(entries.get("mechanism", []), 1)),
        tables=tuple(_user_table(entry, i) for i, entry in enumerate(entries.get("table", []), 1)),
        lock=_lock(entries["lock"]) if "lock" in entries else None,
        **{name: part(**entries.get(name, {})) for name, part in _CONTEXT.items()},
    )


def _check_section(name: str, section: object) -> None:
    if name in _LISTS_OF_TABLES:
        if not isinstance(section, list) or not all(isinstance(entry, dict) for entry in section):
            raise UsageError(f"'{name}' must be a list of tables; write [[{name}]] above each")
        for i, entry in enumerate(section, 1):
            if name == "mechanism":  # its other entries are parameters, which the mechanism knows
                entry = {key: value for key, value in entry.items() if key == "name"}
            _check_entries(f"[[{name}]] number {i}", entry, _SECTIONS[name])
    elif not isinstance(section, dict):
        raise UsageError(f"'{name}' must be a table; write [{name}] above its entries")
    else:
        _check_entries(f"[{name}]", section, _SECTIONS[name])


def _check_entries(where: str, entries: Mapping[str, object], known: Mapping[str, str]) -> None:
    for key, value in entries.items():
        if key not in known:
            raise UsageError(f"{where} has the unknown entry '{key}'.{did_you_mean(key, known)}")
        if not _fits(value, known[key]):
            raise UsageError(f"{where}: {key} is {_show(value)}, must be {known[key]}")
        if key in _NEVER_EMPTY and value == []:
            raise UsageError(f"{where}: {key} is empty; leave it out for the default or list something")


def _fits(value: object, want: str) -> bool:
    if want in (_TEXTS, _NUMBERS, _DECIMALS, _WHOLES):
        one = {_TEXTS: _TEXT, _DECIMALS: _DECIMAL, _WHOLES: _WHOLE}.get(want, "a number")
        return isinstance(value, list) and all(_fits(item, one) for item in value)
    if want == _TABLE:
        return isinstance(value, dict) and all(_fits(item, _TEXTS) for item in value.values())
    if want == _TRUTH:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    types: dict[str, tuple[type, ...]] = {
        _TEXT: (str,),
        _WHOLE: (int,),
        "a number": (int, float),
        _DECIMAL: (str, int, float),
    }
    return isinstance(value, types[want])


def _show(value: object) -> str:
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _attribute(entry: dict[str, Any], number: int) -> AttributePlan:
    if "name" not in entry:
        raise UsageError(f'[[attribute]] number {number} has no name; add name = "..."')
    merge = tuple((level, tuple(raw)) for level, raw in entry.get("merge", {}).items())
    return AttributePlan(**{**entry, "merge": merge})


def _edit(entry: dict[str, Any], number: int) -> EditRule:
    for key in ("name", "forbid"):
        if key not in entry:
            raise UsageError(f"[[edit]] number {number} has no {key}")
    return EditRule(entry["name"], tuple((attribute, tuple(levels)) for attribute, levels in entry["forbid"].items()))


def _mechanism(entry: dict[str, Any], number: int) -> MechanismPlan:
    grid = dict(entry)
    if "name" not in grid:
        raise UsageError(f'[[mechanism]] number {number} has no name; add name = "rds"')
    name = grid.pop("name")
    for key, value in grid.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str | int | float | bool):
                raise UsageError(
                    f"[[mechanism]] '{name}': {key} is {_show(value)}, must be a text, a number, true or false, or a "
                    "list of them"
                )
    return MechanismPlan.of(name, grid)


def _analysis(entry: dict[str, Any], number: int) -> AnalysisPlan:
    for key, example in (("name", "survival"), ("formula", "Survived ~ Sex + Age")):
        if key not in entry:
            raise UsageError(f'[[analysis]] number {number} has no {key}; add {key} = "{example}"')
    return AnalysisPlan(**entry)


def _user_table(entry: dict[str, Any], number: int) -> TablePlan:
    for key, example in (("name", '"work"'), ("attributes", '["Age", "Job"]')):
        if key not in entry:
            raise UsageError(f"[[table]] number {number} has no {key}; add {key} = {example}")
    return TablePlan(**entry)


def _lock(entry: dict[str, Any]) -> LockPlan:
    for f in fields(LockPlan):
        if f.name not in entry:
            raise UsageError(f"[lock] has no {f.name}; `frontier plan lock` writes this section")
    return LockPlan(**entry)
