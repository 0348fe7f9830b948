"""Facts about what users lose and about models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LossKind = Literal[
    "percentage of one attribute",
    "percentage of two attributes",
    "mean",
    "correlation",
    "coefficient",
    "cell of a declared table",
]
"""What kind of figure users lose."""


@dataclass(frozen=True)
class Loss:
    """One figure that users would compute, before and after, ranked by its change in standard errors of the original.

    ``of`` is the table, column or analysis that it belongs to, ``what`` the cell, group or coefficient in it.  ``n`` is
    the number of records that it rests on (None: those of the whole analysis).  ``relative`` is None where the original
    is 0; ``lost`` says why there is no figure after, and then ``after``, ``relative`` and ``errors`` are None.
    """

    kind: LossKind
    of: str
    what: str
    weighted: bool
    n: int | None
    before: float
    after: float | None
    relative: float | None
    errors: float | None
    flagged: bool
    lost: str = ""


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
