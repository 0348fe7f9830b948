"""Release: choose one candidate, say why, look at what it changes, and export it."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from engine.decision import RiskUtilityMap, choose, realisation_of
from engine.describe import Changes, changes, remade
from engine.domain import Domain
from engine.errors import EngineError
from engine.study import Choice, Study
from frontier_app import actions, cards, charts, exports, parts, state, text

_RULES = {
    "hand": "The candidate I selected on the map",
    "plan": "The plan's own rule",
    "bound": "The most useful under a bound on risk",
    "slope": "The best at a price of utility in risk",
}
_PAIRS = 24  # attributes up to which the table of two-way changes is drawn


def page() -> None:
    """Choose, compare, export, look back."""
    st.title("Choose and release", anchor=False)
    path = actions.own_study()
    if path is None:
        parts.nothing(
            "There is nothing to release yet: a release is chosen among the candidates of a study.", "data", "Open data"
        )
        return
    look = state.get().look
    try:
        with Study.open(path) as study:
            view = actions.the_map(look.risk, look.utility, look.partial)
            decisions = study.decisions
            assert view is not None
            if not len(view.results):
                parts.nothing("No run has been completed yet.", "sweep", "See the sweep")
                return
            left, right = st.columns([1, 1], gap="large")
            with left:
                place = _choose(study, view, decisions)
                _cautions(decisions)
            if place is None and decisions:
                place = study.find(decisions[-1].label)[0].place
            with right, st.container(border=True, height="stretch"):
                _at_hand(view, place)
            if place is not None:
                _what_changes(study, view, place)
            _export(study, decisions)
            _history(study, decisions)
    except EngineError as error:
        parts.complain(error)


# -- choosing --------------------------------------------------------------------------------------------------------


def _choose(study: Study, view: RiskUtilityMap, decisions: list[Choice]) -> int | None:
    """Rule and reason; returns the scenario that the rule picks."""
    st.subheader("1  Choose, and say why", anchor=False)
    now = state.get()
    plan = study.plan.decision
    rules = [rule for rule in _RULES if rule != "plan" or plan.max_risk is not None or plan.slope is not None]
    how = st.radio("Who decides", rules, format_func=_RULES.__getitem__, key="choose-rule")
    asked: dict[str, object] = {}
    place: int | None = None
    try:
        if how == "hand":
            if now.selected is None:
                st.info("Select a candidate on the map first.", icon=":material/info:")
                parts.go("explore", "Explore the map", primary=not decisions)
                return None
            asked, place = {"candidate": now.selected}, study.find(now.selected)[0].place
        elif how == "bound":
            known = view.risk_loss[~np.isnan(view.risk_loss)]
            start = now.look.bound if now.look.bound is not None else float(np.median(known))
            bound = st.number_input(
                f"Largest acceptable {text.measure_name(view.measures[view.risk]).lower()}",
                0.0,
                value=start,
                step=10.0 ** np.floor(np.log10(max(float(known.max()), 1e-9) / 100)),
                format="%.6g",
                key="choose-bound",
            )
            asked, place = {"max_risk": float(bound)}, view.under_bound(float(bound))
        elif how == "slope":
            slope = st.number_input(
                "Additional risk accepted for one more unit of utility",
                0.0,
                value=0.05,
                format="%.6g",
                key="choose-slope",
            )
            best = view.by_slope(float(slope))
            asked, place = {"slope": float(slope)}, best[0]
        else:
            place = (
                view.under_bound(float(plan.max_risk)) if plan.max_risk else view.by_slope(float(plan.slope or 0))[0]
            )
    except EngineError as error:
        parts.complain(error)
        return None
    why = st.text_area(
        "Reason (kept with the decision)",
        key=f"choose-why-{len(decisions)}",
        height=90,
        placeholder="Why this one, for whoever reads it in five years",
    )
    record = st.button("Record the choice", type="primary", icon=":material/gavel:", disabled=not why.strip())
    if not why.strip():
        st.caption("A decision needs its reason in words.")
    if record:
        with parts.spoken():
            choose(study, view, why, **asked)  # type: ignore[arg-type]
            state.put(notice="The choice is recorded. It can be exported below.")
            st.rerun()
    return place


def _cautions(decisions: list[Choice]) -> None:
    """What a board should know about the latest choice."""
    if not decisions:
        return
    last = decisions[-1]
    notes = [note[:1].upper() + note[1:] for note in last.record.get("cautions", [])]
    if notes:
        words = "\n".join(f"* {note}" for note in notes)
        st.warning(
            f"**{last.label}, run {last.replicate}, was chosen.** To bear in mind:\n{words}", icon=":material/info:"
        )


def _at_hand(view: RiskUtilityMap, place: int | None) -> None:
    if place is None:
        st.markdown("#### No candidate at hand")
        st.markdown("Its figures will be shown here.")
        return
    scenario, summary = view.scenarios[place], view.summary
    st.markdown(f"#### {scenario.label}")
    st.markdown(cards.badges(view, place))
    n = actions.n_records()
    st.markdown(text.spec_words(scenario.spec, n))
    runs, failed = int(summary.counted[place]), int(summary.failed[place])
    if runs:
        st.markdown(cards.figures(view, place))
    st.markdown(cards.sureness(view, place, runs, failed))
    if words := cards.joint_words(view, place):
        st.markdown(words)


# -- before and after ------------------------------------------------------------------------------------------------


def _what_changes(study: Study, view: RiskUtilityMap, place: int) -> None:
    st.subheader("2  What it changes", anchor=False)
    now = state.get()
    if now.raw is None:
        st.info(
            "The data of this study are not open, so the release cannot be remade here. Start with"
            " `frontier app STUDY --data FILE` to see it before and after.",
            icon=":material/info:",
        )
        return
    raw, label = now.raw, view.scenarios[place].label
    try:
        replicate = realisation_of(study, view.results, place, view.allow_partial)
        with st.spinner("Remaking the release…"):
            made = now.memo.get(
                "remade", (str(study.path), label, replicate), lambda: remade(study, raw, label, replicate)
            )
            tables = len(made.tables)
            table = 0
            if tables > 1:
                table = st.selectbox(
                    f"Table, of {tables} that are published together",
                    range(tables),
                    format_func=lambda d: f"release-{d + 1:02d}",
                    key="release-table",
                    width=360,
                )
            found = now.memo.get(
                "changes",
                (str(study.path), label, replicate, table),
                lambda: changes(replace(made, tables=(made.tables[table],)), study.plan.keys),
            )
            domain = made.data.domain
            swaps = not any(made.tables[table].is_replaced(j) for j in range(len(domain)))
    except EngineError as error:
        parts.complain(error)
        return
    keys = study.plan.keys
    st.markdown(
        f"Run **{label}/{replicate}**, settled by the plan's rule, not by its figures: {found.records:,} of"
        f" {text.plural(raw.n_records, 'record')} have another value somewhere"
        f"{f' in table {table + 1}' if tables > 1 else ''}."
        f" Table of the {text.plural(len(keys), 'key')}:"
    )
    parts.occupancy(found.keys_after, found.keys_before)
    _per_attribute(found, domain, raw.n_records)
    left, right = st.columns(2, gap="large")
    with left:
        _one_way(found, domain, swaps)
    with right:
        _two_way(found, domain, raw.n_records)


def _per_attribute(found: Changes, domain: Domain, n_records: int) -> None:
    """How many records have another value, attribute by attribute."""
    altered = [(name, int(n)) for name, n in zip(domain.names, found.altered, strict=True) if n]
    if not altered:
        st.caption("No record has another value of any attribute.")
        return
    altered.sort(key=lambda pair: -pair[1])
    st.markdown(
        "**Records changed per attribute:** "
        + " · ".join(f"{name} {n:,} ({100 * n / n_records:.1f} %)" for name, n in altered)
        + (" · all others none" if len(altered) < len(domain) else "")
    )


def _one_way(found: Changes, domain: Domain, swaps: bool) -> None:
    """One attribute's distribution before and after, and how many records changed on it."""
    names = list(domain.names)
    if found.marginals_kept:
        st.success("Every attribute's own distribution is exactly as it was (checked).", icon=":material/check_circle:")
    elif not swaps:
        st.info(
            "Distributions of attributes changed: this mechanism draws values anew and keeps distributions on average"
            " or by its model only. Look at each attribute below.",
            icon=":material/info:",
        )
    else:
        st.error("The distributions of attributes differ; a swap must keep them. Do not release; please report this.")
    altered = found.altered
    order = sorted(range(len(names)), key=lambda j: -altered[j])
    j = st.selectbox(
        "Attribute",
        order,
        format_func=lambda j: (
            f"{names[j]} – {altered[j]:,} records changed" if altered[j] else f"{names[j]} – unchanged"
        ),
        key="release-attribute",
    )
    levels = domain.attributes[j].levels
    before, after = found.before[j], found.after[j]
    if len(levels) <= 20:
        st.plotly_chart(
            charts.levels(levels, before, after),
            key="levels",
            config={"displayModeBar": False},
            alt=f"Records per level of {names[j]} in the original and in the release",
        )
    table = pd.DataFrame({"level": levels, "original": before, "release": after, "difference": after - before})
    with st.expander("As a table", expanded=len(levels) > 20):
        st.dataframe(table, hide_index=True, width="stretch", alt=f"Levels of {names[j]} before and after")


def _two_way(found: Changes, domain: Domain, n_records: int) -> None:
    """Where relations between attributes changed."""
    names = list(domain.names)
    moved = found.moved
    st.markdown("**Two-way tables** – share of records that would have to move to undo the change, in percent")
    if len(names) <= _PAIRS:
        st.plotly_chart(
            charts.matrix(names, moved / n_records, dark=parts.is_dark()),
            key="matrix",
            config={"displayModeBar": False},
            alt="Change of every two-way table, in percent of records; the table below says the same",
        )
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    pairs.sort(key=lambda pair: -moved[pair])
    rows = [(f"{names[j]} × {names[i]}", int(moved[i, j]), 100 * moved[i, j] / n_records) for i, j in pairs[:200]]
    with st.expander("As a table", expanded=len(names) > _PAIRS):
        st.dataframe(
            pd.DataFrame(rows, columns=["table", "records", "share"]),
            hide_index=True,
            width="stretch",
            column_config={"share": st.column_config.NumberColumn("share", format="%.2f %%")},
            alt="Two-way tables by how much they changed",
        )


# -- export ----------------------------------------------------------------------------------------------------------


def _export(study: Study, decisions: list[Choice]) -> None:
    st.subheader("3  Export", anchor=False)
    now = state.get()
    if not decisions:
        st.caption("Record a choice first; what was chosen can then be exported.")
        return
    if now.raw is None or now.workspace is None:
        st.caption("The export needs the data of the study.")
        return
    names = [f"{d.label}/{d.replicate}" for d in decisions]
    chosen = names[-1]
    if len(set(names)) > 1:
        chosen = st.selectbox("Chosen release", list(dict.fromkeys(reversed(names))), key="export-which")
        st.warning(
            "Two differently swapped releases of the same data can undo each other: publish one of them only.",
            icon=":material/warning:",
        )
    data = study.plan.data
    include = []
    for role in ("weight", "id"):
        if getattr(data, role) is not None and st.checkbox(
            f"Include the {role} (column {getattr(data, role)})", key=f"include-{role}"
        ):
            include.append(role)
    if st.button(f"Make the release of {chosen}", type="primary", icon=":material/inventory_2:"):
        with parts.spoken(), st.spinner("Drawing it again, checking its figures, writing it…"):
            exports.make(now.workspace, study, now.raw, chosen, include, now.look.partial)
            st.rerun()
    made = [one for one in exports.found(now.workspace) if one.manifest["candidate"] == chosen]
    if made:
        _downloads(made[0])
        if len(made) > 1:
            st.caption(f"The latest of {len(made)} exports of this release; each has another order of rows.")


def _downloads(made: exports.Export) -> None:
    left, right = st.columns(2, gap="large")
    with left.container(border=True, height="stretch"):
        st.markdown(":material/public: **May leave the building**")
        n = len(made.csvs)
        st.markdown(
            "The released data as CSV and Parquet, rows in a new secret order; nothing else is inside."
            if n == 1
            else f"{n} tables, release-01 to release-{n:02d}, each as CSV and Parquet, rows in the same new secret"
            " order; they are published together. Nothing else is inside."
        )
        st.download_button(
            "Download the release (zip)",
            made.archive.read_bytes,
            "release.zip",
            "application/zip",
            type="primary",
            icon=":material/download:",
            on_click="ignore",
        )
        csv = made.csvs[0]
        if n > 1:
            csv = st.selectbox("Table", made.csvs, format_func=lambda path: path.stem, key="export-table")
        st.download_button(
            "Download the CSV alone" if n == 1 else f"Download {csv.name} alone",
            csv.read_bytes,
            csv.name,
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    with right.container(border=True, height="stretch"):
        st.markdown(":material/lock: **Must stay inside**")
        st.warning("Whoever has the manifest and the release can undo the swap. Keep it with the original data.")
        st.markdown("It says what was done, with the key of this one run, and remakes the release bit for bit.")
        st.download_button(
            "Download the internal manifest",
            made.manifest_path.read_bytes,
            "internal-manifest.json",
            "application/json",
            icon=":material/lock:",
            on_click="ignore",
        )


# -- looking back ----------------------------------------------------------------------------------------------------


def _history(study: Study, decisions: list[Choice]) -> None:
    if not decisions:
        return
    st.subheader("Decisions so far", anchor=False)
    rows = [
        (
            time.strftime("%Y-%m-%d %H:%M", time.localtime(d.at)),
            f"{d.label}/{d.replicate}",
            text.swap_short(study.find(d.label)[0].spec),
            d.rule,
            d.why,
        )
        for d in reversed(decisions)
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=["when", "run", "what", "rule", "reason"]),
        hide_index=True,
        width="stretch",
        column_config={"reason": st.column_config.TextColumn("reason", width="large")},
        alt="Recorded decisions, newest first",
    )


page()
