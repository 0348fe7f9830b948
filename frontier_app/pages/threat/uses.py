"""The uses of the data: regressions that users run and tables that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import EngineError
from engine.common.wording import upper_first
from engine.measures import call
from engine.measures.planned import UnmeasuredUse, measures_of_uses, unmeasured_uses, with_uses_measured
from engine.models.analyses import ready
from engine.models.regression import OK, WHY
from engine.plan import AnalysisPlan, Plan, TablePlan
from engine.plan.edit import with_attributes_renamed, writable_names
from engine.plan.entries import FAMILIES, MEDIAN, QUANTILE
from engine.release.records import ReleasedTable
from frontier_app.session import actions, state
from frontier_app.widgets import elements, rules
from frontier_app.wording import remedies, text
from frontier_app.wording.markup import markdown

T = TypeVar("T")
KINDS = tuple(FAMILIES)
_Drafts = list[tuple[int, rules.Row]]  # rows with a number that stays theirs


def inputs(base: Plan, tag: str, fixed: bool) -> Plan:
    """The plan with what users do.  A row that is not right yet is said and kept on the page; the others count."""
    st.subheader("2. What users do with the data", anchor=False)
    raw = state.get().raw
    columns = raw.names if raw is not None else tuple(column for a in base.attributes for column in a.columns)
    st.markdown(markdown("**Tables** that users make. The memo to the board names them."))
    tables = _tables(base, tag, fixed)
    plan = replace(base, tables=tables) if tables != base.tables else base
    st.markdown(markdown("**Regressions** that users run. Each is run on the original and on every release."))
    st.caption(
        markdown(
            "Write a formula as *outcome \\~ first + second*. Attributes enter as categories, other columns as"
            " numbers, and the numbers behind a cut attribute as NAME_raw. The measures of analyses compare the"
            " results."
        )
    )
    declared = _analyses(plan, tag, fixed, columns)
    if declared != base.analyses:
        plan = replace(plan, analyses=declared)
    if plan.analyses and raw is not None:
        _try(plan)
    _measures(base, plan)
    return plan


def _measures(base: Plan, plan: Plan) -> None:
    """Show what is measured of the declared uses on every candidate."""
    missing = unmeasured_uses(with_uses_measured(base, plan)) if actions.own_study() is None else []
    for use in missing:
        st.warning(markdown("{}.", upper_first(use.sentence)), icon=":material/warning:")
    if any(use.attribute for use in missing):
        now = state.get().plan or plan
        in_tables = {name for table in now.tables for name in table.attributes}
        new_names = {name: new for name, new in writable_names(now).items() if name in in_tables}
        if new_names and st.button(f"Rename to {text.listed(list(new_names.values()))}", key="rename-attributes"):
            renamed = with_uses_measured(now, with_attributes_renamed(now, new_names))
            actions.change(renamed, f"{text.listed(list(new_names))} renamed")
            st.rerun()
    elif missing and st.button("Measure them", key="measure-uses"):
        now = state.get().plan or plan
        added = dict.fromkeys((*now.measures, *(use.measure for use in missing)))
        actions.change(replace(now, measures=tuple(added)), "declared uses are measured")
        st.rerun()
    measured = [text.measure_title(call(name)) for name in measures_of_uses(plan) if name not in _names(missing)]
    if not measured:
        return
    if actions.own_study() is None:
        st.caption(f"Measured on every candidate, among the measures on the page Plan: {text.listed(measured)}.")
    else:
        st.caption(
            f"These uses have measures: {text.listed(measured)}. The study has its own; the page Plan adds others to a"
            " new one."
        )


def _names(missing: Sequence[UnmeasuredUse]) -> set[str]:
    """The measures that these uses lack."""
    return {use.measure for use in missing}


def _tables(base: Plan, tag: str, fixed: bool) -> tuple[TablePlan, ...]:
    def drawn(row: rules.Row, own: str) -> DeltaGenerator:
        name, crosses, remove = st.columns([3, 5, 3], vertical_alignment="bottom")
        row["name"] = name.text_input("Table", row["name"], key=f"name-{own}", disabled=fixed)
        row["attributes"] = _picked(crosses, "Crosses", base, row["attributes"], f"crosses-{own}", fixed)
        return remove

    drafts = _rows("tables", rules.table_rows(base), base.tables, tag)
    blank: rules.Row = {"name": "", "attributes": []}
    return _listed("tables", "Add a table", drafts, blank, tag, fixed, drawn, lambda rows: rules.tables_of(rows, base))


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

    drafts = _rows("analyses", rules.analysis_rows(plan), plan.analyses, tag)
    blank: rules.Row = {"name": "", "formula": "", "family": "linear", "by": [], "weighted": False, "tau": ""}

    def judged(rows: list[rules.Row]) -> tuple[tuple[AnalysisPlan, ...], dict[int, str]]:
        return rules.analyses_of(rows, plan, columns)

    return _listed("analyses", "Add a regression", drafts, blank, tag, fixed, drawn, judged)


def _listed(
    name: str,
    label: str,
    drafts: _Drafts,
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
    containers = {}
    for number, row in drafts:
        containers[number] = st.container()
        with containers[number]:
            _remove(drawn(row, f"{name}-{number}-{tag}"), name, number, drafts, fixed)
    declared, wrong = judged([row for _, row in drafts])
    _show_errors(name, drafts, declared, wrong, containers)
    _add(name, label, drafts, blank, fixed)
    return declared


def _picked(
    column: DeltaGenerator, label: str, plan: Plan, before: list[str], key: str, fixed: bool, none: str | None = None
) -> list[str]:
    """Attributes of the plan, of which those picked before that are still attributes are picked."""
    return column.multiselect(
        label,
        plan.names,
        default=[attribute for attribute in before if attribute in plan.names],
        key=key,
        disabled=fixed,
        placeholder=none,
        filter_mode="contains",
        select_all=False,  # Enter would take all that match what is typed
    )


def _rows(name: str, rows: list[rules.Row], declared: object, tag: str) -> _Drafts:
    """The rows as they were left, also those that are not right yet; the plan's own where it has other ones."""
    memo = state.get().memo

    def begin() -> _Drafts:
        draft = memo.last(f"draft-{name}")
        return draft[1] if draft is not None and draft[0] == declared else list(enumerate(rows))

    return memo.get(f"rows-{name}", tag, begin)


def _show_errors(
    name: str, drafts: _Drafts, declared: object, wrong: dict[int, str], containers: dict[int, DeltaGenerator]
) -> None:
    """Show the faults of a row at the row."""
    for row, error in wrong.items():
        with containers[drafts[row][0]]:
            elements.show_error(f"{error.rstrip('.')}. This row does not count yet.")
    state.get().memo.keep(f"draft-{name}", (declared, drafts))


def _add(name: str, label: str, drafts: _Drafts, blank: rules.Row, fixed: bool) -> None:
    if st.button(label, icon=":material/add:", key=f"add-{name}", disabled=fixed):
        drafts.append((max((number for number, _ in drafts), default=-1) + 1, blank))
        st.rerun()


def _remove(column: DeltaGenerator, name: str, number: int, drafts: _Drafts, fixed: bool) -> None:
    def remove() -> None:
        drafts[:] = [(n, row) for n, row in drafts if n != number]

    column.button(
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
    for name, result, fine in now.memo.peek("tried", depends) or ():
        if fine:
            st.markdown(markdown(":green[:material/check_circle:] **{}** – {}", name, result))
        else:
            elements.show_error(result)


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
        result = f"{text.plural(len(fit.names), 'coefficient')} from {text.plural(len(fit.fit_input.y), 'row')} of the "
        result += f"original data{f', {len(lost)} without a figure ({WHY[lost[0]]})' if len(lost) else ''}"
        all_lost = len(lost) == len(fit.names)
        results.append((analysis.name, f"analysis '{analysis.name}': {result}" if all_lost else result, not all_lost))
    return results
