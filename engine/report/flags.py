"""The one rule by which a figure is held against the tolerances, whatever kind of figure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from engine.report.facts import Tolerances


class Flags(NamedTuple):
    """Changes of figures, one entry each: relative to the original, in standard errors, and beyond which tolerance.

    ``relative`` is NaN where the original is 0 and the release is not, ``errors`` where there is no standard error.
    ``asked`` marks figures that the rule can judge at all.
    """

    relative: np.ndarray
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
    """Hold changes against the tolerances; ``error`` is the standard error of the original's figure.

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
        return Flags(relative, errors, has_error | stands_out, by_change, errors > tolerances.se)
