"""Declared analyses on several runs of the recommended candidate and its neighbours, against fits of runs remade."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.models.analyses import compare
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from engine.report import side_by_side as module
from engine.report.context import report_context
from engine.report.describe import remade
from engine.report.side_by_side import RUNS, compared_letters, side_by_side
from tests.engine.report.conftest import Case, raw_table


def _release(case: Case) -> RecordRelease:
    realisation = case.realisation
    return RecordRelease(ReleasedTable(realisation.data), realisation.tables, case.study.plan, realisation.spec)


@pytest.mark.slow
def test_changes_over_runs_are_those_of_runs_made_again_one_by_one(case: Case):
    context, (analysis,) = report_context(case.study, case.realisation), case.study.plan.analyses
    rows, use = case.findings.utility.coefficient_runs, case.findings.utility
    letters = compared_letters(context)
    assert "A" in letters and len(letters) > 1
    for letter, index in letters.items():
        shifts = []
        for replicate in range(1, RUNS + 1):
            run = remade(case.study, raw_table(), case.study.scenarios[index].label, replicate)
            release = RecordRelease(ReleasedTable(run.data), run.tables, case.study.plan)
            comparison = compare(release, analysis, reported=True)
            shifts.append((comparison.after - comparison.before.estimate) / comparison.before.se)
        shift = np.array(shifts)
        of_letter = [row for row in rows if row.letter == letter]
        assert [row.runs for row in of_letter] == [RUNS] * shift.shape[1]
        for row, values in zip(of_letter, shift.T, strict=True):
            wanted = (values.mean(), values.min(), values.max())
            assert (row.mean, row.least, row.most) == pytest.approx(wanted, abs=1e-9)
        (summary,) = (row for row in use.analysis_runs if row.letter == letter)
        worst = np.abs(shift).max(axis=1)
        assert (summary.mean, summary.least, summary.most) == pytest.approx((worst.mean(), worst.min(), worst.max()))
        assert summary.coefficients == shift.shape[1] and summary.runs == RUNS


def test_they_are_stored_with_the_study_and_not_made_twice(case: Case, monkeypatch: pytest.MonkeyPatch):
    context, release = report_context(case.study, case.realisation), _release(case)
    first = side_by_side(context, release)
    assert first == (case.findings.utility.coefficient_runs, case.findings.utility.analysis_runs)
    monkeypatch.setattr(module, "setting_of", None)  # whoever computes again fails
    assert side_by_side(context, release) == first


def test_without_analyses_nothing_is_made(case: Case, monkeypatch: pytest.MonkeyPatch):
    context = report_context(case.study, case.realisation)
    monkeypatch.setattr(module, "_stored", None)
    monkeypatch.setattr(type(case.study), "plan", replace(case.study.plan, analyses=()))
    assert side_by_side(context, _release(case)) == ((), ())


def test_neighbours_are_the_next_letters_on_either_side(case: Case):
    context = report_context(case.study, case.realisation)
    order = list(context.letters)
    at = order.index("A")
    assert list(compared_letters(context)) == order[max(0, at - 1) : at + 2]
