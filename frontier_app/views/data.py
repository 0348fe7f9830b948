"""Data: open a sample or a file, and settle what becomes of every column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from engine.datasets import describe
from engine.describe import level_counts, occupancy, value_counts
from engine.errors import EngineError, UsageError
from engine.plan import AttributePlan, Plan, plan_to_toml
from engine.values import numbers
from frontier_app import actions, columns, parts, state, text
from frontier_app.settings import PRIVACY

_ALONE = 0.9  # share of records in small cells from which a table says little
_MANY = 12  # columns from which a filter is offered


def start() -> None:
    """Nothing is open: samples and upload."""
    st.title("How much swapping, of what?", anchor=False)
    st.markdown(
        "Data swapping protects people by exchanging some answers between records. This tool tries many ways to do it,"
        " measures for each how exposed people remain and how useful the data stay, and shows the ones worth"
        " choosing among: the **risk–utility frontier**. You choose one, say why, and export it."
    )
    st.subheader("Start with a sample", anchor=False)
    samples = describe()
    order = sorted(samples, key=lambda sample: (sample.name != "fair", not sample.here))
    for place, sample in zip(st.columns(len(order)), order, strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{sample.name}**" + (" :gray-badge[synthetic]" if sample.synthetic else ""))
            st.caption(f"{sample.summary}. {sample.n_records:,} records, {sample.n_attributes} attributes.")
            if not sample.here:
                st.caption(f"Add it with `frontier datasets add {sample.name}`.")
            elif st.button(
                f"Open {sample.name}",
                type="primary" if sample.name == "fair" else "secondary",
                key=f"open-{sample.name}",
            ):
                _try(lambda name=sample.name: actions.open_sample(name))
    st.subheader("Or open your own file", anchor=False)
    _uploader()
    st.caption(
        "The file stays on this machine, in a private folder that you can delete here at any time."
        f" CSV or Parquet, one row per record, up to {int(str(PRIVACY['server.maxUploadSize'])):,} MB."
    )


def _uploader() -> None:
    upload = st.file_uploader("CSV or Parquet file", type=["csv", "tsv", "parquet"], label_visibility="collapsed")
    if upload is not None:
        with st.spinner("Reading the file…"):
            _try(lambda: actions.open_upload(upload.name, upload.getbuffer(), upload.size))


def _try(action: object) -> None:
    """Do it and draw the page anew, or say what is wrong."""
    with parts.spoken():
        action()  # type: ignore[operator]
        st.rerun()


def opened() -> None:
    """Data are open."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    left.title(raw.source, anchor=False)
    left.caption(f"{text.plural(raw.n_records, 'record')}, {text.plural(len(raw.names), 'column')}")
    with right.container(horizontal=True, horizontal_alignment="right"):
        _plan_file()
        with st.popover("Workspace", icon=":material/folder:"):
            _workspace()
    counts = st.container()
    plan, complaint = _columns_table()
    if complaint is None and plan is not None:
        actions.set_plan(plan)
    with counts:
        _counts(complaint)
    if plan is not None:
        _recodes(plan)
    st.divider()
    parts.go("plan", "Next: plan the candidates", disabled=complaint is not None or plan is None)


def _counts(complaint: str | None) -> None:
    """Live counts of the table that the keys span."""
    if complaint:
        parts.complain(complaint)
        return
    with parts.spoken():
        data = actions.coded()
        plan = state.get().plan
        assert plan is not None
        st.markdown(
            f"**Table of the {text.plural(len(plan.keys), 'key')}** – {', '.join(plan.keys[:12])}"
            + (" …" if len(plan.keys) > 12 else "")
            + f" – over {text.plural(data.n_records, 'record')}"
        )
        found = occupancy(data.table, plan.keys)
        parts.occupancy(found)
        if found.in_small > _ALONE * found.n_records:
            st.warning(
                "Nearly every record is alone or almost alone on these keys. A table so thin says little about risk or"
                " utility: mark fewer keys (what an intruder really knows), or merge and cut levels.",
                icon=":material/warning:",
            )


def _columns_table() -> tuple[Plan | None, str | None]:
    """The table of columns; returns the plan it says and what is wrong with it."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    seen = now.memo.get("looks", raw.source, lambda: columns.looks(raw))
    before = columns.rows(raw, now.base, seen)
    st.subheader("What becomes of each column", anchor=False)
    shown = before
    if len(before) > _MANY:
        shown = _filtered(before)
    edited = st.data_editor(
        shown,
        key=f"columns-{now.version}",
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * max(1, len(shown)), 480),
        disabled=["column", "holds", "values", "missing"],
        column_config=_config(),
        alt="Columns of the file with their fate and roles",
    )
    if len(before) > _MANY:
        _set_all(before, shown)
    whole = before.copy()
    whole.loc[edited.index, list(edited.columns)] = edited
    try:
        return columns.plan_of(whole, before, raw, now.base), None
    except EngineError as error:
        return now.plan, str(error)


def _filtered(before: pd.DataFrame) -> pd.DataFrame:
    left, right = st.columns([2, 3], vertical_alignment="bottom")

    def renew() -> None:
        # Edits are kept by row number, so other rows need a fresh table.
        state.renew()

    words = left.text_input("Find columns", key="find-columns", placeholder="part of a name", on_change=renew)
    fates = right.pills(
        "Fate", columns.FATES, selection_mode="multi", key="find-fates", on_change=renew, format_func=_fate_word
    )
    keep = before["column"].str.contains(words or "", case=False, regex=False)
    if fates:
        keep &= before["fate"].isin(fates)
    return before[keep]


def _set_all(before: pd.DataFrame, shown: pd.DataFrame) -> None:
    """Set one mark or fate of every row shown."""
    with st.popover(f"Set for all {text.plural(len(shown), 'column')} shown", icon=":material/checklist:"):
        what = st.selectbox("What", ("fate", *columns.ROLES), format_func=_SETTING.__getitem__, key="set-what")
        value: object
        if what == "fate":
            value = st.selectbox("To", ("attribute", "carry", "drop"), format_func=_fate_word, key="set-fate")
        else:
            value = st.radio("To", (True, False), format_func=lambda on: "yes" if on else "no", key="set-mark")
        if st.button("Set", key="set-all"):
            now = state.get()
            assert now.raw is not None
            whole = columns.rows(now.raw, now.plan, before[["column", "holds", "values", "missing"]])
            edited = whole.copy()
            rows = shown.index if what == "fate" else shown.index[edited.loc[shown.index, "fate"] == "attribute"]
            edited.loc[rows, what] = value
            with parts.spoken():
                plan = columns.plan_of(edited, whole, now.raw, now.plan)
                if plan is not None:
                    actions.set_plan(plan, renew=True)
                st.rerun()


_SETTING = {"fate": "Fate", "keys": "Key", "swap": "Swap", "analyse": "Analyse"}


def _fate_word(fate: str) -> str:
    return {"attribute": "attribute", "carry": "carried", "drop": "dropped"}.get(fate, fate)


def _config() -> dict[str, Any]:
    column = st.column_config
    return {
        "column": column.TextColumn("Column", pinned=True, width=150),
        "holds": column.TextColumn("Holds", width=190),
        "values": column.NumberColumn("Values", help="distinct values, missing ones aside", width=70),
        "missing": column.NumberColumn("Missing", help="records without a value", width=75),
        "fate": column.SelectboxColumn(
            "Fate",
            options=list(columns.FATES),
            required=True,
            width="small",
            help="; ".join(f"{fate}: {words}" for fate, words in text.FATE_WORDS.items()),
        ),
        "attribute": column.TextColumn(
            "Attribute",
            width="small",
            help="name of the attribute; columns with the same name move together as one block",
        ),
        "keys": column.CheckboxColumn("Key", help="an intruder may know it: risk is measured on these", width="small"),
        "swap": column.CheckboxColumn("Swap", help="its values may be exchanged", width="small"),
        "analyse": column.CheckboxColumn(
            "Analyse", help="users tabulate it: utility is measured on these", width="small"
        ),
        "on_missing": column.SelectboxColumn(
            "Missing is",
            options=[columns.NONE, *columns.MISSING.values()],
            width="small",
            help="refuse: the data must have none; a level: missing values become a level of their own",
        ),
    }


# -- recodes ---------------------------------------------------------------------------------------------------------


def _recodes(plan: Plan) -> None:
    """Levels of one attribute, and how they are made."""
    raw = state.get().raw
    assert raw is not None
    with st.expander("Levels: cut numbers, merge values, mark missing ones", expanded=_needs_cut(plan) is not None):
        names = list(plan.names)
        first = _needs_cut(plan)
        left, right = st.columns([2, 3], gap="large")
        with left:
            name = st.selectbox("Attribute", names, index=names.index(first) if first else 0, key="recode-which")
            part = plan.attributes[plan.names.index(name)]
            if any(column not in raw.columns for column in part.view):
                return
            _recode_inputs(plan, part)
        with right:
            _levels(name)


def _needs_cut(plan: Plan) -> str | None:
    """The first attribute with so many numeric values that it surely wants a cut."""
    now = state.get()
    seen = now.memo.peek("looks", now.raw.source if now.raw else "")
    if seen is None:
        return None
    many = set(seen.loc[(seen["values"] > 30) & seen["holds"].str.startswith("number"), "column"])
    return next((p.name for p in plan.attributes if not p.cut and not p.merge and set(p.view) & many), None)


def _recode_inputs(plan: Plan, part: AttributePlan) -> None:
    now = state.get()
    raw = now.raw
    assert raw is not None
    single = raw.columns[part.view[0]] if len(part.view) == 1 else None
    tag = f"{part.name}-{now.version}"
    numeric = single is not None and len(single.values) > 0 and not pd.isna(numbers(single.values)).all()
    choices = (["cut"] if numeric else []) + ["merge"] + ["missing"]
    words = {"cut": "Cut numbers", "merge": "Merge values", "missing": "Missing and skipped"}
    how = st.segmented_control(
        "How",
        choices,
        default=choices[0] if part.cut or (numeric and not part.merge) else "merge",
        required=True,
        format_func=words.__getitem__,
        key=f"recode-how-{tag}",
        label_visibility="collapsed",
    )
    if how == "cut":
        edges = st.text_input(
            "Edges of the levels",
            value=", ".join(map(str, part.cut)),
            key=f"cut-{tag}",
            placeholder="25, 55",
            help="25, 55 makes three levels: below 25, from 25 to below 55, 55 and above; empty keeps every value",
        )
        labels = st.text_input(
            "Names of the levels (optional)",
            value=", ".join(part.labels),
            key=f"labels-{tag}",
            placeholder=", ".join(part.cut_labels),
        )
        if st.button("Apply the cut", key=f"apply-cut-{tag}"):
            _apply(plan, part, lambda: replace(part, cut=_numbers(edges), labels=_words(labels), merge=(), levels=()))
    elif how == "merge" and single is not None:
        if len(single.values) > 2000:
            st.caption("This column has too many values to merge by hand; cut it, or edit the plan file.")
            return
        level_of = {raw_value: level for level, values in part.merge for raw_value in values}
        counted = value_counts(single)
        table = pd.DataFrame(
            {
                "value": [value for value, _ in counted],
                "records": [n for _, n in counted],
                "level": [level_of.get(value, value) for value, _ in counted],
            }
        )
        edited = st.data_editor(
            table,
            key=f"merge-{tag}",
            hide_index=True,
            disabled=["value", "records"],
            height=min(38 + 35 * len(table), 300),
            width="stretch",
            column_config={"value": "Value", "records": "Records", "level": "Level it becomes"},
            alt=f"Values of {part.name} and the levels they become",
        )
        if st.button("Apply the merge", key=f"apply-merge-{tag}"):
            _apply(plan, part, lambda: replace(part, cut=(), labels=(), levels=(), merge=_merge(edited)))
    elif how == "missing":
        missing = st.text_input(
            "Raw values that mean missing, besides " + ", ".join(f"'{m}'" for m in plan.data.missing),
            value=", ".join(part.missing),
            key=f"missing-{tag}",
        )
        skip = st.text_input("Raw values of a question validly skipped", value=", ".join(part.skip), key=f"skip-{tag}")
        if st.button("Apply", key=f"apply-missing-{tag}"):
            _apply(
                plan,
                part,
                lambda: replace(
                    part,
                    missing=_words(missing),
                    skip=_words(skip),
                    levels=tuple(v for v in part.levels if v not in (*_words(missing), *_words(skip))),
                ),
            )
    else:
        st.caption("Several columns together make this attribute's levels; edit the plan file to recode them.")


def _apply(plan: Plan, part: AttributePlan, make: object) -> None:
    """Replace one attribute, once the data can be coded by it."""
    from engine.plan.view import view_of

    raw = state.get().raw
    assert raw is not None
    with parts.spoken():
        new = make()  # type: ignore[operator]
        view_of(new, raw, plan.data.missing)
        attributes = tuple(new if a is part else a for a in plan.attributes)
        actions.set_plan(replace(plan, data=replace(plan.data, attributes=attributes)), renew=True)
        st.rerun()


def _words(line: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in line.split(",") if word.strip())


def _numbers(line: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in line.replace(";", ",").replace(",", " ").split())
    except ValueError:
        raise UsageError(f"the edges '{line}' are not all numbers; write them as for example 25, 55") from None


def _merge(edited: pd.DataFrame) -> tuple[tuple[str, tuple[str, ...]], ...]:
    levels: dict[str, list[str]] = {}
    for value, level in zip(edited["value"], edited["level"], strict=True):
        levels.setdefault(str(level or value).strip() or value, []).append(value)
    return tuple((level, tuple(values)) for level, values in levels.items() if values != [level])


def _levels(name: str) -> None:
    """The attribute's levels with their counts."""
    try:
        data = actions.coded()
    except EngineError:
        st.caption("The levels are shown once the data can be coded.")
        return
    if name not in data.domain.names:
        return
    j = data.domain.index(name)
    attribute = data.domain.attributes[j]
    counts = level_counts(data, j)
    table = pd.DataFrame({"level": attribute.levels, "records": counts, "share": counts / data.n_records})
    if len(set(attribute.kinds)) > 1:
        table.insert(1, "kind", attribute.kinds)
    st.dataframe(
        table,
        hide_index=True,
        height=min(38 + 35 * len(table), 360),
        width="stretch",
        column_config={
            "level": "Level",
            "kind": "Kind",
            "records": st.column_config.NumberColumn("Records", format="localized"),
            "share": st.column_config.ProgressColumn("Share", format="percent", min_value=0, max_value=1),
        },
        alt=f"Levels of {name} with their numbers of records",
    )


# -- plan file and workspace -----------------------------------------------------------------------------------------


def _plan_file() -> None:
    now = state.get()
    if now.plan is not None:
        st.download_button(
            "Plan file",
            plan_to_toml(now.plan),
            "plan.toml",
            "text/plain",
            icon=":material/download:",
            on_click="ignore",
        )
    with st.popover("Use a plan file", icon=":material/upload:"):
        upload = st.file_uploader("A plan.toml", type=["toml"], key=f"plan-file-{now.version}")
        if upload is not None:
            try:
                words = upload.getvalue().decode("utf-8")
            except UnicodeDecodeError:
                parts.complain("the file is not UTF-8 text, so it is no plan")
                return
            _try(lambda: actions.load_plan(words))


def _workspace() -> None:
    now = state.get()
    assert now.workspace is not None
    st.markdown(
        "Your work is in a private folder on this machine, found through this page's address. **Keep the address** to"
        " come back to it; whoever has it can open this workspace on this machine."
    )
    if st.button("Open other data", icon=":material/arrow_back:"):
        actions.leave()
        st.query_params.clear()
        st.rerun()
    st.markdown("Deleting removes the uploaded file, the plan, the studies with their keys, and every export.")
    sure = st.checkbox("I no longer need any of it", key=f"sure-{now.version}")
    if st.button("Delete this workspace", icon=":material/delete:", disabled=not sure):
        with parts.spoken():
            actions.forget()
            st.query_params.clear()
            st.rerun()


if state.get().raw is not None:
    opened()
elif state.get().workspace is not None and actions.own_study():
    st.title("Data", anchor=False)
    parts.nothing(
        "A study is open, but not the data it was made from. Its map can be explored; before-and-after tables and the"
        " export need the data: start with `frontier app STUDY --data FILE`.",
        "explore",
        "Explore the map",
    )
else:
    start()
