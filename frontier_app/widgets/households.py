"""The column that numbers households and the places where they live: asked for on the pages File and Threat."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.common.errors import UsageError
from engine.data.microdata import RawTable
from engine.data.units import Units
from engine.plan import Plan
from engine.plan.coding import code
from engine.plan.columns import facts, numbers_units, units_first
from engine.plan.edit import set_unit, set_use
from engine.plan.entries import UnitColumns, unit_columns
from engine.plan.households import (
    lacks_exchange,
    names_exchange,
    places_of,
    suggested_places,
    with_exchange,
    with_records_exchanged,
)
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

_LARGEST = 15  # records of one household on average, from which a column numbers something else
_NONE = "none: every record stands for itself"


def title(plan: Plan) -> str:
    """The decisions in few words."""
    unit, places = " + ".join(plan.data.unit_columns), places_of(plan)
    return f"Households and places ({unit}; {' > '.join(places) or 'no places'})" if unit else "Households and places"


def number_columns(raw: RawTable, plan: Plan) -> list[str]:
    """Columns that could number households, the likeliest first: those that are no attributes, with several records a
    value."""
    coded = {name for part in plan.attributes for name in part.columns}
    likely: list[str] = []
    names: list[str] = []
    for name in raw.names:
        if name in coded or name == plan.data.weight:
            continue
        seen = facts(raw.columns[name], raw.n_records)
        if not seen.n_missing and raw.n_records <= _LARGEST * seen.n_distinct < _LARGEST * raw.n_records:
            (likely if numbers_units(raw.columns[name], seen) else names).append(name)
    return [*units_first([raw.columns[name] for name in likely]), *names]


def concerns(plan: Plan) -> bool:
    """Return whether the file may hold households: the plan names their column, or one may number them."""
    raw = state.get().raw
    return raw is not None and (plan.data.unit is not None or bool(_able(raw, plan)))


def asks_for_places(plan: Plan) -> bool:
    """Return whether the plan numbers households and leaves open what is exchanged, while the records suggest
    places."""
    raw = state.get().raw
    return raw is not None and lacks_exchange(plan) and bool(_suggested(raw, plan))


def _suggested(raw: RawTable, plan: Plan, unit: UnitColumns = None) -> tuple[str, ...]:
    number = unit or plan.data.unit
    return state.get().memo.get("suggested-places", (plan.data, number), lambda: suggested_places(raw, plan, number))


def _able(raw: RawTable, plan: Plan) -> list[str]:
    return state.get().memo.get("number-columns", plan.data, lambda: number_columns(raw, plan))


def inputs(plan: Plan, where: str, *, fixed: bool = False) -> None:
    """Both questions with what the records suggest, and a button that uses the answers."""
    now = state.get()
    raw = now.raw
    if raw is None:
        return
    able = _able(raw, plan)
    left, right = st.columns(2, gap="large")
    unit: UnitColumns = left.selectbox(
        "Which column numbers households?",
        [None, *dict.fromkeys((*([plan.data.unit] if plan.data.unit else []), *able))],
        index=1 if plan.data.unit else 0,
        format_func=lambda name: " + ".join(unit_columns(name)) or _NONE,
        key=f"{where}-unit-{now.version}",
        disabled=fixed,
        help="All records with the same number are one household. Its members then stay together in every release. "
        "Several columns that number households together are marked as unit in the table of columns.",
    )
    suggested = places_of(plan) or _suggested(raw, plan, unit)
    places = right.multiselect(
        "Which columns are places, from coarse to fine?",
        plan.names,
        default=list(suggested),
        key=f"{where}-places-{unit}-{now.version}",
        disabled=fixed or unit is None,
        placeholder="choose the largest areas first",
        filter_mode="contains",
        help="In the order of the choice: a region, its districts, their municipalities. Codes must nest.",
    )
    if unit is not None:
        _counts(raw, plan, unit, places)
    used = unit == plan.data.unit and tuple(places) == places_of(plan)
    if used or fixed:
        return
    label = "Exchange whole households between these places" if places else "Use this answer"
    if st.button(
        label, icon=":material/check:", key=f"{where}-use-households", type="primary" if places else "secondary"
    ):
        with elements.errors_shown():
            _use(raw, plan, unit, places)
            st.rerun()
    asks = unit is not None and suggested and not names_exchange(plan)
    if asks and st.button("Exchange records one by one", key=f"{where}-no-households"):
        with elements.errors_shown():
            numbered = plan if unit == plan.data.unit else set_unit(plan, unit_columns(unit))
            actions.change(with_records_exchanged(numbered), "records are exchanged one by one, not whole households")
            state.set_file_view(part=None, turn=now.file_view.turn + 1)
            st.rerun()


def _use(raw: RawTable, plan: Plan, unit: UnitColumns, places: Sequence[str]) -> None:
    if unit is None and places_of(plan):
        raise UsageError("the plan exchanges whole households; take that out on the page Plan first")
    with_number = plan
    if unit is not None and unit != plan.data.unit:
        with_number = set_unit(plan, unit_columns(unit))
    elif unit is None:
        for column in plan.data.unit_columns:
            with_number = set_use(with_number, column, "drop")
    done = f"'{' + '.join(unit_columns(unit))}' numbers households" if unit else "no column numbers households"
    if unit is not None and places:
        with_number = with_exchange(with_number, code(raw, with_number), places)
        done += f", which exchange their {places[-1]}"
    actions.change(with_number, done)


def _counts(raw: RawTable, plan: Plan, unit: UnitColumns, places: Sequence[str]) -> None:
    """Say how many households there are, and how many areas of each level."""
    n_units = len(Units.of_columns([raw.columns[name].codes for name in unit_columns(unit)]))
    areas = []
    for name in reversed(places):
        view = next(part for part in plan.attributes if part.name == name).view[0]
        areas.append(f"{facts(raw.columns[view], raw.n_records).n_distinct:,} of {name}")
    st.caption(
        markdown(
            "{} of {:.2g} persons on average{}. What one household has in common, such as its size, stays with it.",
            text.plural(n_units, "household"),
            raw.n_records / max(1, n_units),
            f"; areas: {', '.join(areas)}" if areas else "",
        )
    )
