"""The ways in which a plan tries the random swap, and the specs for which none of them can make a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from engine.common.errors import UsageError
from engine.data.table import ContingencyTable
from engine.mechanisms import mechanism
from engine.mechanisms.random_swap import prepare_restricted
from engine.plan import Plan
from engine.release.selection import UNIFORM, selection_of, steps_of
from engine.release.space import Impossibility, ImpossibilityKind, Space
from engine.release.spec import AttributeSpec, ReleaseSpec, structure_of

Way = tuple[tuple[str, str], ...]
"""The parameters of a random swap that differ from the swap as published, as canonical texts; empty for that."""
MOST_LOOKED_AT = 2_000
"""For up to so many specs and ways it is looked whether any two records may be exchanged."""


def swap_ways(plan: Plan) -> list[Way]:
    """The ways in which the plan tries the random swap, in its order; equal ones once."""
    declared = [entry for entry in plan.mechanisms if entry.by_roles]
    ways: list[Way] = [] if declared else [()]
    for entry in declared:
        made = mechanism(entry.name)
        known = {parameter.name for parameter in made.parameters}
        for name, _ in entry.grid:
            if name not in known:
                raise UsageError(
                    f"mechanism '{entry.name}' has no parameter '{name}'; its specs and rates stand in [space]"
                )
        names = [name for name, _ in entry.grid]
        for values in product(*(values for _, values in entry.grid)):
            ways.append(_way(dict(made.canonical(dict(zip(names, values, strict=True)))), plan))
    return list(dict.fromkeys(ways))


def per_spec(plan: Plan) -> int:
    """The number of scenarios of the random swap that each spec has: one for each rate and way."""
    return len(plan.space.rates) * len(swap_ways(plan))


def _way(texts: dict[str, str], plan: Plan) -> Way:
    """The differences from the published swap, with attributes in the order of the plan."""
    if texts["lean"] == UNIFORM:
        texts["lean"] = texts["risk"] = ""
    else:
        risk = texts["risk"] or "+".join(plan.keys)
        if not texts["risk"] and any("+" in name for name in plan.keys):
            raise UsageError("lean counts keys, but the name of a key holds a +; give that attribute another name")
        texts["risk"] = risk
    if texts["similarity"] == "0":
        texts["similarity"] = ""
    way = tuple((name, text) for name, text in texts.items() if text)
    selection_of(way, plan.names)  # refuses unknown names and contradictions
    ordered = dict(way)
    for name in ("risk", "similar"):
        if name in ordered:
            ordered[name] = "+".join(sorted(set(ordered[name].split("+")), key=plan.names.index))
    if "near" in ordered:
        steps = sorted(steps_of(ordered["near"]), key=lambda step: plan.names.index(step[0]))
        ordered["near"] = "+".join(f"{name}:{most}" for name, most in steps)
    return tuple(ordered.items())


def obstacle(spec: ReleaseSpec, table: ContingencyTable, looked_at: dict[object, str]) -> str:
    """The obstacle that keeps every two records from exchanging in a scenario, in words; empty where some may or where
    only roles are asked. ``looked_at`` remembers structures."""
    structure = structure_of(spec, table)
    if structure.is_published:
        return ""
    if structure not in looked_at:
        looked_at[structure] = prepare_restricted(structure, table).obstacle()
    return looked_at[structure]


def obstacle_in_all(
    spec: AttributeSpec, rule: str, ways: Sequence[Way], table: ContingencyTable, looked_at: dict[object, str]
) -> str:
    """The obstacle that keeps every two records from exchanging whatever the way, in words (those of the first); empty
    where some may in some way."""
    words = [obstacle(ReleaseSpec(spec, "0", rule, params=way), table, looked_at) for way in ways]
    return words[0] if all(words) else ""


def too_many_to_look_at(n_specs: int, ways: Sequence[Way]) -> bool:
    """Return whether so many specs, each tried in these ways, are not looked at before a sweep: one that can make no
    pair fails at its first run, whose note says why."""
    return n_specs * len(ways) > MOST_LOOKED_AT


def without_impossible(space: Space, rule: str, ways: Sequence[Way], table: ContingencyTable) -> Space:
    """A space without the specs that cannot make a pair in any of the ways, which become impossible ones."""
    only_roles = tuple(ways) == ((),) and not table.domain.ruled
    if only_roles or too_many_to_look_at(len(space.specs), ways):
        return space
    looked_at: dict[object, str] = {}
    refused = []
    works = np.ones(len(space.specs), bool)
    for i, spec in enumerate(space.specs):
        if words := obstacle_in_all(spec, rule, ways, table, looked_at):
            refused.append((spec, Impossibility(ImpossibilityKind.ALL_PAIRS_REFUSED, words)))
            works[i] = False
    return replace(space, specs=space.specs.take(works), impossible=space.impossible.with_more(refused))
