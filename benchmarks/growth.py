"""How the cost of a candidate grows: with records, attributes, rate, cells, and with how tight a swap is.

``python benchmarks/growth.py`` prints a table per question, as processor time in one run.  Data: CPS-8D and Adult where
the shared folder holds them, else the sample ``fair`` (then targets say little).
"""

from __future__ import annotations

import resource
import sys
from itertools import islice
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._tables import (
    KEY,
    RATES,
    asked,
    first_table,
    narrowed,
    resampled,
    seconds,
    small_swaps,
    table_of,
)
from benchmarks._targets import word
from engine.data.table import ContingencyTable
from engine.mechanisms import random_swap
from engine.release.space import pair_bound
from engine.sweeps.evaluator import Evaluator

LARGE = 25e-3
"""Target: seconds a candidate of ten million records at 1 %."""
ADULT_LEFT_OUT = ("fnlwgt", "capital-gain", "capital-loss")
TIGHT = (0.01, 0.1, 0.5, 0.9, 1.0)


def growth(table: ContingencyTable) -> None:
    """Records, attributes and rates; the last rows are Adult, of which nearly every record is a cell of its own."""
    print("\ngrowth: the swaps of one and two attributes, µs a candidate, preparation shared by two replicates")
    print(f"{'records':>12} {'attributes':>10} {'cells':>7} " + " ".join(f"{rate:>9}" for rate in RATES))
    d = len(table.domain)
    cases = [(table, table.n_records, k) for k in range(2, d, 2)]
    cases += [(table, n, d) for n in (table.n_records, 10**6, 10**7)]
    adult = table_of("adult_raw.csv", ADULT_LEFT_OUT)
    if adult is not None:
        cases += [(adult, adult.n_records, k) for k in (4, 8, 12)]
    for whole, n, attributes in cases:
        part = narrowed(whole, range(attributes))
        if n != whole.n_records:
            part = resampled(part, n)
        evaluator = Evaluator(asked(part), KEY)
        costs = []
        for rate in RATES:
            groups = small_swaps(part, [rate])[:: max(1, n // 10**6)]
            tasks = [(one, (1, 2)) for one in groups]
            evaluator.run_all(tasks[:1])
            costs.append(seconds(lambda: evaluator.run_all(tasks), 2) / (2 * len(groups)))  # noqa: B023
        verdict = ""
        if n == 10**7:
            verdict = f"  at 1 % <= 25 ms: {word('10^7 records at 1 %, seconds a candidate', costs[0], most=LARGE)}"
        print(
            f"{n:>12,} {len(part.domain):>10} {len(part):>7,} " + " ".join(f"{c * 1e6:9.1f}" for c in costs) + verdict
        )


def tightness(table: ContingencyTable) -> None:
    """The draw alone, from few of the pairs that may exist to more than there are."""
    print("\ntightness: pairs asked for as a share of the most that can exist, every swap of one and two attributes")
    print(f"{'share':>6} {'pairs':>8} {'drawn':>7} {'µs a draw':>10} {'ns a pair':>10}")
    structures = [one.structure for one in small_swaps(table, ["0.1"])]
    prepared = [(random_swap.prepare(s, table), pair_bound(s, table)[0], s) for s in structures if s is not None]
    for share in TIGHT:
        cases = [
            (one, int(share * most), random_swap.stream(KEY, structure, table, 1)) for one, most, structure in prepared
        ]
        drawn = [len(one.draw(stream, wanted)) for one, wanted, stream in cases]
        wanted = float(np.mean([wanted for _, wanted, _ in cases]))
        each = seconds(lambda: [one.draw(stream, wanted) for one, wanted, stream in cases], 2)  # noqa: B023
        print(
            f"{share:6.0%} {wanted:8,.0f} {np.mean(drawn) / wanted:7.1%} {each / len(cases) * 1e6:10.1f} "
            f"{each / max(1, sum(drawn)) * 1e9:10.1f}"
        )


def sparse() -> None:
    """Adult with twelve attributes: nearly every record its own cell."""
    table = table_of("adult_raw.csv", ADULT_LEFT_OUT)
    if table is None:
        return
    names = table.domain.names
    evaluator = Evaluator(asked(table), KEY)
    groups = small_swaps(table, RATES, names[:8])
    tasks = [(one, (1, 2)) for one in islice(groups, 0, None, 3)]
    evaluator.run_all(tasks[:1])
    cost = seconds(lambda: evaluator.run_all(tasks), 2) / sum(2 * len(one.scenarios) for one, _ in tasks)
    combinations = float(np.prod([float(size) for size in table.domain.shape]))
    print(
        f"\nsparse: {table.n_records:,} records in {len(table):,} of {combinations:.1e} cells; {cost * 1e6:.0f} µs a "
        f"candidate, so {len(groups) * 3 * 20 * cost:.1f} s for {len(groups)} swaps, three rates and 20 replicates"
    )


def main() -> None:
    """Measure and print."""
    table = first_table()
    growth(table)
    tightness(table)
    sparse()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\npeak memory of all this: {peak / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
