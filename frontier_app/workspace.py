"""A workspace: one private folder for what a person works on, found again by an unguessable name in the address.

It holds the uploaded file, the plan, the studies with their keys and what was exported.  The name is 128 secret bits;
the folder can be read by its owner alone.  Nothing of the data is in the address.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.places import write_private
from engine.resources import user_folder

_TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True)
class Workspace:
    """A workspace's folder; ``about.json`` in it says which data and which study belong to it."""

    folder: Path

    @property
    def token(self) -> str:
        """The unguessable name."""
        return self.folder.name

    @property
    def about(self) -> dict[str, Any]:
        """``data`` is what :func:`engine.datasets.open_data` opens, ``study`` a path; each may be None."""
        try:
            about = json.loads((self.folder / "about.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            about = {}
        return {"data": None, "study": None, **about}

    def note(self, **changes: Any) -> None:
        """Replace entries of :attr:`about`."""
        _replace(self.folder / "about.json", json.dumps({**self.about, **changes}).encode())

    @property
    def study(self) -> Path | None:
        """The study at work; it may lie elsewhere, and it need not exist yet."""
        name = self.about["study"]
        return self.folder / name if name else None

    @property
    def board(self) -> Path | None:
        """The member's bundle that is looked at instead of a study."""
        path = self.about.get("board")
        return Path(path) if path else None

    @property
    def is_doorway(self) -> bool:
        """Whether nothing has been opened in it: it only shows that its address came from who started the server."""
        about = self.about
        nothing = about["data"] is None and about["study"] is None and not about.get("board")
        return bool(about.get("owner")) and nothing

    @property
    def codebook_path(self) -> Path:
        """Where a codebook is kept that was given with the data."""
        return self.folder / "codebook.csv"

    @property
    def plan_path(self) -> Path:
        """Where the plan is kept."""
        return self.folder / "plan.toml"

    @property
    def log_path(self) -> Path:
        """What a sweep said."""
        return self.folder / "sweep.log"

    @property
    def look_path(self) -> Path:
        """Where it is kept how the map is looked at."""
        return self.folder / "look.json"

    def save_look(self, text: str) -> None:
        """Keep how the map is looked at."""
        _replace(self.look_path, text.encode())

    def save_plan(self, text: str) -> None:
        """Keep the plan."""
        _replace(self.plan_path, text.encode())

    def save_upload(self, name: str, content: Any) -> Path:
        """Keep an uploaded file (bytes or a buffer) under a harmless form of its name; an earlier one goes."""
        stem, dot, extension = Path(name).name.rpartition(".")
        safe = re.sub(r"[^A-Za-z0-9._-]+", "_", stem if dot else extension).strip("._") or "data"
        folder = self.folder / "data"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        path = folder / f"{safe[:80]}.{extension.lower() if dot else 'csv'}"
        write_private(path, content)
        return path

    def next_study(self) -> Path:
        """A path for a new study beside the earlier ones."""
        n = 1
        while (self.folder / f"study-{n}.study").exists() or (self.folder / f"study-{n}.study.key").exists():
            n += 1
        return self.folder / f"study-{n}.study"

    @property
    def studies(self) -> list[Path]:
        """All studies in the workspace, and the one at work where it lies elsewhere, the latest first."""
        found = {path for path in self.folder.glob("*.study") if not path.name.startswith(".")}
        if self.study is not None and self.study.exists():
            found.add(self.study)
        return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)

    def new_export(self, label: str) -> Path:
        """A path for a new export."""
        exports = self.folder / "exports"
        exports.mkdir(mode=0o700, exist_ok=True)
        return exports / f"{label}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"

    def delete(self) -> None:
        """Remove everything in it.  A study that lies elsewhere stays."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():
            raise EngineError("the workspace could not be deleted completely; close programs that use it and try again")


def _replace(path: Path, content: bytes) -> None:
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_private(aside, content)
    os.replace(aside, path)


def _home() -> Path:
    home = user_folder() / "workspaces"
    home.mkdir(mode=0o700, exist_ok=True)
    return home


def create() -> Workspace:
    """A new, empty workspace."""
    folder = _home() / secrets.token_urlsafe(16)
    folder.mkdir(mode=0o700)
    return Workspace(folder)


def find(token: str | None) -> Workspace | None:
    """The workspace of that name, if there is one; anything but a well-formed name finds nothing."""
    if not token or not _TOKEN.fullmatch(token):
        return None
    folder = _home() / token
    return Workspace(folder) if (folder / "about.json").is_file() else None


def doorway() -> Workspace:
    """An empty workspace whose address only who started the server knows; the one made earlier, if there is one."""
    for folder in _home().iterdir():
        workspace = find(folder.name)
        if workspace and workspace.is_doorway:
            return workspace
    workspace = create()
    workspace.note(owner=True)
    return workspace


def link(study: Path | None, data: str | None) -> Workspace:
    """A workspace on a study and data that lie elsewhere; the one made for the same study earlier, if there is one."""
    wanted = {"data": data, "study": str(study.absolute()) if study else None}
    if study:
        for folder in _home().iterdir():
            workspace = find(folder.name)
            if workspace and workspace.about["study"] == wanted["study"]:
                workspace.note(data=data or workspace.about["data"])
                return workspace
    workspace = create()
    workspace.note(**wanted)
    return workspace


def link_board(bundle: Path) -> Workspace:
    """A workspace that shows a member's bundle and nothing else; the one made for it earlier, if there is one."""
    wanted = str(bundle.absolute())
    for folder in _home().iterdir():
        workspace = find(folder.name)
        if workspace and workspace.about.get("board") == wanted:
            return workspace
    workspace = create()
    workspace.note(board=wanted)
    return workspace
