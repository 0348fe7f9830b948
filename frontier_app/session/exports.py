"""Exports of a workspace: written by a process of their own, found again on disk, zipped for download."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from engine.bundle.tiers import bundles_in
from engine.common.errors import EngineError
from engine.common.os_support import aside
from frontier_app.session import jobs
from frontier_app.session.workspace import Workspace

_LAST_WORDS = ("frontier: ", "Traceback")  # how the command's complaint begins, or its log of a fault
_DATE = (1980, 1, 1, 0, 0, 0)  # the same for all, so that a file's date tells nothing


@dataclass(frozen=True)
class Exporting:
    """How an export is going: ``state`` is none, running, finished or failed; ``said`` are its sentences so far, the
    last of a failed one its complaint."""

    state: str
    tier: str = ""
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Export:
    """One export on disk: its folder and the bundles in it, by reader."""

    folder: Path
    bundles: dict[str, Path]

    def files(self, tier: str) -> list[tuple[str, int]]:
        """What a bundle holds: relative names and sizes in bytes."""
        bundle = self.bundles[tier]
        return sorted((p.relative_to(bundle).as_posix(), p.stat().st_size) for p in bundle.rglob("*") if p.is_file())

    def archive(self, tier: str) -> Path:
        """A bundle as one zip, made on disk the first time."""
        made = self.folder.with_name(f"{self.folder.name}.{tier}.zip")
        if not made.exists():
            with aside(made) as part:
                _zip(self.bundles[tier], part)
        return made

    @property
    def attack(self) -> dict[str, Any] | None:
        """What the attack on the release tried and found, where the analyst's bundle is there to say it."""
        path = self.bundles.get("analyst", Path()) / "internal" / "self-attack.json"
        with suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return found
        return None


def _zip(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as whole:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, whole.open(entry, "w", force_zip64=True) as inside:
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
    arguments = ["export", str(study), "--data", data, "--out", str(out)]
    arguments += ["--tier", tier, "--formats", ",".join(formats)]
    for role in include:
        arguments += ["--include", role]
    arguments += ["--allow-partial"] if partial else []
    noted, log_path = _paths(at)
    pid = jobs.launch(arguments, at, log_path)
    at.keep(noted.name, json.dumps({**jobs.process(pid), "out": out.name, "tier": tier}))


def job(at: Workspace) -> Exporting:
    """How the latest export is going."""
    noted, log_path = _paths(at)
    try:
        about = json.loads(noted.read_text(encoding="utf-8"))
        running, out, tier = jobs.runs(about), str(about["out"]), str(about["tier"])
    except (OSError, ValueError, KeyError, TypeError):
        return Exporting("none")
    lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines() if log_path.exists() else []
    if running:
        # How it ends is told when it has ended, as a failure and not as one more step.
        steps = takewhile(lambda line: not line.startswith(_LAST_WORDS), lines)
        return Exporting("running", tier, tuple(line for line in steps if line.strip()))
    if (at.folder / "exports" / out).is_dir():
        # The last line names the folder; people see it by its name on the page.
        return Exporting("finished", tier, tuple(line for line in lines if not line.startswith("wrote ")))
    why = jobs.complaint_in(log_path, "the export ended unexpectedly; nothing was written")
    return Exporting("failed", tier, (why or "the export was ended; nothing was written",))


def found(at: Workspace) -> list[Export]:
    """All complete exports, newest first."""
    made = []
    for folder in (at.folder / "exports").glob("x*-*"):
        if folder.is_dir() and (bundles := bundles_in(folder)):
            made.append(Export(folder, bundles))
    return sorted(made, key=lambda one: (one.folder.stat().st_mtime, one.folder.name), reverse=True)
