"""A proposal for a plan: one decision, with the evidence in the records for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from engine.common.errors import EngineError
from engine.common.raw_values import Notation
from engine.plan.entries import MechanismPlan

ProposalKind = Literal[
    "unit",
    "line",
    "id",
    "weight",
    "missing",
    "code",
    "alike",
    "number",
    "constant",
    "block",
    "skip",
    "name",
    "places",
]
KINDS: tuple[ProposalKind, ...] = get_args(ProposalKind)
"""Kinds of proposals, in the order in which they are best decided."""
LinkKind = Literal["recode", "same", "flag", "skip"]
"""How a column depends on another: decided by it, the same information, a flag by its name, skipped for some values."""


@dataclass(frozen=True)
class Link:
    """``column`` depends on ``source``: a :data:`LinkKind`.

    Of a skip, ``values`` are the raw values of ``source`` for which ``column`` is skipped and ``code`` is the raw value
    that says so in ``column`` (None: the value is empty).
    """

    column: str
    source: str
    kind: LinkKind
    values: tuple[str, ...] = ()
    code: str | None = None


@dataclass(frozen=True)
class Proposal:
    """One thing that a person may accept.

    ``columns`` are those involved, the leading one first; ``sentence`` says what was seen in the records and ``effect``
    what accepting does to the plan.  ``links`` say how the columns of a block or a skip pattern hang together, and
    ``codes`` are, per column, raw values that mean missing (kinds "missing" and "code") or that each group of
    look-alikes holds (kind "alike").  ``exchange`` is the
    mechanism that exchanges households between places (kind "places"), ``new_name`` the name that the attribute of
    the columns gets (kind "name"); ``together`` are columns that number households only together (kind "unit"), and
    ``notation`` is one of the ways to read the column's numbers (kind "number").  What is not ``certain`` only may be
    so, and is accepted singly, by its key.
    """

    kind: ProposalKind
    columns: tuple[str, ...]
    sentence: str
    effect: str
    links: tuple[Link, ...] = ()
    codes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exchange: MechanismPlan | None = None
    certain: bool = True
    new_name: str = ""
    together: tuple[str, ...] = ()
    notation: Notation | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise EngineError(f"a proposal of kind '{self.kind}' names no column")

    @property
    def key(self) -> str:
        """A name that stays the same while the data and the kind do, for choosing this proposal again."""
        name = f"{self.kind}:{self.columns[0]}"
        if self.notation is not None:
            return f"{name}:{self.notation.name}"
        if self.kind == "code":
            return f"{name}:{self.codes[0][1][0]}"
        if self.kind != "skip" or not self.links:
            return name
        # One gate may close several sets of columns, and one column be skipped for several reasons.
        last = self.links[-1]
        return f"{name}:{last.column}" + (f"={last.code}" if last.code else "")
