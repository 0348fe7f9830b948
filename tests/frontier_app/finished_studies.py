"""Finished studies, each swept once; every test gets a copy, for itself to change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.data.microdata import RawTable
from engine.plan import Plan, plan_to_toml
from engine.sweeps.sweep import sweep
from frontier_app.session import workspace
from frontier_app.session.workspace import Workspace


class FinishedStudies:
    """Folders of studies, by their data and plan."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self.folders = folders
        self.finished: dict[tuple[str, bytes, str], Path] = {}

    def workspace(self, data: str, raw: RawTable, plan: Plan) -> Workspace:
        """A new workspace with a study of ``plan`` on ``raw``, which is what ``data`` opens."""
        at = workspace.create()
        at.note(data=data, study="study-1.study")
        at.save_plan(plan_to_toml(plan))
        for file in self._finished(raw, plan).iterdir():
            shutil.copy(file, at.folder / file.name)
        return at

    def _finished(self, raw: RawTable, plan: Plan) -> Path:
        asked = (raw.source, raw.content_digest(), repr(plan))
        if asked not in self.finished:
            folder = self.folders.mktemp("kept")
            (folder / "study-1.study.key").write_text("0123456789abcdef" * 2)  # the same runs in every test
            sweep(raw, plan, folder / "study-1.study", workers=1).close()
            self.finished[asked] = folder
        return self.finished[asked]
