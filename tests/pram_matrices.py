"""The invariant transition matrix of PRAM."""

from __future__ import annotations

import numpy as np

from engine.mechanisms.pram import leaving, spread


def invariant(counts: np.ndarray, theta: float) -> np.ndarray:
    """``1 - θ T_min / T(k)`` on the diagonal, the rest of a row spread evenly, so that ``T A = T``."""
    return spread(leaving(counts, theta))
