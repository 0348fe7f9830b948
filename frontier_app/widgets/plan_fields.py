"""Inputs of plan entries that several pages draw: measures, households, and lists edited as tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.wording import listed, upper_first
from engine.data.domain import Domain, EditRule
from engine.data.microdata import RawTable, Units
from engine.decision.states import DecisionStatus
from engine.measures import MEASURES, MeasureCall, call
from engine.measures.distortion import SUMMARIES
from engine.plan import AnalysisPlan, Plan, TablePlan
from engine.plan.coding import code
from engine.plan.columns import facts, numbers_units, units_first
from engine.plan.edit import set_unit, set_use
from engine.plan.entries import ALL, MEDIAN, QUANTILE, UnitColumns, unit_columns
from engine.plan.households import (
    lacks_exchange,
    names_exchange,
    places_of,
    suggested_places,
    with_exchange,
    with_records_exchanged,
)
from engine.plan.types import declaration, unstated
from engine.study.study import Study
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.widgets.elements import InputErrors
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

T = TypeVar("T")
PARAMETERS = {
    "n_rule": "Small means fewer records than",
    "summary": "Of several figures, take the",
    "s": "Most records in a sensitive cell of the keys",
    "rule": "Sensitive: s records or fewer (le), or fewer than s (lt)",
    "k": "Fewest records that must share a combination (k)",
    "analysis": "Declared analysis",
    "target": "Attribute that the intruder wants to know",
    "file": "File that the intruder has",
    "numeric": "Numeric columns that are linked too",
    "size": "Number of keys that the intruder knows",
    "top": "Share of the records that are taken as most suspect",
    "least": "Fewest records of a group that is looked at",
    "l": "Fewest values of the target that a cell should show",
    "diversity": "How different values are counted",
    "by": "Apart for each level of",
    "weighted": "With the weights (1) or without (0)",
    "interactions": "With interactions of two columns (1) or without (0)",
    "leaf": "Fewest records in a leaf of the tree",
    "model": "Statistical model",
    "mode": "Model of the release: the original's (fixed) or fitted anew",
    "zero": "What a record counts that the model or the file does not know",
    "df": "Degrees of freedom of the intervals",
    "significant": "Significant coefficients alone (1) or all (0)",
    "denominator": "Divided by the sensitive cells or by all occupied ones",
    "fraction": "Share of the population in the file",
    "beta": "Most records of the file that still count as few",
    "unmatched": "What persons count whose keys no record has",
    "distance": "Distance between two values",
    "threshold": "How sure the intruder must be",
    "h": "Numbers agree within so many standard deviations",
    "block": "Columns on which compared records must agree",
}


def entry_field(
    place: DeltaGenerator,
    plan: Plan,
    name: str,
    tag: str,
    *,
    label: str = "",
    words: Mapping[Any, str] | None = None,
    tall: bool = False,
    **form: Any,
) -> Any:
    """Ask for an entry of a plan, such as ``about.survey``, by its declaration; returns what the input says.

    ``words`` are those of its choices; a ``tall`` text has several lines, and so has a list of texts.
    """
    said, before, key = declaration(name), attrgetter(name)(plan), f"{name.replace('.', '-')}-{tag}"
    form = {"key": key, "help": said.help or None} | form
    label = label or upper_first(said.label)
    if words is not None:
        options = list(words)
        return place.selectbox(label, options, options.index(before), format_func=words.__getitem__, **form)
    if isinstance(before, int):
        return int(place.number_input(label, said.low, said.high, before, **form))
    form["placeholder"] = said.example or None
    if isinstance(before, tuple):
        lines = place.text_area(f"{label}, one a line", "\n".join(before), height=68, **form).splitlines()
        return tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    return place.text_area(label, before, height=68, **form) if tall else place.text_input(label, before, **form)


RULES = ("le", "lt")


KINDS = ("risk", "utility")


NEEDS = {
    "counts": (
        "from tables of counts – microseconds to milliseconds each",
        "They tabulate; most hardly add to the time of a sweep, and each says its cost.",
    ),
    "records": (
        "from the records – milliseconds and more",
        "They work on every record, so a sweep takes longer.",
    ),
}


def measures(base: Plan, tag: str, analyses: list[str], wrong: InputErrors) -> list[str]:
    """Measures of risk and of utility by what they need, with their meaning, and a line for variants."""
    calls = [call(name) for name in base.measures]
    first = _first(calls)
    columns = st.columns(2)
    picked = {kind: _picked(column, kind, first, tag) for column, kind in zip(columns, KINDS, strict=True)}
    chosen: list[str] = []
    # open where a measure was picked just now whose parameters may have to be given
    is_new = any(name not in first and call(name).values for names in picked.values() for name in names)
    with st.expander(
        "What these measures mean, their parameters and variants", expanded=is_new, icon=":material/tune:"
    ):
        for place, column, kind in zip(st.columns(2), columns, KINDS, strict=True):
            for name in picked[kind]:
                measure, had_call = MEASURES[name], first.get(name, call(name))
                heading = place.empty()
                with column:  # an error is seen while the fold is shut
                    picked_call = wrong.attempt(partial(_with_parameters, had_call, place, tag, analyses), had_call)
                heading.markdown(
                    markdown("**{}** – {}", measure.title, text.DIRECTION[measure.better]),
                    help=f"{text.measure_help(picked_call)} Cost of one candidate: {measure.cost}.",
                )
                chosen.append(str(picked_call))
        return _with_variants(base, chosen, calls, tag, wrong)


def _first(calls: list[MeasureCall]) -> dict[str, MeasureCall]:
    """The first call of every measure, by name."""
    first: dict[str, MeasureCall] = {}
    for measure_call in calls:
        first.setdefault(measure_call.measure.name, measure_call)
    return first


def _picked(column: DeltaGenerator, kind: str, first: dict[str, MeasureCall], tag: str) -> list[str]:
    """The names of the measures of one kind that are chosen, by what they need."""
    column.markdown(markdown("**Disclosure risk**" if kind == "risk" else "**Data utility**"))
    picked: list[str] = []
    for needs, (group, explained) in NEEDS.items():
        options = [
            name for name, m in MEASURES.items() if m.kind == kind and (m.needs == "counts") == (needs == "counts")
        ]
        picked += column.multiselect(
            f"{'Risk' if kind == 'risk' else 'Utility'} {group}",
            options,
            default=[name for name in options if name in first],
            format_func=lambda name: MEASURES[name].title,
            key=f"measures-{kind}-{needs}-{tag}",
            help=explained,
        )
    return picked


def _with_variants(base: Plan, chosen: list[str], calls: list[MeasureCall], tag: str, wrong: InputErrors) -> list[str]:
    """The chosen measures with the variants that are written out, as the plan has them and in its order: looking at a
    plan does not change it."""
    first = _first(calls)
    further = [str(measure_call) for measure_call in calls if measure_call is not first[measure_call.measure.name]]
    line = st.text_input(
        "Variants of a measure",
        value=", ".join(further),
        key=f"measures-{tag}",
        placeholder="such as small_cells[n_rule=5] or hellinger[attributes=A+B]",
        help="Write a measure again with other parameters or over other attributes.",
    )
    # A comma may stand inside the brackets too.
    variants = [name for name in re.split(r",(?![^\[]*\])", line) if name.strip()]
    written: list[str] = wrong.attempt(lambda: [str(call(name)) for name in variants], [])
    chosen = [*chosen, *written]
    written_as = {str(call(name)): name for name in base.measures}
    order = list(written_as)
    chosen = sorted(dict.fromkeys(chosen), key=lambda name: order.index(name) if name in written_as else len(order))
    return [written_as.get(name, name) for name in chosen]


def _with_parameters(measure_call: MeasureCall, column: DeltaGenerator, tag: str, analyses: list[str]) -> MeasureCall:
    """The measure with the values of its parameters, asked for below it."""
    values = measure_call.values
    for name, value in values.items():
        label, key = PARAMETERS.get(name, f"parameter {name}"), f"parameter-{measure_call.measure.name}-{name}-{tag}"
        if isinstance(value, int):
            values[name] = int(column.number_input(label, value=value, step=1, key=key))
        elif name == "summary" and value in SUMMARIES:
            values[name] = column.selectbox(label, SUMMARIES, index=SUMMARIES.index(value), key=key)
        elif name == "rule" and value in RULES:
            values[name] = column.selectbox(label, RULES, index=RULES.index(str(value)), key=key)
        elif name == "analysis":
            options = list(dict.fromkeys((ALL, *analyses, str(value))))
            values[name] = column.selectbox(label, options, index=options.index(str(value)), key=key)
        else:
            values[name] = column.text_input(label, value=value, key=key).strip() or value
    if measure_call.measure.check:
        measure_call.measure.check(**values)
    return MeasureCall(measure_call.measure, tuple(values.items()), measure_call.attributes)


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
            state.show_part(None)
            st.rerun()


def _use(raw: RawTable, plan: Plan, unit: UnitColumns, places: Sequence[str]) -> None:
    if unit is None and places_of(plan):
        raise UsageError("the plan exchanges whole households; take that out on the page Candidates first")
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


_IS = " = "
_EXISTING = ": only what exists"
Picks = dict[str, tuple[str, str | None]]
"""Words that a person picks, with the attribute and the level that they stand for; None stands for all combinations of
the attribute that the original does not hold."""
EFFECTS = ("counts", "forbids")
"""What an edit rule does: it counts broken records, or no swap may break it."""
_LEVELS = 60  # attributes with more levels are left out of what can be picked


def picks(domain: Domain, plan: Plan) -> Picks:
    """The choices for a forbidden combination."""
    options: Picks = {f"{attribute.name}{_EXISTING}": (attribute.name, None) for attribute in domain.attributes}
    options |= {
        f"{attribute.name}{_IS}{level}": (attribute.name, level)
        for attribute in domain.attributes
        if attribute.size <= _LEVELS
        for level in attribute.levels
    }
    for rule in plan.edits:
        for name, levels in rule.forbid:
            options |= {f"{name}{_IS}{level}": (name, level) for level in levels}
        options |= {f"{name}{_EXISTING}": (name, None) for name in rule.existing}
    return options


Row = dict[str, Any]
"""One row of inputs."""


def list_editor(
    name: str,
    rows: Sequence[Row],
    columns: Mapping[str, Any],
    declared: tuple[T, ...],
    tag: str,
    judged: Callable[[list[Row]], tuple[tuple[T, ...], dict[int, str]]],
    *,
    alt: str,
    fixed: bool = False,
) -> tuple[T, ...]:
    """Edit a list of the plan as a table; rows that are not right yet are named and kept, and the others count.

    ``rows`` show what is ``declared``; ``judged`` makes of rows what counts, and says what is wrong by place.
    """
    memo = state.get().memo

    def begin() -> pd.DataFrame:
        draft = memo.last(f"draft-{name}")
        kept = draft[1] if draft is not None and draft[0] == declared else rows
        return pd.DataFrame({column: pd.Series([row[column] for row in kept], dtype=object) for column in columns})

    edited = st.data_editor(
        memo.get(f"rows-{name}", tag, begin),
        key=f"edits-{name}-{tag}",
        num_rows="fixed" if fixed else "dynamic",
        disabled=fixed,
        hide_index=True,
        width="stretch",
        column_config=columns,
        alt=alt,
    )
    given: list[Row] = [{str(column): value for column, value in row.items()} for row in edited.to_dict("records")]
    counted, wrong = judged(given)
    memo.keep(f"draft-{name}", (counted, given))
    for place, error in wrong.items():
        elements.show_error(f"{error.rstrip('.')}. Row {place + 1} does not count yet.")
    return counted


def pick_column(label: str, options: Sequence[str], width: int, tip: str = "") -> Any:
    """A column of :func:`list_editor` whose cells hold several of the options.

    Streamlit's cell takes an option by a click or as typed text; Enter on a highlighted one closes the cell without it.
    """
    how = "Type part of a name and press Enter, or click in the open cell; Enter closes it, Escape discards."
    return st.column_config.MultiselectColumn(
        label, options=options, accept_new_options=False, width=width, help=f"{tip} {how}".strip()
    )


def _accepted(
    rows: Sequence[Row], make: Callable[[int, Row], T | None], check: Callable[[tuple[T, ...]], object]
) -> tuple[tuple[T, ...], dict[int, str]]:
    """Make an entry of each row (None: an empty row) and check it with those before; also errors by place."""
    found: tuple[T, ...] = ()
    wrong: dict[int, str] = {}
    for place, row in enumerate(rows):
        try:
            if (made := make(place, row)) is not None:
                check((*found, made))
                found = (*found, made)
        except EngineError as error:
            wrong[place] = text.error_text(error)
    return found, wrong


def edit_rows(plan: Plan) -> list[Row]:
    """One row per edit rule: its name, the levels it forbids together, what it does to swaps, and its limit."""
    return [
        {
            "name": rule.name,
            "forbid": [f"{name}{_IS}{level}" for name, levels in rule.forbid for level in levels]
            + [f"{name}{_EXISTING}" for name in rule.existing],
            "effect": EFFECTS[rule.refuse],
            "at_most": rule.at_most,
        }
        for rule in plan.edits
    ]


def edits_of(rows: Sequence[Row], plan: Plan, known: Picks) -> tuple[tuple[EditRule, ...], dict[int, str]]:
    """The rules that rows say, and errors by place."""

    def make(_: int, row: Row) -> EditRule | None:
        forbid: dict[str, list[str]] = {}
        existing: list[str] = []
        for word in _list(row["forbid"]):
            attribute, level = known[word]
            if level is None:
                existing.append(attribute)
            else:
                forbid.setdefault(attribute, []).append(level)
        name = _text(row["name"])
        if not name and not forbid and not existing:
            return None
        if not forbid and not existing:
            raise UsageError(f"edit rule '{name}' forbids nothing yet; pick levels of at least one attribute")
        name = name or ", ".join([f"{attribute} {' or '.join(levels)}" for attribute, levels in forbid.items()])
        name = name or f"only {' × '.join(existing)} that exist"
        picked = tuple((attribute, tuple(levels)) for attribute, levels in forbid.items())
        at_most: int | None = None if pd.isna(row["at_most"]) else int(row["at_most"])
        return EditRule(name, picked, row["effect"] == EFFECTS[True], tuple(existing), at_most)

    return _accepted(rows, make, lambda edits: replace(plan, edits=edits))


def analysis_rows(plan: Plan) -> list[Row]:
    """One row per declared analysis."""
    names = ("name", "formula", "family", "weighted", "tau")
    return [{**{name: getattr(a, name) for name in names}, "by": list(a.by)} for a in plan.analyses]


def analyses_of(
    rows: Sequence[Row], plan: Plan, columns: Sequence[str]
) -> tuple[tuple[AnalysisPlan, ...], dict[int, str]]:
    """The analyses that rows say, and errors by place.

    ``columns`` are the raw columns that a formula may name beside the plan's attributes.
    """

    def make(place: int, row: Row) -> AnalysisPlan | None:
        name, formula, family = _text(row["name"]), _text(row["formula"]), _text(row["family"]) or "linear"
        if not name and not formula:
            return None
        tau = (_text(row["tau"]) or MEDIAN) if family == QUANTILE else ""
        weighted = row["weighted"] is True or row["weighted"] == 1
        made = AnalysisPlan(name or f"analysis {place + 1}", formula, family, tuple(_list(row["by"])), weighted, tau)
        _check_names(made, plan, columns)
        return made

    return _accepted(rows, make, lambda analyses: replace(plan, analyses=analyses))


def _check_names(analysis: AnalysisPlan, plan: Plan, columns: Sequence[str]) -> None:
    """Refuse a formula with a name that is nothing in these data."""
    known = tuple(dict.fromkeys((*plan.names, *columns)))
    for name in analysis.columns:
        if name not in known and name.removesuffix("_raw") not in plan.names:
            raise UsageError(
                f"analysis '{analysis.name}' names '{name}', which is no attribute and no column of the data."
                + did_you_mean(name, known)
            )


def table_rows(plan: Plan) -> list[Row]:
    """One row per table that users make."""
    return [{"name": table.name, "attributes": list(table.attributes)} for table in plan.tables]


def tables_of(rows: Sequence[Row], plan: Plan) -> tuple[tuple[TablePlan, ...], dict[int, str]]:
    """The tables that rows say, and errors by place."""

    def make(_: int, row: Row) -> TablePlan | None:
        name, attributes = _text(row["name"]), tuple(_list(row["attributes"]))
        return TablePlan(name or " by ".join(attributes), attributes) if name or attributes else None

    return _accepted(rows, make, lambda tables: replace(plan, tables=tables))


def numbers_from(plan: Plan, columns: Sequence[str]) -> list[str]:
    """Raw columns that measures may use as numbers: those that stay in a release."""
    out = {plan.data.id, *plan.data.unit_columns, *plan.data.drop}
    return [name for name in columns if name not in out]


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _list(value: object) -> list[str]:
    return list(value) if isinstance(value, list | tuple) else []


def before_submission(study: Study, status: DecisionStatus) -> None:
    """Show what the memo would call not stated, as long as a draft can be changed; nothing where all is filled in."""
    missing = unstated(study.plan) if status.state in ("draft", "returned") else {}
    if not missing:
        return
    titles = listed(missing.values())
    st.info(
        markdown(
            "**Still to be filled in for the board:** {}. The memo says “not stated” where they stay empty.", titles
        ),
        icon=":material/edit_note:",
    )
    elements.go("threat", "Fill them in under Intruder and uses", primary=False)
