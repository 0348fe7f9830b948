"""The manifest of an export and its sealed secrets, and the check that an analyst's bundle is unchanged."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import platform
import re
import time
from dataclasses import fields
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import msgspec

from engine.bundle.folder import changed_files, read_sums
from engine.bundle.readers import SUMS, Tier
from engine.common import __version__
from engine.common.errors import EngineError, UsageError
from engine.common.os_support import write_private
from engine.common.streams import STREAM_VERSION
from engine.common.untrusted import fits, read_json, read_plain
from engine.study.decision_log import Entry
from engine.study.decision_log import verify as verify_chain

FORMAT = 3
RELEASE, INTERNAL = "release", "internal"
"""The folders of an analyst's bundle: what is released, and what remakes it."""
MANIFEST = "manifest.json"
SEEDS = "seed-annex.json"
SECRETS = ("derived_key", "row_order_secret")
"""The secrets in the seed annex: the key of this one realisation and the secret of the row order."""
BUCKETS = "shuffle_buckets"
"""The field that tells a release of streamed records: into how many buckets its rows were dealt."""

_REQUIRED: dict[str, Any] = {
    **dict.fromkeys(("candidate", "mechanism", "spec", "rate", "rule", "status", "plan"), str),
    **dict.fromkeys(("fingerprint", "log", "seal"), str),
    **dict.fromkeys(("format", "records_changed", "stream_version"), int),
    **dict.fromkeys(("sha256", "internal", "bundles"), dict[str, str]),
    **dict.fromkeys(("include", "formats"), list[str]),
    "figures": dict[str, float | None],
    "params": list[list[str]],
}
_OPTIONAL: dict[str, Any] = {
    **dict.fromkeys(("n_records", "tables", BUCKETS), int),
    "version": str,
    "drawn_anew": list[str],
    "made_with": dict[str, Any],
}
"""The types of the fields; further ones may be there."""


def iso(at: float | None = None) -> str:
    """A time (now where none is given) in ISO form, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def made_with() -> dict[str, Any]:
    """Python, the system, and the exact versions of all packages that this program needs, with one digest of them."""
    packages = dict(_packages())
    lines = "".join(f"{name}=={version}\n" for name, version in packages.items())
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": packages,
        "lock": hashlib.sha256(lines.encode()).hexdigest(),
    }


@cache  # reading the metadata of a hundred packages takes longer than the rest of a small export
def _packages() -> dict[str, str]:
    """Installed distributions that this one needs, directly or not, in order of their names."""
    versions: dict[str, str] = {}
    unvisited = ["swap-frontier"]
    while unvisited:
        name = re.sub(r"[-_.]+", "-", unvisited.pop()).lower()
        if name in versions:
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        versions[name] = installed.version
        for requirement in installed.requires or ():
            if "extra ==" not in requirement and (match := re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", requirement)):
                unvisited.append(match.group())
    versions.pop("swap-frontier", None)
    return dict(sorted(versions.items()))


def write_manifest(folder: Path, content: dict[str, Any], secrets: dict[str, str]) -> None:
    """Write manifest and seed annex, which the owner alone can read, into an existing folder.

    The manifest holds the annex's digest and the annex a keyed digest of its fields: neither can be exchanged alone.
    """
    content = json.loads(json.dumps({"format": FORMAT, **content, "version": __version__}))
    annex = _json_bytes({**secrets, "manifest": _keyed_digest(content, secrets["row_order_secret"])})
    write_private(folder / SEEDS, annex)
    write_private(folder / MANIFEST, _json_bytes({**content, "seal": hashlib.sha256(annex).hexdigest()}))


def _keyed_digest(content: dict[str, Any], secret: str) -> str:
    plain = json.dumps({k: v for k, v in content.items() if k != "seal"}, sort_keys=True, separators=(",", ":"))
    return hmac.new(bytes.fromhex(secret), plain.encode(), hashlib.sha256).hexdigest()


def _json_bytes(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest in a file, or in the folder of an analyst's bundle, together with the secrets of its seed annex.

    ``intact`` in it says whether its fields are those that were sealed.  An annex of another manifest is refused.
    """
    path = Path(path)
    is_file = not path.is_dir()
    if not is_file:
        in_bundle = path / INTERNAL / MANIFEST
        path = in_bundle if os.path.lexists(in_bundle) else path / Tier.ANALYST / INTERNAL / MANIFEST
    manifest = _read(path, follow=is_file)
    if manifest.get("format", FORMAT) != FORMAT:
        raise EngineError(f"'{path.name}' has format {manifest['format']}, and this version reads format {FORMAT}")
    for name, type_of_field in {**_REQUIRED, **_OPTIONAL}.items():
        if name not in manifest and name in _REQUIRED:
            raise EngineError(f"'{path.name}' is no manifest of an export: it lacks '{name}'")
        if name in manifest and not fits(manifest[name], type_of_field):
            raise EngineError(f"'{path.name}' is damaged: the field '{name}' does not have its type")
    if any(len(pair) != 2 for pair in manifest["params"]):
        raise EngineError(f"'{path.name}' is damaged: 'params' does not hold pairs of name and value")
    for field, folder in (("sha256", "a release"), ("internal", "its folder")):
        if any(Path(name).name != name for name in manifest[field]):
            raise EngineError(f"'{path.name}' names a file that cannot be one of {folder}")
    if manifest["stream_version"] != STREAM_VERSION:
        raise EngineError(
            f"'{path.name}' was made with stream version {manifest['stream_version']}, and this version draws version "
            f"{STREAM_VERSION}; replay it with the version that made it ({manifest.get('version', 'unknown')})"
        )
    annex = path.with_name(SEEDS)
    seed_fields = _read(annex)
    if hashlib.sha256(read_plain(annex)).hexdigest() != manifest["seal"]:
        raise EngineError("the seed annex is not the one that was sealed with the manifest: one of them was changed")
    try:
        secrets = {name: bytes.fromhex(seed_fields[name]).hex() for name in SECRETS}
        intact = hmac.compare_digest(_keyed_digest(manifest, secrets["row_order_secret"]), str(seed_fields["manifest"]))
    except (KeyError, ValueError, TypeError):
        raise EngineError("the keys of the seed annex are damaged: they must be hexadecimal digits") from None
    return {**manifest, **secrets, "intact": intact}


def _read(path: Path, *, follow: bool = False) -> dict[str, Any]:
    try:
        content = read_json(path, follow=follow)
    except FileNotFoundError:
        give = "give the manifest of an export, or the folder of an analyst's bundle"
        if follow:
            raise UsageError(f"'{path.name}' does not exist; {give}") from None
        raise EngineError(f"the folder holds no '{path.name}' of an analyst; {give}") from None
    except OSError as error:
        raise EngineError(f"'{path.name}' cannot be read: {error.strerror}") from None
    if not isinstance(content, dict):
        raise EngineError(f"'{path.name}' is no manifest of an export: it holds no fields")
    return content


def read_intact(path: str | Path) -> dict[str, Any]:
    """The manifest of a bundle (:func:`engine.bundle.manifest.read_manifest`), refused when it is not the one that was
    sealed, or when an internal file beside it was changed.

    The released files are left to the caller.  Of a manifest alone its seal is checked.
    """
    path = Path(path)
    manifest = read_manifest(path)
    if not manifest["intact"]:
        raise EngineError(
            "the manifest is not the one that was sealed with its seed annex: a field was changed; nothing in it was "
            "used"
        )
    if path.is_dir():
        bundle = analyst_in(path)
        if read_sums(bundle) is None:
            raise EngineError(f"the bundle's {SUMS} is missing or damaged, so nobody can tell what was changed in it")
        for name, change in changed_files(bundle / INTERNAL, manifest["internal"], MANIFEST, SEEDS).items():
            raise EngineError(f"'{INTERNAL}/{name}' of the bundle was {change} after the export; nothing was computed")
    return manifest


def analyst_in(folder: Path) -> Path:
    """The analyst's bundle in a folder: the folder itself, or the one beside those of other readers."""
    return folder if (folder / INTERNAL).is_dir() else folder / Tier.ANALYST


LOG = "decision-log.json"
"""The decision log in an analyst's bundle, as it was when that was written."""


def read_log(analyst: Path) -> list[Entry]:
    """The decision log in an analyst's bundle; one that is no log, or whose chain is broken, is refused."""
    try:
        content = read_json(analyst / INTERNAL / LOG)
    except OSError:
        raise EngineError("the decision log is missing or cannot be read") from None
    names = {field.name for field in fields(Entry)}
    if not isinstance(content, list) or not all(isinstance(entry, dict) and {*entry} == names for entry in content):
        raise EngineError("the decision log is missing or damaged")
    try:
        log = msgspec.convert(content, list[Entry])
    except msgspec.ValidationError:
        raise EngineError("the decision log is missing or damaged") from None
    verify_chain(log)
    return log
