"""Speed of targeted swapping of households, as ratios to the search that published programs do, and a whole sweep.

The census has 355,000 persons. Draws are held against the same random numbers followed by a compiled search that goes
through the list of donors from its beginning for every household and profile, as the published program does, and must
give the same pairs. Then 200 candidates with 10 replicates each and three measures are swept by two processes. The
survey swap of 5 % targets is timed on the same persons.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks._harness import timed, word
from datasets.make_census import census
from engine.common.compiled import kernel, wrapping
from engine.common.streams import derive
from engine.data.microdata import Microdata, RawTable
from engine.mechanisms.survey_swap import SURVEY_SWAP
from engine.mechanisms.targeted import TRS, Chances, Prepared, chances
from engine.plan import edit_plan, samples
from engine.plan.coding import code
from engine.plan.types import MechanismPlan, Plan
from engine.sweeps.sweep import sweep

DRAW_SECONDS, SWEEP_SECONDS, MEMORY = 0.1, 300.0, 1.5e9
PUBLISHED = (7.5, 3.45)
"""Seconds of CPU that recordSwap of sdcMicro 5.8.1 takes for 152,000 households at 5 %, and those of its C++ core."""
CANDIDATES, REPLICATES = 200, 10
PLACES = "region+district+municipality"
MEASURES = ("small_cells", "exposed_households", "hellinger[attributes=region+citizenship+sex]")
SIMILAR = "hhsize+hhtype+tenure+origin|hhsize"


@kernel
def scan(turns, area, lowest, must, quota, begun, race, group, last, partner, barred):  # type: ignore[no-untyped-def]
    """One level as published programs search it: for each household and profile through the donors from the first.

    ``barred`` is 1 for who takes no part, and becomes 2 for who finds no donor.
    """
    i = 0
    while i < len(turns):
        here, end, n_must = area[turns[i]], i, 0
        while end < len(turns) and area[turns[end]] == here:
            n_must += must[turns[end]] and partner[turns[end]] == turns[end]
            end += 1
        wanted = n_must
        if last:
            wanted = max(n_must, quota[lowest[turns[i]]] - begun[lowest[turns[i]]])
        for t in range(i, end):
            u = turns[t]
            if wanted <= 0:
                break
            if partner[u] != u:
                continue
            wanted -= 1
            found = False
            for p in range(len(group)):
                for v in race:
                    if partner[v] == v and barred[v] != 1 and area[v] != here and group[p, v] == group[p, u]:
                        partner[u], partner[v] = v, u
                        begun[lowest[u]] += 1
                        found = True
                        break
                if found:
                    break
            if not found:
                barred[u] = 2
        i = end


def scanned(prepared: Prepared, chance: Chances) -> np.ndarray:
    """Every household's partner by the published search (with ``must=all``)."""
    n, levels, lowest = len(prepared.units), len(prepared.area), prepared.area[-1]
    partner, begun = np.arange(n), np.zeros(len(chance.quota), np.int64)
    barred = (~prepared.movable).astype(np.int64)
    for h in range(levels):
        must, area = (prepared.level == h) & (partner == np.arange(n)) & (barred == 0), prepared.area[h]
        free = (partner == np.arange(n)) & (barred == 0) & (must | (h == levels - 1))
        turns = chance.initiators[free[chance.initiators]]
        turns = turns[np.argsort(area[turns] * 2 + ~must[turns], kind="stable")]
        last, race = h == levels - 1, chance.donors[h]
        scan(turns, area, lowest, must, chance.quota, begun, race, prepared.group, last, partner, barred)
        barred[barred > 0] = 1
    return partner


def met(name: str, figure: float, most: float, unit: str = "s") -> None:
    print(f"{name}: {figure:.3g} {unit} (<= {most:g} {unit}: {word(f'{name.strip()}, {unit}', figure, most=most)})")


def draws(data: Microdata, risk: str, similar: str) -> None:
    """One draw beside the published search on the same random numbers."""
    derived = derive(bytes(16), "benchmark")
    given = {"rate": "0.05", "hierarchy": PLACES, "risk": risk, "similar": similar}
    setting = TRS.setting(data, given, ())
    fit, prepared = timed(lambda: TRS.prepare(setting), 1)
    with wrapping():
        TRS.draw(prepared, setting, derived)  # compiles
        scanned(prepared, chances(prepared, setting, derived))
    draw, drawn = timed(lambda: TRS.draw(prepared, setting, derived))
    published, partner = timed(lambda: scanned(prepared, chances(prepared, setting, derived)), 1)
    (table,) = drawn.tables
    ours = prepared.units.of_record[table.source[prepared.units.first]]
    same = "the same pairs" if (ours == partner).all() else f"{np.count_nonzero(ours != partner):,} other pairs"
    about = drawn.diagnostics
    print(f"rate 5 %, risk by {risk}: {len(prepared.units):,} households, {about['households_swapped']:,.0f} swapped")
    met("  one draw, CPU", draw, DRAW_SECONDS)
    print(f"  the search of published programs, compiled: {published:.2f} s, {published / draw:.1f} x; {same}")
    if risk == "sex+citizenship":
        program, core = (f"{seconds_of / draw:.0f} x" for seconds_of in PUBLISHED)
        print(f"  sdcMicro's recordSwap on a census of this size, on another machine: {program}, its C++ core {core}")
    print(f"  fit, once for all rates: {fit:.2f} s")


def survey(data: Microdata) -> None:
    """One draw of the survey swap on the same persons."""
    setting = SURVEY_SWAP.setting(
        data,
        {"rate": "0.05", "swap": "education+work", "boundary": "district+sex", "risk": "age+sex+citizenship"},
        (),
    )
    fit, prepared = timed(lambda: SURVEY_SWAP.prepare(setting), 1)
    SURVEY_SWAP.draw(prepared, setting, derive(bytes(16), "benchmark"))  # compiles
    draw, drawn = timed(lambda: SURVEY_SWAP.draw(prepared, setting, derive(bytes(16), "benchmark")))
    about = drawn.diagnostics
    print(
        f"survey swap: {about['pairs']:,.0f} pairs of {data.n_records:,} persons in {draw:.2f} s of CPU, "
        f"{about['rounds']:.0f} rounds; fit {fit:.2f} s"
    )


def with_candidates(plan: Plan, number: int) -> Plan:
    """The sample's plan with so many candidates of targeted swapping and three measures."""
    rates = tuple(f"{rate / 200:g}" for rate in range(1, -(-number // 8) + 1))
    grid = {
        "rate": rates,
        "hierarchy": (PLACES,),
        "risk": ("age+sex+citizenship",),
        "similar": (SIMILAR,),
        "k": ("2", "3"),
        "must": ("all", "within"),
        "lean": ("0", "1"),
    }
    mechanism = MechanismPlan("trs", tuple(grid.items()))
    return edit_plan(plan, mechanisms=(mechanism,), measures=MEASURES, replicates=REPLICATES)


def swept(raw: RawTable, plan: Plan, number: int) -> None:
    """A sweep by two processes, with its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with sweep(raw, with_candidates(plan, number), Path(folder) / "census.study", workers=2) as study:
            n = len(study.scenarios)
        wall = time.perf_counter() - start
    unit = 1 if sys.platform == "darwin" else 1024
    peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * unit
    print(f"{n} candidates x {REPLICATES} replicates x {len(MEASURES)} measures: {wall / n / REPLICATES:.3f} s a run")
    met(f"the sweep of {n} candidates on two processes", wall * CANDIDATES / n, SWEEP_SECONDS)
    met("memory at most (one process and the largest of its workers)", peak / 1e9, MEMORY / 1e9, "GB")


def main(small: bool = False) -> None:
    """Measure and print."""
    raw, plan = census("full"), samples.load("census")[1]
    if small:
        raw, plan = samples.load("census")
    data = code(raw, replace(plan, edits=()))  # the published search knows no edit rules
    draws(data, "sex+citizenship", SIMILAR)
    draws(data, "age+sex+citizenship", "hhsize+hhtype+tenure+origin+dwelling")
    survey(data)
    del data
    swept(raw, plan, 8 if small else CANDIDATES)
