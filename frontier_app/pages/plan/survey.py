"""The swap of survey records: who is a target, what partners exchange, and on what they must agree."""

from __future__ import annotations

from decimal import Decimal

import streamlit as st

from engine.common.errors import UsageError
from engine.common.wording import listed
from engine.data.microdata import Microdata
from engine.mechanisms import mechanism
from engine.plan import MechanismPlan
from engine.plan.survey import SURVEY_SWAP, personal_attributes, usual_survey_swap
from engine.plan.types import Plan
from engine.release.spec import percent
from frontier_app.pages.plan.grid_inputs import Grid, attribute_lists, attributes, picked, shares
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import mechanisms

_LEAST = {"2": "2", "3": "3", "5": "5", "10": "10"}
_SIZE = {"equal": "all alike", "class": "those at risk sooner", "square": "much sooner"}
_DECIDES = {"last": "the last of them", "each": "each in turn"}


def inputs(base: Plan, entry: MechanismPlan | None, data: Microdata, key: str, wrong: InputErrors) -> MechanismPlan:
    """The inputs of one such mechanism of the plan; returns it with what they say."""
    before = dict((entry if entry is not None and entry.grid else usual_survey_swap(base, data)).grid)
    values = {**_targets(base, before, data.n_records, key, wrong), **_partners(base, before, data, key)}
    planned = {name: found for name, found in values.items() if any(found)}
    return wrong.attempt(lambda: _checked(planned, entry), entry or MechanismPlan(SURVEY_SWAP))


def _checked(planned: Grid, entry: MechanismPlan | None) -> MechanismPlan:
    if "swap" not in planned:
        raise UsageError("partners exchange no attribute; choose at least one, such as income")
    return mechanisms.grid_of(mechanism(SURVEY_SWAP), planned, entry)


def _targets(base: Plan, before: Grid, n_records: int, key: str, wrong: InputErrors) -> Grid:
    """Ask how many targets there are, and who they are."""
    values: Grid = {}
    left, right = st.columns(2)
    values["rate"] = shares(
        left,
        "Records that are targets, in percent",
        before.get("rate", ()),
        key,
        wrong,
        "The share of records that look for a partner. 5 means 5 % (0.05). Several, separated by commas, are all"
        " tried.",
    )
    left.caption(_perturbed(values["rate"], n_records))
    values["k"] = picked(
        right,
        "At risk where fewer records are alike than",
        _LEAST,
        before.get("k", ("3",)),
        f"par-{key}-k",
        "A record is at risk where fewer than so many records share what an intruder knows of it. Its class of risk is"
        " this number less how many share it: the fewer, the higher. Several numbers are all tried.",
    )
    left, right = st.columns(2)
    values["risk"] = attributes(
        left, "What an intruder knows", base.names, before.get("risk", ()), f"par-{key}-risk", "the keys"
    )
    values["stratum"] = attributes(
        right,
        "Targets are drawn within each stratum of",
        base.names,
        before.get("stratum", ()),
        f"par-{key}-stratum",
        "no strata: from the whole file",
    )
    frame = st.container()
    values["size"] = picked(
        frame,
        "As targets are drawn",
        _SIZE,
        before.get("size", ("class",)),
        f"par-{key}-size",
        "Sooner: in proportion to the class of risk plus 1. Much sooner: in proportion to its square plus 1.",
    )
    certain = before.get("certain", ("0",))
    values["certain"] = picked(
        frame,
        "Always targets, whatever the share",
        _certain_words(values["k"]),
        certain,
        f"par-{key}-certain",
        "These come on top of the share.",
    )
    return values


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


def _partners(base: Plan, before: Grid, data: Microdata, key: str) -> Grid:
    """Ask what partners exchange, and on what they must agree."""
    values: Grid = {}
    planned = {name for value in (*before.get("swap", ()), *before.get("linked", ())) for name in value.split("+")}
    personal = personal_attributes(base, data)
    able = [*personal, *(name for name in base.names if name in planned and name not in personal)]
    left, right = st.columns(2)
    values["swap"] = attribute_lists(left, "Partners exchange", able, before.get("swap", ()), f"par-{key}-swap")
    used = {name for value in values["swap"] for name in value.split("+")}
    others = [name for name in base.names if name not in used]
    values["boundary"] = attribute_lists(
        right,
        "Partners must agree on",
        others,
        before.get("boundary", ()),
        f"par-{key}-boundary",
        "nothing: any record may be one",
    )
    used |= {name for value in values["boundary"] for name in value.split("+")}
    values["linked"] = attributes(
        left,
        "What goes along with it",
        [name for name in able if name not in used],
        before.get("linked", ()),
        f"par-{key}-linked",
        "nothing",
    )
    if any("+" in value for value in values["swap"]) or "bias" in before:
        values["bias"] = picked(
            right,
            "Of two partners the one is taken that changes weighted totals less, by",
            _DECIDES,
            before.get("bias", ("last",)),
            f"par-{key}-bias",
            "The last of the attributes exchanged counts, or each of them for an equal share of records.",
        )
    return values
