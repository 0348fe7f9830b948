"""A release record by record beside its original, under the plan of both.

Names that analyses and measures of numbers may use: attributes as categories, other columns as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.raw_values import is_number, written_unclearly
from engine.common.registry import Cache
from engine.data.microdata import Microdata
from engine.plan import Plan
from engine.release.records import ReleasedTable
from engine.release.spec import ReleaseSpec

if TYPE_CHECKING:
    from engine.data.microdata import ColumnLabels


class RecordRelease(Cache):
    """The original table and the one or more tables of a release, record by record, under a plan.

    ``spec`` is the scenario that was carried out, for measures of what somebody who knows it could undo (None:
    unknown).
    """

    def __init__(
        self, original: ReleasedTable, tables: Sequence[ReleasedTable], plan: Plan, spec: ReleaseSpec | None = None
    ) -> None:
        super().__init__()
        self.original, self.tables, self.plan, self.spec = original, tuple(tables), plan, spec

    @property
    def data(self) -> Microdata:
        """The original records."""
        return self.original.data

    def changed(self, table: ReleasedTable, attributes: Sequence[int]) -> np.ndarray:
        """Records of a table whose level differs from the original on any of the attributes."""
        mask = np.zeros(self.data.n_records, bool)
        for j in attributes:
            after, before = table.codes(j), self.original.codes(j)
            if after is not before:
                mask |= after != before
        return mask


RAW = "_raw"


class Variable(NamedTuple):
    """Meaning of a name: the place of an attribute, or a raw column read as numbers."""

    attribute: int | None
    column: str | None


def variable(name: str, plan: Plan, data: Microdata, who: str) -> Variable:
    """The attribute of that name, else the raw column, else for NAME_raw the column that attribute NAME is coded from.

    ``who`` begins the error for a name that is neither, or that does not stay in a release.
    """
    if name in data.domain.names:
        return Variable(data.domain.index(name), None)
    column = name
    if name not in data.raw.columns and name.endswith(RAW):
        base = name.removesuffix(RAW)
        column = next(
            (attribute_plan.view[0] for attribute_plan in plan.attributes if attribute_plan.name == base), base
        )
    if column not in data.raw.columns:
        hidden = {*data.dropped, *data.domain.names, data.id, *data.unit_columns}
        stays = [c for c in data.raw.names if c not in hidden]
        names = [*data.domain.names, *stays]
        whole = next((known for known in names if known != name and name in re.split(r"\W+", known)), None)
        sign = "'" if whole is not None and '"' in whole else '"'
        how = did_you_mean(name, names) if whole is None else f" Column '{whole}' is written Q({sign}{whole}{sign})"
        raise UsageError(f"{who} names the unknown column '{name}'.{how}")
    if column in data.dropped or column in (data.id, *data.unit_columns):
        what = "never leaves" if column in data.dropped else f"is the {data.single_uses[column]}"
        raise UsageError(f"{who} names column '{column}', which {what}; use columns that stay in a release")
    return Variable(None, column)


def numeric_columns(plan: Plan, data: Microdata) -> tuple[str, ...]:
    """Raw columns that measures use as numbers: those the plan names, else those its analyses use; in that order."""
    if plan.data.numeric:
        for name in plan.data.numeric:
            if name not in data.raw.columns:
                raise UsageError(f"numeric names the unknown column '{name}'.{did_you_mean(name, data.raw.names)}")
            if name in data.dropped:
                raise UsageError(f"numeric names column '{name}', which never leaves; use columns that stay")
        return plan.data.numeric
    used_columns = []
    for analysis in plan.analyses:
        for name in analysis.columns:
            used = variable(name, plan, data, f"analysis '{analysis.name}'")
            if used.column is not None:
                used_columns.append(used.column)
    return tuple(dict.fromkeys(used_columns))


def numbers_of(table: ReleasedTable, original: ReleasedTable, column: str, plan: Plan) -> np.ndarray:
    """A raw column of a table as numbers, NaN where the plan or the column's labels declare it missing; shape
    ``(n_records,)``.

    Read once from the original; a release takes those numbers along.  Values that are neither numbers nor codes for
    missing are an :class:`EngineError`.
    """
    base = original.cached(("numbers", column), lambda: _numbers(original, column, plan))
    if column in table._numbers:
        changed = table.numeric(column)
        missing = np.isnan(base)
        return np.where(missing, np.nan, changed) if missing.any() else changed
    for j, attribute in enumerate(table.data.domain.attributes):
        if column in attribute.columns and j in table._replaced:
            return _drawn_anew(table, j, column, plan)
    if table.source is None or column not in table.swapped_columns:
        return base
    return table.cached(("numbers", column), lambda: base[table.source])


def _drawn_anew(table: ReleasedTable, j: int, column: str, plan: Plan) -> np.ndarray:
    """Numbers behind levels that a mechanism drew: they exist only where every level is one number, or a code for
    missing (NaN)."""
    attribute = table.data.domain.attributes[j]
    missing_levels = missing_values(plan, column, table.data.raw.columns[column].about).missing_among(attribute.levels)
    figures = [level for level in attribute.levels if level not in missing_levels]
    if not (attribute.exact and len(attribute.columns) == 1 and all(is_number(level) for level in figures)):
        raise EngineError(
            f"attribute '{attribute.name}' was drawn anew, so the release holds no numbers for column '{column}'"
        )
    result: np.ndarray = np.array([np.nan if level in missing_levels else float(level) for level in attribute.levels])[
        table.codes(j)
    ]
    return result


def _numbers(original: ReleasedTable, column: str, plan: Plan) -> np.ndarray:
    numbers = known_numbers(original, column, plan)
    finite = np.isfinite(numbers)
    if finite.all():
        return numbers
    odd = ~finite & ~_missing(original, column, missing_values(plan, column, original.data.raw.columns[column].about))
    if odd.any():
        if not original.data.raw.columns[column].notation.clear:
            raise EngineError(written_unclearly(column))
        share = f"{int(odd.sum())} of {len(odd)} records (first: record {int(np.argmax(odd)) + 1:,})"
        if not finite.any():
            raise EngineError(f"column '{column}' holds no numbers; make it an attribute to use it as categories")
        raise EngineError(
            f"column '{column}' is no number in {share}; declare those codes as missing, or make it an attribute"
        )
    if not finite.any():
        raise EngineError(f"column '{column}' is missing in every record")
    return numbers


def known_numbers(table: ReleasedTable, column: str, plan: Plan) -> np.ndarray:
    """A raw column of a table as numbers, NaN where it is missing and where it is no number; shape ``(n_records,)``."""
    numbers = table.numeric(column)
    if table.is_renumbered(column):
        return numbers
    about = missing_values(plan, column, table.data.raw.columns[column].about)
    # other codes are no numbers already, and looking for them in millions of values takes time
    missing = _missing(table, column, replace(about, missing=tuple(code for code in about.missing if is_number(code))))
    return np.where(missing, np.nan, numbers) if missing.any() else numbers


def _missing(table: ReleasedTable, column: str, about: ColumnLabels) -> np.ndarray:
    """Mask of records without a value in a raw column, or with one that ``about`` declares missing."""
    raw = table.data.raw.columns[column]
    missing = np.append(about.missing_mask(raw.values), True)[raw.codes]
    result: np.ndarray = (
        missing[table.source] if table.source is not None and column in table.swapped_columns else missing
    )
    return result


def missing_values(plan: Plan, column: str, about: ColumnLabels) -> ColumnLabels:
    """A column's labels ``about`` with all that stands for no number in it declared missing: what the labels declare
    (codes and ranges), the plan's missing codes and its attribute's, with the skips; not what its attribute declares as
    an answer."""
    parts = [part for part in plan.attributes if column in part.columns]
    codes = [code for part in parts for code in (*part.missing, *part.skip)]
    answers = {raw for part in parts if part.view == (column,) for raw in part.answers}
    of_plan = [code for code in plan.data.missing if code not in answers]
    return replace(about, missing=tuple(dict.fromkeys((*about.missing, *of_plan, *codes))))


def strata_names(data: Microdata, places: Sequence[int], cells: np.ndarray) -> list[str]:
    """Each mixed-radix cell over the attributes in words, such as ``Sex=male, Class=3``."""
    names = []
    for cell in cells.tolist():
        levels = []
        for j in reversed(places):
            cell, level = divmod(cell, data.domain.shape[j])
            levels.append(f"{data.domain.names[j]}={data.domain.attributes[j].levels[level]}")
        names.append(", ".join(reversed(levels)))
    return names


def complete_numbers(table: ReleasedTable, name: str, mechanism: str, only: str = "") -> np.ndarray:
    """A raw column as floats for a mechanism, shape ``(n_records,)``; refuses text, missing and infinite values.

    ``only`` begins the sentence for a column without numbers, where the mechanism says why it wants them.
    """
    values = table.numeric(name)
    missing = int(np.count_nonzero(np.isnan(values)))
    if missing == len(values):
        hint = "" if only else "; make it an attribute to use it as categories"
        raise UsageError(f"{only}column '{name}' holds no number{hint}")
    if missing:
        raise EngineError(
            f"column '{name}' has {missing} missing values; fill, drop or recode them as a level before using it in "
            f"{mechanism}"
        )
    if np.isinf(values).any():
        raise EngineError(f"column '{name}' has {int(np.isinf(values).sum())} infinite values")
    return values
