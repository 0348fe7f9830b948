"""Small cells on unswapped keys and on the worst few, against counts record by record."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from engine.mechanisms import mechanism
from engine.models.record_release import RecordRelease
from engine.plan import Plan
from engine.plan.entries import MechanismPlan
from engine.release.records import ReleasedTable
from engine.report.other_keys import all_but_one, altered_in, key_set, unswapped_keys, with_left, worst_few
from engine.report.recognised_facts import KeySet
from tests.engine.report.conftest import Case, case_of, plan_of


def cells_of(columns: list[list[int]]) -> tuple[list[tuple[int, ...]], Counter[tuple[int, ...]]]:
    """The cell of each record, and how many records are in each."""
    rows = list(zip(*columns, strict=True))
    return rows, Counter(rows)


def original(case: Case, keys: tuple[str, ...], fewest: int) -> tuple[int, int, int]:
    """Records in small cells of the original, records alone, small cells."""
    names, codes = case.realisation.data.domain.names, case.realisation.data.codes
    _, counts = cells_of([codes[names.index(key)].tolist() for key in keys])
    small = [count for count in counts.values() if count < fewest]
    return sum(small), small.count(1), len(small)


def unaltered(case: Case, keys: tuple[str, ...], fewest: int) -> float:
    """Records in small cells of the release whose keys are all as they were, a mean over tables."""
    names, data = case.realisation.data.domain.names, case.realisation.data
    places, found = [names.index(key) for key in keys], 0
    for d in range(len(case.realisation.tables)):
        rows, counts = cells_of([case.realisation.codes(j, d).tolist() for j in places])
        before, _ = cells_of([data.codes[j].tolist() for j in places])
        found += sum(counts[row] < fewest and row == was for row, was in zip(rows, before, strict=True))
    return found / len(case.realisation.tables)


def release_of(case: Case, plan: Plan) -> RecordRelease:
    realisation = case.realisation
    return RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)


PLANS = {
    "swap": plan_of(measures=("small_cells[n_rule=6]", "hellinger"), analyses=()),
    "pram": plan_of(
        mechanisms=(MechanismPlan("pram", (("theta", ("0.8",)), ("vars", ("A+C",)))),),
        measures=("small_cells[n_rule=6]", "hellinger"),
        analyses=(),
    ),
    "maps": plan_of(
        mechanisms=(MechanismPlan("maps", (("w0", ("0.2",)), ("s", ("9",)), ("D", ("2",)))),),
        measures=("small_cells[n_rule=6]", "pmse"),
        analyses=(),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_every_count_is_that_of_the_records(tmp_path: Path, name: str) -> None:
    plan, fewest = PLANS[name], 6
    case = case_of(tmp_path, plan)
    release, data = release_of(case, plan), case.realisation.data
    altered = altered_in(release)
    assert altered and set(altered) <= set(mechanism(case.realisation.spec.mechanism).altered(case.realisation.spec))
    unswapped = unswapped_keys(data.table, plan.keys, altered, fewest)
    kept = tuple(key for key in plan.keys if key not in altered)
    if not kept:
        assert unswapped is None
    else:
        assert unswapped == KeySet(kept, (), *original(case, kept, fewest))
        assert unaltered(case, kept, fewest) == unswapped.small, "the release shows the same there"
    nothing = key_set(data.table, plan.keys, altered, fewest)
    assert nothing == KeySet(plan.keys, tuple(k for k in plan.keys if k in altered), *original(case, plan.keys, fewest))
    for found in with_left(release, [nothing, *all_but_one(data.table, plan.keys, altered, fewest)], plan.keys, fewest):
        assert found.left == round(unaltered(case, found.keys, fewest))
    few = worst_few(release, plan.keys, fewest)
    assert [len(keys.keys) for keys in few] == [3, 2]
    for keys in few:
        sets = list(combinations(plan.keys, len(keys.keys)))
        most = max(unaltered(case, some, fewest) for some in sets)
        assert unaltered(case, keys.keys, fewest) == pytest.approx(most)
        assert (keys.small, keys.alone, keys.matches) == original(case, keys.keys, fewest)
        assert keys.exchanged == tuple(key for key in keys.keys if key in altered)
    if mechanism(case.realisation.spec.mechanism).many_tables:
        assert len(release.tables) == 2


def test_all_keys_swapped_leave_none() -> None:
    from engine.data.domain import Attribute, Domain
    from engine.data.table import ContingencyTable

    domain = Domain((Attribute("A", ("a", "b")), Attribute("B", ("c", "d"))))
    table = ContingencyTable(domain, np.array([[0, 0], [1, 1]]), np.array([5, 1]))
    assert unswapped_keys(table, ("A", "B"), ("A", "B"), 3) is None
    assert unswapped_keys(table, ("A", "B"), ("B",), 3) == KeySet(("A",), (), 1, 1, 1)
    assert key_set(table, ("A", "B"), (), 3).exchanged == ()


@pytest.mark.parametrize(("n", "sets"), [(2, 0), (3, 3), (12, 12), (13, 0)])
def test_tables_of_all_keys_but_one_are_of_three_to_twelve_keys(n: int, sets: int) -> None:
    from engine.data.domain import Attribute, Domain
    from engine.data.table import ContingencyTable

    names = [f"K{k}" for k in range(n)]
    table = ContingencyTable(
        Domain(tuple(Attribute(name, ("a", "b")) for name in names)), np.eye(n, dtype=int), np.ones(n, int)
    )
    assert [found.keys for found in all_but_one(table, names, names[:1], 3)] == [
        tuple(name for name in names if name != out) for out in names[:sets]
    ]


def test_counts_of_a_release_without_a_candidate_are_those_of_its_records(case: Case) -> None:
    """Its method is unknown, so that records are compared on the keys asked for alone."""
    release, data = release_of(case, case.study.plan), case.realisation.data
    release = RecordRelease(release.original, release.tables, case.study.plan)
    sets = [key_set(data.table, keys, (), 9) for keys in combinations(data.domain.names, 3)]
    for found in with_left(release, sets, data.domain.names, 9):
        assert found.left == round(unaltered(case, found.keys, 9)) > 0
