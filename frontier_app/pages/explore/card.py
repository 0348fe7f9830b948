"""The selected candidate beside the map: six lines, a hint, and the next step."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from engine.decision.gate import over_edit_limits
from engine.decision.statements import words
from engine.frontier.choosing import FEWEST_RUNS
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.mechanisms import mechanism
from engine.plan.types import in_no_use, no_use_sentence
from engine.report.sentences import exposed
from engine.report.sheet_counts import better_elsewhere
from engine.study.study import Pin, Study, pin, unpin
from frontier_app.charts import map_data
from frontier_app.session import actions, jobs, navigation, state
from frontier_app.widgets import candidate_card, elements, recommendation
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import markup, mechanisms, text
from frontier_app.wording.markup import Markdown, markdown

PARTS = ("headline", "map", "card", "table")
"""Parts of the page that are drawn again by themselves."""
_MOST = 6  # lines


def select(label: str, where: str = "card") -> None:
    """Put a candidate at hand in a callback; a map of few points shows a click on it without being drawn again."""
    now = state.get()
    state.put(selected=label, picks=now.picks + (where != "table"))
    st.rerun([part for part in ("card", "map", "table") if part != where])


def at_hand(view: RiskUtilityMap, rule: Rule) -> int | None:
    """The candidate at hand: the one selected, else the one recommended, else of a limit that nothing was held against
    the most useful candidate within it by its mean."""
    index = view.scenarios.index_of(state.get().selected)
    if index is not None or rule.index is not None or rule.bound is None or not np.isnan(view.bounded_risk).all():
        return rule.index if index is None else index
    within = np.flatnonzero(view.dominance.undominated & map_data.within_limit(view, rule.bound))
    return int(within[np.argmin(view.utility_loss[within])]) if len(within) else None


def card(study: Study, view: RiskUtilityMap, rule: Rule, index: int | None, pins: dict[int, Pin]) -> None:
    """The candidate at hand, or what to do when there is none."""
    if index is None:
        st.markdown(markdown("**No candidate selected**"))
        st.markdown("Click a point of the map or a row of the table. A limit on risk brings a recommendation.")
        return
    head, kept = st.columns([7, 3], gap="small")
    letter, pinned = rule.letter_of(index), pins.get(index)
    parts = [letter, candidate_card.differing(view).name(index), pinned.name if pinned else ""]
    head.markdown(markdown("#### {}", " · ".join(filter(None, parts))))
    with kept:
        _pin(view, index, pinned)
    st.markdown(candidate_card.badges(view, index, rule.index, rule.bound, tried=rule.tried))
    if index == rule.index and (rule.recorded or rule.slope is not None):
        st.caption(f"{'The recorded recommendation' if rule.recorded else 'Picked'}: {rule.words}.")
    st.html(_lines(study, view, rule, index))
    hint = _hint(view, rule, index)
    altered = view.scenarios[index].spec.attributes.names_having("S")
    if unused := no_use_sentence(in_no_use(study.plan, altered)):
        hint = markdown("{}", unused)
    if hint:
        st.info(hint)
    with st.container(horizontal=True):
        _onward(study, view, rule, index)
        with st.popover("More"):
            _more(study, view, index)


def _lines(study: Study, view: RiskUtilityMap, rule: Rule, index: int) -> str:
    """At most six lines as an HTML table: risk, runs, counts, use, amount, and a further measure."""
    means, original = view.summary.mean[index], view.original
    rows = [(text.measure_name(view.measures[view.risk]), map_data.short_figure(view, view.risk, means[view.risk]))]
    values = _runs(view, index)
    if len(values) > 1:
        limit = None if rule.bound is None else map_data.value_of(view, view.risk, rule.bound)
        title = f"{len(values)} runs{', limit dashed' if limit is not None else ''}"
        rows.append((title, _strip(values, limit)))
    shown = [(name, escape(value) if k != 1 or len(values) < 2 else value) for k, (name, value) in enumerate(rows)]
    more: list[tuple[str, str]] = []
    if (counts := exposed(study, view, index)) is not None:
        more.append(("Unaltered records in small cells", f"{text.figure(counts.mean, 3)}, was {counts.original:,}"))
    else:
        more.append(("Without protection", map_data.short_figure(view, view.risk, float(original[view.risk]))))
    more.append(
        (text.measure_name(view.measures[view.utility]), map_data.short_figure(view, view.utility, means[view.utility]))
    )
    moved = changed = map_data.households_words(view, index)
    if not moved and np.isfinite(view.summary.changed[index]):
        changed = f"{view.summary.changed[index]:,.0f} of {int(study.about['n_records']):,} records"
    more += [("Moved" if moved else "Changed", changed)] if changed else []
    for k in _telling(view):
        if np.isfinite(means[k]):
            was = f", was {map_data.short_figure(view, k, original[k])}" if original[k] else ""
            more.append((text.measure_name(view.measures[k]), map_data.short_figure(view, k, means[k]) + was))
    shown += [(name, escape(value)) for name, value in more]
    body = "".join(f"<tr><th scope=row>{escape(name)}</th><td>{value}</td></tr>" for name, value in shown[:_MOST])
    return f'<div class="sf-side sf-lines">{candidate_card.CSS}<table><tbody>{body}</tbody></table></div>'


def _telling(view: RiskUtilityMap) -> list[int]:
    """Further measures: the risk of tables together and broken edit rules first."""
    others = [k for k in range(len(view.measures)) if k not in (view.risk, view.utility)]
    joint = map_data.joint_measure(view)
    return sorted(others, key=lambda k: (k != joint, str(view.measures[k]) != "edit_failures"))


def _runs(view: RiskUtilityMap, index: int) -> np.ndarray:
    """The risk of each counted run."""
    runs = (view.results.scenario == index) & view.results.counted(view.allow_partial)
    values = view.results.values[runs, view.risk]
    return np.asarray(values[np.isfinite(values)])


def _strip(values: np.ndarray, limit: float | None) -> str:
    """Runs as dots on a line, with the limit, as HTML."""
    known = np.append(values, [] if limit is None else limit)
    low, wide = float(known.min()), float(np.ptp(known)) or 1.0
    dots = "".join(f'<span style="left:{100 * (value - low) / wide:.1f}%"></span>' for value in values.tolist())
    dashed = "" if limit is None else f'<b style="left:{100 * (limit - low) / wide:.1f}%"></b>'
    return f'<span class="strip" title="from {values.min():.4g} to {values.max():.4g}">{dots}{dashed}</span>'


def _hint(view: RiskUtilityMap, rule: Rule, index: int) -> Markdown | None:
    """One computed sentence: what speaks against the candidate, or for another."""
    if not view.summary.counted[index]:
        return markdown("**Every run failed**: {}.", view.why_apart(index))
    if over := over_edit_limits(view, index):
        return markdown("{}", " ".join(map(words, over)))
    if rule.bound is not None and view.summary.counted[index] < FEWEST_RUNS:
        runs = text.plural(int(view.summary.counted[index]), "run")
        return markdown("**{} cannot show that the limit is met**; that takes {}.", runs.capitalize(), FEWEST_RUNS)
    name = candidate_card.differing(view).name
    if beside := map_data.beside_original(view, index):
        return markdown("**{} by its means.** Releasing the file unprotected is as good.", beside.capitalize())
    better = [int(i) for i in view.dominators(index) if view.dominance.undominated[i]]
    if better:
        other = min(better, key=lambda i: (view.utility_loss[i], view.risk_loss[i]))
        noise = "" if view.dominance.clear[index] else " by its means, within noise"
        return markdown("**{} is no worse on either axis**{}.", _called(rule, other, name(other)), noise)
    other_index, k = state.get().memo.get("elsewhere", (id(view), index), lambda: better_elsewhere(view, index))
    if other_index is None or k is None:
        return None
    there, here = (map_data.short_figure(view, k, float(view.summary.mean[i, k])) for i in (other_index, index))
    called = _called(rule, other_index, name(other_index))
    measure = text.measure_name(view.measures[k])
    return markdown("**{} is as good on both axes.** {}: {} instead of {}.", called, measure, there, here)


def _called(rule: Rule, index: int, name: str) -> str:
    return " · ".join(filter(None, (rule.letter_of(index), name)))


def _onward(study: Study, view: RiskUtilityMap, rule: Rule, index: int) -> None:
    """The next step with the candidate at hand, and the comparison."""
    at = state.get().workspace if state.get().raw is not None else None
    front = view.frontier()
    too_few = bool(np.isnan(view.bounded_risk).all()) and at is not None
    if too_few and at is not None and not jobs.recheck_job(at).busy:
        label = f"Run the {len(front):,} of the frontier {FEWEST_RUNS} times"
        if st.button(label, type="primary", key="run-frontier", disabled=jobs.status(at).busy):
            risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
            with elements.errors_shown():
                labels = [view.scenarios[i].label for i in front.tolist()]
                jobs.start_recheck(at, labels, FEWEST_RUNS, risk, utility)
                st.rerun()
    if rule.recorded and index == rule.index:
        elements.go("decide", "Its recommendation")
    elif st.button(
        f"Recommend {rule.letter_of(index) or 'this one'}",
        key="recommend-this",
        type="secondary" if too_few else "primary",
        disabled=not view.summary.counted[index],
    ):
        state.put(selected=view.scenarios[index].label)
        recommendation.draft(study, rule, index)
        navigation.go_to("decide")
    elements.go("compare", "Compare", primary=False)


def _pin(view: RiskUtilityMap, index: int, pinned: Pin | None) -> None:
    """Keep the candidate at hand, or its name."""
    label = view.scenarios[index].label
    with st.popover("Pinned" if pinned else "Pin", width="stretch"):
        st.caption("Pinned candidates keep a ring on the map and can be compared side by side.")
        name = st.text_input("Name", pinned.name if pinned else "", key=f"pin-name-{label}", placeholder="optional")
        with st.container(horizontal=True):
            if st.button("Rename" if pinned else "Pin it", key=f"pin-{label}"):
                _keep(label, name, pinned.note if pinned else "")
            if pinned and st.button("Unpin", key=f"unpin-{label}"):
                _keep(label, None)


def _keep(label: str, name: str | None, note: str = "") -> None:
    """Pin a candidate under a name, or take its pin away where there is no name."""
    with elements.errors_shown(), actions.opened() as study:
        if study is None:
            return
        if name is None:
            unpin(study, label)
        else:
            pin(study, label, name, note)
        st.rerun()


def _more(study: Study, view: RiskUtilityMap, index: int) -> None:
    """What the candidate does, how sure its place is, what intruders find, and what its mechanism noted."""
    spec, summary = view.scenarios[index].spec, view.summary
    st.caption(markdown("Candidate {}", view.scenarios[index].label))
    st.markdown(text.spec_words(spec, int(study.about["n_records"])))
    runs, failed = int(summary.counted[index]), int(summary.failed[index])
    st.markdown(candidate_card.certainty(view, index, runs, failed))
    for line in (candidate_card.joint_words(view, index), *candidate_card.on_unswapped_keys(study, view, index)):
        if line:
            st.markdown(line)
    notes = actions.notes(index)
    for k, lines in mechanisms.figure_notes(notes).items():
        if k < len(view.measures) and lines:
            st.caption(markdown("**{}:** {}", text.measure_title(view.measures[k]), "; ".join(lines)))
    warnings, counted = mechanisms.diagnostics(notes)
    for warning in warnings[:3]:
        st.warning(warning[:1].upper() + warning[1:], icon=":material/warning:")
    if not spec.by_roles:
        st.caption(f"When to use it: {mechanism(spec.mechanism).when}.")
    if counted:
        st.markdown(markup.table(("counted in its runs (means)", ""), "lr", counted))
