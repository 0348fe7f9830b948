"""What a sweep costs, as processor time in one run: candidates beside a compiled swap over records, sharing, workers.

``python -m benchmarks sweep`` prints a table per question; a target is named beside what it is about.  "Candidate" is
one release drawn, exchanged and measured with small_cells, hellinger, total_variation and entropy_change.  Data:
CPS-8D where the shared folder holds it, else the sample ``fair`` (then targets say little).  Times drift
from run to run and machine to machine; the ratios are what to compare.
"""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, takewhile
from multiprocessing import get_context

import numpy as np

from benchmarks._harness import seconds, word
from benchmarks._records import OverRecords
from benchmarks._tables import KEY, RATES, asked, first_table, narrowed, small_swaps
from engine.data.table import ContingencyTable
from engine.mechanisms import random_swap
from engine.release import space
from engine.release.spec import multi_kind, pairs_wanted
from engine.sweeps.evaluator import Evaluator
from engine.sweeps.groups import TaskBatch, group
from engine.sweeps.workers import open_local_executor

START, REPEATS = 8.0, 4
"""Seconds left to processes to start, and how many times their tasks are timed."""
FASTER_THAN_RECORDS, SHARING, PER_CANDIDATE, TWO_WORKERS = 12.0, 5.0, 60e-6, 1.8
"""Targets: times faster than a compiled swap over records at 10 %, times cheaper than unshared runs, seconds a
candidate of the whole release space, two workers to one."""


def parts(table: ContingencyTable) -> None:
    """One candidate of the one- and two-attribute swaps, where its time goes, and how long the yardstick takes.

    Where a swap runs out of partners, records must find so one by one, which takes them hundreds of times longer; so
    the median of the swaps' ratios is what is held to the target, and the ratio of the means only shown.
    """
    print("\none candidate, mean of the swaps of one and two attributes (µs)")
    print("yardstick: all of Appendix A over records, no check left out, tabulated anew and measured, all compiled")
    print(
        f"{'rate':>6} {'prepare':>8} {'draw':>8} {'the rest':>8} {'candidate':>9}   yardstick: "
        f"{'median':>7} {'mean':>7}   ratio: {'median':>7} {'of means':>8}"
    )
    question = asked(table)
    over_records = OverRecords(table)
    for rate in RATES:
        groups = small_swaps(table, [rate])
        wanted = pairs_wanted(rate, table.n_records)[1]
        evaluator = Evaluator(question, KEY)
        numbers = range(1, 11)
        # a candidate as a sweep of 20 replicates pays for it
        tasks = [(one, range(1, 21)) for one in groups]
        evaluator.run_all(tasks[:2])
        each = np.array([seconds(lambda: evaluator.run_all([task])) / 20 for task in tasks])  # noqa: B023
        whole = float(each.mean())
        several = multi_kind(table)
        structures = [one.specs[0].structure(several) for one in groups]
        prepare_next = random_swap.preparing(table)
        prepare = seconds(lambda: [prepare_next(s) for s in structures]) / len(groups)  # noqa: B023
        prepared = [random_swap.prepare(s, table) for s in structures]
        streams = [[random_swap.stream(KEY, s, table, r) for r in numbers] for s in structures]
        pairs: list[np.ndarray] = []

        def draw() -> None:
            pairs[:] = [p.draw(d, wanted) for p, ds in zip(prepared, streams, strict=True) for d in ds]  # noqa: B023

        drawing = seconds(draw) / (10 * len(groups))
        swapped = [one.specs[0].attributes.having("S") for one in groups]
        over_records.candidate(swapped[0], wanted, state())
        records = np.array([seconds(lambda: over_records.candidate(s, wanted, state()), 2) for s in swapped])  # noqa: B023
        median = float(np.median(records / each))
        figures = [v * 1e6 for v in (prepare, drawing, whole - drawing - prepare / 20)]
        verdict = ""
        if rate == "0.1":
            judged = word("yardstick over records ÷ candidate at 10 %", median, least=FASTER_THAN_RECORDS)
            verdict = f" (>= {FASTER_THAN_RECORDS:g}: {judged})"
        line = " ".join(f"{v:8.1f}" for v in figures)
        print(
            f"{rate:>6} {line} {whole * 1e6:9.1f} {np.median(records) * 1e6:20.0f} {records.mean() * 1e6:7.0f} "
            f"{median:17.1f} {records.mean() / whole:8.1f}{verdict}"
        )


def state() -> np.ndarray:
    """The generator's state of one run over records."""
    return np.arange(1, 5).astype(np.uint64)


def sharing(table: ContingencyTable, most: int = 600) -> None:
    """The whole release space: splits and rates share their pairs; beside every candidate on its own."""
    names = table.domain.names
    specs = space.build(space.complete(names, names), table).specs
    groups = group(space.scenarios(specs, RATES), table)
    total = sum(len(one) for one in groups)
    chosen = [groups[i] for i in np.unique(np.linspace(0, len(groups) - 1, most).astype(int))]
    evaluator = Evaluator(asked(table), KEY)
    together = [(one, (1,)) for one in chosen]
    alone = [(one.part(slice(k, k + 1)), (1,)) for one in chosen[:: max(1, most // 60)] for k in range(len(one))]
    evaluator.run_all(alone[:3])
    n = sum(len(one) for one in chosen)
    shared = seconds(lambda: evaluator.run_all(together)) / n
    unshared = seconds(lambda: evaluator.run_all(alone), 2) / len(alone)
    print(f"\nthe whole release space: {total:,} scenarios in {len(groups):,} structures, a sample of {n:,}")
    verdict = word("a candidate of the whole space, µs", shared * 1e6, most=PER_CANDIDATE * 1e6)
    print(f"  shared   {shared * 1e6:7.1f} µs a candidate (<= 60: {verdict})")
    print(
        f"  unshared {unshared * 1e6:7.1f} µs, ratio {unshared / shared:.1f} "
        f"(>= {SHARING:g}: {word('unshared ÷ shared', unshared / shared, least=SHARING)})"
    )


def rounds(seconds: float) -> int:
    """How often a loop that needs neither memory nor anybody else goes round in so much time on the wall."""
    end, count = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        hashlib.blake2b(bytes(4096)).digest()
        count += 1
    return count


def machine_gain(seconds: float = 2.0) -> float:
    """What two processes gain over one where they share nothing: what the processors themselves allow right now."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(rounds, [0.1] * 8))
        one = pool.submit(rounds, seconds).result()
        return sum(pool.map(rounds, [seconds] * 2)) / one


def workers(table: ContingencyTable, candidates: int = 10_000) -> None:
    """Two processes beside one over the same tasks, by the clock on the wall; starting them is left out."""
    groups = small_swaps(table, RATES)
    replicates = -(-candidates // sum(len(one) for one in groups))
    bundles = [TaskBatch([(one, range(1, replicates + 1))]) for one in groups]
    question, times, found, gains = asked(table), [], [], [machine_gain()]
    for count in (1, 2):
        with open_local_executor(question, KEY, count) as executor:
            # until every process has started and loaded its kernels, figures are thrown away
            ready = time.perf_counter() + START
            for _ in executor.run(takewhile(lambda _: time.perf_counter() < ready, cycle(bundles))):  # noqa: B023
                pass
            clock, processor = time.perf_counter(), time.process_time()
            outcomes = executor.run(bundle for _ in range(REPEATS) for bundle in bundles)
            rows = [outcome.rows for outcome in outcomes if len(outcome.rows)]
            n_runs = sum(map(len, rows))
            times.append((time.perf_counter() - clock) / n_runs)
            handing_out = (time.process_time() - processor) / n_runs
        found.append(np.unique(np.concatenate(rows), axis=0))
    gains.append(machine_gain())
    ratio = times[0] / times[1]
    verdict = word("two workers ÷ one", ratio, least=TWO_WORKERS)
    print(
        f"\n{len(found[0]):,} candidates, {REPEATS} times: one worker {times[0] * 1e6:.1f} µs by the clock, two "
        f"{times[1] * 1e6:.1f} µs, ratio {ratio:.2f} "
        f"(>= {TWO_WORKERS} on a quiet machine: {verdict}; two processes that share nothing gain "
        f"{min(gains):.2f} to {max(gains):.2f} on this one); "
        f"handing out tasks took {handing_out * 1e6:.1f} µs of a processor; "
        f"{'the same bits' if np.array_equal(found[0], found[1]) else 'DIFFERENT figures'}"
    )


def main(small: bool = False) -> None:
    """Measure and print."""
    table = first_table()
    if small:
        table = narrowed(table, range(3))
    parts(table)
    sharing(table)
    if not small:
        workers(table)
