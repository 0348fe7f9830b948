"""Remake the chosen realisation from study, key and data; write it so that nothing of the swap shows; replay it bit for
bit.

``OUT/release`` is what may leave the building: the released columns as CSV and Parquet, rows in a new secret order,
nothing else. ``OUT/internal`` stays inside: a manifest that remakes the release.  It holds the derived key of this one
realisation and the secret of the row order, never the study key.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import __version__
from engine.candidates import multi_kind
from engine.decision import check_realisation, realisation_of
from engine.errors import EngineError, UsageError
from engine.evaluation import FAILED, NOOP, OK, STATUS
from engine.evaluator import Question, question
from engine.io.recode import code
from engine.keys import key_path, read_key
from engine.microdata import Microdata, RawTable
from engine.places import write_private
from engine.plan import plan_from_toml, plan_to_toml
from engine.plan.fates import check_fates
from engine.spec import AttributeSpec, ReleaseSpec, pairs_wanted
from engine.streams import STREAM_VERSION, derive, fingerprint, generator
from engine.study import Study
from engine.sweep import check_same
from engine.table import occupied

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
MANIFEST = "manifest.json"
_FILES = ("release.csv", "release.parquet")
_SHUFFLE_BYTES = 32
_CLOSE = 1e-9  # figures on another platform may differ in the last digits of a logarithm
INCLUDE = ("weight", "id")


@dataclass(frozen=True)
class Remade:
    """One realisation down to records: ``source[i]`` is the record whose S block record ``i`` now carries (``i`` itself
    when unchanged)."""

    data: Microdata
    spec: ReleaseSpec
    source: np.ndarray
    status: int
    figures: dict[str, float]

    @property
    def changed(self) -> np.ndarray:
        """Mask of records that took part in a swap."""
        return self.source != np.arange(len(self.source))

    def codes(self, attribute: int) -> np.ndarray:
        """Released level codes of one attribute, in the original order of records."""
        codes = self.data.codes[attribute]
        return codes[self.source] if self.spec.attributes.roles[attribute] == "S" else codes

    @property
    def swapped_columns(self) -> set[str]:
        """Raw columns that were exchanged, block by block."""
        places = self.spec.attributes.having("S")
        return {column for j in places for column in self.data.domain.attributes[j].columns}


def remake(data: Microdata, asked: Question, spec: ReleaseSpec, derived: bytes) -> Remade:
    """Draw a realisation again from its derived key, choose its records, and measure it again.

    The table of the records is compared with the table that the figures rest on.
    """
    from engine.mechanisms import random_swap
    from engine.release import CellIndex

    table = data.table
    structure = spec.structure(multi_kind(table))
    to_swap, wanted = pairs_wanted(spec.rate, table.n_records)
    pairs = random_swap.prepare(structure, table).draw(derived, wanted)
    index = CellIndex(table)
    parts = random_swap.exchange(index, pairs, np.array([len(pairs)], np.int64), [spec.attributes])
    failing = asked.failing(index.words[: index.n_cells], index.layout)
    batch = random_swap.batch(index, parts, [2 * len(pairs)], [spec.attributes], failing)
    figures = {str(c): float(v) for c, v in zip(asked.calls, asked.measure(batch)[0], strict=True)}
    records = random_swap.records_of_pairs(derived, pairs, data.cell_of_record)
    source = np.arange(data.n_records)
    source[records[:, 0]], source[records[:, 1]] = records[:, 1], records[:, 0]
    made = Remade(data, spec, source, NOOP if to_swap == 0 else OK if len(pairs) == wanted else FAILED, figures)
    _audit(made, batch.cell, batch.after, index.words, index.layout)
    return made


def _audit(
    made: Remade, cell: np.ndarray, after: np.ndarray, words: np.ndarray, layout: Sequence[tuple[int, int, int]]
) -> None:
    """Recount the records themselves: their table must be the one the kernels counted."""
    from engine.release import unpack

    domain = made.data.domain
    cells, inverse = occupied([made.codes(j) for j in range(len(domain))], domain.shape, made.data.n_records)
    counted = dict(zip(map(tuple, cells.tolist()), np.bincount(inverse).tolist(), strict=True))
    table = made.data.table
    expected = dict(zip(map(tuple, table.cells.tolist()), table.counts.tolist(), strict=True))
    touched = np.column_stack([unpack(words[cell], place) for place in layout])
    for key, count in zip(map(tuple, touched.tolist()), after.tolist(), strict=True):
        expected[key] = count
    if counted != {key: count for key, count in expected.items() if count}:
        raise EngineError(
            "the remade records do not give the table that was measured; nothing was written. Please report this."
        )


def released_columns(made: Remade, secret: bytes, include: Iterable[str] = ()) -> dict[str, pa.Array]:
    """Released columns in file order, rows in the secret order; dropped columns are left out, weight and id unless
    asked for."""
    import pyarrow as pa

    include = set(include)
    data = made.data
    order = generator(derive(secret, "rows")).permutation(data.n_records)
    out = set(data.dropped)
    out |= {name for role, name in (("weight", data.weight), ("id", data.id)) if name and role not in include}
    swapped = made.swapped_columns
    columns: dict[str, pa.Array] = {}
    for name, column in data.raw.columns.items():
        if name in out:
            continue
        codes = column.codes[made.source[order] if name in swapped else order]
        columns[name] = column.values.take(pa.array(codes, pa.int32(), mask=codes < 0))
    return columns


def export(
    study: Study,
    raw: RawTable,
    candidate: str,
    out: str | Path,
    *,
    key_file: str | Path | None = None,
    include: Iterable[str] = (),
    allow_partial: bool = False,
) -> Path:
    """Write one realisation of a study to a new folder and return it.

    ``candidate`` is a scenario's id (its realisation follows the plan's rule) or a realisation's.  The remade figures
    must equal the stored ones. Killed at any moment this leaves nothing or the whole folder.
    """
    include = tuple(include)
    for name in include:
        if name not in INCLUDE:
            raise UsageError(f"cannot include '{name}', must be weight or id.")
    out = Path(out)
    key = read_key(key_path(study.path, key_file))
    check_same(study, raw, key)
    plan = study.plan
    data = code(raw, plan)
    for role in include:
        if getattr(data, role) is None:
            raise UsageError(f"the plan declares no {role}, so it cannot be included")
    asked = question(plan, data)
    scenario, replicate = study.find(candidate)
    results = study.results()
    if replicate is None:
        replicate = realisation_of(study, results, scenario.place, allow_partial)
    row = check_realisation(results, scenario.place, replicate, scenario.label, allow_partial)
    from engine.mechanisms.random_swap import stream

    derived = stream(key, scenario.spec.structure(multi_kind(data.table)), data.table, replicate)
    made = remake(data, asked, scenario.spec, derived)
    stored = {str(c): float(v) for c, v in zip(study.measures, results.values[row], strict=True)}
    _check_figures(made.figures, stored)
    secret = secrets.token_bytes(_SHUFFLE_BYTES)
    chosen = [d for d in study.decisions if d.label == scenario.label and d.replicate == replicate]
    manifest = {
        "format": FORMAT,
        "candidate": f"{scenario.label}/{replicate}",
        "mechanism": scenario.spec.mechanism,
        "spec": str(scenario.spec.attributes),
        "rate": scenario.spec.rate,
        "rule": scenario.spec.rule,
        "status": STATUS[made.status],
        "records_changed": int(made.changed.sum()),
        "n_records": data.n_records,
        "figures": {name: None if value != value else value for name, value in made.figures.items()},
        "decision": {"rule": chosen[-1].rule, "why": chosen[-1].why, "at": _iso(chosen[-1].at)} if chosen else None,
        "plan": plan_to_toml(plan),
        "include": list(include),
        "derived_key": derived.hex(),
        "row_order_secret": secret.hex(),
        "fingerprint": fingerprint(derived, raw.content_digest()),
        "stream_version": STREAM_VERSION,
        "version": __version__,
        "made": _iso(time.time()),
        "made_with": _made_with(),
    }
    return _write(out, released_columns(made, secret, include), manifest)


def _check_figures(made: dict[str, float], stored: dict[str, float]) -> None:
    for name, value in stored.items():
        got = made[name]
        if not (got == value or (got != got and value != value) or abs(got - value) <= _CLOSE * max(1.0, abs(value))):
            raise EngineError(
                f"the remade release has {name} {got!r}, the study holds {value!r}; nothing was written. Was the "
                "study made by another version?"
            )


def _iso(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _made_with() -> dict[str, str]:
    parts = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for name in ("numpy", "pyarrow", "numba"):
        try:
            parts[name] = version(name)
        except PackageNotFoundError:
            parts[name] = "absent"
    return parts


def _files(folder: Path, columns: dict[str, pa.Array]) -> dict[str, str]:
    """Write the release's files and return their SHA-256."""
    from engine.io.writers import write_csv, write_parquet

    write_csv(folder / _FILES[0], columns)
    write_parquet(folder / _FILES[1], columns)
    return {name: sha256(folder / name) for name in _FILES}


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(out: Path, columns: dict[str, pa.Array], manifest: dict[str, Any]) -> Path:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            f"'{out.name}' exists and is not an empty folder; an export never overwrites. Choose another --out."
        )
    parent = out.absolute().parent
    if not parent.is_dir():
        raise UsageError(f"the folder that should hold '{out.name}' does not exist; make it first")
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=parent))
    except OSError as error:
        raise EngineError(f"cannot write beside '{out.name}': {error.strerror}; choose another --out") from None
    try:
        (aside / "release").mkdir()
        (aside / "internal").mkdir(mode=0o700)
        manifest["sha256"] = _files(aside / "release", columns)
        write_private(
            aside / "internal" / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n"
        )
        os.chmod(aside, 0o755)
        if out.exists():
            out.rmdir()
        os.rename(aside, out)
    except OSError as error:
        raise EngineError(
            f"the export to '{out.name}' could not be written: {error.strerror}; nothing was left behind"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return out


# -- replay ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replay:
    """What a replay found: files that are the same bit for bit, and sentences on what differs."""

    candidate: str
    same: tuple[str, ...]
    differs: tuple[str, ...]


_NEEDED = (
    "format",
    "candidate",
    "mechanism",
    "spec",
    "rate",
    "rule",
    "plan",
    "derived_key",
    "row_order_secret",
    "fingerprint",
    "stream_version",
    "sha256",
    "figures",
    "include",
)


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest in a file, or in the bundle folder that holds it."""
    path = Path(path)
    if path.is_dir():
        path = path / "internal" / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EngineError(f"'{path.name}' does not exist; give a manifest or the folder of an export") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        raise EngineError(f"'{path.name}' is no manifest of an export") from None
    missing = [name for name in _NEEDED if not isinstance(manifest, dict) or name not in manifest]
    if missing:
        raise EngineError(f"'{path.name}' is no manifest of an export: it lacks '{missing[0]}'")
    if manifest["format"] != FORMAT:
        raise EngineError(f"'{path.name}' has format {manifest['format']}, this version reads format {FORMAT}")
    if manifest["stream_version"] != STREAM_VERSION:
        raise EngineError(
            f"'{path.name}' was made with stream version {manifest['stream_version']}, this version draws version "
            f"{STREAM_VERSION};"
            f" replay it with the version that made it ({manifest.get('version', 'unknown')})"
        )
    return manifest


def replay(path: str | Path, raw: RawTable, out: str | Path | None = None) -> Replay:
    """Remake the release of a manifest from the data and compare it file by file; ``out`` keeps the remade release in a
    new folder."""
    manifest = read_manifest(path)
    try:
        derived, secret = bytes.fromhex(manifest["derived_key"]), bytes.fromhex(manifest["row_order_secret"])
    except ValueError:
        raise EngineError("the manifest's keys are damaged: they must be hexadecimal digits") from None
    if manifest["fingerprint"] != fingerprint(derived, raw.content_digest()):
        raise UsageError(f"the manifest belongs to other data than '{raw.source}': their fingerprints differ")
    plan = plan_from_toml(manifest["plan"])
    check_fates(plan.data, raw.names)
    data = code(raw, plan)
    attributes = AttributeSpec.parse(manifest["spec"], data.domain.names)
    made = remake(
        data,
        question(plan, data),
        ReleaseSpec(attributes, manifest["rate"], manifest["rule"], manifest["mechanism"]),
        derived,
    )
    differs = []
    for name, value in manifest["figures"].items():
        got = made.figures.get(name, float("nan"))
        if value is not None and got != value:
            differs.append(
                f"{name} is {got!r}, the manifest says {value!r}"
                + ("" if abs(got - value) > _CLOSE else " (rounding of another platform)")
            )
    columns = released_columns(made, secret, manifest["include"])
    with tempfile.TemporaryDirectory(prefix="swap-frontier-") as folder:
        hashes = _files(Path(folder), columns)
    same = tuple(name for name in _FILES if hashes[name] == manifest["sha256"].get(name))
    differs += [f"{name} differs from the export" + _why(manifest) for name in _FILES if name not in same]
    if out is not None:
        _write(Path(out), columns, {**manifest, "replayed": _iso(time.time())})
    return Replay(manifest["candidate"], same, tuple(differs))


def _why(manifest: dict[str, Any]) -> str:
    """Which part of the platform is another one, as the likely reason."""
    now, then = _made_with(), manifest.get("made_with", {})
    other = [f"{name} {then[name]} then, {now[name]} now" for name in now if name in then and then[name] != now[name]]
    return f" ({'; '.join(other)})" if other else ""
