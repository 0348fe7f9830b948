"""Small tables for tests of plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from engine.data.microdata import ColumnLabels, RawColumn, RawTable


def table_of(**columns: list[Any]) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        raw[name] = RawColumn(name, coded.dictionary, coded.indices.fill_null(-1).to_numpy())
    return RawTable(raw, len(next(iter(columns.values()))), "test")


def with_labels(table: RawTable, column: str, labels: ColumnLabels) -> RawTable:
    """A table one of whose columns has labels."""
    return replace(table, columns={**table.columns, column: replace(table.columns[column], about=labels)})
