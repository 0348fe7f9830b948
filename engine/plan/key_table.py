"""The sizes of the key cells that a coding makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.data.microdata import RawTable
from engine.data.table import occupied
from engine.plan.column_labels import labelled_as_far
from engine.plan.types import Plan
from engine.plan.view import view_of

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
    levels: dict[str, tuple[tuple[str, int], ...]]


def key_table(raw: RawTable, plan: Plan, attributes: Sequence[str] | None = None, n_rule: int = N_RULE) -> KeyTable:
    """The :class:`KeyTable` of ``attributes`` (default: the plan's keys) under a plan's coding.

    Works on the coded columns and codes only these attributes, so it answers while a person drags an edge.  Values that
    the plan would refuse (outside its levels, or missing) count as levels of their own, since the table is looked at
    while it is being made; they have no entry in ``levels``.
    """
    names = plan.keys if attributes is None else tuple(attributes)
    attribute_plans = {attribute.name: attribute for attribute in plan.attributes}
    if not names:
        raise UsageError("the key table needs at least one attribute; choose some")
    raw = labelled_as_far(raw, plan.data.columns)
    codes, sizes, levels, possible = [], [], {}, 1
    for name in names:
        if name not in attribute_plans:
            raise UsageError(f"unknown attribute '{name}'.{did_you_mean(name, attribute_plans)}")
        view = view_of(attribute_plans[name], raw, plan.data.missing)
        coded = (view.level_of + 2)[view.rows]
        counts = np.bincount(coded, minlength=len(view.levels) + 2)[2:]
        levels[name] = tuple(zip(view.levels, counts.tolist(), strict=True))
        possible *= max(1, len(view.levels))
        codes.append(coded)
        sizes.append(len(view.levels) + 2)
    cells, inverse = occupied(codes, sizes, raw.n_records)
    counts = np.bincount(inverse, minlength=len(cells))
    small = counts < n_rule
    return KeyTable(
        raw.n_records,
        possible,
        len(cells),
        int(small.sum()),
        int(counts[small].sum()),
        int(np.count_nonzero(counts == 1)),
        levels,
    )
