"""Tables and clocks that several benchmarks share."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from engine.common import compiled
from engine.data.domain import Domain
from engine.data.io.readers import read_table
from engine.data.table import ContingencyTable
from engine.measures import call
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release import space
from engine.sweeps.evaluator import Question
from engine.sweeps.groups import Groups, group
from tests.shared import folder

KEY = bytes(range(16))
CALLS = tuple(call(name) for name in ("small_cells", "hellinger", "total_variation", "entropy_change"))
RATES = ("0.01", "0.02", "0.1")


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


def small_swaps(table: ContingencyTable, rates: Sequence[str], swap: Sequence[str] | None = None) -> Groups:
    """All swaps of one and two attributes."""
    names = table.domain.names
    specs = space.build(space.by_swap_sizes(names, swap or names, (1, 2)), table).specs
    return group(space.scenarios(specs, rates), table)


def first_table() -> ContingencyTable:
    """CPS-8D, or the sample ``fair``; says which."""
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
    return table
