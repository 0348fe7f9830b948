"""Facts of the rate that members are told, and changes told coarsely so that they do not give it away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Step = Literal[
    "exact", "two digits", "rounded changes", "classes", "classes without figures", "flags", "worst", "tables",
    "analyses",
]  # fmt: skip
"""How coarsely a member's bundle tells the release, see :mod:`engine.report.coarsening`."""
Counts = Literal["exact", "two digits", "one digit", "without groups", "without runs", "withheld"]
"""How coarsely a member's bundle tells counts of the release."""
COUNTS: tuple[Counts, ...] = get_args(Counts)
STEPS: tuple[Step, ...] = get_args(Step)
"""From exact figures to the coarsest."""
COARSE: tuple[Step, ...] = STEPS[2:]
"""Those at which sizes of changes stand in place of the release's figures."""
ChangeKind = Literal["percentage", "mean", "correlation", "association", "coefficient", "cell"]


AT_LEAST_ONE = "at least one figure"
"""What stands for a figure where only its table is named."""


@dataclass(frozen=True)
class Range:
    """A size of which only the range is told: from ``low`` (included) to ``high`` (None: no end); ``about`` where it
    stands for its middle, to which the size was rounded."""

    low: float
    high: float | None
    about: bool = False


@dataclass(frozen=True)
class ChangeRow:
    """A figure that users compute, and roughly how far it moved, in either direction.

    ``table`` and ``level`` say which: the attributes and their levels, the column and its group, the two that hang
    together, the analysis and its coefficient, or the named table and its cell.  ``n`` records and ``before`` are to
    two digits and None where not even these are told; ``relative`` is the size of the change as a share of the original
    figure, ``errors`` in its standard errors.
    """

    kind: ChangeKind
    table: str
    level: str
    weighted: bool
    n: int | None
    before: float | None
    relative: Range | None
    errors: Range | None
    flagged: bool


@dataclass(frozen=True)
class MembersRate:
    """Whether members are told the rate: ``told`` with the rate ``asked`` (decimal text, empty where the mechanism has
    none) and the ``share`` of records changed (0 to 1), or ``withheld`` with the ``step`` to which changes are coarse,
    the digits of ``counts``, and whether the bundle was attacked (``attacked``); empty in a bundle of which nobody said
    either."""

    policy: Literal["", "withheld", "told"] = ""
    asked: str = ""
    share: float | None = None
    step: Step = "exact"
    counts: Counts = "exact"
    attacked: bool = False
