"""Bring another file of the same records in line with a release: the same exchange, ids and order.

Files of households that follow a release of persons: matched by the number of the household.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from engine.bundle.folder import new_folder
from engine.bundle.manifest import BUCKETS, INTERNAL, RELEASE, analyst_in, read_intact
from engine.bundle.released_files import FORMATS, check_formats, table_names, write_tables
from engine.bundle.unpack import TooLarge, check_parquet
from engine.bundle.writers import FROM, NEW_ID, NEW_UNIT, OLD_ID, OLD_UNIT, ROW, joint_texts
from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.os_support import arrow_file
from engine.common.raw_values import is_number, texts
from engine.common.streams import derive, generator
from engine.common.wording import columns_named, plural
from engine.data.io.readers import read_table
from engine.data.microdata import NO_LABELS, RawTable, Units
from engine.plan import Plan, plan_from_toml

if TYPE_CHECKING:
    import pyarrow as pa


OLD, NEW = "old number", "new number"
"""Entries of a pair map as it is worked with: the old and the new number of each record, or of each unit."""


def of_units(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pair map of units: its first member's row, and the unit whose values all members show (else -1)."""
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


def _check_units(
    pairs: Mapping[str, Any], unit: np.ndarray, carriers: Mapping[str, np.ndarray], other: RawTable
) -> None:
    """Refuse columns exchanged between single persons, and a file that lacks households while columns are exchanged."""
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


def _check_same(rows: np.ndarray, names: Iterable[str], columns: Mapping[str, pa.Array], table: Path) -> None:
    """Refuse a file that differs, by household, from an exchanged column of the released ``table`` (no ending)."""
    released = read_table(next(path for form in FORMATS if (path := table.with_suffix(f".{form}")).exists()))
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


Matched = Literal["id", "unit"]
"""By what a file is matched with a release: by the ids of records, or by the numbers of units."""


@dataclass(frozen=True)
class Applied:
    """The other file in line with the release: its folder, the number of its records, the columns that were exchanged,
    those that were left out because the plan drops them, and notes on what the formats could not hold."""

    folder: Path
    n_records: int
    exchanged: tuple[str, ...]
    dropped: tuple[str, ...]
    notes: tuple[str, ...] = ()


def apply(
    bundle: str | Path,
    other: RawTable,
    id_column: str | Sequence[str],
    out: str | Path,
    *,
    by: Matched = "id",
    blocks: Mapping[str, Sequence[str]] | None = None,
    formats: Iterable[str] = ("csv", "parquet"),
) -> Applied:
    """Write another file of the same records in line with the release of an analyst's bundle.

    ``id_column`` of ``other`` holds the original ids; ``by`` "unit" the original numbers of units (households), for a
    file of these, or several columns that do so together: the new number takes the first one's place.  Columns that
    were exchanged in the release are exchanged here too, and those that ``blocks`` names per attribute besides (such as
    a recode that the release does not hold).  The id becomes the new one, records stand in the release's order (a
    household where its first member stands); several records of one id (a child file) stay together, in a random order.
    Columns that the plan drops are left out, and so are the other numbers of records and households.

    Refuses ids that the release does not know, a partner that the file lacks, a column to be exchanged that differs
    among the records of one id, and a column that was drawn anew; of units also such as the file lacks, a column that
    was exchanged between single records of them, and one whose values are not those of the release.
    """
    bundle, out, formats = Path(bundle), Path(out), check_formats(formats)
    manifest = read_intact(bundle)
    if BUCKETS in manifest:
        raise UsageError(
            f"'{bundle.name}' is of data that were read by streaming, and its pair map holds no ids; exchange columns "
            "of other files as columns of the data themselves, before the sweep"
        )
    plan = plan_from_toml(manifest["plan"])
    maps = sorted((analyst_in(bundle) / INTERNAL).glob("pairs*.parquet"))
    if not maps:
        raise EngineError(f"'{bundle.name}' holds no pair map; give the folder of an analyst's bundle")
    id_columns = (id_column,) if isinstance(id_column, str) else tuple(id_column)
    for name in id_columns:
        if name not in other.columns:
            raise UsageError(f"'{other.source}' has no column '{name}'.{did_you_mean(name, other.names)}")
    first, n_parts = id_columns[0], len(plan.data.unit_columns) if by == "unit" else 1
    if len(id_columns) != n_parts and n_parts:
        raise UsageError(
            f"{plural(n_parts, 'column')} of '{other.source}' must be named, as many as number a "
            f"{'household' if by == 'unit' else 'record'} in the plan, not {columns_named(id_columns)} alone"
        )
    for name in (name for name in manifest.get("drawn_anew", ()) if name in other.columns):
        raise UsageError(
            f"column '{name}' was drawn anew in the release, and '{other.source}' holds its original values; take "
            "it out of that file"
        )
    secret = derive(bytes.fromhex(manifest["row_order_secret"]), "linked", (other.source,))
    tables: dict[str, dict[str, pa.Array]] = {}
    exchanged: tuple[str, ...] = ()
    withheld = {plan.data.id, *plan.data.unit_columns, *id_columns[1:]}
    withheld |= set() if "weight" in manifest["include"] else {plan.data.weight}
    dropped = tuple(
        name
        for name in other.names
        if name != first and (name in withheld or any(fnmatchcase(name, pattern) for pattern in plan.data.drop))
    )
    for path, table in zip(maps, table_names(len(maps)), strict=True):
        pairs = _read_map(path, by)
        carriers = _carriers(pairs, plan, other, blocks or {})
        record = _records(pairs, other, id_columns, by)
        if by == "unit":
            _check_units(pairs, record, carriers, other)
        columns = _linked_columns(pairs, record, carriers, other, first, dropped, secret)
        exchanged = tuple(column for column in columns if column in carriers)
        if by == "unit":
            _check_same(np.sort(pairs[ROW][record]), exchanged, columns, analyst_in(bundle) / RELEASE / table)
        tables[table.replace("release", "linked")] = columns
    with new_folder(out) as (hidden, finish):
        labels = {c: NO_LABELS if c == first else other.columns[c].about for c in next(iter(tables.values()))}
        _, notes = write_tables(hidden, tables, formats, labels)
        finish()
    return Applied(out, other.n_records, exchanged, dropped, notes)


def _read_map(path: Path, by: Matched = "id") -> dict[str, Any]:
    """The columns of a pair map by name; a damaged or made-up one is refused before its numbers index anything."""
    import pyarrow as pa
    from pyarrow import parquet

    damaged = EngineError(f"'{path.name}' of the analyst's bundle is no pair map, or a damaged one; export it again")
    try:
        check_parquet(path)
        table = parquet.read_table(arrow_file(path))
    except (pa.ArrowException, TooLarge):
        raise damaged from None
    old, new = (OLD_ID, NEW_ID) if by == "id" else (OLD_UNIT, NEW_UNIT)
    if old not in table.column_names:
        thing = "record" if by == "id" else "household"
        raise UsageError(
            f"the plan of this release declares no {by}, so no {thing} of another file can be found in it; name the "
            f"{by} column in [data] of the plan and export again"
        )
    indices = [name for name in table.column_names if name == ROW or name.startswith(FROM)]
    numbers = {new, ROW, *indices}
    is_sound = (
        len(set(table.column_names)) == table.num_columns
        and numbers <= {*table.column_names}
        and (pa.types.is_string(table[old].type) or pa.types.is_large_string(table[old].type))
        and all(pa.types.is_integer(table[name].type) and not table[name].null_count for name in numbers)
    )
    if not is_sound:
        raise damaged
    pairs = {old: table[old].to_pylist()} | {name: table[name].to_numpy() for name in numbers}
    if any(((pairs[name] < 0) | (pairs[name] >= table.num_rows)).any() for name in indices):
        raise damaged
    pairs[OLD], pairs[NEW] = pairs.pop(old), pairs.pop(new)
    return of_units(pairs) if by == "unit" else pairs


def _linked_columns(
    pairs: dict[str, Any],
    record: np.ndarray,
    carriers: Mapping[str, np.ndarray],
    other: RawTable,
    id_column: str,
    dropped: Sequence[str],
    secret: bytes,
) -> dict[str, pa.Array]:
    """The other file's columns in line with one table of the release; ``record`` is each one's record there."""
    import pyarrow as pa

    ties = generator(secret).permutation(other.n_records)
    order = np.lexsort((ties, pairs[ROW][record]))
    first = np.full(len(pairs[ROW]), -1, np.int64)
    first[record[::-1]] = np.arange(other.n_records)[::-1]
    columns: dict[str, pa.Array] = {}
    for name, column in other.columns.items():
        if name in dropped:
            continue
        if name == id_column:
            columns[name] = pa.array(pairs[NEW][record[order]])
            continue
        codes = column.codes
        if name in carriers:
            if (codes != codes[first[record]]).any():
                raise UsageError(
                    f"column '{name}' is to be exchanged between records but differs among those of one id; drop it, "
                    "or give a file with one record for each id"
                )
            partner = first[carriers[name][record]]
            if (partner < 0).any():
                raise UsageError(
                    f"'{other.source}' lacks the records whose values {int((partner < 0).sum()):,} of its own show in "
                    "the release; give the whole file"
                )
            codes = codes[partner]
        codes = codes[order]
        columns[name] = column.values.take(pa.array(codes, pa.int32(), mask=codes < 0))
    return columns


def _records(pairs: dict[str, Any], other: RawTable, id_columns: Sequence[str], by: Matched) -> np.ndarray:
    """For each record of the other file, the record of the original with its id, or the unit with its number."""
    record_of: dict[str, int] = {}
    for record, old_id in enumerate(pairs[OLD]):
        if old_id in record_of or old_id is None:
            raise EngineError(
                "the ids of the original are not unique or missing in some record, so the records of another file "
                "cannot be told apart"
            )
        record_of[old_id] = record
    coded = joint_texts(other, id_columns).dictionary_encode()
    of_value = np.array([record_of.get(text, -1) for text in coded.dictionary.to_pylist()] + [-1], np.int64)
    records: np.ndarray = of_value[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    if (records < 0).any():
        number = "an id" if by == "id" else "a household"
        raise UsageError(
            f"{int((records < 0).sum()):,} of {other.n_records:,} records of '{other.source}' have {number} in "
            f"{columns_named(id_columns)} that the original does not have"
        )
    return records


def _carriers(
    pairs: dict[str, Any], plan: Plan, other: RawTable, blocks: Mapping[str, Sequence[str]]
) -> dict[str, np.ndarray]:
    """Columns of the other file that move, with the record whose value each record shows."""
    moved = {name.removeprefix(FROM): carrier for name, carrier in pairs.items() if name.startswith(FROM)}
    carriers = {name: carrier for name, carrier in moved.items() if name in other.columns}
    columns_of = {attribute.name: attribute.columns for attribute in plan.attributes}
    for attribute, names in blocks.items():
        if attribute not in columns_of:
            raise UsageError(f"unknown attribute '{attribute}'.{did_you_mean(attribute, columns_of)}")
        for name in names:
            if name not in other.columns:
                raise UsageError(f"'{other.source}' has no column '{name}'.{did_you_mean(name, other.names)}")
            if columns_of[attribute][0] in moved:
                carriers[name] = moved[columns_of[attribute][0]]
    return carriers
