"""Bring another file of the same records in line with a release: the same exchange, ids and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.bundle.analyst import FROM, NEW_ID, OLD_ID, ROW
from engine.bundle.files import check_formats, write_tables
from engine.bundle.folder import new_folder
from engine.bundle.integrity import analyst_in, read_untouched
from engine.bundle.manifest import INTERNAL
from engine.bundle.unpack import Unpacked, check_parquet
from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.os_support import arrow_file
from engine.common.streams import derive, generator
from engine.data.labels import NO_LABELS
from engine.data.microdata import RawTable
from engine.plan import Plan, plan_from_toml

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Applied:
    """What became of the other file: where it was written, its records, the columns that were exchanged and those that
    were left out because the plan drops them."""

    folder: Path
    n_records: int
    exchanged: tuple[str, ...]
    dropped: tuple[str, ...]


def apply(
    bundle: str | Path,
    other: RawTable,
    id_column: str,
    out: str | Path,
    *,
    blocks: Mapping[str, Sequence[str]] | None = None,
    formats: Iterable[str] = ("csv", "parquet"),
) -> Applied:
    """Write another file of the same records as it belongs to the release of an analyst's bundle.

    ``id_column`` of ``other`` holds the original ids.  Columns that were exchanged in the release are exchanged here
    too, and those that ``blocks`` names per attribute besides (such as a recode that the release does not hold).  The
    id becomes the new one, records stand in the release's order; several records of one id (a child file) stay
    together, in a random order.  Columns that the plan drops are left out.

    Refuses ids that the release does not know, a partner that the file lacks, a column to be exchanged that differs
    among the records of one id, and a column that was drawn anew.
    """
    bundle, out, formats = Path(bundle), Path(out), check_formats(formats)
    manifest = read_untouched(bundle)
    plan = plan_from_toml(manifest["plan"])
    maps = sorted((analyst_in(bundle) / INTERNAL).glob("pairs*.parquet"))
    if not maps:
        raise EngineError(f"'{bundle.name}' holds no pair map; give the folder of an analyst's bundle")
    if id_column not in other.columns:
        raise UsageError(f"'{other.source}' has no column '{id_column}'.{did_you_mean(id_column, other.names)}")
    anew = [name for name in manifest.get("drawn_anew", ()) if name in other.columns]
    if anew:
        raise UsageError(
            f"column '{anew[0]}' was drawn anew in the release, and '{other.source}' holds its original values; take "
            "it out of that file"
        )
    secret = derive(bytes.fromhex(manifest["row_order_secret"]), "linked", (other.source,))
    tables: dict[str, dict[str, pa.Array]] = {}
    exchanged: tuple[str, ...] = ()
    dropped = _dropped(plan, other, id_column, manifest["include"])
    for place, path in enumerate(maps):
        name = "linked" if len(maps) == 1 else f"linked-{place + 1:02d}"
        tables[name], exchanged = _applied(_read_map(path), plan, other, id_column, dropped, blocks or {}, secret)
    with new_folder(out) as (aside, finish):
        labels = {c: NO_LABELS if c == id_column else other.columns[c].about for c in next(iter(tables.values()))}
        write_tables(aside, tables, formats, labels)
        finish()
    return Applied(out, other.n_records, exchanged, dropped)


def _read_map(path: Path) -> dict[str, Any]:
    """The columns of a pair map by name; a damaged or made-up one is refused before its numbers index anything."""
    import pyarrow as pa
    from pyarrow import parquet

    damaged = EngineError(f"'{path.name}' of the analyst's bundle is no pair map, or a damaged one; export it again")
    try:
        check_parquet(path)
        table = parquet.read_table(arrow_file(path))
    except (pa.ArrowException, Unpacked):
        raise damaged from None
    if OLD_ID not in table.column_names:
        raise UsageError(
            "the plan of this release declares no id, so the records of another file cannot be found again; name it as "
            "id in [data] and export again"
        )
    places = [name for name in table.column_names if name == ROW or name.startswith(FROM)]
    wanted = {OLD_ID: (pa.types.is_string, pa.types.is_large_string), **dict.fromkeys(places, (pa.types.is_integer,))}
    wanted[ROW] = wanted[NEW_ID] = (pa.types.is_integer,)
    if len(set(table.column_names)) < table.num_columns or not set(wanted) <= set(table.column_names):
        raise damaged
    if not all(any(fits(table[name].type) for fits in kinds) for name, kinds in wanted.items()):
        raise damaged
    if any(table[name].null_count for name in (NEW_ID, *places)):
        raise damaged
    found = {name: table[name].to_pylist() if name == OLD_ID else table[name].to_numpy() for name in wanted}
    if any(((found[name] < 0) | (found[name] >= table.num_rows)).any() for name in places):
        raise damaged
    return found


def _dropped(plan: Plan, other: RawTable, id_column: str, include: Sequence[str]) -> tuple[str, ...]:
    from fnmatch import fnmatchcase

    held = {plan.data.id} | ({plan.data.weight} if "weight" not in include else set())
    return tuple(
        name
        for name in other.names
        if name != id_column and (name in held or any(fnmatchcase(name, pattern) for pattern in plan.data.drop))
    )


def _applied(
    pairs: dict[str, Any],
    plan: Plan,
    other: RawTable,
    id_column: str,
    dropped: Sequence[str],
    blocks: Mapping[str, Sequence[str]],
    secret: bytes,
) -> tuple[dict[str, pa.Array], tuple[str, ...]]:
    """The other file's columns as one table of the release has them, and which of them were exchanged."""
    import pyarrow as pa

    record = _records(pairs, other, id_column)
    carriers = _carriers(pairs, plan, other, blocks)
    ties = generator(secret).permutation(other.n_records)
    order = np.lexsort((ties, pairs[ROW][record]))
    first = np.full(len(pairs[ROW]), -1, np.int64)
    first[record[::-1]] = np.arange(other.n_records)[::-1]
    columns: dict[str, pa.Array] = {}
    for name, column in other.columns.items():
        if name in dropped:
            continue
        if name == id_column:
            columns[name] = pa.array(pairs[NEW_ID][record[order]])
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
    return columns, tuple(name for name in columns if name in carriers)


def _records(pairs: dict[str, Any], other: RawTable, id_column: str) -> np.ndarray:
    """For each record of the other file, the record of the original with its id."""
    from engine.common.raw_values import texts

    known: dict[str, int] = {}
    for place, old in enumerate(pairs[OLD_ID]):
        if old in known or old is None:
            raise EngineError(
                "the ids of the original are not unique, so the records of another file cannot be told apart"
            )
        known[old] = place
    column = other.columns[id_column]
    found = np.array([known.get(text, -1) for text in texts(column.values)] + [-1], np.int64)[column.codes]
    if (found < 0).any():
        raise UsageError(
            f"{int((found < 0).sum()):,} of {other.n_records:,} records of '{other.source}' have an id in "
            f"'{id_column}' that the original does not have"
        )
    result: np.ndarray = found
    return result


def _carriers(
    pairs: dict[str, Any], plan: Plan, other: RawTable, blocks: Mapping[str, Sequence[str]]
) -> dict[str, np.ndarray]:
    """Columns of the other file that move, with the record whose value each record shows."""
    moved = {name.removeprefix(FROM): carrier for name, carrier in pairs.items() if name.startswith(FROM)}
    found = {name: carrier for name, carrier in moved.items() if name in other.columns}
    parts = {part.name: part.columns for part in plan.attributes}
    for attribute, names in blocks.items():
        if attribute not in parts:
            raise UsageError(f"unknown attribute '{attribute}'.{did_you_mean(attribute, parts)}")
        for name in names:
            if name not in other.columns:
                raise UsageError(f"'{other.source}' has no column '{name}'.{did_you_mean(name, other.names)}")
            if parts[attribute][0] in moved:
                found[name] = moved[parts[attribute][0]]
    return found
