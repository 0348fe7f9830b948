"""Edit rules: combinations of levels that must not occur."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EditRule:
    """A forbidden combination: a record fails when, for every attribute named in ``forbid``, its level is among those
    listed; or, of a rule with ``existing`` attributes, when its combination of their levels occurs nowhere in the
    original.

    Failures are counted in every release.  Of a rule with ``refuse`` no exchange may make any: a pair is refused after
    which a record would fail the rule that did not fail it before.
    """

    name: str
    forbid: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refuse: bool = False
    existing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "existing", tuple(self.existing))  # a plan's file gives a list

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that the rule looks at."""
        return (*(name for name, _ in self.forbid), *self.existing)
