"""Candidates: what is tried, the sweep that draws and measures it, and the results by what was varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

import streamlit as st

from engine.common.errors import EngineError, UsageError
from engine.common.wording import upper_first
from engine.data.microdata import Microdata
from engine.measures import call
from engine.measures.distortion import LARGEST_TWO_WAY
from engine.measures.planned import comparable_calls, joint_column, planned_calls, releases_several_tables
from engine.mechanisms import mechanism
from engine.plan import Plan, edit_plan
from engine.plan.types import in_no_use
from engine.release.space import Space
from engine.release.spec import ReleaseSpec
from engine.report.plan_document import FORMATS, count_plan, plan_document
from engine.sweeps.candidates import Counted
from frontier_app.pages.candidates import running, space
from frontier_app.session import actions, state
from frontier_app.widgets import elements, plan_fields, plan_size, plan_status
from frontier_app.widgets.elements import InputErrors
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import Markdown, markdown

_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def section(plan: Plan, data: Microdata, wrong: bool) -> None:
    """Download the plan as it stands in the inputs; ``wrong`` says that they are not a plan yet."""
    swaps: Space | Counted | None = None
    others: Sequence[ReleaseSpec] = []
    try:
        swaps, others = plan_size.counted(plan, data)
        state.get().memo.get("document", plan, lambda: plan_document(plan) and None)
    except EngineError:  # the page has said it above
        wrong = True
    st.download_button(
        "The plan as a document",
        partial(_content, plan, data, swaps, others),
        "disclosure-analysis-plan.docx",
        _DOCX,
        icon=":material/description:",
        on_click="ignore",
        key="plan-document",
        disabled=wrong,
        help="Mend first what the page complains about."
        if wrong
        else "The Disclosure Analysis Plan, which the board approves. It holds the rates.",
    )


def _content(plan: Plan, data: Microdata, swaps: Space | Counted | None, others: Sequence[ReleaseSpec]) -> bytes:
    """The file, made when it is asked for."""
    return FORMATS[".docx"](plan_document(plan, count_plan(plan, data, (swaps, others))))


def declared(base: Plan, tag: str, data: Microdata, wrong: InputErrors) -> Plan:
    """The plan with what a person declares about the data: numbers and forbidden combinations."""
    n_numeric = len(state.input_or(f"numeric-{tag}", base.data.numeric))
    title = markdown("Numeric columns ({:,}) and forbidden combinations ({:,})", n_numeric, len(base.edits))
    with st.expander(title, key=f"fold-declared-{tag}", expanded=bool(base.edits), icon=":material/rule:"):
        return _declared(base, tag, data, wrong)


def _declared(base: Plan, tag: str, data: Microdata, wrong: InputErrors) -> Plan:
    stays = plan_fields.numbers_from(base, data.raw.names)
    numeric = st.multiselect(
        "Columns used as numbers",
        list(dict.fromkeys((*stays, *base.data.numeric))),
        default=list(base.data.numeric),
        key=f"numeric-{tag}",
        placeholder="the columns that the analyses use",
        help="Raw columns with numbers that stay in a release, such as an income. Measures of means and correlations"
        " use them, and so do mechanisms that model numbers.",
    )
    column = st.column_config
    st.caption(
        "A record breaks a rule when, for every attribute named in it, its level is one of those picked. Where"
        " attributes are picked as “only what exists”, it does when their combination occurs nowhere in the original."
        " A rule counts such records in every release; one that forbids also refuses every swap that would make any."
        " A candidate with more than “at most” such records cannot meet the limit on risk."
    )
    known = plan_fields.picks(data.domain, base)
    columns = {
        "name": column.TextColumn("Rule", width=140),
        "forbid": plan_fields.pick_column("Forbidden together", list(known), 380),
        "effect": column.SelectboxColumn(
            "Effect", options=list(plan_fields.EFFECTS), default=plan_fields.EFFECTS[0], required=True, width=90
        ),
        "at_most": column.NumberColumn("At most", min_value=0, step=1, width=80),
    }
    judged = partial(plan_fields.edits_of, plan=base, known=known)
    alt = "Edit rules: name, levels that must not occur together, whether it counts or forbids, and how many it allows"
    rows = plan_fields.edit_rows(base)
    edits = plan_fields.list_editor("rules", rows, columns, base.edits, tag, judged, alt=alt)
    data_plan = wrong.attempt(lambda: replace(base.data, numeric=tuple(numeric)), base.data)
    return wrong.attempt(lambda: replace(base, data=data_plan, edits=edits), base)


def page() -> None:
    """What is tried and what that amounts to; once there is a study, its results beside what was varied."""
    now, swept = state.get(), actions.own_study() is not None
    top = st.container()
    if now.raw is None or now.plan is None or now.base is None:
        with top:
            running.without_data()
        return
    data = elements.with_data("Open data first; the plan says what is tried on them.")
    if data is None:
        with top:
            running.without_data()
        return
    plan_status.shown(now.plan)
    left, right = st.columns([2, 3] if swept else [3, 2], gap="large")
    results, amounts = (right, left) if swept else (None, right)
    with left:
        folded = st.expander("Change what is varied", icon=":material/tune:", key="fold-varied") if swept else left
        with folded:
            plan, unshown = _inputs(now.base, f"{now.version}", data)
    if plan_status.keep(plan) and plan is not None and plan.lock is not None:
        st.rerun()
    with amounts:
        with st.container(border=not swept, key="counted" if swept else "amounts"):
            draw_estimate = plan_size.amounts(plan, unshown, data)
        with st.expander("Approval and document of this plan", icon=":material/gavel:", key="fold-approval"):
            plan_status.section(plan or now.plan, wrong=plan is None)
            section(plan or now.plan, data, wrong=plan is None)
    plan_status.catch_up()  # before a button is heard: what runs is what was seen
    with top:
        running.heading(plan, data)
    if results is not None:
        with results:
            running.results()
    draw_estimate()


def _inputs(base: Plan, tag: str, data: Microdata) -> tuple[Plan | None, EngineError | None]:
    """All inputs; returns the plan they say, or None and the error that no input has shown, if any."""
    wrong = InputErrors()
    try:
        picked = space.choice(base, tag)
        swaps = any(mechanism(name).by_roles for name in picked)
        plan = base
        if swaps:
            st.subheader("2. What is swapped at random", anchor=False)
            plan = wrong.attempt(lambda: space.inputs(base, tag), base)
        entries = space.grids(base, data, picked, tag, wrong)
        st.subheader(f"{2 + swaps}. {'Rates and replicates' if swaps else 'Replicates'}", anchor=False)
        rates, replicates = _amounts(base, tag, swaps, wrong)
        plan = _details(plan, base, tag, replicates, swaps, wrong)
        st.subheader(f"{3 + swaps}. What is measured", anchor=False)
        measures = plan_fields.measures(base, tag, [a.name for a in plan.analyses], wrong)
        plan = wrong.attempt(lambda: declared(plan, tag, data, wrong), plan)
        if wrong.shown:
            return None, None
        plan = edit_plan(plan, rates=rates, replicates=replicates, measures=measures)
        made = replace(plan, mechanisms=mechanisms.merged(base, entries))
        if releases_several_tables(made):
            st.caption(_jointly(made))
        if LARGEST_TWO_WAY.name in {one.measure.name for one in planned_calls(made)[len(comparable_calls(made)) :]}:
            st.caption(_seen_otherwise(made))
        return made, None
    except EngineError as error:
        return None, None if wrong.shown else error


def _seen_otherwise(plan: Plan) -> Markdown:
    """A sentence that names the measure that looks at attributes that no declared use looks at."""
    return markdown(
        "No declared use looks at {}. **{}** does, and is measured too.",
        text.listed(in_no_use(plan, plan.swap_candidates)),
        LARGEST_TWO_WAY.title,
    )


def _jointly(plan: Plan) -> Markdown:
    """A sentence that names the measure of several tables that are released together, and says whether it decides."""
    calls = comparable_calls(plan)
    joint, named = joint_column(calls), plan.decision.risk
    assert joint is not None
    decides = named is None or call(named).measure.judges_jointly
    return markdown(
        "Several tables are released together. **{}** judges all of them jointly, as an intruder sees them; it is"
        " measured too{}",
        text.measure_title(calls[joint]),
        " and decides." if decides else ". The rule of choice names a risk that judges one table at a time.",
    )


def _amounts(base: Plan, tag: str, swaps: bool, wrong: InputErrors) -> tuple[tuple[str, ...], int]:
    """Rates and replicates."""
    left, right = st.columns(2)
    rates = base.space.rates
    if swaps:
        typed = left.text_input(
            "Swap rates, in percent of records",
            value=text.rates_to_percent(base.space.rates),
            key=f"rates-{tag}",
            help="The share of records that take part in random swaps, both partners counted. 2 means 2 % (0.02),"
            " not 200 %. Other mechanisms have parameters of their own for their amount.",
        )
        rates = wrong.attempt(lambda: _rates(base, typed), base.space.rates)
    replicates = (right if swaps else left).number_input(
        "Replicates of each",
        1,
        10_000,
        base.space.replicates,
        key=f"replicates-{tag}",
        help="Runs of the same candidate that differ only in chance; their spread says how sure a figure is."
        " A decision needs at least two.",
    )
    return rates, int(replicates)


def _details(plan: Plan, base: Plan, tag: str, replicates: int, swaps: bool, wrong: InputErrors) -> Plan:
    """The plan with what counts as a true swap, and whether replicates are spent in stages; folded, since both are
    usually left as they are."""
    searching = plan.space.search
    staged = searching or state.input_or(f"adaptive-{tag}-{searching}", base.space.adaptive)
    spent = "replicates where dominance is uncertain" if staged else "the same number of replicates for all"
    title = upper_first(f"{space.rule_at_hand(base, tag)} swaps; {spent}" if swaps else spent)
    with st.expander(title, key=f"fold-details-{tag}", icon=":material/tune:"):
        if swaps:
            plan = replace(plan, space=replace(plan.space, rule=space.rule(base, tag)))
            with st.popover("The four roles in plain words", icon=":material/help:"):
                for role, meaning in text.ROLE_WORDS.items():
                    st.markdown(markdown("**{}** – {}.", role, meaning))
        return wrong.attempt(lambda: _stages(plan, base, tag, replicates), plan)


def _stages(plan: Plan, base: Plan, tag: str, replicates: int) -> Plan:
    """Ask whether replicates are spent where they matter, and on how many a candidate is judged first."""
    left, right = st.columns(2, vertical_alignment="bottom")
    searching = plan.space.search
    adaptive = left.checkbox(
        "Spend replicates where dominance is uncertain",
        value=base.space.adaptive or searching,
        disabled=searching,
        key=f"adaptive-{tag}-{searching}",
        help="Every scenario is run a few times. Only those that may be on the frontier are run further, up to the"
        " number above. Where α is set, those on which the choice depends are run up to five times as often. The"
        " frontier is then run once more on fresh replicates.",
    )
    screen = base.space.screen
    if adaptive or searching:
        screen = int(
            right.number_input("Runs before a scenario is given up", 2, 10_000, base.space.screen, key=f"screen-{tag}")
        )
    adaptive = base.space.adaptive if searching else adaptive
    return replace(plan, space=replace(plan.space, adaptive=adaptive, screen=screen, replicates=replicates))


def _rates(base: Plan, typed: str) -> tuple[str, ...]:
    """The rates that were typed, legal ones; the field is in percent, and so is what is wrong with it."""
    rates = text.rates_from_percent(typed)
    for rate in map(Decimal, rates):
        if not (rate.is_finite() and 0 < rate <= 1):
            got = f"{(100 * rate).normalize():f} %" if rate.is_finite() else f"'{rate}'"
            why = "would exchange nothing" if rate == 0 else "is no share of the records"
            raise UsageError(
                f"a swap rate of {got} {why}; write percentages above 0 and up to 100, such as 2 for 2 of 100 records"
            )
    return replace(base.space, rates=rates).rates


page()
