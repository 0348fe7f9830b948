"""A declared mechanism: its name and the grid of parameters to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.common.errors import Remedy, UsageError
from engine.plan.field_types import set_fields
from engine.release.spec import RANDOM_SWAP


@dataclass(frozen=True)
class MechanismPlan:
    """One mechanism; every parameter has one or more values as texts, and every combination of them is a scenario.

    Which parameters a mechanism has, and which values are legal, is said by ``engine.mechanisms``.
    """

    name: str
    grid: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("a mechanism has an empty name; name one of those that there are", Remedy.MECHANISMS)
        for parameter, values in self.grid:
            if not values:
                raise UsageError(f"mechanism '{self.name}': {parameter} has no value; give one or leave it out")
        names = [parameter for parameter, _ in self.grid]
        if len(set(names)) < len(names):
            raise UsageError(f"mechanism '{self.name}' names a parameter more than once")

    @property
    def by_roles(self) -> bool:
        """Return whether its candidates are the specs and rates of the plan's space; else they are those of the
        grid."""
        return self.name == RANDOM_SWAP

    @classmethod
    def of(cls, name: str, grid: Mapping[str, object]) -> MechanismPlan:
        """From plain values: a list is a grid, anything else one value."""
        return cls(name, tuple((key, tuple(map(as_text, values_of(value)))) for key, value in grid.items()))


def values_of(value: object) -> Sequence[object]:
    """The values of one entry."""
    return value if isinstance(value, list | tuple) else [value]


def as_text(value: object) -> str:
    """A value as the text of a parameter."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value).strip()


def check_mechanisms(plan: object, mechanisms: Sequence[MechanismPlan]) -> None:
    """The same mechanism may stand there more than once, with other grids; the very same entry may not."""
    set_fields(plan, mechanisms=tuple(mechanisms))
    if len(set(mechanisms)) < len(mechanisms):
        raise UsageError("a mechanism is declared twice with the same parameters; leave one out")
