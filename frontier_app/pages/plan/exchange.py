"""The exchange of whole households between places: how many, between which places, and what partners agree on."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.data.microdata import Microdata
from engine.mechanisms import mechanism
from engine.plan import MechanismPlan
from engine.plan.entries import HOUSEHOLD_SWAP
from engine.plan.households import household_attributes, suggested_places, usual_exchange
from engine.plan.types import Plan
from frontier_app.pages.plan.grid_inputs import Grid, GridInputs
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import mechanisms

_MUST = {
    "all": "all, beyond the share if need be",
    "within": "as many as the share allows",
}
_LEAN = {"0": "all alike", "0.5": "those at risk a little sooner", "1": "those at risk sooner", "2": "much sooner"}
_LEAST = {"0": "nobody is", "2": "2", "3": "3", "5": "5", "10": "10"}
_LISTS = 4  # lists of attributes, from strict to lax, in one way of finding a partner; more where a plan has them
_NTH = ("First way", "Second way", "Third way", "Further way")
_UNASKED = ("compatible",)


def inputs(base: Plan, entry: MechanismPlan | None, data: Microdata, key: str, wrong: InputErrors) -> MechanismPlan:
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
        _LEAST,
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
