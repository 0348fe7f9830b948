"""What the system says about files, and what is left of a file whose writer was killed."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.common import os_support, processes
from tests import needs

_KILLED = """
import os, sys
from engine.common.os_support import aside
with aside(sys.argv[1]) as part:
    part.write_text("half")
    os._exit(9)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_one_that_writes_there(tmp_path: Path) -> None:
    killed = [sys.executable, "-c", _KILLED, str(tmp_path / "a.csv")]
    assert subprocess.run(killed, check=False, cwd=Path(__file__).parents[3]).returncode == 9
    assert [path.read_text() for path in tmp_path.iterdir()] == ["half"]
    with os_support.aside(tmp_path / "b.csv") as part:
        assert list(tmp_path.iterdir()) == [part]
    assert list(tmp_path.iterdir()) == [tmp_path / "b.csv"]


def test_whoever_has_the_turn_has_it_alone(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    counted.write_text("0")

    def count() -> None:
        for _ in range(20):
            with os_support.turn(tmp_path / ".turn"):
                before = int(counted.read_text())
                time.sleep(0.0002)
                counted.write_text(str(before + 1))

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted.read_text() == "60"


def test_what_others_may_be_writing_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    here, hexadecimal = processes.machine(), "0123456789abcdef"
    kept = {
        f".{here}.{os.getppid()}.{hexadecimal}.part",  # at work
        f".ffffffff.{ended.pid}.{hexadecimal}.part",  # of another machine
        f".{here}.{'9' * 30}.{hexadecimal}.part",  # no process has such a number
        f".{hexadecimal}.part",
        "notes.part",
    }
    for name in kept:
        (tmp_path / name).touch()
    (tmp_path / f".{here}.{ended.pid}.{hexadecimal}.part").mkdir()  # no file
    with os_support.aside(tmp_path / "a") as part:
        at_work = part.name
        with os_support.aside(tmp_path / "b"):
            assert part.exists(), "of this process"
    found = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert found == kept | {"a", "b"} and at_work not in found
    assert any(path.is_dir() for path in tmp_path.iterdir())


@pytest.mark.parametrize(("error", "alive"), [(5, True), (87, False)])
def test_on_windows_a_process_that_may_not_be_opened_is_alive(monkeypatch: pytest.MonkeyPatch, error: int, alive: bool):
    kernel32 = SimpleNamespace(OpenProcess=lambda *_: 0, GetLastError=lambda: error)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel32), raising=False)
    monkeypatch.setattr(processes, "os", SimpleNamespace(name="nt"))
    assert processes.process_is_alive(4711) is alive


@needs.LINKS
def test_a_link_stays_one_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "p.toml").write_text("old")
    (tmp_path / "p.toml").symlink_to(Path("real") / "p.toml")
    with os_support.aside(tmp_path / "p.toml") as part:
        part.write_text("new")
    assert (tmp_path / "p.toml").is_symlink() and (tmp_path / "real" / "p.toml").read_text() == "new"
    assert [file.name for file in (tmp_path / "real").iterdir()] == ["p.toml"]


@needs.PROC
def test_containers_of_one_name_are_machines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here, ask = processes.machine(), os.stat
    assert here == processes.machine()

    def other_space(path: str) -> os.stat_result:
        return ask("/proc" if path == "/proc/self/ns/pid" else path)

    monkeypatch.setattr(os, "stat", other_space)
    assert processes.machine() != here


def test_what_nobody_wrote_to_for_days_is_removed_whoever_left_it(tmp_path: Path) -> None:
    """A container that is started anew has other numbers for its processes, and so is another machine."""
    old, new = (tmp_path / f".ffffffff.7.{token * 16}.part" for token in "ab")
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    with os_support.aside(tmp_path / "a.csv"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {new.name, "a.csv"}
