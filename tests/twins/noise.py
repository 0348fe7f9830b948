"""Additive noise, number by number; slow on purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def covariance(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    n, p = len(rows), len(rows[0])
    mean = [sum(row[c] for row in rows) / n for c in range(p)]
    return [
        [sum((row[a] - mean[a]) * (row[b] - mean[b]) for row in rows) / (n - 1) for b in range(p)] for a in range(p)
    ]


def square_root(matrix: np.ndarray) -> np.ndarray:
    """The symmetric root by Denman and Beavers' iteration; the matrix must be regular."""
    y, z = matrix, np.eye(len(matrix))
    for _ in range(60):
        y, z = (y + np.linalg.inv(z)) / 2, (z + np.linalg.inv(y)) / 2
    return y


def noisy(
    rows: Sequence[Sequence[float]], normals: Sequence[Sequence[float]], c: float, rescale: bool
) -> list[list[float]]:
    """X + sqrt(c) z R D with R² the correlations and D the standard deviations."""
    n, p = len(rows), len(rows[0])
    mean = [sum(row[k] for row in rows) / n for k in range(p)]
    sigma = covariance(rows)
    sd = [math.sqrt(sigma[k][k]) for k in range(p)]
    root = square_root(np.array([[sigma[a][b] / sd[a] / sd[b] for b in range(p)] for a in range(p)]))
    out = []
    for row, z in zip(rows, normals, strict=True):
        new = [row[k] + math.sqrt(c) * sum(z[j] * root[j][k] for j in range(p)) * sd[k] for k in range(p)]
        out.append([mean[k] + (new[k] - mean[k]) / math.sqrt(1 + c) if rescale else new[k] for k in range(p)])
    return out
