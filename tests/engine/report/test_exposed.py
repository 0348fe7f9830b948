"""Groups of exposed records, recounted."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from engine.report.exposed import exposure
from tests.engine.report.conftest import Case
from tests.engine.report.recount import codes, release_of


def in_small(table: np.ndarray, fewest: int) -> np.ndarray:
    _, cell, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return counts[cell.reshape(-1)] < fewest


@pytest.mark.parametrize("fewest", [2, 3, 6, 12])
def test_every_group_with_an_exposed_record_is_counted_however_few_there_are(case: Case, fewest: int) -> None:
    old, new = codes(case)
    before = in_small(old, fewest)
    unaltered = (old == new).all(axis=1)
    after = in_small(new, fewest) & unaltered
    wanted = {}
    for j, attribute in enumerate(case.realisation.data.domain.attributes):
        for k, level in enumerate(attribute.levels):
            mine = old[:, j] == k
            if (mine & (before | after)).any():
                masks = (mine, mine & before, mine & unaltered, mine & after, mine & after & ~before)
                wanted[f"{attribute.name}: {level}"] = tuple(mask.sum() for mask in masks)
    found = exposure(release_of(case), case.study.plan, fewest)
    assert len(found.groups) == len(wanted) > 0
    for row in found.groups:
        assert wanted[row.group] == (row.people, row.before, row.of_after, row.after, row.new)
    assert found.unaltered_new == (after & ~before).sum()


def test_groups_are_sorted_by_the_share_of_their_unaltered_records(case: Case) -> None:
    """The basis of the limit: 20 of 40 unaltered records are more than 25 of 60, whatever the groups' sizes."""
    groups = exposure(release_of(case), case.study.plan, 12).groups
    large = [row.after / row.of_after for row in groups if row.of_after > case.study.plan.tolerances.min_n]
    assert large == sorted(large, reverse=True) and any(row.of_after < row.people for row in groups)


@pytest.mark.parametrize(
    ("sizes", "right"),
    [
        ((4, 2, 2), 1.5),
        ((4, 2, 1), 1.5),
    ],
)
def test_right_matches_have_a_decimal(sizes: tuple[int, ...], right: float) -> None:
    before = np.repeat(np.arange(3), sizes)
    after = before.copy()
    after[[0, 4]] = after[[4, 0]]  # one of the first pair takes part in a swap with a common record
    attribute = SimpleNamespace(name="A", size=3, levels=("0", "1", "2"))
    domain = SimpleNamespace(indices=lambda _: (0,), shape=(3,), attributes=(attribute,))
    data = SimpleNamespace(n_records=len(before), domain=domain, codes=(before,))
    table = SimpleNamespace(codes=lambda _: after)
    release = SimpleNamespace(data=data, tables=(table,), changed=lambda *_: before != after)
    plan = SimpleNamespace(keys=("A",), tolerances=SimpleNamespace(min_n=45))
    assert exposure(release, plan, 3).matches_after == right  # type: ignore[arg-type]


def test_records_with_a_new_combination_are_counted_record_by_record(case: Case) -> None:
    old, new = (Counter(map(tuple, table.tolist())) for table in codes(case))
    assert case.findings.exposure.new_after == sum(count for cell, count in new.items() if cell not in old) > 0
