"""Make the board's files from ``board.json`` alone, without study or data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.report import documents
from engine.report.decision_pages import pages
from engine.report.findings import BOARD
from engine.report.tables import tables_bytes

if TYPE_CHECKING:
    from engine.report.findings import Findings


def write_findings(findings: Findings, folder: Path) -> list[Path]:
    """Decision sheet, tables, slides and ``board.json`` in an existing folder; returns what was written."""
    page = pages(findings)
    written = documents.write(page, folder, "memo", with_pdf=True)
    for name, content in (
        ("tables.xlsx", tables_bytes(findings)),
        ("slides.pptx", documents.pptx(page)),
        (BOARD, findings.to_json().encode()),
    ):
        path = folder / name
        path.write_bytes(content)
        written.append(path)
    return written
