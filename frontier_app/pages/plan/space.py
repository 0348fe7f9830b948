"""Which mechanisms are tried, and over which space of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.common.errors import UsageError
from engine.common.wording import listed
from engine.data.microdata import Microdata
from engine.mechanisms import mechanism, names
from engine.plan import MechanismPlan, Plan
from engine.plan.entries import HOUSEHOLD_SWAP
from engine.plan.households import (
    SURVEY_SWAP,
    household_attributes,
    personal_attributes,
    suggested_places,
    usual_exchange,
    usual_survey_swap,
)
from engine.release.parameter import Parameter
from engine.release.spec import RANDOM_SWAP, ROLES, AttributeSpec, percent
from frontier_app.session import actions, state
from frontier_app.widgets import elements
from frontier_app.widgets.elements import InputErrors
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import markdown

_NEEDED = ("hierarchy", "swap")
Grid = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class GridInputs:
    """Inputs of one mechanism of a plan: the grid ``before`` them, the ``key`` that sets them apart from those of
    others, and the ``values`` that they say, by parameter."""

    before: Grid
    key: str
    wrong: InputErrors
    values: Grid = field(default_factory=dict)

    def shares(self, column: DeltaGenerator, name: str, label: str, tip: str) -> None:
        """Ask for shares, typed in percent."""
        before = self.before.get(name, ())
        shown = text.rates_to_percent(before) if before else ""
        typed = column.text_input(label, value=shown, key=self._key(name), help=tip)
        self.values[name] = self.wrong.attempt(lambda: text.rates_from_percent(typed), before)

    def picked(
        self, column: DeltaGenerator, name: str, label: str, words: dict[str, str], usual: str, tip: str | None = None
    ) -> None:
        """Ask for one value or several; each is tried, and ``usual`` is picked where the plan says nothing."""
        before = self.before.get(name, (usual,))
        options = list(dict.fromkeys((*words, *before)))
        chosen = column.pills(
            label,
            options,
            selection_mode="multi",
            default=list(before),
            format_func=lambda value: words.get(value, value),
            key=self._key(name),
            help=tip,
        )
        self.values[name] = tuple(value for value in options if value in chosen)

    def attribute_lists(
        self, column: DeltaGenerator, name: str, label: str, options: Sequence[str], placeholder: str | None = None
    ) -> None:
        """Ask for lists of attributes, each a value of the grid, and for another one beside those that there are.  Of
        what the mechanism cannot do without, an empty list beside others is none."""
        before, key = self.before.get(name, ()), self._key(name)
        lists = [
            _listed_numbers(column, label if not at else "or", options, value, f"{key}-{at}", placeholder)
            for at, value in enumerate(before or ("",))
        ]
        if any(lists):
            with column.popover("Try another list too", icon=":material/add:"):
                lists.append(_listed_numbers(st.container(), "or", options, "", f"{key}-{len(lists)}", placeholder))
            lists = [value for at, value in enumerate(lists) if value or at < len(before)]
        if name in _NEEDED and any(lists):
            lists = list(filter(None, lists))
        self.values[name] = tuple(dict.fromkeys(lists))

    def names(self, *parameters: str) -> set[str]:
        """The attributes that these parameters name so far."""
        return {name for parameter in parameters for value in self.values[parameter] for name in value.split("+")}

    def _key(self, name: str) -> str:
        return f"par-{self.key}-{name}"


def _listed_numbers(
    column: DeltaGenerator, label: str, options: Sequence[str], before: str, key: str, placeholder: str | None
) -> str:
    start = [name for name in before.split("+") if name in options]
    chosen = column.multiselect(label, options, default=start, key=key, placeholder=placeholder, filter_mode="contains")
    return "+".join(chosen)


_LEAST = {"2": "2", "3": "3", "5": "5", "10": "10"}
_SIZE = {"equal": "all alike", "class": "those at risk sooner", "square": "much sooner"}
_DECIDES = {"last": "the last of them", "each": "each in turn"}


def survey_inputs(
    base: Plan, entry: MechanismPlan | None, data: Microdata, key: str, wrong: InputErrors
) -> MechanismPlan:
    """The inputs of one such mechanism of the plan; returns it with what they say."""
    before = dict((entry if entry is not None and entry.grid else usual_survey_swap(base, data)).grid)
    asked = GridInputs(before, key, wrong)
    _targets(base, asked, data.n_records)
    _partners(base, asked, data)
    planned = {name: found for name, found in asked.values.items() if any(found)}
    return wrong.attempt(lambda: _checked(planned, entry), entry or MechanismPlan(SURVEY_SWAP))


def _checked(planned: Grid, entry: MechanismPlan | None) -> MechanismPlan:
    if "swap" not in planned:
        raise UsageError("partners exchange no attribute; choose at least one, such as income")
    return mechanisms.grid_of(mechanism(SURVEY_SWAP), planned, entry)


def _targets(base: Plan, asked: GridInputs, n_records: int) -> None:
    """Ask how many targets there are, and who they are."""
    left, right = st.columns(2)
    asked.shares(
        left,
        "rate",
        "Records that are targets, in percent",
        "The share of records that look for a partner. 5 means 5 % (0.05). Several, separated by commas, are all"
        " tried.",
    )
    left.caption(_perturbed(asked.values["rate"], n_records))
    asked.picked(
        right,
        "k",
        "At risk where fewer records are alike than",
        _LEAST,
        "3",
        "A record is at risk where fewer than so many records share what an intruder knows of it. Its class of risk is"
        " this number less how many share it: the fewer, the higher. Several numbers are all tried.",
    )
    left, right = st.columns(2)
    asked.attribute_lists(left, "risk", "What an intruder knows", base.names, "the keys")
    strata = "Targets are drawn within each stratum of"
    asked.attribute_lists(right, "stratum", strata, base.names, "no strata: from the whole file")
    frame = st.container()
    asked.picked(
        frame,
        "size",
        "As targets are drawn",
        _SIZE,
        "class",
        "Sooner: in proportion to the class of risk plus 1. Much sooner: in proportion to its square plus 1.",
    )
    asked.picked(
        frame,
        "certain",
        "Always targets, whatever the share",
        _certain_words(asked.values["k"]),
        "0",
        "These come on top of the share.",
    )


def _perturbed(rates: tuple[str, ...], n_records: int) -> str:
    """A sentence that says in numbers that twice as many records are perturbed."""
    twice = "Each target takes a partner, so twice as many records are perturbed"
    shares_meant = [rate for rate in map(Decimal, rates) if rate.is_finite() and 0 <= rate <= Decimal("0.5")]
    if not shares_meant:
        return f"{twice}."
    parts = [f"{percent(str(2 * rate))} (about {2 * round(rate * n_records):,} records)" for rate in shares_meant]
    return f"{twice}: {listed(parts)}."


def _certain_words(ks: tuple[str, ...]) -> dict[str, str]:
    """Classes of risk from which records are targets for certain, by how many records are alike."""
    words = {"0": "nobody"}
    if len(ks) != 1:
        return words
    k = int(ks[0])
    for alike in sorted({1, 2, k - 1}):
        if 1 <= alike < k:
            words[str(k - alike)] = "records that are unique" if alike == 1 else f"records that at most {alike} share"
    return words


def _partners(base: Plan, asked: GridInputs, data: Microdata) -> None:
    """Ask what partners exchange, and on what they must agree."""
    before = asked.before
    planned = {name for value in (*before.get("swap", ()), *before.get("linked", ())) for name in value.split("+")}
    personal = personal_attributes(base, data)
    able = [*personal, *(name for name in base.names if name in planned and name not in personal)]
    left, right = st.columns(2)
    asked.attribute_lists(left, "swap", "Partners exchange", able)
    others = [name for name in base.names if name not in asked.names("swap")]
    asked.attribute_lists(right, "boundary", "Partners must agree on", others, "nothing: any record may be one")
    used = asked.names("swap", "boundary")
    asked.attribute_lists(
        left, "linked", "What goes along with it", [name for name in able if name not in used], "nothing"
    )
    if any("+" in value for value in asked.values["swap"]) or "bias" in before:
        asked.picked(
            right,
            "bias",
            "Of two partners the one is taken that changes weighted totals less, by",
            _DECIDES,
            "last",
            "The last of the attributes exchanged counts, or each of them for an equal share of records.",
        )


_MUST = {
    "all": "all, beyond the share if need be",
    "within": "as many as the share allows",
}
_LEAN = {"0": "all alike", "0.5": "those at risk a little sooner", "1": "those at risk sooner", "2": "much sooner"}
_LEAST_UNITS = {"0": "nobody is", "2": "2", "3": "3", "5": "5", "10": "10"}
_LISTS = 4  # lists of attributes, from strict to lax, in one way of finding a partner; more where a plan has them
_NTH = ("First way", "Second way", "Third way", "Further way")
_UNASKED = ("compatible",)


def exchange_inputs(
    base: Plan, entry: MechanismPlan | None, data: Microdata, key: str, wrong: InputErrors
) -> MechanismPlan:
    """The inputs of one such mechanism of the plan; returns it with what they say."""
    before = _at_first(base, entry, data)
    chosen = mechanism(HOUSEHOLD_SWAP)
    if data.units is None:
        st.info(
            "No column numbers households yet; name it on the page File. Until then nothing can be exchanged.",
            icon=":material/home_pin:",
        )
    asked = GridInputs(before, key, wrong)
    left, right = st.columns(2)
    asked.shares(
        left,
        "rate",
        "Households that exchange their place, in percent",
        "The share of households that move, both partners of an exchange counted. 5 means 5 % (0.05). Several,"
        " separated by commas, are all tried. Households at risk may come on top.",
    )
    asked.picked(
        right,
        "k",
        "At risk where fewer persons are alike than",
        _LEAST_UNITS,
        "3",
        "A household is at risk where fewer than so many persons of its area share what an intruder knows of one of its"
        " members. Several numbers are all tried.",
    )
    left, right = st.columns(2)
    asked.attribute_lists(left, "hierarchy", "Places, from coarse to fine", base.names)
    hierarchies = [value.split("+") for value in asked.values["hierarchy"]]
    planned = {name for value in before.get("risk", ()) for name in value.split("+")}
    known = [name for name in base.names if name not in asked.names("hierarchy") or name in planned]
    asked.attribute_lists(right, "risk", "What an intruder knows of persons", known, "the keys that are no places")
    asked.values["similar"] = _ways(base, data, hierarchies, before.get("similar", ()), key)
    frame = st.container()
    asked.picked(frame, "must", "Households at risk that are exchanged", _MUST, "all")
    asked.picked(frame, "lean", "Of all others are drawn", _LEAN, "1")
    if "levels" in before:
        asked.picked(frame, "levels", "Places that count for risk", _levels(max(hierarchies, key=len)), "0")
    values = asked.values | {name: before[name] for name in _UNASKED if name in before}
    grid = {name: texts for name, texts in values.items() if any(texts) or name == "similar"}
    return wrong.attempt(lambda: mechanisms.grid_of(chosen, grid, entry), entry or MechanismPlan(HOUSEHOLD_SWAP))


def _at_first(base: Plan, entry: MechanismPlan | None, data: Microdata) -> Grid:
    """The values that the inputs begin with: the plan's grid, or the usual one on the places that the records
    suggest."""
    if entry is not None and entry.grid:
        return dict(entry.grid)
    if data.units is None:
        return {}
    return dict(usual_exchange(data, suggested_places(data.raw, base, data.unit)).grid)


def _levels(places: Sequence[str]) -> dict[str, str]:
    """Numbers of the coarsest places that count, each in words."""
    some = {str(n): f"down to {places[n - 1]}" for n in range(1, len(places))}
    return {"0": "all of them"} | some


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


_IN_WORDS = {HOUSEHOLD_SWAP: exchange_inputs, SURVEY_SWAP: survey_inputs}
"""Mechanisms that ask in words of the field, not by their parameters."""


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
        asks = _IN_WORDS.get(name)
        title = markdown("**{}**{}", chosen.title, "" if asks else _grid_words(entry))
        with st.expander(title, expanded=entry is None or asks is not None, icon=":material/tune:"):
            st.caption(
                f"Use it when {chosen.when}. Its amount: {chosen.rate}."
                + (" Several tables can be published together." if chosen.many_tables else "")
                + (" Several values are" if asks else " Several values of a parameter, separated by commas, are")
                + " all tried in every combination."
            )
            if asks:
                entries.append(asks(base, entry, data, f"{name}-{i}-{tag}", wrong))
                continue
            values_before = dict(entry.grid) if entry else {}
            values = {}
            for at, parameter in enumerate(chosen.parameters):
                if at % 2 == 0:
                    columns = st.columns(2)
                values[parameter.name] = _parameter(
                    mechanisms.label(parameter),
                    parameter,
                    values_before.get(parameter.name),
                    columns[at % 2],
                    f"{name}-{i}-{parameter.name}-{tag}",
                )
            entries.append(
                wrong.attempt(partial(mechanisms.grid_of, chosen, values, entry), entry or MechanismPlan(name))
            )
    return entries


def _grid_words(entry: MechanismPlan | None) -> str:
    """The settings of a mechanism, in few words."""
    if entry is None or not entry.grid:
        return " – as usual"
    return " – " + ", ".join(f"{name} {' or '.join(values)}" for name, values in entry.grid)


def _parameter(
    label: str, parameter: Parameter, before: tuple[str, ...] | None, column: DeltaGenerator, key: str
) -> tuple[str, ...]:
    """The values of one parameter."""
    usual = () if not parameter.default else (parameter.default,)
    start = before if before is not None else usual
    tip = f"{parameter.meaning[:1].upper()}{parameter.meaning[1:]}. Legal: {mechanisms.legal(parameter)}."
    if parameter.kind in ("choice", "truth"):
        options = list(dict.fromkeys((*(parameter.choices or ("yes", "no")), *start)))
        picked = column.multiselect(label, options, default=list(start), key=f"par-{key}", help=tip)
        column.caption(parameter.meaning)
        return tuple(picked)
    field = column.text_area if parameter.kind == "text" and len(start) > 1 else column.text_input
    typed = field(
        label,
        value=mechanisms.values_text(parameter, start),
        key=f"par-{key}",
        help=tip,
        placeholder=parameter.default or "as usual",
    )
    column.caption(f"{parameter.meaning} – {mechanisms.legal(parameter)}")
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
