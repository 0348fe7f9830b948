"""A small labelled file in the terms of the project, for tests of readers and writers."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat

from engine.data.microdata import ColumnLabels, RawTable

COLUMNS: dict[str, pa.Array] = {
    "sex": pa.array([1, 2, 2, None, 1]),
    "work": pa.array([-9, 1, 2, -1, 1]),
    "income": pa.array([1200.5, -99.0, None, 0.25, 3e6]),
    "region": pa.array(["N", "S", "X", "", "Ünder 'q'"]),
    "born": pa.array([date(1960, 2, 29), None, date(1899, 12, 31), date(2001, 1, 1), date(2001, 1, 1)]),
    "seen": pa.array(
        [datetime(2020, 1, 2, 3, 4, 5), None, None, datetime(1950, 6, 7, 8, 9, 10), None], pa.timestamp("ms")
    ),
}
LABELS = {
    "sex": ColumnLabels("Sex of the person", (("1", "Male"), ("2", "Female")), measure="nominal"),
    "work": ColumnLabels(
        "Works",
        (("1", "Yes"), ("2", "No"), ("-1", "Valid skip"), ("-9", "Refused, said no")),
        ("-9", "-1"),
        measure="nominal",
    ),
    "income": ColumnLabels("Income", (("-99", "Don't know"),), ("-1",), ((-99.0, -90.0),), measure="scale"),
    "region": ColumnLabels("Region", (("N", "North"), ("S", "South"), ("X", "Unknown")), ("X",)),
}


def write_xpt(path: Path, columns: dict[str, pa.Array]) -> None:
    """A SAS transport file, which the project reads and does not write."""
    frame = pd.DataFrame({name[:8]: values.to_pandas() for name, values in columns.items()})
    pyreadstat.write_xport(frame, str(path), file_format_version=5, table_name="RELEASE")


def columns_of(table: RawTable) -> dict[str, list[object]]:
    """Values record by record."""
    found = {}
    for column in table.columns.values():
        values = column.values.to_pylist()
        found[column.name] = [None if code < 0 else values[code] for code in column.codes]
    return found


def arrays_of(table: RawTable) -> dict[str, pa.Array]:
    """The columns of a table as a release holds them."""
    return {c.name: c.values.take(pa.array(c.codes, mask=c.codes < 0)) for c in table.columns.values()}


def labels_of(table: RawTable) -> dict[str, ColumnLabels]:
    """What the columns of a table say about themselves."""
    return {c.name: c.about for c in table.columns.values()}
