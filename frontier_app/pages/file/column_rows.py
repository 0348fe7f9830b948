"""Rows of the table of columns: from a file and a plan to rows, and from edited rows back to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from engine.common.errors import UsageError
from engine.common.raw_values import texts
from engine.data.microdata import RawColumn, RawTable
from engine.plan import DEFAULT_MISSING, AttributePlan, DataPlan, Plan, SpacePlan
from engine.plan.coding import assign_columns
from engine.plan.columns import facts
from engine.plan.edit import led_by, with_attributes_renamed
from engine.plan.entries import OnMissing
from engine.plan.guess import in_said_order
from engine.plan.types import is_pattern
from engine.release.spec import AttributeSpec

DECISIONS = {
    "attribute": "coded: can be swapped, tabulated or both",
    "carry": "stays with its record, unchanged, and is released",
    "drop": "never leaves",
    "weight": "stays with its record; released only when asked for",
    "id": "stays with its record; released only when asked for",
    "unit": "numbers households (several columns do so together), which stay together; released only when asked for",
}
"""What happens to a column, by the decision on it."""
ROLES = ("keys", "swap", "analyse")
MISSING = {"refuse": "refuse", "level": "a level"}
NONE = "–"
_SHOWN = 4  # values shown as examples


def looks(raw: RawTable) -> pd.DataFrame:
    """A description of each column: what it holds, its number of distinct values and of records without one; and its
    label, where the file has labels; ``numeric`` marks columns of numbers."""
    rows = []
    for name, column in raw.columns.items():
        seen = facts(column, raw.n_records)
        numeric = seen.numeric and not seen.labelled and not seen.looks_like_id
        holds = _words(column, numeric, seen.looks_like_id)
        rows.append((name, column.about.label, holds, seen.n_distinct, seen.n_missing, numeric))
    table = pd.DataFrame(rows, columns=["column", "label", "holds", "values", "missing", "numeric"])
    return table if (table["label"] != "").any() else table.drop(columns="label")


def _words(column: RawColumn, numeric: bool, is_id: bool) -> str:
    """A column in few words; an id shows none of its values."""
    if is_id:
        return "looks like an id"
    if numeric and not column.notation.clear:
        return "numbers that can be read in several ways"
    if numeric:
        values = column.numbers
        values = values[np.isfinite(values)]
        low, high = (f"{v:,.6g}" for v in (values.min(), values.max()))
        return f"numbers {low} to {high}" if low != high else f"the number {low}"
    shown = [column.about.label_or_value(text) for text in texts(column.values.slice(0, _SHOWN))]
    return ", ".join(text if len(text) <= 18 else text[:17] + "…" for text in shown) + (
        " …" if len(column.values) > _SHOWN else ""
    )


def rows(raw: RawTable, plan: Plan | None, seen: pd.DataFrame) -> pd.DataFrame:
    """One row per column of the file: its looks, its decision (none for a column without a use in the plan) and the
    roles of its attribute."""
    of = {column: a for a in plan.attributes for column in a.columns} if plan else {}
    uses = _uses(plan, raw) if plan else {}
    table = []
    for name in raw.names:
        attribute = of.get(name)
        if attribute is not None and plan is not None:
            roles = [attribute.name in getattr(plan, role) for role in ROLES]
            table.append(("attribute", attribute.name, *roles, MISSING[attribute.on_missing]))
            continue
        table.append((uses.get(name, "carry" if plan is None else None), "", False, False, False, NONE))
    named = pd.DataFrame(table, columns=["decision", "attribute", *ROLES, "on_missing"])
    named = named.astype(dict.fromkeys(ROLES, "boolean"))  # the grid lets a mark be cleared, which is none
    return pd.concat([seen.drop(columns="numeric").reset_index(drop=True), named], axis=1)


def _uses(plan: Plan, raw: RawTable) -> dict[str, str]:
    """The decision on each column that no attribute has; a column without a use is not in it."""
    assigned = assign_columns(plan.data, raw.names)
    uses = dict.fromkeys(assigned.carried, "carry") | dict.fromkeys(assigned.dropped, "drop")
    return uses | plan.data.single_uses


def plan_of(edited: pd.DataFrame, before: pd.DataFrame, raw: RawTable, plan: Plan | None) -> Plan | None:
    """The plan that edited rows say; ``plan`` itself when they say nothing new.

    An attribute that is new takes part in everything; one whose columns lose the column it was coded by starts afresh.
    What the plan says of columns that the file does not have stays, and a column without a use stays without one.
    """
    edited, before = (frame.fillna({**dict.fromkeys(ROLES, False), "decision": ""}) for frame in (edited, before))
    if plan is not None and edited.equals(before):
        return plan
    edited = _completed(edited, before)
    if plan is not None and edited.equals(before):
        return plan
    by_name = {a.name: a for a in plan.attributes} if plan else {}
    blocks: dict[str, list[str]] = {}
    coded = edited[edited["decision"] == "attribute"]
    for name, column in zip(coded["attribute"], coded["column"], strict=True):
        blocks.setdefault(name, []).append(column)
    absent = _absent(plan, raw, blocks)
    for name, columns in absent.items():
        blocks.setdefault(name, []).extend(columns)
    old_names = {tuple(a.columns): a.name for a in by_name.values()}
    renamed = {
        old_names[tuple(columns)]: name
        for name, columns in blocks.items()
        if name not in by_name and tuple(columns) in old_names
    }
    if plan is not None and renamed:
        # a block that gets the name of one of its columns has that column's levels
        columns_of = {name: set(columns) for name, columns in blocks.items()}
        plan = led_by(raw, plan, (name for name in renamed.values() if name in columns_of[name]))
        plan = with_attributes_renamed(plan, {old: name for old, name in renamed.items() if old in plan.names})
        by_name = {a.name: a for a in plan.attributes}
    on_missing = dict(zip(coded["attribute"], coded["on_missing"], strict=True))
    on_missing = {name: MISSING[by_name[name].on_missing] for name in absent} | on_missing
    parts = [
        _attribute(name, columns, by_name.get(name), on_missing[name] == MISSING["level"], raw)
        for name, columns in _in_order(blocks, list(by_name))
    ]
    chosen = {decision: tuple(edited.loc[edited["decision"] == decision, "column"]) for decision in DECISIONS}
    for decision in ("weight", "id"):
        if len(chosen[decision]) > 1:
            raise UsageError(f"columns {' and '.join(chosen[decision])} are both marked {decision}; mark one")
    aside = {*chosen["drop"], *chosen["id"], *chosen["unit"]}
    data = DataPlan(
        tuple(parts),
        plan.data.missing if plan else DEFAULT_MISSING,
        (*chosen["weight"], *_not_there(plan, raw, "weight"), None)[0],
        (*chosen["id"], *_not_there(plan, raw, "id"), None)[0],
        (*chosen["carry"], *_not_there(plan, raw, "carry")),
        (*chosen["drop"], *_not_there(plan, raw, "drop")),
        tuple(name for name in plan.data.numeric if name not in aside) if plan else (),
        _unit_of(plan, (*chosen["unit"], *_not_there(plan, raw, "unit"))),
        columns=plan.data.columns if plan else (),
    )
    names = [part.name for part in parts]
    roles = _roles(coded, names, plan, set(absent).difference(coded["attribute"]))
    if plan is None:
        return Plan(data, keys=roles["keys"], swap=roles["swap"], analyse=roles["analyse"])
    space = _followed(plan, names)
    able = [name for name in roles["swap"] if name not in space.fix and name not in space.change]
    sizes = tuple(size for size in space.swap_sizes if size <= len(able))
    space = replace(space, swap_sizes=sizes)
    return replace(plan, data=data, keys=roles["keys"], swap=roles["swap"], analyse=roles["analyse"], space=space)


def _unit_of(plan: Plan | None, columns: Sequence[str]) -> tuple[str, ...] | None:
    """The columns marked unit, in the order that the plan has them in."""
    old = plan.data.unit_columns if plan is not None else ()
    return (*(name for name in old if name in columns), *(name for name in columns if name not in old)) or None


def _roles(
    coded: pd.DataFrame, names: Sequence[str], plan: Plan | None, without_row: set[str]
) -> dict[str, tuple[str, ...]]:
    """The attributes in each role, by the marks of their rows; those ``without_row`` have them from the plan."""
    roles = {}
    for role in ROLES:
        marked = set(coded.loc[coded[role], "attribute"])
        marked |= without_row.intersection(getattr(plan, role) if plan is not None else ())
        roles[role] = tuple(name for name in names if name in marked)
        if not roles[role]:
            raise UsageError(f"no attribute is marked {role}; mark at least one")
    return roles


def _absent(plan: Plan | None, raw: RawTable, blocks: dict[str, list[str]]) -> dict[str, list[str]]:
    """Columns of the plan's attributes that the file does not have, by attribute; none of an attribute whose other
    columns were all given another use."""
    there = set(raw.names)
    absent = {a.name: [c for c in a.columns if c not in there] for a in plan.attributes} if plan else {}
    wholly = {a.name for a in plan.attributes if there.isdisjoint(a.columns)} if plan else set()
    return {name: columns for name, columns in absent.items() if columns and (name in blocks or name in wholly)}


def _not_there(plan: Plan | None, raw: RawTable, use: str) -> tuple[str, ...]:
    """The columns that the plan gives a use and the file does not have; a pattern was replaced by the columns it
    matches."""
    if plan is None:
        return ()
    given = getattr(plan.data, use)
    names = given if isinstance(given, tuple) else () if given is None else (given,)
    return tuple(name for name in names if name not in raw.columns and not is_pattern(name))


def _completed(edited: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Rows with consequences drawn: a new attribute is called after its column and takes part in everything."""
    edited = edited.copy()
    aside = edited["decision"] != "attribute"
    edited.loc[aside, ["attribute", "on_missing"]] = ["", NONE]
    edited.loc[aside, list(ROLES)] = False
    for row in edited.index[~aside]:
        was = before.at[row, "decision"]
        if not str(edited.at[row, "attribute"] or "").strip():
            edited.at[row, "attribute"] = str(edited.at[row, "column"])
        if was != "attribute" and not edited.loc[row, list(ROLES)].any():
            edited.loc[row, list(ROLES)] = True
        if edited.at[row, "on_missing"] not in MISSING.values():
            edited.at[row, "on_missing"] = MISSING["level" if edited.at[row, "missing"] else "refuse"]
    # The columns of one block say the same: a mark changed on one of them counts for all.
    for name, group in edited[edited["decision"] == "attribute"].groupby("attribute", sort=False):
        if len(group) > 1:
            for what in (*ROLES, "on_missing"):
                changed = [
                    v for i, v in group[what].items() if v != before.at[i, what] and before.at[i, "attribute"] == name
                ]
                edited.loc[group.index, what] = changed[0] if changed else group[what].iloc[0]
    return edited


def _in_order(blocks: dict[str, list[str]], old: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Known attributes in their order, which is part of every stream; new ones follow in the file's order."""
    names = [*(name for name in old if name in blocks), *(name for name in blocks if name not in old)]
    return [(name, blocks[name]) for name in names]


def _attribute(
    name: str, columns: list[str], old: AttributePlan | None, missing_is_level: bool, raw: RawTable
) -> AttributePlan:
    on_missing: OnMissing = "level" if missing_is_level else "refuse"
    if old is None or any(column not in columns for column in old.view):
        part = AttributePlan(name, tuple(columns), on_missing=on_missing)
        return in_said_order(part, raw, DEFAULT_MISSING)
    ordered = [c for c in old.columns if c in columns] + [c for c in columns if c not in old.columns]
    return replace(old, columns=tuple(ordered), on_missing=on_missing)


def _followed(plan: Plan, names: Sequence[str]) -> SpacePlan:
    """The space after removing attributes; refuses to remove one that an edit rule names."""
    for rule in plan.edits:
        removed = [name for name in rule.attributes if name not in names]
        if removed:
            raise UsageError(
                f"edit rule '{rule.name}' names '{removed[0]}', which would no longer be an attribute;"
                " take the rule out of the plan first"
            )
    specs = []
    for text in plan.space.specs:
        spec = AttributeSpec.parse(text, plan.names)
        roles = {name: role for name, role in zip(spec.names, spec.roles, strict=True) if role != "U"}
        if set(roles) <= set(names):
            specs.append(" ".join(f"{name}:{role}" for name, role in roles.items()))
    space = replace(
        plan.space,
        fix=tuple(name for name in plan.space.fix if name in names),
        change=tuple(name for name in plan.space.change if name in names),
        specs=tuple(specs),
    )
    return space
