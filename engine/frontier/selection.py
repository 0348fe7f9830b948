"""Parts of a map: scenarios in a range, and the frontier of some scenarios or under other measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.undominated import undominated


def inside(view: RiskUtilityMap, risk: tuple[float, float], loss: tuple[float, float]) -> np.ndarray:
    """Indices of the scenarios within two ranges of losses (ends included, in either order), from least to most
    risk."""
    (low_r, high_r), (low_l, high_l) = sorted(risk), sorted(loss)
    x, y = view.risk_loss, view.utility_loss
    with np.errstate(invalid="ignore"):
        indices = np.flatnonzero((x >= low_r) & (x <= high_r) & (y >= low_l) & (y <= high_l))
    return indices[np.lexsort((y[indices], x[indices]))]


def safest(view: RiskUtilityMap, most: int) -> np.ndarray:
    """Indices of at most so many scenarios with the least risk, from least to most; those without a figure are
    last."""
    x, y = view.risk_loss, view.utility_loss
    indices = np.arange(len(x))
    if len(x) > most > 0:
        indices = np.flatnonzero(x <= np.partition(x, most - 1)[most - 1])  # without ties no more than are asked for
        if len(indices) < most:  # fewer have a figure
            indices = np.arange(len(x))
    return indices[np.lexsort((y[indices], x[indices]))][:most]


def middle(view: RiskUtilityMap) -> float | None:
    """The figure that a bound on risk is held against, as a loss, of the candidate in the middle of the frontier, so
    that it would be within such a bound; its mean risk where it has too few runs for one. None without a frontier."""
    on = view.frontier()
    if not len(on):
        return None
    index = int(on[len(on) // 2])
    bounded = float(view.bounded_risk[index])
    return float(view.risk_loss[index]) if np.isnan(bounded) else bounded


def undominated_among(view: RiskUtilityMap, mask: np.ndarray) -> np.ndarray:
    """Mask of the scenarios that no other one of ``mask`` dominates on the map's risk and utility; shape of the map."""
    on = np.zeros(len(view.risk_loss), bool)
    among = np.flatnonzero(mask)
    on[among] = undominated(np.column_stack([view.offered_risk[among], view.utility_loss[among]]))
    return on


def undominated_together(view: RiskUtilityMap, measures: Sequence[int]) -> np.ndarray:
    """Mask of the scenarios that no other one dominates on several measures (columns) at once, by their means."""
    return np.asarray(undominated(view.summary.loss[:, list(measures)]) & ~view.changes_nothing)
