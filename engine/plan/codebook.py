"""Labels, missing codes, roles and blocks from a codebook: a CSV file with one row a column.

Its header names some of

* ``name`` – the column, or a pattern such as ``*_WT``; the only one that must be there
* ``label`` – its label
* ``role`` – key, swap, analyse, attribute, weight, id, carry or drop; several with spaces between
* ``block`` – the column or word that names the block it moves with
* ``missing`` – raw values that mean missing, with ``;`` between; a range of numbers as ``-99 to -90``
* ``skip`` – raw values of a question validly skipped, with ``;`` between
* ``values`` – value labels as ``1=Male; 2=Female``; one that holds a ``;`` in double quotes: ``"1=Yes; often"; 2=No``
* ``measure`` – nominal, ordinal or scale

Other columns of the table are left alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from engine.common.errors import UsageError, did_you_mean
from engine.common.raw_values import texts
from engine.common.wording import first_twice, quoted
from engine.data.io.readers import read_table
from engine.data.microdata import MEASURES, ColumnLabels, RawColumn, RawTable
from engine.plan.doubts import Link, Proposal, ProposalKind
from engine.plan.edit import edit_plan, led_by
from engine.plan.entries import ColumnPlan, codes_and_ranges, labelled
from engine.plan.guess import first_plan
from engine.plan.propose import accept
from engine.plan.types import Plan, is_pattern


def read_codebook(path: str | Path) -> Codebook:
    """The codebook in a .csv file; a wrong entry is a :class:`UsageError` that names the file."""
    table = read_table(path, clean_names=True)
    file = table.source
    column_of = {name.strip().casefold(): column for name, column in table.columns.items()}
    if "name" not in column_of:
        raise UsageError(
            f"file '{file}' has no column 'name'; a codebook has a row for each column of the data, under the headings "
            f"{', '.join(FIELDS)}"
        )
    fields = {}
    for field in FIELDS:
        if field in column_of:
            cell_texts = [*(text.strip() for text in texts(column_of[field].values)), ""]
            fields[field] = [cell_texts[code] for code in column_of[field].codes]
    try:
        rows = (_row({field: values[i] for field, values in fields.items()}) for i in range(table.n_records))
        return Codebook(tuple(row for row in rows if row is not None))
    except UsageError as error:
        raise UsageError(f"file '{file}': {error}") from None


_QUOTED_LABEL = re.compile(r'(?:(?<=;)|^)\s*([^;"=]+=)\s*"((?:[^"]|"")*)"\s*(?=;|$)')
"""A pair whose label alone stands in quotes, ``2="South; East"``, in place of the whole pair."""


def _row(entry: dict[str, str]) -> CodebookRow | None:
    if not any(entry.values()):
        return None
    missing, ranges = codes_and_ranges(_list(entry, "missing"))
    return CodebookRow(
        entry["name"],
        entry.get("label", ""),
        tuple(dict.fromkeys(entry.get("role", "").casefold().replace(",", " ").replace(";", " ").split())),
        entry.get("block", ""),
        missing,
        _list(entry, "skip"),
        tuple(_pair(entry["name"], pair) for pair in _list(entry, "values")),
        entry.get("measure", "").casefold(),
        ranges,
    )


def _list(entry: dict[str, str], field: str) -> tuple[str, ...]:
    text = _QUOTED_LABEL.sub(r'"\1\2"', entry.get(field, ""))
    try:
        items = next(csv.reader([text], delimiter=";", skipinitialspace=True), [])
    except csv.Error:  # a line end outside of quotes, or more text than a list can be
        raise UsageError(
            f"column '{entry['name']}': {field} is no list with ; between; write a part that holds a line end in quotes"
        ) from None
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def _pair(name: str, text: str) -> tuple[str, str]:
    match = re.fullmatch(r"((?:[^\\=]|\\.)*)=(.*)", text, re.DOTALL)
    if match is None or not match[2].strip():
        raise UsageError(f"column '{name}': values holds '{text}', must be written as 1=Male; 2=Female")
    return re.sub(r"\\(.)", r"\1", match[1]).strip(), match[2].strip()


ROLES = ("key", "swap", "analyse", "attribute", "weight", "id", "unit", "carry", "drop")
"""Roles that a codebook may give a column; the first four make it an attribute."""
_CODED = ROLES[:4]
FIELDS = ("name", "label", "role", "block", "missing", "skip", "values", "measure")
"""Columns of a codebook table; only ``name`` must be there."""


@dataclass(frozen=True)
class CodebookRow:
    """A codebook's entries for one column, or for all whose names match a pattern such as ``*_WT``."""

    name: str
    label: str = ""
    roles: tuple[str, ...] = ()
    block: str = ""
    missing: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    measure: str = ""
    missing_ranges: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("a row of the codebook names no column")
        for role in self.roles:
            if role not in ROLES:
                raise UsageError(f"codebook, column '{self.name}': unknown role '{role}'.{did_you_mean(role, ROLES)}")
        exclusive = [role for role in self.roles if role not in _CODED]
        if len(exclusive) > 1 or (exclusive and len(self.roles) > 1):
            raise UsageError(
                f"codebook, column '{self.name}' has the roles {', '.join(self.roles)}; "
                f"'{exclusive[0]}' excludes every other"
            )
        if self.measure not in MEASURES:
            raise UsageError(
                f"codebook, column '{self.name}': measure is '{self.measure}', must be one of {', '.join(MEASURES[1:])}"
            )
        self.column(self.name)  # two labels of one value are refused here, by name

    def column(self, name: str) -> ColumnPlan:
        """What a plan says of the column ``name`` by this row."""
        ranges = ColumnLabels(missing_ranges=self.missing_ranges).written_ranges
        return ColumnPlan(name, self.label, self.values, (*self.missing, *ranges), self.measure)


@dataclass(frozen=True)
class Codebook:
    """The rows of a codebook.  A row for a column's own name wins over a pattern, an earlier pattern over a later."""

    rows: tuple[CodebookRow, ...]

    def __post_init__(self) -> None:
        names = [row.name for row in self.rows]
        repeated = first_twice(names)
        if repeated is not None:
            raise UsageError(f"the codebook has two rows for {quoted(repeated)}; keep one")

    def of(self, columns: Sequence[str]) -> dict[str, CodebookRow]:
        """The row of each column that has one; a row for a column that is not there is a :class:`UsageError`."""
        present = frozenset(columns)
        exact = {row.name: row for row in self.rows if row.name in present or not is_pattern(row.name)}
        for name in exact:
            if name not in present:
                hint = did_you_mean(name, columns)
                raise UsageError(f"the codebook describes column {quoted(name)}, which is not in the data.{hint}")
        patterns = [row for row in self.rows if row.name not in exact]
        row_of = {}
        for column in columns:
            row = exact.get(column) or next((row for row in patterns if fnmatchcase(column, row.name)), None)
            if row is not None:
                row_of[column] = row
        return row_of


def with_labels(raw: RawTable, codebook: Codebook) -> RawTable:
    """``raw`` with the codebook's labels and missing codes; what the codebook leaves empty stays as the file has it."""
    return labelled(raw, (row.column(name) for name, row in codebook.of(raw.names).items()))


def apply_codebook(raw: RawTable, codebook: Codebook, plan: Plan | None = None) -> Plan:
    """The plan that the codebook describes for ``raw``, from ``plan`` or else from a first guess.

    Where any column has a role that makes it an attribute, exactly those columns are attributes.  Of several columns
    with the role id, or unit, the first in the file has it and the others are dropped; of several weights the others
    are carried.
    """
    raw = with_labels(raw, codebook)
    rows = codebook.of(raw.names)
    plan = first_plan(raw) if plan is None else plan

    def having(*roles: str) -> tuple[str, ...]:
        return tuple(name for name, row in rows.items() if set(roles) & set(row.roles))

    coded = having(*_CODED)
    for name in coded:
        if not any(name in a.columns for a in plan.attributes):
            raise UsageError(
                f"the codebook makes column '{name}' an attribute, but it has too many values for one; give edges "
                "with cut in the plan, or name a recode of it"
            )
    uses: tuple[tuple[ProposalKind, str], ...] = (
        ("unit", "unit"),
        ("id", "id"),
        ("weight", "weight"),
        ("constant", "carry"),
    )
    for kind, role in uses:
        if having(role):
            plan = accept(plan, Proposal(kind, having(role), "", ""))
    plan = _drop(plan, having("drop"))
    if coded:
        plan = led_by(raw, plan, _leading(plan, coded))
        plan = edit_plan(plan, attributes=_attributes(plan, coded))
    for members in _blocks(rows, raw.names).values():
        plan = accept(plan, Proposal("block", members, "", ""))
    codes = tuple((name, _missing(raw.columns[name], row)) for name, row in rows.items())
    codes = tuple((name, declared) for name, declared in codes if declared)
    if codes:
        plan = accept(plan, Proposal("missing", tuple(name for name, _ in codes), "", "", codes=codes))
    for name, row in rows.items():
        for code in row.skip:
            plan = accept(plan, Proposal("skip", (name,), "", "", (Link(name, name, "skip", (), code),)))
    keys, swap, analyse = (_attributes(plan, having(role)) or None for role in ("key", "swap", "analyse"))
    return _with_columns(edit_plan(plan, keys=keys, swap=swap, analyse=analyse), rows)


def _with_columns(plan: Plan, rows: Mapping[str, CodebookRow]) -> Plan:
    """The plan with the labels of all rows that have some, so that they reach every release."""
    new = {name: row.column(name) for name, row in rows.items()}
    new = {name: column for name, column in new.items() if column != ColumnPlan(name)}
    columns = {column.name: column for column in plan.data.columns}
    for name, column in new.items():  # a codebook says neither how numbers are written nor what is real
        before = columns.get(name, column)
        columns[name] = replace(column, decimal=before.decimal, thousands=before.thousands, real=before.real)
    return replace(plan, data=replace(plan.data, columns=tuple(columns.values())))


def _missing(column: RawColumn, row: CodebookRow) -> tuple[str, ...]:
    """The codes that a row declares missing: those it names, and those of its ranges that occur."""
    in_ranges = ColumnLabels(missing_ranges=row.missing_ranges).missing_among(texts(column.values))
    return tuple(code for code in dict.fromkeys((*row.missing, *in_ranges)) if code not in row.skip)


def _attributes(plan: Plan, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(a.name for a in plan.attributes if set(columns) & set(a.columns))


def _leading(plan: Plan, columns: Sequence[str]) -> list[str]:
    """The first of these columns in each attribute whose levels none of them makes."""
    chosen = set(columns)
    unnamed = (a for a in plan.attributes if chosen.isdisjoint((a.name, *a.view)))
    return [next(c for c in columns if c in a.columns) for a in unnamed if not chosen.isdisjoint(a.columns)]


def _blocks(rows: Mapping[str, CodebookRow], columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns by the block that their rows name; a column of the block's own name leads it."""
    blocks: dict[str, list[str]] = {}
    for name, row in rows.items():
        if row.block:
            blocks.setdefault(row.block, []).append(name)
    for block, columns_of_block in blocks.items():
        if block in columns and block not in columns_of_block:
            columns_of_block.append(block)
        columns_of_block.sort(key=lambda name: name != block)
    return {block: tuple(columns_of_block) for block, columns_of_block in blocks.items() if len(columns_of_block) > 1}


def _drop(plan: Plan, columns: Sequence[str]) -> Plan:
    """Columns that never leave; one in a block with others leaves the block."""
    if not columns:
        return plan
    plan = accept(plan, Proposal("constant", tuple(columns), "", ""))
    data = plan.data
    in_blocks = [c for a in data.attributes for c in a.columns if c in columns]
    if in_blocks:
        raise UsageError(
            f"the codebook drops column '{in_blocks[0]}', which is in a block of the plan; take it out there"
        )
    carry = tuple(c for c in data.carry if c not in columns)
    drop = (*data.drop, *(c for c in columns if c not in data.drop))
    return replace(plan, data=replace(data, carry=carry, drop=drop))
