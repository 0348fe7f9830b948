"""Reiter's combining rules for estimates from several partially synthetic releases.

Reiter (2003), Inference for partially synthetic, public use microdata sets, Survey Methodology 29(2), 181-188.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean

DegreesOfFreedom = Literal["reiter", "printed"]
DF: tuple[DegreesOfFreedom, ...] = get_args(DegreesOfFreedom)
"""Degrees of freedom: Reiter's, or as printed in Little and Liu (an erratum: 1 + 1/gamma, squared)."""


class Combined(NamedTuple):
    """Per estimate: mean over releases, mean variance within, variance between, total variance, degrees of freedom and
    the fraction of information lost, ``gamma = (B/D) / T`` in [0, 1) (NaN for a single release)."""

    estimate: np.ndarray
    within: np.ndarray
    between: np.ndarray
    total: np.ndarray
    df: np.ndarray
    gamma: np.ndarray


def mean_over_releases(values: np.ndarray) -> np.ndarray:
    """Mean over the first axis; of equal values that value itself, bit for bit."""
    result: np.ndarray = np.where((values == values[0]).all(axis=0), values[0], values.mean(axis=0))
    return result


def combine(
    estimates: np.ndarray,
    variances: np.ndarray,
    complete_df: np.ndarray | float = np.inf,
    df: DegreesOfFreedom = "reiter",
) -> Combined:
    """Combine ``(D, m)`` estimates and their variances.

    ``T = W + B/D`` and ``nu = (D-1) / gamma**2``, at most ``complete_df`` (the degrees of freedom of the analysis on
    one data set).  With one release T is W and says nothing of what the mechanism adds.  NaN where an estimate is NaN
    in any release.  A mean variance of zero is an :class:`EngineError`.
    """
    if df not in DF:
        raise UsageError(f"df == '{df}', must be {' or '.join(DF)}.{did_you_mean(df, DF)}")
    q, v = np.atleast_2d(np.asarray(estimates, float)), np.atleast_2d(np.asarray(variances, float))
    if q.shape != v.shape:
        raise EngineError(f"estimates of shape {q.shape} and variances of shape {v.shape}, must be of one shape")
    if (v < 0).any() or (v.mean(axis=0) == 0).any():
        raise EngineError("an estimate has no variance in any release; such estimates cannot be combined")
    d = len(q)
    mean, within = mean_over_releases(q), mean_over_releases(v)
    cap = np.broadcast_to(np.asarray(complete_df, float), mean.shape)
    if d == 1:
        nothing = np.full(mean.shape, np.nan)
        return Combined(mean, within, nothing, within, cap.copy(), nothing.copy())
    between = ((q - mean) ** 2).sum(axis=0) / (d - 1)
    between = np.where((q == q[0]).all(axis=0), 0.0, between)
    total = within + between / d
    gamma = (between / d) / total
    with np.errstate(divide="ignore"):
        nu = (d - 1) / gamma**2 if df == "reiter" else (d - 1) * (1 + 1 / gamma) ** 2
    return Combined(mean, within, between, total, np.minimum(nu, cap), gamma)
