"""Attributes, their levels, the kinds of those levels, and edit rules: combinations of levels that must not occur.

An *attribute* is a coded view over one or more raw columns that move together: mechanisms and measures see its level
codes, an export moves its raw columns as one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.streams import Written
from engine.common.wording import first_twice

_Count = Annotated[int, Meta(ge=0, description="a whole number of records from 0 on")]


@dataclass(frozen=True)
class EditRule:
    """A forbidden combination: a record fails when, for every attribute named in ``forbid``, its level is among those
    listed; or, of a rule with ``existing`` attributes, when its combination of their levels occurs nowhere in the
    original.

    Failures are counted in every release.  Of a rule with ``refuse`` no exchange may make any: a pair is refused after
    which a record would fail the rule that did not fail it before.  A candidate of which more than ``at_most`` records
    fail is not within the limit.
    """

    name: str
    forbid: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refuse: bool = False
    existing: tuple[str, ...] = ()
    at_most: _Count | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that the rule looks at."""
        return (*(name for name, _ in self.forbid), *self.existing)


LevelKind = Literal["value", "skip", "missing"]
KINDS: tuple[LevelKind, LevelKind, LevelKind] = ("value", "skip", "missing")
"""Kinds of levels: a real answer, a question validly skipped, an answer that is missing."""


@dataclass(frozen=True)
class Attribute:
    """One coded attribute.

    ``levels`` are labels in declared order (a level's code is its index); ``kinds`` has one of :data:`KINDS` per level;
    ``columns`` are the raw columns that move as a block.  ``exact`` says that equal level means equal raw values, which
    is what makes exchanging the complement of a spec the same exchange (it is false once values are merged or cut).
    """

    name: str
    levels: tuple[str, ...]
    kinds: tuple[LevelKind, ...] = ()
    columns: tuple[str, ...] = ()
    exact: bool = True

    def __post_init__(self) -> None:
        if not self.kinds:
            object.__setattr__(self, "kinds", ("value",) * len(self.levels))
        if not self.columns:
            object.__setattr__(self, "columns", (self.name,))
        if not self.name:
            raise EngineError("an attribute has an empty name; every attribute needs one")
        if not self.levels:
            raise EngineError(f"attribute '{self.name}' has no levels; it needs at least one")
        repeated = first_twice(self.levels)
        if repeated is not None:
            raise EngineError(f"attribute '{self.name}' names the level '{repeated}' more than once")
        if len(self.kinds) != len(self.levels):
            raise EngineError(
                f"attribute '{self.name}' has {len(self.levels)} levels but {len(self.kinds)} kinds; give one kind "
                "per level"
            )
        for kind in self.kinds:
            if kind not in KINDS:
                raise EngineError(
                    f"attribute '{self.name}' has a level of kind '{kind}', must be one of {', '.join(KINDS)}"
                )

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.levels)

    @cached_property
    def one_kind(self) -> bool:
        """Return whether all levels are of one kind."""
        return len(set(self.kinds)) == 1

    @cached_property
    def kind_codes(self) -> np.ndarray:
        """Index into :data:`KINDS` of each level, shape ``(size,)``."""
        return np.array([KINDS.index(kind) for kind in self.kinds], dtype=np.int32)


@dataclass(frozen=True)
class Domain:
    """The ordered attributes of a study; their order is part of every stream and never changes within a study.

    ``refusing`` are the edit rules that no exchange of records may break.
    """

    attributes: tuple[Attribute, ...]
    refusing: tuple[EditRule, ...] = ()

    def __post_init__(self) -> None:
        repeated = first_twice(self.names)
        if repeated is not None:
            raise EngineError(f"attribute '{repeated}' is declared more than once")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    @cached_property
    def stream_part(self) -> Written:
        """The attributes with their levels, as they stand in the name of a stream."""
        return Written(tuple((a.name, a.levels, a.kinds) for a in self.attributes))

    @cached_property
    def ruled(self) -> tuple[int, ...]:
        """Places of the attributes that a refusing rule looks at."""
        looked_at = {name for rule in self.refusing for name in rule.attributes}
        return tuple(j for j, name in enumerate(self.names) if name in looked_at)

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Place of the attribute called ``name``; an unknown name is a usage error with a suggestion."""
        index = self._index_of.get(name)
        if index is None:
            raise UsageError(f"unknown attribute '{name}'.{did_you_mean(name, self.names)}")
        return index

    def indices(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """Places of several attributes, in the order asked for."""
        return tuple(self.index(name) for name in names)
