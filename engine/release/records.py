"""Releases down to records, in the original's order, which leaves a trace wherever it is kept.

A released table caches what measures have computed of it, so that shared work is done once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.registry import Cache, remembered
from engine.data.microdata import Microdata

_NEIGHBOURS = 20  # of n records, two are expected to keep their neighbour by chance
_CORRELATED = 5.0  # standard errors of a rank correlation


@dataclass(frozen=True)
class OrderTrace:
    """The trace of an old order in a new one: records that ``neighbours`` the same record as before, and the
    ``correlation`` of old and new places (0 to 1), alone and in standard ``errors`` of a random order."""

    neighbours: int
    correlation: float
    errors: float

    @property
    def is_kept(self) -> bool:
        """Return whether something of the old order is kept that a random one would not keep."""
        return self.neighbours >= _NEIGHBOURS or self.errors > _CORRELATED


def order_trace(order: np.ndarray) -> OrderTrace:
    """Compare an order, the old place of the record in each new place, shape ``(n_records,)``, with the old one."""
    n = len(order)
    neighbours = int((np.abs(np.diff(order)) == 1).sum())
    correlation = abs(float(np.corrcoef(np.arange(n), order)[0, 1])) if n > 2 else 0.0
    return OrderTrace(neighbours, correlation, correlation * float(np.sqrt(max(n - 1, 1))))


class ReleasedTable(Cache):
    """One table: level codes per attribute, numbers per raw column, weights.

    ``source[i]`` is the record whose values record ``i`` carries in the raw columns of the swapped attributes (None:
    nothing was exchanged). ``replaced`` holds level codes of attributes that a mechanism drew anew, ``numbers`` values
    of raw columns that it changed.  ``as_drawn`` is the table as the mechanism drew it, record by record, where equal
    rows have traded places since.
    """

    def __init__(
        self,
        data: Microdata,
        source: np.ndarray | None = None,
        swapped: Sequence[int] = (),
        replaced: Mapping[int, np.ndarray] | None = None,
        numbers: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        super().__init__()
        self.data, self.source = data, source
        self.swapped = frozenset(swapped)
        self.swapped_columns = {column for j in swapped for column in data.domain.attributes[j].columns}
        self._replaced, self._numbers = dict(replaced or {}), dict(numbers or {})
        self.as_drawn = self

    @property
    def altered(self) -> frozenset[int]:
        """The attributes that were exchanged or drawn anew."""
        return frozenset(self._replaced) | (self.swapped if self.source is not None else frozenset())

    @property
    def renumbered(self) -> tuple[str, ...]:
        """The raw columns whose numbers a mechanism changed."""
        return tuple(self._numbers)

    def reordered(self, row_of: np.ndarray) -> ReleasedTable:
        """The table in which record ``i`` shows what record ``row_of[i]`` shows of the altered attributes."""
        source = None if self.source is None else self.source[row_of]
        replaced = {j: codes[row_of] for j, codes in self._replaced.items()}
        table = ReleasedTable(self.data, source, sorted(self.swapped), replaced, self._numbers)
        table.as_drawn = self.as_drawn
        return table

    def is_replaced(self, attribute: int) -> bool:
        """Return whether a mechanism drew the attribute's levels anew."""
        return attribute in self._replaced

    def is_renumbered(self, column: str) -> bool:
        """Return whether a mechanism changed a raw column's numbers."""
        return column in self._numbers

    def codes(self, attribute: int) -> np.ndarray:
        """Level codes of an attribute, shape ``(n_records,)``."""
        if attribute in self._replaced:
            return self._replaced[attribute]
        codes = self.data.codes[attribute]
        return codes if self.source is None or attribute not in self.swapped else codes[self.source]

    @property
    def changed(self) -> np.ndarray:
        """Records of which some attribute has another level than before, shape ``(n_records,)``."""
        mask = np.zeros(self.data.n_records, bool)
        for j in self.altered:
            mask |= self.codes(j) != self.data.codes[j]
        return mask

    def problem(self) -> str:
        """The fault that makes it no table of its records, as a clause; empty where nothing does."""
        n, attributes = self.data.n_records, self.data.domain.attributes
        for j in (*self.swapped, *self._replaced):
            if not isinstance(j, int | np.integer) or not 0 <= j < len(attributes):
                return f"a table changes the attribute {j!r}, must be a position from 0 to {len(attributes) - 1}"
        wanted = [("source", self.source, n)] if self.source is not None else []
        wanted += [(f"the codes of '{attributes[j].name}'", c, attributes[j].size) for j, c in self._replaced.items()]
        for what, codes, size in wanted:
            if problem := _index_problem(what, codes, n, size):
                return problem
        for column, values in self._numbers.items():
            if column not in self.data.raw.columns:
                return f"a table has numbers for '{column}', which is no column of the data"
            if np.shape(values) != (n,) or np.asarray(values).dtype.kind not in "iuf":
                return f"the numbers of '{column}' are of shape {np.shape(values)}, must be {n:,} numbers"
        return ""

    @remembered()
    def cells(self, attributes: Sequence[int]) -> np.ndarray:
        """One number per record that is equal exactly for records equal on the attributes; shared with the original's
        numbering.

        Numbers are mixed-radix codes, so they can be compared between tables; at most 2**62 combinations are possible.
        """
        shape = self.data.domain.shape
        if np.prod([float(shape[j]) for j in attributes]) > 2.0**62:
            raise UsageError(f"{len(attributes)} attributes have too many combinations to number; use fewer")
        number = np.zeros(self.data.n_records, np.int64)
        for j in attributes:
            number = number * shape[j] + self.codes(j)
        return number

    def numeric(self, column: str) -> np.ndarray:
        """A raw column as numbers, NaN where it holds none or a value that its labels declare missing; shape
        ``(n_records,)``.  Codes that only a plan declares missing count
        (:func:`engine.models.record_release.numbers_of`)."""
        if column in self._numbers:
            return self._numbers[column]
        return self.cached(("numeric", column), lambda: self._numeric(column))

    def _numeric(self, column: str) -> np.ndarray:
        raw = self.data.raw.columns.get(column)
        if raw is None:
            raise UsageError(f"unknown column '{column}'.{did_you_mean(column, self.data.raw.names)}")
        values = np.append(np.where(raw.about.missing_mask(raw.values), np.nan, raw.numbers), np.nan)
        codes = raw.codes if self.source is None or column not in self.swapped_columns else raw.codes[self.source]
        result: np.ndarray = values[codes]
        return result

    @cached_property
    def weights(self) -> np.ndarray | None:
        """The declared weight of each record (it follows its record), or None."""
        return None if self.data.weight is None else self.numeric(self.data.weight)


def _index_problem(what: str, codes: np.ndarray, n: int, size: int) -> str:
    if not isinstance(codes, np.ndarray) or codes.shape != (n,) or codes.dtype.kind not in "iu":
        return f"{what} is no array of {n:,} whole numbers"
    least, most = int(codes.min()), int(codes.max())
    outside = least if least < 0 else most
    return "" if 0 <= outside < size else f"{what} holds {outside}, must hold whole numbers from 0 to {size - 1:,}"
