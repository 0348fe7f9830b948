"""Where compiled code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_where_no_cache_can_be_kept_nothing_is_left(tmp_path: Path) -> None:
    """As with a read-only home: a private folder is used, and removed when the process ends."""
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    places = {"XDG_CACHE_HOME": "file/cache", "LOCALAPPDATA": "file/cache", "HOME": "file/home"}
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "tmp")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {name: str(tmp_path / place) for name, place in (places | temporary).items()}
    code = "from engine.compiled import cache_folder; print(cache_folder())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "PYTHONPATH": str(ROOT), "FRONTIER_CACHE": "", "FRONTIER_NUMBA": "0"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert Path(done.stdout.strip()).parent == tmp_path / "tmp"
    assert list((tmp_path / "tmp").iterdir()) == []
