"""Roles, attribute specs and release specs: the definition of a candidate release.

Gomatam, Karr and Sanil (2005), section 2: a release is parameterised by a swap rate and, per attribute, one of

    S  swapped: exchanged between the two records of a pair, on which they must differ
    F  fixed: not swapped, the pair must be equal
    C  changed: not swapped, the pair must differ
    U  unconstrained: not swapped, free

A random swap may also select records and partners beyond what these roles ask.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.wording import listed
from engine.data.domain import Domain
from engine.data.table import ContingencyTable

UNIFORM = "0"
"""The ``lean`` of the published random swap, which draws all records alike."""
_MOST_DIGITS = 9


@dataclass(frozen=True)
class Selection:
    """The demands of a random swap on a pair beyond the roles.

    Records are drawn with weights ``1/n`` to the power ``lean``, where ``n`` records share the attributes ``risk``.
    ``near`` pairs places of attributes with the most steps between the levels of two partners; partners agree on at
    least ``similarity`` of the attributes ``similar``.
    """

    lean: str = UNIFORM
    risk: tuple[int, ...] = ()
    near: tuple[tuple[int, int], ...] = ()
    similar: tuple[int, ...] = ()
    similarity: int = 0

    def limits(self, names: Sequence[str]) -> list[str]:
        """The demands on two partners beyond the roles, in words after *records that*; ``names`` are the
        attributes'."""
        words = [
            f"lie at most {steps} {'level' if steps == 1 else 'levels'} of {names[j]} apart" for j, steps in self.near
        ]
        if self.similar:
            words.append(f"agree on at least {self.similarity} of {listed([names[j] for j in self.similar])}")
        return words


@lru_cache(maxsize=256)
def selection_of(params: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> Selection:
    """The selection that the parameters of a random swap ask for, over attributes with these names; refuses
    (:class:`UsageError`) unknown names and contradictions."""
    values: Mapping[str, str] = dict(params)
    near = []
    for name, steps in steps_of(values.get("near", "")):
        near.append((_place(name, names, "near"), steps))
    similar = tuple(_place(name, names, "similar") for name in _listed(values.get("similar", "")))
    similarity = int(values.get("similarity", "0"))
    if similar and not 1 <= similarity <= len(similar):
        raise UsageError(
            f"similarity == {similarity}, must be between 1 and {len(similar)}, the number of attributes of similar."
        )
    if similarity and not similar:
        raise UsageError(
            f"similarity == {similarity}, but similar names no attribute; name those on which partners are to agree"
        )
    risk = tuple(_place(name, names, "risk") for name in _listed(values.get("risk", "")))
    return Selection(values.get("lean", UNIFORM), risk, tuple(near), similar, similarity)


def steps_of(text: str) -> tuple[tuple[str, int], ...]:
    """Names with the most steps, from a text such as ``Age:2+Income:1``."""
    pairs = []
    for part in _listed(text):
        name, colon, steps = part.rpartition(":")
        if len(steps.strip()) > _MOST_DIGITS:
            raise UsageError(f"near: '{steps.strip()[:60]}' steps are too many, at most {_MOST_DIGITS} digits are read")
        if not colon or not name.strip() or not steps.strip().isdecimal() or int(steps) < 1:
            raise UsageError(
                f"near: cannot read '{part}'; write NAME:STEPS with at least one step, such as Age:2, joined by +"
            )
        pairs.append((name.strip(), int(steps)))
    return tuple(pairs)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("+") if part.strip())


def _place(name: str, names: tuple[str, ...], entry: str) -> int:
    if name not in names:
        raise UsageError(f"{entry} names the unknown attribute '{name}'.{did_you_mean(name, names)}")
    return names.index(name)


ROLES = "SFCU"
RULES = ("strict", "loose")
RANDOM_SWAP = "random_swap"
_HELD = (("F", "equal"), ("C", "differ"))
MOST_DECIMALS = 28
"""Of a rate: what exact arithmetic holds."""
MOST_REPLICATES = 1_000_000
"""Most runs of a scenario: fresh ones are numbered from there on."""
MOST_SCENARIOS = 1_000_000_000
"""Most scenarios of a study."""
DIGEST_BYTES = 10
"""Length of a scenario's digest."""


@lru_cache(maxsize=256, typed=True)
def rate_text(text: str | float | Decimal) -> str:
    """Canonical decimal text of a swap rate: ``"0.10"`` and ``"0.1"`` are one rate.

    Kept as text so that ``floor(rate * n)`` is exact (``0.29 * 100`` in floats floors to 28).
    """
    try:
        rate = Decimal(str(text).strip())
    except InvalidOperation:
        raise UsageError(f"rate == {text!r}, must be a number between 0 and 1, such as 0.02.") from None
    if (
        rate
        and rate.is_finite()
        and not (-rate.adjusted() <= MOST_DECIMALS and len(rate.as_tuple().digits) <= MOST_DECIMALS)
    ):
        raise UsageError(f"rate has more than {MOST_DECIMALS} decimals, must be a number such as 0.02.")
    if not rate.is_finite() or not 0 <= rate <= 1:
        hint = f" Did you mean {rate / 100:f}?" if rate.is_finite() and 1 < rate <= 100 else ""
        raise UsageError(f"rate == {text}, must be between 0 and 1.{hint}")
    plain = format(rate.normalize(), "f")
    return "0" if Decimal(plain) == 0 else plain


def percent(rate: str) -> str:
    """A rate in words, exactly: ``"0.015"`` is ``"1.5 %"``."""
    return f"{(Decimal(rate) * 100).normalize():f} %"


def pairs_wanted(rate: str, n_units: int) -> tuple[int, int]:
    """``(records to swap, pairs to draw)`` at a rate: floor(rate·n), then the pairs that reach it.

    An odd number of records to swap overshoots by one record, as the paper's loop does.
    """
    to_swap = int(Decimal(rate) * n_units // 1)
    return to_swap, min(-(-to_swap // 2), n_units // 2)


@dataclass(frozen=True)
class AttributeSpec:
    """Roles of all attributes of a domain, as a string of S, F, C, U in domain order.

    The text form names every attribute that is not U: ``"Age:S Race:F"``.
    """

    names: tuple[str, ...]
    roles: str

    def __post_init__(self) -> None:
        if len(self.roles) != len(self.names):
            raise UsageError(
                f"spec has {len(self.roles)} roles for {len(self.names)} attributes; give one of S, F, C, U to each"
            )
        if sum(map(self.roles.count, ROLES)) < len(self.roles):  # quicker than a look at each of hundreds of roles
            name, role = next((n, r) for n, r in zip(self.names, self.roles, strict=True) if r not in ROLES)
            raise UsageError(f"role of '{name}' == '{role}', must be one of S, F, C, U.")

    @classmethod
    def parse(cls, text: str, names: Sequence[str]) -> AttributeSpec:
        """Read the text form; attributes that are not named are U.

        An attribute name may hold spaces or colons: the role is what follows the last colon, and a name is matched
        against the known ones from the longest on.
        """
        roles = dict.fromkeys(names, "U")
        seen: set[str] = set()
        remaining = text.strip()
        while remaining:
            for name in sorted(names, key=len, reverse=True):
                after = remaining[len(name) + 2 :]
                if remaining.startswith(name + ":") and (not after or after[0] in " ,"):
                    break
            else:
                word = remaining.split()[0]
                got, colon, role = word.rpartition(":")
                if not colon or not got:
                    raise UsageError(
                        f"cannot read '{word}' in the spec '{text}'; write NAME:ROLE, such as \"Age:S Race:F\"."
                    )
                if got in names:
                    raise UsageError(f"role of '{got}' == '{role}', must be one of S, F, C, U.")
                raise UsageError(f"unknown attribute '{got}' in the spec '{text}'.{did_you_mean(got, names)}")
            role = remaining[len(name) + 1 : len(name) + 2].upper()
            if role not in ROLES or not role:
                raise UsageError(f"role of '{name}' == '{role}', must be one of S, F, C, U.")
            if name in seen:
                raise UsageError(f"attribute '{name}' is named twice in the spec '{text}'")
            seen.add(name)
            roles[name] = role
            remaining = remaining[len(name) + 2 :].lstrip(" ,")
        return cls(tuple(names), "".join(roles[name] for name in names))

    def __str__(self) -> str:
        return " ".join(f"{name}:{role}" for name, role in zip(self.names, self.roles, strict=True) if role != "U")

    @property
    def short(self) -> str:
        """The attributes swapped, then those held: ``"Age + Race (equal: Sex)"``."""
        swapped = " + ".join(self.names_having("S"))
        held = [f" ({word}: {', '.join(self.names_having(role))})" for role, word in _HELD if role in self.roles]
        return swapped + "".join(held)

    def having(self, role: str) -> tuple[int, ...]:
        """Places of the attributes with a role."""
        if role not in self.roles:
            return ()
        return tuple([j for j, r in enumerate(self.roles) if r == role])

    def names_having(self, role: str) -> tuple[str, ...]:
        """Names of the attributes with a role."""
        return tuple(self.names[j] for j in self.having(role))


@dataclass(frozen=True)
class Structure:
    """The part of a spec that decides which pairs are feasible, and so the key of a stream: all splits of ``differ``
    into S and C share pairs.

    ``differ`` = S∪C, ``equal`` = F, ``free`` = U (places in domain order); ``constrained`` says whether C is non-empty
    (then a true swap is automatic); ``rule`` is strict or loose; ``same_kind`` are the swapped attributes on which the
    two levels must be of one kind, kept only where more than one kind occurs.  ``ruled`` are the swapped attributes
    that a refusing edit rule looks at, ``selection`` what is asked of pairs beyond the roles; both are empty for the
    swap as published.
    """

    differ: tuple[int, ...]
    equal: tuple[int, ...]
    free: tuple[int, ...]
    constrained: bool
    rule: str
    same_kind: tuple[int, ...] = ()
    ruled: tuple[int, ...] = ()
    selection: Selection | None = None

    @classmethod
    def of_roles(
        cls, roles: str, rule: str, multi_kind: Sequence[int], ruled: Sequence[int], selection: Selection | None
    ) -> Structure:
        """Return the structure of a spec with these roles; see :meth:`ReleaseSpec.structure`."""
        places = range(len(roles))
        swapped = [j for j in places if roles[j] == "S"] if multi_kind or ruled else []
        return cls(
            tuple([j for j in places if roles[j] in "SC"]),
            tuple([j for j in places if roles[j] == "F"]),
            tuple([j for j in places if roles[j] == "U"]),
            "C" in roles,
            rule,
            tuple([j for j in swapped if j in multi_kind]),
            tuple([j for j in swapped if j in ruled]),
            selection,
        )

    @property
    def is_published(self) -> bool:
        """Return whether nothing is asked of pairs beyond the roles, and all records are drawn alike."""
        return not self.ruled and self.selection is None

    @property
    def needs_free_difference(self) -> bool:
        """Return whether a pair must also differ on some U attribute (strict rule, no C)."""
        return self.rule == "strict" and not self.constrained

    @property
    def may_trade_rows(self) -> bool:
        """Return whether partners may be alike in all that they do not exchange (loose rule, no C)."""
        return self.rule == "loose" and not self.constrained

    def stream_parts(self, domain: Domain) -> tuple[object, ...]:
        """Parts that identify the structure under a study key: attributes with their levels, then the constraint
        sets."""
        published = (
            domain.stream_part,
            self.differ,
            self.equal,
            self.free,
            self.constrained,
            self.rule,
            self.same_kind,
        )
        if self.is_published:
            return published
        forbidden = tuple(rule.forbid or rule.existing for rule in domain.refusing) if self.ruled else ()
        return (*published, self.ruled, forbidden, self.selection or Selection())


def multi_kind(table: ContingencyTable) -> tuple[int, ...]:
    """Places of the attributes in which more than one kind of level occurs."""
    return tuple(
        j
        for j, attribute in enumerate(table.domain.attributes)
        if not attribute.one_kind and len(np.unique(attribute.kind_codes[table.cells[:, j]])) > 1
    )


def beyond_roles(spec: ReleaseSpec, domain: Domain) -> tuple[str, ...]:
    """The demands of a random swap on pairs beyond the roles, in words; nothing for the swap as published.

    An attack that reckons with the published swap alone says these words.
    """
    structure = spec.structure(ruled=domain.ruled)
    selection = structure.selection or Selection()
    words = []
    if selection.lean != UNIFORM:
        words.append(f"records are drawn by 1/count to the power {selection.lean}")
    if selection.near:
        words.append("partners lie near each other")
    if selection.similar:
        words.append("partners are similar")
    if structure.ruled:
        words.append("edit rules refuse pairs")
    return tuple(words)


def structure_of(spec: ReleaseSpec, table: ContingencyTable) -> Structure:
    """The stream structure of a scenario on a table."""
    return spec.structure(multi_kind(table), table.domain.ruled)


@dataclass(frozen=True)
class ReleaseSpec:
    """One scenario: a mechanism with its parameters.

    For the random swap: attribute spec, rate and rule, and as ``params`` what differs from the swap as published
    (:class:`Selection`).  For another mechanism ``attributes`` marks with S what it may
    change, ``rate`` is empty where it has none, and ``params`` are its parameters as canonical texts, in order.
    """

    attributes: AttributeSpec
    rate: str
    rule: str = "strict"
    mechanism: str = RANDOM_SWAP
    params: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.rate or self.by_roles:
            object.__setattr__(self, "rate", rate_text(self.rate))
        if self.rule not in RULES:
            raise UsageError(f"rule == '{self.rule}', must be strict or loose.")

    @property
    def by_roles(self) -> bool:
        """Return whether roles and a rate say what is done; else the parameters of the mechanism do."""
        return self.mechanism == RANDOM_SWAP

    def canonical(self) -> str:
        """Canonical text: equal for equal scenarios, whatever way they were written."""
        # a large space has hundreds of thousands of scenarios with few ways and few splits each
        procedure = procedure_text(self.mechanism, self.rate, self.rule, self.params)
        return f'{procedure[:-1]}, "spec": {_roles_text(self.attributes)}}}'

    def digest(self) -> str:
        """Hexadecimal digest from which short ids are cut."""
        return hashlib.blake2b(self.canonical().encode(), digest_size=DIGEST_BYTES).hexdigest()

    def structure(self, multi_kind: Sequence[int] = (), ruled: Sequence[int] = ()) -> Structure:
        """The stream structure; ``multi_kind`` are the places of attributes in which more than one kind of level
        occurs, ``ruled`` those that refusing edit rules look at."""
        selection = selection_of(self.params, self.attributes.names) if self.params else None
        return Structure.of_roles(self.attributes.roles, self.rule, multi_kind, ruled, selection)

    @property
    def text(self) -> str:
        """The action without the rate: the attribute spec of a random swap, the parameters of another mechanism."""
        settings = [f"{name}={value}" for name, value in self.params if value]
        return " ".join([str(self.attributes), *settings] if self.by_roles else settings)

    @property
    def short(self) -> str:
        """The action without the rate, for a reader: the attributes swapped, or a mechanism with its parameters."""
        if not self.by_roles:
            return f"{self.mechanism} {self.text}".rstrip()
        return " ".join([self.attributes.short, *(f"{name}={value}" for name, value in self.params if value)])

    def __str__(self) -> str:
        settings = self.text if self.by_roles else f"{self.mechanism} {self.text}".rstrip()
        return f"{settings} at {percent(self.rate)}" if self.rate else settings


@lru_cache(maxsize=1024)
def procedure_text(mechanism: str, rate: str, rule: str, params: tuple[tuple[str, str], ...]) -> str:
    """All of a canonical text but the attribute spec, which is last in the order of names."""
    record: dict[str, object] = {"mech": mechanism, "rate": rate, "rule": rule}
    if params:
        record["params"] = dict(params)
    return json.dumps(record, sort_keys=True)


@lru_cache(maxsize=1024)
def _roles_text(spec: AttributeSpec) -> str:
    return json.dumps(dict(zip(spec.names, spec.roles, strict=True)), sort_keys=True)
