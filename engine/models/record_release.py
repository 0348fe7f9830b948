"""A release record by record beside its original, under the plan of both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.common.cache import Cache
from engine.data.microdata import Microdata
from engine.plan import Plan
from engine.release.records import ReleasedTable
from engine.release.spec import ReleaseSpec


class RecordRelease(Cache):
    """The original table and the one or more tables of a release, record by record, under a plan.

    ``spec`` is the scenario that was carried out, for measures of what somebody who knows it could undo (None:
    unknown).
    """

    def __init__(
        self, original: ReleasedTable, tables: Sequence[ReleasedTable], plan: Plan, spec: ReleaseSpec | None = None
    ) -> None:
        super().__init__()
        self.original, self.tables, self.plan, self.spec = original, tuple(tables), plan, spec

    @property
    def data(self) -> Microdata:
        """The original records."""
        return self.original.data

    def changed(self, table: ReleasedTable, attributes: Sequence[int]) -> np.ndarray:
        """Records of a table whose level differs from the original on any of the attributes."""
        mask = np.zeros(self.data.n_records, bool)
        for j in attributes:
            after, before = table.codes(j), self.original.codes(j)
            if after is not before:
                mask |= after != before
        return mask
