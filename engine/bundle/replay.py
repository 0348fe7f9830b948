"""Remake the release of an analyst's bundle and list the differences from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.bundle.folder import changed_files, new_folder, scratch_folder
from engine.bundle.manifest import (
    BUCKETS,
    INTERNAL,
    LOG,
    RELEASE,
    analyst_in,
    made_with,
    read_intact,
    read_log,
    read_manifest,
)
from engine.bundle.released_files import Rows, labels_of, tables_of, write_streamed, write_tables
from engine.bundle.source import CLOSE
from engine.common.errors import Remedy, UsageError
from engine.data.io.stream import RecordStream
from engine.data.microdata import Microdata, RawTable
from engine.measures import call
from engine.plan import plan_from_toml
from engine.plan.coding import check_assignment, code, tabulate
from engine.release.scenarios import RunStatus
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.study.decision_log import check_commitment, commitment_in
from engine.study.keys import read_key
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, RemadeCells, remake, remake_cells, stream_of


@dataclass(frozen=True)
class Replay:
    """The result of a replay: the files that are the same bit for bit, and a sentence for each difference."""

    candidate: str
    same: tuple[str, ...]
    differs: tuple[str, ...]


def is_streamed(path: str | Path) -> bool:
    """Return whether the release of a bundle or manifest is of data that were read by streaming."""
    return BUCKETS in read_manifest(path)


def replay(
    path: str | Path, raw: RawTable | RecordStream, out: str | Path | None = None, *, key_file: str | Path | None = None
) -> Replay:
    """Remake the release of a manifest from the data and compare it file by file, with the files themselves when the
    bundle's folder is given; ``out`` keeps the remade files in a new folder.  ``key_file`` is the study key: one that
    was not fixed before the sweep, or that the release was not drawn from, is refused.

    A bundle whose manifest or internal files are not those that were sealed is refused before anything that it names is
    used.  Figures of another platform may differ in their last digits (up to 1e-9); such a difference is listed too,
    with that reason.
    """
    path = Path(path)
    manifest = read_intact(path)
    derived, secret = bytes.fromhex(manifest["derived_key"]), bytes.fromhex(manifest["row_order_secret"])
    plan = plan_from_toml(manifest["plan"])
    raw = tabulate(raw, plan)
    if not raw.has_fingerprint(derived, manifest["fingerprint"]):
        raise UsageError(f"the manifest belongs to other data than '{raw.source}': their fingerprints differ")
    check_assignment(plan.data, raw.names)
    data = code(raw, plan)
    attributes = AttributeSpec.parse(manifest["spec"], data.domain.names)
    params = tuple((str(name), str(value)) for name, value in manifest["params"])
    spec = ReleaseSpec(attributes, manifest["rate"], manifest["rule"], manifest["mechanism"], params)
    if key_file is not None:
        _check_key(path, manifest, read_key(Path(key_file)), spec, data)
    question = question_of(plan, data, [call(text) for text in manifest["figures"]])
    remade: Remade | RemadeCells
    if BUCKETS in manifest:
        remade = cells = remake_cells(data, question, spec, derived)

        def write(folder: Path) -> dict[str, str]:
            include, n_buckets = tuple(manifest["include"]), manifest[BUCKETS]
            return write_streamed(folder, cells, plan, include, manifest["formats"], secret, n_buckets).digests
    else:
        remade = records = remake(data, question, spec, derived)
        tables = tables_of(records, Rows(secret, data.n_records), manifest["include"])

        def write(folder: Path) -> dict[str, str]:
            labels = labels_of(records, next(iter(tables.values())), plan)
            return write_tables(folder, tables, manifest["formats"], labels)[0]

    differs = _contradictions(manifest, remade, spec)
    with scratch_folder() as folder:
        digests = write(folder)
    files = sorted({*digests, *manifest["sha256"]})
    equal = [name for name in files if digests.get(name) == manifest["sha256"].get(name)]
    platform = _platform_differences(manifest) if len(equal) < len(files) else ""
    differs += [f"{name} differs from the export{platform}" for name in files if name not in equal]
    release = analyst_in(path) / RELEASE
    held = changed_files(release, manifest["sha256"]) if path.is_dir() else {}  # of a manifest alone no files
    altered = [name for name in equal if name in held]
    differs += [f"{name} in the folder is not what was exported: it has been altered or removed" for name in altered]
    same = tuple(name for name in equal if name not in altered)
    if out is not None:
        with new_folder(Path(out)) as (hidden, finish):
            (hidden / RELEASE).mkdir()
            write(hidden / RELEASE)
            finish()
    return Replay(manifest["candidate"], same, tuple(differs))


def _check_key(path: Path, manifest: dict[str, Any], key: bytes, spec: ReleaseSpec, data: Microdata) -> None:
    """Refuse a study key that is not the one of the log in the bundle, or of which the released run is none."""
    folder = analyst_in(path) if path.is_dir() else path.absolute().parent.parent
    if (folder / INTERNAL / LOG).exists():
        log = read_log(folder)
        check_commitment(commitment_in(log[0].detail) if log else None, key, "the bundle's study")
    _, _, replicate = str(manifest["candidate"]).partition("/")
    derived = stream_of(key, spec, data, int(replicate)) if replicate.isdecimal() else b""
    if derived.hex() != manifest["derived_key"]:
        raise UsageError(
            f"the release was not drawn from this study key: run {manifest['candidate']} of it is another one; name the"
            " right file",
            Remedy.KEY_FILE,
        )


def _contradictions(manifest: dict[str, Any], remade: Remade | RemadeCells, spec: ReleaseSpec) -> list[str]:
    """Entries and figures of the manifest that the remade release contradicts."""
    label, _, replicate = str(manifest["candidate"]).partition("/")
    actual = {
        "status": RunStatus(remade.status).word,
        "records_changed": remade.n_changed,
        "n_records": remade.data.n_records,
    }
    differs = [
        f"{name} is {value!r}, the manifest says {manifest.get(name)!r}"
        for name, value in actual.items()
        if manifest.get(name) != value
    ]
    # A label is the beginning of the spec's digest, long enough to be told from the others of its study.
    if len(label) < 4 or not f"x{spec.digest()}".startswith(label) or not replicate.isdecimal():
        differs.insert(0, f"candidate is x{spec.digest()[:3]}..., the manifest says {manifest['candidate']!r}")
    for name, value in manifest["figures"].items():
        figure = remade.figures.get(name, float("nan"))
        if (value is None and figure != figure) or figure == value:
            continue
        close = value is not None and abs(figure - value) <= CLOSE * max(1.0, abs(value))
        revised = call(name).measure.revised
        reason = "rounding of another platform: within 1e-9" if close else revised and f"earlier versions: {revised}"
        difference = f"{name} is {None if figure != figure else figure!r}, the manifest says {value!r}"
        differs.append(difference + (f" ({reason})" if reason else ""))
    return differs


def _platform_differences(manifest: dict[str, Any]) -> str:
    """The differences of this platform from the export's, as the likely reason, in brackets; else empty."""
    then, now = (
        {name: made.get(name) for name in ("python", "system")} | made.get("packages", {})
        for made in (manifest.get("made_with", {}), made_with())
    )
    differences = [
        f"{name} {version} then, {now.get(name, 'absent')} now"
        for name, version in then.items()
        if version != now.get(name)
    ]
    return f" ({'; '.join(differences[:5])})" if differences else ""
