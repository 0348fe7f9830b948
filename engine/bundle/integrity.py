"""Check that an analyst's bundle is unchanged before anything in it is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.bundle.contents import members, why_unopened
from engine.bundle.files import SUMS, read_sums, sha256
from engine.bundle.manifest import INTERNAL, MANIFEST, SEEDS, read_manifest
from engine.common.errors import EngineError


def read_untouched(path: str | Path) -> dict[str, Any]:
    """The manifest of a bundle (:func:`engine.bundle.manifest.read_manifest`), refused when it is not the one that was
    sealed, or when an internal file beside it is not what was written.

    The released files are left to who uses them.  Of a manifest alone its seal is checked.
    """
    path = Path(path)
    manifest = read_manifest(path)
    if not manifest["intact"]:
        raise EngineError(
            "the manifest is not the one that was sealed with its seed annex: a field was changed; nothing in it was "
            "looked at"
        )
    if path.is_dir():
        _check_internal(analyst_in(path), manifest)
    return manifest


def analyst_in(folder: Path) -> Path:
    """The analyst's bundle in a folder: the folder itself, or the one beside those of other readers."""
    return folder if (folder / INTERNAL).is_dir() else folder / "analyst"


def changed_inside(bundle: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The internal files of an analyst's bundle that are not those of its manifest, by their path in the bundle."""
    inside, wanted = bundle / INTERNAL, manifest["internal"]
    there = set(members(inside)) - {MANIFEST, SEEDS}
    return [
        f"{INTERNAL}/{name}"
        for name in sorted({*wanted, *there})
        if name not in there or why_unopened(inside / name) or wanted.get(name) != sha256(inside / name)
    ]


def _check_internal(bundle: Path, manifest: Mapping[str, Any]) -> None:
    if read_sums(bundle) is None:
        raise EngineError(f"the bundle's {SUMS} is missing or damaged, so nobody can tell what was changed in it")
    for name in changed_inside(bundle, manifest):
        raise EngineError(
            f"'{name}' of the bundle is not what was written: it was changed, added or removed; nothing was computed"
        )
