"""A module that is loaded in a thread is the same for whoever imports it, with its errors."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path

import pytest

from engine.common.beside import load_beside

SLOW = """
import sys, threading, time
thread, turn = threading.current_thread().name, sys.getswitchinterval()
time.sleep(0.1)
done = True
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("loaded_beside", "broken_beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def ended() -> None:
    """Wait for threads that load."""
    for thread in threading.enumerate():
        if thread.name.startswith("loading "):
            thread.join()


def test_whoever_imports_it_waits_for_the_rest(folder: Path) -> None:
    (folder / "loaded_beside.py").write_text(SLOW, encoding="utf-8")
    before = sys.getswitchinterval()
    load_beside("loaded_beside")
    while "loaded_beside" not in sys.modules:
        pass
    found = importlib.import_module("loaded_beside")
    assert found.done and found.thread == "loading loaded_beside" and found.turn < before
    ended()
    assert sys.getswitchinterval() == before


def test_whoever_imports_it_gets_its_errors(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "broken_beside.py").write_text("raise ImportError('lacks a part')", encoding="utf-8")
    before = sys.getswitchinterval()
    load_beside("broken_beside")
    ended()
    with pytest.raises(ImportError, match="lacks a part"):
        importlib.import_module("broken_beside")
    assert capfd.readouterr().err == "" and sys.getswitchinterval() == before
