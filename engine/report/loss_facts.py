"""What users lose: each figure that they would compute before and after, and facts about declared models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FigureKind = Literal[
    "percentage of one attribute",
    "percentage of two attributes",
    "mean",
    "correlation",
    "association",
    "coefficient",
    "cell of a declared table",
]
"""Kinds of figures that users compute."""
Note = Literal["", "new value", "lost", "not estimable"]
"""``new value``: nobody of the group has this value in the original; ``lost``: the release gives no figure;
``not estimable``: neither does the original."""


@dataclass(frozen=True)
class Figure:
    """A figure that users would compute, before and after.

    ``of`` is its table, column or analysis; ``group`` the area or group that it is within (empty: all records), and
    ``what`` the value or coefficient; a level stands after its attribute and a colon.  It rests on ``n`` records before
    and ``n_after`` after, of the ``within`` of its group in the original and ``within_after`` in the release (None:
    records are not counted).  Percentages are of the group.  ``errors`` is the size of the change in standard errors
    ``se`` of the original's figure; a percentage of which few records have the value or few lack it has the release's
    ``se`` where that is larger, and one of nobody (a ``new value``) has none.  ``flagged`` tells whether it is beyond
    the tolerances (None: it is not judged, as values that did not exist are).  ``why`` says why there is no figure.
    """

    kind: FigureKind
    of: str
    group: str
    what: str
    weighted: bool
    n: int | None = None
    n_after: int | None = None
    within: int | None = None
    within_after: int | None = None
    before: float | None = None
    se: float | None = None
    after: float | None = None
    se_after: float | None = None
    errors: float | None = None
    flagged: bool | None = None
    note: Note = ""
    why: str = ""

    @property
    def relative(self) -> float | None:
        """Change of the figure as a share of itself; None where the original is 0 or there is no figure."""
        if self.before is None or self.after is None or self.before == 0:
            return None
        return (self.after - self.before) / abs(self.before)

    @property
    def is_count(self) -> bool:
        """Whether the figure counts records, so that it can be shown as ``n`` of ``within``."""
        return self.kind.startswith(("percentage", "cell"))


@dataclass(frozen=True)
class NewValue:
    """A value that did not exist in ``groups`` of a table's groups and does in the release: ``records`` have it there,
    most of them in the group of ``most``."""

    of: str
    what: str
    groups: int
    records: int
    most: Figure


@dataclass(frozen=True)
class ModelRow:
    """A declared analysis: what a larger coefficient means (``predicts``), and what coefficients are compared with
    (``references``, factor and level)."""

    analysis: str
    family: str
    formula: str
    predicts: str
    references: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CoefficientRuns:
    """A coefficient under one lettered candidate: its change over ``runs`` runs in standard errors of the original
    (signed: below 0 it falls), as mean, least and most.  ``lost`` runs give no figure; they are not in the others."""

    analysis: str
    name: str
    letter: str
    runs: int
    lost: int
    mean: float | None
    least: float | None
    most: float | None


@dataclass(frozen=True)
class AnalysisRuns:
    """The largest change among an analysis's coefficients under one lettered candidate: its size in standard errors of
    the original, as mean, least and most over runs, and how many of its ``coefficients`` are beyond the tolerances on
    average.  Doing nothing changes none."""

    analysis: str
    letter: str
    runs: int
    coefficients: int
    mean: float | None
    least: float | None
    most: float | None
    beyond: float | None
