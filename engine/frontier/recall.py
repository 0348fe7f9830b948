"""Recall: the share of the true frontier that noisy means find, as their own errors let one expect."""

from __future__ import annotations

import numpy as np

from engine.frontier.undominated import undominated

REDRAWS = 100
"""How often the means are drawn anew; the share found is then known to about .01."""
_REACH = 4.0  # standard errors; who is beaten on every objective by more was never near the frontier


def expected_recall(loss: np.ndarray, se: np.ndarray, rng: np.random.Generator, redraws: int = REDRAWS) -> float:
    """Return the expected share of the true frontier that means with these standard errors find.

    ``loss`` and ``se`` have the shape ``(scenarios, objectives)``; a scenario with an unknown mean takes no part, one
    with an unknown standard error counts with none.  The means stand for the truth, are drawn anew with their errors,
    and the share of their frontier that is found again is averaged.  From 0 to 1; higher is better; NaN without a
    frontier.  The means vary more than the truth that they estimate, which leaves wider gaps between scenarios: the
    share is a few hundredths too high (.83 for a true .79 with 20 runs of CPS-8D, .73 for .66 with 5).

    Redraws are independent over scenarios and objectives.  Cost: ``redraws`` frontiers of those scenarios that come
    near the frontier.
    """
    known = ~np.isnan(loss).any(axis=1)
    loss, se = loss[known], np.nan_to_num(se[known], nan=0.0, posinf=0.0)
    on = undominated(loss) if len(loss) else np.zeros(0, bool)
    if not on.any():
        return float("nan")
    near = _within_reach(loss, se, on)
    loss, se, on = loss[near], se[near], on[near]
    found = [undominated(loss + rng.standard_normal(loss.shape) * se)[on].mean() for _ in range(redraws)]
    return float(np.mean(found))


def _within_reach(loss: np.ndarray, se: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Return the mask of the scenarios that no scenario on the frontier beats on every objective by the reach of the
    noise of both."""
    mask = np.ones(len(loss), bool)
    for index in np.flatnonzero(on).tolist():
        mask &= ~(loss - loss[index] > _REACH * np.hypot(se, se[index])).all(axis=1)
    return mask
