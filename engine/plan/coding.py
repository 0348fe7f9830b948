"""Code raw columns by a plan: use of every column, levels of attributes, microdata, counts of a streamed file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.raw_values import PLAIN, Notation, is_number, nan_mask, text_mask, texts, written_unclearly
from engine.data.domain import KINDS, Attribute, Domain, EditRule, LevelKind
from engine.data.io.counting import count, first_rows
from engine.data.io.stream import RecordStream
from engine.data.microdata import (
    AbsentRecords,
    Microdata,
    RawColumn,
    RawTable,
    Streamed,
    StreamedCells,
    check_number,
    streamed_table,
)
from engine.data.table import ContingencyTable, are_new, occupied
from engine.plan.entries import MISSING_LEVEL, AttributePlan, labelled, labelled_as_far
from engine.plan.types import DataPlan, Plan, is_pattern

if TYPE_CHECKING:
    import pyarrow as pa


def counted(n: int, noun: str) -> str:
    """A number with its noun: ``1 level``, ``3 levels``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def column_list(names: Sequence[str], most: int = 5) -> str:
    """The first few names in quotes, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + more


@dataclass(frozen=True)
class ColumnAssignment:
    """Columns by use, each in file order; ``unassigned`` have none and ``absent`` are claimed but not there.
    ``matched`` are the carried and dropped ones that only a pattern covers."""

    carried: tuple[str, ...]
    dropped: tuple[str, ...]
    unassigned: tuple[str, ...]
    absent: tuple[str, ...]
    matched: tuple[str, ...] = ()

    def unseen(self, data: DataPlan) -> tuple[str, ...]:
        """Columns that only a pattern covers and of which the plan does not say that they were seen: nobody has decided
        on them."""
        return tuple(column for column in self.matched if column not in data.seen)


def assign_columns(data: DataPlan, columns: Sequence[str]) -> ColumnAssignment:
    """Sort ``columns`` by the plan.  A claim by exact name wins over a pattern; two patterns must not disagree."""
    return sort_columns(dict(data.claims()), data.carry, data.drop, columns)


def sort_columns(
    claims: dict[str, str], carry: Sequence[str], drop: Sequence[str], columns: Sequence[str]
) -> ColumnAssignment:
    """:func:`assign_columns` from bare parts: ``claims`` are columns claimed by exact name, with who claims them."""
    claims, present = dict(claims), frozenset(columns)
    # A column may really be called "x[1]" or "what?": an entry that is a column's name is no pattern.
    patterns: dict[str, list[str]] = {"carry": [], "drop": []}
    for use, entries in (("carry", carry), ("drop", drop)):
        for entry in entries:
            if entry in present and claims.get(entry, use) != use:
                raise UsageError(f"column '{entry}' is claimed by {claims[entry]} and by {use}; keep one of them")
            if entry in present or not is_pattern(entry):
                claims[entry] = use
            else:
                patterns[use].append(entry)
    matches = {use: _any_of(entries) for use, entries in patterns.items()}
    matched = []
    for column in columns:
        if column in claims:
            continue
        uses = [use for use, match in matches.items() if match(column)]
        if len(uses) > 1:
            raise UsageError(
                f"column '{column}' matches a pattern under carry and one under drop; name it in one of them"
            )
        if uses:
            claims[column] = uses[0]
            matched.append(column)
    return ColumnAssignment(
        carried=tuple(c for c in columns if claims.get(c) == "carry"),
        dropped=tuple(c for c in columns if claims.get(c) == "drop"),
        unassigned=tuple(c for c in columns if c not in claims),
        absent=tuple(c for c in claims if c not in present),
        matched=tuple(matched),
    )


def with_seen(data: DataPlan, columns: Sequence[str]) -> DataPlan:
    """``data`` that records which of ``columns`` only its patterns cover, unless it says so of another file."""
    if data.seen or not any(map(is_pattern, (*data.carry, *data.drop))):
        return data
    return replace(data, seen=assign_columns(data, columns).matched)


def _any_of(patterns: Sequence[str]) -> Callable[[str], object]:
    """A test of whether a name matches one of some patterns, put together once however many names there are."""
    if not patterns:
        return lambda name: False
    return re.compile("|".join(f"(?:{translate(pattern)})" for pattern in patterns)).match


def absent_unit(name: str, columns: Sequence[str]) -> str:
    """The sentence on a unit whose column the file does not have."""
    return f"unit names column '{name}', which the file lacks.{did_you_mean(name, columns)}"


def check_assignment(data: DataPlan, columns: Sequence[str]) -> ColumnAssignment:
    """:func:`assign_columns`, refusing columns that are claimed but absent and columns without a use."""
    assigned = assign_columns(data, columns)
    if assigned.absent:
        name = assigned.absent[0]
        claim = dict(data.claims())[name]
        if claim == "unit":
            raise UsageError(absent_unit(name, columns))
        hint = did_you_mean(name, columns)
        raise UsageError(f"the plan names column '{name}' ({claim}), which is not in the data.{hint}")
    if assigned.unassigned:
        n = len(assigned.unassigned)
        raise UsageError(
            f"{counted(n, 'column')} of the data without a use in the plan: {column_list(assigned.unassigned)}; "
            "make each an attribute, or keep it with its record with carry, or leave it out with drop"
        )
    if data.seen:  # a study of an earlier version says nothing of it; whether it is of these data is checked elsewhere
        _refuse_unseen(assigned.unseen(data))
    return assigned


def check_seen(data: DataPlan, columns: Sequence[str]) -> None:
    """Refuse (:class:`UsageError`) a plan of which some columns are covered by a pattern alone and not seen: for plans
    that come from a file, and meet data for which they need not have been made."""
    _refuse_unseen(assign_columns(data, columns).unseen(data))


def _refuse_unseen(unseen: Sequence[str]) -> None:
    if not unseen:
        return
    raise UsageError(
        f"{counted(len(unseen), 'column')} of the data that the plan does not name, and only a pattern covers: "
        f"{column_list(unseen)}; name each under carry or drop, make it an attribute, or list it under seen",
        Remedy.SETTLE_COLUMNS,
    )


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
            f"column '{column.name}' is cut by numbers, but {counted(int(bad.sum()), 'value')} "
            f"({counted(n_bad, 'record')}) cannot be read as one; "
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


N_RULE = 3
"""A cell with fewer records than this is small; the default of the measure of small cells."""


@dataclass(frozen=True)
class KeyTable:
    """The table of some attributes before anything is swapped.

    ``possible`` cells (the product of the numbers of levels), ``cells`` with records, ``small_cells`` with fewer than
    the rule's number of records and ``small_records`` in them, ``uniques`` alone in theirs, ``levels`` with their
    numbers of records per attribute.
    """

    n_records: int
    possible: int
    cells: int
    small_cells: int
    small_records: int
    uniques: int
    levels: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)


def key_table(raw: RawTable, plan: Plan, attributes: Sequence[str] | None = None, n_rule: int = N_RULE) -> KeyTable:
    """The :class:`KeyTable` of ``attributes`` (default: the plan's keys) under a plan's coding.

    Works on the coded columns and codes only these attributes, so it answers while a person drags an edge.  Values that
    the plan would refuse (outside its levels, or missing) count as levels of their own, since the table is looked at
    while it is being made; they have no entry in ``levels``.
    """
    names = plan.keys if attributes is None else tuple(attributes)
    if not names:
        raise UsageError("the key table needs at least one attribute; choose some")
    codes, levels = _looked_at(raw, plan, names)
    sizes = [len(levels[name]) + 2 for name in names]
    counts = _cell_counts(codes, sizes, raw.n_records)
    small = counts < n_rule
    return KeyTable(
        raw.n_records,
        math.prod(max(1, len(levels[name])) for name in names),
        len(counts),
        int(small.sum()),
        int(counts[small].sum()),
        int(np.count_nonzero(counts == 1)),
        levels,
    )


def small_by_key(raw: RawTable, plan: Plan, n_rule: int = N_RULE) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the records in small cells of the first key, the first two and so on to all, and of all keys but each.

    Coded as by :func:`key_table`; shape ``(len(plan.keys),)`` each.
    """
    codes, levels = _looked_at(raw, plan, plan.keys)
    sizes = [len(levels[name]) + 2 for name in plan.keys]
    places = range(len(codes))

    def small(some: Sequence[int]) -> int:
        if not some:
            return 0
        counts = _cell_counts([codes[k] for k in some], [sizes[k] for k in some], raw.n_records)
        return int(counts[counts < n_rule].sum())

    known = tuple(small(range(k + 1)) for k in places)
    return known, tuple(small([k for k in places if k != out]) for out in places)


def _cell_counts(codes: Sequence[np.ndarray], sizes: Sequence[int], n_records: int) -> np.ndarray:
    cells, inverse = occupied(codes, sizes, n_records)
    return np.bincount(inverse, minlength=len(cells))


def _looked_at(
    raw: RawTable, plan: Plan, names: Sequence[str]
) -> tuple[list[np.ndarray], dict[str, tuple[tuple[str, int], ...]]]:
    """Codes of attributes, of which the first two are of refused values, and their levels with numbers of records."""
    attribute_plans = {attribute.name: attribute for attribute in plan.attributes}
    raw = labelled_as_far(raw, plan.data.columns)
    codes, levels = [], {}
    for name in names:
        if name not in attribute_plans:
            raise UsageError(f"unknown attribute '{name}'.{did_you_mean(name, attribute_plans)}")
        view = view_of(attribute_plans[name], raw, plan.data.missing)
        coded = (view.level_of + 2)[view.rows]
        counts = np.bincount(coded, minlength=len(view.levels) + 2)[2:]
        levels[name] = tuple(zip(view.levels, counts.tolist(), strict=True))
        codes.append(coded)
    return codes, levels


_SIGNS = re.compile(r"[\[\];,=+\s]+")  # between the words of a measure or a mechanism's parameter


def code(table: RawTable, plan: Plan) -> Microdata:
    """Code the records of ``table`` as ``plan`` says.

    Works on distinct values and then takes once per attribute, so the cost follows the records only linearly.  Refuses
    (:class:`UsageError`) columns that are missing, claimed twice or without a use and edit rules with unknown levels;
    refuses (:class:`EngineError`) missing values, non-numbers in a cut and values outside declared levels.
    """
    assigned = check_assignment(plan.data, table.names)
    table = labelled(table, plan.data.columns)
    attributes, codes = [], []
    table.keep_in_memory(named_columns(plan, table.names))
    for attribute_plan in plan.attributes:
        view = view_of(attribute_plan, table, plan.data.missing)
        _refuse(attribute_plan, view)
        coded = view.level_of.astype(np.int32)[view.rows]
        attributes.append(
            Attribute(
                attribute_plan.name,
                view.levels,
                view.kinds,
                attribute_plan.columns,
                _exact(attribute_plan, table.distinct, view, coded),
            )
        )
        codes.append(coded)
    domain = Domain(tuple(attributes), tuple(rule for rule in plan.edits if rule.refuse))
    check_edits(domain, plan.edits)
    single = (plan.data.weight, plan.data.id, plan.data.unit)
    uses, missing = (assigned.carried, assigned.dropped, *single), plan.data.missing
    if table.streamed is None:
        return Microdata(domain, tuple(codes), table, *uses, missing=missing)
    absent: Any = AbsentRecords(table.source)
    cells = _cells_of_rows(domain, codes, table.streamed.counts)
    return Microdata(domain, absent, table, *uses, streamed=cells, missing=missing)


def _cells_of_rows(domain: Domain, codes: Sequence[np.ndarray], counts: np.ndarray) -> StreamedCells:
    """The table of records of which distinct rows are coded, with the records of each."""
    cells, cell_of_row = occupied(codes, domain.shape, len(counts))
    of_cells = np.zeros(len(cells), np.int64)
    np.add.at(of_cells, cell_of_row, counts)
    return StreamedCells(ContingencyTable(domain, cells, of_cells), cell_of_row)


def named_columns(plan: Plan, names: Collection[str]) -> set[str]:
    """Columns among ``names`` that the plan names for more than to stay or be dropped: of attributes, the weight, and
    those that analyses, measures and mechanisms use as numbers."""
    named = {column for attribute in plan.attributes for column in attribute.columns}
    named |= {name for name in (plan.data.weight, *plan.data.unit_columns, *plan.data.numeric) if name is not None}
    named |= {name for analysis in plan.analyses for name in (*analysis.columns, *analysis.by)}
    texts = [str(measure) for measure in plan.measures]
    texts += [text for mechanism in plan.mechanisms for _, values in mechanism.grid for text in values]
    named |= {word for text in texts for word in _SIGNS.split(text)}
    known = set(names)
    return {name if name in known else name.removesuffix("_raw") for name in named} & known


def _refuse(attribute: AttributePlan, view: AttributeView) -> None:
    where = f"column '{attribute.view[0]}'" if len(attribute.view) == 1 else f"attribute '{attribute.name}'"
    n_missing = view.n_refused_missing
    if n_missing:
        raise EngineError(
            f"{where} has {counted(n_missing, 'missing value')}; "
            "fill, drop or recode them as a level before using it in random swap "
            f"(for a level of their own: on_missing = \"level\" in the plan's attribute '{attribute.name}')"
        )
    if view.outside:
        first = view.outside[0]
        raise EngineError(
            f"{where} has {counted(len(view.outside), 'level')} that the plan does not declare, first '{first}'."
            f"{did_you_mean(first, view.levels)} Add to levels of attribute '{attribute.name}', or use merge"
        )
    if not view.levels:
        raise EngineError(f"{where} has no values at all; drop it")


def _exact(attribute: AttributePlan, table: RawTable, view: AttributeView, coded: np.ndarray) -> bool:
    """Return whether each level stands for one combination of raw values over the whole block."""
    if len(attribute.columns) == 1:
        # Distinct values all occur, so it is enough that no level has two; null is one more value where it occurs.
        raw = table.columns[attribute.columns[0]]
        of_values = view.level_of[: len(raw.values)]
        used = of_values if int(raw.codes.min()) >= 0 else view.level_of
        # np.unique would load masked arrays, which takes longer
        return not len(used) or int(np.bincount(used - used.min()).max()) == 1
    columns = [coded, *(table.columns[name].codes.astype(np.int64) + 1 for name in attribute.columns)]
    sizes = [len(view.levels), *(len(table.columns[name].values) + 1 for name in attribute.columns)]
    combinations, _ = occupied(columns, sizes, table.n_records)
    return len(np.unique(combinations[:, 0])) == len(combinations)


def check_edits(domain: Domain, edits: Sequence[EditRule]) -> None:
    """Refuse an edit rule that names an unknown attribute or level."""
    for rule in edits:
        for name in rule.attributes:
            if name not in domain.names:
                raise UsageError(
                    f"edit rule '{rule.name}' names the unknown attribute '{name}'.{did_you_mean(name, domain.names)}"
                )
        for name, levels in rule.forbid:
            check_levels(name, domain.attributes[domain.index(name)].levels, levels, f"edit rule '{rule.name}'")


def edit_failures(cells: np.ndarray, domain: Domain, edits: Sequence[EditRule], original: np.ndarray) -> np.ndarray:
    """Mask of the cells that break each rule, shape ``(m, rules)``; ``cells`` are level codes, shape ``(m, d)``, as are
    the occupied cells of the ``original``."""
    check_edits(domain, edits)
    failed = np.ones((len(cells), len(edits)), dtype=bool)
    for rule, breaks in zip(edits, failed.T, strict=True):
        if rule.existing:
            looked_at = domain.indices(rule.existing)
            columns, before = ([rows[:, j] for j in looked_at] for rows in (cells, original))
            breaks &= are_new(columns, before, [domain.shape[j] for j in looked_at])
        for name, levels in rule.forbid:
            j = domain.index(name)
            forbidden = np.isin(np.array(domain.attributes[j].levels), levels)
            breaks &= forbidden[cells[:, j]]
    return failed


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
    return {column.name: column.notation for column in plan.data.columns if column.notation is not None}


def tabulate(data: RawTable | RecordStream, plan: Plan) -> RawTable:
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
    counted = count(data, names, classify)
    # where the plan does not, only all values of a column say how it writes numbers
    seen = {name: counted.rows.columns[name].notation for name in classify} | _notations(plan)
    written = {name: replace(of, notation=seen[name]) for name, of in classify.items()}
    if written != classify:
        counted = count(data, names, written)
    streamed = Streamed(data, counted.rows, counted.counts, counted.digest, counted.representatives)
    return streamed_table(streamed, data.names)
