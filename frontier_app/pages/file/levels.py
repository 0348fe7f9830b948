"""The levels of one attribute: cut numbers, merge values, mark missing ones, and see the effect at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import RawColumn, RawTable
from engine.plan import AttributePlan, Plan
from engine.plan.coding import key_table, view_of
from engine.plan.edit import add_attribute, merge_levels, split_levels, viewed_by
from engine.plan.entries import labelled_as_far
from engine.plan.guess import example_edges
from frontier_app.pages.file.columns import looks
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.widgets import small_cells as picture
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_HOW = {"cut": "Cut numbers", "merge": "Put together", "missing": "Missing, skipped"}
_MOST_TO_PICK = 2000  # levels from which they are not picked by hand


def page(plan: Plan) -> None:
    """One attribute, or a number that a cut would make one; a change is seen before it is used."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    raw = labelled_as_far(raw, plan.data.columns)
    seen = looks().set_index("column")
    numeric = list(seen.index[seen["numeric"] & (seen["values"] > 2)])
    taken = {column for a in plan.attributes for column in a.columns} | set(plan.data.single_uses)
    loose = [name for name in numeric if name not in taken]
    options = [*plan.names, *(name for name in loose if name not in plan.names)]
    last = now.file_view.column
    first = last if last in options else _needs_cut(plan, seen) or options[0]
    left, right = st.columns([2, 3], gap="large")
    with left:
        name = st.selectbox(
            "Attribute",
            options,
            index=options.index(first),
            format_func=lambda name: name if name in plan.names else f"{name} – a number, not an attribute yet",
            key=f"recode-which-{now.version}",
            filter_mode="contains",
        )
        if name != last:
            state.set_file_view(column=name)
        part = plan.attributes[plan.names.index(name)] if name in plan.names else AttributePlan(name)
        if any(column not in raw.columns for column in part.view):
            elements.show_error(f"the data have no column '{part.view[0]}', which this attribute is made of")
            return
        tried = _inputs(plan, part, raw, new=name not in plan.names)
    with right:
        _effect(plan, part if name in plan.names else None, tried or part, raw)


def _needs_cut(plan: Plan, seen: pd.DataFrame) -> str | None:
    """The first attribute with so many numeric values that it surely wants a cut."""
    many = set(seen.index[(seen["values"] > 30) & seen["numeric"]])
    return next((p.name for p in plan.attributes if not p.cut and not p.merge and set(p.view) & many), None)


def _inputs(plan: Plan, part: AttributePlan, raw: RawTable, *, new: bool) -> AttributePlan | None:
    """The attribute as the inputs would make it; None where they say nothing that can be done."""
    if len(part.view) > 1:
        st.caption("Several columns together make this attribute's levels; edit the plan file to recode them.")
        return None
    if len(part.columns) > 1 and not new:
        part, old = _viewed(part, raw), part
    else:
        old = part
    column = raw.columns[part.view[0]]
    numeric = len(column.values) > 0 and not pd.isna(column.numbers).all()
    choices = ["cut"] if new else [*(["cut"] if numeric else []), "merge", "missing"]
    tag = f"{part.name}-{part.view[0]}-{state.get().version}"
    first = "cut" if "cut" in choices and (part.cut or not (part.merge or part.levels) or new) else choices[-2]
    how = st.segmented_control(
        "How",
        choices,
        default=first,
        required=True,
        format_func=_HOW.__getitem__,
        key=f"recode-how-{tag}",
        label_visibility="collapsed",
    )
    try:
        if how == "cut":
            tried = _cut(part, column, tag)
        elif how == "merge":
            tried = _merge(plan, part, raw, tag)
        else:
            tried = _missing(plan, part, column, tag)
        if tried is None and part != old:
            tried = part
        if tried is not None:
            view_of(tried, raw, plan.data.missing)
    except EngineError as error:
        elements.show_error(error)
        tried = None
    changed = tried is not None and (tried != old or (new and bool(tried.cut)))
    with st.container(horizontal=True):
        if st.button("Use these levels", type="primary", key=f"apply-{tag}", disabled=not changed):
            assert tried is not None
            _use(plan, old, tried, new=new)
        if (part.cut or part.merge) and st.button("Make every value a level", key=f"split-{tag}"):
            with elements.errors_shown():
                _use(plan, old, split_levels(part, raw), new=False)
    return tried if changed else None


def _viewed(part: AttributePlan, raw: RawTable) -> AttributePlan:
    """The attribute with its levels made from the column of its block that is picked."""
    columns = [column for column in part.columns if column in raw.columns]

    def words(column: str) -> str:
        label = raw.columns[column].about.label
        return f"{column} – {label}" if label else column

    column = st.selectbox(
        "Its levels are made from",
        columns,
        index=columns.index(part.view[0]),
        format_func=words,
        key=f"view-{part.name}-{state.get().version}",
        help="All columns of the block move together, whichever of them makes the levels.",
    )
    return viewed_by(part, raw, column)


def _use(plan: Plan, part: AttributePlan, tried: AttributePlan, *, new: bool) -> None:
    if new:
        plan = add_attribute(plan, tried)
    else:
        attributes = tuple(tried if a.name == part.name else a for a in plan.attributes)
        plan = replace(plan, data=replace(plan.data, attributes=attributes))
    actions.change(plan, f"levels of {part.name} changed")
    st.rerun()


def _cut(part: AttributePlan, column: RawColumn, tag: str) -> AttributePlan | None:
    example = example_edges(column).replace(",", ", ")
    edges = st.text_input(
        "Edges of the levels",
        value=", ".join(map(str, part.cut)),
        key=f"cut-{tag}",
        placeholder=f"such as {example}" if example else "numbers",
        help="25, 55 makes three levels: below 25, from 25 to below 55, 55 and above; empty keeps every value",
    )
    typed = _numbers(edges)
    labels = st.text_input(
        "Names of the levels (optional)",
        value=", ".join(part.labels),
        key=f"labels-{tag}",
        placeholder=", ".join(AttributePlan(part.name, cut=typed).cut_labels),
    )
    if not typed:
        return replace(part, cut=(), labels=()) if part.cut else None
    names = _words(labels)
    if part.labels == names and len(names) != len(typed) + 1:
        names = ()  # the old names belong to the old edges
    return replace(part, cut=typed, labels=names, merge=(), levels=())


def _merge(plan: Plan, part: AttributePlan, raw: RawTable, tag: str) -> AttributePlan | None:
    if part.cut:
        st.caption("This attribute is cut. Change its edges, or make every value a level first.")
        return None
    current = view_of(part, raw, plan.data.missing)
    levels = [level for level, kind in zip(current.levels, current.kinds, strict=True) if kind == "value"]
    if len(levels) > _MOST_TO_PICK:
        st.caption(f"{len(levels):,} levels are too many to pick by hand; cut it, or merge them in the plan file.")
        return None
    picked = st.multiselect(
        "Levels to put together",
        levels,
        key=f"merge-{tag}",
        placeholder="two or more levels",
        filter_mode="contains",
    )
    into = st.text_input(
        "They become", key=f"merge-into-{tag}", placeholder=" or ".join(picked[:3]) or "name of the level"
    )
    if len(picked) < 2:
        return None
    return merge_levels(part, raw, picked, into or " or ".join(picked))


def _missing(plan: Plan, part: AttributePlan, column: RawColumn, tag: str) -> AttributePlan:
    labelled = [f"{raw} ({label})" for raw, label in column.about.values if raw.startswith("-")]
    missing = st.text_input(
        "Raw values that mean missing, besides " + ", ".join(f"'{m}'" for m in plan.data.missing),
        value=", ".join(part.missing),
        key=f"missing-{tag}",
        placeholder=", ".join(labelled[:3]),
    )
    skip = st.text_input("Raw values of a question validly skipped", value=", ".join(part.skip), key=f"skip-{tag}")
    on = st.radio(
        "A missing value is",
        ("refuse", "level"),
        index=("refuse", "level").index(part.on_missing),
        format_func={"refuse": "refused: there must be none", "level": "a level of its own"}.__getitem__,
        key=f"on-missing-{tag}",
        horizontal=True,
    )
    aside = (*_words(missing), *_words(skip))
    merge = tuple((level, tuple(v for v in values if v not in aside)) for level, values in part.merge)
    emptied = {level for level, values in merge if not values}
    return replace(
        part,
        missing=_words(missing),
        skip=_words(skip),
        on_missing="level" if on == "level" else "refuse",
        merge=tuple((level, values) for level, values in merge if values),
        levels=tuple(v for v in part.levels if v not in aside and v not in emptied),
    )


def _effect(plan: Plan, part: AttributePlan | None, tried: AttributePlan, raw: RawTable) -> None:
    """The key table and the levels, as they would be."""
    new = part is None
    if part == tried:
        after = plan
    elif part is not None:
        attributes = tuple(tried if a.name == part.name else a for a in plan.attributes)
        after = replace(plan, data=replace(plan.data, attributes=attributes))
    elif tried.cut:
        after = add_attribute(plan, tried)
    else:
        st.caption("Give edges to cut this number into levels; it then becomes an attribute.")
        return
    with elements.errors_shown():
        if after != plan:
            st.markdown(
                markdown("**With these levels**, not used yet:" if not new else "**As an attribute**, not used yet:")
            )
            if tried.name in after.keys:
                after_table, before_table = picture.by_key(after), picture.by_key(plan)
                if after_table is not None:
                    picture.draw(after_table, before_table)
            else:
                st.caption(f"{tried.name} is no key, so its levels do not change the table of the keys.")
        table = key_table(raw, after, [tried.name])
        _bars(tried, table.levels[tried.name], table.n_records)


def _bars(part: AttributePlan, levels: Sequence[tuple[str, int]], n_records: int) -> None:
    made_of = {level: ", ".join(values) for level, values in part.merge}
    table = pd.DataFrame(
        {
            "level": [level for level, _ in levels],
            "values": [made_of.get(level, "") for level, _ in levels],
            "records": [n for _, n in levels],
            "share": [100 * n / max(1, n_records) for _, n in levels],
        }
    )
    if not (table["values"] != "").any():
        table = table.drop(columns="values")
    st.dataframe(
        table,
        hide_index=True,
        height=min(38 + 35 * max(1, len(table)), 360),
        width="stretch",
        column_config={
            "level": "Level",
            "values": "Made of the values",
            "records": st.column_config.NumberColumn("Records", format="localized"),
            "share": st.column_config.ProgressColumn("Share", format="%.1f %%", min_value=0, max_value=100),
        },
        alt=f"Levels of {part.name} with their numbers of records",
    )
    alone = " No two records differ on it, so it cannot be swapped." if len(table) == 1 else ""
    st.caption(f"{part.name}: {text.plural(len(table), 'level')}.{alone}")


def _words(line: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in line.split(",") if word.strip()))


def _numbers(line: str) -> tuple[float, ...]:
    try:
        edges = tuple(float(word) for word in line.replace(";", ",").replace(",", " ").split())
    except ValueError:
        raise UsageError(f"the edges '{line}' are not all numbers; write them as for example 25, 55") from None
    return tuple(int(edge) if edge.is_integer() else edge for edge in edges)
