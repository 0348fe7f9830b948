"""Grades of the attack on a swap, against the truth that the agency has.

The attack itself is in :mod:`engine.models.swap_detection`: it sees the released table and two-way tables of the
original.  Here the truth, which only the agency has, grades it: the altered records of each released cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from engine.models.margin_inference import MarginInference, Tables, two_way_tables
from engine.models.swap_detection import Detection, Release, check_size, detect, infer_from_release
from engine.release.batch import ReleaseBatch, unpack

_DIGITS = 7  # of a probability: what differs less is rounding, and the records are equally suspect


class Graded(NamedTuple):
    """An attack on one release beside the truth: number of ``altered`` records in each released cell.

    The cells are those of ``release``, in lexicographic order.
    """

    release: Release
    inference: MarginInference
    detection: Detection
    altered: np.ndarray

    @property
    def rate(self) -> float:
        """True share of altered records."""
        return float(self.altered.sum() / self.release.counts.sum())


def attacked(batch: ReleaseBatch) -> list[tuple[Release, np.ndarray, MarginInference]]:
    """Every candidate of a batch over all its attributes: its released table, the altered records of each cell, and
    what is inferred from two-way tables; done once for all measures."""
    return batch.own.cached(("attacked",), lambda: _attacked(batch))


def graded(batch: ReleaseBatch, model: str = "two_way") -> list[Graded]:
    """The attack on every candidate of a batch with a model of the swapped attributes, beside the truth."""
    return batch.own.cached(("graded", model), lambda: _graded(batch, model))


def _graded(batch: ReleaseBatch, model: str) -> list[Graded]:
    cells = _original_cells(batch)
    batch.shared.cached(("size of the model", model), lambda: check_size(cells, batch.shape, model))
    return [
        Graded(release, inference, detect(_tables(batch), inference, release, model, batch.shared), altered)
        for release, altered, inference in attacked(batch)
    ]


def _attacked(batch: ReleaseBatch) -> list[tuple[Release, np.ndarray, MarginInference]]:
    cells, tables = _original_cells(batch), _tables(batch)
    results, first = [], 0
    for last in batch.ends.tolist():
        release, altered = _released(batch, slice(first, last), cells)
        results.append((release, altered, infer_from_release(tables, release)))
        first = last
    return results


def _tables(batch: ReleaseBatch) -> Tables:
    """All two-way tables of the original."""
    cells = _original_cells(batch)
    return batch.shared.cached(("two-way tables",), lambda: two_way_tables(cells, batch.original, batch.shape))


def _original_cells(batch: ReleaseBatch) -> np.ndarray:
    """Level codes of the original's cells, shape ``(cells, attributes)``."""

    def unpacked() -> np.ndarray:
        words = batch.index_words[: len(batch.original)]
        return np.column_stack([unpack(words, place) for place in batch.layout])

    return batch.shared.cached(("codes of the original",), unpacked)


def _released(batch: ReleaseBatch, touched: slice, cells: np.ndarray) -> tuple[Release, np.ndarray]:
    """One candidate's released table, its cells in an order that does not depend on other candidates, and how many
    records of each are altered."""
    n, cell = len(batch.original), batch.cell[touched]
    new = cell >= n
    words = batch.index_words[cell[new]]
    codes = np.vstack([cells, np.column_stack([unpack(words, place) for place in batch.layout])])
    counts = np.concatenate([batch.original, batch.after[touched][new]])
    altered = np.concatenate([np.zeros(n, np.int64), (batch.after - batch.kept)[touched][new]])
    counts[cell[~new]] = batch.after[touched][~new]
    altered[cell[~new]] = (batch.after - batch.kept)[touched][~new]
    present = np.flatnonzero(counts)
    order = present[np.lexsort(codes[present].T[::-1])]
    return Release(codes[order], counts[order], tuple(batch.shape)), altered[order]


def area_under_curve(counts: np.ndarray, altered: np.ndarray) -> float:
    """Area under the ROC curve of groups in order, the most suspect first: ``counts`` of equally suspect ones, of which
    so many are ``altered``; ties are counted half.  NaN when none is altered, or all are."""
    unaltered = counts - altered
    pairs = altered.sum() * unaltered.sum()
    if not pairs:
        return float("nan")
    below = np.concatenate([np.cumsum(unaltered[::-1])[::-1][1:], [0]])
    return float((altered * (below + unaltered / 2)).sum() / pairs)


def right_among(counts: np.ndarray, altered: np.ndarray, first: int) -> float:
    """Altered ones among the ``first`` in the same groups, an average over a group that is cut; NaN when none is."""
    if not altered.sum():
        return float("nan")
    last = int(np.searchsorted(np.cumsum(counts), first))
    ahead = int(counts[:last].sum())
    return float(altered[:last].sum() + (first - ahead) * altered[last] / counts[last])


def auc(attack: Graded, within: np.ndarray | None = None) -> float:
    """Area under the ROC curve of the better suspicion, by the probability of being altered or by the chance of the own
    levels, over the cells where ``within`` is true (default: all); NaN when these hold no altered record, or no
    other."""
    return max(area_under_curve(*groups) for groups in _by_suspicion(attack, within))


def precision(attack: Graded, top: Decimal | float, within: np.ndarray | None = None) -> float:
    """Share of altered records among the ``top`` share of records that are most suspect, by the better suspicion; NaN
    when no record is altered."""
    rankings = _by_suspicion(attack, within)
    exact = Decimal(str(top)) * int(rankings[0].counts.sum())
    cut = max(1, int(exact.to_integral_value(rounding="ROUND_CEILING")))
    return max(right_among(*groups, cut) for groups in rankings) / cut


class Calibration(NamedTuple):
    """Records whose probability of being altered lies in a range: from ``low`` to below ``high``, how many, their mean
    ``probability`` and the share of them that is ``altered`` in truth."""

    low: float
    high: float
    records: int
    probability: float
    altered: float


def calibration(
    attack: Graded, bounds: Sequence[float] = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1)
) -> list[Calibration]:
    """Mean probability of being altered, as the attack has it, against the truth, by range of the probability."""
    counts, probability = attack.release.counts, 1 - attack.detection.unaltered
    rows = []
    for low, high in pairwise(bounds):
        inside = (probability >= low) & ((probability < high) | (high == bounds[-1]))
        records = int(counts[inside].sum())
        if records:
            mean = float((counts * probability)[inside].sum() / records)
            rows.append(Calibration(low, high, records, mean, float(attack.altered[inside].sum() / records)))
    return rows


class AlteredShare(NamedTuple):
    """A released level of an attribute (both by position): its ``records``, and the ``share`` of them altered."""

    attribute: int
    level: int
    records: int
    share: float


def altered_by_level(attack: Graded) -> list[AlteredShare]:
    """Share of altered records in every released level of every attribute, in the order of the domain."""
    cells, counts, shape = attack.release
    rows = []
    for j, n_levels in enumerate(shape):
        records = np.bincount(cells[:, j], weights=counts, minlength=n_levels)
        altered = np.bincount(cells[:, j], weights=attack.altered, minlength=n_levels)
        rows += [
            AlteredShare(j, level, int(records[level]), float(altered[level] / records[level]))
            for level in np.flatnonzero(records).tolist()
        ]
    return rows


class _Groups(NamedTuple):
    """Equally suspect records, the most suspect first: how many, and how many of them are altered."""

    counts: np.ndarray
    altered: np.ndarray


def _by_suspicion(attack: Graded, within: np.ndarray | None) -> tuple[_Groups, ...]:
    """The records by the probability of being altered, and by the chance of their own levels in the original."""
    inside = np.ones(len(attack.altered), bool) if within is None else within
    return tuple(
        _groups(attack, inside, believed) for believed in (attack.detection.unaltered, 1 - attack.detection.unlikely)
    )


def _groups(attack: Graded, inside: np.ndarray, believed: np.ndarray) -> _Groups:
    distinct, group = np.unique(np.round(believed[inside], _DIGITS), return_inverse=True)
    sums = [
        np.bincount(group, weights=values[inside], minlength=len(distinct))
        for values in (attack.release.counts, attack.altered)
    ]
    return _Groups(*sums)
