"""The knowledge of an intruder: the keys, the files that overlap with them, and the harm."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from engine.data.microdata import RawTable
from engine.measures.planned import sensitive, with_sensitive
from engine.plan import Plan, ThreatPlan, edit_plan
from frontier_app.pages.threat import published_tables
from frontier_app.session import state
from frontier_app.widgets import disclosure_warnings, elements, households, key_table
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording.markup import markdown

VISIBLE = tuple(
    word
    for line in (
        "age sex gender race ethnic marital married marry educ school job occ industry employ",
        "region division state province county district place city urban country birth born native language",
        "religio child household family nationality citizen height tenure salary status",
    )
    for word in line.split()
)
"""Beginnings of words for what neighbours, colleagues or registers may know about a person."""


def inputs(base: Plan, tag: str, fixed: bool, wrong: InputErrors) -> Plan:
    """The plan with what an intruder is taken to know."""
    st.subheader("1. What an intruder may know", anchor=False)
    raw = state.get().raw
    key = f"threat-keys-{tag}"
    if not fixed:
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
        disclosure_warnings.shown(plan)
    plan = _sensitive(base, plan, tag, fixed, wrong)
    if households.concerns(plan):
        at_hand = state.get().plan or base
        with st.expander(households.title(at_hand), key=f"fold-households-{tag}", icon=":material/home_pin:"):
            households.inputs(at_hand, "threat", fixed=fixed)
    plan = wrong.attempt(lambda: replace(plan, threat=_in_words(base.threat, tag, fixed)), plan)
    return published_tables.inputs(base, plan, tag, fixed)


def _in_words(threat: ThreatPlan, tag: str, fixed: bool) -> ThreatPlan:
    """The intruder in words, folded: the memo quotes them, and no figure depends on them."""
    before = {"intruder": threat.intruder, "files": threat.public_files, "harm": threat.harm}
    given = sum(bool(state.input_or(f"threat-{name}-{tag}", value)) for name, value in before.items())
    title = f"The intruder in words, for the memo ({given} of 3 given)"
    fold = st.expander(title, key=f"fold-threat-{tag}", icon=":material/edit_note:")
    intruder = fold.text_area(
        "Who the intruder could be, and how they would proceed",
        threat.intruder,
        key=f"threat-intruder-{tag}",
        disabled=fixed,
        height=68,
        placeholder="A colleague who knows that a certain person answered, and looks for that person's income",
    )
    files = fold.text_area(
        "Public or commercial files that overlap with the keys, one a line",
        "\n".join(threat.public_files),
        key=f"threat-files-{tag}",
        disabled=fixed,
        height=68,
        placeholder="Voter register of 2024: name, address, age, sex",
        help="Describe them in words. The measure 'Links to an external file' on the page Plan says how well a file"
        " that you hold matches a release.",
    )
    harm = fold.text_area(
        "What a disclosure would do to a person",
        threat.harm,
        key=f"threat-harm-{tag}",
        disabled=fixed,
        height=68,
        placeholder="Loss of benefits, embarrassment",
    )
    lines = tuple(dict.fromkeys(line.strip() for line in files.splitlines() if line.strip()))
    return ThreatPlan(intruder, lines, harm)


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
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Begin with", width="content")
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


def _exposed(plan: Plan) -> None:
    """In one sentence, who stands out on the keys if nothing is done."""
    exposure = key_table.of(plan)
    if exposure is None:
        st.warning(
            f"{len(plan.keys)} keys are more than anybody knows. On so many keys every record is alone.",
            icon=":material/warning:",
        )
        return
    st.markdown(
        markdown(
            "If nothing is done, **{:,} of {:,}** records ({}) stand in combinations of these keys that fewer than 3"
            " records share, **{:,}** of them alone.",
            exposure.small_records,
            exposure.n_records,
            elements.share(exposure.small_records, exposure.n_records),
            exposure.uniques,
        )
    )
