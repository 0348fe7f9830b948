"""Edit rules and declared analyses as simple tables, and back."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from engine.domain import Domain
from engine.errors import UsageError
from engine.microdata import EditRule
from engine.plan import AnalysisPlan, Plan

_IS = " = "
_LEVELS = 60  # attributes with more levels are left out of what can be picked


def picks(domain: Domain, plan: Plan) -> dict[str, tuple[str, str]]:
    """What a forbidden combination is picked from: words -> (attribute, level)."""
    found = {
        f"{attribute.name}{_IS}{level}": (attribute.name, level)
        for attribute in domain.attributes
        if attribute.size <= _LEVELS
        for level in attribute.levels
    }
    for rule in plan.edits:
        for name, levels in rule.forbid:
            found |= {f"{name}{_IS}{level}": (name, level) for level in levels}
    return found


def edit_rows(plan: Plan) -> pd.DataFrame:
    """One row per edit rule: its name and the levels it forbids together."""
    rows = [
        (rule.name, [f"{name}{_IS}{level}" for name, levels in rule.forbid for level in levels]) for rule in plan.edits
    ]
    return pd.DataFrame(
        {
            "name": pd.Series([row[0] for row in rows], dtype=object),
            "forbid": pd.Series([r[1] for r in rows], dtype=object),
        }
    )


def edits_of(table: pd.DataFrame, known: dict[str, tuple[str, str]]) -> tuple[EditRule, ...]:
    """The rules that a table says; rows without anything are no rules."""
    rules = []
    for name, words in zip(table["name"], table["forbid"], strict=True):
        forbid: dict[str, list[str]] = {}
        for word in words if isinstance(words, list | tuple) else []:
            attribute, level = known[word]
            forbid.setdefault(attribute, []).append(level)
        text = _text(name)
        if not text and not forbid:
            continue
        if not forbid:
            raise UsageError(f"edit rule '{text}' forbids nothing yet; pick levels of at least one attribute")
        text = text or ", ".join(f"{attribute} {' or '.join(levels)}" for attribute, levels in forbid.items())
        rules.append(EditRule(text, tuple((attribute, tuple(levels)) for attribute, levels in forbid.items())))
    return tuple(rules)


def analysis_rows(plan: Plan) -> pd.DataFrame:
    """One row per declared analysis."""
    rows = [(a.name, a.formula, a.family, list(a.by), a.weighted) for a in plan.analyses]
    names = ("name", "formula", "family", "by", "weighted")
    types = (object, object, object, object, bool)
    return pd.DataFrame({name: pd.Series([row[i] for row in rows], dtype=types[i]) for i, name in enumerate(names)})


def analyses_of(table: pd.DataFrame) -> tuple[AnalysisPlan, ...]:
    """The analyses that a table says; rows without anything are none."""
    found = []
    for i, row in enumerate(table.to_dict("records")):
        name, formula = _text(row["name"]), _text(row["formula"])
        if not name and not formula:
            continue
        by = row["by"] if isinstance(row["by"], list | tuple) else []
        weighted = row["weighted"] is True or str(row["weighted"]) == "True"
        found.append(
            AnalysisPlan(name or f"analysis {i + 1}", formula, _text(row["family"]) or "linear", tuple(by), weighted)
        )
    return tuple(found)


def numbers_from(plan: Plan, columns: Sequence[str]) -> list[str]:
    """Raw columns that measures may use as numbers: those that stay in a release."""
    out = {plan.data.id, *plan.data.drop}
    return [name for name in columns if name not in out]


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
