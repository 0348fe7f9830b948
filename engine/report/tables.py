"""All tables of the memo as a workbook, a sheet each."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from engine.common.wording import may_be_formula, printable
from engine.decision.statements import Statement, words
from engine.report.losses import new_values
from engine.report.office import parts_of_zip, without_traces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.report.facts import Figure, GroupRow, ModelRow, Tally
    from engine.report.findings import Findings
    from engine.report.places import AreaRow, LevelRow
    from engine.report.unit_counts import UnitsChanged

Table = tuple[list[str], list[list[Any]]]
"""A header and rows."""


def _rows(values: Sequence[Any], leave: tuple[str, ...] = ()) -> Table:
    """Fields of frozen values as a header and rows."""
    if not values:
        return [], []
    names = [f.name for f in fields(values[0]) if f.name not in leave]
    return [name.replace("_", " ") for name in names], [[_cell(getattr(v, name)) for name in names] for v in values]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Statement):
        return words(value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


_FIGURE = [
    *("kind", "table", "group", "value", "weighted", "records before", "records after", "of group before"),
    *("of group after", "before", "after", "change in standard errors", "relative change", "standard error before"),
    *("standard error after", "beyond tolerances", "note"),
]


def _figures(figures: Sequence[Figure]) -> Table:
    """Figures before and after in the order in which they come."""
    rows = [
        [
            *(f.kind, f.of, f.group, f.what, _cell(f.weighted), f.n, f.n_after, f.within, f.within_after),
            *(f.before, f.after, f.errors, f.relative, f.se, f.se_after),
            None if f.flagged is None else _cell(f.flagged),
            f.why or f.note,
        ]
        for f in figures
    ]
    return _FIGURE, rows


def _new_values(figures: Sequence[Figure]) -> Table:
    rows = [
        [row.of, row.what, row.groups, row.records, row.most.group, row.most.n_after, row.most.within_after]
        for row in new_values(figures)
    ]
    return ["table", "value", "groups that had none", "records", "most in", "records there", "of"], rows


def _models(models: Sequence[ModelRow]) -> Table:
    """Models with their reference levels as one text."""
    header, rows = _rows(models, ("references",))
    references = ["; ".join(f"{factor}: {level}" for factor, level in model.references) for model in models]
    return [*header, "reference levels"], [[*row, text] for row, text in zip(rows, references, strict=True)]


def _tallies(tallies: Sequence[Tally]) -> Table:
    """How many figures are flagged, of how many."""
    header = ["kind of figure", "all", "cannot change", "no standard error", "judged", "flagged", "by % of value"]
    rows = []
    for t in tallies:
        without_error = t.compared - t.unchangeable - t.eligible - t.new
        judged = [t.eligible, t.flagged, t.by_change, t.by_errors, t.new]
        rows.append([t.kind, t.compared, t.unchangeable, without_error, *judged])
    return [*header, "by standard errors", "values that did not exist"], rows


def _groups(groups: Sequence[GroupRow]) -> Table:
    """Groups with the share of them that stays exposed."""
    rows = [
        [g.group, g.people, g.before, g.of_after, g.after, g.after / g.of_after if g.of_after else None, g.new]
        for g in groups
    ]
    return [
        "group",
        "records",
        "in small cells before",
        "unaltered",
        "unaltered and in small cells after",
        "after, as a share of unaltered records of the group",
        "of these in none before",
    ], rows


def _candidates(findings: Findings) -> Table:
    """The lettered candidates with their settings, further measures and place on the map."""
    candidates = findings.sheet.candidates if findings.sheet else None
    header, rows = _rows(findings.map.candidates)
    if candidates is None:
        return header, rows
    own = {row.letter: [*row.settings, *row.further] for row in candidates.rows}
    further = [*candidates.settings, *(measure.title for measure in candidates.further)]
    rows = [[*row, *own[c.letter]] for row, c in zip(rows, findings.map.candidates, strict=True)]
    return [*header, *further], rows


def sheets(findings: Findings) -> dict[str, Table]:
    """Name, header and rows of every sheet that has rows."""
    utility = findings.utility
    of_declared = {table.name: table for table in utility.tables}
    all_sheets = {
        "Losses": _figures([f for f in utility.figures if f.flagged]),
        "New values": _new_values(utility.figures),
        "Figures that change": _figures([f for f in utility.figures if f.of not in of_declared]),
        "Associations": _figures(utility.associations),
        "Candidates": _candidates(findings),
        "Measures": _rows(findings.measures),
        "Exposed groups": _groups(findings.exposure.groups),
        "Models": _models(utility.models),
        "Analyses side by side": _rows(utility.analysis_runs),
        "Coefficients side by side": _rows(utility.coefficient_runs),
        "Flags": _tallies(utility.tallies),
        **_extent(findings),
        "Checks": _rows(findings.checks),
        "Attributes": _rows(findings.design.attributes),
        "Parameters": (["parameter", "in this study"], [list(pair) for pair in findings.approved.parameters]),
        "Log": (["when (UTC)", "event"], [[event.at, event.words] for event in findings.approved.log]),
    }
    for number, table in enumerate(utility.tables, 1):
        all_sheets[f"Table {number}"] = _figures([f for f in utility.figures if f.of == table.name])
    return {name: (header, rows) for name, (header, rows) in all_sheets.items() if rows}


def _extent(findings: Findings) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """Sheets on the extent of the change; none where a bundle does not tell it."""
    extent = findings.extent
    if extent is None:
        return {}
    facts: list[list[Any]] = [
        ["Method", extent.mechanism],
        ["Spec", extent.spec],
        ["Amount asked for", extent.asked_amount],
        ["What the amount counts", extent.amount],
        [extent.changed_in, extent.records],
        ["Share of records changed", extent.share],
        ["Records changed in one table, on average", extent.per_table],
    ]
    if extent.units is not None:
        facts += [["Households changed", extent.units.changed], ["Persons in these", extent.units.persons]]
    return {
        "Extent": (["extent of the change", "in this release"], facts),
        "Values changed": _rows(extent.attributes),
        "Who carries the change": _rows(extent.groups),
        "Places": _rows(extent.levels),
    }


def tables_bytes(findings: Findings) -> bytes:
    """The workbook's content."""
    return workbook_bytes(sheets(findings), "Tables of the disclosure review memo")


def places_bytes(levels: Sequence[LevelRow], areas: Sequence[AreaRow], households: UnitsChanged | None = None) -> bytes:
    """The content of the workbook on places: what changed at each level, each area, and how many ``households``
    were swapped (None: records belong to none)."""
    content = {"Levels": _rows(levels), "Areas": _rows(areas)}
    if households is not None:
        counts = [households.n_units, households.changed, households.persons]
        content["Households"] = (["households", "households swapped", "persons swapped"], [counts])
    return workbook_bytes(content, "Places before and after")


def workbook_bytes(content: Mapping[str, tuple[list[str], list[list[Any]]]], title: str) -> bytes:
    """A workbook of sheets by name, each a header and rows."""
    from xlsxwriter import Workbook

    out = io.BytesIO()
    book = Workbook(out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    head = {"bold": True, "bg_color": "#E6EBF0", "text_wrap": True, "valign": "top"}
    text = {"text_wrap": True, "valign": "top"}
    # Marked as a quote, what may be a formula stays text when somebody edits the cell too.
    bold, quoted_bold = (book.add_format({**head, "quote_prefix": is_quoted}) for is_quoted in (False, True))
    wrap, quoted = (book.add_format({**text, "quote_prefix": is_quoted}) for is_quoted in (False, True))
    for name, (header, rows) in content.items():
        sheet = book.add_worksheet(name)
        sheet.freeze_panes(1, 1)
        for j, column in enumerate(header):
            longest = max([len(column), *(len(str(row[j])) for row in rows if isinstance(row[j], str))])
            sheet.set_column(j, j, min(70, max(10, longest + 2)))
            sheet.write_string(0, j, printable(column), quoted_bold if may_be_formula(column) else bold)
        for i, row in enumerate(rows, 1):
            for j, value in enumerate(row):
                if isinstance(value, str):
                    sheet.write_string(i, j, printable(value), quoted if may_be_formula(value) else wrap)
                elif value is not None:
                    sheet.write_number(i, j, value)
    book.close()
    return without_traces(parts_of_zip(out.getvalue()), title)
