"""Count the specs of a release space without enumerating them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from engine.data.table import ContingencyTable
from engine.release.space import Merging, outside_roles


def n_specs(
    table: ContingencyTable,
    swap: Sequence[str],
    fix: Sequence[str] = (),
    change: Sequence[str] = (),
    rule: str = "strict",
    merging: Merging = "complements",
) -> int:
    """The number of distinct specs of the complete space that can work on a table: as many as
    ``build(complete(...), merging=merging)`` keeps, by products over the attributes.

    With every role open to every attribute, all of several levels, this is N(d) = 4^d - (3/2) 3^d - d 2^(d-1) + d +
    1/2 under the strict rule.
    """
    names = table.domain.names
    outside = outside_roles(names, fix, change)
    wide = [size >= 2 for size in table.levels_in_use]
    # pairs can never differ on an attribute with one level in use
    able = set(swap)
    choices = [
        set(outside.get(name, "SFCU" if name in able else "FCU")) - (set() if wide[j] else {"S", "C"})
        for j, name in enumerate(names)
    ]
    if rule != "strict":
        return _product(choices, "SFCU") - _product(choices, "FCU") - _product(choices, "S")
    # a pair has to be able to differ on some attribute that is not swapped: C, or U with several levels
    equal = ["SF" if is_wide else "SFU" for is_wide in wide]
    fixed = ["F" if is_wide else "FU" for is_wide in wide]
    feasible = (
        _product(choices, "SFCU") - _product(choices, "FCU") - _product(choices, equal) + _product(choices, fixed)
    )
    if merging == "none" or table.domain.refusing:
        return feasible
    return feasible - _merged(table, choices, wide, merging)


def _merged(table: ContingencyTable, choices: list[set[str]], wide: list[bool], merging: Merging) -> int:
    """Specs that are the same release as another one, beyond the first of each class.

    A spec without C and with a single U equals the one in which that U is C.  A spec without U equals the one in which
    S and C trade places, where such complements are merged.  Both only where may_merge allows: F on exact attributes,
    S, C and U on those of one kind.
    """
    attributes = table.domain.attributes
    may = [
        {role for role in roles if (attribute.exact if role == "F" else attribute.one_kind)}
        for roles, attribute in zip(choices, attributes, strict=True)
    ]
    as_c = 0
    for j, roles in enumerate(may):
        if wide[j] and {"U", "C"} <= roles:
            others = may[:j] + may[j + 1 :]
            as_c += _product(others, "SF") - _product(others, "F")
    if merging != "complements":
        return as_c
    both = [roles if {"S", "C"} <= roles else roles - {"S", "C"} for roles in may]
    trading = _product(both, "SCF") - 2 * _product(both, "SF") + _product(both, "F")
    return as_c + trading // 2


def _product(choices: Iterable[set[str]], allowed: str | Sequence[str]) -> int:
    """The number of ways to give every attribute a role that it may have and that is ``allowed`` (one text for all, or
    one each)."""
    choices = list(choices)
    each = [allowed] * len(choices) if isinstance(allowed, str) else allowed
    return prod(len(roles & set(roles_allowed)) for roles, roles_allowed in zip(choices, each, strict=True))
