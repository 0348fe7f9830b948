"""Declared analyses once more, by statsmodels on data frames, and the interval overlap as the papers describe it."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

Estimates = dict[str, tuple[float, float, float]]  # name: estimate, lower and upper end of the 95 % interval


def fitted(formula: str, family: str, frame: pd.DataFrame) -> Estimates:
    """Estimates and 95 % intervals of one regression."""
    if family == "linear":
        model: Any = smf.ols(formula, frame)
    else:
        kind = sm.families.Binomial() if family == "logistic" else sm.families.Poisson()
        model = smf.glm(formula, frame, family=kind)
    result = model.fit() if family == "linear" else model.fit(tol=1e-12, maxiter=200)
    ends = result.conf_int()
    return {name: (result.params[name], ends.loc[name, 0], ends.loc[name, 1]) for name in result.params.index}


def overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """J: the shared stretch as a share of the one interval and of the other, averaged."""
    _, low, high = one
    _, other_low, other_high = other
    shared = min(high, other_high) - max(low, other_low)
    if high == low or other_high == other_low:
        return nan
    return (shared / (high - low) + shared / (other_high - other_low)) / 2


def overlaps(before: Mapping[str, tuple], after: Mapping[str, tuple]) -> list[float]:
    return [overlap(before[name], after[name]) for name in before]


def reiter(estimates: list[float], variances: list[float]) -> tuple[float, float, float, float]:
    """Mean, total variance, degrees of freedom and gamma by Reiter's rules, one sum at a time."""
    d = len(estimates)
    mean = sum(estimates) / d
    within = sum(variances) / d
    between = sum((q - mean) ** 2 for q in estimates) / (d - 1)
    total = within + between / d
    gamma = (between / d) / total
    return mean, total, (d - 1) * (1 + within / (between / d)) ** 2 if between else np.inf, gamma
