"""Which mechanisms are tried, and over which space of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.wording import upper_first
from engine.data.microdata import Microdata
from engine.mechanisms import mechanism, names
from engine.mechanisms.base import Mechanism
from engine.mechanisms.targeted import Profiles
from engine.plan import MechanismPlan, Plan
from engine.plan.entries import HOUSEHOLD_SWAP, NAMING
from engine.plan.households import (
    SURVEY_SWAP,
    household_attributes,
    suggested_places,
    usual_exchange,
    usual_survey_swap,
)
from engine.release.parameter import Parameter
from engine.release.spec import RANDOM_SWAP, ROLES, AttributeSpec
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.widgets.elements import InputErrors
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import markdown

Grid = dict[str, tuple[str, ...]]
_CHOICES = {
    "size": {"equal": "all alike", "class": "those at risk sooner", "square": "those at risk much sooner"},
    "bias": {"last": "the last of them", "each": "each in turn"},
    "must": {"all": "all, beyond the share if need be", "within": "as many as the share allows"},
}
"""Words of choices, by their parameter."""
_LISTS = 4  # lists of attributes, from strict to lax, in one way of finding a partner; more where a plan has them
_NTH = ("First way", "Second way", "Third way", "Further way")
_UNASKED = ("compatible",)


def _usual_exchange(base: Plan, data: Microdata) -> MechanismPlan:
    """The exchange on the places that the records suggest."""
    if data.units is None:
        return MechanismPlan(HOUSEHOLD_SWAP)
    return usual_exchange(data, suggested_places(data.raw, base, data.unit))


_USUAL = {HOUSEHOLD_SWAP: _usual_exchange, SURVEY_SWAP: usual_survey_swap}
"""Mechanisms whose inputs begin with what is usual for the data."""


def _attribute_lists(
    column: DeltaGenerator, label: str, options: Sequence[str], before: Sequence[str], key: str, tip: str
) -> tuple[str, ...]:
    """Ask for lists of attributes, each a value of the grid, and for another one beside those that there are."""
    lists = [
        _picked_list(column, label if not at else "or", options, value, f"{key}-{at}", tip)
        for at, value in enumerate(before or ("",))
    ]
    if any(lists):
        with column.popover("Try another list too", icon=":material/add:"):
            lists.append(_picked_list(st.container(), "or", options, "", f"{key}-{len(lists)}", tip))
        lists = [value for at, value in enumerate(lists) if value or at < len(before)]
    return tuple(dict.fromkeys(lists)) if any(lists) else ()


def _picked_list(column: DeltaGenerator, label: str, options: Sequence[str], before: str, key: str, tip: str) -> str:
    start = [name for name in before.split("+") if name in options]
    return "+".join(column.multiselect(label, options, default=start, key=key, help=tip, filter_mode="contains"))


def _ways(
    base: Plan, data: Microdata, hierarchies: Sequence[Sequence[str]], before: Sequence[str], key: str
) -> tuple[str, ...]:
    """Ways to find a partner; each is tried, and is a list of lists of attributes from strict to lax."""
    places = list(dict.fromkeys(name for names in hierarchies for name in names))
    finest = {names[-1] for names in hierarchies}
    able = [*(name for name in places if name not in finest), *household_attributes(data, places)]
    planned = [name for way in before for names in way.split("|") for name in names.split("+")]
    able += [name for name in dict.fromkeys(planned) if name in base.names and name not in able]
    ways = [*before, ""] if before else ["", ""]
    written = []
    st.caption("Partners are sought by the strictest list first. Several ways are all tried.")
    for number, way in enumerate(ways):
        last = number == len(ways) - 1
        frame = (
            st.expander("Try another way to find partners too", icon=":material/add:", key=f"fold-way-{key}")
            if last and before
            else st.container(border=True)
        )
        with frame:
            profiles = _way(able, way, number, f"{key}-{number}")
        if profiles or (way == "" and not last) or (not before and not number):
            written.append(profiles)
    return tuple(dict.fromkeys(written))


def _way(able: Sequence[str], way: str, number: int, key: str) -> str:
    """One way to find a partner: lists of attributes, the next one asked for as soon as one is given."""
    lists = way.split("|") if way else []
    written: list[str] = []
    for at in range(max(_LISTS, len(lists))):
        start = [name for name in lists[at].split("+") if name in able] if at < len(lists) else []
        picked = st.multiselect(
            f"{_NTH[min(number, len(_NTH) - 1)]}: partners agree on" if not at else "where nobody does, on",
            able,
            default=start,
            key=f"par-{key}-similar-{at}",
            placeholder="nothing: any household elsewhere" if not at else "nothing more: the household stays",
            filter_mode="contains",
        )
        if not picked:
            break
        written.append("+".join(picked))
    anyone = bool(written) and st.checkbox(
        "and where nobody does, with any household elsewhere",
        value=len(lists) > 1 and lists[-1] == "",
        key=f"par-{key}-similar-anyone",
    )
    return "|".join((*written, "") if anyone else written)


def choice(base: Plan, tag: str) -> list[str]:
    """Ask which mechanisms are tried beside, or instead of, the random swap."""
    st.subheader("1. How the data are protected", anchor=False)
    names_chosen = [entry.name for entry in mechanisms.chosen(base)]
    offered = [*names(), *(name for name in names_chosen if name not in names())]
    usual = [name for name in offered if name in names_chosen or name == RANDOM_SWAP]
    places = dict.fromkeys(usual, st.container())
    others = [name for name in offered if name not in usual]
    with st.expander(f"Other methods ({len(others)})", icon=":material/add:"):
        columns = st.columns(2)
        places |= {name: columns[i % 2] for i, name in enumerate(others)}
        with st.popover("When to use which", icon=":material/help:", width="content"):
            for chosen in map(mechanism, names()):
                st.markdown(markdown("**{}** ({}) – use it when {}.", chosen.title, chosen.name, chosen.when))
                st.caption(f"Its amount: {chosen.rate}. Source: {chosen.source}.")
    return [name for name in offered if _is_picked(name, name in names_chosen, places[name], tag)]


def _is_picked(name: str, before: bool, place: DeltaGenerator, tag: str) -> bool:
    chosen = mechanism(name) if name in names() else None
    return place.checkbox(
        chosen.title if chosen else name,
        before,
        key=f"mechanism-{name}-{tag}",
        help=f"Use it when {chosen.when}. Its amount: {chosen.rate}." if chosen else "This program does not know it.",
    )


def grids(base: Plan, data: Microdata, picked: list[str], tag: str, wrong: InputErrors) -> list[MechanismPlan]:
    """The grid of every chosen mechanism; those of the plan stay in their order."""
    before = [entry for entry in mechanisms.chosen(base) if entry.name in picked]
    known = {entry.name for entry in before}
    entries = []
    for i, (name, entry) in enumerate(
        [*((entry.name, entry) for entry in before), *((name, None) for name in picked if name not in known)]
    ):
        chosen = mechanism(name)
        usual = name in _USUAL
        title = markdown("**{}**{}", chosen.title, "" if usual else _grid_words(entry))
        with st.expander(title, expanded=entry is None or usual, icon=":material/tune:"):
            st.caption(
                "Several values of a parameter, separated by commas, are all tried in every combination."
                + (" Several tables can be published together." if chosen.many_tables else "")
            )
            if name == HOUSEHOLD_SWAP and data.units is None:
                st.info(
                    "No column numbers households yet; name it on the page Data. Until then nothing can be exchanged.",
                    icon=":material/home_pin:",
                )
            values = _values(base, data, chosen, entry, f"{name}-{i}-{tag}", wrong)
            entries.append(
                wrong.attempt(partial(mechanisms.grid_of, chosen, values, entry), entry or MechanismPlan(name))
            )
    return entries


def _values(
    base: Plan, data: Microdata, chosen: Mechanism, entry: MechanismPlan | None, key: str, wrong: InputErrors
) -> Grid:
    """The values of all parameters of a mechanism, asked for two in a row."""
    usual = _USUAL.get(chosen.name)
    planned = _USUAL[chosen.name](base, data) if usual and not (entry and entry.grid) else entry
    before = dict(planned.grid) if planned else {}
    values = {name: before[name] for name in _UNASKED if name in before}
    asked = [parameter for parameter in chosen.parameters if parameter.name not in _UNASKED]
    ways = [parameter for parameter in asked if isinstance(parameter, Profiles)]
    for at, parameter in enumerate(parameter for parameter in asked if parameter not in ways):
        if at % 2 == 0:
            columns = st.columns(2)
        label = mechanisms.plain_label(parameter) if usual else mechanisms.label(parameter)
        place, name = columns[at % 2], parameter.name
        start = before.get(name, (parameter.default,) if parameter.default else ())
        tip = f"{upper_first(parameter.meaning)}. Legal: {mechanisms.legal(parameter)}."
        if parameter.kind == "names" and not chosen.by_roles:
            able = base.names if name in NAMING else tuple(dict.fromkeys((*base.names, *data.raw.names)))
            values[name] = _attribute_lists(place, label, able, start, f"par-{key}-{name}", tip)
            if parameter.default is None:
                values[name] = tuple(filter(None, values[name]))
        elif type(parameter) is Parameter and parameter.counts and parameter.counts.kind == "share":
            shown = text.rates_to_percent(start) if start else ""
            typed = place.text_input(f"{label}, in percent", value=shown, key=f"par-{key}-{name}", help=tip)
            values[name] = wrong.attempt(partial(text.rates_from_percent, typed), start)
        else:
            values[name] = _parameter(label, parameter, start, place, f"{key}-{name}", tip)
    for parameter in ways:
        hierarchies = [value.split("+") for value in values["hierarchy"]]
        values[parameter.name] = _ways(base, data, hierarchies, before.get(parameter.name, ()), key)
    return values


def _grid_words(entry: MechanismPlan | None) -> str:
    """The settings of a mechanism, in few words."""
    if entry is None or not entry.grid:
        return " – as usual"
    return " – " + ", ".join(f"{name} {' or '.join(values)}" for name, values in entry.grid)


def _parameter(
    label: str, parameter: Parameter, start: tuple[str, ...], column: DeltaGenerator, key: str, tip: str
) -> tuple[str, ...]:
    """The values of one parameter."""
    if parameter.kind in ("choice", "truth"):
        words = _CHOICES.get(parameter.name, {})
        options = list(dict.fromkeys((*(parameter.choices or ("yes", "no")), *start)))
        picked = column.multiselect(
            label,
            options,
            default=list(start),
            format_func=lambda value: words.get(value, value),
            key=f"par-{key}",
            help=tip,
        )
        return tuple(picked)
    field = column.text_area if parameter.kind == "text" and len(start) > 1 else column.text_input
    typed = field(
        label,
        value=mechanisms.values_text(parameter, start),
        key=f"par-{key}",
        help=tip,
        placeholder=parameter.default or "as usual",
    )
    return mechanisms.values_from(parameter, typed)


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

    def having(planned: tuple[str, ...], *kinds: str) -> tuple[str, ...]:
        names = tuple(name for name in base.names if part[name] in kinds)
        return planned if set(planned) == set(names) else names  # in the plan's own order

    fix, change = having(base.space.fix, "fix"), having(base.space.change, "change")
    return having(base.swap, "swap", "fix", "change"), fix, change


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
