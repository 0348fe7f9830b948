"""The view of the map, kept in the workspace, so that a reload or another tab shows the same."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from frontier_app.session import state
from frontier_app.session.state import Look
from frontier_app.session.workspace import Workspace


def save() -> None:
    """Save how the map is looked at and the selected candidate, where they have changed."""
    now = state.get()
    at = now.workspace
    if at is None or at.study is None:
        return
    what = (at.study.name, now.look, now.selected)
    if now.memo.last("saved view") != what:
        at.save_look(json.dumps({"study": at.study.name, "look": asdict(now.look), "selected": now.selected}))
        now.memo.keep("saved view", what)


def load(at: Workspace) -> tuple[Look, str | None]:
    """The view that :func:`save` saved of the study at work, or the first view of a study where nothing readable was
    saved."""
    try:
        saved = json.loads(at.look_path.read_text(encoding="utf-8"))
        if at.study is None or saved["study"] != at.study.name:
            return Look(), None
        return Look(**{name: _tuple(saved["look"][name]) for name in _NAMES}), saved["selected"]
    except (OSError, ValueError, KeyError, TypeError):
        return Look(), None


_NAMES = tuple(one.name for one in fields(Look))


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
