"""The chair's annex has the sizes of changes that members read as ranges."""

from __future__ import annotations

from engine.bundle.members import told_to_members
from engine.report.annex import chair_sections
from engine.report.html_file import html_text
from engine.report.losses import worst
from engine.report.page_one import page_one
from engine.report.words import figure
from tests.engine.report.conftest import Case

POINTER = "Annex A tells the chair the sizes."


def test_page_one_points_to_the_annex_where_sizes_are_withheld_and_the_annex_has_them(case: Case) -> None:
    told, _ = told_to_members(case.findings, float(case.realisation.changed.mean()))
    assert (POINTER in dict(page_one(told).rows)["Worst losses"]) == bool(told.utility.changes)
    assert POINTER not in dict(page_one(case.findings).rows)["Worst losses"]
    text = html_text(chair_sections(case.study, case.realisation))
    losses = worst(case.findings.utility, 20)
    assert losses and all(figure(loss.errors, 2) in text for loss in losses)
    assert "The worst losses" in text
