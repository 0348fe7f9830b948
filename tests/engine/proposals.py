"""Tables of a few columns, the made-up survey, and what is proposed for them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from datasets.make_survey import Truth, survey
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.plan import Dependencies, Plan, Proposal, dependencies, first_plan


def table_of(labels: dict[str, ColumnLabels] | None = None, **columns: Any) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array(values).dictionary_encode()
        codes = coded.indices.fill_null(-1).to_numpy()
        raw[name] = RawColumn(name, coded.dictionary, codes, (labels or {}).get(name, ColumnLabels()))
    return RawTable(raw, len(next(iter(columns.values()))), "test")


@cache
def made(n: int = 12_000) -> tuple[RawTable, Truth, Dependencies]:
    table, truth = survey(n)
    return table, truth, dependencies(table)


@cache
def first_plan_of(n: int) -> Plan:
    return first_plan(made(n)[0])


def blocks(proposals: list[Proposal], kinds: tuple[str, ...] = ("block",)) -> list[set[str]]:
    return [set(p.columns) for p in proposals if p.kind in kinds]
