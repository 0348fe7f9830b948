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
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import __version__
from engine.decision import check_realisation, realisation_of
from engine.errors import EngineError, UsageError
from engine.evaluation import STATUS
from engine.evaluator import question
from engine.io.recode import code
from engine.keys import key_path, read_key
from engine.measures import call
from engine.microdata import RawTable
from engine.places import write_private
from engine.plan import plan_from_toml, plan_to_toml
from engine.plan.fates import check_fates
from engine.remake import Remade, released_columns, remake, stream_of
from engine.spec import AttributeSpec, ReleaseSpec
from engine.streams import STREAM_VERSION, fingerprint
from engine.study import Study
from engine.sweep import check_same

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
MANIFEST = "manifest.json"
_SHUFFLE_BYTES = 32
_CLOSE = 1e-9  # figures on another platform may differ in the last digits of a logarithm
INCLUDE = ("weight", "id")


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
    asked = question(plan, data, study.measures)
    scenario, replicate = study.find(candidate)
    results = study.results()
    if replicate is None:
        replicate = realisation_of(study, results, scenario.place, allow_partial)
    row = check_realisation(results, scenario.place, replicate, scenario.label, allow_partial)
    derived = stream_of(key, scenario.spec, data, replicate)
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
        "params": [list(pair) for pair in scenario.spec.params],
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
    return _write(out, _tables(made, secret, include), manifest)


Tables = dict[str, "dict[str, pa.Array]"]


def _tables(made: Remade, secret: bytes, include: Iterable[str]) -> Tables:
    """The released tables by the name of their files: one release, or release-01 and so on."""
    if len(made.tables) == 1:
        return {"release": released_columns(made, 0, secret, include)}
    return {f"release-{d + 1:02d}": released_columns(made, d, secret, include) for d in range(len(made.tables))}


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


def _files(folder: Path, tables: Tables) -> dict[str, str]:
    """Write every table as CSV and Parquet and return the files' SHA-256."""
    from engine.io.writers import write_csv, write_parquet

    for name, columns in tables.items():
        write_csv(folder / f"{name}.csv", columns)
        write_parquet(folder / f"{name}.parquet", columns)
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(out: Path, tables: Tables, manifest: dict[str, Any]) -> Path:
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
        manifest["sha256"] = _files(aside / "release", tables)
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
    "params",
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
    """Remake the release of a manifest from the data and compare it file by file, with the files themselves when the
    export's folder is given; ``out`` keeps the remade release in a new folder."""
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
    params = tuple((str(name), str(value)) for name, value in manifest["params"])
    spec = ReleaseSpec(attributes, manifest["rate"], manifest["rule"], manifest["mechanism"], params)
    calls = [call(text) for text in manifest["figures"]]
    made = remake(data, question(plan, data, calls), spec, derived)
    differs = []
    for name, value in manifest["figures"].items():
        got = made.figures.get(name, float("nan"))
        if value is not None and got != value:
            differs.append(
                f"{name} is {got!r}, the manifest says {value!r}"
                + ("" if abs(got - value) > _CLOSE else " (rounding of another platform)")
            )
    tables = _tables(made, secret, manifest["include"])
    with tempfile.TemporaryDirectory(prefix="swap-frontier-") as folder:
        hashes = _files(Path(folder), tables)
    files = sorted({*hashes, *manifest["sha256"]})
    remade = [name for name in files if hashes.get(name) == manifest["sha256"].get(name)]
    differs += [f"{name} differs from the export" + _why(manifest) for name in files if name not in remade]
    altered = [name for name in remade if _altered(Path(path), name, manifest["sha256"][name])]
    differs += [f"{name} in the folder is not what was exported: it has been altered or removed" for name in altered]
    same = tuple(name for name in remade if name not in altered)
    if out is not None:
        _write(Path(out), tables, {**manifest, "replayed": _iso(time.time())})
    return Replay(manifest["candidate"], same, tuple(differs))


def _altered(bundle: Path, name: str, digest: str) -> bool:
    """Whether a released file in the folder of an export is no longer the one that was written; of a manifest alone
    there is none to look at."""
    file = bundle / "release" / name
    return bundle.is_dir() and (not file.is_file() or sha256(file) != digest)


def _why(manifest: dict[str, Any]) -> str:
    """Which part of the platform is another one, as the likely reason."""
    now, then = _made_with(), manifest.get("made_with", {})
    other = [f"{name} {then[name]} then, {now[name]} now" for name in now if name in then and then[name] != now[name]]
    return f" ({'; '.join(other)})" if other else ""
