"""What a sweep costs, as processor time in one run: candidates beside a compiled swap over records, sharing, workers,
and how cost grows with records, attributes, rate and cells.

``python benchmarks/sweep.py`` prints a table per question; a target is named beside what it is about.  "Candidate" is
one release drawn, exchanged and measured with small_cells, hellinger, total_variation and entropy_change.  Data:
CPS-8D and Adult where the shared folder holds them, else the sample ``fair`` (then targets say little).  Times drift
from run to run and machine to machine; the ratios are what to compare.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, takewhile
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine import compiled, space
from engine.candidates import Group, group, multi_kind
from engine.datasets import load
from engine.domain import Domain
from engine.evaluator import Evaluator, Question, Task
from engine.io.readers import read_table
from engine.io.recode import code
from engine.measures import call
from engine.mechanisms import kernels, random_swap
from engine.plan import AttributePlan, DataPlan, Plan
from engine.spec import pairs_wanted
from engine.sweep import _run_all
from engine.table import ContingencyTable
from tests.shared import folder

KEY = bytes(range(16))
CALLS = tuple(call(name) for name in ("small_cells", "hellinger", "total_variation", "entropy_change"))
RATES = ("0.01", "0.02", "0.1")
START, REPEATS = 8.0, 4
"""Seconds left to processes to start, and how many times their tasks are timed."""
FASTER_THAN_RECORDS, SHARING, PER_CANDIDATE, LARGE, TWO_WORKERS = 12.0, 5.0, 60e-6, 25e-3, 1.8
"""Targets: times faster than a compiled swap over records at 10 %, times cheaper than unshared runs, seconds a
candidate of the whole release space, seconds a candidate of ten million records at 1 %, two workers to one."""


def seconds(action: Callable[[], object], repeats: int = 3, clock: Callable[[], float] = time.process_time) -> float:
    """The least of some runs: what the machine can do when nothing interrupts."""
    times = []
    for _ in range(repeats):
        start = clock()
        action()
        times.append(clock() - start)
    return min(times)


# -- data ------------------------------------------------------------------------------------------------------------


def table_of(file: str, leave: Sequence[str] = ()) -> ContingencyTable | None:
    """The cell table of a shared file, every column but some as it stands."""
    path = folder() / "data" / file
    if not path.is_file():
        return None
    raw = read_table(path)
    kept = tuple(AttributePlan(name) for name in raw.names if name not in leave)
    return code(raw, Plan(DataPlan(kept, drop=tuple(leave)))).table


def asked(table: ContingencyTable) -> Question:
    """What a sweep asks of a table."""
    return Question(table, CALLS, Plan(DataPlan(tuple(AttributePlan(name) for name in table.domain.names))))


def resampled(table: ContingencyTable, n_records: int) -> ContingencyTable:
    """That many records with the same cells' shares."""
    counts = np.random.default_rng(7).multinomial(n_records, table.counts / table.n_records)
    return ContingencyTable(table.domain, table.cells[counts > 0], counts[counts > 0])


def narrowed(table: ContingencyTable, attributes: Sequence[int]) -> ContingencyTable:
    """The table of some attributes."""
    cells, counts, _ = table.margin(attributes)
    return ContingencyTable(Domain(tuple(table.domain.attributes[j] for j in attributes)), cells, counts)


def small_swaps(table: ContingencyTable, rates: Sequence[str], swap: Sequence[str] | None = None) -> list[Group]:
    """All swaps of one and two attributes."""
    names = table.domain.names
    specs = space.build(space.by_swap_sizes(names, swap or names, (1, 2)), table).specs
    return group(list(enumerate(space.scenarios(specs, rates))), table)


# -- the yardstick: the same swap over records, compiled -------------------------------------------------------------


@compiled.kernel
def swap_records(records, roles, wanted, s, used, released):
    """Appendix A over records: draw two, reject until they may swap; gives up where that takes as many draws as there
    are records (so it is too fast where pairs run out)."""
    n, d = records.shape
    done = 0
    tries = 0
    while done < wanted and tries < n:
        tries = 0
        a = kernels.below(s, n)
        while used[a]:
            a = kernels.below(s, n)
        b = kernels.below(s, n)
        while tries < n:
            tries += 1
            ok = not used[b] and a != b
            free = False
            for j in range(d):
                differs = records[a, j] != records[b, j]
                if roles[j] and not differs:
                    ok = False
                if not roles[j] and differs:
                    free = True
            if ok and free:
                break
            b = kernels.below(s, n)
        if tries == n:
            break
        used[a] = used[b] = True
        for j in range(d):
            if roles[j]:
                released[a, j] = records[b, j]
                released[b, j] = records[a, j]
        done += 1


def over_records(table: ContingencyTable, swapped: Sequence[int], wanted: int) -> Callable[[], object]:
    """One candidate with four measures by records."""
    records = np.repeat(table.cells, table.counts, axis=0).astype(np.int8)
    shape = table.domain.shape
    place = np.cumprod([1, *shape[:0:-1]])[::-1]
    before = np.bincount(records @ place, minlength=int(np.prod(shape)))
    roles = np.isin(np.arange(len(shape)), swapped)

    def run() -> list[float]:
        used, released = np.zeros(len(records), bool), records.copy()
        with compiled.wrapping():
            swap_records(records, roles, wanted, np.arange(1, 5).astype(np.uint64), used, released)
        code_of = released @ place
        after = np.bincount(code_of, minlength=len(before))
        unchanged = ~used
        p, q = before / len(records), after / len(records)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.nansum(q * np.log(q)) + np.nansum(p * np.log(p))
        return [
            np.count_nonzero(unchanged & (after[code_of] < 3)) / np.count_nonzero(unchanged),
            float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)),
            float(np.abs(p - q).sum() / 2),
            float(entropy),
        ]

    return run


# -- questions -------------------------------------------------------------------------------------------------------


def parts(table: ContingencyTable) -> None:
    """One candidate of the one- and two-attribute swaps, and where its time goes."""
    print("\none candidate of the 36 swaps of one and two attributes (µs); yardstick: compiled swap over records")
    print(
        f"{'rate':>6} {'prepare':>8} {'draw':>8} {'exchange':>8} {'measures':>8} {'candidate':>9} {'records':>9}  ratio"
    )
    question = asked(table)
    for rate in RATES:
        groups = small_swaps(table, [rate])
        wanted = pairs_wanted(rate, table.n_records)[1]
        evaluator = Evaluator(question, KEY)
        numbers = range(1, 11)
        # a candidate as a sweep of 20 replicates pays for it
        tasks = [(one, range(1, 21)) for one in groups]
        evaluator.run_all(tasks[:2])
        whole = seconds(lambda: evaluator.run_all(tasks)) / (20 * len(groups))  # noqa: B023
        several = multi_kind(table)
        structures = [one.members[0][1].structure(several) for one in groups]
        prepare = seconds(lambda: [random_swap.prepare(s, table) for s in structures]) / len(groups)  # noqa: B023
        prepared = [random_swap.prepare(s, table) for s in structures]
        streams = [[random_swap.stream(KEY, s, table, r) for r in numbers] for s in structures]
        pairs: list[np.ndarray] = []

        def draw() -> None:
            pairs[:] = [p.draw(d, wanted) for p, ds in zip(prepared, streams, strict=True) for d in ds]  # noqa: B023

        drawing = seconds(draw) / (10 * len(groups))
        index, touched = evaluator.index, random_swap.Touched()
        masks = [random_swap.split_masks(index, [one.members[0][1].attributes]) for one in groups]
        stops, one_stop = np.array([wanted], np.int64), np.ones((1, 1), bool)

        def exchange() -> None:
            touched.clear()  # noqa: B023
            for i, drawn in enumerate(pairs):  # noqa: B023
                touched.exchange(index, drawn, np.minimum(stops, len(drawn)), masks[i // 10], one_stop)  # noqa: B023

        exchange()
        exchanging = seconds(exchange) / (10 * len(groups))
        yardstick = []
        for one in groups:
            run = over_records(table, one.members[0][1].attributes.having("S"), wanted)
            run()
            yardstick.append(seconds(run))
        records = float(np.mean(yardstick))
        figures = [v * 1e6 for v in (prepare, drawing, exchanging, whole - drawing - exchanging - prepare / 20)]
        verdict = (
            f" (>= {FASTER_THAN_RECORDS}: {_word(records / whole >= FASTER_THAN_RECORDS)})" if rate == "0.1" else ""
        )
        line = " ".join(f"{v:8.1f}" for v in figures)
        print(f"{rate:>6} {line} {whole * 1e6:9.1f} {records * 1e6:9.0f}  {records / whole:.1f}{verdict}")


def sharing(table: ContingencyTable, most: int = 600) -> None:
    """The whole release space: splits and rates share their pairs; beside every candidate on its own."""
    names = table.domain.names
    specs = space.build(space.complete(names, names), table).specs
    groups = group(list(enumerate(space.scenarios(specs, RATES))), table)
    total = sum(len(one.members) for one in groups)
    chosen = [groups[i] for i in np.unique(np.linspace(0, len(groups) - 1, most).astype(int))]
    evaluator = Evaluator(asked(table), KEY)
    together = [(one, (1,)) for one in chosen]
    alone = [(Group(one.structure, (member,)), (1,)) for one in chosen[:: max(1, most // 60)] for member in one.members]
    evaluator.run_all(alone[:3])
    n = sum(len(one.members) for one in chosen)
    shared = seconds(lambda: evaluator.run_all(together)) / n
    unshared = seconds(lambda: evaluator.run_all(alone), 2) / len(alone)
    print(f"\nthe whole release space: {total:,} scenarios in {len(groups):,} structures, a sample of {n:,}")
    print(f"  shared   {shared * 1e6:7.1f} µs a candidate (<= 60: {_word(shared <= PER_CANDIDATE)})")
    print(
        f"  unshared {unshared * 1e6:7.1f} µs, ratio {unshared / shared:.1f} "
        f"(>= {SHARING:g}: {_word(unshared / shared >= SHARING)})"
    )


def workers(table: ContingencyTable, candidates: int = 10_000) -> None:
    """Two processes beside one over the same tasks, by the clock on the wall; starting them is left out."""
    groups = small_swaps(table, RATES)
    replicates = -(-candidates // sum(len(one.members) for one in groups))
    bundles = [[(one, tuple(range(1, replicates + 1)))] for one in groups]
    question, times, found = asked(table), [], []
    for count in (1, 2):
        begun: list[float] = []

        def tasks(begun: list[float] = begun) -> Iterator[list[Task]]:
            # until every process has started and loaded its kernels, figures are thrown away
            ready = time.perf_counter() + START
            yield from takewhile(lambda _: time.perf_counter() < ready, cycle(bundles))
            begun.extend((time.perf_counter(), time.process_time()))
            for _ in range(REPEATS):
                yield from bundles

        rows = [outcome.rows for outcome in _run_all(tasks(), question, KEY, count)]
        times.append((time.perf_counter() - begun[0]) / (REPEATS * sum(map(len, rows[-len(bundles) :]))))
        handing_out = (time.process_time() - begun[1]) / (REPEATS * sum(map(len, rows[-len(bundles) :])))
        found.append(np.unique(np.concatenate(rows), axis=0))
    ratio = times[0] / times[1]
    print(
        f"\n{len(found[0]):,} candidates, {REPEATS} times: one worker {times[0] * 1e6:.1f} µs by the clock, two "
        f"{times[1] * 1e6:.1f} µs, ratio {ratio:.2f} "
        f"(>= {TWO_WORKERS} on a quiet machine: {_word(ratio >= TWO_WORKERS)}); "
        f"handing out tasks took {handing_out * 1e6:.1f} µs of a processor; "
        f"{'the same bits' if np.array_equal(found[0], found[1]) else 'DIFFERENT figures'}"
    )


def growth(table: ContingencyTable) -> None:
    """Records, attributes and rates."""
    print("\ngrowth: the swaps of one and two attributes, µs a candidate, preparation shared by two replicates")
    print(f"{'records':>12} {'attributes':>10} {'cells':>7} " + " ".join(f"{rate:>9}" for rate in RATES))
    d = len(table.domain)
    cases = [(table.n_records, range(k)) for k in range(4, d, 2)]
    cases += [(n, range(d)) for n in (table.n_records, 10**6, 10**7)]
    for n, attributes in cases:
        part = narrowed(table, attributes)
        if n != table.n_records:
            part = resampled(part, n)
        evaluator = Evaluator(asked(part), KEY)
        costs = []
        for rate in RATES:
            groups = small_swaps(part, [rate])[:: max(1, n // 10**6)]
            tasks = [(one, (1, 2)) for one in groups]
            evaluator.run_all(tasks[:1])
            costs.append(seconds(lambda: evaluator.run_all(tasks), 2) / (2 * len(groups)))  # noqa: B023
        verdict = f"  at 1 % <= 25 ms: {_word(costs[0] <= LARGE)}" if n == 10**7 else ""
        print(
            f"{n:>12,} {len(part.domain):>10} {len(part):>7,} " + " ".join(f"{c * 1e6:9.1f}" for c in costs) + verdict
        )


def sparse() -> None:
    """Adult with twelve attributes: nearly every record its own cell."""
    table = table_of("adult_raw.csv", ("fnlwgt", "capital-gain", "capital-loss"))
    if table is None:
        return
    names = table.domain.names
    evaluator = Evaluator(asked(table), KEY)
    groups = small_swaps(table, RATES, names[:8])
    tasks = [(one, (1, 2)) for one in islice(groups, 0, None, 3)]
    evaluator.run_all(tasks[:1])
    cost = seconds(lambda: evaluator.run_all(tasks), 2) / sum(2 * len(one.members) for one, _ in tasks)
    combinations = float(np.prod([float(size) for size in table.domain.shape]))
    print(
        f"\nsparse: {table.n_records:,} records in {len(table):,} of {combinations:.1e} cells; {cost * 1e6:.0f} µs a "
        f"candidate, so {len(groups) * 3 * 20 * cost:.1f} s for {len(groups)} swaps, three rates and 20 replicates"
    )


def _word(met: bool) -> str:
    return "met" if met else "MISSED"


def main() -> None:
    """Measure and print."""
    table = table_of("cps8d.csv")
    name = "cps8d"
    if table is None:
        raw, plan = load("fair")
        name, table = "fair", code(raw, plan).table
    how = "compiled" if compiled.COMPILED else compiled.WHY_NOT
    print(
        f"{name}: {table.n_records:,} records in {len(table):,} cells of {len(table.domain)} attributes; NumPy "
        f"{np.__version__}, kernels {how}, {os.cpu_count()} processors"
    )
    parts(table)
    sharing(table)
    workers(table)
    growth(table)
    sparse()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\npeak memory of all this: {peak / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
