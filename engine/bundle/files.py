"""The released tables as files, their order and new numbers, and the digests of files.

The secret of the order comes from the operating system and stays in the analyst's bundle.  The same secret gives the
same order and the same numbers, so all tables of a release and the files that are linked to it agree.  Records stand in
an order in which each is as likely as any other, members of a household apart from each other: since neither the order
nor a number depends on what was swapped, nobody can read from them who moved.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.bundle.readers import SUMS, Refused
from engine.common.errors import EngineError, UsageError
from engine.common.raw_values import text_mask, texts
from engine.common.streams import derive, generator
from engine.common.untrusted import open_plain, read_text
from engine.common.wording import listed
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.writers import write_csv, write_parquet
from engine.data.microdata import NO_LABELS, ColumnLabels, Microdata, Units
from engine.models.record_release import missing_values
from engine.plan.types import Plan
from engine.release.reader_view import rounded_codes, same_rows
from engine.sweeps.remake import Remade, released_columns

if TYPE_CHECKING:
    import pyarrow as pa


def new_secret() -> bytes:
    """A fresh secret of the row order: 256 bits from the operating system's secure source."""
    return secrets.token_bytes(32)


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


_WRITERS: dict[str, Callable[..., Iterable[str]]] = {
    "csv": lambda path, columns, labels: write_csv(path, columns),
    "parquet": write_parquet,
    "sav": write_sav,
    "dta": write_dta,
}
FORMATS = tuple(_WRITERS)
"""The formats of a release: CSV, Parquet, SPSS and Stata."""
Tables = dict[str, "dict[str, pa.Array]"]


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """The formats named, each once, in the order of :data:`FORMATS`."""
    names = tuple(formats)
    for name in names:
        if name not in FORMATS:
            raise UsageError(f"format == '{name}', must be one of {', '.join(FORMATS)}")
    if not names:
        raise UsageError(f"no format is named; give one or more of {', '.join(FORMATS)}")
    return tuple(name for name in FORMATS if name in names)


def tables_of(remade: Remade, rows: Rows, include: Iterable[str]) -> Tables:
    """The released tables by the name of their files: one release, or release-01 and so on; all in one order."""
    names = table_names(len(remade.tables))
    new_numbers = rows.new_numbers(remade.data)
    return {name: released_columns(remade, d, rows.order, include, new_numbers) for d, name in enumerate(names)}


def table_names(n_tables: int) -> list[str]:
    """The names of a release's tables, without their endings."""
    return ["release"] if n_tables == 1 else [f"release-{d + 1:02d}" for d in range(n_tables)]


def refuse_original(tables: Tables, data: Microdata) -> None:
    """Refuse (:class:`Refused`) tables of which one holds the rows of the original, as its reader sees them.

    Ids are new numbers, numbers of units tell only who belongs together, and numbers that were drawn count as rounded.
    """
    for name, columns in tables.items():
        before, after, units = list[np.ndarray](), list[np.ndarray](), None
        for column, values in columns.items():
            raw = data.raw.columns[column]
            if column == data.id:
                continue
            if column == data.unit_column and data.units is not None:
                units = data.units, Units.from_codes(values.to_numpy())
            elif hasattr(values, "indices"):
                before.append(raw.codes + 1)
                after.append(values.indices.fill_null(-1).to_numpy() + 1)
            else:
                both = rounded_codes(raw, values.to_numpy(zero_copy_only=False))
                before.append(both[0])
                after.append(both[1])
        if same_rows(before, after, units):
            raise Refused(
                f"the release was refused: the rows of '{name}' are those of the original, so nothing is protected; "
                "choose another candidate. Nothing was written",
                "no change",
            )


def labels_of(remade: Remade, names: Iterable[str], plan: Plan) -> dict[str, ColumnLabels]:
    """The labels of released columns, with the codes that the plan takes as missing among the missing codes, as far as
    they occur; new ids and numbers of units keep their variable label alone, since their values are others."""
    data = remade.data
    labels, parts = {}, data.unit_columns
    for name in names:
        column = data.raw.columns[name]
        if name in data.renumbered:
            together = len(parts) > 1 and name == data.unit_column
            label = f"new number of the household, in place of {listed(parts)}" if together else column.about.label
            labels[name] = replace(NO_LABELS, label=label)
            continue
        known = {*column.about.missing, ""}
        codes = [code for code in missing_values(plan, name, column.about).missing if code not in known]
        occurring = set(texts(column.values.filter(text_mask(column.values, codes))))
        missing = (*column.about.missing, *(code for code in codes if code in occurring))
        labels[name] = replace(column.about, missing=missing)
    return labels


def write_tables(
    folder: Path, tables: Tables, formats: Sequence[str], labels: Mapping[str, ColumnLabels]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write every table in every format into an existing folder.

    Returns the SHA-256 of each file written and notes, a sentence for each value, name or label that a format cannot
    hold as it is.
    """
    before, notes = set(folder.iterdir()), dict[str, None]()
    for name, columns in tables.items():
        for form in formats:
            notes |= dict.fromkeys(_WRITERS[form]((folder / name).with_suffix(f".{form}"), columns, labels))
    return {path.name: sha256(path) for path in sorted(set(folder.iterdir()) - before)}, tuple(notes)


def sha256(path: Path) -> str:
    """SHA-256 of a plain file."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path) -> None:
    """Write the digests of all files below a folder, in the form that ``sha256sum -c`` reads."""
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != SUMS)
    text = "".join(f"{sha256(folder / path)}  {path}\n" for path in paths)
    (folder / SUMS).write_bytes(text.encode())


def read_sums(folder: Path) -> dict[str, str] | None:
    """The digests that a folder lists by relative path; None where it lists none or the list is damaged."""
    try:
        lines = read_text(folder / SUMS).splitlines()
    except (OSError, EngineError):
        return None
    pairs = [line.partition("  ") for line in lines]
    if not all(len(digest) == 64 and path for digest, _, path in pairs):
        return None
    return {path: digest for digest, _, path in pairs}
