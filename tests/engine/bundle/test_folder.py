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

import pytest

from engine.bundle import export
from engine.bundle.folder import Failed, new_folder
from engine.bundle.verify import verify
from engine.errors import EngineError
from engine.microdata import RawTable
from engine.study import Study


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


def test_what_a_killed_export_left_is_removed_by_the_next(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for pid in (ended.pid, os.getpid()):
        (tmp_path / f".out.{pid}.abc.part").mkdir()
    (tmp_path / f".other.{ended.pid}.abc.part").mkdir()
    with new_folder(tmp_path / "out") as (_, finish):
        finish()
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == [f".other.{ended.pid}.abc.part", f".out.{os.getpid()}.abc.part", "out"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_fails_at_any_write_gets_one_sentence(
    home: tuple[Path, RawTable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
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
    from engine.bundle import folder

    class OddError(Exception):
        pass

    monkeypatch.setattr(folder, "_FREE", 1 << 62)
    with pytest.raises(Failed, match="the disk is full"), new_folder(tmp_path / "a"):
        raise OddError


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="rights do not bind here")
def test_a_folder_without_rights_gets_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EngineError, match="cannot write beside 'a'"), new_folder(tmp_path / "a"):
        pass


def test_a_parent_that_cannot_be_written_to_gets_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    def denied(**kwargs):
        raise PermissionError(errno.EACCES, "Permission denied", kwargs["dir"])

    monkeypatch.setattr(tempfile, "mkdtemp", denied)
    words = "cannot write beside 'a': Permission denied; choose another --out"
    with pytest.raises(Failed, match=words), new_folder(tmp_path / "a"):
        pass


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL there")
@pytest.mark.slow
def test_killed_at_any_moment_leaves_nothing_or_all_bundles(home: tuple[Path, RawTable], tmp_path: Path) -> None:
    folder, _ = home
    words = [
        "export",
        str(folder / "household.study"),
        "--data",
        str(folder / "original_survey.csv"),
        "--tier",
        "public",
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for i, delay in enumerate((0.0, 0.3)):
        out = tmp_path / f"out{i}"
        running = subprocess.Popen(
            [sys.executable, "-m", "engine", *words, "--out", str(out)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
        assert running.stderr is not None
        for line in running.stderr:
            if b"writing" in line:
                break
        time.sleep(delay)
        running.send_signal(signal.SIGKILL)
        running.wait()
        running.stderr.close()
        if out.exists():
            assert not any(one.problems for one in verify(out))
        visible = [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
        assert all(not any(one.problems for one in verify(p)) for p in visible)
