"""Liu's simulation of MaPS (section 5, table 1), next to what the engine finds.

1000 data sets of 100 records in four key cells; the regression of y on the cells is fitted to the original and, with
the combining rules for partially synthetic data, to the D tables.  What MaPS does is judged by the *paired* shift of
the mean estimate, which is free of the noise that original and release share; columns that the paper heads RMSE hold
mean squared errors.  How many tables the paper drew is not stated; D = 3 here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student

from engine.common.streams import derive
from engine.mechanisms.maps import MAPS
from tests.numeric_data import numbered

PI, MU, N, D = (0.0625, 0.0625, 0.5, 0.375), (0.0, 3.0, 1.5, 0.5), 100, 3
TRUE = np.array([0.0, 3.0, 1.5, 0.5, 1.0])
NAMES = ("β0", "β1", "β2", "β3", "σ²")
CUTPOINTS = ("0.9", "0.8", "0.7", "0.6")
PUBLISHED = {
    "raw": [
        (0.001, 0.003, -0.006, 0.001, 0.003),
        (0.207, 0.41, 0.221, 0.232, 0.021),
        (95.0, 95.4, 95.2, 94.6, 95.6),
    ],
    "0.9": [
        (0.014, -0.012, -0.019, -0.014, 0.003),
        (0.209, 0.415, 0.223, 0.236, 0.021),
        (94.9, 95.1, 95.1, 94.8, 95.5),
    ],
    "0.8": [
        (0.041, -0.046, -0.045, -0.045, 0.004),
        (0.215, 0.426, 0.229, 0.244, 0.021),
        (94.4, 95.1, 94.6, 94.5, 95.4),
    ],
    "0.7": [
        (0.068, -0.082, -0.072, -0.076, 0.006),
        (0.225, 0.44, 0.24, 0.225, 0.021),
        (94.2, 94.3, 94.1, 94.1, 95.5),
    ],
    "0.6": [
        (0.098, -0.133, -0.1, -0.111, 0.01),
        (0.223, 0.459, 0.238, 0.254, 0.022),
        (94.9, 94.6, 94.1, 94.7, 95.0),
    ],
}
"""Biases, mean squared errors and coverages in per cent of the five parameters."""
SHIFT, MSE, COVERAGE, SETS = 0.02, 0.08, 2.0, 1000
"""Tolerances: of shifts; of mean squared errors, relative, beyond two standard errors of the difference of the two
simulations; of coverages, in percentage points.  And the paper's number of data sets."""


def estimates(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """β0 to β3 and σ² of the regression on cells, and their variances."""
    n = np.bincount(x, minlength=4)
    means = np.bincount(x, weights=y, minlength=4) / n
    s2 = float(np.sum((y - means[x]) ** 2)) / (len(y) - 4)
    beta = np.append(means[0], means[1:] - means[0])
    variance = s2 * np.append(1 / n[0], 1 / n[1:] + 1 / n[0])
    return np.append(beta, s2), np.append(variance, 2 * s2**2 / (len(y) - 4))


def combined(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean estimates and half widths of 95 % intervals over D tables (Reiter 2003); the usual ones for one."""
    q, v = np.array([one for one, _ in found]), np.array([two for _, two in found])
    inside, df = v.mean(axis=0), np.full(5, float(N - 4))
    total = inside
    if len(q) > 1:
        between = q.var(axis=0, ddof=1) / len(q)
        total = inside + between
        with np.errstate(divide="ignore"):
            df = np.minimum(df, (len(q) - 1) * (1 + inside / between) ** 2)
    return q.mean(axis=0), student.ppf(0.975, df) * np.sqrt(total)


def simulate(sets: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates and half widths, each ``(sets, 5)``, of the original and of MaPS at every cutpoint."""
    rng, key = np.random.default_rng(20000), bytes(16)
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in PUBLISHED}
    while len(found["raw"]) < sets:
        x = rng.choice(4, N, p=PI)
        y = rng.normal(size=N) + np.array(MU)[x]
        if len(np.unique(x)) < 4:
            continue  # a coefficient would not exist; one set in 300
        data = numbered({"x": x}, {"y": y})
        found["raw"].append(combined([estimates(x, y)]))
        prepared = None
        for w0 in CUTPOINTS:
            setting = MAPS.setting(data, {"s": "10", "w0": w0, "D": str(D)}, (0,), ("y",))
            prepared = prepared or MAPS.prepare(setting)
            drawn = MAPS.draw(prepared, setting, derive(key, "paper", (len(found["raw"]), w0)))
            found[w0].append(combined([estimates(table.codes(0), y) for table in drawn.tables]))
    return {name: (np.array([q for q, _ in two]), np.array([h for _, h in two])) for name, two in found.items()}


def _row(name: str, published: float, ours: float, se: float, grade: str, holds: bool, why: str) -> dict[str, Any]:
    return {
        "row": name, "published": published, "ours": round(float(ours), 4), "se": round(float(se), 4), "grade": grade,
        "verdict": "agrees" if holds else "differs", "why": why,
    }  # fmt: skip


def rows(quick: bool) -> list[dict[str, Any]]:
    """Every figure of table 1: 250 data sets when quick, otherwise 1500."""
    found, out = simulate(250 if quick else 1500), []
    raw = found["raw"][0]
    root = np.sqrt(len(raw))
    for name in PUBLISHED:
        q, half = found[name]
        error = (q - TRUE) ** 2
        for c, parameter in enumerate(NAMES):
            bias, mse, coverage = (figures[c] for figures in PUBLISHED[name])
            label = f"MaPS w0={name} {parameter}" if name != "raw" else f"original {parameter}"
            if name != "raw":
                shift = q[:, c] - raw[:, c]
                printed = round(bias - PUBLISHED["raw"][0][c], 3)
                se = shift.std(ddof=1) / root
                holds = abs(shift.mean() - printed) <= SHIFT
                out.append(_row(f"{label} shift of the mean", printed, shift.mean(), se, "B", holds, ""))
            ours, spread = error[:, c].mean(), error[:, c].std(ddof=1)
            noise = 2 * spread * np.sqrt(1 / len(q) + 1 / SETS)
            holds, close = abs(ours - mse) <= MSE * mse + noise, abs(ours - mse) <= MSE * mse
            why = "" if close else f"{ours / mse - 1:+.0%}, Monte-Carlo error of both ±{noise / mse:.0%}"
            out.append(_row(f"{label} MSE", mse, ours, spread / root, "B", holds, why))
            share = 100 * (np.abs(q[:, c] - TRUE[c]) <= half[:, c]).mean()
            se = np.sqrt(share * (100 - share)) / root
            grade = "C" if c == 4 else "B"
            why = "how the paper makes intervals for σ² is not stated" if c == 4 else ""
            out.append(_row(f"{label} coverage, %", coverage, share, se, grade, abs(share - coverage) <= COVERAGE, why))
    return out
