"""Labels, missing codes and measures of columns that a plan gives, as a codebook told them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.common.errors import UsageError, did_you_mean
from engine.common.notation import Notation
from engine.common.parsing import fits
from engine.common.raw_values import is_number
from engine.data.grouped_columns import GroupedColumns
from engine.data.labels import MEASURES, NO_LABELS, ColumnLabels
from engine.data.microdata import RawTable
from engine.data.streamed import StreamedColumns
from engine.plan.field_types import Name, as_tuple, check_types, set_fields


@dataclass(frozen=True)
class ColumnPlan:
    """What a plan says about one column ``name`` in place of its file.

    ``values`` pairs raw values with their labels.  ``missing`` are raw values that mean missing; a range of numbers is
    written ``-99 to -90``.  ``decimal`` and ``thousands`` are the signs with which its texts write numbers.  ``real``:
    no value means missing but those listed, whatever it looks like.  What is empty stays as the file has it.
    """

    name: Name
    label: str = ""
    values: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    measure: str = ""
    decimal: str = ""
    thousands: str = ""
    real: bool = False

    def __post_init__(self) -> None:
        pairs = as_tuple(self.values.items() if isinstance(self.values, Mapping) else self.values)
        if pairs is None or not all(fits(pair, tuple[str, str]) for pair in pairs):
            raise UsageError(f'column \'{self.name}\': values must be pairs of texts such as {{"1": "Male"}}')
        set_fields(self, values=tuple((raw, label) for raw, label in pairs))
        check_types(self, where=f"column '{self.name}': ")
        if self.measure not in MEASURES:
            raise UsageError(
                f"column '{self.name}': measure is '{self.measure}', must be one of {', '.join(MEASURES[1:])}"
            )
        if self.decimal not in ("", ".", ",") or self.thousands not in ("", *".,' "):
            raise UsageError(
                f"column '{self.name}': decimal must be '.' or ',', and thousands one of them, a blank or an apostrophe"
            )
        if self.thousands and self.thousands == self.decimal:
            raise UsageError(f"column '{self.name}': decimal and thousands are the same sign; leave one out")
        self.of(ColumnLabels())

    @property
    def notation(self) -> Notation | None:
        """The notation of the column's numbers; None where the plan does not say it."""
        if not self.decimal and not self.thousands:
            return None
        return Notation(self.decimal or ("," if self.thousands == "." else "."), self.thousands)

    def of(self, labels: ColumnLabels) -> ColumnLabels:
        """The labels of the column in a file, with what the plan says in their place."""
        codes, ranges = codes_and_ranges(self.missing)
        return replace(
            labels,
            label=self.label or labels.label,
            values=self.values or labels.values,
            missing=codes if self.missing else labels.missing,
            missing_ranges=ranges if self.missing else labels.missing_ranges,
            measure=self.measure or labels.measure,
            notation=self.notation or labels.notation,
        )


def codes_and_ranges(items: Sequence[str]) -> tuple[tuple[str, ...], tuple[tuple[float, float], ...]]:
    """Single codes, and ranges written as ``-99 to -90``."""
    codes, ranges = [], []
    for item in items:
        match item.split():
            case [low, "to", high] if is_number(low) and is_number(high):
                ranges.append((float(low), float(high)))
            case _:
                codes.append(item)
    return tuple(codes), tuple(ranges)


def labelled(raw: RawTable, columns: Iterable[ColumnPlan]) -> RawTable:
    """``raw`` with these labels; a column that it does not have is a :class:`UsageError`.

    Of records that are read by streaming the columns have no labels, and the notation of numbers alone.
    """
    given = {column.name: column for column in columns}
    for name in given:
        if name not in raw.columns:
            raise UsageError(
                f"the plan gives labels of column '{name}', which is not in the data.{did_you_mean(name, raw.names)} "
                "Rename that [[column]] or take it out"
            )
    if not given:
        return raw
    if raw.streamed is not None and isinstance(raw.columns, StreamedColumns):
        about = {name: replace(NO_LABELS, notation=column.notation) for name, column in given.items()}
        columns_read = raw.columns.labelled(about)
        rows = {n: replace(c, about=columns_read.about(n)) for n, c in raw.streamed.rows.columns.items()}
        streamed = replace(raw.streamed, rows=replace(raw.streamed.rows, columns=rows))
        return replace(raw, columns=columns_read, streamed=streamed)
    about = {name: column.of(raw.about(name)) for name, column in given.items()}
    if isinstance(raw.columns, GroupedColumns):
        return replace(raw, columns=raw.columns.labelled(about))
    changed = {name: replace(raw.columns[name], about=labels) for name, labels in about.items()}
    return replace(raw, columns={**raw.columns, **changed})


def labelled_as_far(raw: RawTable, columns: Iterable[ColumnPlan]) -> RawTable:
    """``raw`` with these labels; columns that it does not have are passed over, for what looks at plans that do not fit
    yet."""
    return labelled(raw, (column for column in columns if column.name in raw.columns))


def with_notation(columns: Iterable[ColumnPlan], name: str, notation: Notation) -> tuple[ColumnPlan, ...]:
    """The columns of a plan, of which ``name`` writes its numbers in the ``notation``."""
    by_name = {column.name: column for column in columns}
    said = by_name.get(name, ColumnPlan(name))
    by_name[name] = replace(said, decimal=notation.decimal, thousands=notation.thousands)
    return tuple(by_name.values())


def with_missing(columns: Iterable[ColumnPlan], name: str, value: str, about: ColumnLabels) -> tuple[ColumnPlan, ...]:
    """The columns of a plan, in which one more ``value`` of ``name`` means missing, beside those that its file declares
    (``about``)."""
    by_name = {column.name: column for column in columns}
    said = by_name.get(name, ColumnPlan(name))
    declared = (*about.missing, *(f"{low:g} to {high:g}" for low, high in about.missing_ranges))
    by_name[name] = replace(said, missing=tuple(dict.fromkeys((*(said.missing or declared), value))))
    return tuple(by_name.values())
