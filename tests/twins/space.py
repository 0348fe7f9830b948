"""Release spaces spec by spec: every role string, every choice of attributes, and what becomes of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

from engine.data.table import ContingencyTable
from engine.release.space import Impossibility, Merging, canonical, impossibility, may_merge, outside_roles
from engine.release.spec import AttributeSpec


def complete(
    names: Sequence[str], swap: Sequence[str], fix: Sequence[str] = (), change: Sequence[str] = ()
) -> Iterator[AttributeSpec]:
    """Every role string with at least one S."""
    outside = outside_roles(names, fix, change)
    choices = [outside.get(name, "SFCU" if name in swap else "FCU") for name in names]
    for roles in product(*choices):
        if "S" in roles:
            yield AttributeSpec(tuple(names), "".join(roles))


def by_swap_sizes(
    names: Sequence[str], swap: Sequence[str], sizes: Iterable[int], fix: Sequence[str] = (), change: Sequence[str] = ()
) -> Iterator[AttributeSpec]:
    """Every choice of so many S attributes."""
    outside = outside_roles(names, fix, change)
    able = [j for j, name in enumerate(names) if name in swap and name not in outside]
    for size in sizes:
        for chosen in combinations(able, size):
            roles = ["S" if j in chosen else outside.get(name, "U") for j, name in enumerate(names)]
            yield AttributeSpec(tuple(names), "".join(roles))


class Built(NamedTuple):
    """Specs to run, numbers of legal and of feasible ones, merged and impossible ones."""

    specs: list[AttributeSpec]
    legal: int
    feasible: int
    merged: list[tuple[AttributeSpec, AttributeSpec]]
    impossible: list[tuple[AttributeSpec, Impossibility]]


def build(specs: Iterable[AttributeSpec], table: ContingencyTable, rule: str, merging: Merging) -> Built:
    """Look at each spec in turn."""
    distinct: list[AttributeSpec] = []
    merged: list[tuple[AttributeSpec, AttributeSpec]] = []
    impossible: list[tuple[AttributeSpec, Impossibility]] = []
    first: dict[str, AttributeSpec] = {}
    legal = feasible = 0
    for spec in specs:
        roles = spec.roles
        legal += 0 < roles.count("S") < len(roles)
        feasible += impossibility(spec, None, rule) is None
        reason = impossibility(spec, table, rule)
        if reason is not None:
            impossible.append((spec, reason))
            continue
        key = roles
        if "U" not in roles or ("C" not in roles and roles.count("U") == 1):  # all others equal themselves alone
            key = canonical(spec, merging).roles if may_merge(spec, table.domain, rule) else "=" + roles
        if key not in first:
            first[key] = spec
            distinct.append(spec)
        elif first[key] != spec:
            merged.append((spec, first[key]))
    return Built(distinct, legal, feasible, merged, impossible)
