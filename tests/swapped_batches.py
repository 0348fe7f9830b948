"""Batches of random swaps of one spec at one rate, as a sweep makes them."""

from __future__ import annotations

from functools import cache

import numpy as np

from engine.data.io.readers import read_table
from engine.data.table import ContingencyTable
from engine.mechanisms import random_swap
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.batch import CellIndex, ReleaseBatch
from engine.release.spec import AttributeSpec, ReleaseSpec, multi_kind, pairs_wanted
from tests.shared import shared_file
from tests.small_tables import KEY, batch_of, exchange


def cps() -> ContingencyTable:
    """CPS-8D of the shared folder; the test is skipped where it is absent."""
    return _cps(str(shared_file("data", "cps8d.csv")))


@cache
def _cps(path: str) -> ContingencyTable:
    raw = read_table(path)
    return code(raw, Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))).table


def swaps(table: ContingencyTable, roles: str, rate: str, replicates: int, rule: str = "strict") -> ReleaseBatch:
    """So many replicates of a swap; ``roles`` as in a spec, such as ``"Race:S Sex:F"``."""
    spec = AttributeSpec.parse(roles, table.domain.names)
    structure = ReleaseSpec(spec, rate, rule).structure(multi_kind(table))
    prepared, index = random_swap.prepare(structure, table), CellIndex(table)
    wanted = pairs_wanted(rate, table.n_records)[1]
    parts, changed = [], []
    for replicate in range(1, replicates + 1):
        pairs = prepared.draw(random_swap.stream(KEY, structure, table, replicate), wanted)
        parts += exchange(index, pairs, np.array([len(pairs)], np.int64), [spec])
        changed.append(2 * len(pairs))
    return batch_of(index, parts, changed, [spec] * replicates)
