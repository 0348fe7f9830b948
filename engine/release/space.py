"""Release spaces: enumeration and counts of specs, merging of equal ones, specs that are impossible.

Counts follow the enumeration of all 4**d role strings (closed forms in :func:`counts`).  Two specs are the same release
when their feasible pairs and the exchanged sets coincide; complementing S is *not* generally the same once U attributes
exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, combinations
from math import comb, prod
from typing import Literal

import numpy as np

from engine.common.errors import Remedy, UsageError, did_you_mean
from engine.common.wording import in_digits
from engine.data.domain import Domain
from engine.data.table import ContingencyTable
from engine.release.spec import AttributeSpec, Structure
from engine.release.specs import C, F, PairedSpecs, ReleaseSpecs, S, Specs, U, as_numbers, blocks, first_equal, n_words

MOST_SPECS = 2_000_000
"""A space larger than this is refused rather than enumerated."""
MOST_ROLES = 1_000_000_000
"""And so is one whose specs have more roles than this in all; each takes a byte of memory."""
Merging = Literal["complements", "same", "none"]
"""Which specs are one candidate: also complements of one another, those of the same exchange, none."""
_TRADED = np.arange(128, dtype=np.uint8)
_TRADED[[S, C]] = C, S
_CHUNK = 50_000  # choices of attributes listed at once


class ImpossibilityKind(StrEnum):
    """A reason why a spec can never make a swap."""

    NOTHING_SWAPPED = "no attribute is swapped"
    ALL_SWAPPED = "every attribute is swapped"
    ALL_OTHERS_FIXED = "all other attributes are fixed"
    ONE_CATEGORY = "an attribute has one category"
    ALL_OTHERS_ONE_CATEGORY = "all other attributes that may differ have one category"
    ALL_PAIRS_REFUSED = "all pairs are refused"
    ALL_OTHERS_EQUAL = "partners are equal in all that they do not exchange"


@dataclass(frozen=True)
class Impossibility:
    """The reason why a spec can never make a swap; ``attribute`` is the one with a single category, or says in words
    why all pairs are refused, else it is empty."""

    kind: ImpossibilityKind
    attribute: str = ""


_OF_ROLES = (
    ImpossibilityKind.NOTHING_SWAPPED,
    ImpossibilityKind.ALL_SWAPPED,
    ImpossibilityKind.ALL_OTHERS_FIXED,
)
_IMPOSSIBILITIES = {
    ImpossibilityKind.NOTHING_SWAPPED: "no attribute is marked S: nothing would be swapped",
    ImpossibilityKind.ALL_SWAPPED: "every attribute is swapped; exchanging whole records changes nothing",
    ImpossibilityKind.ALL_OTHERS_FIXED: "no unswapped attribute may differ (all are F), so no true swap exists",
    ImpossibilityKind.ONE_CATEGORY: "attribute '{attribute}' has one category; pairs can never differ on it",
    ImpossibilityKind.ALL_OTHERS_ONE_CATEGORY: "no unswapped attribute that may differ has more than one category, so "
    "no true swap exists",
    ImpossibilityKind.ALL_PAIRS_REFUSED: "any two records that could be exchanged {attribute}",
    ImpossibilityKind.ALL_OTHERS_EQUAL: "partners are equal in all that is released but what they exchange, so every "
    "release is the original",
}


@dataclass(frozen=True)
class Space:
    """An enumerated space: ``specs`` to run, and what became of the others.

    ``legal`` counts specs with at least one S and one non-S attribute, ``feasible`` those of them in which some
    unswapped attribute may differ; ``merged`` pairs each skipped spec with its equivalent; ``impossible`` pairs a spec
    with the reason why no pair of these records can satisfy it.
    """

    specs: Specs
    legal: int
    feasible: int
    merged: PairedSpecs[AttributeSpec]
    impossible: PairedSpecs[Impossibility]

    @property
    def distinct(self) -> int:
        """The number of specs to run."""
        return len(self.specs)

    @property
    def n_merged(self) -> int:
        """The number of specs merged into another one."""
        return len(self.merged)

    @property
    def n_impossible(self) -> int:
        """The number of specs that no pair of these records can satisfy."""
        return len(self.impossible)

    def even_part(self, n: int) -> Specs:
        """At most ``n`` of the specs to run, spread evenly over them."""
        return self.specs[:: max(1, -(-self.distinct // n))]


def counts(d: int) -> tuple[int, int, int]:
    """``(legal, feasible, distinct)`` numbers of specs over ``d`` attributes under the strict rule.

    legal 4^d - 3^d - 1; feasible 4^d - 3^d - 2^d + 1; distinct N(d) = 4^d - (3/2) 3^d - d 2^(d-1) + d + 1/2.
    """
    if d < 2:
        return 0, 0, 0
    feasible = 4**d - 3**d - 2**d + 1
    merged = d * (2 ** (d - 1) - 1) + (3**d - 2 ** (d + 1) + 1) // 2
    return 4**d - 3**d - 1, feasible, feasible - merged


def by_swap_sizes(
    names: Sequence[str], swap: Sequence[str], sizes: Iterable[int], fix: Sequence[str] = (), change: Sequence[str] = ()
) -> Specs:
    """Every choice of the given numbers of S attributes among ``swap``; the others are U, or F and C where fixed from
    outside."""
    outside = outside_roles(names, fix, change)
    wanted = set(swap)
    able = [j for j, name in enumerate(names) if name in wanted and name not in outside]
    unswapped = "".join(outside.get(name, "U") for name in names)
    sizes = tuple(sizes)
    for size in sizes:
        if size < 1 or size > len(able):
            raise UsageError(
                f"swap size == {size}, must be between 1 and {len(able)}, the number of attributes that may be swapped."
            )
    check_listable(len(able), sizes, len(names))
    n_specs = [comb(len(able), size) for size in sizes]
    roles = np.tile(_codes(unswapped), (sum(n_specs), 1))
    at = 0
    for size, n in zip(sizes, n_specs, strict=True):
        chosen = chain.from_iterable(combinations(able, size))
        for end in [*range(at + _CHUNK, at + n, _CHUNK), at + n]:
            places = np.fromiter(chosen, np.int64, (end - at) * size).reshape(-1, size)
            roles[np.arange(at, end)[:, None], places] = S
            at = end
    return Specs(names, roles)


def can_list(n_specs: int, n_attributes: int) -> bool:
    """Return whether so many specs of so many attributes can be listed one by one."""
    return n_specs <= MOST_SPECS and n_specs * n_attributes <= MOST_ROLES


def check_listable(n_able: int, sizes: Sequence[int], n_attributes: int) -> None:
    """Refuse choices of so many among ``n_able`` attributes that are too many to be listed."""
    many = sum(comb(n_able, size) for size in sizes)
    if not can_list(many, n_attributes):
        raise UsageError(
            f"there are {in_digits(many)} ways to swap {' or '.join(map(str, sizes))} of {n_able:,} attributes, too "
            "many to try them all; let fewer attributes be swapped, or search for the best",
            Remedy.FEWER_SWAPS,
        )


def complete(names: Sequence[str], swap: Sequence[str], fix: Sequence[str] = (), change: Sequence[str] = ()) -> Specs:
    """Every role string with at least one S; attributes outside ``swap`` are never S, those fixed from outside keep F
    or C."""
    outside = outside_roles(names, fix, change)
    able = set(swap)
    choices = [outside.get(name, "SFCU" if name in able else "FCU") for name in names]
    size = prod(map(len, choices))
    if size > MOST_SPECS:
        raise UsageError(
            f"the complete space over {len(names)} attributes has {in_digits(size)} role strings, at most "
            f"{MOST_SPECS:,} can be enumerated; search it, give some attributes one role, let fewer be swapped, or "
            "choose swap sizes",
            Remedy.SMALLER_SPACE,
        )
    # role strings are numbers whose digits are the choices of each attribute, the last attribute's the lowest
    place_values = [prod(map(len, choices[j + 1 :])) for j in range(len(choices))]
    number = np.arange(size)
    swaps = np.zeros(size, bool)
    for digits, value in zip(choices, place_values, strict=True):
        if "S" in digits:
            swaps |= number // value % len(digits) == digits.index("S")
    number = number[swaps]
    roles = np.empty((len(number), len(names)), np.uint8)
    for j, (digits, value) in enumerate(zip(choices, place_values, strict=True)):
        roles[:, j] = _codes(digits)[number // value % len(digits)]
    return Specs(names, roles)


def _codes(roles: str) -> np.ndarray:
    return np.frombuffer(roles.encode("ascii"), np.uint8)


def outside_roles(names: Sequence[str], fix: Sequence[str], change: Sequence[str]) -> dict[str, str]:
    """Roles given from outside; a name may have one only."""
    roles: dict[str, str] = {}
    known = set(names)
    for name, role in [*((n, "F") for n in fix), *((n, "C") for n in change)]:
        if name not in known:
            raise UsageError(f"unknown attribute '{name}'.{did_you_mean(name, names)}")
        if roles.setdefault(name, role) != role:
            raise UsageError(f"attribute '{name}' is both fixed (F) and changed (C); choose one")
    return roles


def impossibility(spec: AttributeSpec, table: ContingencyTable | None, rule: str) -> Impossibility | None:
    """The reason why a spec can never make a swap, or None. Without a table only the roles are looked at."""
    roles = spec.roles
    if "S" not in roles:
        return Impossibility(ImpossibilityKind.NOTHING_SWAPPED)
    if roles.count("S") == len(roles):
        return Impossibility(ImpossibilityKind.ALL_SWAPPED)
    if rule == "strict" and "C" not in roles and "U" not in roles:
        return Impossibility(ImpossibilityKind.ALL_OTHERS_FIXED)
    if table is not None:
        narrow = [j for j, size in enumerate(table.levels_in_use) if size < 2]
        return _impossibility_of_levels(spec, narrow, rule)
    return None


def _impossibility_of_levels(spec: AttributeSpec, narrow: Sequence[int], rule: str) -> Impossibility | None:
    """The reason why a spec whose roles are possible cannot work where the ``narrow`` attributes have one category
    each."""
    roles = spec.roles
    for j in narrow:
        if roles[j] in "SC":
            return Impossibility(ImpossibilityKind.ONE_CATEGORY, spec.names[j])
    if rule == "strict" and roles.count("C") + roles.count("U") == sum(roles[j] == "U" for j in narrow):
        return Impossibility(ImpossibilityKind.ALL_OTHERS_ONE_CATEGORY)
    return None


def impossibility_text(reason: Impossibility) -> str:
    """The reason why a spec can never make a swap, for the analyst."""
    return _IMPOSSIBILITIES[reason.kind].format(attribute=reason.attribute)


def canonical(spec: AttributeSpec, merging: Merging = "complements") -> AttributeSpec:
    """The representative of the specs that are merged with one under the strict rule.

    A single U without any C must differ, so it is C; with no U, S and C of complements trade places, and the one with
    the first attribute is S.
    """
    if merging == "none":
        return spec
    roles = spec.roles
    if "C" not in roles and roles.count("U") == 1:
        roles = roles.replace("U", "C")
    if merging == "complements" and "U" not in roles and roles.find("C") != -1 and roles.find("C") < roles.find("S"):
        roles = roles.translate(str.maketrans("SC", "CS"))
    return AttributeSpec(spec.names, roles)


def may_merge(spec: AttributeSpec, domain: Domain, rule: str) -> bool:
    """Return whether a spec may be merged with others of its class.

    Not under the loose rule; not when edit rules refuse pairs; not when equality on an F attribute leaves its raw
    values free to differ; not when several kinds of level occur among the attributes that are not F.
    """
    return (
        rule == "strict"
        and not domain.refusing
        and all(
            attribute.exact if role == "F" else attribute.one_kind
            for attribute, role in zip(domain.attributes, spec.roles, strict=True)
        )
    )


def build(
    specs: Iterable[AttributeSpec], table: ContingencyTable, rule: str = "strict", merging: Merging = "complements"
) -> Space:
    """Sort specs into those to run, those merged into an earlier one, and those that can never work on this table.

    ``merging`` says which specs are merged: of the "same" exchange written twice; of "complements" too, in which S
    and C trade places and the released records are the same; "none" where something stays with its record (carried
    columns, weights, ids).  Where edit rules refuse pairs none are.
    """
    every = Specs.of(specs, table.domain.names)
    narrow = [j for j, size in enumerate(table.levels_in_use) if size < 2]
    reasons = [Impossibility(kind) for kind in _OF_ROLES] + [Impossibility(ImpossibilityKind.ALL_OTHERS_ONE_CATEGORY)]
    reasons += [Impossibility(ImpossibilityKind.ONE_CATEGORY, every.names[j]) for j in narrow]
    reason_of = np.empty(len(every), np.int32)  # by place in reasons, -1 for none
    numbers = np.empty((len(every), n_words(len(every.names))), np.int64)
    legal = feasible = 0
    for part in blocks(every.roles):
        roles = every.roles[part]
        reason_of[part], of_levels = _reasons(roles, narrow, rule)
        swapped = (roles == S).sum(axis=1)
        legal += int(((swapped > 0) & (swapped < roles.shape[1])).sum())
        feasible += int(((reason_of[part] < 0) | of_levels).sum())
        numbers[part] = as_numbers(_merging(roles, table.domain, rule, merging))
    possible = np.flatnonzero(reason_of < 0)
    first = possible[first_equal(numbers[possible])]
    is_first = first == possible
    again, earlier = possible[~is_first], first[~is_first]
    differs = (every.roles[again] != every.roles[earlier]).any(axis=1)  # the same spec twice is one
    impossible = np.flatnonzero(reason_of >= 0)
    return Space(
        every.take(possible[is_first]),
        legal,
        feasible,
        PairedSpecs(every.take(again[differs]), every.take(earlier[differs])),
        PairedSpecs(every.take(impossible), [reasons[i] for i in reason_of[impossible].tolist()]),
    )


def _reasons(roles: np.ndarray, narrow: Sequence[int], rule: str) -> tuple[np.ndarray, np.ndarray]:
    """The :func:`impossibility` of each spec as a place in the list of reasons (-1: none), and a mask of the specs that
    only the levels in use make impossible."""
    swapped, free = (roles == S).sum(axis=1), ((roles == C) | (roles == U)).sum(axis=1)
    of_roles = [swapped == 0, swapped == roles.shape[1], (free == 0) & (rule == "strict")]
    by_levels = [(roles[:, j] == S) | (roles[:, j] == C) for j in narrow]
    if narrow and rule == "strict":
        by_levels.append(free == (roles[:, narrow] == U).sum(axis=1))
    n = len(of_roles)
    places = [*range(n), *range(n + 1, n + 1 + len(narrow)), n]
    conditions = of_roles + by_levels
    reason_of = np.select(conditions, places[: len(conditions)], -1)
    return reason_of, reason_of >= n


def _merging(roles: np.ndarray, domain: Domain, rule: str, merging: Merging) -> np.ndarray:
    """The roles, but of those that :func:`may_merge` the :func:`canonical` ones."""
    if rule != "strict" or merging == "none" or domain.refusing:
        return roles
    exact = np.array([attribute.exact for attribute in domain.attributes])
    one_kind = np.array([attribute.one_kind for attribute in domain.attributes])
    fits = np.where(roles == F, exact, one_kind).all(axis=1)
    n_free, has_change = (roles == U).sum(axis=1), (roles == C).any(axis=1)
    fits &= (n_free == 0) | ((n_free == 1) & ~has_change)  # all others equal themselves alone
    result = roles.copy()
    own = roles[fits]
    own[own == U] = C
    if merging == "complements":
        trade = (own == C).argmax(axis=1) < (own == S).argmax(axis=1)
        trade &= (own == C).any(axis=1)
        own[trade] = _TRADED[own[trade]]
    result[fits] = own
    return result


@dataclass(frozen=True)
class EqualPartners:
    """Specs of the loose rule whose partners are equal in all that is released but what they exchange, in every way.

    Masks of the attributes that are ``exact`` (equal levels are equal values) and ``narrow`` (one level in use); for
    each of the ``ways`` a mask of the attributes that are compared, and on how many of them partners agree at least.
    """

    exact: np.ndarray
    narrow: np.ndarray
    ways: tuple[tuple[np.ndarray, int], ...]

    def among(self, roles: np.ndarray) -> np.ndarray:
        """Mask of such specs, by their roles."""
        swapped, free = roles == S, roles == U
        equal = swapped | (((roles == F) | (free & self.narrow)) & self.exact)
        found = np.ones(len(roles), bool)
        for similar, similarity in self.ways:
            agree = (similar & ~swapped).sum(axis=1) <= similarity
            found &= (equal | (free & similar & self.exact & agree[:, None])).all(axis=1)
        return found

    def count(self, choices: Sequence[Iterable[str]]) -> int:
        """The number of such specs among those that swap some attributes and not all, by the roles that each attribute
        may have."""
        # by how many of the attributes compared in each way are swapped, whether any is, all are, and all must agree
        states = {((0,) * len(self.ways), False, True, False): 1}
        for j, roles in enumerate(choices):
            compared = [bool(similar[j]) for similar, _ in self.ways]
            after: dict[tuple[tuple[int, ...], bool, bool, bool], int] = {}
            for (swapped, some, every, agree), many in states.items():
                for role in roles:
                    if role == "S":
                        state = tuple(map(sum, zip(swapped, compared, strict=True))), True, every, agree
                    elif self.exact[j] and (role == "F" or (role == "U" and self.narrow[j])):
                        state = swapped, some, False, agree
                    elif self.exact[j] and role == "U" and all(compared):
                        state = swapped, some, False, True
                    else:
                        continue
                    after[state] = after.get(state, 0) + many
            states = after
        return sum(
            many
            for (swapped, some, every, agree), many in states.items()
            if some and not every and (not agree or self._agree(swapped))
        )

    def _agree(self, swapped: Sequence[int]) -> bool:
        """Return whether partners agree on all that is compared and not swapped, in every way."""
        return all(
            int(similar.sum()) - n <= similarity for (similar, similarity), n in zip(self.ways, swapped, strict=True)
        )


def pair_bound(structure: Structure, table: ContingencyTable) -> tuple[int, int]:
    """An upper bound on the number of pairs and the place of the attribute that sets it.

    Within each cell of the F attributes every pair holds at most one record of the commonest level of each attribute
    that must differ: ``min over S∪C of min(floor(n/2), n - largest count)``, summed over the F cells.
    """
    _, counts_f, block = table.margin(structure.equal)
    tightest, by = int((counts_f // 2).sum()), -1
    bounds = []
    for j in structure.differ:
        size = table.domain.shape[j]
        joint = np.bincount(block * size + table.cells[:, j], weights=table.counts, minlength=len(counts_f) * size)
        bounds.append(np.minimum(counts_f // 2, counts_f - joint.reshape(-1, size).max(axis=1).astype(np.int64)))
    if bounds:
        total = int(np.min(bounds, axis=0).sum())
        if total < tightest:
            tightest, by = total, structure.differ[int(np.argmin([b.sum() for b in bounds]))]
    return tightest, by


def scenarios(
    specs: Iterable[AttributeSpec],
    rates: Iterable[str],
    rule: str = "strict",
    ways: Sequence[tuple[tuple[str, str], ...]] = ((),),
) -> ReleaseSpecs:
    """All release specs: every spec in every way (parameters of the random swap) at every rate."""
    return ReleaseSpecs.product(specs, rates, rule, ways)


def n_specs(
    table: ContingencyTable,
    swap: Sequence[str],
    fix: Sequence[str] = (),
    change: Sequence[str] = (),
    rule: str = "strict",
    merging: Merging = "complements",
    equal: EqualPartners | None = None,
) -> int:
    """The number of distinct specs of the complete space that can work on a table: as many as
    ``build(complete(...), merging=merging)`` keeps, by products over the attributes, without those of ``equal``
    partners under the loose rule.

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
        void = 0 if equal is None else equal.count(choices)
        return _product(choices, "SFCU") - _product(choices, "FCU") - _product(choices, "S") - void
    # a pair has to be able to differ on some attribute that is not swapped: C, or U with several levels
    alike = ["SF" if is_wide else "SFU" for is_wide in wide]
    fixed = ["F" if is_wide else "FU" for is_wide in wide]
    feasible = (
        _product(choices, "SFCU") - _product(choices, "FCU") - _product(choices, alike) + _product(choices, fixed)
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
