"""Tables and regressions of the users; the rule of choice with its tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import listed, upper_first
from engine.decision.bounds import bound_words, example_bound
from engine.measures import MeasureCall, call
from engine.measures.base import Kind
from engine.measures.planned import (
    UnmeasuredUse,
    check_bounded,
    comparable_calls,
    deciding_column,
    measures_of_uses,
    unmeasured_uses,
    with_uses_measured,
)
from engine.models.analyses import ready
from engine.models.regression import OK, WHY
from engine.plan import AnalysisPlan, DecisionPlan, Plan, TablePlan, TolerancePlan
from engine.plan.edit import with_attributes_renamed, writable_names
from engine.plan.entries import FAMILIES, MEDIAN
from engine.plan.types import DEFAULT_PROBABILITY, FIRST_WITHIN, ON_MEAN
from engine.release.records import ReleasedTable
from engine.release.spec import percent
from engine.sweeps.evaluator import original_figure
from frontier_app.charts import exposure
from frontier_app.session import actions, state
from frontier_app.widgets import elements, plan_fields
from frontier_app.widgets.elements import InputErrors
from frontier_app.wording import text
from frontier_app.wording.markup import markdown


def inputs(base: Plan, tag: str, fixed: bool) -> Plan:
    """The plan with what users do.  A row that is not right yet is said and kept on the page; the others count."""
    st.subheader("2. What users do with the data", anchor=False)
    raw = state.get().raw
    columns = raw.names if raw is not None else tuple(column for a in base.attributes for column in a.columns)
    st.markdown(markdown("**Tables** that users make"), help="The memo to the board names them.")
    tables = _tables(base, tag, fixed)
    plan = replace(base, tables=tables) if tables != base.tables else base
    st.markdown(
        markdown("**Regressions** that users run"),
        help="Each is run on every release. A formula is written outcome \\~ first + second."
        " Attributes enter as categories, other columns as numbers, and numbers behind a cut attribute as NAME_raw.",
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
        st.caption(f"Measured on every candidate, among the measures on the page Candidates: {text.listed(measured)}.")
    else:
        st.caption(
            f"These uses have measures: {text.listed(measured)}. The study has its own; the page Candidates adds others"
            " to a new one."
        )


def _names(missing: Sequence[UnmeasuredUse]) -> set[str]:
    """The measures that these uses lack."""
    return {use.measure for use in missing}


def _tables(base: Plan, tag: str, fixed: bool) -> tuple[TablePlan, ...]:
    column = st.column_config
    columns = {
        "name": column.TextColumn("Table", width=120),
        "attributes": plan_fields.pick_column("Crosses", base.names, 330),
    }
    rows = plan_fields.table_rows(base)
    alt = "Tables that users make: name and the attributes that each crosses"
    return plan_fields.list_editor(
        "tables", rows, columns, base.tables, tag, partial(plan_fields.tables_of, plan=base), alt=alt, fixed=fixed
    )


def _analyses(plan: Plan, tag: str, fixed: bool, columns: Sequence[str]) -> tuple[AnalysisPlan, ...]:
    column = st.column_config
    weighted = listed([name for name, family in FAMILIES.items() if family.weighted])
    shown = {
        "name": column.TextColumn("Analysis", width=85),
        "formula": column.TextColumn("Formula", width=160, help="outcome ~ first + second"),
        "family": column.SelectboxColumn("Kind", options=list(FAMILIES), default="linear", required=True, width=85),
        "by": plan_fields.pick_column("By", plan.names, 90, "Separately in each level of these."),
        "weighted": column.CheckboxColumn("Weight", default=False, width=70, help=f"With the weight: {weighted}"),
        "tau": column.TextColumn("Quantile", width=75, help=f"Of a quantile regression; {MEDIAN} is the median"),
    }
    rows = plan_fields.analysis_rows(plan)
    judged = partial(plan_fields.analyses_of, plan=plan, columns=columns)
    alt = "Regressions that users run: name, formula, kind, groups, weight and quantile"
    return plan_fields.list_editor("analyses", rows, shown, plan.analyses, tag, judged, alt=alt, fixed=fixed)


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
            results.append((analysis.name, text.error_text(error), False))
            continue
        lost = fit.fitted.why[fit.fitted.why != OK]
        result = f"{text.plural(len(fit.names), 'coefficient')} from {text.plural(len(fit.fit_input.y), 'row')} of the "
        result += f"original data{f', {len(lost)} without a figure ({WHY[lost[0]]})' if len(lost) else ''}"
        all_lost = len(lost) == len(fit.names)
        results.append((analysis.name, f"analysis '{analysis.name}': {result}" if all_lost else result, not all_lost))
    return results


RULES = {
    "none": "Not settled yet",
    "bound": "The most useful release within a risk limit",
    "slope": "The best trade of risk against utility",
}


def rule(base: Plan, plan: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan with its rule of choice."""
    st.subheader("3. How the choice will be made", anchor=False)
    calls = wrong.attempt(lambda: _offered(plan), [call(name) for name in plan.measures])
    old = base.decision
    ruled = st.container()
    risk, utility, realisation = _judged(old, calls, tag, fixed)
    plan = _tolerances(base, plan, tag, fixed, wrong)
    if risk is None or utility is None:
        st.info(
            "The plan has no measure of risk or none of utility; choose them on the page Candidates.",
            icon=":material/info:",
        )
        return plan
    with ruled:
        bound, slope, probability = _rule(plan, old, risk, tag, fixed, wrong)

    def decided() -> Plan:
        entries = (
            _entry(plan, old.risk, str(risk), calls, "risk"),
            _entry(plan, old.utility, str(utility), calls, "utility"),
        )
        return replace(plan, decision=DecisionPlan(*entries, bound, slope, probability, realisation))

    with ruled:
        return wrong.attempt(decided, plan)


def _judged(
    old: DecisionPlan, calls: list[MeasureCall], tag: str, fixed: bool
) -> tuple[MeasureCall | None, MeasureCall | None, str]:
    """The measures that judge and the run that is released, folded under what the plan has of them."""
    judges = []
    for kind, entry in (("risk", old.risk), ("utility", old.utility)):
        if options := _of_kind(calls, kind):
            judges.append(_matching(options, state.input_or(f"decision-{kind}-{tag}", entry)))
    titles = " and ".join(text.measure_title(judge) for judge in judges)
    label = markdown("Judged by {}; {} is released", titles or "no measure", _released(old, tag))
    with st.expander(label, key=f"fold-decision-{tag}", icon=":material/balance:"):
        risk = _measure("Risk is judged by", "risk", calls, old.risk, tag, fixed)
        utility = _measure("Utility is judged by", "utility", calls, old.utility, tag, fixed)
        return risk, utility, _realisation(old, tag, fixed)


def _released(old: DecisionPlan, tag: str) -> str:
    """The run that is released, as part of a sentence."""
    how = state.input_or(f"realisation-{tag}", old.realisation)
    if how == "number":
        before = old.realisation if old.realisation not in _RUNS else 1
        how = state.input_or(f"realisation-number-{tag}", before)
    named = {FIRST_WITHIN: "the first run that meets the limit", "first": "the first run"}
    return named.get(how, f"run {how}")


def _of_kind(calls: list[MeasureCall], kind: str) -> list[MeasureCall]:
    return [measure_call for measure_call in calls if measure_call.measure.kind == kind]


def _rule(
    plan: Plan, old: DecisionPlan, risk: MeasureCall, tag: str, fixed: bool, wrong: InputErrors
) -> tuple[str | None, str | None, str]:
    """The bound or the slope of the rule, and the share of single runs that must meet a bound."""
    doing_nothing = _doing_nothing(plan, risk)
    rule_before = "bound" if old.max_risk is not None else "slope" if old.slope is not None else "none"
    rule = st.radio(
        "Rule",
        list(RULES),
        index=list(RULES).index(rule_before),
        format_func=RULES.__getitem__,
        key=f"rule-{tag}",
        disabled=fixed,
    )
    bound = slope = None
    probability = old.probability
    if rule == "bound":
        bound = _bound(old, risk, doing_nothing, tag, fixed, wrong)
        probability = _probability(old, tag, fixed, wrong)
    elif rule == "slope":
        typed = st.text_input(
            "Additional risk accepted for one more unit of utility (slope)",
            old.slope or "",
            key=f"slope-{tag}",
            disabled=fixed,
            help="A candidate is better than another when its gain in utility, times this number, exceeds its"
            " additional risk.",
        )
        slope = typed.strip() or None
    return bound, slope, probability


def _measure(
    label: str, kind: str, calls: list[MeasureCall], entry: str | None, tag: str, fixed: bool
) -> MeasureCall | None:
    options = _of_kind(calls, kind)
    if not options:
        return None
    first = _matching(options, entry)
    names = [str(measure) for measure in options]
    name = st.selectbox(
        label,
        names,
        index=names.index(str(first)),
        format_func=lambda name: text.measure_title(call(name)),
        key=f"decision-{kind}-{tag}",
        disabled=fixed,
    )
    picked = options[names.index(name)]
    st.caption(f"{picked.meaning} Unit: {picked.measure.unit}; {text.DIRECTION[picked.measure.better]}.")
    return picked


def _matching(options: list[MeasureCall], entry: str | None) -> MeasureCall:
    """The measure that a plan's entry means: by its whole text, else by its bare name, else the first."""
    for measure_call in options:
        if entry == str(measure_call):
            return measure_call
    return next((measure_call for measure_call in options if entry == measure_call.measure.name), options[0])


def _offered(plan: Plan) -> list[MeasureCall]:
    """The measures by which candidates may be compared; those that decide where the plan names none come first."""
    calls = comparable_calls(plan)
    kinds: tuple[Kind, Kind] = ("risk", "utility")
    first = [calls[k] for kind in kinds if (k := deciding_column(plan, calls, kind)) is not None]
    return [*first, *(one for one in calls if one not in first)]


def _entry(plan: Plan, old: str | None, new: str | None, calls: list[MeasureCall], kind: str) -> str | None:
    """The entry as the plan has it where it means the same: looking at a plan does not change it.  A measure that the
    plan does not name decides by default."""
    options = _of_kind(calls, kind)
    if options and str(_matching(options, old)) == new:
        return old
    return new if new in [str(call(name)) for name in plan.measures] else None


def _bound(
    old: DecisionPlan, risk: MeasureCall, doing_nothing: float | None, tag: str, fixed: bool, wrong: InputErrors
) -> str | None:
    seen = actions.risks_seen(risk)
    example = example_bound(doing_nothing, min((value for _, value in seen), default=None) if seen else None)
    typed = st.text_input(
        f"Largest acceptable risk (α), in {risk.measure.unit}",
        old.max_risk or "",
        key=f"alpha-{tag}",
        disabled=fixed,
        placeholder=f"such as {example}" if example else "a number",
        help=f"{text.measure_help(risk)} The run that is released must meet the limit, and so must as many"
        " single runs of its candidate as you say below.",
    )

    def checked() -> str | None:
        bound = DecisionPlan(max_risk=typed.strip()).max_risk if typed.strip() else None
        check_bounded(risk, 0.0 if bound is None else float(bound))
        return bound

    bound = wrong.attempt(checked, old.max_risk)
    n = state.get().raw.n_records if state.get().raw is not None else 0  # type: ignore[union-attr]
    if bound is not None and n and (words := bound_words(risk, float(bound), n)):
        st.caption(words)
    _reach(risk, None if bound is None else float(bound), doing_nothing)
    return bound


_MOST_ROWS = 8  # rates, or methods, that have a bar each


def _reach(risk: MeasureCall, bound: float | None, doing_nothing: float | None) -> None:
    """Draw the limit over the range of risk that the candidates of the study reach; before a sweep over that of doing
    nothing."""
    rows = []
    if (found := actions.risks_seen(risk)) is not None:
        by_rate: dict[str, list[float]] = {}
        for spec, value in found:
            by_rate.setdefault(percent(spec.rate) if spec.rate else spec.mechanism, []).append(value)
        rows = [(words, min(values), max(values)) for words, values in by_rate.items()][:_MOST_ROWS]
    if doing_nothing is None and not rows:
        return
    title = f"{text.measure_title(risk)}, {risk.measure.unit}"
    elements.chart(
        exposure.reach(rows, bound, doing_nothing, title),
        "reach",
        "The limit over the range of risk that candidates reach: "
        + "; ".join(f"{words} {text.figure(low)} to {text.figure(high)}" for words, low, high in rows),
    )
    if not rows:
        st.caption("The sweep shows how low swapping brings the risk.")


def _probability(old: DecisionPlan, tag: str, fixed: bool, wrong: InputErrors) -> str:
    """The share of single runs that must meet the bound, or that it is on their mean."""
    on = st.radio(
        "What must meet the limit α",
        ("runs", "mean"),
        index=1 if old.probability == ON_MEAN else 0,
        format_func={"runs": "Single runs", "mean": "Their mean"}.__getitem__,
        horizontal=True,
        key=f"probability-on-{tag}",
        disabled=fixed,
        help="One run is released, not a mean. Where the mean of a candidate meets the limit, half of its runs may be"
        " above it.",
    )
    if on == "mean":
        return ON_MEAN
    before = DEFAULT_PROBABILITY if old.probability == ON_MEAN else old.probability
    typed = st.text_input(
        "How many of them, at least, in %",
        _percent(before),
        key=f"probability-{tag}",
        disabled=fixed,
        help="90 asks for at least 10 runs of a candidate, 95 for 20 and 99 for 100: with fewer nobody can tell.",
    )

    def asked() -> str:
        return before if typed.strip() == _percent(before) else DecisionPlan(probability=_share(typed)).probability

    return wrong.attempt(asked, before)


def _doing_nothing(plan: Plan, risk: MeasureCall) -> float | None:
    """The risk of the data as they are; None where it is not known yet."""
    if state.get().raw is None:
        return None
    try:
        data = actions.coded()
        depends = (plan.data, plan.keys, plan.analyse, plan.edits, str(risk))
        figure = state.get().memo.get("doing-nothing", depends, lambda: original_figure(plan, data, str(risk)))
    except EngineError as error:
        st.caption(text.error_text(error))
        return None
    if figure is None:
        st.caption("This measure works on records. A sweep computes its figure for doing nothing when it begins.")
    else:
        st.markdown(markdown("Doing nothing has a risk of **{}** ({}).", text.figure(figure), risk.measure.unit))
    return figure


_RUNS = {
    FIRST_WITHIN: "The first that meets the limit and is safer than doing nothing",
    "first": "The first",
    "number": "A certain one",
}


def _realisation(old: DecisionPlan, tag: str, fixed: bool) -> str:
    before = old.realisation if old.realisation in _RUNS else "number"
    how = st.radio(
        "Which of its runs is released",
        list(_RUNS),
        index=list(_RUNS).index(before),
        format_func=_RUNS.__getitem__,
        key=f"realisation-{tag}",
        disabled=fixed,
        help="Settled beforehand, because picking the run with the best figures is picking luck. Whichever it is, a run"
        " above the limit or riskier than doing nothing is submitted only for a recorded reason.",
    )
    if how != "number":
        return how
    start = int(old.realisation) if before == "number" else 1
    return str(st.number_input("Its number", 1, None, start, key=f"realisation-number-{tag}", disabled=fixed))


def _tolerances(base: Plan, plan: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan with its tolerances, folded under what it has of them."""
    old = base.tolerances
    share = state.input_or(f"tolerances-change-{tag}", _percent(old.change))
    shift = state.input_or(f"tolerances-se-{tag}", old.se)
    title = markdown("Pointed out: changes above {} %, shifts above {} SE", share, shift)
    fold = st.expander(title, key=f"fold-tolerances-{tag}", icon=":material/straighten:")
    first, second = fold.columns(2, vertical_alignment="bottom")
    third, fourth = fold.columns(2, vertical_alignment="bottom")
    change = first.text_input(
        "Change of a share or mean, in %",
        _percent(old.change),
        key=f"tolerances-change-{tag}",
        disabled=fixed,
        help="A relative change: 10 points out a share of 20 % that became 22 %.",
    )
    least = plan_fields.entry_field(
        second, base, "tolerances.min_n", tag, label="Only where it rests on more records than", disabled=fixed
    )
    se = plan_fields.entry_field(
        third, base, "tolerances.se", tag, label="Shift of a coefficient, in SE", disabled=fixed
    )
    ratio = plan_fields.entry_field(
        fourth, base, "tolerances.se_ratio", tag, label="Standard error grows by the factor", disabled=fixed
    )

    def tolerated() -> Plan:
        share = old.change if change.strip() == _percent(old.change) else _share(change)
        return replace(plan, tolerances=TolerancePlan(share, least, se.strip(), ratio.strip()))

    with fold:
        return wrong.attempt(tolerated, plan)


def _percent(share: str) -> str:
    return f"{(Decimal(share) * 100).normalize():f}"


def _share(percent: str) -> str:
    return text.rates_from_percent(percent)[0]
