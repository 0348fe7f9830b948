"""The random swap as published (Gomatam, Karr and Sanil 2005, Appendix A), over the cells of a table.

:class:`Preparing` makes the cells ready for one structure after the other; :meth:`Prepared.draw` draws pairs of cells
from a replicate's stream, of which a lower rate takes the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from engine.common.streams import kernel_state
from engine.data.table import ContingencyTable
from engine.release.spec import Structure

RUNS_KEPT = 1 << 20
"""Most runs remembered per structure (16 MB); what does not fit is looked up again."""
_GUIDE = 8  # entries per cell of the table that leads from positions to cells
_KEYS = 1 << 16  # combinations of levels that are sorted at once, at most


@cache
def _kernel() -> tuple[Callable[..., Any], Callable[[], AbstractContextManager[object]]]:
    """The kernel of the draw and what it is called under, imported once: an import statement costs a tenth of a small
    draw."""
    from engine.common.compiled import wrapping
    from engine.mechanisms import kernels

    return kernels.draw_pairs, wrapping


@dataclass
class Prepared:
    """One structure's cells in drawing order, and what the draw remembers.

    Fields are as :func:`engine.mechanisms.kernels.draw_pairs` takes them; positions are 32 bits wide wherever records
    are few enough and what else is kept of cells fits, because what stays in the processor's nearest cache is read
    several times faster.
    """

    order: np.ndarray
    cells: np.ndarray
    class_start: np.ndarray
    first_class: np.ndarray
    last_class: np.ndarray
    values: np.ndarray
    guide: np.ndarray
    shift: int
    runs: np.ndarray
    spare: int
    reach: np.ndarray
    offset: np.ndarray
    memo: np.ndarray
    used: np.ndarray

    def draw(self, derived: bytes, wanted: int) -> np.ndarray:
        """Pairs of table cells in drawing order, shape ``(pairs, 2)``; fewer than ``wanted`` when no feasible pair is
        left."""
        draw_pairs, wrapping = _kernel()
        pairs = np.empty((wanted, 2), np.int64)
        with wrapping():
            n_pairs = draw_pairs(
                wanted,
                self.order,
                self.cells,
                self.class_start,
                self.first_class,
                self.last_class,
                self.values,
                self.guide,
                self.shift,
                self.runs,
                self.spare,
                self.reach,
                self.offset,
                self.memo,
                self.used,
                kernel_state(derived),
                pairs,
            )
        return pairs[:n_pairs]

    def draw_told(self, derived: bytes, wanted: int) -> tuple[np.ndarray, None]:
        """The same; the published draw has nothing to tell."""
        return self.draw(derived, wanted), None


class Preparing:
    """Makes a table's cells ready for one structure after the other, in arrays that are used again: what was prepared
    holds until the next structure.

    ``table_arrays`` and ``room`` are what :func:`engine.mechanisms.preparing_kernels.prepare_cells` takes first and
    last, ``shift`` what comes between; attributes with fewer levels come first in ``few_levels_first``.
    """

    def __init__(self, table: ContingencyTable) -> None:
        from engine.mechanisms import preparing_kernels
        from engine.mechanisms.kernels import GUIDE_STEP

        self._prepare = preparing_kernels.prepare_cells
        self._table = table
        domain, m, d = table.domain, len(table), len(table.domain)
        n = table.n_records
        narrow = n < 2**31 and (table.packing.n_words > 1 or table.packing.bits < 32)
        self._width = width = np.int32 if narrow else np.int64
        codes = table.cells.T.astype(np.int32)
        kinds = [attribute.kind_codes[codes[j]] for j, attribute in enumerate(domain.attributes)]
        columns = np.ascontiguousarray([*codes, *kinds], np.int32).reshape(2 * d, m)
        counts, words = (np.require(part, np.int64, ["C", "W"]) for part in (table.counts, table.words))
        sizes = np.array([*domain.shape, *([3] * d)], np.int64)
        self.few_levels_first = sorted(range(d), key=lambda j: (domain.shape[j], j))
        self.shift = max(0, n.bit_length() - (_GUIDE * m).bit_length())
        n_keys = max(int(sizes.max(initial=1)), min(_KEYS, 2 * m)) + 2
        self.table_arrays = columns, sizes, counts, words, table.packing.masks
        self._order, self._cells = np.empty(m, np.int64), np.zeros(4 * m + 4, width)
        self._classes = np.empty(m + 1, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
        self._values = np.empty(m * d, np.int64)
        self._guide = np.empty((n >> self.shift) + 1 + GUIDE_STEP, np.uint16 if m < 2**16 else np.int32)
        self._memo = np.empty((m, 4), width)
        scratch = np.empty(m, np.int64), np.empty(m, np.int32), np.empty(n_keys, np.int64)
        self.room = self._order, *scratch, self._cells, *self._classes, self._values, self._guide, self._memo
        self._runs, self._reach, self._offset = np.empty((0, 2), np.int32), np.empty(0, width), np.empty(0, width)

    def __call__(self, structure: Structure) -> Prepared:
        """Sort the cells by stratum and class for a structure.

        Strata are equal on F and on the kinds of levels of ``same_kind``; classes are equal on S∪C.  Attributes with
        fewer levels sort first, so that the classes a record may meet lie in few runs.
        """
        d, table = len(self._table.domain), self._table
        differ = [j for j in self.few_levels_first if j in structure.differ]
        equal, free = structure.equal, structure.free
        sorted_by = [*equal, *[d + j for j in structure.same_kind], *differ, *free]
        class_start, first_class, last_class = self._classes
        in_kernel = structure.needs_free_difference and table.packing.n_words == 1
        n_classes, n_runs, most = self._prepare(
            *self.table_arrays,
            np.array(sorted_by, np.int64),
            len(equal),
            len(sorted_by) - len(free) - len(differ),
            len(sorted_by) - len(free),
            in_kernel,
            self.shift,
            *self.room,
        )
        values = self._values[: n_classes * len(differ)].reshape(n_classes, len(differ))
        if structure.needs_free_difference and not in_kernel:
            self._cells[3:-4:4] = table.group_numbers(structure.free)[self._order]
        spare = min(RUNS_KEPT, n_runs + 1)
        room = spare + most
        if room > len(self._runs):
            self._runs = np.empty((room, 2), np.int32)
            self._reach, self._offset = np.empty(room, self._width), np.empty(room, self._width)
        return Prepared(
            order=self._order,
            cells=self._cells,
            class_start=class_start[: n_classes + 1],
            first_class=first_class[:n_classes],
            last_class=last_class[:n_classes],
            values=values,
            guide=self._guide,
            shift=self.shift,
            runs=self._runs[:room],
            spare=spare,
            reach=self._reach[:room],
            offset=self._offset[:room],
            memo=self._memo[:n_classes],
            used=np.zeros(2, np.int64),
        )
