"""Faults of a weight, found on every record before anything is computed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.raw_values import written_unclearly
from engine.common.wording import listed, plural
from engine.data.labels import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS = ("missing", "not a finite number", "negative")


@dataclass
class WeightCheck:
    """The faults of the weight ``name`` in the records added so far: of each kind the number of records and the first
    one's number, from 1.  ``missing`` are raw codes that mean missing."""

    name: str
    missing: Sequence[str]
    n_records: int = 0
    _faults: dict[str, tuple[int, int]] = field(default_factory=dict)
    _numbers: bool = False
    _positive: bool = False
    _sum: float = 0.0

    def add(self, values: pa.Array, codes: np.ndarray, about: ColumnLabels = NO_LABELS) -> None:
        """Look at further records: distinct ``values`` and the code of each record, -1 for none."""
        notation = about.notation_of(values)
        if not notation.clear:
            raise EngineError(f"weight: {written_unclearly(self.name)}")
        figures = np.append(notation.numbers(values), np.nan)
        absent = np.append(about.absent_mask(values, self.missing), True)
        finite = np.isfinite(figures)
        odd = ~absent & ~finite
        negative = ~absent & finite & (figures < 0)
        counts = np.bincount(codes.astype(np.int64) % len(figures), minlength=len(figures))
        for kind, mask in zip(_KINDS, (absent, odd, negative), strict=True):
            if n := int(counts[mask].sum()):
                before, first = self._faults.get(kind, (0, 0))
                first = first or self.n_records + int(np.argmax(mask[codes])) + 1
                self._faults[kind] = (before + n, first)
        used = counts > 0
        self._numbers |= bool((used & ~absent & finite).any())
        self._positive |= bool((used & ~absent & (figures > 0)).any())
        with np.errstate(over="ignore"):  # that is what is looked for
            self._sum += float((counts * np.where(used & ~absent & finite, figures, 0) ** 2).sum())
        self.n_records += len(codes)

    def refuse(self) -> None:
        """Refuse a weight with a fault (:class:`EngineError`), or that holds no number at all (:class:`UsageError`)."""
        if not self._numbers:
            raise UsageError(f"weight names column '{self.name}', which holds no numbers; a weight is a number")
        found = [
            f"{kind} in {plural(n, 'record')} (first: record {first:,})" for kind, (n, first) in self._faults.items()
        ]
        if found:
            raise EngineError(
                f"weight names column '{self.name}', which is {listed(found)} of {self.n_records:,}; every record "
                "needs a finite weight of 0 or more: correct these, take the records out, or carry the column instead"
            )
        if not isfinite(self._sum):
            raise EngineError(
                f"weight names column '{self.name}', whose values are so large that their squares have no finite sum; "
                "divide all of them by one number"
            )
        if not self._positive:
            raise EngineError(
                f"weight names column '{self.name}', which is 0 in every record; name the column that holds the weights"
            )
