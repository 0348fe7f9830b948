"""The size of a plan: candidates, merged and impossible ones, expected failures, and time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from engine.common.errors import EngineError
from engine.data.microdata import Microdata
from engine.measures import call
from engine.plan import AboutPlan, DecisionPlan, Plan, ThreatPlan
from engine.release.space import Space, impossibility_text, scenarios
from engine.release.spec import RANDOM_SWAP, ReleaseSpec, percent
from engine.sweeps.adaptive import most_runs
from engine.sweeps.candidates import (
    MOST_LOOKED_AT,
    Counted,
    check_meaning,
    n_complete,
    per_spec,
    scenarios_of,
    space_or_count,
    swap_remarks,
    swap_ways,
    too_many_to_look_at,
)
from engine.sweeps.evaluator import question_of
from engine.sweeps.probe import estimate, probed
from engine.sweeps.warnings import failure_text, method_remarks, predicted_failures, remark_text, widest_first
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import bullets, markdown, table

_FORESEEN = 5000  # scenarios up to which failures are foreseen at once
_LISTED = 200  # specs shown of a long list
_REASONS = 6  # reasons that are counted one by one
_FEW_RECORDS = 50_000  # up to which quick measures on records are tried unasked
_QUICK = 0.25  # seconds for one run of a mechanism up to which its time is estimated unasked
_LONG = 1800.0  # seconds from which a sweep is called long
_COUNTABLE = 10**12  # swaps from which their number tells nobody anything
_MANY = 50_000  # scenarios from which it is, whatever the probe says


def amounts(plan: Plan | None, error: EngineError | None, data: Microdata) -> Callable[[], None]:
    """The size of a plan, or its ``error``; no plan and no error where an input has shown one.

    Returns what draws the rest, which a probe decides: for the end of the page, so that nothing else waits for it.
    """
    st.subheader("What this amounts to", anchor=False)
    if plan is None:
        if error is None:
            st.info("The plan counts again once every input on the left is right.", icon=":material/info:")
        else:
            elements.show_error(error)
        return _nothing
    try:
        with st.spinner("Counting…"):
            swaps, others = counted(plan, data)
            remarks = remarks_on(plan, data)
    except EngineError as uncountable:
        elements.show_error(uncountable)
        return _nothing
    rates = ", ".join(percent(rate).replace(" ", "\u00a0") for rate in plan.space.rates)
    space = plan.space
    staged, searching = space.adaptive or space.search, space.search and plan.swaps_at_random
    n_swaps = _searched(plan, data) if searching else swaps.distinct * per_spec(plan) if swaps else 0
    n_scenarios = n_swaps + len(others)
    most = "≤ " if staged else ""
    *first, second, third = st.columns(2 + bool(swaps))
    if swaps:
        first[0].metric("Swaps to try", f"{swaps.distinct:,}", help="distinct ways of assigning roles")
    second.metric(
        "Scenarios",
        f"{'≤ ' if searching else ''}{n_scenarios:,}",
        help=f"each swap at {rates}" if n_swaps else "every combination of parameters",
    )
    each = f"{space.screen} to {space.replicates}" if staged else str(space.replicates)
    settling = most_runs(plan)
    more = f", up to {settling:,} of those on which the choice under α depends" if settling > space.replicates else ""
    third.metric("Runs", f"{most}{n_scenarios * space.replicates:,}", help=f"{each} replicates of every scenario{more}")
    if swaps:
        st.caption(f"{_sifted(swaps)} Each is tried at {rates}.")
    if others:
        counts = ({RANDOM_SWAP: n_swaps} if swaps else {}) | mechanisms.counts(others)
        rows = [(mechanisms.title(name), f"{n:,}", f"{n * plan.space.replicates:,}") for name, n in counts.items()]
        if len(rows) > 1:
            st.markdown(table(("mechanism", "scenarios", "runs"), "lrr", rows))
    if remarks:
        st.info(bullets(map(remark_text, method_remarks(remarks))), icon=":material/info:")
        if len(method_remarks(remarks)) < len(remarks):
            with st.popover(f"All {len(remarks):,} remarks"):
                st.markdown(bullets(remarks[:_LISTED]))
                _more(len(remarks))
    if swaps:
        _explained(swaps)
        _foreseen(plan, swaps, data, n_swaps)
    if plan.space.replicates < 2:
        st.warning("One replicate cannot say how sure a figure is; no decision is recorded on it.")
    estimate = st.container()

    def rest() -> None:
        with estimate:
            _time(plan, data, swaps, others)
            _long(plan, n_swaps, n_scenarios)

    return rest


def _nothing() -> None:
    """Say that nothing is left to draw."""


def counted(plan: Plan, data: Microdata) -> tuple[Space | Counted | None, Sequence[ReleaseSpec]]:
    """The space of the random swap or its count, if it is tried, and the scenarios of all other mechanisms."""
    now = state.get()
    asks = (plan.data, plan.keys, plan.analyse, plan.analyses, plan.edits, plan.measures, plan.mechanisms)
    now.memo.get("question", asks, lambda: question_of(plan, data) and None)
    swaps = None
    if plan.swaps_at_random and not plan.space.search:
        alone = replace(plan.space, rates=("0",), replicates=1, adaptive=False)
        space = (alone, plan.swap, plan.data, plan.edits, tuple(swap_ways(plan)))
        swaps = now.memo.get("space", space, lambda: space_or_count(plan, data))
    others = _others(plan, data).specs
    check_meaning(plan, others)
    return swaps, others


def n_candidates(plan: Plan, data: Microdata) -> int:
    """The number of candidates that a plan tries, at most."""
    swaps, others = counted(plan, data)
    if plan.space.search and plan.swaps_at_random:
        return plan.space.budget + len(others)
    return (swaps.distinct * per_spec(plan) if swaps else 0) + len(others)


def remarks_on(plan: Plan, data: Microdata) -> tuple[str, ...]:
    """Remarks on candidates before these are run: on random swaps that can be turned back, and of other mechanisms."""
    swaps = counted(plan, data)[0]
    depends = (plan.space, plan.swap, plan.data, plan.edits, tuple(swap_ways(plan)))
    on_swaps: list[str] = state.get().memo.get("swap remarks", depends, lambda: swap_remarks(plan, data, swaps))
    return (*on_swaps, *_others(plan, data).remarks)


class _Tried(NamedTuple):
    """The scenarios of other mechanisms, each of which is tried once, the seconds that this took, and remarks."""

    specs: Sequence[ReleaseSpec]
    seconds: float
    remarks: tuple[str, ...]


def _others(plan: Plan, data: Microdata) -> _Tried:
    declared = tuple(entry for entry in plan.mechanisms if not entry.by_roles)
    if not declared:
        return _Tried([], 0.0, ())
    depends = (declared, plan.data, plan.keys, plan.analyses, plan.edits)
    return state.get().memo.get("others", depends, lambda: _tried(replace(plan, mechanisms=declared), data))


def _tried(plan: Plan, data: Microdata) -> _Tried:
    began, remarks = time.perf_counter(), list[str]()
    specs = scenarios_of(plan, data, tell=remarks.append)[0]
    return _Tried(specs, time.perf_counter() - began, widest_first(remarks))


def _searched(plan: Plan, data: Microdata) -> int:
    """Say how many scenarios a search looks at, at most, and of how many."""
    space = plan.space
    measured = (plan.keys, plan.analyse, plan.measures, plan.edits)
    depends = (plan.data, plan.swap, space.fix, space.change, space.rule, *measured)
    of = state.get().memo.get("searched", depends, lambda: n_complete(plan, data))
    looked = min(of * per_spec(plan), space.budget)
    if of < _COUNTABLE:
        st.caption(
            f"The complete space has {of:,} distinct swaps, {of * per_spec(plan):,} scenarios at these rates; the"
            f" search tries at most {100 * looked / max(1, of * per_spec(plan)):.3g} % of them."
        )
    else:
        st.caption(
            f"The number of distinct swaps in the complete space has {len(str(of))} digits. The search tries at most"
            f" {text.plural(looked, 'scenario')} and cannot say how much of the frontier it finds."
        )
    return looked


def _sifted(swaps: Space | Counted) -> str:
    """Words on how many swaps there are to begin with, and what becomes of them: figures that add up."""
    n, merged, impossible = swaps.distinct, swaps.n_merged, swaps.n_impossible
    if not merged and not impossible:
        return f"All {text.plural(n, 'swap')} that you ask for are tried."
    left_out = [f"{impossible:,} can never work on these data"] if impossible else []
    left_out += [f"{merged:,} would release the same as another one"] if merged else []
    return (
        f"Of {n + merged + impossible:,} swaps that you ask for, {' and '.join(left_out)}; the other {n:,} are tried."
    )


def _explained(swaps: Space | Counted) -> None:
    """Say why some specs are not run."""
    if isinstance(swaps, Counted):
        _explained_at_once(swaps)
        return
    if swaps.merged:
        with st.popover(f"{text.plural(len(swaps.merged), 'swap')} merged", icon=":material/merge:"):
            st.markdown("These would release the same data as another one, so only the other one is run.")
            rows = [(str(a), str(b)) for a, b in swaps.merged[:_LISTED]]
            st.dataframe(pd.DataFrame(rows, columns=["not run", "the same as"]), hide_index=True)
            _more(len(swaps.merged))
    if swaps.impossible:
        with st.popover(f"{text.plural(len(swaps.impossible), 'swap')} impossible", icon=":material/block:"):
            st.markdown("No two records can be exchanged this way.")
            reasons = Counter(swaps.impossible.partners).most_common()
            for reason, n in reasons[:_REASONS]:
                st.markdown(markdown("- {:,}: {}", n, impossibility_text(reason)))
            if n_others := sum(n for _, n in reasons[_REASONS:]):
                st.markdown(markdown("- {:,}: for other reasons, listed below", n_others))
            listed = swaps.impossible[:_LISTED]
            rows = [(str(spec) or "nothing swapped", impossibility_text(reason)) for spec, reason in listed]
            st.dataframe(pd.DataFrame(rows, columns=["swap", "why"]), hide_index=True)
            _more(len(swaps.impossible))


def _explained_at_once(swaps: Counted) -> None:
    """Say why some specs are not run, where they are too many to be named one by one."""
    if not swaps.n_impossible:
        return
    with st.popover(f"{text.plural(swaps.n_impossible, 'swap')} impossible", icon=":material/block:"):
        st.markdown("No two records can be exchanged this way. There are too many swaps to list each with its reason.")
        if swaps.narrow:
            st.markdown("Pairs can never differ on an attribute that has one category in these data:")
            st.dataframe(pd.DataFrame({"attribute": swaps.narrow[:_LISTED]}), hide_index=True)
            _more(len(swaps.narrow))


def _more(n: int) -> None:
    if n > _LISTED:
        st.caption(f"The first {_LISTED} of {n:,}.")


def _foreseen(plan: Plan, swaps: Space | Counted, data: Microdata, n_scenarios: int) -> None:
    if n_scenarios > _FORESEEN:
        st.caption(
            f"For up to {_FORESEEN:,} scenarios this page says whether a swap finds enough pairs of records at every"
            " rate. This plan has more; the sweep says it of each."
        )
        return
    ways = swap_ways(plan)
    refuses = tuple(ways) != ((),) or bool(data.table.domain.ruled)
    if refuses and too_many_to_look_at(swaps.distinct, ways):
        st.caption(
            f"It is looked whether a swap can make any pair at all for up to {MOST_LOOKED_AT:,} swaps and ways. This"
            " plan has more; a swap that can make none fails at its first run, which says why."
        )
    now = state.get()
    specs = scenarios(swaps.even_part(swaps.distinct), plan.space.rates, plan.space.rule, swap_ways(plan))
    depends = (tuple(specs), plan.data, plan.edits)
    failing = now.memo.get("failing", depends, lambda: predicted_failures(specs, data.table))
    if failing:
        st.warning(
            f"{text.plural(len(failing), 'scenario')} will run out of feasible pairs before the rate is reached.",
            icon=":material/warning:",
        )
        with st.popover("Which, and why"):
            rows = [(str(failure.spec), failure_text(failure)) for failure in failing[:_LISTED]]
            st.dataframe(pd.DataFrame(rows, columns=["scenario", "why"]), hide_index=True)
            _more(len(failing))


def _time(plan: Plan, data: Microdata, swaps: Space | Counted | None, others: Sequence[ReleaseSpec]) -> None:
    """Say how long a sweep takes, from a probe: at once where a probe costs next to nothing, else when it is asked
    for."""
    now, timed = state.get(), _timed(plan)
    seconds = now.memo.peek("estimate", timed)
    if seconds is None:
        if why := _dear(plan, data, others):
            pressed = st.button(
                "Estimate the time", key="estimate-time", icon=":material/timer:", help="tries a few runs; some seconds"
            )
            st.caption(f"Not done unasked, since {why}.")
            if not pressed:
                return
        with elements.errors_shown(), st.spinner("Trying a few runs…"):
            specs, total = probed(plan, data, swaps, others)
            seconds = now.memo.get(
                "estimate",
                timed,
                lambda: estimate(plan, data, specs=specs, total=total, read=actions.seconds_to_read()).seconds,
            )
    if seconds is not None:
        took = text.rough_duration(seconds)
        if plan.space.adaptive or plan.space.search:
            took = f"at most {took}"
        st.markdown(markdown(":material/timer: **{}** on this machine, from a probe", took))


def _dear(plan: Plan, data: Microdata, others: Sequence[ReleaseSpec]) -> str:
    """The reason why a probe would keep the page waiting; empty where it would not."""
    on_records = [one.measure for one in map(call, plan.measures) if one.measure.on_records]
    if any(not measure.quick for measure in on_records) or (on_records and data.n_records > _FEW_RECORDS):
        return "this plan has measures that look at every single record, and trying them takes some seconds"
    if others and state.get().memo.last("others").seconds > _QUICK * len(others):
        return "one run of a chosen mechanism already takes long on these data"
    return ""


def _timed(plan: Plan) -> Plan:
    """The plan without what changes no time."""
    return replace(plan, decision=DecisionPlan(), about=AboutPlan(), threat=ThreatPlan(), lock=None)


def foretold(plan: Plan) -> float | None:
    """Seconds that a sweep of the plan was estimated to take, or None where nobody has estimated it."""
    seconds: float | None = state.get().memo.peek("estimate", _timed(plan))
    return seconds


def _long(plan: Plan, n_swaps: int, n_scenarios: int) -> None:
    """Say that a sweep would take very long, and offer what makes it shorter."""
    seconds = foretold(plan)
    if (seconds or 0) < _LONG and n_scenarios < _MANY:
        return
    space = plan.space
    staged = space.adaptive or space.search
    times = f"up to {space.replicates}" if staged else str(space.replicates)
    size = f"{text.plural(n_scenarios, 'scenario')}, {times} runs of each"
    how = "up to" if staged else "about"
    took = markdown(" take {} **{}**", how, text.duration(seconds)) if seconds else " take long"
    st.warning(
        markdown("{},{} on this machine.", size, took)
        + (
            " Fewer attributes that may be swapped or fewer rates make it shorter."
            if staged
            else " Fewer attributes that may be swapped, fewer rates or fewer replicates make it shorter. So does"
            " either of these, in one click:"
        ),
        icon=":material/hourglass_top:",
    )
    with st.container(horizontal=True):
        if (
            n_swaps > space.budget
            and not space.search
            and st.button(
                f"Search at most {space.budget:,} of them",
                icon=":material/travel_explore:",
                key="shorter-search",
                help="Looks for the frontier of the complete space, from good candidates to their neighbours, and says"
                " how much of the space it looked at.",
            )
        ):
            shape: dict[str, Any] = {"swap_sizes": (), "all_specs": False, "specs": (), "search": True}
            _shorten(plan, "the frontier is searched for", **shape)
        if (
            not staged
            and space.screen < space.replicates
            and st.button(
                f"Run each {space.screen} times first",
                icon=":material/filter_alt:",
                key="shorter-adaptive",
                help=f"Only scenarios that may be on the frontier are run on, up to {space.replicates} times.",
            )
        ):
            _shorten(plan, "replicates are spent where they matter", adaptive=True)


def _shorten(plan: Plan, done: str, **changes: Any) -> None:
    with elements.errors_shown():
        screen = min(plan.space.screen, plan.space.replicates)
        actions.change(replace(plan, space=replace(plan.space, screen=screen, **changes)), done)
        st.rerun()
