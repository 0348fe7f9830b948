"""Finished studies, each swept once; every test gets a copy, for itself to change."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from engine.microdata import RawTable
from engine.plan import Plan, plan_to_toml
from engine.sweep import sweep
from frontier_app import workspace
from frontier_app.workspace import Workspace


class Kept:
    """A folder of studies, by their data and plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def workspace(self, data: str, raw: RawTable, plan: Plan) -> Workspace:
        """A new workspace with a study of ``plan`` on ``raw``, which is what ``data`` opens."""
        at = workspace.create()
        at.note(data=data, study="study-1.study")
        at.save_plan(plan_to_toml(plan))
        for file in self._finished(raw, plan).iterdir():
            shutil.copy(file, at.folder / file.name)
        return at

    def _finished(self, raw: RawTable, plan: Plan) -> Path:
        folder = self.folder / hashlib.sha256(f"{raw.source} {raw.content_digest()!r} {plan!r}".encode()).hexdigest()
        if not folder.exists():
            folder.mkdir()
            (folder / "study-1.study.key").write_text("0123456789abcdef" * 2)  # the same runs in every test
            sweep(raw, plan, folder / "study-1.study", workers=1).close()
        return folder
