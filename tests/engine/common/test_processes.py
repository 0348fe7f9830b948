"""Modules load in a thread, linear algebra keeps to one, and processes are known by their birth."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engine.common import processes
from engine.common.processes import join_loading, load_beside, one_thread
from tests import needs

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
    monkeypatch.setattr(processes, "Thread", lambda **_: pytest.fail("it is there already"))
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


@pytest.mark.parametrize(("error", "alive"), [(5, True), (87, False)])
def test_on_windows_a_process_that_may_not_be_opened_is_alive(monkeypatch: pytest.MonkeyPatch, error: int, alive: bool):
    kernel32 = SimpleNamespace(OpenProcess=lambda *_: 0, GetLastError=lambda: error)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel32), raising=False)
    monkeypatch.setattr(processes, "os", SimpleNamespace(name="nt"))
    assert processes.process_is_alive(4711) is alive


@needs.PROC
def test_containers_of_one_name_are_machines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here, ask = processes.machine(), os.stat
    assert here == processes.machine()

    def other_space(path: str) -> os.stat_result:
        return ask("/proc" if path == "/proc/self/ns/pid" else path)

    monkeypatch.setattr(os, "stat", other_space)
    assert processes.machine() != here


def threads() -> list[int]:
    """How many threads each linear algebra library uses now."""
    controller = processes._controller("scipy.linalg" in sys.modules)
    return [library["num_threads"] for library in controller.info() if library["user_api"] == "blas"]


@pytest.fixture
def two() -> Iterator[list[int]]:
    """Two threads for each library, whatever the machine has; nothing is said where it has no such libraries."""
    np.dot(np.ones((2, 2)), np.ones((2, 2)))
    controller = processes._controller("scipy.linalg" in sys.modules)
    with controller.limit(limits=2, user_api="blas"):
        before = threads()
        if 2 not in before:
            pytest.skip("no linear algebra library here can be told its number of threads; install NumPy with OpenBLAS")
        yield before


def test_whoever_leaves_first_takes_nothing_from_those_inside(two: list[int]) -> None:
    """Two threads whose turns overlap, as sweeps of two sessions do."""
    entered, left = threading.Event(), threading.Event()
    within: list[list[int]] = []

    def other() -> None:
        with one_thread():
            entered.set()
            assert left.wait(60)
            within.append(threads())

    thread = threading.Thread(target=other)
    with one_thread():
        thread.start()
        assert entered.wait(60)
    left.set()
    thread.join(60)
    assert within == [[1] * len(two)]
    assert threads() == two


def test_what_fails_inside_leaves_as_many_threads_as_before(two: list[int]) -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        assert set(threads()) == {1}
        raise ZeroDivisionError
    assert threads() == two


def test_a_library_that_is_loaded_meanwhile_is_limited_too(two: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its controller is another one; all is put back when the last has left."""
    known = processes._controller("scipy.linalg" in sys.modules)
    later = type(known)()
    with one_thread():
        monkeypatch.setattr(processes, "_controller", lambda with_scipy: later)
        with one_thread():
            assert len(processes._before) == 2
        assert set(threads_of(known)) == {1}
    assert threads_of(known) == two and processes._before == []


def threads_of(controller: object) -> list[int]:
    """The same of the libraries of one controller."""
    return [one["num_threads"] for one in controller.info() if one["user_api"] == "blas"]  # type: ignore[attr-defined]
