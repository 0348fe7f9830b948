"""Mechanisms in words and as inputs: from a plan's grid to inputs and back, and a candidate's settings.

The random swap has its own inputs; its specs and rates stand in the plan's space.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from engine.common.errors import UsageError
from engine.common.wording import lower_first
from engine.mechanisms import mechanism, names
from engine.mechanisms.base import Mechanism
from engine.mechanisms.targeted import Profiles
from engine.plan import MechanismPlan, Plan
from engine.plan.entries import HOUSEHOLD_SWAP
from engine.release.parameter import Parameter
from engine.release.scenarios import Note, NoteKind, mean_diagnostics
from engine.release.spec import RANDOM_SWAP, ReleaseSpec, percent

_QUIET = {"s": "3"}  # numbers that short words leave out where they are this


def title(name: str) -> str:
    """A mechanism's name for people."""
    return mechanism(name).title


def short(name: str) -> str:
    """A mechanism's usual abbreviation; its name in words where it has none of its own."""
    match = re.search(r"\(([\w, ]+)\)$", title(name))
    return match.group(1) if match else name.replace("_", " ")


def tables_of(spec: ReleaseSpec) -> int:
    """The number of tables that a candidate publishes together."""
    return mechanism(spec.mechanism).n_tables(spec)


def settings(spec: ReleaseSpec) -> str:
    """A candidate's parameters in few signs: its numbers, and what is not as it usually is; of an exchange of
    households in words."""
    if spec.mechanism == HOUSEHOLD_SWAP:
        return _exchange(dict(spec.params))
    return " ".join(f"{name}={value}" for name, value in _telling(spec))


def _exchange(values: Mapping[str, str]) -> str:
    """Words on how many households exchange their place, who is at risk, and on what partners agree at first."""
    strictest, *laxer = (way.replace("+", ", ") or "nothing" for way in values["similar"].split("|"))
    at_risk = "all at risk" if values["must"] == "all" else "at risk within it"
    lean = {"0": "alike", "1": "by risk"}.get(values["lean"], f"by risk to {values['lean']}")
    parts = [f"{percent(values['rate'])} {lean}"]
    parts += [f"k = {values['k']}", at_risk] if values["k"] != "0" else []
    return "; ".join((*parts, f"{strictest}{' first' if laxer else ''}"))


def meant(spec: ReleaseSpec) -> list[str]:
    """The same in plain words: what each parameter means, and its value."""
    known = {parameter.name: parameter for parameter in mechanism(spec.mechanism).parameters}
    return [
        f"{lower_first(plain_label(known[name]))}: {plain_value(known[name], value)}" if name in known else value
        for name, value in _telling(spec)
    ]


def _telling(spec: ReleaseSpec) -> list[tuple[str, str]]:
    """The parameters that tell a candidate from others of its mechanism."""
    parameters = {parameter.name: parameter for parameter in mechanism(spec.mechanism).parameters}
    told = []
    for name, value in mechanism(spec.mechanism).settings(spec):
        default = parameters[name].default if name in parameters else None
        is_number = name in parameters and parameters[name].kind in ("decimal", "whole") and _is_number(value)
        if (is_number and _QUIET.get(name) != value) or (value != default and value != ""):
            told.append((name, value))
    return told


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def parameter_rows(spec: ReleaseSpec) -> list[tuple[str, str, str]]:
    """Every parameter of a candidate: its label, value, meaning."""
    known = {parameter.name: parameter for parameter in mechanism(spec.mechanism).parameters}
    return [
        (
            plain_label(known[name]) if name in known else name,
            (plain_value(known[name], value) if name in known else value) or "as usual",
            known[name].meaning if name in known else "",
        )
        for name, value in spec.params
    ]


def label(parameter: Parameter) -> str:
    """The name of a parameter on the page: plain words, then its symbol."""
    return f"{plain_label(parameter)} ({parameter.symbol or parameter.name})"


def plain_label(parameter: Parameter) -> str:
    """The name of a parameter where nobody sets it: words alone."""
    return parameter.label or parameter.name.replace("_", " ").capitalize()


def plain_value(parameter: Parameter, value: str) -> str:
    """A value in words: shares in percent, names with commas, lists of names from strict to lax."""
    if parameter.counts and parameter.counts.kind == "share" and _is_number(value):
        return percent(value)
    if isinstance(parameter, Profiles):
        return "; else ".join(way.replace("+", ", ") or "nothing" for way in value.split("|"))
    return value.replace("+", ", ") if parameter.kind == "names" else value


def legal(parameter: Parameter) -> str:
    """The legal values of a parameter, in words."""
    text = {
        "decimal": "a number",
        "whole": "a whole number",
        "truth": "yes or no",
        "names": "names joined by +",
        "text": "text",
    }.get(parameter.kind, "")
    if parameter.low is not None and parameter.high is not None:
        text += f" from {parameter.low} to {parameter.high}"
    elif parameter.low is not None:
        text += f" of at least {parameter.low}"
    if parameter.choices:
        text = f"{text}, or {' or '.join(parameter.choices)}" if text else f"one of {', '.join(parameter.choices)}"
    default_text = "must be given" if parameter.default is None else f"usually {parameter.default or 'none'}"
    return f"{text}; {default_text}"


# -- the plan's grid -------------------------------------------------------------------------------------------------


def chosen(plan: Plan) -> tuple[MechanismPlan, ...]:
    """The plan's mechanisms, the random swap written out."""
    return plan.mechanisms or (MechanismPlan(RANDOM_SWAP),)


def values_text(parameter: Parameter, values: Sequence[str]) -> str:
    """Values of a grid as a person edits them."""
    return ("\n" if parameter.kind == "text" else ", ").join(values)


def values_from(parameter: Parameter, text: str) -> tuple[str, ...]:
    """The values in a text; none where it is empty."""
    values = text.splitlines() if parameter.kind == "text" else text.replace(";", ",").split(",")
    return tuple(dict.fromkeys(value.strip() for value in values if value.strip()))


def grid_of(method: Mechanism, inputs: Mapping[str, Sequence[str]], before: MechanismPlan | None) -> MechanismPlan:
    """The grid by the inputs; ``before`` itself when they say the same. Every value is checked in the engine's
    words."""
    planned = dict(before.grid) if before else {}
    grid: dict[str, tuple[str, ...]] = {}
    for parameter in method.parameters:
        values = tuple(inputs.get(parameter.name, ()))
        if not values:
            if parameter.default is None:
                raise UsageError(
                    f"mechanism '{method.name}' needs the parameter '{parameter.name}': {parameter.meaning}"
                )
            continue
        canonical = [parameter.canonical(value) for value in values]
        usual = parameter.default if parameter.default is None else parameter.canonical(parameter.default)
        if parameter.name not in planned and canonical == [usual]:
            continue
        grid[parameter.name] = (
            planned[parameter.name] if list(planned.get(parameter.name, ())) == list(values) else values
        )
    order = [name for name in planned if name in grid] + [name for name in grid if name not in planned]
    return MechanismPlan(method.name, tuple((name, grid[name]) for name in order))


def merged(plan: Plan, entries: Sequence[MechanismPlan]) -> tuple[MechanismPlan, ...]:
    """The plan's mechanisms for these entries: nothing where the random swap is alone and the plan says nothing."""
    if not entries:
        raise UsageError("no mechanism is chosen; choose at least one")
    if tuple(entries) == (MechanismPlan(RANDOM_SWAP),) and not plan.mechanisms:
        return ()
    return tuple(entries)


def counts(specs: Iterable[ReleaseSpec]) -> dict[str, int]:
    """Scenarios by mechanism, in order of appearance."""
    return dict(Counter(spec.mechanism for spec in specs))


def grown(old: Plan, new: Plan) -> bool:
    """Return whether every mechanism of ``old`` is still there, with at least the values it had."""

    def within(declared: MechanismPlan) -> bool:
        return any(
            candidate.name == declared.name
            and [name for name, _ in candidate.grid] == [name for name, _ in declared.grid]
            and all(set(values) <= set(dict(candidate.grid)[name]) for name, values in declared.grid)
            for candidate in chosen(new)
        )

    return all(within(declared) for declared in chosen(old))


def entry_words(declared: MechanismPlan) -> str:
    """A declared mechanism in words."""
    if declared.name not in names():
        return declared.name
    known = {parameter.name: parameter for parameter in mechanism(declared.name).parameters}
    grid = "; ".join(
        f"{lower_first(plain_label(known[name]))}: {' or '.join(plain_value(known[name], value) for value in values)}"
        if name in known
        else f"{name} {' or '.join(values)}"
        for name, values in declared.grid
    )
    return f"{title(declared.name)}: {grid}" if grid else title(declared.name)


# -- what runs had to say --------------------------------------------------------------------------------------------

_WORDS = {
    "sensitive": "sensitive are",
    "sensitive_cells": "sensitive key cells",
    "sensitive_records": "records in sensitive key cells",
    "variables": "variables of the model",
    "normal_skewness_p": "p-value of normal skewness, numeric variables within key cells",
    "normal_kurtosis_p": "p-value of normal kurtosis, numeric variables within key cells",
    "common_covariance_p": "p-value of one covariance for all key cells",
    "swaps_per_table": "swaps per table",
    "sensitive_changed_share": "share of sensitive records whose key changed",
    "imputed_records": "records whose key was imputed",
    "imputed_share": "share of records whose key was imputed",
    "cells": "key cells that took part",
    "donor_cells": "nonsensitive key cells that took part",
    "model_set": "the model was fitted on (M: imputed records, C: all of their cells)",
    "model_records": "records the model was fitted on",
    "changed_share_of_imputed": "share of imputed keys that changed",
    "pairs": "pairs that exchanged keys",
    "touched_share": "share of records that took part",
    "altered_share_of_those_who_took_part": "altered share of the records that took part, first run",
    "pairs_within_a_cell": "pairs within one key cell, which change nothing",
    "initiators": "records that began a swap",
    "without_partner": "records left without a partner",
    "without_partner_by_rules": "of them because edit rules refuse all that are left",
    "without_partner_too_far": "of them because all that are left lie too far apart",
    "without_partner_not_similar": "of them because all that are left agree on too little",
    "partners_turned_down_by_rules": "partners turned down by edit rules",
    "partners_turned_down_too_far": "partners turned down as too far apart",
    "partners_turned_down_not_similar": "partners turned down as not similar",
    "pairs_refused_by_rules": "pairs refused by edit rules",
    "without_donor_by_rules": "households without a donor because of edit rules",
    "categories": "categories that were perturbed",
    "smallest_categories": "records in the smallest category",
    "expected_moves": "records expected to move",
    "sd_of_moves": "standard deviation of the records that move",
    "margin_drift": "largest expected change of a count",
    "moves": "records that moved",
    "changed_share": "share of records whose value changed",
    "n_swap": "records moved in each direction of a pair of strata",
    "records_moved": "records that moved to another stratum",
    "largest_share_of_a_stratum": "largest share of a stratum that moved",
    "mean_propensity": "mean propensity of all records",
    "mean_propensity_of_moved": "mean propensity of the records that moved",
    "columns": "columns with noise",
    "c": "variance of the noise over that of the column",
}


def diagnostics(notes: Sequence[Note]) -> tuple[list[str], list[tuple[str, str]]]:
    """Warnings, and what the mechanism counted: its words and the mean over runs (or the words of the runs)."""
    found = mean_diagnostics(notes)
    warnings = found.pop("warning", ())
    rows = []
    for name, value in found.items():
        if isinstance(value, tuple):
            text = "; ".join(value)
        elif name.endswith("_p") and value < 0.001:
            text = "< 0.001"
        else:
            text = f"{value:,.0f}" if abs(value) >= 1000 or value == round(value) else f"{value:.3g}"
        rows.append((_WORDS.get(name, name.replace("_", " ")), text))
    return list(warnings) if isinstance(warnings, tuple) else [], rows


def figure_notes(notes: Sequence[Note]) -> dict[int, list[str]]:
    """By column of the measure what it said of the runs, the commonest first, with how often where it varies."""
    by_measure: dict[int, list[str]] = {}
    for note in notes:
        if note.kind is NoteKind.FIGURE and note.measure is not None:
            by_measure.setdefault(note.measure, []).append(note.text)
    summaries = {}
    for measure, texts in by_measure.items():
        if len(set(texts)) == 1:
            summaries[measure] = [texts[0]]
            continue
        heads = Counter(text.partition(":")[0] for text in texts)
        details = {head: [t.partition(":")[2].strip() for t in texts if t.partition(":")[0] == head] for head in heads}
        summaries[measure] = [
            f"{head} in {n} of {len(texts)} runs" + (f" ({details[head][0]} in the first)" if details[head][0] else "")
            for head, n in heads.most_common(3)
        ]
    return summaries
