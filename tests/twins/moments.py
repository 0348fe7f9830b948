"""Means, covariances and correlations once more, by pandas on whole frames."""

from __future__ import annotations

from math import isnan, log, nan, sqrt

import pandas as pd

Frames = list[tuple[pd.DataFrame, pd.DataFrame]]  # per stratum: before, after


def mean_shift(before: pd.DataFrame, strata: Frames) -> float:
    """Mean of |difference of means| over the standard deviation of the whole original."""
    shifts = [
        abs(new[c].mean() - old[c].mean()) / before[c].std()
        for old, new in strata
        for c in before.columns
        if before[c].std() > 0 and new[c].notna().any() and old[c].notna().any()
    ]
    return sum(shifts) / len(shifts) if shifts else nan


def covariances(frame: pd.DataFrame) -> dict[tuple[str, str], float]:
    """The covariance of every two columns, by their names."""
    matrix = frame.cov().to_dict()
    return {(str(a), str(b)): float(value) for b, column in matrix.items() for a, value in column.items()}


def covariance_ratio(strata: Frames) -> tuple[float, int]:
    """Mean |log(after / before)| over all entries with a positive ratio, and the number of sign changes."""
    sizes, turned = [], 0
    for old, new in strata:
        before, after = covariances(old), covariances(new)
        for a in old.columns:
            for b in old.columns:
                if isnan(before[a, b]) or isnan(after[a, b]) or abs(before[a, b]) < 1e-12:
                    continue
                ratio = after[a, b] / before[a, b]
                if ratio > 0:
                    sizes.append(abs(log(ratio)))
                turned += ratio < 0
    return (sum(sizes) / len(sizes) if sizes else nan), turned


def correlation_change(strata: Frames) -> list[float]:
    """|difference of correlations| of every two columns, where both are defined."""
    found = []
    for old, new in strata:
        before, after = covariances(old), covariances(new)
        for i, a in enumerate(old.columns):
            for b in old.columns[:i]:
                scales = [m[a, a] * m[b, b] for m in (before, after)]
                if all(scale > 0 for scale in scales):
                    found.append(abs(after[a, b] / sqrt(scales[1]) - before[a, b] / sqrt(scales[0])))
    return found
