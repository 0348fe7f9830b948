"""Write the reports of each reader into a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.plan.households import places_of
from engine.report import documents
from engine.report.annex import analyst_sections
from engine.report.build_findings import findings
from engine.report.circulating import write_circulating
from engine.report.decision_pages import pages
from engine.report.findings import BOARD
from engine.report.places import place_changes
from engine.report.tables import places_bytes, tables_bytes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from engine.report.findings import Findings
    from engine.study.study import Study
    from engine.sweeps.remake import Remade


def write_board(study: Study, realisation: Remade, folder: Path, order: np.ndarray | None = None) -> None:
    """Write the board's files into an existing folder: memo (DOCX, HTML and, where one can be made, PDF), tables,
    slides and ``board.json``; where the plan names places, a workbook on them.

    ``order`` is that of the rows of the public file, where it is made together with these.
    """
    write_findings(findings(study, realisation, order), folder)
    if places := places_of(study.plan):
        areas = place_changes(realisation, places, study.plan.analyse)[1]
        (folder / "places.xlsx").write_bytes(places_bytes(areas))


def write_findings(findings: Findings, folder: Path) -> None:
    """Write memo, tables, slides and ``board.json`` from findings alone, without study or data."""
    page = pages(findings)
    documents.write(page, folder, "memo", with_pdf=True)
    (folder / "tables.xlsx").write_bytes(tables_bytes(findings))
    (folder / "slides.pptx").write_bytes(documents.pptx(page))
    (folder / BOARD).write_bytes(findings.to_json().encode())


def write_copy(study: Study, realisation: Remade, folder: Path, order: np.ndarray | None = None) -> None:
    """Write the circulating copy of the board's memo, which leaves out what depends on the rate."""
    write_circulating(findings(study, realisation, order), folder)


def write_analyst(study: Study, realisation: Remade, folder: Path) -> None:
    """Write Annex B, for the analyst: every candidate under its own name, runs, notes and the decision log (DOCX,
    HTML)."""
    documents.write(analyst_sections(study, realisation), folder, "annex-b-analyst")
