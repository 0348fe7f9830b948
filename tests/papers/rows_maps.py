"""Liu's simulation of MaPS (section 5, table 1), next to what the engine finds.

1000 data sets of 100 records in four key cells; the regression of y on the cells is fitted to the original and, with
the combining rules for partially synthetic data, to the D tables.  Columns that the paper heads RMSE hold mean squared
errors (its σ² under RDS would otherwise have more bias than error).

What the four cutpoints do to the same data sets is compared from one to the next: those increments are free of the
noise that the releases share, so they are known two to ten times better than a published bias and are the gates here.
Our biases of MaPS leave that noise out too: the original's regression is unbiased, cell means and s² whatever the
cells are, so the mean change of the estimates is the bias.  Biases and increments agree within .9 standard errors;
shifts against the printed column "Raw" differ by about three at w0=0.9 if the paper computed that column on the same
data sets, by less than one if it did not; the paper does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.stats import t as student

from engine.common.streams import derive
from engine.mechanisms.base import Mechanism
from engine.mechanisms.maps import MAPS
from tests.papers.growing import growing
from tests.papers.row import Row, of_other
from tests.papers.simulated import Candidate, DataSet

PI, MU, N, D = (0.0625, 0.0625, 0.5, 0.375), (0.0, 3.0, 1.5, 0.5), 100, 3
TRUE = np.array([0.0, 3.0, 1.5, 0.5, 1.0])
NAMES = ("β0", "β1", "β2", "β3", "σ²")
CUTPOINTS = ("0.9", "0.8", "0.7", "0.6")
STEPS = (*pairwise(CUTPOINTS), ("0.9", "0.6"))
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
SETS = 1000
TOO_SMALL = {("0.9", "0.8", "σ²"), ("0.8", "0.7", "σ²"), ("0.7", "0.6", "β2")}
READING = f"s=10; D={D}*; partners of the same cell too†; scale of Σ is the sum of squares*"
PAIRED = "our original's own bias, 0 in expectation, is left out"
PRINTED_AS_RMSE = "MSE printed as RMSE*"
WEAK = "too noisy to tell MaPS from doing nothing"
UNSTATED = "how the paper makes intervals for σ² is not stated"


def estimates(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """β0 to β3 and σ² of the regression on cells, then their variances, of each table: shape ``(tables, 2, 5)``.

    ``x`` (tables, records) are the cells in each table, ``y`` the numbers, in all tables the same or as ``x``.
    """
    tables, records = x.shape
    y = np.broadcast_to(y, x.shape)
    place = (x + 4 * np.arange(tables)[:, None]).ravel()
    n = np.bincount(place, minlength=4 * tables).reshape(tables, 4)
    means = np.bincount(place, weights=y.ravel(), minlength=4 * tables) / n.ravel()
    s2 = np.sum((y - means[place].reshape(x.shape)) ** 2, axis=1) / (records - 4)
    found = np.empty((tables, 2, 5))
    found[:, 0, :4], found[:, 1, :4] = means.reshape(tables, 4), 1 / n
    found[:, 0, 1:4] -= found[:, 0, :1]
    found[:, 1, 1:4] += found[:, 1, :1]
    found[:, 1, :4] *= s2[:, None]
    found[:, 0, 4], found[:, 1, 4] = s2, [2 * one**2 / (records - 4) for one in s2.tolist()]
    return found


def combined(fits: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean estimates and half widths of 95 % intervals, each ``(sets, 5)``, over the D tables of each data set (Reiter
    2003); the usual ones for one table."""
    q, v = np.moveaxis(np.array(fits), 2, 0)
    inside, df = v.mean(axis=1), np.full((len(q), 5), float(N - 4))
    total = inside
    if q.shape[1] > 1:
        between = q.var(axis=1, ddof=1) / q.shape[1]
        total = inside + between
        with np.errstate(divide="ignore"):
            df = np.minimum(df, (q.shape[1] - 1) * (1 + inside / between) ** 2)
    return q.mean(axis=1), student.ppf(0.975, df) * np.sqrt(total)


def simulate(sets: int, mechanism: Mechanism) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates and half widths, each ``(sets, 5)``, of the original and of MaPS at every cutpoint."""
    fits = _fits(sets, mechanism)
    return {name: combined([one[name] for one in fits]) for name in PUBLISHED}


@growing
def _fits(mechanism: Mechanism) -> Iterator[dict[str, np.ndarray]]:
    """Estimates and variances of each data set, ``(tables, 2, 5)``, of the original and at every cutpoint."""
    candidates = {w0: Candidate(mechanism, {"s": "10", "w0": w0, "D": str(D)}) for w0 in CUTPOINTS}
    for one, simulated in enumerate(_coded.each(), 1):
        tables = [simulated.x]
        for w0, candidate in candidates.items():
            made = candidate.tables(simulated, derive(bytes(16), "paper", (one, w0)))
            tables += [table.codes(0) for table in made]
        found = estimates(np.array(tables), simulated.numbers["y"])
        yield {"raw": found[:1], **{w0: found[1 + D * k : 1 + D * (k + 1)] for k, w0 in enumerate(CUTPOINTS)}}


@growing
def _coded() -> Iterator[DataSet]:
    for x, y in data_sets.each(20000):
        yield DataSet(x, y=y)


@growing
def data_sets(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Cells and numbers of records; without some cell, as in one set of 300, a coefficient would not exist."""
    rng = np.random.default_rng(seed)
    while True:
        x = rng.choice(4, N, p=PI)
        y = rng.normal(size=N) + np.array(MU)[x]
        if len(np.unique(x)) == 4:
            yield x, y


def mean_row(
    name: str, published: float, values: np.ndarray, sets: int, grade: str, digits: int = 3, units: float = 0.5,
    reading: str = "", why: str = "",
) -> Row:  # fmt: skip
    """A mean over our data sets beside a published one over ``sets``."""
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    theirs = of_other(error, len(values), sets)
    return Row(name, published, float(values.mean()), grade, digits, error, theirs, units, reading=reading, why=why)


def rows(quick: bool, mechanism: Mechanism = MAPS) -> list[Row]:
    """Every figure of table 1: 250 data sets when quick, otherwise 1500."""
    fits = simulate(250 if quick else 1500, mechanism)
    means = {name: q for name, (q, _) in fits.items()}
    return [*_increments(means), *_biases(means), *_errors_and_coverage(fits), *_shifts(means)]


def _increments(means: dict[str, np.ndarray]) -> list[Row]:
    out = []
    for more, less in STEPS:
        for c, parameter in enumerate(NAMES):
            printed = round(PUBLISHED[less][0][c] - PUBLISHED[more][0][c], 3)
            weak = (more, less, parameter) in TOO_SMALL
            out.append(
                mean_row(
                    f"MaPS w0={more} to {less} {parameter} increment of the mean", printed,
                    means[less][:, c] - means[more][:, c], SETS, "C" if weak else "B", units=1,
                    reading=f"{READING}; cutpoints share data sets*",
                    why=WEAK if weak else "",
                )
            )  # fmt: skip
    return out


def _biases(means: dict[str, np.ndarray]) -> list[Row]:
    out = []
    for name, (biases, _, _) in PUBLISHED.items():
        for c, parameter in enumerate(NAMES):
            strong = name == "0.6" and parameter != "σ²"
            why = "no mechanism in it" if name == "raw" else "" if strong else WEAK
            label, grade = _label(name, parameter), "B" if strong else "C"
            values = means[name][:, c] - TRUE[c]
            if name == "raw":
                out.append(mean_row(f"{label} bias", biases[c], values, SETS, grade, why=why))
                continue
            error = float(values.std(ddof=1) / np.sqrt(len(values)))
            theirs, change = of_other(error, len(values), SETS), values - (means["raw"][:, c] - TRUE[c])
            row = mean_row(f"{label} bias", biases[c], change, SETS, grade, reading=f"{READING}; {PAIRED}", why=why)
            out.append(replace(row, theirs=theirs))
    return out


def _label(name: str, parameter: str) -> str:
    return f"MaPS w0={name} {parameter}" if name != "raw" else f"original {parameter}"


def _errors_and_coverage(fits: dict[str, tuple[np.ndarray, np.ndarray]]) -> list[Row]:
    out = []
    for name, (_, errors, coverages) in PUBLISHED.items():
        q, half = fits[name]
        reading, why = ("", "no mechanism in it") if name == "raw" else (READING, WEAK)
        for c, parameter in enumerate(NAMES):
            label, error = _label(name, parameter), q[:, c] - TRUE[c]
            of_mse = "; ".join(filter(None, [reading, PRINTED_AS_RMSE]))
            out.append(mean_row(f"{label} MSE", errors[c], error**2, SETS, "C", reading=of_mse, why=why))
            covered = 100.0 * (np.abs(error) <= half[:, c])
            note = f"{why}; {UNSTATED}" if parameter == "σ²" else why
            out.append(mean_row(f"{label} coverage, %", coverages[c], covered, SETS, "C", 1, reading=reading, why=note))
    return out


def _shifts(means: dict[str, np.ndarray]) -> list[Row]:
    """Shifts against the printed column Raw, as if the paper had paired them; and how far apart they are if not."""
    out = []
    for name in CUTPOINTS:
        for c, parameter in enumerate(NAMES):
            printed = round(PUBLISHED[name][0][c] - PUBLISHED["raw"][0][c], 3)
            shift, raw = means[name][:, c] - means["raw"][:, c], means["raw"][:, c]
            unpaired = np.sqrt((raw.var(ddof=1) + means[name][:, c].var(ddof=1)) / SETS + shift.var(ddof=1) / len(raw))
            z = max(abs(shift.mean() - printed) - 0.001, 0.0) / unpaired
            why = f"most likely not paired; if Raw is of other data sets, z = {z:.1f}"
            label, reading = f"MaPS w0={name} {parameter} shift against Raw", f"{READING}; Raw is paired*"
            out.append(mean_row(label, printed, shift, SETS, "C", units=1, reading=reading, why=why))
    return out
