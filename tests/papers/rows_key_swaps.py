"""Random and deterministic swapping of keys and PRAM in the papers' simulations, next to what the engine finds.

Liu and Little's study (table 2; the same as table 3 of the working paper on SMIKe): 750 records in 84 key cells with
the printed probabilities.  Protection of RDS can only be met when R1 is divided by the number of occupied cells, and
that of PRAM not at all for small s; by the printed definition, R1 is divided by the number of sensitive cells.  No
variables are needed: these mechanisms and risks see keys only.

Liu's study of MaPS (table 2): 100 records in four key cells, s = 10; columns headed RMSE hold mean squared errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, islice

import numpy as np
from scipy.stats import chi2

from engine.common.streams import derive
from engine.mechanisms.base import Mechanism
from engine.mechanisms.key_swaps import DDS, RDS
from engine.mechanisms.pram import PRAM
from tests.papers import rows_maps
from tests.papers.growing import growing
from tests.papers.row import Row
from tests.papers.rows_maps import mean_row
from tests.papers.rows_smike import PI_100, THRESHOLDS, N, r1
from tests.papers.simulated import Candidate

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
GIVEN = {
    "DDS": {"s": "10"},
    "RDS": {"s": "10", "partner_pool": "other_cell", "avoid_initiators": "yes"},
}
TABLE_2_BY: dict[str, Mechanism] = {"DDS": DDS, "RDS": RDS}
KEY_SWAPS: dict[str, Mechanism] = {**TABLE_2_BY, "PRAM": PRAM}
R1_OVER_OCCUPIED = "R1 divided by the occupied cells, not by the sensitive ones†"
_TOGETHER = 100  # data sets whose regressions are computed together
SETS, SETS_003, DF = 1000, 500, 96
"""The papers' numbers of data sets; degrees of freedom of σ²."""
READINGS = {
    "DDS": "s=10; at most s are sensitive†; partner of any other cell†",
    "RDS": "s=10; partner_pool=other_cell†; avoid_initiators=yes†; at most s are sensitive†",
}
WEAK = {("DDS", "σ²", "coverage, %"), ("RDS", "σ²", "coverage, %"), ("RDS", "β3", "coverage, %")}


def protection(sets: int, mechanisms: Mapping[str, Mechanism] = KEY_SWAPS) -> dict[str, np.ndarray]:
    """R1 over sensitive cells and over occupied cells by threshold, ``(sets, 2, 8)``, of each mechanism; 1 - that is
    P1.  And the expectation that RDS must have for the second."""
    found = {name: np.array(_protected(sets, name, mechanism)) for name, mechanism in mechanisms.items()}
    return {**found, "expected": np.array(_expected(sets))}


def _cells() -> Iterator[np.ndarray]:
    """The key cells of one data set after the other."""
    rng = np.random.default_rng(84)
    while True:
        yield np.unique(rng.choice(84, N, p=PI_100 / PI_100.sum()), return_inverse=True)[1]


def _divisors(counts: np.ndarray, s: int) -> np.ndarray:
    return np.array([np.count_nonzero(counts <= s), len(counts)])


@growing
def _protected(name: str, mechanism: Mechanism) -> Iterator[np.ndarray]:
    given: list[dict[str, str]] = [{}] if name == "PRAM" else [{"s": str(s)} for s in THRESHOLDS]
    candidates = [Candidate(mechanism, one) for one in given]
    for one, x in enumerate(_cells()):
        counts, out = np.bincount(x), np.empty((2, len(THRESHOLDS)))
        tables = [
            candidate.of_cells(x, derive(bytes(16), "paper", (one, name, *map(int, candidate.given.values()))))
            for candidate in candidates
        ]
        for t, s in enumerate(THRESHOLDS):
            shown = tables[t % len(tables)]
            out[:, t] = 1 - r1(x, shown[None, :], s) / _divisors(counts, s)
        yield out


@growing
def _expected() -> Iterator[np.ndarray]:
    for x in _cells():
        counts, out = np.bincount(x), np.empty((2, len(THRESHOLDS)))
        for t, s in enumerate(THRESHOLDS):
            divisors, share = _divisors(counts, s), counts[counts <= s].sum() / N
            out[:, t] = 1 - (1 - share) ** 2 * divisors[0] / divisors
        yield out


def rows_003(quick: bool, mechanisms: Mapping[str, Mechanism] = KEY_SWAPS) -> list[Row]:
    """Protection over 500 data sets, the paper's number (quick: 30)."""
    out, risks = [], protection(30 if quick else SETS_003, mechanisms)
    for t, s in enumerate(THRESHOLDS):
        for name in mechanisms:
            out += _PROTECTION[name](t, s, *risks[name][:, :, t].T)
    return out


def _dds(t: int, s: int, by: np.ndarray, over: np.ndarray) -> list[Row]:
    return [Row(f"DDS P1, s={s}", 1.0, float(by.mean()), "A", 3, units=0)]


def _rds(t: int, s: int, by: np.ndarray, over: np.ndarray) -> list[Row]:
    far = "too large by 0.004 to 0.005 up to s=5, in 40,000 data sets as well" if s <= 5 else ""
    why = f"as printed; elsewhere {RDS_AS_PRINTED[t]:.3f} by this definition"
    return [
        mean_row(f"RDS P1, s={s}", RDS_P1[t], over, SETS_003, "C" if far else "B", reading=R1_OVER_OCCUPIED, why=far),
        mean_row(f"RDS P1 over sensitive cells, s={s}", RDS_P1[t], by, SETS_003, "X", why=why),
    ]


def _pram(t: int, s: int, by: np.ndarray, over: np.ndarray) -> list[Row]:
    near = f"elsewhere {PRAM_NONEMPTY[t]:.2f} so; not explained by any reading, the printed row does not follow s"
    why = f"as printed; elsewhere {PRAM_AS_PRINTED[t]:.2f} by this definition"
    return [
        mean_row(
            f"PRAM P1, s={s}", PRAM_P1[t], over, SETS_003, "C" if s >= 8 else "X", reading=R1_OVER_OCCUPIED, why=near
        ),
        mean_row(f"PRAM P1 over sensitive cells, s={s}", PRAM_P1[t], by, SETS_003, "X", why=why),
    ]


_PROTECTION = {"DDS": _dds, "RDS": _rds, "PRAM": _pram}


def simulate(sets: int, mechanisms: Mapping[str, Mechanism]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates and half widths of 95 % intervals, each ``(sets, 5)``, after DDS and after RDS."""
    return {name: rows_maps.combined(_fits(sets, name, mechanism)) for name, mechanism in mechanisms.items()}


@growing
def _fits(name: str, mechanism: Mechanism) -> Iterator[np.ndarray]:
    """Estimates and variances of each data set, ``(1, 2, 5)``."""
    candidate = Candidate(mechanism, GIVEN[name])
    numbers, data_sets = count(), rows_maps.data_sets.each(20001)
    while True:
        some = list(islice(data_sets, _TOGETHER))
        released = [candidate.of_cells(x, derive(bytes(16), "paper", (next(numbers), name))) for x, _ in some]
        yield from rows_maps.estimates(np.array(released), np.array([y for _, y in some]))[:, None]


def rows_000(quick: bool, mechanisms: Mapping[str, Mechanism] = TABLE_2_BY) -> list[Row]:
    """Every figure of table 2: 500 data sets when quick, otherwise 10,000 (the paper: 1000)."""
    out = []
    for name, (q, half) in simulate(500 if quick else 10_000, mechanisms).items():
        for c, parameter in enumerate(rows_maps.NAMES):
            error = q[:, c] - rows_maps.TRUE[c]
            covered, interval = 100.0 * (np.abs(error) <= half[:, c]), ""
            if c == 4:  # σ² is 1
                low, high = chi2.ppf([0.025, 0.975], DF)
                covered = 100.0 * ((DF * q[:, c] >= low) & (DF * q[:, c] <= high))
                interval = "; interval by chi-square†"
            values = {
                "bias": (error, 3, ""),
                "MSE": (error**2, 3, f"; {rows_maps.PRINTED_AS_RMSE}"),
                "coverage, %": (covered, 1, interval),
            }
            for k, (what, (figures, digits, more)) in enumerate(values.items()):
                weak = (name, parameter, what) in WEAK
                why = rows_maps.UNSTATED if c == 4 else "too noisy to tell RDS from doing nothing"
                out.append(
                    mean_row(
                        f"{name} {parameter} {what}", TABLE_2[name][k][c], figures, SETS, "C" if weak else "B", digits,
                        reading=READINGS[name] + more, why=why if weak else "",
                    )
                )  # fmt: skip
    return out
