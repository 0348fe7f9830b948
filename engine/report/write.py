"""Write the reports of each reader into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.plan.households import places_of
from engine.report import documents
from engine.report.annex import analyst_sections
from engine.report.build_findings import findings
from engine.report.circulating import write_circulating
from engine.report.member import write_findings
from engine.report.places import place_changes
from engine.report.tables import places_bytes
from engine.report.unit_counts import units_changed

if TYPE_CHECKING:
    import numpy as np

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
        book = Path(folder) / "places.xlsx"
        levels, areas = place_changes(realisation, places, study.plan.analyse)
        book.write_bytes(places_bytes(levels, areas, units_changed(realisation)))
        written.append(book)
    return written


def write_copy(study: Study, realisation: Remade, folder: str | Path, order: np.ndarray | None = None) -> None:
    """The circulating copy of the board's memo, which leaves out what depends on the rate."""
    write_circulating(findings(study, realisation, order), Path(folder))


def write_analyst(study: Study, realisation: Remade, folder: str | Path) -> list[Path]:
    """Annex B, for the analyst: every candidate under its own name, runs, notes and the decision log (DOCX, HTML)."""
    return documents.write(analyst_sections(study, realisation), Path(folder), "annex-b-analyst")
