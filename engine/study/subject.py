"""The subject of a study: its plan, attributes, measures and the figures of the unaltered data."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.stored_values import from_json, is_number, is_texts, is_whole, sum_of
from engine.measures import MeasureCall, call
from engine.plan import Plan, plan_from_toml
from engine.study.database import Database

FORMATS = (1, 2)
"""Formats that are read; 2 has check sums."""
SCHEMA = "create table about (name text primary key, value text, crc integer) without rowid"
_TABLES = ("about", "scenario", "realisation", "fresh", "run", "note", "decision")
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "plan": (lambda value: isinstance(value, str), "a plan"),
    "attributes": (is_texts, "a list of names"),
    "measures": (is_texts, "a list of measures"),
    "streamed": (is_texts, "a list of columns"),
    "levels": (lambda value: isinstance(value, list) and all(map(is_whole, value)), "a list of numbers"),
    "original": (
        lambda value: isinstance(value, dict) and all(figure is None or is_number(figure) for figure in value.values()),
        "figures by measure",
    ),
    "created": (is_number, "a time"),
    "stream_version": (is_whole, "a number"),
    "n_records": (is_whole, "a number of records"),
    "n_cells": (is_whole, "a number of cells"),
    **{
        name: (lambda value: isinstance(value, str), "a text")
        for name in ("source", "version", "fingerprint", "files", "key_check")
    },
}
"""Facts of a study, by name: the check of its value, and what the value has to be."""


class _About(dict[str, Any]):
    """Facts of a study, by name; a name that is missing is that of a damaged study."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def __missing__(self, name: str) -> Any:
        raise self._database.damaged(f"it does not say its '{name}'")


class Subject:
    """Subject of a study; plan and measures are parsed once, until :meth:`refresh`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._plan: Plan | None = None
        self._measures: tuple[MeasureCall, ...] | None = None

    def refresh(self) -> None:
        """Parse plan and measures again when they are next asked for."""
        self._plan = self._measures = None

    @cached_property
    def has_sums(self) -> bool:
        """True where rows carry check sums: those of format 1 do not."""
        return self._format() > 1

    def _format(self) -> int:
        rows = self._database.rows("select value from about where name = 'format'")
        try:
            return int(from_json(rows[0][0]))
        except (IndexError, ValueError, TypeError, OverflowError):
            raise self._database.damaged("it does not say its format") from None

    def check(self) -> None:
        """Refuse (:class:`EngineError`) a file of another format, one without its tables, and one whose values about
        itself are not of their kind."""
        version = self._format()
        if version not in FORMATS:
            read = " and ".join(map(str, FORMATS))
            raise EngineError(f"study '{self._database.name}' has format {version}, this version reads format {read}")
        for table in _TABLES:
            if not self._database.has_table(table):
                raise self._database.damaged(f"its table '{table}' is missing")
        _ = self.about, self.measures

    @property
    def about(self) -> dict[str, Any]:
        """Facts on data, key check and version, by name; each value fits its check sum and is of its
        kind."""
        sums = self.has_sums
        about = _About(self._database)
        for name, value, *crc in self._database.rows(f"select name, value{', crc' if sums else ''} from about"):
            if sums and crc != [sum_of([name, value])]:
                raise self._database.damaged(f"its '{name}' does not fit its check sum")
            try:
                about[name] = from_json(value)
            except ValueError:
                raise self._database.damaged(f"its '{name}' cannot be read") from None
        for name, (fits, what) in _KINDS.items():
            if name in about and not fits(about[name]):
                raise self._database.damaged(f"its '{name}' is not {what}")
        return about

    def put(self, db: sqlite3.Connection, values: Mapping[str, Any]) -> None:
        """Replace values of :attr:`about`, in a transaction of the caller's."""
        put_about(db, values, self.has_sums)

    @property
    def plan(self) -> Plan:
        """The plan that the study runs."""
        if self._plan is None:
            self._plan = plan_from_toml(self.about["plan"])
        return self._plan

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in domain order."""
        return tuple(self.about["attributes"])

    @property
    def measures(self) -> tuple[MeasureCall, ...]:
        """The study's measures, in the order of the values' columns."""
        if self._measures is None:
            self._measures = tuple(call(text) for text in self.about["measures"])
        return self._measures

    @property
    def original(self) -> dict[str, float]:
        """Each measure on the unaltered data, by its text."""
        about = self.about
        figures = {name: float("nan") if value is None else float(value) for name, value in about["original"].items()}
        for name in about["measures"]:
            if name not in figures:
                raise self._database.damaged(f"it has no figure of the unaltered data for '{name}'")
        return figures

    def measure_index(self, text: str) -> int:
        """Column of the measure with this text, or with this bare name when that is unambiguous; :class:`UsageError`
        where there is none."""
        texts = [str(measure) for measure in self.measures]
        wanted = str(call(text))
        if wanted in texts:
            return texts.index(wanted)
        same = [i for i, measure in enumerate(self.measures) if measure.measure.name == text.strip()]
        if len(same) == 1:
            return same[0]
        raise UsageError(f"the study has no measure '{text}'.{did_you_mean(text, texts)}")


def put_about(db: sqlite3.Connection, values: Mapping[str, Any], sums: bool = True) -> None:
    """Write what a study tells about itself, in a transaction of the caller's."""
    rows = [(name, _json(value)) for name, value in values.items()]
    if sums:
        db.executemany(
            "insert or replace into about (name, value, crc) values (?, ?, ?)", [(*r, sum_of(list(r))) for r in rows]
        )
    else:
        db.executemany("insert or replace into about (name, value) values (?, ?)", rows)


def _json(value: Any) -> str:
    """JSON with null in place of a figure that is not defined."""
    if isinstance(value, dict):
        value = {k: None if isinstance(v, float) and v != v else v for k, v in value.items()}
    return json.dumps(value)
