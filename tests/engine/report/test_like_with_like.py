"""Records in small cells: counts beside counts, and shares of the same records as the bound's."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from engine.report import coarse_counts
from engine.report.answers import risk_sentence
from engine.report.exposed import exposure
from engine.report.exposed_counts import is_rounded
from engine.report.html_file import html_text
from engine.report.like_with_like import MATCHES, RANGE_WHY, bound_check_words, share_words, small_cell_rows
from engine.report.memo import memo
from engine.report.tables import sheets
from tests.engine.report.conftest import Case, N
from tests.engine.report.recount import codes, release_of


def test_counts_and_shares_counted_again(case: Case):
    old, new = codes(case)
    rows = small_cell_rows(case.findings)

    def cell_sizes(table: np.ndarray) -> np.ndarray:
        _, cell, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        return counts[cell.reshape(-1)]

    def in_small(table: np.ndarray) -> np.ndarray:
        return cell_sizes(table) < 3

    unaltered = (old == new).all(axis=1)
    everybody, rest, alone, matches = rows
    assert [row.records for row in rows] == [
        "all records",
        "unaltered records",
        "records alone in their combination",
        f"{MATCHES}, rounded",
    ]
    sizes_old, sizes_new = (cell_sizes(table) for table in (old, new))
    assert (alone.before, alone.after) == ((sizes_old == 1).sum(), (sizes_new == 1).sum())
    assert matches.before == round((1 / sizes_old[sizes_old < 3]).sum())
    right = (1 / sizes_new[(sizes_new < 3) & unaltered]).sum()
    assert matches.after == math.ceil(right) and right < 10
    assert share_words(matches) == "–"
    assert everybody.before == rest.before == in_small(old).sum()
    assert everybody.after == in_small(new).sum() and rest.after == (in_small(new) & unaltered).sum()
    assert everybody.share_before == rest.share_before == in_small(old).mean()
    assert everybody.share_low == everybody.share_high == in_small(new).mean()
    assert rest.after is not None
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
    assert "meets the bound: the program compared the exact share" in text and " with 50 %" in text
    assert f"a range ({share_words(row)}), because the exact share would tell how many records were altered" in text
    told = replace(case.findings, exposure=replace(case.findings.exposure, share_after=0.1234))
    assert bound_check_words(told).endswith(
        "12.3 % of its unaltered records stand in small cells, and the bound is 50 %."
    )
    missed = replace(case.findings, exposure=replace(case.findings.exposure, within_bound=False))
    assert "does not meet the bound" in bound_check_words(missed) and "at least" in bound_check_words(missed)
    without = replace(case.findings, exposure=replace(case.findings.exposure, bound=None, within_bound=None))
    assert bound_check_words(without) == "" and "at least" in share_words(small_cell_rows(without)[1])


def test_a_share_of_no_records_is_no_range(case: Case):
    none = replace(case.findings, exposure=replace(case.findings.exposure, unaltered_after=0))
    assert share_words(small_cell_rows(none)[1]) == "0 %"
    assert bound_check_words(none).startswith("The run to be released meets the bound: 0 % of its unaltered records")


def test_a_count_of_none_is_exact_however_counts_are_rounded(case: Case):
    rounded = replace(case.findings, members_rate=replace(case.findings.members_rate, counts="one digit"))
    none = replace(rounded, exposure=replace(rounded.exposure, unaltered_after=0))
    assert is_rounded(none) and share_words(small_cell_rows(none)[1]) == "0 %"
    assert RANGE_WHY not in bound_check_words(none) and "the bound: 0 % of its unaltered" in bound_check_words(none)
    text = " ".join(html_text(memo(none)).split())
    assert "about 0" not in text and ", 0 of which are unaltered" in text
    assert "about " in risk_sentence(rounded)
    several = replace(none, design=replace(none.design, tables=3))
    assert share_words(small_cell_rows(several)[1]) != "0 %", "a mean over tables may be less than half a record"


def test_findings_of_an_earlier_version_have_no_row_of_matches(case: Case):
    older = replace(case.findings.exposure, matches_before=None, matches_after=None)
    assert len(small_cell_rows(replace(case.findings, exposure=older))) == 3


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
    assert row.after is not None and row.share_low is not None and row.share_high is not None
    least, most = 1 - row.after / row.share_low / N, 1 - row.after / row.share_high / N
    assert least == pytest.approx(0) and most == pytest.approx(1 - row.after / 0.5 / N)
    assert least <= case.realisation.changed.mean() <= most


def test_shares_of_groups_are_of_all_records_of_the_group_as_the_memo_says(case: Case):
    """A share of the group's unaltered records would be larger, and would tell how many of it were altered."""
    old, new = codes(case)
    _, cell, counts = np.unique(new, axis=0, return_inverse=True, return_counts=True)
    wide = exposure(release_of(case), case.study.plan, 6)  # more records stand in larger cells, and groups are told
    exposed = (counts[cell.reshape(-1)] < 6) & (old == new).all(axis=1)
    domain, shares = case.realisation.data.domain, {}
    for j, attribute in enumerate(domain.attributes):
        for k, level in enumerate(attribute.levels):
            shares[f"{attribute.name}: {level}"] = exposed[old[:, j] == k].mean()
    header, rows = sheets(replace(case.findings, exposure=wide))["Exposed groups"]
    assert "share of all records of the group" in header[-1]
    assert {row[0]: row[-1] for row in rows} == pytest.approx({row[0]: shares[row[0]] for row in rows})
    assert any(row[-1] > 0 for row in rows)


def test_half_a_right_match_is_not_told_as_none(case: Case):
    exposed = replace(case.findings.exposure, small_after=2, unaltered_after=1, ones_after=0, twos_after=1)
    findings = replace(case.findings, exposure=replace(exposed, matches_before=3, matches_after=0.5))
    row = small_cell_rows(findings)[-1]
    assert (row.records, row.before, row.after) == (MATCHES, 3, 0.5)
    assert "guesses a record for each person in a small combination" in row.records
    assert MATCHES + "</td><td>3</td><td>0.5</td>" in re.sub(
        r"<t[dh][^>]*>", "<td>", html_text(memo(findings))
    ).replace("</th>", "</td>")
    assert coarse_counts.with_coarse_counts(findings, "two digits", "flags").exposure.matches_after == 0.5
