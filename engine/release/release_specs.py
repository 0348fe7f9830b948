"""Many release specs as arrays of codes; each is made when it is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, overload

import numpy as np

from engine.release.spec import DIGEST_BYTES, RANDOM_SWAP, AttributeSpec, ReleaseSpec, procedure_text
from engine.release.specs import Specs

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
    ``procedures`` each consists of (dtype int32). None of them changes."""

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
        if all(part.specs is parts[0].specs and part.procedures is parts[0].procedures for part in parts):
            specs, procedures = parts[0].specs, parts[0].procedures
            spec_codes = [part.spec_codes for part in parts]
            procedure_codes = [part.procedure_codes for part in parts]
        else:
            texts: dict[str, int] = {}
            known: dict[Procedure, int] = {}
            spec_codes, procedure_codes = [], []
            for part in parts:
                places = [texts.setdefault(text, len(texts)) for text in part.specs.texts()]
                spec_codes.append(np.array(places, np.int32)[part.spec_codes])
                places = [known.setdefault(procedure, len(known)) for procedure in part.procedures]
                procedure_codes.append(np.array(places, np.int32)[part.procedure_codes])
            specs, procedures = Specs.of_texts(self.specs.names, list(texts)), tuple(known)
        return ReleaseSpecs(specs, procedures, np.concatenate(spec_codes), np.concatenate(procedure_codes))

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
        # the other specs and procedures are those of other parts
        specs, spec_codes = np.unique(self.spec_codes, return_inverse=True)
        used, procedure_codes = np.unique(self.procedure_codes, return_inverse=True)
        procedures = tuple(self.procedures[code] for code in used.tolist())
        codes = spec_codes.astype(np.int32), procedure_codes.astype(np.int32)
        return ReleaseSpecs, (self.specs.take(specs), procedures, *codes)

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

    @cached_property
    def digests(self) -> np.ndarray:
        """:meth:`ReleaseSpec.digest` of each, a row of ten bytes (uint8), in one pass."""
        heads = [f'{procedure_text(*procedure)[:-1]}, "spec": '.encode() for procedure in self.procedures]
        names = self.specs.names
        quoted = {name: json.dumps(name) for name in sorted(names)}
        template = ", ".join(f'{text}: "?"' for text in quoted.values())
        template = f"{{{template}}}}}"
        places, at = {}, 1
        for name, text in quoted.items():
            places[name] = at + len(text) + 3
            at += len(text) + 7  # a colon, a role in quotes, a comma, two spaces
        columns = [places[name] for name in names]
        parts, step = [], max(1, _TEXT // len(template))
        for first in range(0, len(self), step):
            used, codes = np.unique(self.spec_codes[first : first + step], return_inverse=True)
            matrix = np.tile(np.frombuffer(template.encode(), np.uint8), (len(used), 1))
            matrix[:, columns] = self.specs.roles[used]
            rows = matrix.view(f"V{len(template)}").ravel().tolist()
            procedures = self.procedure_codes[first : first + step].tolist()
            texts = zip(map(heads.__getitem__, procedures), map(rows.__getitem__, codes.tolist()), strict=True)
            parts += [blake2b(head + row, digest_size=DIGEST_BYTES).digest() for head, row in texts]
        return np.frombuffer(b"".join(parts), np.uint8).reshape(-1, DIGEST_BYTES)

    def digest_bytes(self) -> list[bytes]:
        """The digest of each."""
        rows: list[bytes] = self.digests.view(f"V{DIGEST_BYTES}").ravel().tolist()
        return rows


def _parts(spec: ReleaseSpec) -> tuple[AttributeSpec, Procedure]:
    """The two parts that a release spec consists of."""
    return spec.attributes, Procedure(spec.mechanism, spec.rate, spec.rule, spec.params)
