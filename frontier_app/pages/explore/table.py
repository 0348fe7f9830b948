"""Candidates as a table linked with the map, and the chips that filter both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.decision.gate import held_losses
from engine.frontier.risk_utility_map import RiskUtilityMap, inside
from engine.study.study import Pin
from frontier_app.charts import map_data
from frontier_app.pages.explore.card import select
from frontier_app.session import state
from frontier_app.widgets import candidate_card, elements
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import text
from frontier_app.wording.candidates import Filter
from frontier_app.wording.markup import markdown

MOST = 200
"""Rows shown at once."""
_MOST_COLUMNS = 6  # of what candidates differ in, up to which a further measure has room
_STANDING = {"frontier": "on the frontier", "within": "within the limit", "named": "lettered or pinned"}
_COLOURS = {"S": "#0072B2", "F": "#5B6470", "C": "#A34700"}
_PALE = ("#EEF1F4", "#B9D8EC", "#F4CDAE", "#BFE3D5", "#EBD3E2")
_DEEP = ("#242C34", "#1D4663", "#5C3418", "#1B4A3B", "#4B2E44")
"""Grounds of chips in the light and in the dark theme; the first says that nothing is special."""


def passing(view: RiskUtilityMap, rule: Rule, pins: dict[int, Pin]) -> np.ndarray | None:
    """Mask of the candidates that pass the filters and lie in the range selected; None where nothing filters."""
    look = state.get().look
    if not look.filters and look.box is None:
        return None
    found = np.ones(len(view.scenarios), bool)
    if look.box is not None:
        found[:] = False
        found[inside(view, look.box[:2], look.box[2:])] = True
    known = {each.name: each for each in candidate_card.differing(view).filters}
    for name, values in look.filters:
        if name == "standing":
            for value in values:
                found &= _of_standing(view, rule, pins, value)
        elif name in known:
            codes = [known[name].values.index(value) for value in values if value in known[name].values]
            found &= np.isin(known[name].codes, codes)
    return found


def _of_standing(view: RiskUtilityMap, rule: Rule, pins: dict[int, Pin], value: str) -> np.ndarray:
    if value == "frontier":
        return view.dominance.undominated
    if value == "within":
        return np.ones(len(view.scenarios), bool) if rule.bound is None else map_data.within_limit(view, rule.bound)
    named = np.zeros(len(view.scenarios), bool)
    named[[*(index for _, index in rule.letters), *pins]] = True
    return named


def table(view: RiskUtilityMap, rule: Rule, pins: dict[int, Pin]) -> None:
    """Chips, and the candidates that pass them; selecting a row selects the candidate."""
    _chips(view, rule)
    lit = passing(view, rule, pins)
    indices = _order(view, lit)
    n = len(view.scenarios) if lit is None else int(lit.sum())
    labels = [view.scenarios[i].label for i in indices.tolist()]
    now = state.get()
    at = view.scenarios.index_of(now.selected)
    words = [f"{n:,} of {len(view.scenarios):,}", "most useful first" if n <= MOST else f"the first {MOST} listed"]
    if at is not None:
        # said and not shown as a chosen row: a table that begins with one lets no other be chosen (Streamlit 1.67)
        row = labels.index(str(now.selected)) + 1 if now.selected in labels else 0
        words.append(f"selected: row {row}" if row else "the selected one is not among them")
    roles = any(each.is_role for each in candidate_card.differing(view).filters)
    if roles:
        words.append("S swapped, F partners equal, C partners differ, · free")
    st.caption(" · ".join(words))
    if not labels:
        return

    def picked() -> None:
        chosen = (state.input_value(key) or {}).get("selection", {}).get("rows", [])
        if chosen and chosen[0] < len(labels):
            select(labels[chosen[0]], "table")

    key = f"table-{now.picks}-{view.risk}-{view.utility}-{len(labels)}-{hash((now.look.box, now.look.filters))}"
    frame, config = rows(view, indices, rule, pins)
    st.dataframe(
        frame,
        key=key,
        hide_index=True,
        on_select=picked,
        selection_mode="single-row",
        height=min(38 + 35 * max(1, len(labels)), 420),
        width="stretch",
        column_config=config,
        alt="Candidates with what they differ in, risk, use and standing; a selected row is shown in the card above",
    )


def _order(view: RiskUtilityMap, lit: np.ndarray | None) -> np.ndarray:
    """The rows: most useful first; of very many the frontier is first."""
    indices = np.arange(len(view.scenarios)) if lit is None else np.flatnonzero(lit)
    if len(indices) > MOST:
        front = indices[view.dominance.undominated[indices]]
        rest = indices[~view.dominance.undominated[indices]]
        room = max(0, MOST - len(front))
        loss = np.where(np.isnan(view.utility_loss[rest]), np.inf, view.utility_loss[rest])
        nearest = rest[np.argpartition(loss, room - 1)[:room]] if 0 < room < len(rest) else rest[:room]
        front, nearest = (
            part[np.lexsort((view.risk_loss[part], view.utility_loss[part]))] for part in (front, nearest)
        )
        return np.concatenate([front, nearest])[:MOST]
    return indices[np.lexsort((view.risk_loss[indices], view.utility_loss[indices]))]


# -- chips -----------------------------------------------------------------------------------------------------------


def _chips(view: RiskUtilityMap, rule: Rule) -> None:
    """A row of chips for what candidates differ in; attributes that are not filtered by are behind a button."""
    look = state.get().look
    filters = candidate_card.differing(view).filters
    active = {name for name, _ in look.filters}
    roles = [each for each in filters if each.is_role]
    with st.container(horizontal=True, vertical_alignment="bottom", key="chips"):
        if look.box is not None:
            n = len(inside(view, look.box[:2], look.box[2:]))
            name = f"Box on the map: {n:,} ✕"
            st.button(name, key="box-away", on_click=_set_box, args=(None,), help="Take the box away")
        with st.popover("Range", help="A range of the map by figures: the way to a box without a pointer"):
            _range(view)
        standing = [value for value in _STANDING if value != "within" or rule.bound is not None]
        words = tuple(_STANDING[value] for value in standing)
        _pills(Filter("standing", "Standing", tuple(standing), words, np.zeros(0)))
        for each in filters:
            if not each.is_role or each.name in active:
                _pills(each)
        left = [each for each in roles if each.name not in active]
        if left:
            with st.popover("Filter by attribute"):
                for each in left:
                    _pills(each)


def _pills(each: Filter) -> None:
    """One thing to filter by; none chosen lets every value pass."""
    key, now = f"filter-{each.name}", dict(state.get().look.filters)
    words = dict(zip(each.values, each.words, strict=True))
    chosen = [value for value in now.get(each.name, ()) if value in words]
    if state.input_value(key) != chosen:
        state.set_input(key, chosen)

    def changed() -> None:
        picked = tuple(state.input_value(key) or ())
        others = {name: values for name, values in state.get().look.filters if name != each.name}
        state.look(filters=tuple({**others, **({each.name: picked} if picked else {})}.items()))
        _redraw()

    st.pills(
        each.title, list(each.values), selection_mode="multi", format_func=words.__getitem__, key=key, on_change=changed
    )


def _redraw() -> None:
    st.rerun(["table", "map"])


def _range(view: RiskUtilityMap) -> None:
    """A range of the map by figures."""
    look, given = state.get().look, []
    for i, (axis, k) in enumerate((("Risk", view.risk), ("Use", view.utility))):
        sign, loss = map_data.sign(view, k), (view.risk_loss, view.utility_loss)[i]
        known = sign * loss[np.isfinite(loss)]
        ends = sorted(sign * v for v in look.box[2 * i : 2 * i + 2]) if look.box else []
        low, high = ends or (float(known.min(initial=np.inf)), float(known.max(initial=-np.inf)))
        st.caption(f"{axis}: {text.measure_name(view.measures[k])}")
        for column, end, value in zip(st.columns(2), ("from", "to"), (low, high), strict=True):
            key = f"box-{axis}-{end}-{view.risk}-{view.utility}-{look.box}"
            given.append(sign * column.number_input(f"{axis} {end}", value=value, step=None, format="%.6g", key=key))
    st.button("List what is inside", key="box-apply", on_click=_set_box, args=(tuple(given),))


def _set_box(box: tuple[float, float, float, float] | None) -> None:
    state.look(box=box)
    _redraw()


# -- rows ------------------------------------------------------------------------------------------------------------


def rows(
    view: RiskUtilityMap, indices: np.ndarray, rule: Rule, pins: dict[int, Pin]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One row per candidate, and the settings of the columns; those that say nothing here are left out."""
    column, summary = st.column_config, view.summary
    table: dict[str, Any] = {}
    config: dict[str, Any] = {}

    def add(name: str, values: Any, shown: Any) -> None:
        table[name], config[name] = values, shown

    grounds = _DEEP if elements.is_dark() else _PALE
    letters = [rule.letter_of(i) for i in indices.tolist()]
    names = [(pins[i].name or "pinned") if i in pins else "" for i in indices.tolist()]
    if any(letters):
        add("letter", letters, column.TextColumn("", width=36, help="Letter on the map"))
    if any(names):
        add("pin", names, column.TextColumn("Pin", width=80))
    for number, each in enumerate(candidate_card.differing(view).filters):
        signs = np.array([*each.words, "–"], object)[each.codes[indices]]
        if len(each.words) > len(grounds) and not each.is_role:
            add(f"by{number}", signs, column.TextColumn(each.title, width=90))
            continue
        if each.is_role:
            colours = [_COLOURS.get(value, grounds[0]) for value in each.values]
            told = f"What becomes of {each.title}: S swapped, F partners equal, C partners differ, · free"
        else:
            colours, told = list(grounds[: len(each.words)]), each.title
        shown = column.MultiselectColumn(
            each.title,
            options=list(each.words),
            color=colours,
            width=max(52, 7 * len(each.title) + 24) if each.is_role else None,
            help=str(markdown("{}", told)),
        )
        add(f"by{number}", [[] if sign == "–" else [sign] for sign in signs.tolist()], shown)
    for name, k in _measured(view):
        share = map_data.is_share(view, k)
        values = map_data.sign(view, k) * summary.loss[indices, k] * (100 if share else 1)
        told = f"{text.measure_name(view.measures[k])}; {text.DIRECTION[view.measures[k].measure.better]}"
        shown = column.NumberColumn(
            name, format="%.3f %%" if share else "%.4f", width=max(85, 7 * len(name) + 26), help=told
        )
        add(f"measure{k}", values, shown)
    if view.households is not None and np.isfinite(view.households[indices]).any():
        help_words = "Mean number of households that moved"
        add("households", view.households[indices], column.NumberColumn("Moved", format="%,.0f", help=help_words))
    else:
        help_words = "Mean number of records changed"
        add("changed", summary.changed[indices], column.NumberColumn("Changed", format="%,.0f", help=help_words))
    runs = summary.counted[indices]
    within = _within(view, rule, indices)
    if within is not None and runs.max(initial=0) > 1:
        met_of = [f"{met} of {n}" for met, n in zip(within.tolist(), runs.tolist(), strict=True)]
        add(
            "within",
            met_of,
            column.TextColumn("Runs within", width=95, alignment="right", help="Runs within the limit"),
        )
    elif len(set(runs.tolist())) > 1:
        add("runs", runs, column.NumberColumn("Runs", width=55, help="Runs that count"))
    if (failed := summary.failed[indices]).any():
        told = "Runs that ended before the rate was reached"
        add("failed", failed, column.NumberColumn("Failed", width=60, help=told))
    standing = [map_data.dominance_words(view, i) for i in indices.tolist()]
    add("standing", standing, column.TextColumn("Standing", width=245))
    add("id", [view.scenarios[i].label for i in indices.tolist()], column.TextColumn("Id", width=70))
    return pd.DataFrame(table), config


def _measured(view: RiskUtilityMap) -> list[tuple[str, int]]:
    """Columns of measures with short heads: risk, use, and at most one further measure."""
    others = [k for k in range(len(view.measures)) if k not in (view.risk, view.utility)]
    wide = len(candidate_card.differing(view).filters) > _MOST_COLUMNS
    further = [] if wide else [(view.measures[k].measure.title, k) for k in others[:1]]
    return [("Risk", view.risk), ("Use", view.utility), *further]


def _within(view: RiskUtilityMap, rule: Rule, indices: np.ndarray) -> np.ndarray | None:
    """How many counted runs of each are within the limit, and within those of edit rules."""
    if rule.bound is None:
        return None
    counted = view.results.scenario[view.results.counted(view.allow_partial)]
    met = np.bincount(counted[held_losses(view, view.results) <= rule.bound], minlength=len(view.scenarios))
    return np.asarray(met[indices])
