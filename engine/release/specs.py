"""Many attribute specs over the same names as one matrix of roles; each is made when it is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

import numpy as np

from engine.release.spec import ROLES, AttributeSpec

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
