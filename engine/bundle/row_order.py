"""The order of released records, their new ids and the new numbers of households, drawn from a secret of their own.

The secret comes from the operating system and stays in the analyst's bundle.  The same secret gives the same order and
the same numbers, so all tables of a release and the files that are linked to it agree.  Records stand in an order in
which each is as likely as any other, members of a household apart from each other: since neither the order nor a number
depends on what was swapped, nobody can read from them who moved.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.common.streams import derive, generator
from engine.data.microdata import Microdata
from engine.data.units import Units

SECRET_BYTES = 32


def new_secret() -> bytes:
    """A fresh secret of the row order: 256 bits from the operating system's secure source."""
    return secrets.token_bytes(SECRET_BYTES)


@dataclass(frozen=True)
class Rows:
    """The order of ``n_records`` records in every released table, and their new ids."""

    secret: bytes
    n_records: int

    @cached_property
    def order(self) -> np.ndarray:
        """The original record that stands in each row of the release, shape ``(n_records,)``."""
        return generator(derive(self.secret, "rows")).permutation(self.n_records)

    @cached_property
    def row_of(self) -> np.ndarray:
        """The row of the release in which each original record stands, shape ``(n_records,)``."""
        row = np.empty(self.n_records, np.int64)
        row[self.order] = np.arange(self.n_records)
        return row

    @cached_property
    def ids(self) -> np.ndarray:
        """The new id of each original record: 1 to ``n_records`` in an order of its own, so that it tells nothing of
        either order."""
        return generator(derive(self.secret, "ids")).permutation(self.n_records).astype(np.int64) + 1

    def unit_numbers(self, units: Units) -> np.ndarray:
        """The new number of each original record's unit, the same for all its members, shape ``(n_records,)``: 1 to
        the number of units in an order of its own."""
        new = generator(derive(self.secret, "units")).permutation(len(units)).astype(np.int64) + 1
        numbers: np.ndarray = new[units.of_record]
        return numbers

    def new_numbers(self, data: Microdata) -> dict[str, np.ndarray]:
        """New numbers in place of those of the id and of the unit, by column, one per original record; of a unit of
        several columns they stand in the first one's place."""
        numbers = {} if data.id is None else {data.id: self.ids}
        if data.unit is not None and data.units is not None:
            numbers[data.unit_columns[0]] = self.unit_numbers(data.units)
        return numbers
