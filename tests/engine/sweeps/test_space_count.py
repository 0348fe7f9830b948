"""Spaces that are counted without being listed have the figures of the list."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import UsageError
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.plan import DataPlan, Plan, SpacePlan
from engine.plan.coding import code
from engine.plan.entries import AttributePlan
from engine.release.space import Space
from engine.sweeps import candidates as space_count
from engine.sweeps import probe
from engine.sweeps.candidates import space_of

RNG = np.random.default_rng(5)


def made(sizes: tuple[int, ...], narrow: tuple[int, ...], swap: int, fix: int, change: int, rule: str) -> Plan:
    names = [f"a{i}" for i in range(6)]
    aside = names[6 - fix - change :]
    return Plan(
        DataPlan(tuple(AttributePlan(name) for name in names)),
        swap=tuple(names[:swap]),
        space=SpacePlan(swap_sizes=sizes, fix=tuple(aside[:fix]), change=tuple(aside[fix:]), rule=rule),
    )


def data_of(plan: Plan, narrow: tuple[int, ...]) -> Microdata:
    columns = {}
    for i, name in enumerate(plan.names):
        codes = np.zeros(40, np.int8) if i in narrow else np.arange(40, dtype=np.int8) % 2
        columns[name] = RawColumn(name, pa.array(["x"] if i in narrow else ["x", "y"]), RNG.permutation(codes))
    return code(RawTable(columns, 40, "made up"), plan)


@pytest.mark.parametrize("rule", ["strict", "loose"])
@pytest.mark.parametrize("narrow", [(), (0,), (1, 4), (5,), (2, 3, 4, 5)])
@pytest.mark.parametrize(
    ("swap", "fix", "change", "sizes"),
    [(6, 0, 0, (1, 2)), (4, 1, 0, (1, 3)), (3, 1, 1, (2,)), (6, 0, 1, (1, 5)), (5, 3, 0, (1, 2)), (6, 0, 0, (5, 6))],
)
def test_counts_are_those_of_the_listed_space(
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    narrow: tuple[int, ...],
    swap: int,
    fix: int,
    change: int,
    sizes: tuple[int, ...],
) -> None:
    monkeypatch.setattr(space_count, "MOST_LISTED", 0)
    able = swap - max(0, swap + fix + change - 6)
    plan = made(tuple(size for size in sizes if size <= able), narrow, swap, fix, change, rule)
    data = data_of(plan, narrow)
    found = space_count.counted(plan, data)
    try:
        listed = space_of(plan, data)
    except UsageError:
        assert found is None
        return
    assert found is not None
    figures = (listed.legal, listed.feasible, len(listed.specs) + len(listed.merged), len(listed.impossible))
    assert (found.legal, found.feasible, found.distinct, found.n_impossible) == figures
    assert not listed.merged
    for n in (1, 3, 1000):
        part = found.even_part(n)
        assert part == list(listed.specs[:: max(1, -(-len(listed.specs) // n))])


def test_few_swaps_are_listed() -> None:
    plan = made((1, 2), (), 6, 0, 0, "strict")
    assert space_count.counted(plan, data_of(plan, ())) is None


def test_an_estimate_looks_at_an_even_part_of_what_is_counted_or_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = made((1, 2), (), 6, 0, 0, "strict")
    data = data_of(plan, ())
    listed = space_count.space_or_count(plan, data)
    monkeypatch.setattr(space_count, "MOST_LISTED", 0)
    counts = space_count.space_or_count(plan, data)
    assert isinstance(listed, Space) and isinstance(counts, space_count.Counted)
    assert probe.probed(plan, data, listed, ()) == probe.probed(plan, data, counts, ())
    monkeypatch.setattr(probe, "_PROBED", 5)
    few, total = probe.probed(plan, data, counts, ())
    assert (few, total) == probe.probed(plan, data, listed, ())
    assert len(few) == 5 * len(plan.space.rates) and total == 21 * len(plan.space.rates)
