"""Statistics of fitted log-linear models: AIC, BIC and deviance."""

from __future__ import annotations

import math

from engine.models.loglinear import Counts, Fit


def aic(fitted: Fit) -> float:
    """Akaike's criterion, ``-2 l + 2 k``."""
    return -2 * fitted.log_likelihood + 2 * fitted.n_parameters


def bic(fitted: Fit, n_records: int) -> float:
    """Schwarz's criterion, ``-2 l + k log n``."""
    return -2 * fitted.log_likelihood + fitted.n_parameters * math.log(n_records)


def score(fitted: Fit, criterion: str, counts: Counts) -> float:
    """``aic`` or ``bic`` of a fit."""
    return aic(fitted) if criterion == "aic" else bic(fitted, counts.n_records)


def deviance(fitted: Fit, counts: Counts) -> float:
    """Likelihood ratio statistic G² against the saturated model."""
    return 2 * (counts.saturated - fitted.log_likelihood)
