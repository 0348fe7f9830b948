"""A module that is loaded in a thread is the same for whoever imports it, with its errors."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.common import processes as beside
from engine.common.processes import join_loading, load_beside

SLOW = """
import sys, threading, time
thread, turn = threading.current_thread().name, sys.getswitchinterval()
time.sleep(0.1)
done = True
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for modules, which are forgotten afterwards; nothing is being loaded before."""
    ended()
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    ended()
    for name in ("loaded_beside", "another_beside", "broken_beside"):
        sys.modules.pop(name, None)


def ended() -> None:
    """Wait for threads that load."""
    for thread in threading.enumerate():
        if thread.name.startswith("loading "):
            thread.join(60)
            assert not thread.is_alive()


def test_whoever_imports_it_waits_for_the_rest_and_turns_are_as_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("loaded_beside", "another_beside"):
        (folder / f"{name}.py").write_text(SLOW, encoding="utf-8")
    before = sys.getswitchinterval()
    load_beside("loaded_beside")
    load_beside("another_beside")
    found = [importlib.import_module(name) for name in ("loaded_beside", "another_beside")]
    assert all(one.done and one.turn < before for one in found)
    ended()
    assert sys.getswitchinterval() == before
    monkeypatch.setattr(beside, "Thread", lambda **_: pytest.fail("it is there already"))
    load_beside("loaded_beside")


def test_it_is_loaded_by_a_thread(folder: Path) -> None:
    (folder / "loaded_beside.py").write_text(SLOW, encoding="utf-8")
    load_beside("loaded_beside")
    ended()
    assert sys.modules["loaded_beside"].thread == "loading loaded_beside"


def test_whoever_imports_it_gets_its_errors(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "broken_beside.py").write_text("raise ImportError('lacks a part')", encoding="utf-8")
    before = sys.getswitchinterval()
    load_beside("broken_beside")
    ended()
    with pytest.raises(ImportError, match="lacks a part"):
        importlib.import_module("broken_beside")
    assert capfd.readouterr().err == "" and sys.getswitchinterval() == before


def test_whoever_joins_the_loading_finds_it_done(folder: Path) -> None:
    (folder / "loaded_beside.py").write_text(SLOW, encoding="utf-8")
    load_beside("loaded_beside")
    join_loading()
    assert sys.modules["loaded_beside"].done
    assert not any(thread.name.startswith("loading ") for thread in threading.enumerate())
