"""Draws of the general location model as people write them: natural units, probabilities of cells."""

from __future__ import annotations

import numpy as np

from engine.models.location import Model, Theta, log_weights


def natural(theta: Theta, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """A draw's μ (K, p) and Σ (p, p) in the units of the fitted numbers."""
    root = np.linalg.solve(theta.turn, model.factor.T).T  # C A⁻ᵀ, whose square is Σ
    return theta.mu @ root.T, root @ root.T


def predictive(theta: Theta, t: np.ndarray) -> np.ndarray:
    """Predictive probabilities of the cells for each record, shape ``(n, K)``, rows summing to 1."""
    weights = log_weights(theta, t)
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    result: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
    return result
