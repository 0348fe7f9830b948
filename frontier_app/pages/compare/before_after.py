"""One candidate before and after, drawn from the engine's counts on the remade release."""

from __future__ import annotations

import streamlit as st

from engine.decision.meant_run import meant_run
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.report.describe import changes, remade
from engine.report.inspection import one_table
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.pages.compare import counts, intruder, places, relations
from frontier_app.pages.compare.counts import Which
from frontier_app.session import state
from frontier_app.widgets import candidate_picker, elements, recommendation
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_PARTS = {
    "associations": "Associations",
    "levels": "Distributions",
    "cells": "Small cells",
    "coefficients": "Coefficients",
    "altered": "Records changed",
    "intruder": "What an intruder sees",
    "runs": "Spread over runs",
}


def page(study: Study, view: RiskUtilityMap) -> None:
    """Pick a candidate and look at it."""
    now = state.get()
    label = candidate_picker.candidate(
        study, view, "Candidate", now.selected or _first(study, view), key=f"inspect-{now.version}"
    )
    if label is None:
        st.markdown("Choose a candidate to see it before and after.")
        return
    if label != now.selected:
        state.put(selected=label)
    index = study.find(label)[0].index
    parts = {**({"places": "Places"} if places.places_at_hand(study) else {}), **_PARTS}
    shown = now.compare_view.part if now.compare_view.part in parts else next(iter(_PARTS))
    part = elements.switch("What to look at", parts, shown, "inspect-part")
    if part != now.compare_view.part:
        state.set_compare_view(part=part)
    replicate = meant_run(study, index, view.risk, allow_partial=view.allow_partial)
    if part == "runs":
        relations.runs(study, view, index, replicate)
        return
    if now.raw is None:
        elements.needs_data("Before and after are shown by remaking the release from")
        return
    release, table = _made(study, label, replicate)
    _part(study, view, release, table, part, (str(study.path), label, replicate, table))


def _first(study: Study, view: RiskUtilityMap) -> str | None:
    """The recommended candidate, else the safest of the frontier."""
    first = dict(recommendation.letters(study, view)).get("A")
    if first is None:
        first = next(iter(view.frontier().tolist()), None)
    return None if first is None else view.scenarios[first].label


def _made(study: Study, label: str, replicate: int) -> tuple[Remade, int]:
    """The release, and which of its tables is looked at."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    with st.spinner("Remaking the release…"):
        release = now.memo.get(
            "remade", (str(study.path), label, replicate), lambda: remade(study, raw, label, replicate)
        )
    if len(release.tables) == 1:
        return release, 0
    tables = range(len(release.tables))
    table = st.selectbox(
        f"Table, of {len(release.tables)} that are published together",
        tables,
        index=now.compare_view.table if now.compare_view.table in tables else 0,
        format_func=lambda d: f"table {d + 1}",
        key="inspect-table",
        width=360,
    )
    if table != now.compare_view.table:
        state.set_compare_view(table=table)
    return release, table


def _part(study: Study, view: RiskUtilityMap, release: Remade, table: int, part: str, which: Which) -> None:
    memo, keys = state.get().memo, study.plan.keys
    changed = memo.get("changes", which, lambda: changes(one_table(release, table), keys))
    n = release.data.n_records
    st.markdown(
        markdown(
            "This is run **{}/{}**, settled by a rule and not by its figures: {:,} of {} have another value"
            " somewhere{}.",
            which[1],
            which[2],
            changed.records,
            text.plural(n, "record"),
            f" in table {table + 1}" if len(release.tables) > 1 else "",
        )
    )
    if part == "places":
        places.page(study, release, table, which)
    elif part == "levels":
        counts.distributions(study, release, changed, table)
    elif part == "associations":
        relations.associations(release, changed, table, which)
    elif part == "cells":
        counts.cells(study, release, changed, table, which)
    elif part == "coefficients":
        relations.coefficients(study, release, which)
    elif part == "intruder":
        intruder.page(study, view, release, which)
    else:
        counts.altered(release, changed)
        counts.carried(study, one_table(release, table), which)
