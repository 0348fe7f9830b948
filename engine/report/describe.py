"""One release before and after, counted on its records: levels, small cells, associations, coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.data.microdata import RawTable
from engine.data.table import ContingencyTable, occupied
from engine.measures.reanalysis import interval_overlap
from engine.models.analyses import compare
from engine.models.record_release import RecordRelease
from engine.plan.coding import N_RULE, KeyTable, code
from engine.release.records import ReleasedTable
from engine.report.losses import MOST_CELLS, association, coefficient_figures, model_rows, tolerances_of, weights_of
from engine.study.keys import key_path, read_key
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import remake, remake_cells, stream_of
from engine.sweeps.sweep import check_same

if TYPE_CHECKING:
    from engine.data.microdata import Microdata
    from engine.plan import Plan
    from engine.release.spec import ReleaseSpec
    from engine.report.facts import Figure, ModelRow
    from engine.study.study import Study
    from engine.sweeps.evaluator import Question
    from engine.sweeps.remake import Remade, RemadeCells

SIZES = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 49), (50, None))
"""Sizes of cells that are counted together: from, to (None: no end)."""


def occupancy(table: ContingencyTable, names: Sequence[str]) -> KeyTable:
    """The :class:`KeyTable` of the margin over some attributes; a cell of one or two records is small."""
    attributes = table.domain.indices(tuple(names))
    _, counts, _ = table.margin(attributes)
    return _key_table(counts, [table.domain.shape[j] for j in attributes])


def _key_table(counts: np.ndarray, sizes: Sequence[int]) -> KeyTable:
    small = counts[counts < N_RULE]
    return KeyTable(int(counts.sum()), prod(sizes), len(counts), len(small), int(small.sum()), int((small == 1).sum()))


@dataclass(frozen=True)
class Changes:
    """What one release changed, counted on its records.

    ``before`` and ``after`` have one array of level counts per attribute; ``altered[j]`` is the number of records whose
    level of attribute ``j`` is another one, ``records`` the number altered in any; ``moved[i, j]`` is the number of
    records that would have to move to another cell of the two-way table of ``i`` and ``j`` to undo its change (total
    variation times the number of records).
    """

    before: tuple[np.ndarray, ...]
    after: tuple[np.ndarray, ...]
    altered: np.ndarray
    records: int
    moved: np.ndarray

    @property
    def marginals_kept(self) -> bool:
        """Whether every one-way table is as it was; a swap keeps them by construction, so this is a check."""
        return all(np.array_equal(a, b) for a, b in zip(self.before, self.after, strict=True))


def changes(realisation: Remade) -> Changes:
    """Compare a remade release with its original, record by record."""
    shape, d = realisation.data.domain.shape, len(realisation.data.domain)
    before, after = list(realisation.data.codes), [realisation.codes(j) for j in range(d)]
    differs = np.array([a != b for a, b in zip(before, after, strict=True)])
    altered, moved = differs.sum(axis=1), np.zeros((d, d), np.int64)
    for i, j in combinations(range(d), 2):
        if altered[i] or altered[j]:
            size = shape[i] * shape[j]
            tables = [np.bincount(c[i].astype(np.int64) * shape[j] + c[j], minlength=size) for c in (before, after)]
            moved[i, j] = moved[j, i] = np.abs(tables[1] - tables[0]).sum() // 2
    counts = [tuple(np.bincount(c[j], minlength=shape[j]) for j in range(d)) for c in (before, after)]
    return Changes(counts[0], counts[1], altered, int(differs.any(axis=0).sum()), moved)


def remade(study: Study, raw: RawTable, label: str, replicate: int, key: bytes | None = None) -> Remade:
    """One realisation of a study down to records, with the key beside the study unless it is given; the figures are not
    compared here."""
    return remake(*_to_remake(study, raw, label, replicate, key))


def remade_cells(study: Study, raw: RawTable, label: str, replicate: int, key: bytes | None = None) -> RemadeCells:
    """The same of streamed records, down to pairs of cells."""
    return remake_cells(*_to_remake(study, raw, label, replicate, key))


def _to_remake(
    study: Study, raw: RawTable, label: str, replicate: int, key: bytes | None
) -> tuple[Microdata, Question, ReleaseSpec, bytes]:
    key = read_key(key_path(study.path)) if key is None else key
    check_same(study, raw, key)
    data = code(raw, study.plan)
    scenario, _ = study.find(label)
    derived = stream_of(key, scenario.spec, data, replicate)
    return data, question_of(study.plan, data, study.measures), scenario.spec, derived


def one_table(realisation: Remade, table: int) -> Remade:
    """A release with one of its tables alone (numbered from 0)."""
    return replace(realisation, tables=(realisation.tables[table],))


class Association(NamedTuple):
    """Cramér's V of two attributes (places ``i`` < ``j``) in the original and in the release, each 0 to 1; NaN where a
    table is too large to be read."""

    i: int
    j: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """Release less original: negative where the association has got weaker."""
        return self.after - self.before


def associations(realisation: Remade, changes: Changes) -> list[Association]:
    """Pairs of attributes whose two-way table has changed, largest change of Cramér's V first; all other pairs are as
    they were, exactly."""
    tables, shape, rows = (ReleasedTable(realisation.data), realisation.tables[0]), realisation.data.domain.shape, []
    for i, j in np.argwhere(np.triu(changes.moved)).tolist():
        is_read = shape[i] * shape[j] <= MOST_CELLS
        rows.append(Association(i, j, *(association(tables, i, j)["cramers_v"] if is_read else (np.nan, np.nan))))
    return sorted(rows, key=lambda pair: -np.nan_to_num(abs(pair.change), nan=-1.0))


class SmallCells(NamedTuple):
    """The keys' table before and after, and its cells by size, one entry for each of :data:`SIZES`.  Of the ``exposed``
    records that stand in cells of one or two in the original, ``unaltered`` still do, with all their own keys."""

    before: KeyTable
    after: KeyTable
    cells_before: np.ndarray
    cells_after: np.ndarray
    exposed: int
    unaltered: int


def small_cells(realisation: Remade, keys: Sequence[str]) -> SmallCells:
    """How cells of the keys' table change in size."""
    data = realisation.data
    attributes = data.domain.indices(tuple(keys))
    shape = [data.domain.shape[j] for j in attributes]
    before, after = [data.codes[j] for j in attributes], [realisation.codes(j) for j in attributes]
    tables, of_size, is_small = [], [], []
    for codes in (before, after):
        _, cell = occupied(codes, shape, data.n_records)
        counts = np.bincount(cell)
        tables.append(_key_table(counts, shape))
        of_size.append(np.array([np.sum((counts >= low) & (counts <= (high or len(cell)))) for low, high in SIZES]))
        is_small.append(counts[cell] < N_RULE)
    is_unaltered = np.all([a == b for a, b in zip(before, after, strict=True)], axis=0)
    exposed, still = is_small[0], is_small[0] & is_small[1] & is_unaltered
    return SmallCells(tables[0], tables[1], of_size[0], of_size[1], int(exposed.sum()), int(still.sum()))


def weighted_levels(realisation: Remade, attribute: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Weighted totals per level of one attribute before and after, shape ``(levels,)`` each; None without a weight.

    The weight stays with its record, so that weighted totals may change where a swap keeps all counts.  A missing
    weight counts as 0.
    """
    data = realisation.data
    weights, size = weights_of(ReleasedTable(data)), data.domain.shape[attribute]
    if weights is None:
        return None
    return np.bincount(data.codes[attribute], weights, size), np.bincount(realisation.codes(attribute), weights, size)


class Coefficients(NamedTuple):
    """One declared analysis before and after: what it predicts, and one entry per coefficient that the original
    estimates; the ``omitted`` others it does not.

    ``half`` and ``half_after`` are half-widths of 95 % intervals, ``overlap`` that of the two (1 where they coincide,
    below 0 where they have nothing in common; NaN where the release gives no figure).
    """

    model: ModelRow
    figures: tuple[Figure, ...]
    half: np.ndarray
    half_after: np.ndarray
    overlap: np.ndarray
    omitted: int

    @property
    def shift(self) -> np.ndarray:
        """The move of each estimate in standard errors of the original; NaN where there is none."""
        known = ((f.before, f.after, f.se) for f in self.figures)
        return np.array([(b - a) / se if a is not None and b is not None and se else np.nan for a, b, se in known])


def coefficients(realisation: Remade, plan: Plan) -> list[Coefficients]:
    """Every declared analysis on the original and on all tables of the release together; an empty list without any."""
    release = RecordRelease(ReleasedTable(realisation.data), realisation.tables, plan, realisation.spec)
    found = []
    for analysis, model in zip(plan.analyses, model_rows(release.original, plan), strict=True):
        compared = compare(release, analysis, reported=True)
        figures, usable = coefficient_figures(compared, analysis, tolerances_of(plan)), compared.usable
        half, half_after = compared.half[usable], compared.half_after[usable]
        overlap = interval_overlap(compared.before.estimate[usable], half, compared.after[usable], half_after)
        estimated = tuple(figure for figure in figures if figure.note != "not estimable")
        found.append(Coefficients(model, estimated, half, half_after, overlap, len(figures) - len(estimated)))
    return found
