"""From a streamed source to the table of a plan: the first pass, which counts what the plan's attributes need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engine.common.notation import PLAIN, Notation
from engine.common.raw_values import nan_mask, text_mask
from engine.data.io.counting import Counted, count, first_rows
from engine.data.io.stream import RecordStream
from engine.data.io.value_classes import Classify
from engine.data.microdata import RawTable, check_number, streamed_table
from engine.data.streamed import Streamed
from engine.plan.attribute import AttributePlan
from engine.plan.types import Plan

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CutClasses:
    """Classes of a column that an ``attribute`` cuts by numbers: missing values, skipped ones, those that are no
    numbers, and the intervals; ``missing`` are plan-wide codes, and numbers are written in the ``notation``."""

    attribute: AttributePlan
    missing: tuple[str, ...]
    notation: Notation = PLAIN

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 3 + len(self.attribute.skip) + len(self.attribute.cut)

    def __call__(self, values: pa.Array) -> np.ndarray:
        """The class of each value."""
        mask = nan_mask(values) | text_mask(values, (*self.missing, *self.attribute.missing))
        parsed = self.notation.numbers(values)
        edges = np.array(self.attribute.cut, dtype=float)
        classes = 2 + len(self.attribute.skip) + np.searchsorted(edges, parsed, side="right")
        classes[np.isnan(parsed)] = 1
        for i, skip in enumerate(self.attribute.skip):
            classes[text_mask(values, [skip])] = 2 + i
        classes[mask] = 0
        return classes


MANY_ROWS = 100_000
"""Distinct rows among the first records of a source beyond which columns that are cut are counted by intervals."""
Counter = Callable[[RecordStream, tuple[str, ...], Mapping[str, Classify]], Counted]
"""Counts the distinct rows of a source on some columns: here, or on the workers of a cluster."""


def counted_columns(plan: Plan, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns among ``names``, in file order, that the attributes of a plan need."""
    needed = {column for attribute in plan.attributes for column in (*attribute.columns, *attribute.view)}
    return tuple(name for name in names if name in needed)


def cut_classes(plan: Plan, names: tuple[str, ...]) -> dict[str, CutClasses]:
    """The columns among ``names`` of which a plan tells intervals of numbers and no single values."""
    notations = _notations(plan)
    return {
        attribute.columns[0]: CutClasses(attribute, plan.data.missing, notations.get(attribute.columns[0], PLAIN))
        for attribute in plan.attributes
        if attribute.cut and len(attribute.columns) == 1 and attribute.view == attribute.columns
        if attribute.columns[0] in names
    }


def _notations(plan: Plan) -> dict[str, Notation]:
    """The notations that a plan gives, by column."""
    return {column.name: column.notation for column in plan.data.columns if column.notation is not None}


def tabulate(data: RawTable | RecordStream, plan: Plan, counter: Counter = count) -> RawTable:
    """The table of a source for a plan: of a stream one that holds counts and no records, else the table itself.

    Reads the whole source once.  Columns that the plan cuts are counted by their intervals where their values make too
    many rows (:data:`MANY_ROWS`), else value by value.  Raises :class:`EngineError` for damaged files, for records that
    differ in too many combinations of values, and for a source without records or with too many.
    """
    if isinstance(data, RawTable):
        return data
    check_number(data.n_records or 0, data.source)  # before it is read, where the files tell
    names = counted_columns(plan, data.names)
    classify = cut_classes(plan, names)
    if classify and first_rows(data, names) <= MANY_ROWS:
        classify = {}
    counted = counter(data, names, classify)
    # where the plan does not, only all values of a column say how it writes numbers
    seen = {name: counted.rows.columns[name].notation for name in classify} | _notations(plan)
    written = {name: replace(of, notation=seen[name]) for name, of in classify.items()}
    if written != classify:
        counted = counter(data, names, written)
    streamed = Streamed(data, counted.rows, counted.counts, counted.digest, counted.representatives)
    return streamed_table(streamed, data.names)
