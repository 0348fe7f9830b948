"""Groups of exposed records, recounted."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from engine.report.detected import suspected
from engine.report.exposed import discarded, exposure
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


def test_matches_left_without_suspects_are_those_of_the_other_records(case: Case) -> None:
    old, new = codes(case)
    altered, small = (old != new).any(axis=1), in_small(new, 12)
    release, plan = release_of(case), case.study.plan
    first = np.cumsum(altered) <= altered.sum() // 2  # some altered and some unaltered ones
    for suspects in (altered.astype(float), first.astype(float), 0.5 * first):
        found = discarded(release, plan, 12, ("records", suspects))
        assert found is not None and (found.small, found.unaltered) == (small.sum(), (small & ~altered).sum())
        assert found.small_left == round(float((1 - suspects)[small].sum()))
        assert found.unaltered_left == round(float((1 - suspects)[small & ~altered].sum()))
    whole = discarded(release, plan, 12, ("records", altered.astype(float)))
    assert whole is not None and whole.matches_left == whole.matches > 0 and whole.small_left == whole.unaltered_left
    assert discarded(release, plan, 12, ("records", np.zeros(len(old)))) is None


def test_as_many_are_suspected_as_are_altered_and_not_at_random(case: Case) -> None:
    of, shares = suspected(case.realisation, case.study.plan)
    old, new = codes(case)
    altered = (old != new).any(axis=1)
    assert of == "records" and shares.sum() == pytest.approx(altered.sum()) and 0 <= shares.min() <= shares.max() <= 1
    assert shares[altered].mean() > altered.mean()
