"""Make one realisation of a random swap again down to pairs of cells, of data whose records are not in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.common.errors import UsageError
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.mechanisms import mechanism
from engine.release.results import RunStatus
from engine.release.spec import ReleaseSpec, pairs_wanted
from engine.sweeps.cell_evaluator import CellRuns
from engine.sweeps.evaluator import Question
from engine.sweeps.groups import group_of

_PAIRS = 1 << 20  # compared at a time


@dataclass(frozen=True)
class RemadeCells:
    """One realisation down to pairs of cells.

    ``pairs`` are cells of the original's table, shape ``(pairs, 2)``; ``table`` is that of the release.
    """

    data: Microdata
    spec: ReleaseSpec
    pairs: np.ndarray
    table: ContingencyTable
    status: RunStatus
    figures: dict[str, float]
    derived: bytes

    @property
    def swapped(self) -> tuple[int, ...]:
        """The attributes that partners exchange."""
        return tuple(self.spec.attributes.having("S"))

    @property
    def n_changed(self) -> int:
        """Number of records whose level of some attribute is another one."""
        cells, swapped, changed = self.data.table.cells, list(self.swapped), 0
        for start in range(0, len(self.pairs), _PAIRS):
            first, second = self.pairs[start : start + _PAIRS].T
            changed += int((cells[first][:, swapped] != cells[second][:, swapped]).any(axis=1).sum())
        return 2 * changed

    @property
    def n_without_partner(self) -> int:
        """Number of records that were to be swapped and found no partner."""
        return 2 * (pairs_wanted(self.spec.rate, self.data.n_records)[1] - len(self.pairs))


def remake_cells(data: Microdata, question: Question, spec: ReleaseSpec, derived: bytes) -> RemadeCells:
    """Draw a realisation of the random swap again from its derived key, over cells, and measure it again as a sweep
    does.  Other mechanisms need all records in memory (:class:`UsageError`)."""
    batched, group = mechanism(spec.mechanism).batched, group_of(spec, data.table)
    if batched is None or group.structure is None:
        raise UsageError(
            f"the data are read by streaming, and '{spec.mechanism}' draws over records in memory; export a "
            "candidate of the random swap"
        )
    row, table = CellRuns(question.table, question.calls, question.plan, None).remake_table(group, derived)
    wanted = pairs_wanted(spec.rate, data.n_records)[1]
    pairs, _ = batched.preparing(data.table)(group.structure).draw_told(derived, wanted)
    names = map(str, question.calls)
    figures = dict(zip(names, map(float, row[4:]), strict=True))
    return RemadeCells(data, spec, pairs, table, RunStatus(int(row[2])), figures, derived)
