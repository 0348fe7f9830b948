"""An export is there whole or not at all: full disks, folders without rights, errors and kills at every step."""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.bundle import export
from engine.bundle.folder import Failed, new_folder
from engine.common import os_support
from engine.common.errors import EngineError
from engine.common.processes import machine
from engine.data.microdata import RawTable
from engine.study.study import Study
from tests import forked, needs
from tests.engine.household_survey import few_guesses


@pytest.mark.slow
def test_a_folder_is_whole_or_absent(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a") as (aside, finish):
        (aside / "x").write_text("x")
        assert not (tmp_path / "a").exists()
        finish()
    assert [p.name for p in tmp_path.iterdir()] == ["a"] and (tmp_path / "a" / "x").exists()
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "b") as (aside, finish):
        (aside / "x").write_text("x")
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_what_killed_exports_left_is_removed_by_the_next(tmp_path: Path) -> None:

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = machine()
    kept = [f".out.{here}.{os.getpid()}.0123abcd.part", f".out.ffffffff.{ended.pid}.0123abcd.part", ".my notes.1.part"]
    for name in (*kept, f".out.{here}.{ended.pid}.0123abcd.part", f".other.{here}.{ended.pid}.0123abcd.part"):
        (tmp_path / name).mkdir()
    with new_folder(tmp_path / "out") as (_, finish):
        finish()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*kept, "out"])


@pytest.mark.slow
def test_what_killed_replays_left_among_passing_files_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.bundle import folder

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with folder.scratch_folder() as aside:
        name = aside.name
    assert not list(tmp_path.iterdir())
    (tmp_path / name.replace(f".{os.getpid()}.", f".{ended.pid}.")).mkdir()
    with folder.scratch_folder() as aside:
        assert list(tmp_path.iterdir()) == [aside]
    assert not list(tmp_path.iterdir())


def left_in(folder: Path) -> list[str]:
    """What is left once whoever clears up has had its time."""
    until = time.monotonic() + 15
    while any(p.name.endswith(".part") for p in folder.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    return sorted(p.name for p in folder.iterdir())


def in_a_group(code: str, *words: str, **environment: str) -> int:
    """The exit code of a process in a group of its own."""
    return forked.run(["-c", "import os; os.setsid()\n" + code, *words], forked.ROOT, **environment).returncode


WRITING = """
import os, signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from engine.bundle.folder import new_folder

moment = sys.argv[2]


def here(name):
    if name == moment:
        os.killpg(0, signal.SIGKILL)


with new_folder(Path(sys.argv[1])) as (aside, finish):
    here("made")
    (aside / "inner").mkdir()
    (aside / "inner" / "a").write_text("a")
    here("written")
    rename = os.rename

    def renamed(*names):
        here("before")
        rename(*names)
        here("after")

    os.rename = renamed
    finish()
here("end")
"""


@needs.SIGKILL
@pytest.mark.slow
@pytest.mark.parametrize(("moment", "left"), [("made", 0), ("written", 0), ("before", 0), ("after", 1), ("end", 1)])
def test_a_process_group_killed_at_a_step_leaves_nothing_or_all(tmp_path: Path, moment: str, left: int) -> None:
    assert in_a_group(WRITING, str(tmp_path / "out"), moment) == -signal.SIGKILL
    assert left_in(tmp_path) == ["out"][:left]
    assert not left or (tmp_path / "out" / "inner" / "a").read_text() == "a"


@needs.SIGKILL
@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, False])
def test_nothing_is_left_of_a_scratch_folder(tmp_path: Path, killed: bool) -> None:
    words = """
import os, signal, sys
from engine.bundle.folder import scratch_folder

with scratch_folder() as folder:
    (folder / "release.csv").write_text("a")
    assert folder.stat().st_mode & 0o777 == 0o700 and str(folder.parent) == os.environ["TMPDIR"]
    if sys.argv[1] == "True":
        os.killpg(0, signal.SIGKILL)
"""
    assert in_a_group(words, str(killed), TMPDIR=str(tmp_path)) == (-signal.SIGKILL if killed else 0)
    until = time.monotonic() + 15
    while list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []


def test_without_a_process_that_clears_up_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.bundle import cleanup_process

    monkeypatch.setattr(cleanup_process, "__file__", str(tmp_path / "missing.py"))
    with pytest.raises(Failed, match=r"could not be started \(it ended at once\)"), new_folder(tmp_path / "out"):
        pass
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python-away"))
    words = r"nothing was written: .* \(No such file or directory\); let this program start python-away"
    with pytest.raises(Failed, match=words), new_folder(tmp_path / "out"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "code", [errno.ENOSPC, *(pytest.param(code, marks=pytest.mark.slow) for code in (errno.EDQUOT, errno.EIO))]
)
def test_a_disk_that_fails_at_any_write_gets_one_sentence(
    home: tuple[Path, RawTable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    few_guesses(monkeypatch)
    folder, raw = home
    opened: list[int] = []
    real = builtins.open

    def failing(fails_at: int) -> None:
        opened.clear()

        def one(file, mode="r", *args, **kwargs):
            if set(mode) & set("wax+") and ".part" in str(file):
                opened.append(1)
                if len(opened) == fails_at:
                    raise OSError(code, os.strerror(code), str(file))
            return real(file, mode, *args, **kwargs)

        monkeypatch.setattr(builtins, "open", one)
        monkeypatch.setattr(io, "open", one)

    with Study.open(folder / "household.study") as study:
        failing(0)
        export(study, raw, None, tmp_path / "all", tier="public", formats=("csv",))
        steps = len(opened)
        assert steps >= 10
        for fails_at in range(1, steps + 1, 3):
            failing(fails_at)
            with pytest.raises(EngineError) as refused:
                export(study, raw, None, tmp_path / "out", tier="public", formats=("csv",))
            words = "the disk is full" if code != errno.EIO else os.strerror(code)
            assert words in str(refused.value) and "nothing was left behind" in str(refused.value)
            assert sorted(p.name for p in tmp_path.iterdir()) == ["all"]


def test_an_error_of_a_library_on_a_full_disk_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    class OddError(Exception):
        pass

    monkeypatch.setattr(os_support, "_FREE", 1 << 62)
    with pytest.raises(Failed, match="the disk is full"), new_folder(tmp_path / "a"):
        raise OddError


@needs.PLAIN_USER
def test_a_folder_without_rights_gets_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EngineError, match="cannot write beside 'a'"), new_folder(tmp_path / "a"):
        pass


def test_a_parent_that_cannot_be_written_to_gets_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    words = "cannot write beside 'a': Permission denied; choose another folder"
    with pytest.raises(Failed, match=words), new_folder(tmp_path / "a"):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "total", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 10**9, "the disk is full"),
        (RuntimeError("a library's own words"), 10**9, "the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied"), 10**9, "Permission denied"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), 0, "No such file or directory"),
    ],
)
def test_only_a_full_disk_is_called_full(
    error: Exception, total: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=total, free=0))
    with (
        pytest.raises(Failed, match=rf"could not be written: {reason}; nothing was left"),
        new_folder(tmp_path / "out"),
    ):
        raise error
    assert not any(tmp_path.iterdir())
