"""Intruder and uses: the intruder, the uses, the rule of choice and the public statement, settled before results."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import columns_named
from engine.data.microdata import RawTable
from engine.decision.states import decision_status, meant_run
from engine.measures.planned import sensitive, with_sensitive, with_uses_measured
from engine.plan import AboutPlan, Plan, PublishPlan, ThreatPlan, edit_plan
from engine.plan.coding import N_RULE, small_by_key
from engine.plan.entries import INCLUDE
from engine.report.describe import remade
from engine.study.study import Study
from frontier_app.charts import exposure
from frontier_app.pages.threat import uses
from frontier_app.session import actions, state
from frontier_app.widgets import candidate_card, elements, plan_fields, plan_status, small_cells
from frontier_app.widgets.elements import InputErrors
from frontier_app.widgets.plan_fields import entry_field
from frontier_app.wording import plan_words, text
from frontier_app.wording.markup import markdown

_SHORT = ("survey", "vintage", "sponsor", "contact", "authority", "geography", "classification", "overlaps")
_TYPES = {"new": "new", "series": "one of a series", "re-release": "a release again"}


def cover(base: Plan, plan: Plan, tag: str, wrong: InputErrors) -> Plan:
    """The plan with its cover; an approval leaves it open."""
    old = base.about
    names = (*_SHORT, "design")
    given = sum(bool(state.input_or(f"about-{name}-{tag}", getattr(old, name))) for name in names)
    title = f"Who asks: the cover of the memo ({given} of {len(names)} given)"
    fold = st.expander(title, key=f"fold-about-{tag}", icon=":material/badge:")
    fold.caption("You can leave it empty and complete it later, also after an approval.")
    columns = fold.columns(4)
    values = {name: entry_field(columns[i % 4], base, f"about.{name}", tag) for i, name in enumerate(_SHORT)}
    left, right = fold.columns(2)
    label = "Design: weights, strata, sampling units, households"
    values["design"] = entry_field(left, base, "about.design", tag, label=label, tall=True)
    values["release_type"] = entry_field(right, base, "about.release_type", tag, label="The release is", words=_TYPES)
    values["changes"] = entry_field(
        right, base, "about.changes", tag, disabled=values["release_type"] == "new" and not old.changes
    )
    with fold:
        return wrong.attempt(lambda: replace(plan, about=AboutPlan(**values)), plan)


# Beginnings of words for what neighbours, colleagues or registers may know about a person.
VISIBLE = tuple(
    word
    for line in (
        "age sex gender race ethnic marital married marry educ school job occ industry employ",
        "region division state province county district place city urban country birth born native language",
        "religio child household family nationality citizen height tenure salary status",
    )
    for word in line.split()
)


def intruder(base: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan with what an intruder is taken to know."""
    head = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center")
    head.subheader("1. What an intruder may know", anchor=False, width="content")
    raw = state.get().raw
    key = f"threat-keys-{tag}"
    if not fixed:
        with head:
            _presets(base, raw, key)
    keys = st.multiselect(
        "Answers that somebody may already know about a person (keys)",
        base.names,
        default=[*base.keys],
        key=key,
        disabled=fixed,
        filter_mode="contains",
        select_all=False,  # Enter would take all that match what is typed
        help="Risk is measured on the table of these attributes. More keys make a stronger intruder.",
    )
    plan = wrong.attempt(lambda: _with_keys(base, keys), base)
    if raw is not None:
        with elements.errors_shown():
            _exposed(plan)
        small_cells.shown(plan)
    plan = _sensitive(base, plan, tag, fixed, wrong)
    if plan_fields.concerns(plan):
        at_hand = state.get().plan or base
        with st.expander(plan_fields.title(at_hand), key=f"fold-households-{tag}", icon=":material/home_pin:"):
            plan_fields.inputs(at_hand, "threat", fixed=fixed)
    plan = wrong.attempt(lambda: replace(plan, threat=_in_words(base, tag, fixed)), plan)
    return published_tables(base, plan, tag, fixed)


def _in_words(base: Plan, tag: str, fixed: bool) -> ThreatPlan:
    """The intruder in words, folded: the memo quotes them, and no figure depends on them."""
    names = ("intruder", "public_files", "harm")
    given = sum(bool(state.input_or(f"threat-{name}-{tag}", getattr(base.threat, name))) for name in names)
    title = f"The intruder in words, for the memo ({given} of {len(names)} given)"
    fold = st.expander(title, key=f"fold-threat-{tag}", icon=":material/edit_note:")
    said = {name: entry_field(fold, base, f"threat.{name}", tag, tall=True, disabled=fixed) for name in names}
    return ThreatPlan(**said)


def _with_keys(base: Plan, keys: list[str]) -> Plan:
    return base if tuple(keys) == base.keys else edit_plan(base, keys=keys)


def _sensitive(base: Plan, plan: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan that measures the right guesses of the answers picked."""
    before = sensitive(base)
    wanted = st.multiselect(
        "Answers that nobody should learn about a person (sensitive)",
        base.names,
        default=[name for name in before if name in base.names],
        key=f"threat-sensitive-{tag}",
        disabled=fixed,
        placeholder="none",
        filter_mode="contains",
        select_all=False,  # Enter would take all that match what is typed
        help="How often an intruder who knows the other keys guesses such an answer rightly is measured on every"
        " candidate, among the measures of risk.",
    )
    return plan if tuple(wanted) == before else wrong.attempt(lambda: with_sensitive(plan, wanted), plan)


def _presets(base: Plan, raw: RawTable | None, key: str) -> None:
    presets = {
        "What others can see": visible(base, raw),
        "What users tabulate": list(base.analyse),
        "All": list(base.names),
    }
    with st.popover("Begin with", icon=":material/checklist:"):
        for label, names in presets.items():
            if st.button(label, key=f"preset-{label}-{key}", disabled=not names, help=", ".join(names[:20]) or None):
                state.set_input(key, names)


def visible(plan: Plan, raw: RawTable | None) -> list[str]:
    """Attributes whose name or label speaks of what others can see or look up."""
    names = []
    for part in plan.attributes:
        column = raw.columns.get(part.view[0]) if raw is not None else None
        spoken = f"{part.name} {column.about.label if column is not None else ''}"
        spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", spoken).lower()
        if any(word.startswith(VISIBLE) for word in re.findall(r"[a-z]+", spaced)):
            names.append(part.name)
    return names


_MOST_FACTS = 12  # keys that have a bar each


def _exposed(plan: Plan) -> None:
    """Draw what each key adds to the records in small cells, and how few are left to an intruder who lacks one."""
    now = state.get()
    assert now.raw is not None
    if small_cells.by_key(plan) is None or not plan.keys:
        return
    if len(plan.keys) > _MOST_FACTS:
        st.caption(f"With more than {_MOST_FACTS} keys none has a bar of its own.")
        return
    raw, depends = now.raw, (plan.data, plan.keys)
    known, without = now.memo.get("small-by-key", depends, lambda: small_by_key(raw, plan))
    names = [*plan.keys[:1], *(f"+ {name}" for name in plan.keys[1:])]
    most = max(*known, *without, 1)
    before = [0, *known[:-1]]
    added = [after - low for low, after in zip(before, known, strict=True)]
    st.markdown(markdown("**Each fact adds risk**: records in small cells (fewer than {})", N_RULE))
    elements.chart(
        exposure.fact_bars(names, before, added, most, 1),
        "facts-known",
        f"Records in small cells as an intruder learns {text.listed(list(plan.keys))}: "
        + ", ".join(f"{count:,}" for count in known),
    )
    if len(plan.keys) < 2 or not known[-1]:
        return
    if not any(without):
        st.caption("An intruder who lacks any one of these facts finds nobody in a small cell.")
        return
    st.markdown(markdown("**An intruder who lacks one fact**"))
    elements.chart(
        exposure.fact_bars(plan.keys, without, [0] * len(without), most, 1),
        "facts-lacking",
        "Records in small cells without one of the keys: "
        + ", ".join(f"{name} {count:,}" for name, count in zip(plan.keys, without, strict=True)),
    )
    least = min(range(len(without)), key=without.__getitem__)
    st.caption(markdown("Without **{}** only {:,} records stand out.", plan.keys[least], without[least]))


def _finding(plan: Plan) -> str:
    """The title: how many records the keys put in small cells if nothing is done."""
    if state.get().raw is None or not plan.keys:
        return "Intruder and uses"
    counts = small_cells.by_key(plan)
    if counts is None:
        return f"{len(plan.keys):,} keys are more than anybody knows"
    facts = text.plural(len(plan.keys), "known fact")
    puts = "puts" if len(plan.keys) == 1 else "put"
    return f"{facts} {puts} {counts.small_records:,} of {counts.n_records:,} records in small cells"


def published_tables(base: Plan, plan: Plan, tag: str, fixed: bool) -> Plan:
    """The plan with what is published of the original, and what that undoes."""
    key = f"threat-published_tables-{tag}"
    policy = plan_words.POLICIES[state.input_or(key, base.threat.published_tables)]
    title = f"Published tables of the original: {policy}"
    fold = st.expander(title, key=f"fold-{key}", icon=":material/lock_open:")
    fold.markdown(markdown("{}", plan_words.UNDONE))
    published = entry_field(fold, base, "threat.published_tables", tag, words=plan_words.POLICIES, disabled=fixed)
    with elements.errors_shown():
        _of_candidate()
    return replace(plan, threat=replace(plan.threat, published_tables=published))


def _of_candidate() -> None:
    """Show what such tables tell of the candidate at hand: its release is remade for it, of a large file on demand."""
    now = state.get()
    path, raw = actions.own_study(), now.raw
    if path is None or raw is None:
        return
    with Study.open(path) as study:
        choice = decision_status(study).choice
        label = now.selected or (choice.label if choice else None)
        if label is None:
            st.caption("Select a candidate under Explore to see here what such tables tell of it, in figures.")
            return
        scenario, _ = study.find(label)
        replicate = meant_run(study, scenario.index, allow_partial=now.look.partial)
        which = (str(study.path), label, replicate)
        known = now.memo.peek("detected", which) is not None
        small = raw.n_records * len(study.plan.attributes) <= small_cells.AT_ONCE
        place = st.empty()
        if not known and not small and not place.button(f"Work it out for {text.named(scenario)}", key="threat-detect"):
            return
        place.empty()
        with st.spinner("Remaking the release…"):
            release = now.memo.get("remade", which, lambda: remade(study, raw, label, replicate))
        candidate_card.show(candidate_card.of(study, release, which))
        st.info(
            markdown("**{}:** {}", text.named(scenario), small_cells.detection(study, release, which)),
            icon=":material/policy:",
        )


_POLICIES = {"withhold": "withhold it (usual)", "range": "give a range in words"}
_TOLD = {"withhold": "no rate", "range": "a range of the rate"}
_MEMBERS = {"tell": "tell it (usual)", "withhold": "withhold it from a circulating copy"}


def public(base: Plan, plan: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan with what is said in public, which an approval leaves open, and what is released with the file, which is
    read-only where ``fixed``."""
    include = _included(base, tag, fixed)
    told = _TOLD[state.input_or(f"publish-rate_policy-{tag}", base.publish.rate_policy)]
    fold = st.expander(f"What is said in public ({told})", key=f"fold-publish-{tag}", icon=":material/campaign:")
    fold.caption(
        "A paragraph on methods goes with the released file. It never names the swapped variables or the exact rate."
    )
    first, second, third = fold.columns(3)
    title = entry_field(first, base, "publish.title", tag)
    label = "Share of records in swaps"
    policy = entry_field(second, base, "publish.rate_policy", tag, label=label, words=_POLICIES)
    ranged = policy == "range"
    label = "The range, in words"
    range_words = entry_field(third, base, "publish.rate_range", tag, label=label, disabled=not ranged)
    wording = entry_field(fold, base, "publish.wording", tag, label="Further wording", tall=True)
    values: dict[str, Any] = {
        "title": title,
        "rate_policy": policy,
        "rate_range": range_words if ranged else "",
        "wording": wording,
    }
    if ranged and not range_words.strip():
        fold.caption("The share is withheld until the range is given.")
        values |= {"rate_policy": "withhold"}
    label = "The rate, to readers of circulated papers"
    values["members_rate"] = entry_field(
        fold, base, "publish.members_rate", tag, label=label, words=_MEMBERS, disabled=fixed
    )
    values["include"] = include
    with fold:
        return wrong.attempt(lambda: replace(plan, publish=PublishPlan(**values)), plan)


def _included(base: Plan, tag: str, fixed: bool) -> tuple[str, ...]:
    """Ask what is released besides the attributes and carried columns: the weight, a new id."""
    data = base.data
    labels = {
        "weight": f"The weight (column {data.weight})",
        "id": f"A new id in place of column {data.id}",
        "unit": f"New numbers of households in place of {columns_named(data.unit_columns)}",
    }
    with st.container(horizontal=True, gap="medium"):
        return tuple(
            role
            for role in INCLUDE
            if getattr(data, role) is not None
            and st.checkbox(
                labels[role],
                role in base.publish.include,
                key=f"publish-{role}-{tag}",
                disabled=fixed,
                width="content",
            )
        )


def page() -> None:
    """All of it on one page; the plan follows every input."""
    now = state.get()
    if now.plan is None or now.base is None:
        st.title("Intruder and uses", anchor=False)
        elements.empty_page(
            "Open data first; then say what an intruder may know, and what users do with the data.",
            "data",
            "Open data",
        )
        return
    if now.raw is not None:
        try:
            actions.coded()
        except EngineError as error:
            st.title("Intruder and uses", anchor=False)
            elements.show_error(error)
            elements.go("data", "Back to the data")
            return
    head = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="heading")
    status = st.container()
    fixed = plan_status.approval(now.plan)
    wrong = InputErrors()
    plan = _inputs(now.base, f"{now.version}", fixed, wrong)
    plan_status.keep(plan)
    with status:
        plan_status.show(plan)
    with head:
        st.title(_finding(plan), anchor=False, width="content")
        elements.go("candidates", "Next: plan the candidates")


def _inputs(base: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan that the inputs say; what is wrong keeps its old value."""
    left, right = st.columns(2, gap="large")
    with left:
        plan = intruder(base, tag, fixed, wrong)
    with right:
        used = uses.inputs(base, tag, fixed)
    plan = wrong.attempt(lambda: _measured(base, replace(plan, tables=used.tables, analyses=used.analyses)), plan)
    with right:
        plan = uses.rule(base, plan, tag, fixed, wrong)
    st.subheader("4. What goes with the release", anchor=False)
    plan = public(base, plan, tag, fixed, wrong)
    return cover(base, plan, tag, wrong)


def _measured(base: Plan, plan: Plan) -> Plan:
    """The plan that measures what it declares; a study keeps the measures that it has."""
    return plan if actions.own_study() is not None else with_uses_measured(base, plan)


page()
