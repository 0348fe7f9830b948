"""Read a plan from TOML and refuse a wrong entry by its name; write it, short enough to be changed by hand.

Written directly: the general TOML libraries take half a second for a plan with hundreds of attributes, and the
dashboard writes the plan after every change.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal, get_origin, get_type_hints

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.untrusted import MOST_BYTES, fits, kind_of, read_plain, shown
from engine.data.domain import EditRule
from engine.plan.entries import (
    SINGLE_USES,
    AboutPlan,
    AnalysisPlan,
    AttributePlan,
    ColumnPlan,
    LockPlan,
    MechanismPlan,
    PublishPlan,
    TablePlan,
    ThreatPlan,
    TolerancePlan,
)
from engine.plan.types import DEFAULT_MISSING, DEFAULT_PROBABILITY, DataPlan, DecisionPlan, Plan, SpacePlan

_MOST_DEPTH = 16
_LARGEST = 2**63
# Repeats are possessive (*+): whatever the text, it is looked at once.
_BASIC = r'"(?:[^"\\\n]++|\\.)*+"'
_TOKEN = re.compile(
    rf"""(?P<parts>(?<![\w-])(?:(?:[\w-]++|{_BASIC}|'[^'\n]*+')[ \t]*+\.[ \t]*+){{16,}})"""
    r"""|(?P<number>(?<![\w-])[+-]?[0-9][0-9A-Fa-fxob_]{100,})"""
    # a text without an end goes as far as it can: the parser says what is wrong
    r"""|"{3}(?:[^"\\]++|\\.|"(?!""))*+(?:"{3})?|'{3}(?:[^']++|'(?!''))*+(?:'{3})?"""
    rf"""|{_BASIC}?|'[^'\n]*+'?|\#[^\n]*+|(?P<open>[\[{{])|(?P<close>[\]}}])""",
    re.DOTALL,
)


def plan_text(path: Path) -> str:
    """The text of a plan's file; what is no file of UTF-8 text, or a very large one, is refused by its name."""
    try:
        if kind := kind_of(path, follow=True):
            raise UsageError(f"plan '{path.name}' is {kind}; give the file of a plan")
        size = path.stat().st_size  # a plan of 10^5 attributes takes a tenth of the most
        if size > MOST_BYTES:
            raise UsageError(
                f"plan '{path.name}' has {size:,} bytes, and a plan has at most {MOST_BYTES:,}; is it the data?"
            )
        return read_plain(path, follow=True).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"plan '{path.name}' does not exist; write a first one", Remedy.FIRST_PLAN) from None
    except UnicodeDecodeError:
        raise UsageError(f"plan '{path.name}' is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise EngineError(f"plan '{path.name[:100]}' could not be read: {reason}") from None


def toml_entries(text: str) -> dict[str, Any]:
    """The entries of TOML text; a mistake in it is a :class:`UsageError`, and so is what no plan needs: entries nested
    deeper than 16, or numbers that 64 bits do not hold."""
    text = text.removeprefix("\ufeff")
    _check_bounds(text)
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not valid TOML: {error}") from None
    except ValueError as error:  # a date or an hour that does not exist
        raise UsageError(f"not valid TOML: {error}") from None
    _check_numbers(entries)
    return entries


def _check_bounds(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "open":
            depth += 1
        elif token.lastgroup == "close":
            depth -= 1
        elif token.lastgroup is not None:
            line = 1 + text.count("\n", 0, token.start())
            what = "a number of very many digits" if token.lastgroup == "number" else "a name of very many parts"
            raise UsageError(f"line {line} holds {what}; no plan needs one")
        if depth > _MOST_DEPTH:
            line = 1 + text.count("\n", 0, token.start())
            raise UsageError(f"line {line} nests lists or tables deeper than {_MOST_DEPTH}; no plan needs that")


def _check_numbers(value: object, where: str = "") -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _check_numbers(item, key)
    elif isinstance(value, list):
        for item in value:
            _check_numbers(item, where)
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise UsageError(f"{where} holds a whole number of more than 64 bits; no plan needs one")


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
        *(_block("[[mechanism]]", _mechanism_entries(entry)) for entry in plan.mechanisms),
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


def _mechanism_entries(mechanism: MechanismPlan) -> Entries:
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
