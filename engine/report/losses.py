"""Losses of users: all figures of a kind held against the tolerances and counted, and the worst of them by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.report.facts import Tally, Tolerances
from engine.report.flags import Flags, flags
from engine.report.loss_facts import Loss, LossKind

if TYPE_CHECKING:
    from engine.report.facts import Utility

MOST_LOSSES = 200
"""Most losses in the findings; tallies count all."""


class Figures(NamedTuple):
    """Figures of one table, column or analysis (``of``), one entry each: their names, the numbers of records that they
    rest on in the original and in the release (a mean over its tables), values before and after, standard errors."""

    of: str
    names: Sequence[str]
    n: np.ndarray
    n_after: np.ndarray
    before: np.ndarray
    after: np.ndarray
    error: np.ndarray


class Collection:
    """Figures of one kind, weighted or not, as they are compared: counts of all of them, and the worst losses.

    ``ranked`` says whether its losses are to be ranked; figures that another collection holds too are not.
    """

    def __init__(self, kind: LossKind, tally: str, weighted: bool, tolerances: Tolerances, ranked: bool = True) -> None:
        self.kind, self.weighted, self.tolerances, self.ranked = kind, weighted, tolerances, ranked
        self._tally = Tally(f"{'weighted ' if weighted else ''}{tally}", 0, 0, 0)
        self._losses: list[Loss] = []

    def add(self, figures: Figures, can_change: bool) -> tuple[Flags, np.ndarray]:
        """Compare figures, each of which exists before and after; returns their changes, and which are flagged."""
        is_large = np.maximum(figures.n, figures.n_after) > self.tolerances.min_n
        changes = flags(figures.before, figures.after, figures.error, is_large, self.tolerances)
        eligible = changes.asked & can_change
        flagged = eligible & changes.beyond
        self.count(
            compared=len(eligible),
            unchangeable=0 if can_change else len(eligible),
            eligible=int(eligible.sum()),
            flagged=int(flagged.sum()),
            by_change=int((eligible & changes.by_change).sum()),
            by_errors=int((eligible & changes.by_errors).sum()),
        )
        if self.ranked:
            self._rank(figures, changes, flagged, np.flatnonzero(eligible & (changes.errors > 0)))
        return changes, flagged

    def count(self, **further: int) -> None:
        """Add to the numbers of the tally, by their names."""
        old = self._tally
        self._tally = Tally(old.kind, **{name: getattr(old, name) + further.get(name, 0) for name in _NUMBERS})

    def _rank(self, figures: Figures, changes: Flags, flagged: np.ndarray, at: np.ndarray) -> None:
        worst = at[np.argsort(-changes.errors[at], kind="stable")][:MOST_LOSSES]
        self.append(
            Loss(
                kind=self.kind,
                of=figures.of,
                what=figures.names[i],
                weighted=self.weighted,
                n=int(figures.n[i]),
                before=float(figures.before[i]),
                after=float(figures.after[i]),
                relative=float(changes.relative[i]) if np.isfinite(changes.relative[i]) else None,
                errors=float(changes.errors[i]),
                flagged=bool(flagged[i]),
            )
            for i in worst.tolist()
        )

    def append(self, losses: Iterable[Loss]) -> None:
        """Add losses that are already typed."""
        self._losses = ranked([*self._losses, *losses])[:MOST_LOSSES]

    @property
    def losses(self) -> list[Loss]:
        """The worst losses."""
        return self._losses

    @property
    def tally(self) -> Tally:
        """The counts."""
        return self._tally


_NUMBERS = ("compared", "eligible", "flagged", "unchangeable", "by_change", "by_errors")


def ranked(losses: Iterable[Loss]) -> list[Loss]:
    """Losses in the order of their weight: figures that can no longer be computed, then by standard errors."""
    return sorted(losses, key=lambda loss: (not loss.lost, -(loss.errors or 0)))


def all_ranked(collections: Iterable[Collection]) -> tuple[Loss, ...]:
    """The worst losses over several collections."""
    return tuple(ranked(loss for collection in collections for loss in collection.losses)[:MOST_LOSSES])


def tallies_of(collections: Iterable[Collection]) -> list[Tally]:
    """The counts of several collections that compared anything."""
    return [collection.tally for collection in collections if collection.tally.compared]


def worst(utility: Utility, most: int = 3) -> list[Loss]:
    """The worst losses by name, of each table, column or analysis its worst figure alone; the first is the worst of
    all."""
    chosen: dict[tuple[str, str], Loss] = {}
    for loss in utility.losses or _of_rows(utility):
        kind = "table" if "percentage" in loss.kind or "cell" in loss.kind else loss.kind
        chosen.setdefault((kind, loss.of), loss)
    return list(chosen.values())[:most]


def _of_rows(utility: Utility) -> list[Loss]:
    """The same of a bundle that earlier versions wrote, which hold the rows that change most and no ranking."""
    losses = [
        Loss(
            kind="percentage of two attributes" if " × " in share.table else "percentage of one attribute",
            of=share.table,
            what=share.level,
            **{name: getattr(share, name) for name in _SHARED},
        )
        for share in utility.shares
        if share.errors
    ]
    for mean in utility.means:
        if mean.errors:
            losses.append(Loss("mean", mean.column, mean.group, **{name: getattr(mean, name) for name in _SHARED}))
    for row in utility.coefficients:
        if row.before is not None and (row.shift or row.lost):
            figures = (row.before, row.after, row.relative, row.shift, row.flagged, row.lost)
            losses.append(Loss("coefficient", row.analysis, row.name, False, None, *figures))
    return ranked(losses)


_SHARED = ("weighted", "n", "before", "after", "relative", "errors", "flagged")
