"""The frontier under several measures together: a matrix of maps and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.frontier.risk_utility_map import RiskUtilityMap, undominated_together
from frontier_app.charts import map_data
from frontier_app.charts.before_after import Axis, MatrixPoints, splom
from frontier_app.pages.explore.card import select
from frontier_app.session import state
from frontier_app.widgets import candidate_card, elements
from frontier_app.wording import text

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
        st.caption(f"The {_LISTED} with the least {text.measure_within(view.measures[view.risk])} are listed.")


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
    table: dict[str, Any] = {"Candidate": [candidate_card.differing(view).name(i) for i in listed.tolist()]}
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
