"""Records in small cells: counts beside counts, and shares of the same records as the bound's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.report.like_with_like import bound_check_words, share_words, small_cell_rows
from engine.report.tables import sheets
from tests.engine.report.conftest import Case, N
from tests.engine.report.recount import codes


def test_counts_and_shares_counted_again(case: Case):
    old, new = codes(case)
    rows = small_cell_rows(case.findings)

    def in_small(table: np.ndarray) -> np.ndarray:
        _, cell, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        return counts[cell.reshape(-1)] < 3

    unaltered = (old == new).all(axis=1)
    everybody, rest = rows
    assert [row.records for row in rows] == ["all records", "unaltered records"]
    assert everybody.before == rest.before == in_small(old).sum()
    assert everybody.after == in_small(new).sum() and rest.after == (in_small(new) & unaltered).sum()
    assert everybody.share_before == rest.share_before == in_small(old).mean()
    assert everybody.share_low == everybody.share_high == in_small(new).mean()
    # eq. 6 itself is not shown, and lies between the limits that are
    share = in_small(new)[unaltered].mean()
    assert rest.share_low is not None and rest.share_high is not None
    assert rest.share_low == rest.after / N < share <= rest.share_high == case.findings.exposure.bound == 0.5
    assert case.realisation.figures[
        "small_cells[n_rule=3]" if "small_cells[n_rule=3]" in case.realisation.figures else "small_cells"
    ] == pytest.approx(share)


def test_the_check_is_in_the_unit_of_the_bound(case: Case):
    row = small_cell_rows(case.findings)[1]
    text = bound_check_words(case.findings)
    assert "meets the bound" in text and "the bound is 50 %" in text and share_words(row) in text
    missed = replace(case.findings, exposure=replace(case.findings.exposure, within_bound=False))
    assert "does not meet the bound" in bound_check_words(missed) and "at least" in bound_check_words(missed)
    without = replace(case.findings, exposure=replace(case.findings.exposure, bound=None, within_bound=None))
    assert bound_check_words(without) == "" and "at least" in share_words(small_cell_rows(without)[1])


def test_who_may_know_the_rate_reads_the_share_itself(case: Case):
    told = replace(case.findings, exposure=replace(case.findings.exposure, share_after=0.1234))
    assert share_words(small_cell_rows(told)[1]) == "12.3 %"


def test_a_rounded_count_limits_no_share_from_below(case: Case):
    exposed = replace(case.findings.exposure, small_before=N)
    row = small_cell_rows(replace(case.findings, exposure=exposed))[1]
    assert row.share_low is None and share_words(row) == "at most 50 %"
    nothing = replace(exposed, bound=None, within_bound=None)
    assert share_words(small_cell_rows(replace(case.findings, exposure=nothing))[1]) == "not shown"


def test_number_and_limits_leave_the_number_of_altered_records_open(case: Case):
    """From number and share before and after only this follows: from none altered up to what the bound allows."""
    row = small_cell_rows(case.findings)[1]
    assert row.share_low is not None and row.share_high is not None
    least, most = 1 - row.after / row.share_low / N, 1 - row.after / row.share_high / N
    assert least == pytest.approx(0) and most == pytest.approx(1 - row.after / 0.5 / N)
    assert least <= case.realisation.changed.mean() <= most


def test_shares_of_groups_are_of_all_records_of_the_group_as_the_memo_says(case: Case):
    """A share of the group's unaltered records would be larger, and would tell how many of it were altered."""
    old, new = codes(case)
    _, cell, counts = np.unique(new, axis=0, return_inverse=True, return_counts=True)
    exposed = (counts[cell.reshape(-1)] < 3) & (old == new).all(axis=1)
    domain, shares = case.realisation.data.domain, {}
    for j, attribute in enumerate(domain.attributes):
        for k, level in enumerate(attribute.levels):
            shares[f"{attribute.name}: {level}"] = exposed[old[:, j] == k].mean()
    header, rows = sheets(case.findings)["Exposed groups"]
    assert "share of all people of the group" in header[-1]
    assert {row[0]: row[-1] for row in rows} == pytest.approx({row[0]: shares[row[0]] for row in rows})
    assert any(row[-1] > 0 for row in rows)
