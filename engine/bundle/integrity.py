"""Check that an analyst's bundle is unchanged before anything in it is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.bundle.contents import files_below, why_unopened
from engine.bundle.files import SUMS, read_sums, sha256
from engine.bundle.manifest import INTERNAL, MANIFEST, SEEDS, read_manifest
from engine.bundle.tiers import Tier
from engine.common.errors import EngineError


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
        _check_internal(analyst_in(path), manifest)
    return manifest


def analyst_in(folder: Path) -> Path:
    """The analyst's bundle in a folder: the folder itself, or the one beside those of other readers."""
    return folder if (folder / INTERNAL).is_dir() else folder / Tier.ANALYST


def changed_internal_files(bundle: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The internal files of an analyst's bundle that are not those of its manifest, by their path in the bundle."""
    folder, digests = bundle / INTERNAL, manifest["internal"]
    present = set(files_below(folder)) - {MANIFEST, SEEDS}
    return [
        f"{INTERNAL}/{name}"
        for name in sorted({*digests, *present})
        if name not in present or why_unopened(folder / name) or digests.get(name) != sha256(folder / name)
    ]


def _check_internal(bundle: Path, manifest: Mapping[str, Any]) -> None:
    if read_sums(bundle) is None:
        raise EngineError(f"the bundle's {SUMS} is missing or damaged, so nobody can tell what was changed in it")
    for name in changed_internal_files(bundle, manifest):
        raise EngineError(
            f"'{name}' of the bundle was changed, added or removed after the export; nothing was computed"
        )
