"""Facts of the decision sheet and of its pictures: the decision's risk in counts, cells by size, lettered candidates,
places."""

from __future__ import annotations

from dataclasses import dataclass

from engine.measures.verdict import Verdict
from engine.report.facts import Better, Check


@dataclass(frozen=True)
class Counted:
    """A number of people or households, of so many."""

    part: int
    of: int


@dataclass(frozen=True)
class DecidedBy:
    """The risk that decides: the share ``of`` something (empty: it is no share) in the original and in the released
    run, with the counts behind both (None: no counts), and the ``limit`` on it (None: there is none)."""

    title: str
    unit: str
    of: str
    before: float | None
    after: float | None
    limit: float | None
    counted_before: Counted | None
    counted_after: Counted | None


@dataclass(frozen=True)
class CellSize:
    """People in cells of the keys' table that ``size`` people share: in the original, and in the release those whose
    keys are unaltered and those whose keys are not."""

    size: int
    before: int
    unaltered: int
    altered: int


@dataclass(frozen=True)
class Further:
    """A measure of the plan beside the two that decide."""

    title: str
    unit: str
    better: Better


@dataclass(frozen=True)
class Attacked:
    """The verdict of all attacks on the run of a candidate that would be released, and the checks that it fails."""

    verdict: Verdict
    failed: tuple[Check, ...]


@dataclass(frozen=True)
class Lettered:
    """A lettered candidate: its settings in the order of the columns, the means of further measures (None: undefined),
    the risk of each run, and the mean share of records that are altered (None in findings of an earlier version).
    ``attacked`` is that of neighbours (None: of others, and in findings of an earlier version)."""

    letter: str
    settings: tuple[str, ...]
    further: tuple[float | None, ...]
    runs: tuple[float, ...]
    altered: float | None = None
    attacked: Attacked | None = None


@dataclass(frozen=True)
class Candidates:
    """The lettered candidates by what distinguishes them: ``settings`` name the columns in which they differ.
    ``same`` is a candidate as good on both axes that is better on a further measure (its place; empty and None: there
    is none)."""

    settings: tuple[str, ...]
    further: tuple[Further, ...]
    rows: tuple[Lettered, ...]
    same: str = ""
    same_by: int | None = None


@dataclass(frozen=True)
class Area:
    """An area with its parents' names, its residents in the original, and those who have the value, before and after
    (``residents_after``: in the release)."""

    name: str
    parents: tuple[str, ...]
    residents: int
    residents_after: int
    before: int
    after: int


@dataclass(frozen=True)
class Places:
    """Areas of the finest ``level`` by the value of an ``attribute`` whose share changes beyond the tolerances in most
    of them."""

    level: str
    parents: tuple[str, ...]
    attribute: str
    value: str
    areas: tuple[Area, ...]


@dataclass(frozen=True)
class Sheet:
    """What the decision sheet and its pictures show beside the other findings.  ``places`` is None where the plan names
    no places."""

    decided_by: DecidedBy
    sizes: tuple[CellSize, ...]
    candidates: Candidates
    places: Places | None
