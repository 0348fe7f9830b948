"""Simulated data sets, and a mechanism that is run on one after the other.

Simulations of one table, and of wrong implementations in it, share their data sets.  What a mechanism prepares of a
data set is made once for all that have the preparation and the parameters it depends on in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engine.data.microdata import Microdata
from engine.mechanisms.base import Mechanism
from engine.release.parameter import Setting
from engine.release.records import ReleasedTable
from tests.numeric_data import numbered


class DataSet:
    """Records of one key with cells ``x`` and numeric columns, and what mechanisms have prepared of them."""

    def __init__(self, x: np.ndarray, **numbers: np.ndarray) -> None:
        self.x, self.numbers = x, numbers
        self.data: Microdata = numbered({"x": x}, numbers)
        self.prepared: dict[object, Any] = {}


class Candidate:
    """A mechanism with its parameters, whose meaning is worked out once."""

    def __init__(self, mechanism: Mechanism, given: dict[str, str]) -> None:
        self.mechanism, self.given = mechanism, given
        self._setting: Setting | None = None
        self._prepared_by: object = None

    def setting(self, data: Microdata, numeric: tuple[str, ...] = ()) -> Setting:
        """The parameters on these data, which all have the same columns."""
        if self._setting is None:
            self._setting = self.mechanism.setting(data, self.given, (0,), numeric)
            fit = tuple(text for text in self._setting.texts if text[0] in self.mechanism.fit)
            self._prepared_by = self.mechanism.prepare, fit
        return replace(self._setting, data=data)

    def tables(self, of: DataSet, derived: bytes) -> list[ReleasedTable]:
        """The tables that it makes of a data set."""
        setting = self.setting(of.data, tuple(of.numbers))
        if self._prepared_by not in of.prepared:
            of.prepared[self._prepared_by] = self.mechanism.prepare(setting)
        return self.mechanism.draw(of.prepared[self._prepared_by], setting, derived).tables

    def of_cells(self, x: np.ndarray, derived: bytes) -> np.ndarray:
        """The cells in the one table that it makes of records in cells ``x``; nothing of it is kept."""
        setting = self.setting(numbered({"x": x}, {}))
        (table,) = self.mechanism.draw(self.mechanism.prepare(setting), setting, derived).tables
        return table.codes(0)
