"""Gomatam, Karr and Sanil (2005), *Data swapping as a decision problem*: what the paper says, next to what the engine
finds.

CPS-8D is a recode of public data that has the paper's number of occupied cells; the Czech auto workers are printed in
the paper.  The paper gives one run per candidate and few numbers; what it reads off its figures is compared with means
over runs, and counts as ``qualitative`` when the statement holds.  Rows of :func:`rows_elsewhere` are not the paper's
figures: they set the engine beside computations made independently of it.
"""

from __future__ import annotations

import csv
from functools import cache
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from engine.data.io.readers import read_table
from engine.data.microdata import Microdata
from engine.frontier.undominated import undominated
from engine.measures import call
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.scenarios import RunStatus
from engine.release.space import by_swap_sizes, counts, scenarios
from engine.release.spec import ReleaseSpec
from engine.sweeps.evaluator import question_of
from tests import fit_statistics as statistics
from tests.papers import czech
from tests.papers.row import Row
from tests.shared import shared_file
from tests.small_tables import rows as runs

LETTERS = "AWEMRSHI"  # Age, EmpTyp, Edu, MS, Race, Sex, AvgHrs, AnnSal in the reference tables
RATES = ("0.01", "0.02", "0.1")
DISTORTIONS = ("small_cells", "hellinger", "total_variation", "entropy_change")
DR, HD, TV, DH = range(4)
MOST, FACTOR = 4.5, 4.0
"""Largest standard errors of a difference that pass, over all of a table's figures; and, for means noted with their
spread over 40 runs, standard errors of a difference of two such means."""


def of_file(path: Path) -> tuple[Plan, Microdata]:
    """A file of category labels, every column an attribute as it stands."""
    raw = read_table(path)
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    return plan, code(raw, plan)


def references(name: str) -> list[dict[str, str]]:
    with open(shared_file("reference", name), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def roles(swap: str, letters: str) -> str:
    return "".join("S" if letter in swap else "U" for letter in letters)


@cache
def cps() -> tuple[Plan, Microdata]:
    return of_file(shared_file("data", "cps8d.csv"))


@cache
def swapped(replicates: int) -> tuple[list[str], np.ndarray]:
    """Names of the 36 one- and two-attribute swaps of CPS-8D, and figures ``(36, 3 rates, replicates, 4)``."""
    plan, data = cps()
    made = list(by_swap_sizes(data.domain.names, data.domain.names, [1, 2]))
    specs = [ReleaseSpec(one, rate) for one in made for rate in RATES]
    found = runs(question_of(plan, data, [call(name) for name in DISTORTIONS]), specs, range(1, replicates + 1))
    assert np.isin(found[:, 2], (RunStatus.OK, RunStatus.NOOP)).all()  # a wrong draw may move nothing
    labels = ["".join(LETTERS[j] for j, role in enumerate(one.roles) if role == "S") for one in made]
    return labels, found[:, 4:].reshape(len(made), len(RATES), replicates, len(DISTORTIONS))


def scores(mine: np.ndarray, mean: float, spread: float, n: int) -> float:
    """z of a mean of independent runs beside another's mean and standard deviation of ``n`` runs."""
    error = sqrt(mine.var(ddof=1) / len(mine) + spread**2 / n)
    gap = float(mine.mean()) - mean
    return gap / error if error else (inf if gap else 0.0)


def _equal(name: str, published: float, ours: float, grade: str = "A", why: str = "", reading: str = "") -> Row:
    return Row(name, published, ours, grade, units=0, why=why, reading=reading)


def _holds(
    name: str, statement: str, ours: str, holds: bool, why: str = "", grade: str = "C", reading: str = ""
) -> Row:
    return Row(name, statement, ours, grade, holds=holds, why=why, reading=reading)


def rows_counts() -> list[Row]:
    """Numbers of candidates, and the Czech table."""
    eight, six = tuple("ABCDEFGH"), tuple("ABCDEF")
    pairs, singles = list(by_swap_sizes(eight, eight, [1, 2])), list(by_swap_sizes(eight, eight, [1]))
    table = czech.counts()
    ones, twos = (int(np.count_nonzero(table.counts == k)) for k in (1, 2))
    out = [
        _equal("5.1: swaps of one or two of 8 attributes, per rate", 36, len(pairs)),
        _equal("5.1: candidates at 3 rates", 108, len(scenarios(pairs, RATES))),
        _equal("5.2: candidates of 6 attributes at one rate", 21, len(list(by_swap_sizes(six, six, [1, 2])))),
        _equal("figure 2: single swaps at 3 rates", 24, len(scenarios(singles, ["0.01", "0.05", "0.1"]))),
        _equal("5.3: runs of the single swaps, 100 each", 800, 100 * len(scenarios(singles, ["0.1"]))),
        _equal("table 2: men", 1841, int(table.counts.sum())),
        _equal("table 2: cells of one", 1, ones),
        _equal("table 2: cells of two", 2, twos),
    ]
    for d in (6, 8):
        ours, near = counts(d)[2], 4**d // 2
        why = "the paper gives an order of magnitude; ours is the exact number of distinct ones, checked by enumeration"
        out.append(
            _holds(f"2.1: releases of {d} attributes at one rate", f"about {near}", str(ours), ours < 2 * near, why)
        )
    return out


def rows_cps(quick: bool) -> list[Row]:
    """CPS-8D: the table, and what figures 2 to 4 and 7 show; 100 runs of each candidate, 10 when quick."""
    _, data = cps()
    occupied = "boundaries of the recode†; 1,675 with the printed labels taken literally"
    out = [
        _equal("table 1: records of CPS-8D", 48842, data.table.n_records),
        _equal("table 1: cells of CPS-8D", 2880, int(np.prod(data.domain.shape))),
        _equal("5.1: occupied cells of CPS-8D", 1695, len(data.table), reading=occupied),
    ]
    labels, found = swapped(10 if quick else 100)
    means = found.mean(axis=2)[:, :, [DR, HD]]
    two = means[:, 1]
    ws = labels.index("WS")
    inside = np.flatnonzero(two[:, 0] <= 0.014)
    winner = labels[inside[np.argmin(two[inside, 1])]] if len(inside) else "none"
    single_runs = np.where(found[:, 1, :, DR] <= 0.014, found[:, 1, :, HD], np.inf)
    wins = float((single_runs.argmin(axis=0) == ws).mean())
    bound = two[(two[:, 0] > two[ws, 0]) & (two[:, 1] < two[ws, 1]), 0]
    why = f"on means; WS has DR {two[ws, 0]:.5f}" + (
        f" and is best for limits from there up to {bound.min():.5f}" if len(bound) else ""
    )
    why += f"; in single runs, as the paper has, it is best in {wins:.0%}"
    out.append(_holds("figure 3, 2 %: best swap with DR at most 0.014", "WS", winner, winner == "WS", why))
    on = undominated(two)
    out.append(_holds("figure 3, 2 %: WS on the frontier", "yes", _word(on[ws]), bool(on[ws]), "of means"))
    e = labels.index("E")
    ten, pooled = undominated(means[:, 2]), undominated(means.reshape(-1, 2)).reshape(len(labels), 3)
    out.append(_holds("figure 3, 10 %: Edu alone on the frontier", "yes", _word(ten[e]), bool(ten[e]), "of means"))
    beaten = not pooled[e, 2]
    out.append(_holds("figure 4: it is dominated once rates are pooled", "yes", _word(beaten), beaten, "of means"))
    every = np.stack([undominated(means[:, r]) for r in range(3)], axis=1)
    part = bool((every | ~pooled).all())
    ours = f"{_word(part)}, {pooled.sum()} of {every.sum()}"
    out.append(_holds("figure 4: pooled frontier is part of the three", "yes", ours, part, "a theorem; of means"))
    single = [k for k, label in enumerate(labels) if len(label) == 1]
    for name, column in (("HD", HD), ("TV", TV), ("entropy change", DH)):
        by = np.abs(found.mean(axis=2)[single][:, :, column])
        growth = by[:, 2] / by[:, 0]
        power = np.log10([growth.min(), growth.max()])
        holds, rises = bool(power[0] > 0.75), bool((np.diff(by, axis=1) > 0).all())
        ours = f"as rate to the {power[0]:.2f} to {power[1]:.2f}"
        why = f"8 single swaps, 1 % to 10 %: {growth.min():.1f}- to {growth.max():.1f}-fold" + (
            "" if holds else f"; {'it rises' if rises else 'it does not always rise'}, nearer to a square root"
        )
        out.append(_holds(f"figure 2: {name} about linear in the rate", "about linear", ours, holds, why))
    ten_hd = {labels[k]: float(means[k, 2, 1]) for k in single}
    order = sorted(ten_hd, key=ten_hd.__getitem__)
    shown = "HD at 10 %: " + ", ".join(f"{label} {ten_hd[label]:.3f}" for label in order)
    most, least = set(order[-2:]), set(order[:2])
    out.append(_holds("swaps with most distortion", "A, I", ", ".join(sorted(most)), most == {"A", "I"}, shown))
    why = f"{shown}; Race comes next after AvgHrs" if order[:3] == ["E", "H", "R"] else shown
    ours = ", ".join(sorted(least))
    out.append(_holds("swaps with least distortion", "E, R", ours, least == {"E", "R"}, why))
    return [*out, _clouds(found[single, 2][:, :, [DR, HD]])]


def _word(holds: Any) -> str:
    return "yes" if holds else "no"


def _clouds(found: np.ndarray) -> Row:
    """Figure 7: how many runs ``(8, replicates, 2)`` lie nearest to the mean of their own attribute."""
    means = found.mean(axis=1)
    inside = found - means[:, None, :]
    root = np.linalg.inv(np.linalg.cholesky(np.cov(inside.reshape(-1, 2), rowvar=False)))
    gaps = (found[:, :, None, :] - means[None, None]) @ root.T
    own = (gaps**2).sum(axis=3).argmin(axis=2) == np.arange(len(found))[:, None]
    why = "share of runs nearest to their own attribute's mean (by chance 12 %); school data, here CPS-8D at 10 %"
    return _holds("figure 7: clouds of runs can be told apart", "yes", f"{own.mean():.0%}", bool(own.mean() > 0.5), why)


def rows_czech(quick: bool) -> list[Row]:
    """Section 5.2: the model of eq. 14, and figure 5 from means of 200 runs, 40 when quick."""
    out = []
    for criterion in ("aic", "bic"):
        found = czech.place(czech.MODELS["ABCD"], criterion)
        why = "place among all 32,768 graphical models of the printed table; the model named is not the best one"
        out.append(_equal(f"eq. 14 is the best model by {criterion.upper()}", 1, found, "X", why))
    out += rows_figure_5(quick)
    simulated = czech.simulated(40 if quick else 200)
    spreads = [float(np.median([by.std(ddof=1) for by in simulated[name].values()])) for name in ("DR", "HD")]
    why = "median standard deviation over 21 Czech swaps at 10 %; the paper says so of school data"
    ours = f"DR {spreads[0]:.4f}, HD {spreads[1]:.4f}"
    holds = bool(spreads[0] < 0.002 and spreads[1] < 0.01)
    return [*out, _holds("5.3: spread of runs", "nontrivial but not dramatic", ours, holds, why)]


def rows_figure_5(quick: bool) -> list[Row]:
    """Figure 5 from means of 200 runs, 40 when quick."""
    out, simulated = [], czech.simulated(40 if quick else 200)
    means = {name: np.array([by[swap].mean() for swap in czech.SWAPS]) for name, by in simulated.items()}
    printed = {"B", "DE", "EF", "CE", "AF", "DF"}
    for mode, said in (("fixed", "fixed"), ("refit", "refitted"), ("fullrefit", "refitted, with the coefficient")):
        value = means[f"{mode}_ABCD"]
        on = {czech.SWAPS[k] for k in np.flatnonzero(undominated(np.column_stack([means["DR"], -value])))}
        why = "of means; the paper's is one run of an unknown seed"
        there, here = (", ".join(sorted(one)) for one in (printed, on))
        name = f"figure 5: frontier, likelihood {said}"
        out.append(_holds(name, there, here, there == here, why, "X", reading="rate=0.1"))
        low = {czech.SWAPS[k] for k in np.argsort(value)[:2]}
        grade = "B" if mode == "fullrefit" else "X"
        reading = f"rate=0.1; the likelihood is {said}" + ("†" if mode == "fullrefit" else "*")
        name = f"figure 5: two swaps far below all others, likelihood {said}"
        holds = low == {"BF", "CF"}
        why = "" if grade == "B" else "which likelihood is meant is not stated"
        out.append(_holds(name, "BF, CF", ", ".join(sorted(low)), holds, why, grade, reading))
    return out


def rows_models() -> list[Row]:
    """Six log-linear models of the Czech table beside an independent implementation; to the digits they give."""
    out = []
    for model, likelihood, k, aic, bic, deviance in czech.SCORES:
        fitted = czech.scores(model)
        out.append(_equal(f"{model}: parameters", k, fitted.n_parameters))
        for name, theirs, ours in (
            ("log-likelihood", likelihood, fitted.log_likelihood),
            ("AIC", aic, statistics.aic(fitted)),
            ("BIC", bic, statistics.bic(fitted, czech.counts().n_records)),
            ("deviance G²", deviance, statistics.deviance(fitted, czech.counts())),
        ):
            digits = len(str(theirs).partition(".")[2]) if name == "log-likelihood" else 2
            out.append(Row(f"{model}: {name}", theirs, ours, "A", digits))
    for criterion, places in czech.PLACES.items():
        for text, theirs in zip(czech.MODELS.values(), places, strict=True):
            out.append(_equal(f"{text}: place by {criterion.upper()}", theirs, czech.place(text, criterion)))
    return out


def _largest(name: str, values: list[float], most: float, why: str, reading: str) -> Row:
    ours = max(map(abs, values))
    return Row(name, f"at most {most:g}", ours, "B", 2, holds=bool(ours <= most), why=why, reading=reading)


def rows_elsewhere(quick: bool) -> list[Row]:
    """Means over swaps beside those of an independent implementation, as the largest of all differences."""
    n, out = 40 if quick else 200, []
    simulated = czech.simulated(n)
    reference = {row["swap"]: row for row in references("reference_czech.csv")}
    why = f"standard errors of the difference of two simulations, {n} runs here and 500 there"
    for what, by in simulated.items():
        z = [
            scores(by[swap], float(reference[swap][f"{what}_mean"]), float(reference[swap][f"{what}_sd"]), 500)
            for swap in czech.SWAPS
        ]
        reading, _, model = what.partition("_")
        name = f"DU_llm, {reading}, {czech.MODELS[model]}" if model else what
        out.append(_largest(f"21 Czech swaps, {name}: largest |z|", z, MOST, why, "rate=0.1"))
    unit = sqrt(2 / 40)
    noted: dict[str, list[float]] = {what: [] for what in ("DR", "HD", "DU_llm")}
    for swap, (dr, dr_sd, hd, du, du_sd) in czech.NOTED.items():
        first = {name: simulated[name][swap][:40] for name in ("DR", "HD", "fixed_ABCE")}
        noted["DR"].append((1e4 * first["DR"].mean() - dr) / (dr_sd * unit))
        noted["HD"].append((first["HD"].mean() - hd) / (float(reference[swap]["HD_sd"]) * unit))
        noted["DU_llm"].append((first["fixed_ABCE"].mean() - du) / (du_sd * unit))
    why = "standard errors of the difference of two means of 40 runs"
    for what, values in noted.items():
        out.append(_largest(f"12 Czech swaps, {what}: largest difference", values, FACTOR, why, "rate=0.1"))
    return out


def rows_elsewhere_cps(quick: bool) -> list[Row]:
    """Means over all 108 candidates of CPS-8D beside those of an independent implementation."""
    n = 10 if quick else 100
    labels, found = swapped(n)
    places = {(frozenset(label), rate): (k, r) for k, label in enumerate(labels) for r, rate in enumerate(RATES)}
    reference = [row for row in references("reference_cps8d.csv") if row["rate"] != "0.05"]
    out, why = [], f"standard errors of the difference of two simulations, {n} runs here and 100 there"
    for column, what in enumerate(("DR", "HD", "TV", "dH")):
        z = []
        for row in reference:
            k, r = places[frozenset(row["swap"]), f"{float(row['rate']):g}"]
            z.append(scores(found[k, r, :, column], float(row[f"{what}_mean"]), float(row[f"{what}_std"]), 100))
        name = f"108 candidates of CPS-8D, {what}: largest |z|"
        out.append(_largest(name, z, MOST, why, f"rates={', '.join(RATES)}"))
    return out


def rows(quick: bool) -> list[Row]:
    """All rows of the paper, and those beside other computations."""
    paper = [*rows_counts(), *rows_cps(quick), *rows_czech(quick)]
    return [*paper, *rows_models(), *rows_elsewhere(quick), *rows_elsewhere_cps(quick)]
