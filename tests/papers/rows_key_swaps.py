"""Random and deterministic swapping of keys and PRAM in the papers' simulations, next to what the engine finds.

Liu and Little's study (table 2; the same as table 3 of the working paper on SMIKe): 750 records in 84 key cells with
the printed probabilities.  Protection of RDS can only be met when R1 is divided by the number of occupied cells, and
that of PRAM not at all for small s; by the printed definition, R1 is divided by the number of sensitive cells.  No
variables are needed: these mechanisms and risks see keys only.

Liu's study of MaPS (table 2): 100 records in four key cells, s = 10; columns headed RMSE hold mean squared errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms.base import Mechanism
from engine.mechanisms.key_swaps import DDS, RDS
from engine.mechanisms.pram import PRAM
from tests.numeric_data import numbered
from tests.papers import rows_maps
from tests.papers.rows_smike import PI_100, S1, S2, THRESHOLDS, N, r1, sensitivity

RDS_P1 = (0.755, 0.708, 0.677, 0.664, 0.661, 0.669, 0.681, 0.697)
RDS_AS_PRINTED = (0.107, 0.163, 0.235, 0.301, 0.367, 0.431, 0.496, 0.545)
PRAM_P1 = (0.629, 0.640, 0.638, 0.628, 0.630, 0.625, 0.599, 0.577)
PRAM_AS_PRINTED = (0.56, 0.50, 0.46, 0.42, 0.40, 0.37, 0.35, 0.34)
PRAM_NONEMPTY = (0.88, 0.83, 0.77, 0.72, 0.68, 0.63, 0.59, 0.56)
"""Printed protection, and what simulations elsewhere found where the printed cannot be met; s = 3 to 10."""
TABLE_2 = {
    "DDS": [
        (1.162, -3.051, -1.158, -1.049, 0.329),
        (1.662, 10.048, 1.709, 1.448, 0.154),
        (37.3, 4.2, 37.9, 46.8, 45.9),
    ],
    "RDS": [
        (0.389, -0.990, -0.544, -0.137, 0.310),
        (0.453, 1.633, 0.644, 0.354, 0.140),
        (84.8, 66.8, 76.4, 93.4, 49.6),
    ],
}
"""Biases, mean squared errors and coverages in per cent of the regression on four cells."""
GIVEN: dict[str, tuple[Mechanism, dict[str, str]]] = {
    "DDS": (DDS, {"s": "10"}),
    "RDS": (RDS, {"s": "10", "partner_pool": "other_cell", "avoid_initiators": "yes"}),
}
BIAS = {"DDS": 0.06, "RDS": 0.05}
MSE, COVERAGE, SETS, DF = 0.06, 4.0, 1000, 96
"""Tolerances of biases; of mean squared errors, relative, beyond two standard errors of the difference of the two
simulations; of coverages, in percentage points.  Then the paper's number of data sets, and its degrees of freedom."""


def _run(mechanism: Mechanism, data: Microdata, given: dict[str, str], *parts: object) -> np.ndarray:
    """The released codes of the only key."""
    setting = mechanism.setting(data, given, (0,))
    (table,) = mechanism.draw(mechanism.prepare(setting), setting, derive(bytes(16), "paper", parts)).tables
    return table.codes(0)


def protection(sets: int) -> dict[str, np.ndarray]:
    """R1 over sensitive cells and over occupied cells by threshold, ``(sets, 2, 8)``, of RDS, DDS and PRAM; 1 - that is
    P1.  And the expectation that RDS must have for the second."""
    rng = np.random.default_rng(84)
    found = {name: np.empty((sets, 2, len(THRESHOLDS))) for name in ("RDS", "DDS", "PRAM", "expected")}
    for one in range(sets):
        x = np.unique(rng.choice(84, N, p=PI_100 / PI_100.sum()), return_inverse=True)[1]
        data, counts = numbered({"x": x}, {}), np.bincount(x)
        perturbed = _run(PRAM, data, {}, one, "PRAM")
        for t, s in enumerate(THRESHOLDS):
            divisors = np.array([np.count_nonzero(counts <= s), len(counts)])
            shown = {"PRAM": perturbed}
            for name, mechanism in (("RDS", RDS), ("DDS", DDS)):
                shown[name] = _run(mechanism, data, {"s": str(s)}, one, name, s)
            for name, released in shown.items():
                found[name][one, :, t] = 1 - r1(x, released[None, :], s) / divisors
            share = counts[counts <= s].sum() / N
            found["expected"][one, :, t] = 1 - (1 - share) ** 2 * divisors[0] / divisors
    return found


def _row(name: str, published: float, values: np.ndarray, grade: str, within: float, why: str = "") -> dict[str, Any]:
    return _judged(name, published, float(values.mean()), _se(values), grade, within, why)


def _se(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _judged(name: str, published: float, ours: float, se: float, grade: str, within: float, why: str) -> dict[str, Any]:
    return {
        "row": name, "published": published, "ours": round(float(ours), 4), "se": round(float(se), 4), "grade": grade,
        "verdict": "agrees" if abs(ours - published) <= within else "differs", "why": why,
    }  # fmt: skip


def rows_003(quick: bool) -> list[dict[str, Any]]:
    """s1 and s2 over 500 data sets, protection over 500, the paper's number (quick: 200 and 30)."""
    out = []
    found = sensitivity(200 if quick else 500)
    for t, s in enumerate(THRESHOLDS):
        out.append(_row(f"s1 (sensitive cells of 84), s={s}", S1[t], found[:, 0, t], "B", 0.006))
        out.append(_row(f"s2 (share of sensitive records), s={s}", S2[t], found[:, 1, t], "B", 0.006))
    risks = protection(30 if quick else 500)
    for t, s in enumerate(THRESHOLDS):
        by, over = {k: v[:, 0, t] for k, v in risks.items()}, {k: v[:, 1, t] for k, v in risks.items()}
        out.append(_row(f"DDS P1, s={s}", 1.0, by["DDS"], "A", 0.0))
        why = "R1 divided by the occupied cells, not by the sensitive ones"
        out.append(_row(f"RDS P1, s={s}", RDS_P1[t], over["RDS"], "B", 0.010, why))
        why = f"as printed; elsewhere {RDS_AS_PRINTED[t]:.3f} by this definition"
        out.append(_row(f"RDS P1 over sensitive cells, s={s}", RDS_P1[t], by["RDS"], "X", 0.010, why))
        why = f"R1 divided by the occupied cells; elsewhere {PRAM_NONEMPTY[t]:.2f} so"
        out.append(_row(f"PRAM P1, s={s}", PRAM_P1[t], over["PRAM"], "C" if s >= 8 else "X", 0.02, why))
        why = f"as printed; elsewhere {PRAM_AS_PRINTED[t]:.2f} by this definition"
        out.append(_row(f"PRAM P1 over sensitive cells, s={s}", PRAM_P1[t], by["PRAM"], "X", 0.02, why))
    return out


def simulate(sets: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates and half widths of 95 % intervals, each ``(sets, 5)``, after DDS and after RDS."""
    rng = np.random.default_rng(20001)
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in TABLE_2}
    while len(found["DDS"]) < sets:
        x = rng.choice(4, rows_maps.N, p=rows_maps.PI)
        y = rng.normal(size=rows_maps.N) + np.array(rows_maps.MU)[x]
        if len(np.unique(x)) < 4:
            continue  # a coefficient would not exist; one set in 300
        data, one = numbered({"x": x}, {}), len(found["DDS"])
        for name, (mechanism, given) in GIVEN.items():
            released = _run(mechanism, data, given, one, name)
            found[name].append(rows_maps.combined([rows_maps.estimates(released, y)]))
    return {name: (np.array([q for q, _ in two]), np.array([h for _, h in two])) for name, two in found.items()}


def rows_000(quick: bool) -> list[dict[str, Any]]:
    """Every figure of table 2: 500 data sets when quick, otherwise 10,000 (the paper: 1000)."""
    out = []
    for name, (q, half) in simulate(500 if quick else 10_000).items():
        for c, parameter in enumerate(rows_maps.NAMES):
            bias, mse, coverage = (figures[c] for figures in TABLE_2[name])
            label, error = f"{name} {parameter}", q[:, c] - rows_maps.TRUE[c]
            out.append(_row(f"{label} bias", bias, error, "B", BIAS[name]))
            grade = "B" if name == "DDS" else "C"
            squares = error**2
            noise = 2 * float(squares.std(ddof=1)) * np.sqrt(1 / len(q) + 1 / SETS)
            ours = float(squares.mean())
            why = "" if abs(ours / mse - 1) <= MSE else f"{ours / mse - 1:+.0%}, Monte-Carlo error ±{noise / mse:.0%}"
            out.append(_judged(f"{label} MSE", mse, ours, _se(squares), grade, MSE * mse + noise, why))
            covered, why = 100.0 * (np.abs(error) <= half[:, c]), ""
            if c == 4:  # σ² is 1
                low, high = chi2.ppf([0.025, 0.975], DF)
                covered, why = 100.0 * ((DF * q[:, c] >= low) & (DF * q[:, c] <= high)), "the interval by chi-square"
            out.append(_row(f"{label} coverage, %", coverage, covered, grade, COVERAGE, why))
    return out


def rows(quick: bool) -> list[dict[str, Any]]:
    """All rows of both papers."""
    return rows_003(quick) + rows_000(quick)
