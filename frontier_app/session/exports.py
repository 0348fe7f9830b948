"""Exports of a workspace: written by a process of their own, found again on disk, zipped for download."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine.bundle.readers import Tier, bundles_in
from engine.common.errors import EngineError
from engine.common.os_support import aside
from engine.common.output import Message, read_messages
from frontier_app.session import jobs
from frontier_app.session.workspace import Workspace

_LIKE = {
    ".sav": ("sav",),
    ".zsav": ("sav",),
    ".por": ("sav",),
    ".dta": ("dta",),
    ".xpt": ("csv", "parquet"),
    ".sas7bdat": ("csv", "parquet"),
    ".parquet": ("parquet",),
    ".csv": ("csv",),
    ".tsv": ("csv",),
}
"""Formats of a release by the end of the name of the file that was read: its own, or the nearest that is written."""
_DATE = (1980, 1, 1, 0, 0, 0)  # the same for all, so that a file's date tells nothing


@dataclass(frozen=True)
class Exporting:
    """The progress of an export: its ``state``, its ``messages`` so far, the ``error`` that a failed one ended with."""

    state: Literal["none", "running", "finished", "failed"]
    tier: str = ""
    messages: tuple[Message, ...] = ()
    error: Message | None = None


@dataclass(frozen=True)
class Export:
    """One export on disk: its folder and the bundles in it, by reader."""

    folder: Path
    bundles: dict[Tier, Path]

    @property
    def label(self) -> str:
        """The label of the candidate that was exported."""
        return self.folder.name.partition("-")[0]

    def files(self, tier: Tier) -> list[tuple[str, int]]:
        """The files of a bundle: relative names and sizes in bytes."""
        bundle = self.bundles[tier]
        return sorted((p.relative_to(bundle).as_posix(), p.stat().st_size) for p in bundle.rglob("*") if p.is_file())

    def archive(self, tier: Tier) -> Path:
        """A bundle as one zip, made on disk the first time."""
        archive = self.folder.with_name(f"{self.folder.name}.{tier}.zip")
        if not archive.exists():
            with aside(archive) as part:
                _zip(self.bundles[tier], part)
        return archive

    @property
    def attack(self) -> dict[str, Any] | None:
        """The trials and findings of the attack on the release, where the analyst's bundle is there to say it."""
        path = self.bundles.get(Tier.ANALYST, Path()) / "internal" / "self-attack.json"
        with suppress(OSError, ValueError):
            attack: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return attack
        return None


def _zip(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as inside:
                while block := source.read(1 << 20):
                    inside.write(block)


def _paths(at: Workspace) -> tuple[Path, Path]:
    return at.folder / "export.json", at.folder / "export.log"


def start(at: Workspace, label: str, tier: str, formats: Iterable[str], include: Iterable[str], partial: bool) -> None:
    """Write the bundles of the recommended release into the workspace.  Nothing happens while another is written."""
    if job(at).state == "running":
        return
    study, data = at.study, at.about["data"]
    if study is None or data is None:
        raise EngineError("an export needs the data of the study; open the study with its data")
    out = at.new_export(label)
    arguments = ["export", str(study), "--data", data, *at.reading, "--out", str(out)]
    arguments += ["--for", tier, "--formats", ",".join(formats)]
    for role in include:
        arguments += ["--include", role]
    arguments += ["--allow-partial"] if partial else []
    noted, log_path = _paths(at)
    pid = jobs.launch(arguments, at, log_path)
    at.keep(noted.name, json.dumps({**jobs.process(pid), "out": out.name, "tier": tier}))


def job(at: Workspace) -> Exporting:
    """The progress of the latest export."""
    noted, log_path = _paths(at)
    try:
        about = json.loads(noted.read_text(encoding="utf-8"))
        running, out, tier = jobs.runs(about), str(about["out"]), str(about["tier"])
    except (OSError, ValueError, KeyError, TypeError):
        return Exporting("none")
    messages = read_messages(log_path)
    ends = [message for message in messages if message.kind in ("error", "fault")]
    others = tuple(message for message in messages if message not in ends)
    if running:  # how it ends is told when it has ended
        return Exporting("running", tier, others)
    if (at.folder / "exports" / out).is_dir():
        return Exporting("finished", tier, others)
    if ends and ends[-1].kind == "fault":
        return Exporting("failed", tier, others, Message("error", "the export ended unexpectedly; nothing was written"))
    error = ends[-1] if ends else Message("error", "the export was ended; nothing was written")
    return Exporting("failed", tier, others, error)


def like_the_file(at: Workspace) -> tuple[str, ...]:
    """The formats in which a release is proposed: that of the file that was read; of a sample CSV and Parquet."""
    return _LIKE.get(Path(at.about["data"] or "").suffix.lower(), ("csv", "parquet"))


def has_public(at: Workspace, label: str) -> bool:
    """Return whether a public bundle of the candidate with that label is written."""
    return any(Tier.PUBLIC in export.bundles and export.label == label for export in complete(at))


def complete(at: Workspace) -> list[Export]:
    """All complete exports, newest first."""
    exports = []
    for folder in (at.folder / "exports").glob("x*-*"):
        if folder.is_dir() and (bundles := bundles_in(folder)):
            exports.append(Export(folder, bundles))
    return sorted(exports, key=lambda export: (export.folder.stat().st_mtime, export.folder.name), reverse=True)
