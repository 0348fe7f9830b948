"""A codebook table in a CSV file.

One row a column (or a pattern such as ``*_WT``), with a header that names some of

* ``name`` – the column; the only one that must be there
* ``label`` – its label
* ``role`` – key, swap, analyse, attribute, weight, id, carry or drop; several with spaces between
* ``block`` – the column or word that names the block it moves with
* ``missing`` – raw values that mean missing, with ``;`` between; a range of numbers as ``-99 to -90``
* ``skip`` – raw values of a question validly skipped, with ``;`` between
* ``values`` – value labels as ``1=Male; 2=Female``; one that holds a ``;`` in double quotes: ``"1=Yes; often"; 2=No``
* ``measure`` – nominal, ordinal or scale

Other columns of the table are left alone.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from engine.common.errors import UsageError
from engine.common.raw_values import texts
from engine.data.io.readers import read_table
from engine.plan.codebook import FIELDS, Codebook, CodebookRow
from engine.plan.column_labels import codes_and_ranges


def read_codebook(path: str | Path) -> Codebook:
    """The codebook in a .csv file; a wrong entry is a :class:`UsageError` that names the file."""
    table = read_table(path)
    file = table.source
    column_of = {name.strip().casefold(): column for name, column in table.columns.items()}
    if "name" not in column_of:
        raise UsageError(
            f"file '{file}' has no column 'name'; a codebook has a row for each column of the data, under the headings "
            f"{', '.join(FIELDS)}"
        )
    fields = {}
    for field in FIELDS:
        if field in column_of:
            cell_texts = [*(text.strip() for text in texts(column_of[field].values)), ""]
            fields[field] = [cell_texts[code] for code in column_of[field].codes]
    try:
        rows = (_row({field: values[i] for field, values in fields.items()}) for i in range(table.n_records))
        return Codebook(tuple(row for row in rows if row is not None))
    except UsageError as error:
        raise UsageError(f"file '{file}': {error}") from None


def _row(entry: dict[str, str]) -> CodebookRow | None:
    if not any(entry.values()):
        return None
    missing, ranges = codes_and_ranges(_list(entry, "missing"))
    return CodebookRow(
        entry["name"],
        entry.get("label", ""),
        tuple(dict.fromkeys(entry.get("role", "").casefold().replace(",", " ").replace(";", " ").split())),
        entry.get("block", ""),
        missing,
        _list(entry, "skip"),
        tuple(_pair(entry["name"], pair) for pair in _list(entry, "values")),
        entry.get("measure", "").casefold(),
        ranges,
    )


def _list(entry: dict[str, str], field: str) -> tuple[str, ...]:
    text = entry.get(field, "")
    try:
        items = next(csv.reader([text], delimiter=";", skipinitialspace=True), [])
    except csv.Error:  # a line end outside of quotes, or more text than a list can be
        raise UsageError(
            f"column '{entry['name']}': {field} is no list with ; between; write a part that holds a line end in quotes"
        ) from None
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def _pair(name: str, text: str) -> tuple[str, str]:
    match = re.fullmatch(r"((?:[^\\=]|\\.)*)=(.*)", text, re.DOTALL)
    if match is None or not match[2].strip():
        raise UsageError(f"column '{name}': values holds '{text}', must be written as 1=Male; 2=Female")
    return re.sub(r"\\(.)", r"\1", match[1]).strip(), match[2].strip()
