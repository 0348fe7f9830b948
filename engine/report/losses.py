"""Every figure of users before and after, held against the tolerances by one rule and counted; the largest losses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from engine.report.facts import Tally, Tolerances, Utility
from engine.report.loss_facts import Figure, FigureKind, NewValue

MOST_UNFLAGGED = 5000
"""Most figures within the tolerances that findings hold, those that change most; all others are held."""


class Flags(NamedTuple):
    """Changes of figures, one entry each: in standard errors, whether the rule can judge them (``asked``), and beyond
    which tolerance they are.  ``errors`` is NaN where there is no standard error."""

    errors: np.ndarray
    asked: np.ndarray
    by_change: np.ndarray
    by_errors: np.ndarray

    @property
    def beyond(self) -> np.ndarray:
        """Figures beyond either tolerance."""
        result: np.ndarray = self.by_change | self.by_errors
        return result


def flags(
    before: np.ndarray, after: np.ndarray, error: np.ndarray, is_large: np.ndarray | bool, tolerances: Tolerances
) -> Flags:
    """Hold changes against the tolerances; ``error`` is the standard error that the change is measured in.

    A figure is beyond them where it moves by more than ``tolerances.se`` standard errors, or by more than
    ``tolerances.change`` of itself.  The second is asked only of figures that rest on many records (``is_large``) and
    stand out from 0 by more than ``tolerances.se`` standard errors: of others a share of themselves says nothing.
    """
    before, after, error = (np.asarray(values, float) for values in (before, after, error))
    moved = after - before
    relative = np.divide(moved, np.abs(before), out=np.where(moved == 0, 0.0, np.nan), where=before != 0)
    has_error = np.isfinite(error) & (error > 0)
    errors = np.divide(np.abs(moved), error, out=np.where(moved == 0, 0.0, np.nan), where=has_error)
    stands_out = is_large & ~(has_error & (np.abs(before) <= tolerances.se * error))
    with np.errstate(invalid="ignore"):
        by_change = stands_out & (np.abs(relative) > tolerances.change)
        return Flags(errors, has_error | stands_out, by_change, errors > tolerances.se)


class Batch(NamedTuple):
    """Figures of one table, column or analysis (``of``), one entry each: group and value, records before and after (a
    mean over released tables), those of the group, the figure before and after, and the standard error of its change.
    ``se_after`` is that of the release; ``is_new`` marks values that nobody of the group had."""

    of: str
    groups: Sequence[str]
    names: Sequence[str]
    n: np.ndarray
    n_after: np.ndarray
    before: np.ndarray
    after: np.ndarray
    error: np.ndarray
    within: np.ndarray | None = None
    within_after: np.ndarray | None = None
    is_new: np.ndarray | None = None


class Collection:
    """Figures of one kind, weighted or not: counts of all, and the figures that change."""

    def __init__(self, kind: FigureKind, tally: str, weighted: bool, tolerances: Tolerances) -> None:
        self.kind, self.weighted, self.tolerances = kind, weighted, tolerances
        self.tally = Tally(f"{'weighted ' if weighted else ''}{tally}", 0, 0, 0)
        self._kept: list[Figure] = []
        self._others: list[Figure] = []

    @property
    def figures(self) -> list[Figure]:
        """The figures that change: all that findings hold, and of the others those that change most."""
        return [*self._kept, *_largest(self._others)]

    def add(self, batch: Batch, can_change: bool) -> None:
        """Compare figures, each of which exists before and after, and keep those that change.

        Values that did not exist are not judged: the original has no standard error of them, and no share to change.
        """
        changes, is_new = self._changes(batch)
        eligible = changes.asked & ~is_new & can_change
        flagged = eligible & changes.beyond
        self.count(
            compared=len(eligible),
            unchangeable=0 if can_change else len(eligible),
            eligible=int(eligible.sum()),
            flagged=int(flagged.sum()),
            by_change=int((eligible & changes.by_change).sum()),
            by_errors=int((eligible & changes.by_errors).sum()),
            new=int(is_new.sum()),
        )
        at = np.flatnonzero((batch.after != batch.before) & can_change).tolist()
        self.keep(self._figure(batch, i, changes.errors[i], bool(flagged[i]), bool(is_new[i])) for i in at)

    def figures_of(self, batch: Batch) -> list[Figure]:
        """The figures of a batch, none of which is counted or kept."""
        changes, is_new = self._changes(batch)
        return [
            self._figure(batch, i, changes.errors[i], bool(changes.beyond[i]), bool(is_new[i]))
            for i in range(len(batch.n))
        ]

    def _changes(self, batch: Batch) -> tuple[Flags, np.ndarray]:
        """Changes held against the tolerances, and which figures are values that did not exist."""
        is_large = np.maximum(batch.n, batch.n_after) > self.tolerances.min_n
        is_new = np.zeros(len(batch.n), bool) if batch.is_new is None else batch.is_new
        return flags(batch.before, batch.after, batch.error, is_large, self.tolerances), is_new

    def _figure(self, batch: Batch, i: int, errors: float, flagged: bool, is_new: bool) -> Figure:
        return Figure(
            kind=self.kind,
            of=batch.of,
            group=batch.groups[i],
            what=batch.names[i],
            weighted=self.weighted,
            n=int(batch.n[i]),
            n_after=round(float(batch.n_after[i])),
            within=None if batch.within is None else int(batch.within[i]),
            within_after=None if batch.within_after is None else round(float(batch.within_after[i])),
            before=float(batch.before[i]),
            se=None if is_new else optional(batch.error[i]),
            after=float(batch.after[i]),
            se_after=None,
            errors=None if is_new else optional(errors),
            flagged=None if is_new else flagged,
            note="new value" if is_new else "",
        )

    def keep(self, figures: Iterable[Figure]) -> None:
        """Add figures that are made already."""
        for figure in figures:
            (self._kept if _is_kept(figure) else self._others).append(figure)
        if len(self._others) > 4 * MOST_UNFLAGGED:
            self._others = _largest(self._others)

    def count(self, **further: int) -> None:
        """Add to the numbers of the tally, by their names."""
        added = {name: getattr(self.tally, name) + number for name, number in further.items()}
        self.tally = replace(self.tally, **added)


def optional(value: float) -> float | None:
    """A figure, None where it is undefined."""
    return float(value) if np.isfinite(value) else None


def by_size(figure: Figure) -> tuple[int, float, int]:
    """The key by which losses are sorted: figures that are lost, then by standard errors, then values that did not
    exist by their records."""
    if figure.note == "lost":
        return 0, 0.0, 0
    if figure.errors is None:
        return 2, 0.0, -(figure.n_after or 0)
    return 1, -figure.errors, -(figure.n or 0)


def _is_kept(figure: Figure) -> bool:
    """Whether findings hold a figure whatever its size: flagged, a value that did not exist, or not estimable."""
    return bool(figure.flagged or figure.note)


def _largest(figures: Iterable[Figure]) -> list[Figure]:
    return sorted(figures, key=by_size)[:MOST_UNFLAGGED]


def collected(collections: Sequence[Collection]) -> tuple[tuple[Tally, ...], tuple[Figure, ...]]:
    """The counts of collections that compared anything, and their figures: all that are held, and of the others those
    that change most, in the order of their size."""
    figures = [figure for collection in collections for figure in collection.figures]
    kept = [figure for figure in figures if _is_kept(figure)]
    others = [figure for figure in figures if not _is_kept(figure)]
    tallies = tuple(collection.tally for collection in collections if collection.tally.compared)
    return tallies, tuple(sorted([*kept, *_largest(others)], key=by_size))


def largest(figures: Iterable[Figure], most: int | None = None) -> list[Figure]:
    """The figures that change, largest first, each once: weighted or not, whichever changes more.

    Values that did not exist and figures that are not judged are left out.
    """
    first: dict[tuple[str, ...], Figure] = {}
    for figure in sorted(figures, key=by_size):
        if figure.flagged is not None and (figure.errors or figure.note == "lost"):
            first.setdefault((figure.kind, figure.of, figure.group, figure.what), figure)
    return list(first.values())[:most]


def new_values(figures: Iterable[Figure]) -> list[NewValue]:
    """Values that some groups have in the release and did not have before, those with most records first."""
    found: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        if figure.note == "new value" and figure.group and not figure.weighted:
            found.setdefault((figure.of, figure.what), []).append(figure)
    rows = []
    for (of, what), members in found.items():
        most = max(members, key=lambda figure: figure.n_after or 0)
        rows.append(NewValue(of, what, len(members), sum(figure.n_after or 0 for figure in members), most))
    return sorted(rows, key=lambda row: (-row.records, -row.groups))


class TableLosses(NamedTuple):
    """Figures of one table, column or analysis beyond the tolerances, and values that did not exist in their group."""

    of: str
    flagged: int
    new: int


def by_table(figures: Iterable[Figure]) -> list[TableLosses]:
    """The tables, columns and analyses with a flagged figure or a value that did not exist, those with most first;
    weighted figures count once."""
    rows: dict[str, tuple[set[tuple[str, str]], set[tuple[str, str]]]] = {}
    for figure in figures:
        is_new = figure.note == "new value"
        if figure.flagged or is_new:
            rows.setdefault(figure.of, (set(), set()))[is_new].add((figure.group, figure.what))
    losses = [TableLosses(of, len(flagged - new), len(new)) for of, (flagged, new) in rows.items()]
    return sorted(losses, key=lambda row: (-row.flagged - row.new, -row.flagged))


def flagged_of(utility: Utility) -> tuple[int, int]:
    """How many figures are beyond the tolerances, of how many that the release can change."""
    return sum(tally.flagged for tally in utility.tallies), sum(tally.eligible for tally in utility.tallies)
