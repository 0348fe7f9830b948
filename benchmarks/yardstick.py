"""What the engine costs beside a program in C that does the same statistical work, as ratios in one run.

``python -m benchmarks yardstick`` compiles ``benchmarks/c`` where a compiler is.  The complete release space at three
rates is swept by ``frontier sweep --all-specs`` as a user calls it, start-up and study included, and by the yardstick
in two processes that share nothing; then the swaps of one and two attributes are drawn, exchanged and measured one by
one. The two take turns.  Their random streams differ, so their figures are compared as means.  Data: CPS-8D where the
shared folder holds it, else nothing is measured.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread

import numpy as np

from benchmarks._harness import environment, processor_of_children, seconds, word
from benchmarks._tables import KEY, RATES, asked, small_swaps, table_of
from benchmarks._yardstick import FIGURES, NoCompiler, Space, Yardstick, apart, numbers_of
from engine.data.table import ContingencyTable
from engine.release.scenarios import RunStatus
from engine.release.spec import pairs_wanted
from engine.study.study import Study
from engine.sweeps.evaluator import Evaluator
from engine.sweeps.groups import group
from tests.shared import folder

WHOLE_PROCESSOR, WHOLE_CLOCK, FIRST, ONE = 2.0, 1.5, 1.5, 1.3
"""Targets: the whole space by processor time and by the clock on two processors, seconds until the first candidates
are in the study, one candidate at 10 %."""
ROUNDS, REPLICATES, TASKS, STANDARD_ERRORS = 3, 20, 20, 5.0
"""Turns of the two; replicates that share what is prepared, and tasks of a batch, as in a sweep; how far means may be
apart."""


@dataclass
class Swept:
    """A sweep as a process of its own: seconds of processor, of the clock, and until first candidates were stored."""

    processor: float
    clock: float
    first: float


def swept(study: Path) -> Swept:
    """Run ``frontier sweep`` of the complete space."""
    arguments = ["--study", str(study), "--all-specs", "--rates", ",".join(RATES), "--replicates", "1"]
    command = [sys.executable, "-m", "engine", "sweep", str(folder() / "data" / "cps8d.csv"), *arguments]
    began, before, first = time.perf_counter(), processor_of_children(), list[float]()
    log = study.with_suffix(".log")
    with log.open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment())

    def watch() -> None:
        while process.returncode is None and not has_runs(study):
            time.sleep(0.02)
        first.append(time.perf_counter() - began)

    watching = Thread(target=watch, daemon=True)
    watching.start()
    process.wait()  # its end is noticed at once, as the yardstick's is
    clock, processor = time.perf_counter() - began, processor_of_children() - before
    watching.join()
    if process.returncode:
        raise RuntimeError(f"frontier sweep ended with {process.returncode}: {log.read_text().splitlines()[-1:]}")
    return Swept(processor, clock, first[0])


def has_runs(study: Path) -> bool:
    """Whether a study holds runs yet; it may not be there, or be written to at this moment."""
    if not study.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{study.as_uri()}?mode=ro", uri=True, timeout=0)) as database:
            return database.execute("select 1 from realisation limit 1").fetchone() is not None
    except sqlite3.OperationalError:
        return False


def rows_of(study: Study) -> np.ndarray:
    """The runs of a study as the yardstick has its own."""
    results, scenarios = study.runs.results(), list(study.scenarios)
    numbers = numbers_of([s.spec.attributes.roles for s in scenarios])
    rate = np.array([RATES.index(s.spec.rate) for s in scenarios])
    columns = [list(map(str, study.measures)).index(name) for name in FIGURES]
    at = results.scenario
    return np.column_stack([numbers[at], rate[at], results.changed, results.values[:, columns]])


def beside(name: str, ours: list[float], theirs: list[float], target: float) -> None:
    """Print the least and the median of both, and their ratios beside the target, which holds of the least."""
    ratio = min(ours) / min(theirs)
    verdict = word(f"the complete space, {name}: engine ÷ yardstick", ratio, most=target)
    print(
        f"  {name:24} {min(ours):7.2f} {median(ours):7.2f} s   {min(theirs):6.2f} {median(theirs):6.2f} s   "
        f"{ratio:6.2f} {median(ours) / median(theirs):6.2f}  <= {target}: {verdict}"
    )


def whole(table: ContingencyTable, yardstick: Yardstick, place: Path, rounds: int) -> None:
    """The complete space by both in turn, their times and whether they found the same."""
    wanted = [pairs_wanted(rate, table.n_records)[1] for rate in RATES]
    sweeps: list[Swept] = []
    spaces: list[Space] = []
    for turn in range(rounds):
        spaces.append(yardstick.space(wanted, processes=2, seed=turn))
        (place / str(turn)).mkdir()  # beside an earlier study of the same data a sweep asks which came before
        sweeps.append(swept(place / str(turn) / "space.study"))
    print("the complete space, each process whole; the least and the median of each, and their ratios")
    print(f"  {'':24} {'engine':>17}   {'yardstick':>15}   {'ratios':>13}")
    beside("processor", [s.processor for s in sweeps], [s.processor for s in spaces], WHOLE_PROCESSOR)
    beside("clock, two processes", [s.clock for s in sweeps], [s.clock for s in spaces], WHOLE_CLOCK)
    first = min(s.first for s in sweeps)
    verdict = word("first candidates stored, seconds", first, most=FIRST)
    print(f"  first candidates stored after {first:.2f} s (<= {FIRST} s: {verdict})")
    with Study.open(place / str(rounds - 1) / "space.study") as study:
        ours = rows_of(study)
        groups = len(group(study.scenarios.specs, table))
        failed = int((study.runs.results().status == RunStatus.FAILED).sum())
    theirs = spaces[-1]
    short = int((theirs.rows[:, 2] < 2 * np.array(wanted)[theirs.rows[:, 1].astype(int)]).sum())
    print(
        f"  {len(ours):,} and {len(theirs.rows):,} candidates in {groups:,} and {theirs.structures:,} structures; "
        f"{failed:,} and {short:,} ran out of partners"
    )
    furthest = np.abs(apart(ours, theirs.rows, len(table.domain))).max(axis=0)
    print(
        "  means of figures lie at most so many standard errors apart: "
        + ", ".join(f"{name} {z:.1f}" for name, z in zip(FIGURES, furthest, strict=True))
        + f" (<= {STANDARD_ERRORS}: {word('means apart, standard errors', furthest.max(), most=STANDARD_ERRORS)})"
    )


def engine_singles(table: ContingencyTable, rate: str, replicates: int) -> dict[str, float]:
    """Seconds of processor time of a candidate by roles, in batches of a sweep's kind: what a batch costs as a whole is
    shared by several tasks, and nothing else is."""
    evaluator = Evaluator(asked(table), KEY)
    tasks = {
        one.scenarios[0][1].attributes.roles: (one, range(1, replicates + 1)) for one in small_swaps(table, [rate])
    }
    evaluator.run_all(list(tasks.values())[:2])
    return {
        roles: seconds(lambda: evaluator.run_all([task] * TASKS)) / (TASKS * replicates)  # noqa: B023
        for roles, task in tasks.items()
    }


def judged(replicates: int, ratio: float) -> str:
    """What became of the target of one candidate."""
    return word(f"one candidate at 10 %, {replicates} a preparation: engine ÷ yardstick", ratio, most=ONE)


def singles(table: ContingencyTable, yardstick: Yardstick, replicates: int, rounds: int) -> None:
    """One candidate of every swap of one and two attributes at each rate by both in turn."""
    for rate in RATES:
        wanted = pairs_wanted(rate, table.n_records)[1]
        ours: dict[str, list[float]] = {}
        theirs: dict[str, list[float]] = {}
        for _ in range(rounds):
            for roles, each in engine_singles(table, rate, replicates).items():
                ours.setdefault(roles, []).append(each)
            for (roles, _), each in yardstick.small([wanted], replicates, 3).items():
                theirs.setdefault(roles, []).append(each)
        least = np.array([(min(ours[roles]), min(theirs[roles])) for roles in ours])
        ratios = least[:, 0] / least[:, 1]
        verdict = f"  <= {ONE}: {judged(replicates, float(np.median(ratios)))}" if rate == RATES[-1] else ""
        engine, yard = least.mean(axis=0) * 1e6
        spread = f"{np.median(ratios):16.2f} {ratios.min():7.2f} {ratios.max():8.2f}"
        print(f"  {rate:>6} {engine:8.1f} {yard:10.1f} {spread}{verdict}")


def main(small: bool = False) -> None:
    """Measure and print."""
    table = table_of("cps8d.csv")
    if table is None:
        print("skipped: CPS-8D is not here")
        return
    with TemporaryDirectory() as place:
        try:
            yardstick = Yardstick(Path(place), table)
        except NoCompiler as reason:
            print(f"skipped: {reason}")
            return
        if not processor_of_children():
            print("skipped: this system does not tell the processor time of other processes")
            return
        rounds = 1 if small else ROUNDS
        whole(table, yardstick, Path(place), rounds)
        for replicates in (REPLICATES, 1):
            print(
                f"\none candidate of the swaps of one and two attributes alone (µs), {replicates} for each preparation"
            )
            print(f"  {'rate':>6} {'engine':>8} {'yardstick':>10}   ratios: {'median':>6} {'least':>7} {'largest':>8}")
            singles(table, yardstick, replicates, rounds)
