"""The swaps to try: a preset, the role of every attribute, and the definition of a true swap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from engine.plan import Plan
from engine.release.spec import ROLES, AttributeSpec
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.wording import text

PRESETS = {
    "paper": "One and two attributes",
    "all": "Complete space",
    "sizes": "Other numbers",
    "search": "Search",
    "listed": "My own list",
}
_ABOUT = {
    "paper": "Every single attribute and every pair is swapped; all others are unconstrained. These are the candidates"
    " of Gomatam, Karr and Sanil (2005).",
    "all": "Every way to give the attributes the roles S, F, C and U; equivalent ones are run once.",
    "sizes": "Every choice of the given number of attributes is swapped together; all others are unconstrained.",
    "search": "A search goes from good candidates to their neighbours in the complete space. It suits spaces that are"
    " too large to be tried whole. The study says how much of the space the search has tried.",
    "listed": "The swaps below are tried, and no others.",
}
PARTS = {
    "swap": "may be swapped",
    "never": "never swapped, free (U)",
    "fix": "partners agree on it (F)",
    "change": "partners differ on it (C)",
}


def preset_of(plan: Plan) -> str:
    """The preset that a plan's space is."""
    if plan.space.all_specs:
        return "all"
    if plan.space.search:
        return "search"
    if plan.space.specs:
        return "listed"
    return "paper" if plan.space.swap_sizes == _paper_sizes(plan.swap_candidates) else "sizes"


def _paper_sizes(able: Sequence[str]) -> tuple[int, ...]:
    return tuple(size for size in (1, 2) if size <= max(1, len(able)))


def inputs(base: Plan, tag: str) -> Plan:
    """All inputs on what is swapped; returns the plan with what they say."""
    preset = st.segmented_control(
        "Candidates",
        list(PRESETS),
        default=preset_of(base),
        required=True,
        format_func=PRESETS.__getitem__,
        key=f"how-{tag}",
        label_visibility="collapsed",
    )
    st.caption(_ABOUT[preset])
    chosen = replace(base.space, swap_sizes=(), all_specs=False, specs=(), search=False)
    if preset == "listed":
        specs = _listed(base, tag)
        return replace(base, space=replace(chosen, specs=specs, fix=(), change=()))
    swap, fix, change = _parts(base, tag)
    chosen = replace(chosen, fix=fix, change=change)
    able = [name for name in swap if name not in fix and name not in change]
    if preset == "all":
        chosen = replace(chosen, all_specs=True)
    elif preset == "search":
        budget = st.number_input(
            "Most scenarios to try",
            1,
            10_000_000,
            base.space.budget,
            key=f"budget-{tag}",
            help="a scenario is a swap at one rate; the best of them get all replicates",
        )
        chosen = replace(chosen, search=True, budget=int(budget))
    elif preset == "paper":
        chosen = replace(chosen, swap_sizes=_paper_sizes(able))
    else:
        most = min(max(1, len(able)), 12)
        sizes = st.multiselect(
            "Number of attributes swapped together",
            list(range(1, most + 1)),
            default=[size for size in (base.space.swap_sizes or (1, 2)) if size <= most],
            key=f"sizes-{tag}",
            help="1 and 3 try every single attribute and every choice of three; the others are unconstrained (U)",
        )
        chosen = replace(chosen, swap_sizes=tuple(sizes))
    return replace(base, swap=swap or base.swap, space=chosen)


def rule_at_hand(base: Plan, tag: str) -> str:
    """The rule for a true swap by the input, which may not be drawn yet."""
    return str(state.input_or(f"true-swap-{tag}", base.space.rule))


def rule(base: Plan, tag: str) -> str:
    """Ask for the rule for a true swap."""
    return str(
        st.radio(
            "A true swap is",
            list(text.RULE_WORDS),
            index=list(text.RULE_WORDS).index(base.space.rule),
            format_func=text.RULE_WORDS.__getitem__,
            key=f"true-swap-{tag}",
        )
    )


def _parts(base: Plan, tag: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Ask for the part of every attribute, as a grid; return the attributes that may be swapped, F and C from
    outside."""
    before = {
        name: "fix"
        if name in base.space.fix
        else "change"
        if name in base.space.change
        else "swap"
        if name in base.swap
        else "never"
        for name in base.names
    }
    parts = [PARTS[part] for part in before.values()]
    for row, changed in state.input_or(f"parts-{tag}", {"edited_rows": {}})["edited_rows"].items():
        parts[row] = changed.get("part", parts[row])
    counts = ", ".join(f"{parts.count(part):,} {part}" for part in PARTS.values() if part in parts)
    fold = st.expander(f"The part of every attribute: {counts}", key=f"fold-parts-{tag}", icon=":material/list:")
    with fold:
        _mine(base, tag)
    edited = fold.data_editor(
        pd.DataFrame({"attribute": list(before), "part": [PARTS[part] for part in before.values()]}),
        key=f"parts-{tag}",
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(before), 330),
        disabled=["attribute"],
        column_config={
            "attribute": st.column_config.TextColumn("Attribute", width=150),
            "part": st.column_config.SelectboxColumn(
                "Its part in every candidate",
                options=list(PARTS.values()),
                required=True,
                width=270,
                help="F keeps swaps within a value, such as a region; C makes every swap cross it",
            ),
        },
        alt="Attributes and the part that each takes in every candidate",
    )
    part_of = {part_of: part for part, part_of in PARTS.items()}
    part = dict(zip(edited["attribute"], (part_of[text] for text in edited["part"]), strict=True))

    def having(*kinds: str) -> tuple[str, ...]:
        return tuple(name for name in base.names if part[name] in kinds)

    return having("swap", "fix", "change"), having("fix"), having("change")


def _mine(base: Plan, tag: str) -> None:
    """Let a few attributes be swapped and no other, in one step."""
    with st.popover("My attributes only", icon=":material/checklist:"):
        picked = st.multiselect(
            "Attributes that may be swapped",
            base.names,
            default=[] if len(base.swap) == len(base.names) else list(base.swap_candidates),
            key=f"mine-{tag}",
            filter_mode="contains",
            help="All others are never swapped and free (U); those that partners agree or differ on (F, C) keep their"
            " part unless they are picked here.",
        )
        if st.button("Swap these and no others", key=f"only-mine-{tag}", disabled=not picked):
            with elements.errors_shown():
                actions.change(only(state.get().plan or base, picked), "only some attributes may be swapped")
                st.rerun()


def only(plan: Plan, names: Sequence[str]) -> Plan:
    """The plan in which these attributes may be swapped and no other; numbers of attributes that are too many go."""
    fix, change = (tuple(n for n in listed if n not in names) for listed in (plan.space.fix, plan.space.change))
    sizes = tuple(size for size in plan.space.swap_sizes if size <= len(names))
    space = replace(plan.space, fix=fix, change=change, swap_sizes=sizes)
    return replace(plan, swap=tuple(n for n in plan.names if n in names), space=space)


def _listed(base: Plan, tag: str) -> tuple[str, ...]:
    """Swaps written one per line, or put together attribute by attribute."""
    key = f"listed-{tag}"
    lines = st.text_area(
        "One swap per line",
        value="\n".join(base.space.specs) or f"{base.names[0]}:S",
        key=key,
        height=120,
        help=f"NAME:ROLE for every attribute that is not U, for example {base.names[0]}:S {base.names[-1]}:F",
    )
    with st.popover("Put a swap together", icon=":material/add:"):
        roles = {}
        columns = st.columns(2)
        for i, name in enumerate(base.names):
            roles[name] = columns[i % 2].segmented_control(
                name, list(ROLES), default="U", required=True, key=f"role-{name}-{tag}", help=_role_help()
            )
        spec = AttributeSpec(base.names, "".join(roles.values()))

        def add() -> None:
            before = str(state.input_value(key) or "").strip()
            state.set_input(key, f"{before}\n{spec}".strip())

        able = "S" in spec.roles
        st.button(f"Add {spec}" if able else "Mark one attribute S first", on_click=add, disabled=not able)
    return tuple(line.strip() for line in lines.splitlines() if line.strip())


def _role_help() -> str:
    return "; ".join(f"{role}: {meaning}" for role, meaning in text.ROLE_WORDS.items())
