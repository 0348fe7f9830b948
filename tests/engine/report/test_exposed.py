"""Groups of exposed records that a member may read: none that, beside the released file, points to a person."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine.report.answers import GROUPS_WITHHELD, exposed_groups
from engine.report.exposed import LEAST_OF_GROUP, exposure
from engine.report.html_file import html_text
from engine.report.memo import memo
from engine.report.page_one import page_one
from tests.engine.report.conftest import Case
from tests.engine.report.recount import codes, release_of


def in_small(table: np.ndarray, fewest: int) -> np.ndarray:
    _, cell, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return counts[cell.reshape(-1)] < fewest


@pytest.mark.parametrize("fewest", [2, 3, 6, 12])
def test_a_told_group_leaves_as_many_inside_as_outside_that_nobody_is_singled_out(case: Case, fewest: int) -> None:
    old, new = codes(case)
    before = in_small(old, fewest)
    after = in_small(new, fewest) & (old == new).all(axis=1)
    told = {row.group for row in exposure(release_of(case), case.study.plan, fewest).groups}
    for j, attribute in enumerate(case.realisation.data.domain.attributes):
        mine = [old[:, j] == k for k in range(attribute.size)]
        shown = [f"{attribute.name}: {level}" in told for level in attribute.levels]
        for exposed in (before, after):
            inside = np.array([(group & exposed).sum() for group in mine])
            for count, is_told in zip(inside, shown, strict=True):
                few = any(0 < part < LEAST_OF_GROUP for part in (count, exposed.sum() - count))
                assert not (few and is_told)
            left = inside[~np.array(shown)].sum()
            assert not any(shown) or left == 0 or left >= LEAST_OF_GROUP, "what is left out is no difference of few"


def test_large_groups_are_told_and_small_ones_are_not(case: Case) -> None:
    plan, release = case.study.plan, release_of(case)
    assert exposure(release, plan, 12).groups
    assert not exposure(release, plan, 2).groups


def test_without_groups_the_first_page_says_why_and_the_memo_has_no_empty_table(case: Case) -> None:
    exposed = replace(case.findings.exposure, groups=(), unaltered_after=2)
    findings = replace(case.findings, exposure=exposed)
    assert exposed_groups(findings) == [GROUPS_WITHHELD]
    assert dict(page_one(findings).rows)["Most exposed"] == GROUPS_WITHHELD
    assert "Who stays most exposed" not in html_text(memo(findings))
    none = replace(findings, exposure=replace(exposed, unaltered_after=0))
    assert exposed_groups(none) == ["No unaltered record stands in a small cell."]


@pytest.mark.parametrize(
    ("sizes", "right"),
    [
        # the small cells are pairs: their number and the unaltered records tell the half
        ((4, 2, 2), 1.5),
        # one record is alone, and a half would tell that it is a true one: rounded up
        ((4, 2, 1), 2),
    ],
)
def test_few_right_matches_have_a_decimal_where_other_counts_tell_it(sizes: tuple[int, ...], right: float) -> None:
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
