"""Oganian and Lesaja's tables for conditional and random group swapping, next to what the engine finds.

Titanic: the 714 passengers with an age, strata by class and sex, 20 or 40 records a direction, 100 realisations, the
propensity model of the paper (main effects, and Survived with each number).  The printed ratios of means fit all 891
passengers (missing ages the median) better, so both are there.  Mental health organisations (SMHO): five hospital
types; the paper says neither which model nor what becomes of the fifth stratum, so those rows show an order.

Published figures are of 100 realisations, as ours are.  The error of a mean or a percentile is found by drawing whole
realisations anew, that of a count also from the chance that something never seen in 100 realisations has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from engine.common.streams import derive
from engine.data.io.readers import read_table
from engine.data.microdata import Microdata, RawTable
from engine.measures.reanalysis import interval_overlap, joined
from engine.mechanisms.base import Mechanism
from engine.mechanisms.group_swap import CGS
from engine.mechanisms.noise import CGS_NOISE, as_microdata
from engine.models.record_release import RecordRelease
from engine.plan import AnalysisPlan, AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from tests.papers.row import Row, of_other
from tests.record_releases import figure
from tests.shared import shared_file
from tests.titanic import REG1, REG2, plan

MODEL = ". + Survived:Fare + Survived:Age + Survived:SibSp + Survived:Parch"
NUMBERS = ("Age", "Fare", "SibSp", "Parch")
SIZES = {"1 male": 101, "1 female": 85, "2 male": 99, "2 female": 74, "3 male": 253, "3 female": 102}
PAIRS = {"1 female ~ 1 male", "2 female ~ 2 male", "3 female ~ 3 male"}
MODES, MOVED = ("CGS", "RGS"), (20, 40)

OVERLAPS = {  # regression, mode, records a direction: mean, 5 % and 95 % points, number below 0
    ("Reg1", "CGS", 20): (0.88, 0.60, 0.99, 0),
    ("Reg1", "RGS", 20): (0.52, -0.53, 0.95, 100),
    ("Reg1", "CGS", 40): (0.65, -0.15, 0.96, 51),
    ("Reg1", "RGS", 40): (0.16, -1.86, 0.92, 106),
    ("Reg2", "CGS", 20): (0.85, 0.60, 0.98, 1),
    ("Reg2", "RGS", 20): (0.76, 0.42, 0.97, 1),
    ("Reg2", "CGS", 40): (0.79, 0.41, 0.97, 0),
    ("Reg2", "RGS", 40): (0.69, 0.28, 0.95, 3),
}
RATIOS = {  # of means and of covariances: mean, 5 % and 95 % points; sign changes of covariances
    ("CGS", 20): ((1.003, 0.91, 1.10), (1.02, 0.61, 1.67), 208),
    ("RGS", 20): ((1.002, 0.81, 1.21), (1.03, 0.51, 1.62), 238),
    ("CGS", 40): ((1.004, 0.87, 1.15), (1.5, 0.52, 1.68), 238),
    ("RGS", 40): ((1.02, 0.72, 1.37), (0.99, 0.34, 1.68), 364),
}
SMHO_OVERLAPS = {  # mean, 5 % and 95 % points of overlaps: CGS 20, CGS 40, RGS 20, RGS 40
    "Reg3": ((0.91, 0.72, 0.99), (0.84, 0.84, 0.99), (0.72, 0.20, 0.99), (0.64, -0.29, 0.97)),
    "Reg4": ((0.94, 0.81, 1.00), (0.92, 0.77, 0.99), (0.84, 0.58, 0.97), (0.71, 0.26, 0.95)),
    "Reg5": ((0.85, 0.56, 0.99), (0.82, 0.45, 0.98), (0.64, -0.25, 0.97), (0.47, -0.70, 0.95)),
    "Reg6": ((0.81, 0.45, 0.98), (0.73, 0.15, 0.97), (0.72, 0.26, 0.96), (0.61, -0.06, 0.94)),
}
_OTHERS = "EXPTOTAL + BEDS + SEENCNT + EOYCNT"
SMHO_ANALYSES = (
    AnalysisPlan("Reg3", f"FINDIRCT ~ {_OTHERS} + Type", "logistic"),
    AnalysisPlan("Reg4", "EXPTOTAL ~ BEDS + SEENCNT + EOYCNT + FINDIRCT + Type"),
    AnalysisPlan("Reg5", f"FINDIRCT ~ {_OTHERS}", "logistic", ("Type",)),
    AnalysisPlan("Reg6", "EXPTOTAL ~ BEDS + SEENCNT + EOYCNT + FINDIRCT", by=("Type",)),
)


SEX = "Sex[T.male]"


class Realised(NamedTuple):
    """Overlaps by regression ``(realisations, coefficients)``, ratios of means ``(realisations, strata, p)`` and of
    covariances ``(realisations, strata, p, p)``, names of the coefficients by regression, and diagnostics."""

    overlaps: dict[str, np.ndarray]
    places: dict[str, list[str]]
    means: np.ndarray
    covariances: np.ndarray
    about: dict[str, float | str]


def titanic_714() -> Microdata:
    """The passengers whose age is known."""
    data = titanic_all()
    raw, keep = data.raw, ~np.isnan(ReleasedTable(data).numeric("Age"))
    columns = {name: replace(column, codes=column.codes[keep]) for name, column in raw.columns.items()}
    return code(RawTable(columns, int(keep.sum()), "titanic"), plan())


def titanic_891() -> Microdata:
    """All passengers, those without an age with the median age."""
    data = titanic_all()
    age = ReleasedTable(data).numeric("Age")
    filled = np.where(np.isnan(age), np.nanmedian(age), age)
    return as_microdata(ReleasedTable(data, numbers={"Age": filled}))


def titanic_all() -> Microdata:
    return code(read_table(shared_file("data", "titanic.csv")), plan())


def smho_plan() -> Plan:
    attributes = (AttributePlan("FINDIRCT"), AttributePlan("Type", ("hosp.type",)))
    return Plan(DataPlan(attributes, carry=("EXPTOTAL", "BEDS", "SEENCNT", "EOYCNT")), analyses=SMHO_ANALYSES)


def smho() -> Microdata:
    return code(read_table(shared_file("data", "smho_n874.csv")), smho_plan())


def _moments(table: ReleasedTable, strata: np.ndarray, numeric: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    x = np.column_stack([table.numeric(name) for name in numeric])
    parts = [x[strata == s] for s in np.unique(strata)]
    return np.array([part.mean(axis=0) for part in parts]), np.array([np.cov(part, rowvar=False) for part in parts])


class Study(NamedTuple):
    """Data, declared regressions, places of the strata, numeric columns, and what the mechanism is given."""

    data: Microdata
    plan: Plan
    strata: tuple[int, ...]
    numeric: tuple[str, ...]
    given: dict[str, str]


def study(name: str) -> Study:
    if name == "smho":
        return Study(smho(), smho_plan(), (1,), ("EXPTOTAL", "BEDS", "SEENCNT", "EOYCNT"), {"strata": "Type"})
    given = {"strata": "Pclass+Sex", "formula": MODEL}
    if name == "titanic 891":
        return Study(titanic_891(), plan(), (1, 2), NUMBERS, {**given, "pairs": "; ".join(sorted(PAIRS))})
    return Study(titanic_714(), plan(REG1, REG2), (1, 2), NUMBERS, given)


@lru_cache
def realise(name: str, mode: str, moved: int, realisations: int, mechanism: Mechanism = CGS) -> Realised:
    """Realisations of one candidate of a study, measured."""
    data, declared, strata, numeric, given = study(name)
    setting = mechanism.setting(data, {**given, "n_swap": str(moved), "mode": mode}, strata, numeric)
    prepared, original = mechanism.prepare(setting), ReleasedTable(data)
    before = _moments(original, original.cells(strata), numeric)
    overlaps: dict[str, list[np.ndarray]] = {one.name: [] for one in declared.analyses}
    means, covariances, places, about = [], [], dict[str, list[str]](), dict[str, float | str]()
    for one in range(realisations):
        drawn = mechanism.draw(prepared, setting, derive(bytes(16), f"{name} {mode}", (one,)))
        (table,), about = drawn.tables, about or drawn.diagnostics
        release = RecordRelease(original, [table], declared)
        for reg, into in overlaps.items():
            found = joined(release, reg)
            assert found is not None
            places[reg] = found.names
            into.append(interval_overlap(found.before, found.half, found.after, found.half_after))
        after = _moments(table, table.cells(strata), numeric)
        means.append(after[0] / before[0])
        covariances.append(after[1] / before[1])
    every = {reg: np.array(values) for reg, values in overlaps.items()}
    return Realised(every, places, np.array(means), np.array(covariances), about)


def linked(name: str, moved: int, realisations: int) -> np.ndarray:
    """Share of records that lie nearest to their own original after group swapping and noise, by realisation."""
    data, declared, strata, numeric, given = study(name)
    setting = CGS_NOISE.setting(data, {**given, "n_swap": str(moved)}, strata, numeric)
    prepared, original = CGS_NOISE.prepare(setting), ReleasedTable(data)
    found = []
    for one in range(realisations):
        drawn = CGS_NOISE.draw(prepared, setting, derive(bytes(16), f"{name} noise", (one,)))
        release = RecordRelease(original, drawn.tables, declared)
        found.append(figure(f"distance_linkage[numeric={'+'.join(numeric)}]", release).value)
    return np.array(found)


Figures = Callable[[np.ndarray], float]
REALISATIONS = 100
ORDER_ONLY = "neither the model nor the fifth stratum's partner is published; only the order counts"
LOST = "the paper's noise level and way of linking are lost"
HEAVY = "ratios of covariances near zero: heavy tails"


def _error(values: np.ndarray, of: Figures) -> float:
    """Standard error of a figure over realisations (first axis), by 200 bootstrap draws of whole realisations."""
    rng = np.random.default_rng(1)
    draws = [of(values[rng.integers(0, len(values), len(values))]) for _ in range(200)]
    return float(np.std(draws, ddof=1))


def _row(
    name: str, published: float, values: np.ndarray, of: Figures, grade: str, digits: int = 2, reading: str = "",
    why: str = "", error: float | None = None,
) -> Row:  # fmt: skip
    lost = int(np.isnan(values).sum())
    if lost:
        why = "; ".join(filter(None, [why, f"{lost} of {values.size} could not be estimated and do not count"]))
    error = _error(values, of) if error is None else error
    theirs = of_other(error, len(values), REALISATIONS)
    return Row(name, published, float(of(values)), grade, digits, error, theirs, reading=reading, why=why)


def _count_row(name: str, published: float, values: np.ndarray, grade: str, reading: str, why: str = "") -> Row:
    """How many of all values over 100 realisations are negative.

    What never (or always) happened in n realisations happens with a chance of about 1/2 in n + 1 (Jeffreys): the
    bootstrap alone would say that its error is 0.
    """
    n = len(values)
    each = np.sum(values < 0, axis=0)
    chance = (each + 0.5) / (n + 1)
    unseen = 100 / n * float(np.sqrt(np.sum(n * chance * (1 - chance))))
    error = max(_error(values, _negative(n)), unseen)
    return _row(name, published, values, _negative(n), grade, 0, reading, why, error)


def _quantile(q: float) -> Figures:
    return lambda values: float(np.nanquantile(values, q))


def _negative(n: int) -> Figures:
    return lambda values: float(100 / n * np.sum(values < 0))


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values))


def rows(quick: bool) -> list[Row]:
    """Titanic over 100 realisations, SMHO over 20, linkage over 5; when quick 10, 3 and 1."""
    n = 10 if quick else 100
    return [*overlap_rows(n), *ratio_rows(n), *_smho_rows(3 if quick else 20), *_linkage_rows(1 if quick else 5)]


def _words(mode: str, moved: int, more: str = "") -> str:
    model = "formula=main effects and Survived with each number; " if mode == "CGS" else ""
    weights = "weights are propensities of the other stratum*; " if mode == "CGS" else ""
    return f"mode={mode}; n_swap={moved}; {model}{weights}{more or '714 passengers whose age is known*'}"


FAR = {  # figures that differ by more than three standard errors, by regression or set of passengers
    ("Reg1", "RGS", 20): ("5 % point",),
    ("Reg1", "RGS", 40): ("95 % point",),
    ("Reg1", "CGS", 40): ("disjoint",),
    ("Reg2", "CGS", 40): ("5 % point",),
    ("titanic 891", "RGS", 20): ("mean",),
    ("titanic 891", "CGS", 40): ("mean",),
    ("titanic 891", "RGS", 40): ("95 % point",),
}
DIFFERS = "differs by more than three standard errors"
EXPECTED = {("titanic", 20): 1.011, ("titanic", 40): 1.023, ("titanic 891", 20): 1.011, ("titanic 891", 40): 1.022}
"""Mean ratios of means that random group swaps have in expectation, by set of passengers and records a direction."""
WEAK = "too noisy to tell the mechanism from doing nothing"


_OVERLAP_FIGURES = (("mean overlap", _mean), ("5 % point", _quantile(0.05)), ("95 % point", _quantile(0.95)))


def overlap_rows(n: int, mechanism: Mechanism = CGS, modes: tuple[str, ...] = MODES) -> list[Row]:
    """Overlaps of intervals on the Titanic."""
    out = []
    for (reg, mode, moved), (mean, low, high, below) in OVERLAPS.items():
        if mode not in modes:
            continue
        found = realise("titanic", mode, moved, n, mechanism)
        values, label, reading = found.overlaps[reg], f"Titanic {reg}, {mode} {moved}", _words(mode, moved)
        far = FAR.get((reg, mode, moved), ())
        for (what, of), published in zip(_OVERLAP_FIGURES, (mean, low, high), strict=True):
            grade, why = ("C", DIFFERS) if what in far else ("B", "")
            out.append(_row(f"{label}: {what}", published, values, of, grade, 2, reading, why))
        name = f"{label}: disjoint, of {500 if reg == 'Reg1' else 1800}"
        strong = (reg, mode) == ("Reg1", "RGS")
        why = "" if strong else DIFFERS if "disjoint" in far else WEAK
        out.append(_count_row(name, below, values, "B" if strong else "C", reading, why))
        if (reg, moved) == ("Reg1", 20):
            sex = values[:, [found.places[reg].index(SEX)]]
            if mode == "RGS":
                out.append(_count_row(f"{label}: disjoint for sex, of 100", 100, sex, "B", reading))
            else:
                why = "printed for CGS without saying for which amount"
                out.append(_row(f"{label}: mean overlap for sex", 0.5, sex, _mean, "C", 2, reading, why))
    return out


def ratio_rows(n: int, mechanism: Mechanism = CGS, modes: tuple[str, ...] = MODES) -> list[Row]:
    """Ratios of stratum means and covariances on the Titanic, for two sets of passengers."""
    out = []
    for mode, moved in RATIOS:
        if mode in modes:
            for name in ("titanic", "titanic 891"):
                out += _ratios(name, mode, moved, realise(name, mode, moved, n, mechanism))
    return out


def _ratios(name: str, mode: str, moved: int, found: Realised) -> list[Row]:
    of_means, of_covariances, changes = RATIOS[mode, moved]
    everyone, out = name.endswith("891"), []
    label = f"Titanic{' with median ages' if everyone else ''}, {mode} {moved}"
    reading = _words(mode, moved, "all 891 passengers, median ages†; pairs by hand*" if everyone else "")
    figures = (("mean", _mean), ("5 % point", _quantile(0.05)), ("95 % point", _quantile(0.95)))
    for (what, of), published in zip(figures, of_means, strict=True):
        why = "" if everyone else "the printed spread is nearer to that of all 891 passengers"
        if what in FAR.get((name, mode, moved), ()):
            why = DIFFERS
        if what == "mean" and mode == "RGS":
            why = "; ".join(filter(None, [why, f"exact expectation of random swaps: {EXPECTED[name, moved]}"]))
        grade = "B" if everyone and DIFFERS not in why else "C"
        digits = 3 if what == "mean" else 2
        out.append(_row(f"{label}: ratios of means, {what}", published, found.means, of, grade, digits, reading, why))
    for (what, of), published in zip(figures, of_covariances, strict=True):
        title = f"{label}: ratios of covariances, {what}"
        out.append(_row(title, published, found.covariances, of, "C", 2, reading, HEAVY))
    title = f"{label}: sign changes of covariances, of 9600"
    out.append(_count_row(title, changes, found.covariances, "C", reading, "of which passengers is not stated"))
    return out


def _smho_rows(n: int) -> list[Row]:
    out = []
    for reg, published in SMHO_OVERLAPS.items():
        for (mode, moved), one in zip(((m, k) for m in MODES for k in MOVED), published, strict=True):
            values = realise("smho", mode, moved, n).overlaps[reg]
            reading = f"mode={mode}; n_swap={moved}; main effects*; odd=reuse*"
            label = f"SMHO {reg}, {mode} {moved}"
            for (what, of), printed in zip(_OVERLAP_FIGURES, one, strict=True):
                out.append(_row(f"{label}: {what}", printed, values, of, "C", 2, reading, ORDER_ONLY))
    return out


def _linkage_rows(n: int) -> list[Row]:
    out = []
    for name, label, shares in (("titanic", "Titanic", (0.04, 0.03)), ("smho", "SMHO", (0.02, 0.015))):
        for moved, published in zip(MOVED, shares, strict=True):
            reading = f"n_swap={moved}; c=0.15*; the nearest original*"
            values = linked(name, moved, n)
            out.append(_row(f"{label}, CGS {moved} and noise: linked", published, values, _mean, "C", 3, reading, LOST))
    return out
