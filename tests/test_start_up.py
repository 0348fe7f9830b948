"""What starts quickly loads no dear library: they are imported where they are used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

DEAR = ("matplotlib", "numba", "numpy", "pandas", "plotly", "pyarrow", "scipy", "sklearn", "statsmodels", "streamlit")


@pytest.mark.parametrize("module", ["engine", "frontier_app", "engine.cli.main"])
def test_no_dear_library_is_imported_at_once(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {DEAR} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


def test_words_of_the_reports_load_no_document() -> None:
    """The commands and every page use some words of the reports; only an export writes documents."""
    code = "import sys, engine.report.words; print(*[n for n in ('jinja2', 'engine.report.memo') if n in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


@pytest.mark.slow
def test_all_modules_of_the_engine_together_need_numpy_alone() -> None:
    code = (
        "import importlib, pkgutil, sys, engine\n"
        "for found in pkgutil.walk_packages(engine.__path__, 'engine.'):\n"
        "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
        f"print(*[name for name in {DEAR} if name in sys.modules])"
    )
    plain = {**os.environ, "FRONTIER_NUMBA": "0"}  # compiled kernels bring numba, and that brings scipy
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=plain)
    assert ended.stdout.split() == ["numpy"]
