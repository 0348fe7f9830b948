"""The analyst's bundle: the release, and inside everything that explains, remakes and undoes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.bundle.binding import LOG
from engine.bundle.files import sha256, table_names, write_tables
from engine.bundle.manifest import INTERNAL, RELEASE, iso, made_with, write_manifest
from engine.bundle.package import Package
from engine.common.streams import STREAM_VERSION
from engine.frontier.summary import summarise
from engine.mechanisms import mechanism
from engine.plan import plan_to_toml
from engine.release.results import STATUS
from engine.release.spec import pairs_wanted
from engine.study.decision_log import START, entries
from engine.sweeps.remake import carriers_of, released_columns

if TYPE_CHECKING:
    import pyarrow as pa

ATTACK = "self-attack.json"
NEW_ID, ROW, RECORD, OLD_ID = "new_id", "row", "record", "id"
"""Columns of the pair map: the new id, the row in the release, the record in the original, and its old id."""
FROM = "from:"
"""Before the name of a raw column: the record of the original whose value is shown."""


def write(
    made: Package, folder: Path, attack: dict[str, Any] | None, bundles: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Write the bundle into an empty folder and return the digests of the released files.

    ``attack`` is what the attack on the release found; without it, the bundle says that none was made.  ``bundles`` are
    the other readers' bundles of the same export: the digest of each one's list of digests.
    """
    inside = folder / INTERNAL
    (folder / RELEASE).mkdir()
    inside.mkdir(mode=0o700)
    digests, notes = write_tables(folder / RELEASE, made.tables, made.formats, made.labels)
    log = [entry.to_dict() for entry in entries(made.study)]
    unshuffled = _unshuffled(made, inside)
    _write_map(made, inside)
    _write_candidates(made, inside)
    _write_json(inside / LOG, log)
    _write_json(inside / ATTACK, attack or {"made": False, "why": "an attack is made before a public export"})
    (inside / "plan.toml").write_text(plan_to_toml(made.study.plan), encoding="utf-8")
    (inside / "REPLAY.txt").write_text(_REPLAY.format(lock=made_with()["lock"]), encoding="utf-8")
    from engine.report import write_analyst

    write_analyst(made.study, made.made, inside)
    # last, since the manifest and its seal cover all that lies beside them
    content = {
        **manifest_of(made),
        "log": log[-1]["digest"] if log else START,
        "sha256": digests,
        "sha256_unshuffled": unshuffled,
        "internal": {path.name: sha256(path) for path in sorted(inside.iterdir())},
        "bundles": dict(bundles or {}),
        "notes": notes,
    }
    secrets = {"derived_key": made.made.derived.hex(), "row_order_secret": made.rows.secret.hex()}
    write_manifest(inside, content, secrets)
    return digests


_REPLAY = """This bundle is replayed with

    frontier replay BUNDLE --data DATA

where BUNDLE is the folder that holds this bundle and DATA the original file. Every released file must come out
bit for bit under the same packages (digest {lock}) and platform; elsewhere the figures agree
within 1e-9, and the replay says what differs. The seed annex must lie beside the manifest.
Other files of the same records are brought in line with the release by

    frontier apply BUNDLE --data OTHER --id CASEID --out FOLDER
"""


def manifest_of(made: Package) -> dict[str, Any]:
    """The manifest without digests and secrets."""
    spec, remade = made.scenario.spec, made.made
    chosen = [d for d in made.study.decisions if (d.label, d.replicate) == (made.scenario.label, made.replicate)]
    return {
        "candidate": made.candidate,
        "mechanism": spec.mechanism,
        "spec": str(spec.attributes),
        "params": [list(pair) for pair in spec.params],
        "rate": spec.rate,
        "rule": spec.rule,
        "status": STATUS[remade.status],
        "records_changed": int(remade.changed.sum()),
        "records_without_partner": _unmatched(made),
        "n_records": made.data.n_records,
        "tables": len(remade.tables),
        "drawn_anew": [name for name in made.data.raw.columns if any(t.is_renumbered(name) for t in remade.tables)],
        "figures": {name: None if value != value else value for name, value in remade.figures.items()},
        "decision": {"rule": chosen[-1].rule, "why": chosen[-1].why, "at": iso(chosen[-1].at)} if chosen else None,
        "plan": plan_to_toml(made.study.plan),
        "include": list(made.include),
        "formats": list(made.formats),
        "fingerprint": made.fingerprint,
        "stream_version": STREAM_VERSION,
        "made": iso(),
        "made_with": made_with(),
    }


def _unmatched(made: Package) -> int | None:
    """Records that were to be swapped and found no partner; None for mechanisms that form no pairs."""
    source = made.made.tables[0].source
    if not mechanism(made.scenario.spec.mechanism).partners_differ or source is None:
        return None
    wanted = pairs_wanted(made.scenario.spec.rate, made.data.n_records)[1]
    return 2 * wanted - int(np.count_nonzero(source != np.arange(made.data.n_records)))


def _unshuffled(made: Package, folder: Path) -> dict[str, str]:
    """SHA-256 of each released table as CSV, its rows still in the order of the original."""
    from engine.data.io.writers import write_csv

    order, found = np.arange(made.data.n_records), {}
    aside = folder / "unshuffled.csv"
    for d, name in enumerate(table_names(len(made.made.tables))):
        write_csv(aside, released_columns(made.made, d, order, made.include, made.rows.ids))
        found[name] = sha256(aside)
        aside.unlink()
    return found


def _write_map(made: Package, folder: Path) -> None:
    """The pair map and the change flags of each table, one row per record of the original."""
    import pyarrow as pa

    from engine.data.io.writers import write_parquet

    data, remade = made.data, made.made
    several = len(remade.tables) > 1
    for d, table in enumerate(remade.tables):
        end = f"-{d + 1:02d}" if several else ""
        columns: dict[str, pa.Array] = {
            RECORD: pa.array(np.arange(data.n_records)),
            ROW: pa.array(made.rows.row_of),
            NEW_ID: pa.array(made.rows.ids),
        }
        if data.id is not None:
            from engine.common.raw_values import as_text

            raw = data.raw.columns[data.id]
            columns[OLD_ID] = as_text(raw.values).take(pa.array(raw.codes, pa.int32(), mask=raw.codes < 0))
        for name, carrier in carriers_of(remade, d).items():
            columns[FROM + name] = pa.array(carrier)
        write_parquet(folder / f"pairs{end}.parquet", columns)
        flags = {name: table.codes(j) != data.codes[j] for j, name in enumerate(data.domain.names)}
        columns = {RECORD: pa.array(np.arange(data.n_records))}
        columns |= {name: pa.array(flag) for name, flag in flags.items()}
        for name in data.raw.columns:
            if table.is_renumbered(name):
                before = remade.data.raw.columns[name]
                from engine.common.raw_values import numbers

                old = np.append(numbers(before.values), np.nan)[before.codes]
                new = table.numeric(name)
                columns[name] = pa.array((old != new) & ~(np.isnan(old) & np.isnan(new)))
        write_parquet(folder / f"flags{end}.parquet", columns)


def _write_candidates(made: Package, folder: Path) -> None:
    """Every candidate, dominated ones too: what it is, its runs, means and standard errors."""
    import pyarrow as pa

    from engine.common.spreadsheets import as_cells
    from engine.data.io.writers import write_csv, write_parquet

    study = made.study
    found = summarise(study.results(), [call.measure for call in study.measures], len(study.scenarios))
    scenarios = list(study.scenarios)
    columns: dict[str, pa.Array] = {
        "id": pa.array([s.label for s in scenarios]),
        "mechanism": pa.array([s.spec.mechanism for s in scenarios]),
        "rate": pa.array([s.spec.rate for s in scenarios]),
        "rule": pa.array([s.spec.rule for s in scenarios]),
        "spec": pa.array([s.spec.text for s in scenarios]),
        "replicates": pa.array(found.counted),
        "failed": pa.array(found.failed),
        "records_changed": pa.array(found.changed, from_pandas=True),
    }
    for k, call in enumerate(study.measures):
        columns[str(call)] = pa.array(found.mean[:, k], from_pandas=True)
        columns[f"{call}_se"] = pa.array(found.se[:, k], from_pandas=True)
    write_csv(folder / "candidates.csv", as_cells(columns))
    write_parquet(folder / "candidates.parquet", columns)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
