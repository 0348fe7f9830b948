"""The released tables as files, and the digests of files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.bundle.row_order import Rows
from engine.common.errors import EngineError, UsageError
from engine.common.untrusted import open_plain, read_text
from engine.sweeps.remake import Remade, released_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.data.labels import ColumnLabels

FORMATS = ("csv", "parquet", "sav", "dta", "xpt")
"""What a release can be written as: CSV, Parquet, SPSS, Stata and SAS transport."""
_LABELLED = ("sav", "dta", "xpt")
SUMS = "SHA256SUMS"

Tables = dict[str, "dict[str, pa.Array]"]


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """The formats asked for, each once, in the order of :data:`FORMATS`."""
    asked = tuple(formats)
    for name in asked:
        if name not in FORMATS:
            raise UsageError(f"format == '{name}', must be one of {', '.join(FORMATS)}")
    if not asked:
        raise UsageError(f"no format is named; give one or more of {', '.join(FORMATS)}")
    return tuple(name for name in FORMATS if name in asked)


def tables_of(made: Remade, rows: Rows, include: Iterable[str]) -> Tables:
    """The released tables by the name of their files: one release, or release-01 and so on; all in one order."""
    names = table_names(len(made.tables))
    return {name: released_columns(made, d, rows.order, include, rows.ids) for d, name in enumerate(names)}


def table_names(n_tables: int) -> list[str]:
    """The names of a release's tables, without their endings."""
    return ["release"] if n_tables == 1 else [f"release-{d + 1:02d}" for d in range(n_tables)]


def labels_of(made: Remade, names: Iterable[str]) -> dict[str, ColumnLabels]:
    """The labels of released columns; the new id keeps its variable label alone, since its values are others."""
    from dataclasses import replace

    from engine.data.labels import NO_LABELS

    data = made.data
    found = {}
    for name in names:
        about = data.raw.about(name)
        found[name] = replace(NO_LABELS, label=about.label) if name == data.id else about
    return found


def write_tables(
    folder: Path, tables: Tables, formats: Sequence[str], labels: Mapping[str, ColumnLabels]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write every table in every format into an existing folder.

    Returns the SHA-256 of each file written and notes, a sentence for each thing that a format says otherwise than the
    labels.
    """
    from engine.data.io.writers import write_csv, write_parquet

    before, notes = set(folder.iterdir()), dict[str, None]()
    for name, columns in tables.items():
        path = folder / name
        if "csv" in formats:
            write_csv(path.with_suffix(".csv"), columns)
        if "parquet" in formats:
            write_parquet(path.with_suffix(".parquet"), columns)
        for form in formats:
            if form in _LABELLED:
                notes |= dict.fromkeys(_write_labelled(form, path.with_suffix(f".{form}"), columns, labels))
    return {path.name: sha256(path) for path in sorted(set(folder.iterdir()) - before)}, tuple(notes)


def _write_labelled(
    form: str, path: Path, columns: Mapping[str, pa.Array], labels: Mapping[str, ColumnLabels]
) -> tuple[str, ...]:
    from engine.data.io.labelled_writers import write_dta, write_sav, write_xpt

    return {"sav": write_sav, "dta": write_dta, "xpt": write_xpt}[form](path, columns, labels)


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
