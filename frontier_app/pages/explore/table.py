"""Candidates as a table linked with the map, and the frontier under several measures together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.frontier.risk_utility_map import (
    RiskUtilityMap,
    indistinguishable_groups,
    inside,
    safest,
    undominated_together,
)
from engine.mechanisms import amount
from engine.release.spec import ReleaseSpec
from engine.study.study import Pin
from frontier_app.charts import map_data
from frontier_app.charts.before_after import Axis, MatrixPoints, splom
from frontier_app.pages.explore.card import select
from frontier_app.session import state
from frontier_app.widgets import elements
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import mechanisms, text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_DRAWN = 2_000  # points of a panel up to which dominated ones are drawn too
_LISTED = 500


def measures(view: RiskUtilityMap) -> None:
    """The frontier under as many measures as are chosen."""
    look = state.get().look
    options = [str(call) for call in view.measures]
    names = {str(call): text.measure_name(call) for call in view.measures}
    start = [name for name in look.objectives if name in options]
    start = start or [options[view.risk], options[view.utility]]
    chosen = st.multiselect("Measures that count", options, start, format_func=names.__getitem__, key="look-objectives")
    if tuple(chosen) != look.objectives:
        state.look(objectives=tuple(chosen))
    if len(chosen) < 2:
        st.info("Choose two or more measures.", icon=":material/info:")
        return
    columns = [options.index(name) for name in chosen]
    key = (id(view), tuple(columns))
    on = state.get().memo.get("together", key, lambda: undominated_together(view, columns))
    front = np.flatnonzero(on)
    order = np.lexsort((view.utility_loss[front], view.risk_loss[front]))
    front = front[order]
    st.caption(
        f"{text.plural(len(front), 'candidate')} of {len(on):,}: no other is, on average, at least as good on all"
        f" {len(chosen)} measures and better on one. The more measures count, the more candidates stay."
    )
    elements.chart(
        _matrix(view, columns, on, np.arange(len(on)) if len(on) <= _DRAWN else front[:_DRAWN]),
        "measures-matrix",
        f"Scatter plots of {text.listed([names[name] for name in chosen])} against each other; the table below"
        " lists the frontier.",
        chosen=lambda: _select_clicked(view),
        toolbar=True,
    )
    _frontier_table(view, columns, front[:_LISTED])
    if len(front) > _LISTED:
        st.caption(f"The {_LISTED} with the least {_risk(view)} are listed.")


def _matrix(view: RiskUtilityMap, columns: list[int], on: np.ndarray, shown: np.ndarray) -> Figure:
    """The matrix with axes and colours of the map: uses to the right, risks upwards."""
    codes, names = map_data.categories(view, state.get().look.colour)
    codes, names = map_data.binned(codes, names)
    kinds = [view.measures[k].measure.kind == "risk" for k in columns]
    ordered = [columns[i] for i in sorted(range(len(columns)), key=kinds.__getitem__)]
    hover = [map_data.words(view, i) for i in shown.tolist()]
    return splom([_axis(view, k, shown) for k in ordered], MatrixPoints(on[shown], shown, hover, codes[shown], names))


def _axis(view: RiskUtilityMap, k: int, shown: np.ndarray) -> Axis:
    """A measure as on the map: utility and risk grow to the right and upwards, ticks are the measure's own figures."""
    call, sign = view.measures[k], map_data.sign(view, k)
    return Axis(
        name=text.measure_name(call),
        towards=text.towards(call),
        reversed=(sign < 0) == (call.measure.kind == "risk"),
        values=sign * view.summary.loss[shown, k],
        original=sign * float(view.original_losses[k]),
    )


def _select_clicked(view: RiskUtilityMap) -> None:
    """Select the candidate whose point was clicked."""
    points = (state.input_value("measures-matrix") or {}).get("selection", {}).get("points", [])
    indices = [point["customdata"] for point in points if point.get("customdata") is not None]
    if indices:
        index = int(indices[0][0] if isinstance(indices[0], list) else indices[0])
        select(view.scenarios[index].label, "map")


def _frontier_table(view: RiskUtilityMap, columns: list[int], listed: np.ndarray) -> None:
    labels = [view.scenarios[i].label for i in listed.tolist()]
    table: dict[str, Any] = {"Candidate": [text.swap_short(view.scenarios[i].spec) for i in listed.tolist()]}
    column = st.column_config
    config: dict[str, Any] = {"Id": column.TextColumn(width=80), "Candidate": column.TextColumn(width=210)}
    for k in columns:
        call = view.measures[k]
        table[str(call)] = map_data.sign(view, k) * view.summary.loss[listed, k]
        config[str(call)] = column.NumberColumn(
            text.measure_name(call),
            help=f"{text.measure_name(call)}; {text.DIRECTION[call.measure.better]}",
            format="%.5g",
            width=max(70, 240 // len(columns)),
        )
    table["Id"] = labels

    def select_row() -> None:
        rows = (state.input_value("measures-table") or {}).get("selection", {}).get("rows", [])
        if rows and rows[0] < len(labels):
            select(labels[rows[0]], "map")

    st.dataframe(
        pd.DataFrame(table),
        key="measures-table",
        hide_index=True,
        on_select=select_row,
        selection_mode="single-row",
        height=min(38 + 35 * max(1, len(labels)), 320),
        width="stretch",
        column_config=config,
        alt="The frontier under these measures; a selected row is shown in the card",
    )


def _risk(view: RiskUtilityMap) -> str:
    """The map's risk measure in words."""
    return text.measure_within(view.measures[view.risk])


MOST = 1_000
"""Rows shown at once."""
_ROWS = {
    "frontier": "On the frontier",
    "near": "Lettered and pinned",
    "box": "In a range of the map",
    "all": "All",
}


def table(view: RiskUtilityMap, rule: Rule, pins: dict[int, Pin]) -> None:
    """The candidates asked for; selecting a row selects the candidate."""
    now = state.get()
    st.subheader("Candidates", anchor=False)
    left, right = st.columns([3, 2], vertical_alignment="center")
    if state.input_value("table-rows") != now.look.rows:
        state.set_input("table-rows", now.look.rows)
    which = left.segmented_control(
        "Rows",
        list(_ROWS),
        required=True,
        format_func=_ROWS.__getitem__,
        key="table-rows",
        label_visibility="collapsed",
    )
    which = which or now.look.rows
    if which != now.look.rows:
        now = state.look(rows=which)
    if which == "box":
        with right:
            _range(view)
        now = state.get()
    indices, n = _places(view, rule, pins, which)
    caption = _caption(view, n, which)
    labels = [view.scenarios[i].label for i in indices.tolist()]
    at = view.scenarios.index_of(now.selected)
    chosen = "" if at is None else text.named(view.scenarios[at])
    if at is not None and now.selected not in labels:
        caption += f" The selected candidate, {chosen}, is not among them."
    elif at is not None:
        # said and not shown as a chosen row: a table that begins with one lets no other be chosen (Streamlit 1.67)
        caption += f" The selected candidate, {chosen}, is row {labels.index(str(now.selected)) + 1}."
    if caption:
        st.caption(caption)
    if not labels:
        return

    def picked() -> None:
        rows = (state.input_value(key) or {}).get("selection", {}).get("rows", [])
        if rows and rows[0] < len(labels):
            select(labels[rows[0]], "table")

    key = f"table-{which}-{now.picks}-{view.risk}-{view.utility}-{len(labels)}-{hash(now.look.box)}"
    st.dataframe(
        rows(view, indices, rule, pins),
        key=key,
        hide_index=True,
        on_select=picked,
        selection_mode="single-row",
        height=min(38 + 35 * max(1, len(labels)), 420),
        width="stretch",
        column_config=_columns(view),
        alt="Candidates with risk, utility and standing; a selected row is shown in the card above",
    )


def _places(view: RiskUtilityMap, rule: Rule, pins: dict[int, Pin], which: str) -> tuple[np.ndarray, int]:
    """The places that are listed, and how many there are in all."""
    look = state.get().look
    if which == "near":
        near = {*(index for _, index in rule.letters), *pins}
        order = sorted(near, key=lambda i: (view.risk_loss[i], view.utility_loss[i]))
        return np.array(order, np.int64), len(near)
    codes, names = map_data.forms(view)
    if which == "all" and look.mechanism not in names:
        return safest(view, MOST), len(view.risk_loss)
    if which == "box":
        indices = np.zeros(0, np.int64) if look.box is None else inside(view, look.box[:2], look.box[2:])
    elif which == "all":
        indices = np.lexsort((view.utility_loss, view.risk_loss))
    else:
        indices = view.frontier()
    if look.mechanism in names:
        indices = indices[codes[indices] == names.index(look.mechanism)]
    return np.asarray(indices)[:MOST], len(indices)


def _caption(view: RiskUtilityMap, n: int, which: str) -> str:
    """The caption: what the rows are, and how many are not shown."""
    if which == "near" and not n:
        return "Nothing is recommended and nothing is pinned: set α above the map, or pin a candidate in its card."
    if which == "box" and state.get().look.box is None:
        return "Draw a box on the map with the dashed square of its toolbar, or type a range here."
    caption = f"{text.plural(n, 'candidate')}."
    if n > MOST:
        caption = f"{n:,} candidates; the {MOST:,} with the least risk are listed. A range of the map narrows them."
    if view.riskier_than_original.any():
        caption += " ⚠ marks candidates that are on average riskier than doing nothing."
    if which == "frontier":
        groups = indistinguishable_groups(view)
        if len(groups) < n:
            caption += f" Their means differ by more than noise between {len(groups)} groups of them only."
    return caption


def _range(view: RiskUtilityMap) -> None:
    """A range of the map by figures: the way to it without a pointer."""
    look = state.get().look
    with st.popover("Type a range", icon=":material/crop_free:", width="stretch"):
        signs = [map_data.sign(view, k) for k in (view.risk, view.utility)]
        columns = (view.risk_loss, view.utility_loss)
        ends_given = []
        for i, (axis, k, sign) in enumerate(zip(("Risk", "Use"), (view.risk, view.utility), signs, strict=True)):
            known = sign * columns[i][np.isfinite(columns[i])]
            ends = sorted(sign * v for v in look.box[2 * i : 2 * i + 2]) if look.box else []
            low, high = ends or (float(known.min(initial=np.inf)), float(known.max(initial=-np.inf)))
            st.caption(f"{axis}: {text.measure_name(view.measures[k])}")
            for column, end, value in zip(st.columns(2), ("from", "to"), (low, high), strict=True):
                key = f"box-{axis}-{end}-{view.risk}-{view.utility}-{look.box}"
                ends_given.append(
                    sign * column.number_input(f"{axis} {end}", value=value, step=None, format="%.6g", key=key)
                )
        if st.button("List what is inside", key="box-apply"):
            state.look(box=tuple(ends_given))
            st.rerun()


def rows(view: RiskUtilityMap, indices: np.ndarray, rule: Rule, pins: dict[int, Pin]) -> pd.DataFrame:
    """One row per candidate: columns that say nothing here are left out."""
    summary = view.summary
    scenarios = [view.scenarios[i] for i in indices.tolist()]
    mixed = bool(map_data.forms(view)[1])
    letters = [rule.letter_of(i) for i in indices.tolist()]
    names = [(pins[i].name or "pinned") if i in pins else "" for i in indices.tolist()]
    riskier = view.riskier_than_original
    failed = summary.failed[indices]
    runs = summary.counted[indices]

    def spread(name: str, se: np.ndarray) -> dict[str, Any]:
        return {name: se} if np.isfinite(se).any() else {}

    columns: dict[str, Any] = {
        **({"letter": letters} if any(letters) else {}),
        **({"pin": names} if any(names) else {}),
        **({"mechanism": [s.spec.mechanism for s in scenarios]} if mixed else {}),
        "swap": [s.spec.short if s.spec.by_roles else mechanisms.settings(s.spec) for s in scenarios],
        **_amounts([s.spec for s in scenarios]),
        "risk": map_data.sign(view, view.risk) * view.risk_loss[indices],
        **spread("risk_se", summary.loss_se[indices, view.risk]),
        "loss": map_data.sign(view, view.utility) * view.utility_loss[indices],
        **spread("loss_se", summary.loss_se[indices, view.utility]),
        "standing": [("⚠ " if riskier[i] else "") + map_data.dominance_words(view, i) for i in indices.tolist()],
        "share": 100 * view.dominance.share[indices],
        "changed": summary.changed[indices],
        **spread("households", np.full(len(indices), np.nan) if view.households is None else view.households[indices]),
        **({"runs": runs} if len(set(runs.tolist())) > 1 else {}),
        **({"failed": failed} if failed.any() else {}),
        "id": [s.label for s in scenarios],
    }
    return pd.DataFrame(columns)


def _amounts(specs: Sequence[ReleaseSpec]) -> dict[str, list[Any]]:
    """The column of amounts: numbers for random swaps, else words."""
    if all(spec.by_roles for spec in specs):
        return {"rate": [100 * float(spec.rate) for spec in specs]}
    return {"amount": [str(amount(spec)) for spec in specs]}


def _columns(view: RiskUtilityMap) -> dict[str, Any]:
    column = st.column_config
    mixed, shared = bool(map_data.forms(view)[1]), int(view.shared_runs.max(initial=0))
    in_runs = f"share of the {text.plural(shared, 'run')} that all candidates share in which it is on the frontier"
    risk, utility = (text.measure_name(view.measures[k]) for k in (view.risk, view.utility))
    good = [text.DIRECTION[view.measures[k].measure.better] for k in (view.risk, view.utility)]
    return {
        "letter": column.TextColumn("", width=35, help="letter on the map"),
        "id": column.TextColumn("Id", width=65),
        "pin": column.TextColumn("Pin", width=80),
        "mechanism": column.TextColumn("Mechanism", width=95),
        "swap": column.TextColumn("Swaps or settings", width=240) if mixed else column.TextColumn("Swaps", width=300),
        "rate": column.NumberColumn("Rate", format="%.4g %%", width=55),
        "amount": column.TextColumn("Amount", width=170, help="how much is changed, in the terms of each mechanism"),
        "risk": column.NumberColumn("Risk", format="%.5f", width=75, help=f"{risk}; {good[0]}"),
        "risk_se": column.NumberColumn("± SE", format="%.5f", width=70, help="standard error of the mean risk"),
        "loss": column.NumberColumn("Use", format="%.5f", width=75, help=f"{utility}; {good[1]}"),
        "loss_se": column.NumberColumn("± SE", format="%.5f", width=70, help="standard error of the mean use"),
        "standing": column.TextColumn("Standing", help="⚠ riskier than doing nothing, on average", width=150),
        "share": column.NumberColumn("In runs", format="%.0f %%", help=in_runs, width=60),
        "changed": column.NumberColumn("Changed", format="localized", help="mean number of records in swaps", width=75),
        "households": column.NumberColumn(
            "Households", format="localized", help="mean number of households that moved", width=85
        ),
        "runs": column.NumberColumn("Runs", help="runs that count", width=50),
        "failed": column.NumberColumn("Failed", help="runs that ended before the rate was reached", width=55),
    }
