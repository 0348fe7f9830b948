"""All tables of the memo as a workbook, a sheet each."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engine.common.wording import may_be_formula, printable
from engine.decision.statements import Statement, words
from engine.report.losses import new_values
from engine.report.office import parts_of_zip, without_traces

if TYPE_CHECKING:
    from engine.report.facts import Figure, GroupRow, ModelRow, Tally
    from engine.report.findings import Findings
    from engine.report.places import AreaRow, LevelRow
    from engine.report.unit_counts import UnitsChanged

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
_NEW_VALUE = {
    "table": "of", "value": "what", "groups that had none": "groups", "records": "records",
    "most in": "most.group", "records there": "most.n_after", "of": "most.within_after",
}  # fmt: skip
_TALLY: dict[str, str | Callable[[Tally], int]] = {
    "kind of figure": "kind", "all": "compared", "cannot change": "unchangeable",
    "no standard error": lambda t: t.compared - t.unchangeable - t.eligible - t.new,
    "judged": "eligible", "flagged": "flagged", "by % of value": "by_change", "by standard errors": "by_errors",
    "values that did not exist": "new",
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
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def _models(models: Sequence[ModelRow]) -> Table:
    """Models with their reference levels as one text."""
    header, rows = _rows(models)
    for row, model in zip(rows, models, strict=True):
        del row[header.index("references")]
        row.append("; ".join(f"{factor}: {level}" for factor, level in model.references))
    return [*(name for name in header if name != "references"), "reference levels"], rows


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
    of_declared = {table.name for table in utility.tables}
    all_sheets = {
        "Losses": _rows([f for f in utility.figures if f.flagged], _FIGURE),
        "New values": _rows(new_values(utility.figures), _NEW_VALUE),
        "Figures that change": _rows([f for f in utility.figures if f.of not in of_declared], _FIGURE),
        "Associations": _rows(utility.associations, _FIGURE),
        "Candidates": _candidates(findings),
        "Measures": _rows(findings.measures),
        "Exposed groups": _rows(findings.exposure.groups, _GROUP),
        "Models": _models(utility.models),
        "Analyses side by side": _rows(utility.analysis_runs),
        "Coefficients side by side": _rows(utility.coefficient_runs),
        "Flags": _rows(utility.tallies, _TALLY),
        **_extent(findings),
        "Checks": _rows(findings.checks),
        "Attributes": _rows(findings.design.attributes),
        "Parameters": (["parameter", "in this study"], [list(pair) for pair in findings.approved.parameters]),
        "Log": (["when (UTC)", "event"], [[event.at, event.words] for event in findings.approved.log]),
    }
    for number, table in enumerate(utility.tables, 1):
        all_sheets[f"Table {number}"] = _rows([f for f in utility.figures if f.of == table.name], _FIGURE)
    return {name: (header, rows) for name, (header, rows) in all_sheets.items() if rows}


def _extent(findings: Findings) -> dict[str, Table]:
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
    return _workbook(sheets(findings), "Tables of the disclosure review memo")


def places_bytes(levels: Sequence[LevelRow], areas: Sequence[AreaRow], households: UnitsChanged | None = None) -> bytes:
    """The content of the workbook on places: what changed at each level, each area, and how many ``households``
    were swapped (None: records belong to none)."""
    content = {"Levels": _rows(levels), "Areas": _rows(areas)}
    if households is not None:
        counts = [households.n_units, households.changed, households.persons]
        content["Households"] = (["households", "households swapped", "persons swapped"], [counts])
    return _workbook(content, "Places before and after")


def _workbook(content: Mapping[str, Table], title: str) -> bytes:
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
