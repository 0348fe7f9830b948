"""Figures of all pairs of attributes as symmetric matrices."""

from __future__ import annotations

import numpy as np

from engine.measures.distortion import (
    Distance,
    PairMargins,
    Statistic,
    _phi_of_pairs,
    pair_margins,
    strength,
    two_way_figures,
)
from engine.release.batch import ReleaseBatch


def symmetric(margins: PairMargins, figures: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Figures per pair as square matrices, shape ``(candidates, attributes, attributes)``."""
    d = diagonal.shape[-1]
    first, second = np.array(margins.pairs, np.int64).reshape(-1, 2).T
    matrix = np.zeros((margins.n_candidates, d, d))
    matrix[:, np.arange(d), np.arange(d)] = diagonal
    matrix[:, first, second] = matrix[:, second, first] = figures
    return matrix


def association_matrix(batch: ReleaseBatch, statistic: Statistic = "cramers_v", which: str = "change") -> np.ndarray:
    """Associations of all pairs as symmetric matrices, shape ``(candidates, attributes, attributes)``.

    ``which`` is change (original less released, signed, diagonal 0), original or released (diagonal NaN: an attribute
    with itself says nothing).
    """
    before, after = (strength(*phi, statistic) for phi in _phi_of_pairs(pair_margins(batch)))
    figures = {"change": before - after, "original": np.broadcast_to(before, after.shape), "released": after}[which]
    diagonal = np.full((len(batch), len(batch.shape)), 0.0 if which == "change" else np.nan)
    return symmetric(pair_margins(batch), figures, diagonal)


def two_way_matrix(batch: ReleaseBatch, distance: Distance) -> np.ndarray:
    """A distance on every two-way margin, shape ``(candidates, attributes, attributes)``; on the diagonal that of the
    one-way margins."""
    single = [distance(batch.project((j,))) for j in range(len(batch.shape))]
    return symmetric(pair_margins(batch), two_way_figures(batch, distance), np.stack(single, axis=-1))
