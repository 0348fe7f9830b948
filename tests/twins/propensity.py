"""Propensity measures once more: statsmodels on stacked records, one row a record, and scipy's Kolmogorov-Smirnov."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import patsy
import statsmodels.api as sm
from scipy.stats import ks_2samp


def propensities(before: pd.DataFrame, after: pd.DataFrame, formula: str) -> tuple[np.ndarray, int]:
    """Chances of being a released record, originals first, and the rank of the model."""
    stacked = pd.concat([before, after], ignore_index=True)
    x = np.asarray(patsy.dmatrix(formula, stacked))
    label = np.repeat([0.0, 1.0], [len(before), len(after)])
    result: Any = sm.GLM(label, x, family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200)
    return result.fittedvalues, int(np.linalg.matrix_rank(x))


def pmse(chance: np.ndarray) -> float:
    return sum((p - 0.5) ** 2 for p in chance) / len(chance)


def pmse_ratio(chance: np.ndarray, k: int) -> float:
    return pmse(chance) / ((k - 1) * (1 - 0.5) ** 2 * 0.5 / len(chance))


def specks(chance: np.ndarray) -> float:
    half = len(chance) // 2
    rounded = np.round(chance, 7)
    return float(ks_2samp(rounded[:half], rounded[half:], method="asymp").statistic)
