"""Make the board's files from ``board.json`` alone, without study or data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.report.document_files import write_document
from engine.report.findings import BOARD
from engine.report.memo import memo
from engine.report.slides import slides_bytes
from engine.report.tables import tables_bytes

if TYPE_CHECKING:
    from engine.report.findings import Findings


def write_findings(findings: Findings, folder: Path) -> list[Path]:
    """Memo, tables, slides and ``board.json`` in an existing folder; returns what was written."""
    written = write_document(memo(findings), folder, "memo", pdf=True)
    for name, content in (
        ("tables.xlsx", tables_bytes(findings)),
        ("slides.pptx", slides_bytes(findings)),
        (BOARD, findings.to_json().encode()),
    ):
        path = folder / name
        path.write_bytes(content)
        written.append(path)
    return written
