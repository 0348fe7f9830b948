"""Very many attribute specs and release specs as matrices of codes; each is made when it is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from engine.common.raw_values import first_places, in_use
from engine.release.spec import DIGEST_BYTES, RANDOM_SWAP, ROLES, AttributeSpec, ReleaseSpec, procedure_text

_T = TypeVar("_T")
S, F, C, U = ROLES.encode("ascii")
"""The codes of the roles."""
_CHUNK = 50_000  # specs whose text is made at once


class Specs(Sequence[AttributeSpec]):
    """Attribute specs over ``names``, as ``roles``: a row for each spec, a column for each name, in each place the
    ASCII code of S, F, C or U (dtype uint8). Neither changes."""

    def __init__(self, names: Sequence[str], roles: np.ndarray) -> None:
        self.names = tuple(names)
        if roles.dtype != np.uint8 or roles.ndim != 2 or roles.shape[1] != len(self.names):
            raise ValueError(
                f"roles are of type {roles.dtype} and shape {roles.shape}, must be of type uint8, with one column for "
                f"each of {len(self.names)} names"
            )
        self.roles = roles.view()
        self.roles.flags.writeable = False

    @classmethod
    def of(cls, specs: Iterable[AttributeSpec], names: Sequence[str] = ()) -> Specs:
        """Return the given specs, all over the same names; ``names`` are those of no spec at all."""
        if isinstance(specs, Specs):
            return specs
        listed = list(specs)
        names = listed[0].names if listed else tuple(names)
        if any(spec.names is not names and spec.names != names for spec in listed):
            raise ValueError("specs are over different names, must all be over the same")
        return cls.of_texts(names, [spec.roles for spec in listed])

    @classmethod
    def of_texts(cls, names: Sequence[str], texts: Sequence[str]) -> Specs:
        """Return the specs with these role strings, such as ``SFU``."""
        codes = np.frombuffer("".join(texts).encode("ascii"), np.uint8)
        return cls(names, codes.reshape(len(texts), len(names)))

    def __len__(self) -> int:
        return len(self.roles)

    @overload
    def __getitem__(self, index: int) -> AttributeSpec: ...

    @overload
    def __getitem__(self, index: slice) -> Specs: ...

    def __getitem__(self, index: int | slice) -> AttributeSpec | Specs:
        if isinstance(index, slice):
            return Specs(self.names, self.roles[index])
        return AttributeSpec(self.names, self.roles[index].tobytes().decode("ascii"))

    def __iter__(self) -> Iterator[AttributeSpec]:
        return (AttributeSpec(self.names, text) for text in self.texts())

    def __contains__(self, spec: object) -> bool:
        if not isinstance(spec, AttributeSpec) or spec.names != self.names:
            return False
        return bool((self.roles == np.frombuffer(spec.roles.encode("ascii"), np.uint8)).all(axis=1).any())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Specs):
            return self.names == other.names and np.array_equal(self.roles, other.roles)
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.names, self.roles.tobytes()))

    def __repr__(self) -> str:
        return f"<{len(self):,} specs over {len(self.names):,} attributes>"

    def texts(self) -> Iterator[str]:
        """Each spec's roles as a string."""
        width = len(self.names)
        for start in range(0, len(self), _CHUNK):
            rows = self.roles[start : start + _CHUNK]
            text = rows.tobytes().decode("ascii")
            yield from (
                [text[at : at + width] for at in range(0, len(rows) * width, width)] if width else [""] * len(rows)
            )

    def take(self, indices: np.ndarray) -> Specs:
        """Return the specs at these indices, or where a mask is true, in that order."""
        return Specs(self.names, self.roles[indices])


@dataclass(frozen=True, eq=False)
class PairedSpecs(Sequence[tuple[AttributeSpec, _T]], Generic[_T]):
    """Specs, each in a pair with what is said of it: a reason, or another spec."""

    specs: Specs
    partners: Sequence[_T]

    def __len__(self) -> int:
        return len(self.specs)

    @overload
    def __getitem__(self, index: int) -> tuple[AttributeSpec, _T]: ...

    @overload
    def __getitem__(self, index: slice) -> PairedSpecs[_T]: ...

    def __getitem__(self, index: int | slice) -> tuple[AttributeSpec, _T] | PairedSpecs[_T]:
        if isinstance(index, slice):
            return PairedSpecs(self.specs[index], self.partners[index])
        return self.specs[index], self.partners[index]

    def __iter__(self) -> Iterator[tuple[AttributeSpec, _T]]:
        return zip(self.specs, self.partners, strict=True)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def with_more(self, pairs: Sequence[tuple[AttributeSpec, _T]]) -> PairedSpecs[_T]:
        """Return these pairs, then more."""
        roles = Specs.of([spec for spec, _ in pairs], self.specs.names).roles
        specs = Specs(self.specs.names, np.concatenate([self.specs.roles, roles]))
        return PairedSpecs(specs, [*self.partners, *(partner for _, partner in pairs)])

    @classmethod
    def of(cls, pairs: Iterable[tuple[AttributeSpec, _T]], names: Sequence[str] = ()) -> PairedSpecs[_T]:
        """Return the given pairs; ``names`` are those of the specs where there are none."""
        listed = list(pairs)
        return cls(Specs.of([spec for spec, _ in listed], names), [partner for _, partner in listed])


_DIGITS = np.zeros(128, np.int64)
_DIGITS[[S, F, C, U]] = range(4)
_ROLES_IN_A_WORD = 31
_BLOCK = 1 << 20  # roles looked at together


def blocks(roles: np.ndarray) -> Iterator[slice]:
    """Parts of so many rows that what is computed of them stays in a processor's cache."""
    step = max(1, _BLOCK // max(1, roles.shape[1]))
    return (slice(start, start + step) for start in range(0, len(roles), step))


def n_words(n_roles: int) -> int:
    """The number of words that :func:`as_numbers` needs for so many roles."""
    return max(1, -(-n_roles // _ROLES_IN_A_WORD))


def as_numbers(roles: np.ndarray) -> np.ndarray:
    """Each row of roles as a number in one or more words, shape ``(rows, words)``: two bits for each role."""
    numbers = np.zeros((len(roles), n_words(roles.shape[1])), np.int64)
    digits = _DIGITS[roles]
    for j in range(roles.shape[1]):
        word = numbers[:, j // _ROLES_IN_A_WORD]
        word <<= 2
        word |= digits[:, j]
    return numbers


def first_equal(numbers: np.ndarray) -> np.ndarray:
    """For each number, as :func:`as_numbers` makes them, the place of the first one that equals it."""
    key = numbers[:, 0]
    for word in numbers.T[1:]:
        key = np.unique(key, return_inverse=True)[1] * len(numbers) + np.unique(word, return_inverse=True)[1]
    return first_places(key)


def first_of_structure(specs: Specs, apart: Sequence[int] = ()) -> np.ndarray:
    """For each spec the place of the first one of the same :class:`~engine.release.spec.Structure`, with which it
    shares its pairs: splits of S∪C are the same, but for whether C is empty, and on the places ``apart``, which are
    those of attributes with several kinds of levels and those that refusing edit rules look at."""
    numbers = np.empty((len(specs), n_words(len(specs.names))), np.int64)
    splits = np.ones(len(specs.names), bool)
    splits[list(apart)] = False
    for part in blocks(specs.roles):
        roles = specs.roles[part]
        joined = (roles == S) & splits & (roles == C).any(axis=1)[:, None]
        numbers[part] = as_numbers(np.where(joined, np.uint8(C), roles))
    return first_equal(numbers)


_TEXT = 2**24  # bytes of canonical texts that are in memory at once


class Procedure(NamedTuple):
    """All of a release spec but its attributes."""

    mechanism: str
    rate: str
    rule: str
    params: tuple[tuple[str, str], ...]

    @property
    def by_roles(self) -> bool:
        """Return whether roles and a rate say what is done, as :attr:`ReleaseSpec.by_roles`."""
        return self.mechanism == RANDOM_SWAP


class ReleaseSpecs(Sequence[ReleaseSpec]):
    """Release specs over the same names, in order: ``spec_codes`` and ``procedure_codes`` say which of ``specs`` and of
    ``procedures`` each consists of (dtype int32).  None of them changes; specs may occur there several times."""

    def __init__(
        self,
        specs: Specs,
        procedures: Sequence[Procedure],
        spec_codes: np.ndarray,
        procedure_codes: np.ndarray,
    ) -> None:
        self.specs, self.procedures = specs, tuple(procedures)  # which copies no tuple
        self.spec_codes, self.procedure_codes = spec_codes, procedure_codes

    @classmethod
    def product(
        cls,
        specs: Iterable[AttributeSpec],
        rates: Iterable[str],
        rule: str = "strict",
        ways: Sequence[tuple[tuple[str, str], ...]] = ((),),
    ) -> ReleaseSpecs:
        """Every spec in every way (parameters of the random swap) at every rate."""
        matrix, rates = Specs.of(specs), list(rates)
        nothing = AttributeSpec(matrix.names, "U" * len(matrix.names))
        procedures = [_parts(ReleaseSpec(nothing, rate, rule, params=way))[1] for way in ways for rate in rates]
        spec_codes = np.repeat(np.arange(len(matrix), dtype=np.int32), len(procedures))
        return cls(matrix, procedures, spec_codes, np.tile(np.arange(len(procedures), dtype=np.int32), len(matrix)))

    @classmethod
    def of(cls, release_specs: Iterable[ReleaseSpec], names: Sequence[str] = ()) -> ReleaseSpecs:
        """Return the given release specs, all over the same names; ``names`` are those of none at all."""
        if isinstance(release_specs, ReleaseSpecs):
            return release_specs
        specs: dict[AttributeSpec, int] = {}
        procedures: dict[Procedure, int] = {}
        codes = []
        for spec, procedure in map(_parts, release_specs):
            codes.append((specs.setdefault(spec, len(specs)), procedures.setdefault(procedure, len(procedures))))
        columns = np.array(codes, np.int32).reshape(-1, 2)
        return cls(Specs.of(specs, names), tuple(procedures), columns[:, 0], columns[:, 1])

    def joined(self, *others: ReleaseSpecs) -> ReleaseSpecs:
        """Return these and then the others, over the same names."""
        parts = [part for part in (self, *others) if len(part)] or [self]
        if any(part.specs.names != parts[0].specs.names for part in parts):
            raise ValueError("release specs are over different names, must all be over the same")
        if all(part.specs is parts[0].specs and part.procedures is parts[0].procedures for part in parts):
            specs, procedures = parts[0].specs, parts[0].procedures
            spec_codes = [part.spec_codes for part in parts]
            procedure_codes = [part.procedure_codes for part in parts]
        else:
            known: dict[Procedure, int] = {}
            spec_codes, procedure_codes, n_specs = [], [], 0
            for part in parts:
                spec_codes.append(part.spec_codes + np.int32(n_specs))
                n_specs += len(part.specs)
                places = [known.setdefault(procedure, len(known)) for procedure in part.procedures]
                procedure_codes.append(np.array(places, np.int32)[part.procedure_codes])
            specs = Specs(parts[0].specs.names, np.concatenate([part.specs.roles for part in parts]))
            procedures = tuple(known)
        return ReleaseSpecs(specs, procedures, np.concatenate(spec_codes), np.concatenate(procedure_codes))

    def first_equal(self) -> np.ndarray:
        """For each the place of the first one that equals it."""
        specs = first_equal(as_numbers(self.specs.roles))
        first: dict[Procedure, int] = {}
        procedures = np.array([first.setdefault(part, code) for code, part in enumerate(self.procedures)], np.int64)
        key = specs[self.spec_codes] * len(procedures) + procedures[self.procedure_codes]
        return first_places(key)

    def parts(self, size: int) -> Iterator[ReleaseSpecs]:
        """Parts of so many, in order, each without the specs and procedures that it does not hold."""
        return (self.take(slice(first, first + size)).compact() for first in range(0, len(self), size))

    def compact(self) -> ReleaseSpecs:
        """The same without specs and procedures that none has."""
        specs, spec_codes = in_use(self.spec_codes, len(self.specs))
        used, procedure_codes = in_use(self.procedure_codes, len(self.procedures))
        procedures = tuple(self.procedures[code] for code in used.tolist())
        return ReleaseSpecs(
            self.specs.take(specs), procedures, spec_codes.astype(np.int32), procedure_codes.astype(np.int32)
        )

    def __len__(self) -> int:
        return len(self.spec_codes)

    @overload
    def __getitem__(self, index: int) -> ReleaseSpec: ...

    @overload
    def __getitem__(self, index: slice) -> ReleaseSpecs: ...

    def __getitem__(self, index: int | slice) -> ReleaseSpec | ReleaseSpecs:
        if isinstance(index, slice):
            return self.take(index)
        return self._made(self.specs[self.spec_codes.item(index)], self.procedure_codes.item(index))

    def __iter__(self) -> Iterator[ReleaseSpec]:
        made: dict[int, AttributeSpec] = {}
        for spec, procedure in zip(self.spec_codes.tolist(), self.procedure_codes.tolist(), strict=True):
            attributes = made.get(spec)
            if attributes is None:
                attributes = made[spec] = self.specs[spec]
            yield self._made(attributes, procedure)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self):,} release specs over {len(self.specs.names):,} attributes>"

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.compact()
        return ReleaseSpecs, (own.specs, own.procedures, own.spec_codes, own.procedure_codes)

    def _made(self, attributes: AttributeSpec, procedure: int) -> ReleaseSpec:
        # all parts were checked when they were added, and checking takes most of the time to make a spec
        spec = object.__new__(ReleaseSpec)
        vars(spec).update(self._fields[procedure], attributes=attributes)
        return spec

    @cached_property
    def _fields(self) -> list[dict[str, Any]]:
        return [procedure._asdict() for procedure in self.procedures]

    def take(self, indices: np.ndarray | slice) -> ReleaseSpecs:
        """Return those at these indices, or where a mask is true, in that order."""
        return ReleaseSpecs(self.specs, self.procedures, self.spec_codes[indices], self.procedure_codes[indices])

    @property
    def by_roles(self) -> np.ndarray:
        """A mask of those that roles and a rate say everything of."""
        of_procedures = np.array([procedure.by_roles for procedure in self.procedures], bool)
        return np.asarray(of_procedures[self.procedure_codes])

    def digests(self) -> np.ndarray:
        """:meth:`ReleaseSpec.digest` of each, a row of ten bytes (uint8), in one pass."""
        names = self.specs.names
        quoted = {name: json.dumps(name) for name in sorted(names)}
        template = ", ".join(f'{text}: "?"' for text in quoted.values())
        template = f"{{{template}}}}}"
        places, at = {}, 1
        for name, text in quoted.items():
            places[name] = at + len(text) + 3
            at += len(text) + 7  # a colon, a role in quotes, a comma, two spaces
        columns = [places[name] for name in names]
        found = bytearray()
        for part in self.parts(max(1, _TEXT // len(template))):
            matrix = np.tile(np.frombuffer(template.encode(), np.uint8), (len(part.specs), 1))
            matrix[:, columns] = part.specs.roles
            rows = matrix.view(f"V{len(template)}").ravel().tolist()
            heads = (f'{procedure_text(*procedure)[:-1]}, "spec": '.encode() for procedure in part.procedures)
            begun = [blake2b(head, digest_size=DIGEST_BYTES).copy for head in heads]
            for procedure, spec in zip(part.procedure_codes.tolist(), part.spec_codes.tolist(), strict=True):
                digest = begun[procedure]()  # a copy takes half the time of a new one
                digest.update(rows[spec])
                found += digest.digest()
        return np.frombuffer(found, np.uint8).reshape(-1, DIGEST_BYTES)


def _parts(spec: ReleaseSpec) -> tuple[AttributeSpec, Procedure]:
    return spec.attributes, Procedure(spec.mechanism, spec.rate, spec.rule, spec.params)
