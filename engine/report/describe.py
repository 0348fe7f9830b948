"""Descriptions of a table, a column and a release, in counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from engine.data.microdata import Microdata, RawTable
from engine.data.table import ContingencyTable, occupied
from engine.plan.coding import code
from engine.study.keys import key_path, read_key
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import remake, stream_of
from engine.sweeps.sweep import check_same

if TYPE_CHECKING:
    from engine.study.study import Study
    from engine.sweeps.remake import Remade


@dataclass(frozen=True)
class Occupancy:
    """How full a table is.

    ``combinations`` are the cells that could be, ``cells`` those that hold a record; ``ones`` and ``twos`` are cells of
    one and of two records (so ``ones`` is also the number of records that stand alone).
    """

    n_records: int
    combinations: int
    cells: int
    ones: int
    twos: int

    @property
    def in_small(self) -> int:
        """Records in cells of one or two."""
        return self.ones + 2 * self.twos


def _occupancy(counts: np.ndarray, sizes: Sequence[int]) -> Occupancy:
    return Occupancy(int(counts.sum()), prod(sizes), len(counts), int((counts == 1).sum()), int((counts == 2).sum()))


def occupancy(table: ContingencyTable, names: Sequence[str]) -> Occupancy:
    """The :class:`Occupancy` of the margin over some attributes."""
    attributes = table.domain.indices(tuple(names))
    _, counts, _ = table.margin(attributes)
    return _occupancy(counts, [table.domain.shape[j] for j in attributes])


def level_counts(data: Microdata, attribute: int) -> np.ndarray:
    """Records per level of one attribute, shape ``(levels,)``."""
    return np.bincount(data.codes[attribute], minlength=data.domain.shape[attribute])


@dataclass(frozen=True)
class Changes:
    """What one release changed, counted on its records.

    ``before`` and ``after`` have one array of level counts per attribute; ``altered[j]`` is the number of records whose
    level of attribute ``j`` is another one, ``records`` the number altered in any; ``moved[i, j]`` is the number of
    records that would have to move to another cell of the two-way table of ``i`` and ``j`` to undo its change (total
    variation times the number of records).  ``keys_before`` and ``keys_after`` describe the table of the keys.
    """

    before: tuple[np.ndarray, ...]
    after: tuple[np.ndarray, ...]
    altered: np.ndarray
    records: int
    moved: np.ndarray
    keys_before: Occupancy
    keys_after: Occupancy

    @property
    def marginals_kept(self) -> bool:
        """Whether every one-way table is as it was; a swap keeps them by construction, so this is a check."""
        return all(np.array_equal(a, b) for a, b in zip(self.before, self.after, strict=True))


def changes(realisation: Remade, keys: Sequence[str]) -> Changes:
    """Compare a remade release with its original, record by record."""
    data = realisation.data
    shape, d = data.domain.shape, len(data.domain)
    before, after = list(data.codes), [realisation.codes(j) for j in range(d)]
    differs = [a != b for a, b in zip(before, after, strict=True)]
    moved = np.zeros((d, d), np.int64)
    for i, j in combinations(range(d), 2):
        if not (differs[i].any() or differs[j].any()):
            continue
        size = shape[i] * shape[j]
        tables = [np.bincount(c[i].astype(np.int64) * shape[j] + c[j], minlength=size) for c in (before, after)]
        moved[i, j] = moved[j, i] = np.abs(tables[1] - tables[0]).sum() // 2
    key_attributes = data.domain.indices(tuple(keys))
    _, cell = occupied([after[j] for j in key_attributes], [shape[j] for j in key_attributes], data.n_records)
    return Changes(
        before=tuple(level_counts(data, j) for j in range(d)),
        after=tuple(np.bincount(after[j], minlength=shape[j]) for j in range(d)),
        altered=np.array([int(mask.sum()) for mask in differs]),
        records=int(np.any(differs, axis=0).sum()),
        moved=moved,
        keys_before=occupancy(data.table, keys),
        keys_after=_occupancy(np.bincount(cell), [shape[j] for j in key_attributes]),
    )


def remade(study: Study, raw: RawTable, label: str, replicate: int, key: bytes | None = None) -> Remade:
    """One realisation of a study down to records, with the key beside the study unless it is given; the figures are not
    compared here."""

    key = read_key(key_path(study.path)) if key is None else key
    check_same(study, raw, key)
    data = code(raw, study.plan)
    scenario, _ = study.find(label)
    derived = stream_of(key, scenario.spec, data, replicate)
    return remake(data, question_of(study.plan, data, study.measures), scenario.spec, derived)
