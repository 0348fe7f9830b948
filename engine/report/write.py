"""Write the reports of each reader into a folder."""

from __future__ import annotations

from pathlib import Path
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
    import numpy as np

    from engine.report.findings import Findings
    from engine.study.study import Study
    from engine.sweeps.remake import Remade


def write_board(study: Study, realisation: Remade, folder: str | Path, order: np.ndarray | None = None) -> list[Path]:
    """The board's files: memo (DOCX, HTML and, where one can be made, PDF), tables, slides and ``board.json``; where
    the plan names places, a workbook on them.

    ``folder`` must exist; returns the files written.  ``order`` is that of the rows of the public file, where it is
    made together with these.
    """
    written = write_findings(findings(study, realisation, order), Path(folder))
    if places := places_of(study.plan):
        written.append(Path(folder) / "places.xlsx")
        written[-1].write_bytes(places_bytes(place_changes(realisation, places, study.plan.analyse)[1]))
    return written


def write_findings(findings: Findings, folder: Path) -> list[Path]:
    """Write memo, tables, slides and ``board.json`` from findings alone, without study or data."""
    page = pages(findings)
    written = documents.write(page, folder, "memo", with_pdf=True)
    for name, content in (
        ("tables.xlsx", tables_bytes(findings)),
        ("slides.pptx", documents.pptx(page)),
        (BOARD, findings.to_json().encode()),
    ):
        written.append(folder / name)
        written[-1].write_bytes(content)
    return written


def write_copy(study: Study, realisation: Remade, folder: str | Path, order: np.ndarray | None = None) -> None:
    """The circulating copy of the board's memo, which leaves out what depends on the rate."""
    write_circulating(findings(study, realisation, order), Path(folder))


def write_analyst(study: Study, realisation: Remade, folder: str | Path) -> list[Path]:
    """Annex B, for the analyst: every candidate under its own name, runs, notes and the decision log (DOCX, HTML)."""
    return documents.write(analyst_sections(study, realisation), Path(folder), "annex-b-analyst")
