"""How the cost of a candidate grows with records, attributes, rates and cells.

Data: CPS-8D and Adult where
the shared folder holds them, else the sample ``fair`` (then targets say little).
"""

from __future__ import annotations

import resource

from benchmarks._harness import seconds, word
from benchmarks._tables import (
    KEY,
    RATES,
    asked,
    first_table,
    narrowed,
    resampled,
    small_swaps,
    table_of,
)
from engine.data.table import ContingencyTable
from engine.sweeps.evaluator import Evaluator

LARGE = 25e-3
"""Target: seconds a candidate of ten million records at 1 %."""
ADULT_LEFT_OUT = ("fnlwgt", "capital-gain", "capital-loss")


def growth(table: ContingencyTable, small: bool) -> None:
    """Records, attributes and rates; the last rows are Adult, of which nearly every record is a cell of its own."""
    print("\ngrowth: the swaps of one and two attributes, µs a candidate, preparation shared by two replicates")
    print(f"{'records':>12} {'attributes':>10} {'cells':>7} " + " ".join(f"{rate:>9}" for rate in RATES))
    d = len(table.domain)
    cases = [(table, table.n_records, k) for k in range(2, d, 2)]
    cases += [(table, n, d) for n in (table.n_records, 10**6, 10**7)]
    adult = table_of("adult_raw.csv", ADULT_LEFT_OUT)
    if adult is not None:
        cases += [(adult, adult.n_records, k) for k in (4, 8, 12)]
    for whole, n, attributes in cases[: 1 if small else None]:
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


def main(small: bool = False) -> None:
    """Measure and print."""
    growth(first_table(), small)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"\npeak memory of all this: {peak / 1024:,.0f} MB")
