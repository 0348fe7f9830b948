"""Counts of a table of which only the margins are known, held as likely as the strength of its association allows.

How strongly two attributes hang together is unknown.  The phi coefficients of a table's cells (the correlations of the
indicators of two levels) are drawn at one scale: at a small one cells stand close to independence, at a large one they
may hold any number that the margins allow.  Tables differ: each has a scale of its own, as likely to be any number up
to the largest of them, and of this each of :data:`SCALES` is as likely as any other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

SCALES = np.geomspace(0.005, 1.0, 12)
"""Scales of phi coefficients that are tried."""
_NODES = 60  # counts of a cell that are tried
_BEND = 5.0  # they stand closer to independence, by a hyperbolic sine


class UnknownCount(NamedTuple):
    """Counts that a cell may have, and the weight of each under each scale (one row each, which sum to 1)."""

    counts: np.ndarray
    weights: np.ndarray


def unknown_count(size: int, n_x: int, n: int) -> UnknownCount:
    """The count of a cell of two levels that ``size`` and ``n_x`` of ``n`` records have."""
    expected = size * n_x / n
    unit = math.sqrt(expected * (1 - size / n) * (n - n_x))  # records by phi
    below, above = expected - max(0, size + n_x - n), min(size, n_x) - expected
    curve = np.sinh(_BEND * np.linspace(0, 1, _NODES // 2 + 1)) / math.sinh(_BEND)
    nodes = np.concatenate([-below * curve[:0:-1], above * curve])
    density = 1 / (1 + (nodes / unit / SCALES[:, None]) ** 2) ** 2  # about that of Student's t with three degrees
    weights = density * np.gradient(nodes)
    return UnknownCount(expected + nodes, weights / weights.sum(axis=1, keepdims=True))


def known_count(least: float, most: float) -> UnknownCount:
    """A count that is known to lie between two numbers, whatever the scale."""
    counts = np.unique(np.linspace(least, most, 9).round())
    return UnknownCount(counts, np.full((len(SCALES), len(counts)), 1 / len(counts)))


def up_to_largest(log_likelihood: np.ndarray) -> np.ndarray:
    """From the logarithms of a table's likelihood by its own scale (rows), those by the largest scale of all tables."""
    logs = np.log(SCALES)[:, None]  # neighbours are as far apart as they are large
    return np.asarray(np.logaddexp.accumulate(log_likelihood + logs, axis=0) - np.logaddexp.accumulate(logs, axis=0))
