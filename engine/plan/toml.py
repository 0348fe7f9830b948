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
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.untrusted import MOST_BYTES, kind_of, read_plain
from engine.data.domain import EditRule
from engine.plan.entries import AnalysisPlan, ColumnPlan, MechanismPlan
from engine.plan.schema import Declared, declared, typed
from engine.plan.types import ROLES, DataPlan, Plan, SpacePlan

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
            raise EngineError(f"plan '{path.name}' is {kind}; give the file of a plan")
        size = path.stat().st_size  # a plan of 10^5 attributes takes a tenth of the most
        if size > MOST_BYTES:
            raise EngineError(
                f"plan '{path.name}' has {size:,} bytes, and a plan has at most {MOST_BYTES:,}; is it the data?"
            )
        return read_plain(path, follow=True).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"plan '{path.name}' does not exist; write a first one", Remedy.FIRST_PLAN) from None
    except UnicodeDecodeError:
        raise EngineError(f"plan '{path.name}' is not UTF-8 text; save it as UTF-8") from None
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


_LISTS = {
    "attribute": "attributes",
    "edit": "edits",
    "analysis": "analyses",
    "mechanism": "mechanisms",
    "table": "tables",
    "column": "columns",
}
"""Sections that may be there several times, with the entry of the plan that they make."""
_PLAN = declared(Plan)
_TABLES = [name for name, of in _PLAN.items() if of.part and not of.is_list]
_KINDS = {name: (declared(DataPlan) | _PLAN)[_LISTS.get(name, name)].part for name in (*_LISTS, *_TABLES)}
_SECTIONS: Mapping[str, Mapping[str, Declared]] = {
    **{name: declared(kind) for name, kind in _KINDS.items()},
    "data": {name: of for name, of in declared(DataPlan).items() if name not in _LISTS.values()},
    "roles": {name: _PLAN[name] for name in ROLES},
    "measures": {"names": _PLAN["measures"]},
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
        return tuple(_made(name, entry, f"[[{name}]] number {i}") for i, entry in enumerate(entries.get(name, []), 1))

    def texts(section: str) -> dict[str, Any]:
        written = entries.get(section, {})
        return {key: typed(value, tuple[str, ...], f"[{section}]: {key}") for key, value in written.items()}

    parts: dict[str, Any] = texts("roles") | {"measures": texts("measures").get("names", Plan.measures)}
    parts |= {entry: listed(name) for name, entry in _LISTS.items() if entry in _PLAN}
    parts |= {name: _made(name, entries[name], f"[{name}]") for name in entries if name in _TABLES and name != "data"}
    data = {"attributes": listed("attribute"), "columns": listed("column"), **entries.get("data", {})}
    return Plan(_made("data", data, "[data]"), **parts)


def _check_section(name: str, section: object) -> None:
    if name not in _SECTIONS:
        raise UsageError(f"unknown section '{name}'.{did_you_mean(name, _SECTIONS)}")
    if name not in _LISTS:
        if not isinstance(section, dict):
            raise UsageError(f"'{name}' must be a table; write [{name}] above its entries")
        _check_names(f"[{name}]", section, _SECTIONS[name])
        return
    if not (isinstance(section, list) and all(isinstance(entry, dict) for entry in section)):
        raise UsageError(f"'{name}' must be a list of tables; write [[{name}]] above each")
    for i, entry in enumerate(section, 1):
        if name != "mechanism":  # its other entries are parameters, which the mechanism knows
            _check_names(f"[[{name}]] number {i}", entry, _SECTIONS[name])


def _check_names(where: str, entries: Mapping[str, object], known: Mapping[str, Declared]) -> None:
    for key, value in entries.items():
        if key not in known:
            raise UsageError(f"{where} has the unknown entry '{key}'.{did_you_mean(key, known)}")
        # an empty list would silently mean "all" or "the default", the opposite of what it seems to say
        if value == [] and known[key].entry.never_empty:
            raise UsageError(f"{where}: {key} is empty; leave it out for the default or list something")


def _made(name: str, entries: Mapping[str, Any], where: str) -> Any:
    """A section of its entries; an error says where it stands."""
    kind = _KINDS[name]
    for key, (_, default, said) in declared(kind).items():
        if default is MISSING and key not in entries:
            if name == "lock":
                raise UsageError(f"[lock] has no {key}; an approval writes this section", Remedy.LOCK)
            add = f"; add {key} = {said.example}" if said.example else ""
            raise UsageError(f"{where} has no {key}{add}")
    try:
        return MechanismPlan.read(**entries) if name == "mechanism" else kind(**entries)
    except UsageError as error:
        if name not in (*_LISTS, "data", "space"):
            raise  # it names the section
        raise UsageError(f"{where}: {error}", error.remedy, **error.values) from None


_WIDTH = 100  # signs from which a list or a table is written over several lines
_BARE = re.compile(r"[A-Za-z0-9_-]+")

Entries = dict[str, object]
"""Entries of a section: a text, a truth, a number, a sequence of them, or a mapping of names to sequences of texts."""


def plan_to_toml(plan: Plan) -> str:
    """``plan`` as TOML text that :func:`engine.plan.plan_from_toml` reads back to an equal plan; defaults may be left
    out."""
    data = plan.data
    sections = [
        _block("[data]", _entries(data, "attributes", "columns")),
        *(_block("[[attribute]]", _entries(entry)) for entry in data.attributes),
        *(_block("[[column]]", _entries(entry)) for entry in data.columns),
        _block("[roles]", {role: names for role in ROLES if (names := getattr(plan, role)) != plan.names}),
        *(_block("[[edit]]", _entries(entry)) for entry in plan.edits),
        *(_block("[[analysis]]", _entries(entry)) for entry in plan.analyses),
        *(_block("[[mechanism]]", {"name": entry.name, **_grid(entry)}) for entry in plan.mechanisms),
        _block("[space]", _entries(plan.space)),
        _block("[measures]", {"names": plan.measures}),
        _block("[decision]", _entries(plan.decision)),
        *(_block("[[table]]", _entries(entry)) for entry in plan.tables),
        *(_block(f"[{name}]", _entries(getattr(plan, name))) for name in ("about", "threat", "tolerances", "publish")),
        _block("[lock]", {} if plan.lock is None else _entries(plan.lock)),
    ]
    return "\n".join(block for block in sections if block)


_FIRST = {
    DataPlan: ("missing", "weight", "id", "unit"),
    ColumnPlan: ("name", "label", "measure", "missing", "decimal", "thousands", "real"),
    EditRule: ("name", "forbid", "existing"),
    AnalysisPlan: ("name", "formula", "family", "tau"),
    SpacePlan: ("all_specs", "search", "adaptive"),
}
"""Entries that the text has before others of their section, in another order than that of the fields."""


def _entries(part: Any, *elsewhere: str) -> Entries:
    """The entries of a part that are not its defaults, or that are always written, tables as such."""
    kind = part.__class__
    entries: Entries = {}
    for name in dict.fromkeys((*_FIRST.get(kind, ()), *declared(kind))):
        of, value = declared(kind)[name], getattr(part, name)
        default = of.default if of.entry.implied is None else of.entry.implied(part)
        if name not in elsewhere and (of.entry.written or value != default):
            entries[name] = dict(value) if of.is_table else value
    return entries


def _grid(mechanism: MechanismPlan) -> Entries:
    return {key: values[0] if len(values) == 1 else values for key, values in mechanism.grid}


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
