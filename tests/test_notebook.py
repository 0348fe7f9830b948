"""The notebook docs/scripting.ipynb runs from its first cell to its last, and is kept without outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "scripting.ipynb"
RUN = """
import json, sys
namespace = {"__name__": "notebook"}
for number, source in enumerate(json.load(sys.stdin), 1):
    print(f"cell {number}", file=sys.stderr)
    exec(compile(source, f"cell {number}", "exec"), namespace)
"""


def cells(notebook: dict[str, Any]) -> list[str]:
    """The code of every code cell."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(sources: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run cells in order in one fresh namespace of a process of its own, with warnings as errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN],
        input=json.dumps(sources),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(NOTEBOOK.parents[1]), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.slow
def test_every_cell_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    sources = cells(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    assert len(sources) > 10
    ended = run(sources, tmp_path)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert [*tmp_path.iterdir()] == []


def test_a_cell_that_raises_is_seen(tmp_path: Path) -> None:
    ended = run(["a = 1", "a / 0", "a"], tmp_path)
    assert ended.returncode == 1 and "cell 3" not in ended.stderr


def test_it_shows_what_it_is_for() -> None:
    code = "\n".join(cells(json.loads(NOTEBOOK.read_text(encoding="utf-8"))))
    for shown in ("sf.sweep(", ".frontier()", ".plot(", ".choose(", ".release(df)", "register_mechanism("):
        assert shown in code
    assert code.count("sf.register_measure(") == 2


def test_it_holds_no_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
