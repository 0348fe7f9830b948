"""The table of columns: find any, and give each its use and role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.common.errors import EngineError, UsageError
from engine.common.raw_values import texts
from engine.data.microdata import RawColumn, RawTable
from engine.plan import DEFAULT_MISSING, AttributePlan, DataPlan, Plan, SpacePlan
from engine.plan.coding import assign_columns
from engine.plan.columns import ColumnFound, Obstacle, facts, find_columns, histogram, searchable
from engine.plan.edit import could_be, led_by, set_roles, set_unit, set_use, with_attributes_renamed
from engine.plan.entries import SINGLE_USES, OnMissing, SingleUse, labelled_as_far
from engine.plan.guess import in_said_order
from engine.plan.types import is_pattern
from engine.release.spec import AttributeSpec
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_FOUND_SHOWN = 6  # columns found that are listed
_VERBS = {"keys": "Known", "swap": "Exchanged", "analyse": "Tabulated"}


def shown(raw: RawTable, plan: Plan, lists: Mapping[str, str]) -> None:
    """The field, and what it finds; ``lists`` are the inputs of the roles, by role, to which a column is added."""
    typed = st.text_input(
        "Find any column",
        key="role-find",
        placeholder="part of a name, a label or a value, such as married",
        icon=":material/search:",
    )
    columns = state.get().memo.get("searchable", raw.source, lambda: searchable(raw))
    found = find_columns(columns, plan, typed)
    if typed.strip() and not found:
        st.caption("No column has this in its name, its label or its values.")
    for column in found[:_FOUND_SHOWN]:
        _row(column, lists)
    if len(found) > _FOUND_SHOWN:
        st.caption(f"These are the first {_FOUND_SHOWN} of {len(found):,} columns found. Type more of the name.")


def _row(column: ColumnFound, lists: Mapping[str, str]) -> None:
    words, buttons = st.columns([3, 2], vertical_alignment="center")
    details = " · ".join(part for part in (column.label, text.listed(list(column.values))) if part)
    block = f"part of the block {column.block}" if column.block not in (None, column.name) else ""
    why = f"not offered: {column.obstacle.value}" if column.obstacle is not None else block
    words.markdown(markdown("**{}** {} :gray[{}]", column.name, details, f"({why})" if why else ""))
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        if column.attribute is not None:
            for role, key in lists.items():
                is_in = column.attribute in (state.input_value(key) or ())
                st.button(
                    _VERBS[role],
                    key=f"found-{role}-{column.name}",
                    icon=":material/check:" if is_in else ":material/add:",
                    disabled=is_in,
                    on_click=partial(_add, key, column, tuple(lists.values())),
                    help="It is in this list" if is_in else "Add it to this list",
                )
        elif column.obstacle is Obstacle.TOO_MANY_VALUES:
            st.button("Cut it into levels", key=f"cut-{column.name}", on_click=partial(_go, "levels", column.name))
        else:
            st.button("See it under Columns", key=f"see-{column.name}", on_click=partial(_go, "columns", column.name))


def _add(key: str, column: ColumnFound, keys: Sequence[str]) -> None:
    """Add a column to a list; in all of them it takes the place of the block that it then names."""
    assert column.attribute is not None
    for one in keys:
        chosen = state.input_value(one) or ()
        names = [column.attribute if name == column.block else name for name in chosen]
        state.set_input(one, list(dict.fromkeys((*names, *([column.attribute] if one == key else ())))))


def _go(part: str, column: str) -> None:
    where = {"column": column} if part == "levels" else {"find": column, "groups": ()}
    state.show_part(part, **where)
    state.renew()


_MANY_ROLES = 40  # attributes in a role from which a list of all would only be in the way
ROLE_NAMES = {
    "keys": (
        markdown("**Known to an intruder** (keys): what somebody may know about a person; risk is measured on these"),
        "choose columns",
    ),
    "swap": (
        markdown("**May be exchanged**: their values may go to another record; what is never exchanged stays exact"),
        "the keys, if none is chosen",
    ),
    "analyse": (
        markdown("**Tabulated by users**: what users cross in tables; utility is measured on these"),
        "all that are chosen above, if none is chosen",
    ),
}


def roles(plan: Plan) -> None:
    """Three lists of names; what is in none is carried."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    more = now.memo.get("could-be", plan.data, lambda: could_be(raw, plan))
    order = {name: i for i, name in enumerate(raw.names)}
    names = sorted((*plan.names, *more), key=lambda name: order.get(name, -1))
    labels = _labels(raw, plan)
    st.caption(
        "A few columns are enough: a column in none of the three lists is carried, so it stays with its record"
        " unchanged, and is released."
    )
    lists = {role: f"role-{role}-{now.version}" for role in ROLE_NAMES}
    for role, key in lists.items():
        chosen_before = list(getattr(plan, role))
        everything = len(chosen_before) == len(plan.names) and len(chosen_before) > _MANY_ROLES
        if state.input_value(key) is None:
            state.set_input(key, [] if everything else chosen_before)
    shown(raw, plan, lists)
    with st.container(border=True):
        chosen = {}
        for role, (label, empty) in ROLE_NAMES.items():
            chosen[role] = st.multiselect(
                label,
                names,
                format_func=lambda name: labels.get(name, name),
                key=lists[role],
                placeholder=empty,
                filter_mode="contains",
                select_all=False,  # Enter would take all that match what is typed
            )
        if st.button("Use these roles", type="primary", icon=":material/check:", key="use-roles"):
            keys = chosen["keys"]
            swap = chosen["swap"] or keys
            analyse = chosen["analyse"] or list(dict.fromkeys((*keys, *swap)))

            def give() -> None:
                actions.change(set_roles(raw, plan, keys=keys, swap=swap, analyse=analyse), "the roles were given")
                state.show_part(None)

            elements.attempt(give)


def _labels(raw: RawTable, plan: Plan) -> dict[str, str]:
    """Names with the file's own words and the other columns of the block, so that each of these finds it."""
    block = {part.name: part for part in plan.attributes}
    labels = {}
    for name in (*plan.names, *raw.names):
        part = block.get(name)
        column = raw.columns.get(part.view[0] if part else name)
        label = column.about.label if column is not None else ""
        label = label if len(label) <= 40 else label[:39] + "…"
        others = [column_name for column_name in part.columns if column_name != name] if part else []
        if label or others:
            more = f" (with {', '.join(others)})" if others else ""
            labels[name] = f"{name}{' – ' if label else ''}{label}{more}"
    return labels


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


def looks_like(raw: RawTable) -> pd.DataFrame:
    """A description of each column: what it holds, its number of distinct values and the percentage of records without
    one; its label, where the file has labels; ``shape`` are the bars of a small histogram, the highest of which is 1,
    and ``numeric`` marks columns of numbers."""
    seen_rows = []
    for name, column in raw.columns.items():
        seen = facts(column, raw.n_records)
        numeric = seen.numeric and not seen.labelled and not seen.looks_like_id
        holds = _words(column, numeric, seen.looks_like_id)
        bars = histogram(column, seen)
        shape = [round(bar / max(bars), 3) for bar in bars]
        missing = 100 * seen.n_missing / max(1, raw.n_records)
        seen_rows.append((name, shape, seen.n_distinct, missing, holds, column.about.label, numeric))
    named = ["column", "shape", "values", "missing", "holds", "label", "numeric"]
    table = pd.DataFrame(seen_rows, columns=named)
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
    shown = [column.about.label_or_value(value) for value in texts(column.values.slice(0, _SHOWN))]
    return ", ".join(value if len(value) <= 18 else value[:17] + "…" for value in shown) + (
        " …" if len(column.values) > _SHOWN else ""
    )


def column_table(raw: RawTable, plan: Plan | None, seen: pd.DataFrame) -> pd.DataFrame:
    """One row per column of the file: its looks, its decision (none for a column without a use in the plan) and the
    roles of its attribute."""
    of = {column: a for a in plan.attributes for column in a.columns} if plan else {}
    used = uses(plan, raw) if plan else {}
    table = []
    for name in raw.names:
        attribute = of.get(name)
        if attribute is not None and plan is not None:
            roles = [attribute.name in getattr(plan, role) for role in ROLES]
            table.append(("attribute", attribute.name, *roles, MISSING[attribute.on_missing]))
            continue
        table.append((used.get(name, "carry" if plan is None else None), "", False, False, False, NONE))
    named = pd.DataFrame(table, columns=["decision", "attribute", *ROLES, "on_missing"])
    named = named.astype(dict.fromkeys(ROLES, "boolean"))  # the grid lets a mark be cleared, which is none
    return pd.concat([seen.drop(columns="numeric").reset_index(drop=True), named], axis=1)


def uses(plan: Plan, raw: RawTable) -> dict[str, str]:
    """The decision on each column; one without a use is not in it."""
    assigned = assign_columns(plan.data, raw.names)
    coded = {column: "attribute" for part in plan.attributes for column in part.columns}
    return {**dict.fromkeys(assigned.carried, "carry"), **dict.fromkeys(assigned.dropped, "drop"), **coded} | (
        plan.data.single_uses
    )


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
    for written in plan.space.specs:
        spec = AttributeSpec.parse(written, plan.names)
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


_MANY = 12  # columns from which a filter is offered
_MOST_PARTS = 5  # columns that number households together
_HEIGHT = 460
_SEEN = ("column", "shape", "values", "missing", "holds", "label")
_BRIEF = ("column", "shape", "values", "missing", "decision", "keys")
_MORE = ("swap", "analyse", "attribute", "on_missing", "holds", "label")
_SETTING = {"decision": "Decision", "keys": "Key", "swap": "Swap", "analyse": "Analyse"}


def looks() -> pd.DataFrame:
    """A description of each column; made once."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    said = now.plan.data.columns if now.plan else ()
    read = labelled_as_far(raw, said)
    table: pd.DataFrame = now.memo.get("looks", (raw.source, said), lambda: looks_like(read))
    return table


def table(*, brief: bool) -> tuple[Plan | None, str | None]:
    """The table, of few columns where it is ``brief``; returns the plan it says and what is wrong with it."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    before = column_table(raw, now.base, looks())
    many = len(before) > _MANY
    filters = st.container()
    shown = _filtered(before) if many else before
    edited = st.data_editor(
        shown,
        key=f"columns-{now.version}",
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * max(1, len(shown)), _HEIGHT),
        disabled=_SEEN,
        column_order=[name for name in (*_BRIEF, *_MORE) if name in before and (name in _BRIEF or not brief)],
        column_config=_config(),
        alt="Columns of the file with their decision and roles",
    )
    merged, edits = before.copy(), [name for name in before if name not in _SEEN]
    merged.loc[edited.index, edits] = edited[edits]
    plan, complaint = now.plan, None
    try:
        plan = plan_of(merged, before, raw, now.base)
    except EngineError as error:
        complaint = text.error_text(error)
    if many:
        with filters:  # drawn last: it counts what the table says now
            _filters(column_table(raw, plan, looks()))
        _set_all(shown)
    return plan, complaint


def _filtered(before: pd.DataFrame) -> pd.DataFrame:
    """The rows that the filters leave."""
    view = state.get().file_view
    matches = _named(before, view.find)
    for group in view.groups:
        if group in _GROUPS:
            matches &= before[group]
    decisions = [group for group in view.groups if group in DECISIONS]
    if decisions:
        matches &= before["decision"].isin(decisions)
    return before[matches]


def _filters(current: pd.DataFrame) -> None:
    """Ask which rows of the table are shown: a name, or decisions and roles, each with the number that has it."""
    now = state.get()
    left, right = st.columns([3, 9])

    def renew() -> None:
        # Edits are kept by row number, so other rows need a fresh table.
        find, chosen = state.input_value("find-columns"), state.input_value("find-decisions")
        state.set_file_view(find=find or "", groups=tuple(chosen or ()))
        state.renew()

    left.text_input(
        "Find columns",
        value=now.file_view.find,
        key="find-columns",
        placeholder="Find a column",
        label_visibility="collapsed",
        help="part of a name or label, or a pattern for the name such as *_WT",
        on_change=renew,
    )
    counts, chosen = current["decision"].value_counts(), now.file_view.groups
    groups = {
        decision: f"{_counted_word(decision)} ({counts.get(decision, 0)})"
        for decision in DECISIONS
        if decision in counts or decision in chosen
    }
    # attributes are counted, as on the other parts of the page, not the columns of their blocks
    n_having = {role: current.loc[current[role], "attribute"].nunique() for role in _GROUPS}
    groups |= {
        role: f"{label} ({n_having[role]})" for role, label in _GROUPS.items() if n_having[role] or role in chosen
    }
    right.pills(
        "Show only",
        list(groups),
        selection_mode="multi",
        default=[group for group in chosen if group in groups],
        key="find-decisions",
        on_change=renew,
        format_func=groups.__getitem__,
        label_visibility="collapsed",
    )


_GROUPS = {"keys": "keys", "swap": "swapped", "analyse": "analysed"}


def _named(before: pd.DataFrame, typed: str) -> pd.Series:
    """Rows whose name matches a pattern, or whose name or label holds what was typed."""
    typed = typed.strip().casefold()
    if any(sign in typed for sign in "*?"):
        return before["column"].map(lambda name: fnmatchcase(name.casefold(), typed)).astype(bool)
    named = before["column"].str.contains(typed, case=False, regex=False)
    return named | before["label"].str.contains(typed, case=False, regex=False) if "label" in before else named


def _set_all(filtered: pd.DataFrame) -> None:
    """Set one mark or decision of every row found."""
    with st.popover(
        f"Set for all {text.plural(len(filtered), 'column')} found",
        icon=":material/checklist:",
        disabled=filtered.empty,
    ):
        what = st.selectbox("What", tuple(_SETTING), format_func=_SETTING.__getitem__, key="set-what")
        value: object
        if what == "decision":
            value = st.selectbox("To", tuple(DECISIONS), format_func=decision_word, key="set-decision")
        else:
            value = st.radio("To", (True, False), format_func=lambda on: "yes" if on else "no", key="set-mark")
        if st.button("Set", key="set-all"):
            if use := next((use for use in SINGLE_USES if use == value), None):
                _set_one(filtered["column"].tolist(), use)
                return
            now = state.get()
            assert now.raw is not None
            current = column_table(now.raw, now.plan, looks())
            edited = current.copy()
            rows = (
                filtered.index
                if what == "decision"
                else filtered.index[edited.loc[filtered.index, "decision"] == "attribute"]
            )
            edited.loc[rows, what] = value
            with elements.errors_shown():
                plan = plan_of(edited, current, now.raw, now.plan)
                if plan is not None:
                    actions.change(plan, f"{text.plural(len(rows), 'column')} set")
                st.rerun()


def _set_one(names: list[str], use: SingleUse) -> None:
    """Make the one column found the weight, the id or the unit."""
    with elements.errors_shown():
        plan = state.get().plan
        if plan is not None and use == "unit" and len(names) <= _MOST_PARTS:
            actions.change(set_unit(plan, names), f"{text.listed(names)} number households")
            st.rerun()
        if len(names) != 1 or plan is None:
            raise UsageError(
                f"{text.plural(len(names), 'column')} are found, and a plan has one {use}; find the one column first"
            )
        actions.change(set_use(plan, names[0], use), f"{names[0]} is the {use}")
        st.rerun()


def _counted_word(decision: str) -> str:
    """The words for a number of columns: those of an attribute are counted, not the attributes."""
    return "in attributes" if decision == "attribute" else decision_word(decision)


def decision_word(decision: str) -> str:
    return {"carry": "carried", "drop": "dropped"}.get(decision, decision)


def _config() -> dict[str, Any]:
    column = st.column_config
    return {
        "column": column.TextColumn("Column", pinned=True, width=120),
        "shape": column.BarChartColumn("Values", help="records by value", width=120, y_min=0, y_max=1, color="primary"),
        "values": column.NumberColumn(
            "Different", format="localized", help="distinct values, missing ones aside", width=70
        ),
        "missing": column.ProgressColumn(
            "Missing", format="%.0f %%", min_value=0, max_value=100, help="records without a value", width=90
        ),
        "holds": column.TextColumn("Holds", width=150),
        "label": column.TextColumn("Label", width=150),
        "decision": column.SelectboxColumn(
            "Use",
            options=list(DECISIONS),
            required=True,
            width=80,
            help="; ".join(f"{decision}: {meaning}" for decision, meaning in DECISIONS.items()),
        ),
        "attribute": column.TextColumn(
            "Attribute",
            width=105,
            help="name of the attribute; columns with the same name move together as one block",
        ),
        "keys": column.CheckboxColumn("Key", help="an intruder may know it: risk is measured on these", width=65),
        "swap": column.CheckboxColumn("Swap", help="its values may be exchanged", width=75),
        "analyse": column.CheckboxColumn("Analyse", help="users tabulate it: utility is measured on these", width=90),
        "on_missing": column.SelectboxColumn(
            "Missing is",
            options=[NONE, *MISSING.values()],
            width=105,
            help="refuse: the data must have none; a level: missing values become a level of their own",
        ),
    }
