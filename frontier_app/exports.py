"""Exports of a workspace: made by the engine, zipped for the way out, found again on disk."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.bundle import MANIFEST, export, read_manifest
from engine.errors import EngineError
from engine.microdata import RawTable
from engine.study import Study
from frontier_app.workspace import Workspace

_DATE = (1980, 1, 1, 0, 0, 0)  # the same for all, so that a file's date tells nothing


@dataclass(frozen=True)
class Export:
    """One export on disk."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def archive(self) -> Path:
        """The released files in one."""
        return self.folder.with_suffix(".zip")

    @property
    def csvs(self) -> list[Path]:
        """The released data alone: one file, or one per table."""
        return sorted((self.folder / "release").glob("*.csv"))

    @property
    def manifest_path(self) -> Path:
        """What must stay inside."""
        return self.folder / "internal" / MANIFEST


def make(at: Workspace, study: Study, raw: RawTable, candidate: str, include: Iterable[str], partial: bool) -> Export:
    """Export one realisation into the workspace."""
    scenario, _ = study.find(candidate)
    out = export(study, raw, candidate, at.new_export(scenario.label), include=include, allow_partial=partial)
    os.chmod(out, 0o700)
    archive = out.with_suffix(".zip")
    aside = archive.with_suffix(".part")
    with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as whole:
        for path in sorted((out / "release").iterdir()):
            entry = zipfile.ZipInfo(path.name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, whole.open(entry, "w", force_zip64=True) as target:
                while block := source.read(1 << 20):
                    target.write(block)
    os.replace(aside, archive)
    return Export(out, read_manifest(out))


def found(at: Workspace) -> list[Export]:
    """All complete exports, newest first."""
    made = []
    for folder in (at.folder / "exports").glob("x*-*"):
        if folder.is_dir() and folder.with_suffix(".zip").exists():
            try:
                made.append(Export(folder, read_manifest(folder)))
            except EngineError:
                continue
    return sorted(made, key=lambda one: (one.manifest.get("made", ""), one.folder.name), reverse=True)
