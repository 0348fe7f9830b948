"""Sentences of the memo that hold for the file at hand and for no other."""

from __future__ import annotations

import html
from dataclasses import replace

import pytest

from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.memo import memo
from tests.engine.report.conftest import Case


def text_of(findings: Findings) -> str:
    return " ".join(html.unescape(html_text(memo(findings))).split())


def test_a_unique_record_of_a_whole_population_is_not_called_harmless(case: Case) -> None:
    wanted = "surely alone in the population only if the file holds everybody: the program cannot tell; "
    design = case.findings.design
    stated = replace(case.findings, design=replace(design, design="everybody of one plant"))
    assert wanted + "the design above says who is in the file." in text_of(stated)
    assert wanted + "the plan does not say who is in the file." in text_of(
        replace(case.findings, design=replace(design, design=""))
    )


def test_the_intruder_of_the_plan_is_told_apart_from_that_of_the_figures(case: Case) -> None:
    apart = "Whoever knows fewer of them is covered by the table of other keys in section 4"
    assert apart in text_of(case.findings)
    nobody = replace(case.findings, threat=replace(case.findings.threat, intruder=""))
    assert apart not in text_of(nobody)


def test_what_nobody_checked_is_the_statement_of_the_plan(case: Case) -> None:
    threat = replace(case.findings.threat, public_files=("none known",))
    cover = replace(case.findings.cover, overlaps="none")
    text = text_of(replace(case.findings, threat=threat, cover=cover))
    assert "the agency states: none known; the program looks nowhere itself" in text
    assert "Of such releases the agency states: none; the program looks nowhere itself." in text


def test_the_certificate_names_what_was_computed_again(case: Case) -> None:
    assert "its measures (unaltered records in small cells, " in text_of(case.findings)


@pytest.mark.slow
def test_a_small_share_is_not_broken_over_lines(case: Case) -> None:
    rows = tuple(replace(row, share=0.001, shared_runs=None) for row in case.findings.map.candidates)
    text = html_text(memo(replace(case.findings, map=replace(case.findings.map, candidates=rows))))
    assert "under\u00a01\u00a0%" in text


def test_what_was_not_compared_names_larger_tables_and_the_log_promises_no_names(case: Case) -> None:
    text = text_of(case.findings)
    assert "Not compared, because the plan declares none: tables of three and more attributes" in text
    (table,) = case.findings.utility.tables
    large = replace(table, attributes=("A", "B", "C"))
    of_large = replace(case.findings, utility=replace(case.findings.utility, tables=(large,)))
    assert "tables of three and more attributes" not in text_of(of_large)
    assert "% of the occupied cells of the original are that small" in text
    assert "is named where it acted" not in text and "The analyst's annex names who acted." in text


def test_models_that_nobody_declared_are_not_called_checked(case: Case) -> None:
    utility = replace(case.findings.utility, models=())
    assert "Models not checked, as none is declared." in text_of(replace(case.findings, utility=utility))
    assert "Coefficients not checked." in text_of(case.findings)
