"""Code raw columns by a plan: the coded microdata."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.domain import Attribute, Domain
from engine.data.edit_rules import EditRule
from engine.data.microdata import Microdata, RawTable
from engine.data.streamed import AbsentRecords, StreamedCells
from engine.data.table import ContingencyTable, are_new, occupied
from engine.plan.attribute import AttributePlan
from engine.plan.column_assignment import check_assignment
from engine.plan.column_labels import labelled
from engine.plan.column_lists import count
from engine.plan.types import Plan
from engine.plan.view import AttributeView, check_levels, view_of

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
            f"{where} has {count(n_missing, 'missing value')}; "
            "fill, drop or recode them as a level before using it in random swap "
            f"(for a level of their own: on_missing = \"level\" in the plan's attribute '{attribute.name}')"
        )
    if view.outside:
        first = view.outside[0]
        raise EngineError(
            f"{where} has {count(len(view.outside), 'level')} that the plan does not declare, first '{first}'."
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
    """Mask of the cells that break at least one rule, shape ``(m,)``; ``cells`` are level codes, shape ``(m, d)``, as
    are the occupied cells of the ``original``."""
    check_edits(domain, edits)
    failed = np.zeros(len(cells), dtype=bool)
    for rule in edits:
        if rule.existing:
            looked_at = domain.indices(rule.existing)
            columns, before = ([rows[:, j] for j in looked_at] for rows in (cells, original))
            failed |= are_new(columns, before, [domain.shape[j] for j in looked_at])
            continue
        breaks = np.ones(len(cells), dtype=bool)
        for name, levels in rule.forbid:
            j = domain.index(name)
            forbidden = np.isin(np.array(domain.attributes[j].levels), levels)
            breaks &= forbidden[cells[:, j]]
        failed |= breaks
    return failed
