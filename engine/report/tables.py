"""Workbooks: the figures behind the memo, and those by place."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engine.common.wording import may_be_formula, printable
from engine.decision.statements import Statement, words
from engine.report.documents import without_traces

if TYPE_CHECKING:
    from engine.report.facts import Figure, GroupRow
    from engine.report.findings import Findings
    from engine.report.places import AreaRow

Table = tuple[list[str], list[list[Any]]]
"""A header and rows."""
_FIGURE: dict[str, str | Callable[[Figure], str]] = {
    "kind": "kind", "table": "of", "group": "group", "value": "what", "weighted": "weighted",
    "records before": "n", "records after": "n_after",
    "of group before": "within", "of group after": "within_after",
    "before": "before", "after": "after", "change in standard errors": "errors", "relative change": "relative",
    "standard error before": "se", "standard error after": "se_after",
    "beyond tolerances": "flagged", "note": lambda figure: figure.why or figure.note,
}  # fmt: skip
_GROUP: dict[str, str | Callable[[GroupRow], float | None]] = {
    "group": "group", "records": "people", "in small cells before": "before", "unaltered": "of_after",
    "unaltered and in small cells after": "after",
    "after, as a share of unaltered records of the group": lambda g: g.after / g.of_after if g.of_after else None,
    "of these in none before": "new",
}  # fmt: skip


def _rows(values: Sequence[Any], columns: Mapping[str, str | Callable[[Any], Any]] | None = None) -> Table:
    """Frozen values as a header and rows: ``columns`` by their names, or all fields."""
    if columns is None:
        columns = {f.name.replace("_", " "): f.name for f in fields(values[0])} if values else {}
    read = [attrgetter(get) if isinstance(get, str) else get for get in columns.values()]
    return list(columns), [[_cell(get(value)) for get in read] for value in values]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Statement):
        return words(value)
    if not isinstance(value, tuple):
        return value
    return ", ".join(": ".join(each) if isinstance(each, tuple) else str(each) for each in value)


def sheets(findings: Findings) -> dict[str, Table]:
    """Name, header and rows of every sheet that has rows."""
    utility, extent, figures = findings.utility, findings.extent, findings.utility.figures
    candidates = findings.sheet.candidates if findings.sheet else None
    settings = [] if candidates is None else [*candidates.settings, *(m.title for m in candidates.further)]
    all_sheets = {
        "Losses": _rows([f for f in figures if f.flagged], _FIGURE),
        "New values": _rows([f for f in figures if f.note == "new value"], _FIGURE),
        "Figures that change": _rows(figures, _FIGURE),
        "Associations": _rows(utility.associations, _FIGURE),
        "Candidates": _rows(findings.map.candidates),
        "Settings": (
            ["letter", *settings],
            [[row.letter, *row.settings, *row.further] for row in (candidates.rows if candidates else ())],
        ),
        "Measures": _rows(findings.measures),
        "Exposed groups": _rows(findings.exposure.groups, _GROUP),
        "Models": _rows(utility.models),
        "Analyses side by side": _rows(utility.analysis_runs),
        "Coefficients side by side": _rows(utility.coefficient_runs),
        "Flags": _rows(utility.tallies),
        "Values changed": _rows(extent.attributes if extent else ()),
        "Who carries the change": _rows(extent.groups if extent else ()),
        "Places": _rows(extent.levels if extent else ()),
        "Checks": _rows(findings.checks),
        "Attributes": _rows(findings.design.attributes),
        "Log": (["when (UTC)", "event"], [[event.at, event.words] for event in findings.approved.log]),
    }
    return {name: (header, rows) for name, (header, rows) in all_sheets.items() if rows}


def tables_bytes(findings: Findings) -> bytes:
    """The workbook's content."""
    return _workbook(sheets(findings), "Tables of the disclosure review memo")


def places_bytes(areas: Sequence[AreaRow]) -> bytes:
    """The content of the workbook on places: what changed in each area."""
    return _workbook({"Areas": _rows(areas)}, "Places before and after")


def _workbook(content: Mapping[str, Table], title: str) -> bytes:
    """A workbook of sheets by name, each a header and rows."""
    from xlsxwriter import Workbook

    book = Workbook(None, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    look = {"text_wrap": True, "valign": "top"}
    head = {"bold": True, "bg_color": "#E6EBF0"}
    # Marked as a quote, what may be a formula stays text when somebody edits the cell too.
    form = {
        (is_head, is_quoted): book.add_format({**look, **(head if is_head else {}), "quote_prefix": is_quoted})
        for is_head in (False, True)
        for is_quoted in (False, True)
    }
    for name, (header, rows) in content.items():
        sheet = book.add_worksheet(name)
        sheet.freeze_panes(1, 1)
        for j in range(len(header)):
            longest = max(len(str(row[j])) for row in (header, *rows) if isinstance(row[j], str))
            sheet.set_column(j, j, min(70, max(10, longest + 2)))
        for i, row in enumerate((header, *rows)):
            for j, value in enumerate(row):
                if isinstance(value, str):
                    sheet.write_string(i, j, printable(value), form[i == 0, may_be_formula(value)])
                elif value is not None:
                    sheet.write_number(i, j, value)

    def save(out: io.BytesIO) -> None:
        book.filename = out
        book.close()

    return without_traces(save, title)
