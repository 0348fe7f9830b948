"""Speed of one candidate of the random swap, as ratios in one run to the record-by-record twin and to the draw alone.

``python benchmarks/random_swap.py`` prints one line per case: draw over cells, exchange and four measures (small-cell
risk, Hellinger, total variation, entropy change) together; the draw of the cells alone; and the twin, which follows the
paper's Appendix A record by record and tabulates with dicts.  The kernel that draws by weight or refuses partners is
held against the published draw.  Data: CPS-8D where the shared folder holds it, else the
sample ``fair``.  Absolute times drift from run to run and machine to machine; the ratios are what to compare.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.common import compiled
from engine.data.io.readers import read_table
from engine.data.microdata import Microdata
from engine.measures import call
from engine.mechanisms import random_swap
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.space import by_swap_sizes
from engine.release.spec import AttributeSpec, ReleaseSpec, pairs_wanted
from engine.sweeps.evaluator import Evaluator, question_of
from engine.sweeps.groups import group
from tests.shared import folder
from tests.twins import measures as measures_twin
from tests.twins import random_swap as twin

KEY = bytes(range(16))
MEASURES = ("small_cells", "hellinger", "total_variation", "entropy_change")
TOGETHER = 20
"""Replicates per call, as in a sweep."""


def data() -> tuple[str, Plan, Microdata]:
    """CPS-8D, or the sample that comes with statsmodels."""
    path = folder() / "data" / "cps8d.csv"
    if not path.is_file():
        raw, plan = load("fair")
        return "fair", plan, code(raw, plan)
    raw = read_table(path)
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    return "cps8d", plan, code(raw, plan)


def seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """The least of some runs: what the machine can do when nothing interrupts."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return min(times)


def candidate(evaluator: Evaluator, specs: Sequence[ReleaseSpec]) -> float:
    """Seconds per candidate, drawn, exchanged and measured; every spec at every rate, 20 replicates each."""
    groups = group(specs, evaluator.question.table)

    def run() -> None:
        for one in groups:
            evaluator.run(one, range(1, TOGETHER + 1))

    return seconds(run) / (TOGETHER * len(specs))


def draw(microdata: Microdata, specs: Sequence[ReleaseSpec]) -> float:
    """Seconds per draw of pairs of cells, without preparation."""
    table = microdata.table
    prepared = [(random_swap.prepare(spec.structure(), table), spec) for spec in specs]

    def run() -> None:
        for one, spec in prepared:
            wanted = pairs_wanted(spec.rate, table.n_records)[1]
            for replicate in range(1, TOGETHER + 1):
                one.draw(random_swap.stream(KEY, spec.structure(), table, replicate), wanted)

    return seconds(run) / (TOGETHER * len(specs))


def by_record(microdata: Microdata, spec: ReleaseSpec) -> float:
    """Seconds of one candidate of the twin, with the same four measures."""
    records = list(zip(*(codes.tolist() for codes in microdata.codes), strict=True))
    shape = microdata.domain.shape
    everything = range(len(shape))

    def run() -> None:
        drawn = twin.draw(records, spec.attributes.roles, spec.rate, Random(1))
        after = twin.exchange(records, drawn.pairs, spec.attributes.roles)
        for name in MEASURES:
            measures_twin.TWINS[name](records, after, everything, shape)

    return seconds(run, 1)


def restricted(microdata: Microdata) -> None:
    """Draws of the swap of the first attribute at 10 % by the kernel that may refuse partners, beside the published
    one."""
    names, domain = microdata.domain.names, microdata.domain
    ordered = max(range(1, len(names)), key=lambda j: domain.shape[j])
    ways = {
        "risk of being drawn by 1/count": (("lean", "1"), ("risk", "+".join(names))),
        f"within 2 steps of {names[ordered]}": (("near", f"{names[ordered]}:2"),),
        f"alike on {len(names) // 2} of the others": (
            ("similar", "+".join(names[1:])),
            ("similarity", str(len(names) // 2)),
        ),
    }
    spec = ReleaseSpec(AttributeSpec(names, "S" + "U" * (len(names) - 1)), "0.1")
    published = draw(microdata, [spec])
    print(f"\n{'the restricted kernel, 1 attribute, 10 %':42}{'draw':>12}{'of the published draw':>24}")
    print(f"{'nothing asked':42}{published * 1e6:9.0f} µs{1:23.1f}x")
    for what, params in ways.items():
        seconds_each = draw(microdata, [replace(spec, params=params)])
        print(f"{what:42}{seconds_each * 1e6:9.0f} µs{seconds_each / published:23.1f}x")


def main() -> None:
    name, plan, microdata = data()
    names = microdata.domain.names
    evaluator = Evaluator(question_of(plan, microdata, [call(text) for text in MEASURES]), KEY)

    def specs(sizes: list[int], *rates: str) -> list[ReleaseSpec]:
        return [ReleaseSpec(spec, rate) for spec in by_swap_sizes(names, names, sizes) for rate in rates]

    first = AttributeSpec(names, "S" + "U" * (len(names) - 1))
    both = AttributeSpec(names, "SS" + "U" * (len(names) - 2))
    cases = {
        "1 attribute, 1 %": [ReleaseSpec(first, "0.01")],
        "1 attribute, 10 %": [ReleaseSpec(first, "0.1")],
        "2 attributes, 10 %": [ReleaseSpec(both, "0.1")],
        "mean of all with 1 or 2, 1 %": specs([1, 2], "0.01"),
        "mean of all with 1 or 2, 10 %": specs([1, 2], "0.1"),
        "the same, three rates in one run": specs([1, 2], "0.01", "0.02", "0.1"),
    }
    candidate(evaluator, cases["1 attribute, 1 %"])  # compile or load the kernels
    how = "compiled" if compiled.COMPILED else compiled.WHY_NOT
    cells = len(microdata.table)
    print(f"{name}: {microdata.n_records:,} records, {len(names)} attributes, {cells:,} occupied cells; {how}")
    print(f"{'':34}{'candidate':>12}{'draw alone':>12}{'share':>8}{'by record':>12}{'ratio':>10}")
    for what, chosen in cases.items():
        whole = candidate(evaluator, chosen)
        line = f"{what:34}{whole * 1e6:9.0f} µs"
        if "three" not in what:
            alone = draw(microdata, chosen)
            line += f"{alone * 1e6:9.0f} µs{alone / whole:7.0%}"
        if len(chosen) == 1:
            slow = by_record(microdata, chosen[0])
            line += f" {slow * 1e3:9.0f} ms{slow / whole:9,.0f}x"
        print(line)
    restricted(microdata)


if __name__ == "__main__":
    np.seterr(all="raise", over="ignore", under="ignore")
    main()
