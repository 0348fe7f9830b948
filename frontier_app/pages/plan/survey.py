"""The swap of survey records: who is a target, what partners exchange, and on what they must agree."""

from __future__ import annotations

from decimal import Decimal

import streamlit as st

from engine.common.errors import UsageError
from engine.common.wording import listed
from engine.data.microdata import Microdata
from engine.mechanisms import mechanism
from engine.plan import MechanismPlan
from engine.plan.households import SURVEY_SWAP, personal_attributes, usual_survey_swap
from engine.plan.types import Plan
from engine.release.spec import percent
from frontier_app.pages.plan.grid_inputs import Grid, GridInputs
from frontier_app.widgets.input_errors import InputErrors
from frontier_app.wording import mechanisms

_LEAST = {"2": "2", "3": "3", "5": "5", "10": "10"}
_SIZE = {"equal": "all alike", "class": "those at risk sooner", "square": "much sooner"}
_DECIDES = {"last": "the last of them", "each": "each in turn"}


def inputs(base: Plan, entry: MechanismPlan | None, data: Microdata, key: str, wrong: InputErrors) -> MechanismPlan:
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
