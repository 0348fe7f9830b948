"""Releases of small tables down to records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.measures import Figure, call, evaluate_records
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, DataPlan, Plan
from engine.release.records import ReleasedTable
from tests.small_tables import Record, Small


def microdata(small: Small, weights: Sequence[float] | None = None) -> Microdata:
    """The records as coded data, with a column of weights where they are given."""
    raw = small.raw()
    columns = dict(raw.columns)
    if weights is not None:
        values, inverse = np.unique(np.array(weights, float), return_inverse=True)
        columns["w"] = RawColumn("w", pa.array(values), inverse.astype(np.int32))
    codes = tuple(column.astype(np.int32) for column in small.columns)
    return Microdata(
        small.domain,
        codes,
        RawTable(columns, raw.n_records, raw.source),
        weight=None if weights is None else "w",
    )


def released(
    small: Small, tables: Sequence[Sequence[Record]], weights: Sequence[float] | None = None, **parts: Any
) -> RecordRelease:
    """A release of several tables, record i of each being the same subject as record i of the original."""
    data = microdata(small, weights)
    replaced = [{j: column.astype(np.int32) for j, column in enumerate(np.array(table).T)} for table in tables]
    plan = Plan(
        DataPlan(tuple(AttributePlan(name) for name in small.names), weight=None if weights is None else "w"), **parts
    )
    return RecordRelease(ReleasedTable(data), [ReleasedTable(data, replaced=codes) for codes in replaced], plan)


def figure(text: str, release: RecordRelease) -> Figure:
    """One measure on a release."""
    return evaluate_records(call(text), release)
