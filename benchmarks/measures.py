"""Cost of the measures on counts, as ratios in one run.

The swaps of one and two attributes at 1 and 10 % are drawn on CPS-8D (in the shared folder; the Czech table without
it). Each measure on counts is timed, as CPU time, on a batch that nothing has looked at yet, so work that it could
share with others counts fully; beside it stand the ratio to the four of every sweep and to the measure's literal twin
on 400 records. The last line is all of them together that cost microseconds by their own account.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from benchmarks._harness import word
from engine.data.io.readers import read_table
from engine.data.microdata import Microdata
from engine.measures import MEASURES, MeasureCall, call, evaluate
from engine.mechanisms import random_swap
from engine.plan import AttributePlan, DataPlan, Plan, samples
from engine.plan.coding import code
from engine.release.batch import CellIndex, ReleaseBatch
from engine.release.spec import AttributeSpec, ReleaseSpec, multi_kind, pairs_wanted
from tests.shared import folder
from tests.small_tables import Small, batch_of, exchange, release
from tests.twins import disclosure, tables
from tests.twins import random_swap as swap_twin
from tests.twins.measures import TWINS as FIRST_TWINS

BASE = ("small_cells", "hellinger", "total_variation", "entropy_change")
RATES = ("0.01", "0.1")
MOST_TOGETHER = 10.0
"""Largest ratio wanted of all measures that cost microseconds together to the four of BASE."""
TWINS = {**FIRST_TWINS, **tables.TWINS, **disclosure.TWINS}
REPEATS = 15


def sample() -> tuple[str, Microdata]:
    """CPS-8D where it is, else the Czech table."""
    path = folder() / "data" / "cps8d.csv"
    if not path.is_file():
        raw, plan = samples.load("czech")
        return "czech", code(raw, plan)
    raw = read_table(path)
    return "cps8d", code(raw, Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names))))


def drawn(data: Microdata, replicates: int) -> Callable[[], ReleaseBatch]:
    """Draws candidates once; the result makes fresh batches, which remember nothing but work on the original."""
    table, names = data.table, data.domain.names
    index, parts, changed, specs = CellIndex(table), [], [], []
    for size in (1, 2):
        for swapped in combinations(range(len(names)), size):
            spec = AttributeSpec(names, "".join("S" if j in swapped else "U" for j in range(len(names))))
            structure = ReleaseSpec(spec, RATES[-1]).structure(multi_kind(table))
            prepared = random_swap.prepare(structure, table)
            wanted = [pairs_wanted(rate, table.n_records)[1] for rate in RATES]
            for replicate in range(replicates):
                stream = random_swap.stream(bytes(16), structure, table, replicate)
                pairs = prepared.draw(stream, wanted[-1])
                for stop in (min(pairs_, len(pairs)) for pairs_ in wanted):
                    parts += exchange(index, pairs[:stop], np.array([stop], np.int64), [spec])
                    changed.append(2 * stop)
                    specs.append(spec)
    return lambda: batch_of(index, parts, changed, specs)


def asked(name: str, target: str) -> MeasureCall | None:
    """A measure on counts with what it needs; None for those that need a file."""
    measure = MEASURES[name]
    if measure.needs != "counts" or "file" in measure.parameters:
        return None
    return call(f"{name}[target={target}]" if "target" in measure.parameters else name)


def seconds(calls: list[MeasureCall], make: Callable[[], ReleaseBatch], data: Microdata) -> float:
    """Least time for some measures on a fresh batch."""
    names = data.domain.names
    lists = {"keys": names, "analyse": names}
    times = []
    for _ in range(REPEATS):
        batch = make()
        start = time.process_time()
        for one in calls:
            evaluate(one, batch, data.domain, lists)
        times.append(time.process_time() - start)
    return min(times)


def beside_twin(one: MeasureCall) -> float | None:
    """How many times faster the engine is than the twin on one candidate over 400 records; None without a twin."""
    twin = TWINS.get(one.measure.name)
    if twin is None:
        return None
    raw, plan = samples.load("czech")
    data = code(raw, plan)
    chosen = np.random.default_rng(7).permutation(data.n_records)[:400]
    small = Small(tuple(zip(*(codes[chosen].tolist() for codes in data.codes), strict=True)), data.domain.shape)
    roles = "S" + "U" * (len(small.shape) - 1)
    pairs = [(a, b) for a, b in chosen.argsort()[:40].reshape(-1, 2).tolist()]
    after = swap_twin.exchange(small.records, pairs, roles)
    values = {**one.values, **({"target": "A"} if "target" in one.values else {})}
    start = time.process_time()
    twin(small.records, after, range(len(small.shape)), small.shape, **values)
    slow = time.process_time() - start
    measure = call(f"{one.measure.name}[target=A]" if "target" in one.values else str(one))
    lists = {"keys": small.names, "analyse": small.names}
    times = []
    for _ in range(REPEATS):
        batch = release(small, roles, pairs)
        start = time.process_time()
        evaluate(measure, batch, small.domain, lists)
        times.append(time.process_time() - start)
    return slow / min(times)


def main(small: bool = False) -> None:
    """Measure and print."""
    name, data = sample()
    make = drawn(data, 1 if small else 4)
    n = len(make())
    calls = [one for one in (asked(name, data.domain.names[-1]) for name in MEASURES) if one is not None]
    calls = calls[: 3 if small else None]
    base = [call(text) for text in BASE]
    seconds(calls, make, data)  # what is remembered about the original is there from here on
    unit = seconds(base, make, data)
    print(f"{name}: {data.n_records:,} records, {n} candidates; NumPy {np.__version__}")
    print(f"{'measure':<26} {'µs':>8} {'ratio':>7} {'twin ÷ engine':>14}")
    for one in calls:
        cost, faster = seconds([one], make, data), beside_twin(one)
        shown = "-" if faster is None else f"{faster:,.0f}"
        print(f"{one!s:<26} {cost / n * 1e6:>8.1f} {cost / unit:>7.2f} {shown:>14}")
    unit = min(unit, seconds(base, make, data))
    quick = [one for one in calls if one.measure.cost.startswith("microseconds")]
    together = seconds(quick, make, data)
    print(f"{'the four of every sweep':<26} {unit / n * 1e6:>8.1f} {1:>7.2f}")
    verdict = word("the quick measures ÷ those of every sweep", together / unit, most=MOST_TOGETHER)
    print(
        f"{f'the {len(quick)} quick ones together':<26} {together / n * 1e6:>8.1f} {together / unit:>7.2f}"
        f"   <= {MOST_TOGETHER:g}: {verdict}"
    )
