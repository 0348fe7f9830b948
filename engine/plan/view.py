"""The levels of one attribute, from the distinct raw values of the columns that it views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.notation import written_unclearly
from engine.common.raw_values import is_number, nan_mask, text_mask, texts
from engine.data.domain import KINDS, LevelKind
from engine.data.microdata import RawColumn, RawTable
from engine.data.table import occupied
from engine.plan.attribute import MISSING_LEVEL, AttributePlan
from engine.plan.column_lists import count

JOIN = " | "
"""Between the parts of a level that is a combination of several columns."""
_VALUE, _SKIP, _MISSING = KINDS


@dataclass(frozen=True)
class AttributeView:
    """An attribute's levels, made from the columns that it views, before any record is coded.

    ``levels`` and ``kinds`` are those of the future attribute; ``level_of`` has one level code per observed combination
    of raw values (-1: outside the declared levels; -2: missing and refused) and ``rows`` each record's combination.
    ``outside`` are the values outside the declared levels and ``n_outside`` their numbers of records.  ``counts`` are
    the numbers of records that the rows stand for, None where each is one.
    """

    levels: tuple[str, ...]
    kinds: tuple[LevelKind, ...]
    level_of: np.ndarray
    rows: np.ndarray
    outside: tuple[str, ...] = ()
    n_outside: tuple[int, ...] = ()
    counts: np.ndarray | None = None

    @property
    def n_refused_missing(self) -> int:
        """Records whose value is missing where the plan refuses that."""
        refused = self.level_of == -2
        return n_records(refused[self.rows], self.counts) if refused.any() else 0


def n_records(rows: np.ndarray, counts: np.ndarray | None) -> int:
    """Number of records in a mask of ``rows``, each of which stands for its count of records or for one."""
    return int(np.count_nonzero(rows) if counts is None else counts[rows].sum())


def missing_mask(column: RawColumn, codes: Sequence[str]) -> np.ndarray:
    """Mask of distinct values that are missing: NaN, or text equal to one of ``codes``; shape ``(len(values),)``."""
    result: np.ndarray = nan_mask(column.values) | text_mask(column.values, codes)
    return result


def n_missing(column: RawColumn, mask: np.ndarray) -> int:
    """Records of ``column`` that are null or whose value is in ``mask``."""
    return int(np.count_nonzero(np.append(mask, True)[column.codes]))


def view_of(attribute: AttributePlan, table: RawTable, missing: Sequence[str]) -> AttributeView:
    """The view of ``attribute`` on ``table``, whose columns must be there; ``missing`` are plan-wide codes."""
    codes, counts = attribute.missing_codes(missing), table.multiplicity
    columns = [table.distinct.columns[name] for name in attribute.view]
    if len(columns) == 1:
        return _single(attribute, columns[0], codes, counts)
    return _joint(attribute, columns, codes, counts)


def _single(
    attribute: AttributePlan, column: RawColumn, codes: Sequence[str], counts: np.ndarray | None
) -> AttributeView:
    # One combination per distinct value and a last one for null, which code -1 finds by itself.
    mask = missing_mask(column, codes)
    if attribute.cut:
        level_of, levels, cut_kinds = _cut(attribute, column, mask, counts)
        return _finish(attribute, levels, cut_kinds, np.append(level_of, -2), column.codes, counts)
    labels: list[str | None] = [
        None if missing else text for text, missing in zip(texts(column.values), mask, strict=True)
    ]
    kinds: list[LevelKind] = [
        "missing" if label is None else "skip" if label in attribute.skip else "value" for label in labels
    ]
    return _labelled(attribute, [*labels, None], [*kinds, "missing"], column.codes, counts)


def _cut(
    attribute: AttributePlan, column: RawColumn, mask: np.ndarray, counts: np.ndarray | None
) -> tuple[np.ndarray, list[str], list[LevelKind]]:
    """Level codes of a cut column's distinct values (-2 where missing), then levels and kinds without "missing"."""
    labels = list(attribute.cut_labels)
    level_of = np.full(len(mask), -2, dtype=np.int64)
    remaining = ~mask
    for i, skip in enumerate(attribute.skip):
        matches = remaining & missing_mask(column, [skip])
        level_of[matches] = len(labels) + i
        remaining &= ~matches
    parsed = column.numbers
    bad = remaining & np.isnan(parsed)
    if bad.any() and not column.notation.clear:
        raise EngineError(written_unclearly(column.name))
    if bad.any():
        n_bad = n_records(np.append(bad, False)[column.codes], counts)
        raise EngineError(
            f"column '{column.name}' is cut by numbers, but {count(int(bad.sum()), 'value')} "
            f"({count(n_bad, 'record')}) cannot be read as one; "
            "list them under skip or missing, or use merge instead of cut"
        )
    level_of[remaining] = np.searchsorted(np.array(attribute.cut, dtype=float), parsed[remaining], side="right")
    kinds = [_VALUE] * len(labels) + [_SKIP] * len(attribute.skip)
    return level_of, [*labels, *attribute.skip], kinds


def _joint(
    attribute: AttributePlan, columns: Sequence[RawColumn], codes: Sequence[str], counts: np.ndarray | None
) -> AttributeView:
    sizes = [len(column.values) + 1 for column in columns]
    combinations, rows = occupied(
        [column.codes.astype(np.int64) + 1 for column in columns], sizes, len(columns[0].codes)
    )
    readings_of: list[list[tuple[LevelKind, str]]] = []
    for column, indices in zip(columns, combinations.T, strict=True):
        mask = missing_mask(column, codes)
        readings: list[tuple[LevelKind, str]] = [("missing", MISSING_LEVEL)]
        readings += [
            ("missing", MISSING_LEVEL) if missing else ("skip" if text in attribute.skip else "value", text)
            for text, missing in zip(texts(column.values), mask, strict=True)
        ]
        readings_of.append([readings[code] for code in indices])
    labels: list[str | None] = []
    kinds: list[LevelKind] = []
    for combination in zip(*readings_of, strict=True):
        label = JOIN.join(text for _, text in combination)
        parts = {kind for kind, _ in combination}
        kind: LevelKind = "missing" if "missing" in parts else "skip" if "skip" in parts else "value"
        missing = label in codes or parts == {"missing"}
        labels.append(None if missing else label)
        kinds.append("missing" if missing else "skip" if label in attribute.skip else kind)
    combination_of: dict[str, tuple[tuple[LevelKind, str], ...]] = {}
    for read, combination in zip(labels, zip(*readings_of, strict=True), strict=True):
        if read is not None and combination_of.setdefault(read, combination) != combination:
            raise EngineError(
                f"attribute '{attribute.name}': two combinations of values both read '{read}'; view one column instead"
            )
    return _labelled(attribute, labels, kinds, rows, counts)


def _labelled(
    attribute: AttributePlan,
    labels: Sequence[str | None],
    kinds: Sequence[LevelKind],
    rows: np.ndarray,
    counts: np.ndarray | None,
) -> AttributeView:
    """Levels from one label and kind per combination (label None: missing), after ``merge`` and in declared order."""
    merged = {raw: level for level, values in attribute.merge for raw in values}
    final = [None if label is None else merged.get(label, label) for label in labels]
    kind_of: dict[str, LevelKind] = {}
    for label, kind in zip(final, kinds, strict=True):
        if label is not None and kind_of.setdefault(label, kind) != kind:
            raise UsageError(
                f"attribute '{attribute.name}': merge mixes answers with skipped or missing values in level '{label}'"
            )
    # A declared skip is a level even where it does not occur; in a combination it is only a part of one.
    for skip in attribute.skip if len(attribute.view) == 1 else ():
        kind_of.setdefault(merged.get(skip, skip), "skip")
    for level, values in attribute.merge:
        kind_of.setdefault(level, "skip" if set(values) <= set(attribute.skip) else "value")
    observed = in_order([level for level, kind in kind_of.items() if kind == "value"])
    declared = list(attribute.levels)
    answers = declared or observed
    outside = tuple(level for level in observed if level not in set(declared)) if declared else ()
    levels = [*answers, *in_order([level for level, kind in kind_of.items() if kind == "skip"])]
    n_value = len(answers)
    partly_missing = in_order([level for level, kind in kind_of.items() if kind == "missing"])
    all_levels = [*levels, *partly_missing] if attribute.on_missing == "level" else levels
    code = {level: i for i, level in enumerate(all_levels)}
    level_of = np.empty(len(final), dtype=np.int64)
    for i, label in enumerate(final):
        missing = label is None or kind_of[label] == "missing"
        level_of[i] = -2 if label is None or (missing and attribute.on_missing == "refuse") else code.get(label, -1)
    all_kinds = [_VALUE] * n_value + [_SKIP] * (len(levels) - n_value) + [_MISSING] * (len(all_levels) - len(levels))
    view = _finish(attribute, all_levels, all_kinds, level_of, rows, counts)
    return replace(view, outside=outside, n_outside=_records_of(outside, final, view)) if outside else view


def _records_of(levels: Sequence[str], labels: Sequence[str | None], view: AttributeView) -> tuple[int, ...]:
    """Numbers of records of some levels, given each combination's label and each record's combination (-1: the
    last)."""
    n_of = dict.fromkeys(levels, 0)
    counts = np.bincount(view.rows % len(labels), view.counts, len(labels))
    for label, n in zip(labels, counts.tolist(), strict=True):
        if label in n_of:
            n_of[label] += int(n)
    return tuple(n_of.values())


def _finish(
    attribute: AttributePlan,
    levels: Sequence[str],
    kinds: Sequence[LevelKind],
    level_of: np.ndarray,
    rows: np.ndarray,
    counts: np.ndarray | None,
) -> AttributeView:
    if attribute.on_missing == "level":
        if MISSING_LEVEL in levels:
            raise UsageError(
                f"attribute '{attribute.name}' already has a level '{MISSING_LEVEL}'; "
                f'add missing = ["{MISSING_LEVEL}"] to the attribute or merge that value under another name'
            )
        level_of = np.where(level_of == -2, len(levels), level_of)
        levels, kinds = (*levels, MISSING_LEVEL), (*kinds, "missing")
    return AttributeView(tuple(levels), tuple(kinds), level_of, rows, counts=counts)


def in_order(labels: Sequence[str]) -> list[str]:
    """Numeric order when every label is a number (ties by text), else sorted text; combinations part by part."""
    if all(is_number(label) for label in labels):
        return sorted(labels, key=lambda label: (float(label), label))
    parts = [label.split(JOIN) for label in labels]
    width = len(parts[0])
    if width == 1 or any(len(part) != width for part in parts):
        return sorted(labels)
    numeric = [all(is_number(part[i]) for part in parts) for i in range(width)]
    return sorted(
        labels, key=lambda label: [(float(t) if n else 0.0, t) for t, n in zip(label.split(JOIN), numeric, strict=True)]
    )


def check_levels(attribute: str, known: Sequence[str], wanted: Sequence[str], what: str) -> None:
    """Refuse the first of ``wanted`` that is not among the levels ``known``."""
    for level in wanted:
        if level not in known:
            raise UsageError(
                f"{what} names the unknown level '{level}' of attribute '{attribute}'.{did_you_mean(level, known)}"
            )
