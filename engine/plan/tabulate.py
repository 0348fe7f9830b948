"""From a streamed source to the table of a plan: the first pass, which counts what the plan's attributes need."""

from __future__ import annotations

from collections.abc import Callable

from engine.data.io.counting import Counted, count
from engine.data.io.stream import RecordStream
from engine.data.microdata import RawTable, streamed_table
from engine.data.streamed import Streamed
from engine.plan.types import Plan

Counter = Callable[[RecordStream, tuple[str, ...]], Counted]
"""Counts the distinct rows of a source on some columns: here, or on the workers of a cluster."""


def counted_columns(plan: Plan, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns among ``names``, in file order, that the attributes of a plan need."""
    needed = {column for attribute in plan.attributes for column in (*attribute.columns, *attribute.view)}
    return tuple(name for name in names if name in needed)


def tabulate(data: RawTable | RecordStream, plan: Plan, counter: Counter = count) -> RawTable:
    """The table of a source for a plan: of a stream one that holds counts and no records, else the table itself.

    Reads the whole source once.  Raises :class:`EngineError` for damaged files, for records that differ in too many
    combinations of values, and for a source without records.
    """
    if isinstance(data, RawTable):
        return data
    counted = counter(data, counted_columns(plan, data.names))
    return streamed_table(Streamed(data, counted.rows, counted.counts, counted.digest), data.names)
