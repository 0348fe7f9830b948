"""Files of households that follow a release of persons: matched by the number of the household."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.bundle.analyst import FROM, ROW
from engine.bundle.files import FORMATS, table_names
from engine.bundle.integrity import analyst_in
from engine.bundle.manifest import RELEASE
from engine.common.errors import UsageError
from engine.common.raw_values import is_number, texts
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.data.units import Units

if TYPE_CHECKING:
    import pyarrow as pa

OLD, NEW = "old number", "new number"
"""Entries of a pair map as it is worked with: the old and the new number of each record, or of each unit."""


def of_units(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """The pair map of units in place of that of records: each unit's row is the first of its members' rows, and it
    shows the values of another unit where all its members show values of that one."""
    old, codes = np.unique(np.array(pairs[OLD], dtype=object).astype(str), return_inverse=True)
    units = Units.from_codes(codes)
    by_unit: dict[str, Any] = {
        OLD: old[codes[units.first]].tolist(),
        NEW: pairs[NEW][units.first],
        ROW: units.least(pairs[ROW]),
    }
    for name in (name for name in pairs if name.startswith(FROM)):
        donor = units.of_record[pairs[name]]
        by_unit[name] = np.where(units.constant(donor), donor[units.first], -1)
    return by_unit


def check_units(
    pairs: Mapping[str, Any], unit: np.ndarray, carriers: Mapping[str, np.ndarray], other: RawTable
) -> None:
    """Refuse a column that was exchanged between single persons, and a file that lacks households while some of its
    columns are exchanged; ``unit`` is the unit of each of the file's records."""
    for name, carrier in carriers.items():
        if torn := int(np.count_nonzero(carrier < 0)):
            raise UsageError(
                f"column '{name}' was exchanged between single persons, so {torn:,} households have no value of their "
                "own in the release; use mechanism 'trs', or drop the column"
            )
    n_units = len(pairs[OLD])
    if carriers and (lacking := n_units - len(np.unique(unit))):
        raise UsageError(
            f"'{other.source}' lacks {lacking:,} of the {n_units:,} households of the release; give the whole file"
        )


def released_table(bundle: Path, number: int, n_tables: int) -> RawTable:
    """A table of an analyst's bundle as it was released."""
    folder = analyst_in(bundle) / RELEASE
    name = table_names(n_tables)[number - 1]
    return read_table(next(path for form in FORMATS if (path := folder / f"{name}.{form}").exists()))


def same_as_released(
    pairs: Mapping[str, Any],
    unit: np.ndarray,
    names: Iterable[str],
    columns: Mapping[str, pa.Array],
    released: RawTable,
) -> None:
    """Refuse a file of which an exchanged column is not, household by household, what the persons of the release show:
    then the households of the two files differed before."""
    rows = np.sort(pairs[ROW][unit])
    for name in (name for name in names if name in released.columns):
        column = released.columns[name]
        wanted = [*map(_plain, texts(column.values)), ""]
        own = list(map(_plain, texts(columns[name])))
        differs = sum(wanted[code] != text for code, text in zip(column.codes[rows].tolist(), own, strict=True))
        if differs:
            raise UsageError(
                f"'{name}' differs between the two files in {differs:,} of {len(rows):,} households; the geography of "
                "persons and of their household must be the same before the release"
            )


def _plain(text: str) -> str:
    return f"{float(text):.15g}" if is_number(text) else text
