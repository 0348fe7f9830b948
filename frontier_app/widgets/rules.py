"""Edit rules, declared analyses and tables as rows to edit, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.domain import Domain
from engine.data.edit_rules import EditRule
from engine.plan import AnalysisPlan, Plan, TablePlan
from engine.plan.entries import QUANTILE
from frontier_app.wording import remedies

_IS = " = "
_EXISTING = ": only what exists"
Picks = dict[str, tuple[str, str | None]]
"""Words that a person picks, with the attribute and the level that they stand for; None stands for all combinations of
the attribute that the original does not hold."""
EFFECTS = ("counts", "forbids")
"""What an edit rule does: it counts broken records, or no swap may break it."""
_LEVELS = 60  # attributes with more levels are left out of what can be picked


def picks(domain: Domain, plan: Plan) -> Picks:
    """The choices for a forbidden combination."""
    options: Picks = {f"{attribute.name}{_EXISTING}": (attribute.name, None) for attribute in domain.attributes}
    options |= {
        f"{attribute.name}{_IS}{level}": (attribute.name, level)
        for attribute in domain.attributes
        if attribute.size <= _LEVELS
        for level in attribute.levels
    }
    for rule in plan.edits:
        for name, levels in rule.forbid:
            options |= {f"{name}{_IS}{level}": (name, level) for level in levels}
        options |= {f"{name}{_EXISTING}": (name, None) for name in rule.existing}
    return options


def edit_rows(plan: Plan) -> pd.DataFrame:
    """One row per edit rule: its name, the levels it forbids together, and what it does to swaps."""
    rows = [
        (
            rule.name,
            [f"{name}{_IS}{level}" for name, levels in rule.forbid for level in levels]
            + [f"{name}{_EXISTING}" for name in rule.existing],
            EFFECTS[rule.refuse],
        )
        for rule in plan.edits
    ]
    return pd.DataFrame(
        {
            column: pd.Series([row[k] for row in rows], dtype=object)
            for k, column in enumerate(("name", "forbid", "effect"))
        }
    )


def edits_of(table: pd.DataFrame, known: Picks) -> tuple[EditRule, ...]:
    """The rules that a table says; rows without anything are no rules."""
    rules = []
    for name, levels_picked, effect in zip(table["name"], table["forbid"], table["effect"], strict=True):
        forbid: dict[str, list[str]] = {}
        existing: list[str] = []
        for word in levels_picked if isinstance(levels_picked, list | tuple) else []:
            attribute, level = known[word]
            if level is None:
                existing.append(attribute)
            else:
                forbid.setdefault(attribute, []).append(level)
        text = _text(name)
        if not text and not forbid and not existing:
            continue
        if not forbid and not existing:
            raise UsageError(f"edit rule '{text}' forbids nothing yet; pick levels of at least one attribute")
        text = text or ", ".join([f"{attribute} {' or '.join(levels)}" for attribute, levels in forbid.items()])
        text = text or f"only {' × '.join(existing)} that exist"
        picked = tuple((attribute, tuple(levels)) for attribute, levels in forbid.items())
        rules.append(EditRule(text, picked, effect == EFFECTS[True], tuple(existing)))
    return tuple(rules)


Row = dict[str, Any]
"""One row of inputs."""


def analysis_rows(plan: Plan) -> list[Row]:
    """One row per declared analysis."""
    names = ("name", "formula", "family", "weighted", "tau")
    return [{**{name: getattr(a, name) for name in names}, "by": list(a.by)} for a in plan.analyses]


def analyses_of(
    rows: Sequence[Row], plan: Plan, columns: Sequence[str]
) -> tuple[tuple[AnalysisPlan, ...], dict[int, str]]:
    """The analyses that rows say, and what is wrong with single rows by their place; rows without anything are none.

    ``columns`` are the raw columns that a formula may name beside the plan's attributes.
    """
    analyses: list[AnalysisPlan] = []
    wrong = {}
    for i, row in enumerate(rows):
        name, formula = _text(row["name"]), _text(row["formula"])
        if not name and not formula:
            continue
        try:
            analysis = AnalysisPlan(
                name or f"analysis {i + 1}",
                formula,
                _text(row["family"]) or "linear",
                tuple(row["by"]),
                row["weighted"],
                _text(row["tau"]) if row["family"] == QUANTILE else "",
            )
            _check_names(analysis, plan, columns)
            replace(plan, analyses=(*analyses, analysis))
        except EngineError as error:
            wrong[i] = remedies.error_text(error)
        else:
            analyses.append(analysis)
    return tuple(analyses), wrong


def _check_names(analysis: AnalysisPlan, plan: Plan, columns: Sequence[str]) -> None:
    """Refuse a formula with a name that is nothing in these data."""
    known = tuple(dict.fromkeys((*plan.names, *columns)))
    for name in analysis.columns:
        if name not in known and name.removesuffix("_raw") not in plan.names:
            raise UsageError(
                f"analysis '{analysis.name}' names '{name}', which is no attribute and no column of the data."
                + did_you_mean(name, known)
            )


def table_rows(plan: Plan) -> list[Row]:
    """One row per table that users make."""
    return [{"name": table.name, "attributes": list(table.attributes)} for table in plan.tables]


def tables_of(rows: Sequence[Row], plan: Plan) -> tuple[tuple[TablePlan, ...], dict[int, str]]:
    """The tables that rows say, and what is wrong with single rows by their place; rows without anything are none."""
    tables: list[TablePlan] = []
    wrong = {}
    for i, row in enumerate(rows):
        text, attributes = _text(row["name"]), tuple(row["attributes"])
        if not text and not attributes:
            continue
        try:
            table = TablePlan(text or " by ".join(attributes), attributes)
            replace(plan, tables=(*tables, table))
        except EngineError as error:
            wrong[i] = remedies.error_text(error)
        else:
            tables.append(table)
    return tuple(tables), wrong


def numbers_from(plan: Plan, columns: Sequence[str]) -> list[str]:
    """Raw columns that measures may use as numbers: those that stay in a release."""
    out = {plan.data.id, *plan.data.unit_columns, *plan.data.drop}
    return [name for name in columns if name not in out]


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
