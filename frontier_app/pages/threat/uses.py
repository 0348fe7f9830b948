"""The uses of the data: regressions that users run and tables that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import EngineError
from engine.models.analyses import ready
from engine.models.regression import OK, WHY
from engine.plan import AnalysisPlan, Plan, TablePlan
from engine.plan.analysis import FAMILIES, MEDIAN, QUANTILE
from engine.release.records import ReleasedTable
from frontier_app.session import actions, state
from frontier_app.widgets import elements, rules
from frontier_app.wording import remedies, text
from frontier_app.wording.markup import markdown

T = TypeVar("T")
KINDS = tuple(FAMILIES)
_Kept = list[tuple[int, rules.Row]]  # rows with a number that stays theirs


def inputs(base: Plan, tag: str, fixed: bool) -> Plan:
    """The plan with what users do.  A row that is not right yet is said and kept on the page; the others count."""
    st.subheader("What users do with the data", anchor=False)
    raw = state.get().raw
    columns = raw.names if raw is not None else tuple(c for a in base.attributes for c in a.columns)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(markdown("**Tables** that users make"))
        st.caption("Named in the memo to the board.")
        found = _tables(base, tag, fixed)
    plan = replace(base, tables=found) if found != base.tables else base
    with right:
        st.markdown(markdown("**Regressions** that users run"))
        st.caption(
            markdown(
                "Written as *outcome \\~ first + second*. Attributes enter as categories, other columns as numbers, and"
                " the numbers behind a cut attribute as NAME_raw. Each is run on the original and on every release by"
                " the measures of analyses on the page Plan."
            )
        )
        declared = _analyses(plan, tag, fixed, columns)
        if declared != base.analyses:
            plan = replace(plan, analyses=declared)
        if plan.analyses and raw is not None:
            _try(plan)
    return plan


def _tables(base: Plan, tag: str, fixed: bool) -> tuple[TablePlan, ...]:
    def drawn(row: rules.Row, own: str) -> DeltaGenerator:
        name, crosses, remove = st.columns([3, 5, 3], vertical_alignment="bottom")
        row["name"] = name.text_input("Table", row["name"], key=f"name-{own}", disabled=fixed)
        row["attributes"] = _picked(crosses, "Crosses", base, row["attributes"], f"crosses-{own}", fixed)
        return remove

    kept = _rows("tables", rules.table_rows(base), base.tables, tag)
    blank: rules.Row = {"name": "", "attributes": []}
    return _listed("tables", "Add a table", kept, blank, tag, fixed, drawn, lambda rows: rules.tables_of(rows, base))


def _analyses(plan: Plan, tag: str, fixed: bool, columns: Sequence[str]) -> tuple[AnalysisPlan, ...]:
    def drawn(row: rules.Row, own: str) -> DeltaGenerator:
        name, formula, kind = st.columns([3, 5, 4], vertical_alignment="bottom")
        row["name"] = name.text_input("Analysis", row["name"], key=f"name-{own}", disabled=fixed)
        row["formula"] = formula.text_input(
            "Formula", row["formula"], key=f"formula-{own}", disabled=fixed, placeholder="outcome ~ first + second"
        )
        row["family"] = kind.selectbox(
            "Kind", KINDS, index=KINDS.index(row["family"]), key=f"family-{own}", disabled=fixed
        )
        by, more, remove = st.columns([5, 4, 3], vertical_alignment="bottom")
        row["by"] = _picked(
            by, "Separately in each level of", plan, row["by"], f"by-{own}", fixed, "all records together"
        )
        if row["family"] == QUANTILE:
            row["tau"] = more.text_input(
                "Quantile (0.5: median)", row["tau"] or MEDIAN, key=f"tau-{own}", disabled=fixed
            )
        able = FAMILIES[row["family"]].weighted
        row["weighted"] = able and more.checkbox(
            "With the weight", row["weighted"], key=f"weighted-{own}", disabled=fixed
        )
        return remove

    kept = _rows("analyses", rules.analysis_rows(plan), plan.analyses, tag)
    blank: rules.Row = {"name": "", "formula": "", "family": "linear", "by": [], "weighted": False, "tau": ""}

    def judged(rows: list[rules.Row]) -> tuple[tuple[AnalysisPlan, ...], dict[int, str]]:
        return rules.analyses_of(rows, plan, columns)

    return _listed("analyses", "Add a regression", kept, blank, tag, fixed, drawn, judged)


def _listed(
    name: str,
    label: str,
    kept: _Kept,
    blank: rules.Row,
    tag: str,
    fixed: bool,
    drawn: Callable[[rules.Row, str], DeltaGenerator],
    judged: Callable[[list[rules.Row]], tuple[T, dict[int, str]]],
) -> T:
    """Rows of inputs, each with what is wrong with it and the way to remove it, and the way to add one.

    ``drawn`` draws a row's inputs, changes the row to what they say and returns the place for its removal; ``judged``
    makes of all rows what counts, and says what is wrong by place.
    """
    places = {}
    for number, row in kept:
        places[number] = st.container()
        with places[number]:
            _remove(drawn(row, f"{name}-{number}-{tag}"), name, number, kept, fixed)
    found, wrong = judged([row for _, row in kept])
    _said(name, kept, found, wrong, places)
    _add(name, label, kept, blank, fixed)
    return found


def _picked(
    place: DeltaGenerator, label: str, plan: Plan, had: list[str], key: str, fixed: bool, none: str | None = None
) -> list[str]:
    """Attributes of the plan, of which those picked before that are still attributes are picked."""
    return place.multiselect(
        label,
        plan.names,
        default=[one for one in had if one in plan.names],
        key=key,
        disabled=fixed,
        placeholder=none,
        filter_mode="contains",
    )


def _rows(name: str, rows: list[rules.Row], held: object, tag: str) -> _Kept:
    """The rows as they were left, also those that are not right yet; the plan's own where it has other ones."""
    memo = state.get().memo

    def begin() -> _Kept:
        draft = memo.last(f"draft-{name}")
        return draft[1] if draft is not None and draft[0] == held else list(enumerate(rows))

    return memo.get(f"rows-{name}", tag, begin)


def _said(name: str, kept: _Kept, found: object, wrong: dict[int, str], places: dict[int, DeltaGenerator]) -> None:
    """What is wrong with a row, at the row."""
    for place, complaint in wrong.items():
        with places[kept[place][0]]:
            elements.complain(f"{complaint.rstrip('.')}. This row does not count yet.")
    state.get().memo.keep(f"draft-{name}", (found, kept))


def _add(name: str, label: str, kept: _Kept, blank: rules.Row, fixed: bool) -> None:
    if st.button(label, icon=":material/add:", key=f"add-{name}", disabled=fixed):
        kept.append((max((number for number, _ in kept), default=-1) + 1, blank))
        st.rerun()


def _remove(place: DeltaGenerator, name: str, number: int, kept: _Kept, fixed: bool) -> None:
    def remove() -> None:
        kept[:] = [(n, row) for n, row in kept if n != number]

    place.button(
        "Remove",
        icon=":material/delete:",
        key=f"remove-{name}-{number}",
        disabled=fixed,
        on_click=remove,
        type="tertiary",
        help="Remove this row",
    )


def _try(plan: Plan) -> None:
    """Fit the analyses on the original data, when asked."""
    now = state.get()
    depends = (plan.data, plan.analyses)
    if st.button("Try them on the original data", icon=":material/play_arrow:", key="try-analyses"):
        with st.spinner("Fitting…"):
            now.memo.get("tried", depends, lambda: _tried(plan))
    for name, words, fine in now.memo.peek("tried", depends) or ():
        if fine:
            st.markdown(markdown(":green[:material/check_circle:] **{}** – {}", name, words))
        else:
            elements.complain(words)


def _tried(plan: Plan) -> list[tuple[str, str, bool]]:
    """Name, result in words and success of every analysis on the original data."""
    results = []
    original = ReleasedTable(actions.coded())
    for analysis in plan.analyses:
        try:
            fit = ready(analysis, original, plan)
        except EngineError as error:
            results.append((analysis.name, remedies.error_text(error), False))
            continue
        lost = fit.fitted.why[fit.fitted.why != OK]
        words = f"{text.plural(len(fit.names), 'coefficient')} from {text.plural(len(fit.given.y), 'row')} of the "
        words += f"original data{f', {len(lost)} without a figure ({WHY[lost[0]]})' if len(lost) else ''}"
        all_lost = len(lost) == len(fit.names)
        results.append((analysis.name, f"analysis '{analysis.name}': {words}" if all_lost else words, not all_lost))
    return results
