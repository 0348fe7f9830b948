"""Suspicion by weights that are learned: how strongly each trace of a swap speaks, from cases that are known.

An intruder who knows a method simulates it under other keys, on the release or on any like file, and learns from the
simulated swaps which traces altered units have.  The agency, which knows the altered units, gets the same weights
without simulation: it learns them from some units and applies them to others, so that no unit is judged by itself.

The model is a logit of the standardised features with a ridge, fitted by Newton's method.
"""

from __future__ import annotations

import numpy as np

from engine.common.processes import one_thread

RIDGE = 10.0
"""Penalty: half the sum of squares of the coefficients of standardised features."""
MOST_CASES = 20_000
"""Units of either kind, altered or not, of each half from which weights are learned at most."""
_STEPS, _HALVINGS, _STILL = 30, 20, 1e-9


def learned(features: np.ndarray, altered: np.ndarray) -> np.ndarray | None:
    """The log odds of each unit, by weights learned from the other half; None where a half has not both kinds.

    ``features`` has a row for each unit.  Units with equal features are in the same half.
    """
    group = np.unique(np.round(features @ np.arange(1.0, features.shape[1] + 1), 6), return_inverse=True)[1]
    half = group % 2
    n_kind = np.bincount(half * 2 + altered, minlength=4)
    if not n_kind.all():
        return None
    cases = np.zeros(len(altered), bool)
    for h in range(2):
        for kind in (False, True):
            of_kind = np.flatnonzero((half == h) & (altered == kind))
            cases[of_kind[:: -(-len(of_kind) // MOST_CASES)]] = True
    spread = features.std(axis=0)
    kept = spread > 1e-9 * np.abs(features).max(axis=0, initial=1.0)
    x = np.column_stack([np.ones(len(altered)), (features[:, kept] - features[:, kept].mean(axis=0)) / spread[kept]])
    odds = np.zeros(len(altered))
    with one_thread():
        for h in range(2):
            known = cases & (half != h)
            odds[half == h] = x[half == h] @ _fit(x[known], altered[known].astype(float))
    return odds


def _fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Coefficients of the penalised logit; the first column, the constant, bears no penalty."""
    penalty = np.full(x.shape[1], RIDGE)
    penalty[0] = 0.0
    beta = np.zeros(x.shape[1])
    height, chance = _height(x, y, beta, penalty)
    for _ in range(_STEPS):
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curvature, x.T @ (y - chance) - penalty * beta)
        for _ in range(_HALVINGS):
            now, chance = _height(x, y, beta + step, penalty)
            if now >= height:
                break
            step = step / 2
        beta, gained, height = beta + step, now - height, now
        if gained <= _STILL * abs(height):
            break
    return beta


def _height(x: np.ndarray, y: np.ndarray, beta: np.ndarray, penalty: np.ndarray) -> tuple[float, np.ndarray]:
    """The penalised log likelihood, and the chances."""
    odds = x @ beta
    small = np.exp(-np.abs(odds))
    chance = np.where(odds >= 0, 1, small) / (1 + small)
    height = y @ odds - np.maximum(odds, 0).sum() - np.log1p(small).sum() - (penalty * beta**2).sum() / 2
    return float(height), chance
