"""Files: what is left of a killed writer, private folders of a user, shipped files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engine.common import os_support, processes
from engine.common.errors import EngineError
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


@needs.LINKS
def test_a_link_stays_one_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "p.toml").write_text("old")
    (tmp_path / "p.toml").symlink_to(Path("real") / "p.toml")
    with os_support.aside(tmp_path / "p.toml") as part:
        part.write_text("new")
    assert (tmp_path / "p.toml").is_symlink() and (tmp_path / "real" / "p.toml").read_text() == "new"
    assert [file.name for file in (tmp_path / "real").iterdir()] == ["p.toml"]


def test_what_nobody_wrote_to_for_days_is_removed_whoever_left_it(tmp_path: Path) -> None:
    """A container that is started anew has other numbers for its processes, and so is another machine."""
    old, new = (tmp_path / f".ffffffff.7.{token * 16}.part" for token in "ab")
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    with os_support.aside(tmp_path / "a.csv"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {new.name, "a.csv"}


def test_a_checkout_has_its_samples_at_the_top() -> None:
    assert (os_support.datasets_folder() / "README.md").is_file()
    assert os_support.datasets_folder().parent == os_support.glossary_path().parents[1]


def test_an_installed_package_has_them_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "GLOSSARY.md").touch()
    monkeypatch.setattr(os_support, "_SHIPPED", tmp_path)
    assert os_support.datasets_folder() == tmp_path / "datasets"
    assert os_support.glossary_path() == tmp_path / "GLOSSARY.md"


@pytest.mark.parametrize(
    ("environment", "platform", "wanted"),
    [
        ({"FRONTIER_HOME": "/x/y", "XDG_DATA_HOME": "/data"}, "linux", Path("/x/y")),
        ({"XDG_DATA_HOME": "/data"}, "linux", Path("/data/swap-frontier")),
        ({}, "linux", Path("/home/a/.local/share/swap-frontier")),
        ({}, "darwin", Path("/home/a/Library/Application Support/swap-frontier")),
        ({"LOCALAPPDATA": "/c/local"}, "win32", Path("/c/local/swap-frontier")),
        ({}, "win32", Path("/home/a/AppData/Local/swap-frontier")),
    ],
)
def test_the_users_folder_follows_the_platform(environment: dict[str, str], platform: str, wanted: Path) -> None:
    assert os_support._user_folder(environment, platform, Path("/home/a")) == wanted


@needs.MODE_BITS
def test_the_users_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "a" / "b"))
    assert not os_support.user_folder_place().exists()
    assert stat.S_IMODE(os_support.user_folder().stat().st_mode) == 0o700
    assert os_support.user_folder() == tmp_path / "a" / "b"


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(EngineError, match="the private data folder 'home' could not be made") as caught:
        os_support.user_folder()
    assert str(tmp_path) not in str(caught.value)


@needs.MODE_BITS
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_change_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(mode)
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))
    with pytest.raises(
        EngineError, match=r"'home' can be changed by others .*; set FRONTIER_HOME to a folder that you"
    ):
        os_support.user_folder()
    (tmp_path / "home").chmod(0o755)  # what others may list is in folders of mode 700
    assert os_support.user_folder() == tmp_path / "home"


@needs.MODE_BITS
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path))
    assert os_support.user_folder() == tmp_path
    if os.geteuid() == 0:
        os.chown(tmp_path, 1234, -1)
    else:
        monkeypatch.setattr("os.geteuid", lambda: 1234)
    with pytest.raises(EngineError, match="belongs to another user; set FRONTIER_HOME"):
        os_support.user_folder()


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home and without an account."""
    pwd = pytest.importorskip("pwd", reason="Windows always tells a home; run the tests on Linux or macOS")
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "FRONTIER_HOME", "FRONTIER_CACHE"):
        monkeypatch.delenv(name, raising=False)

    def unknown(_: object) -> None:
        raise KeyError("no such account")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(pwd, "getpwnam", unknown)


@pytest.mark.usefixtures("nobody")
def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(EngineError, match=r"this user has no home folder.*set FRONTIER_HOME"):
        os_support.user_folder()


@pytest.mark.usefixtures("nobody")
def test_a_user_without_a_home_works_where_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.bundle.leaks import local_names
    from engine.common.compiled import cache_folder

    assert cache_folder().is_dir() and local_names()
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "mine"))
    assert os_support.user_folder() == tmp_path / "mine" and cache_folder() == tmp_path / "mine" / "cache"
    monkeypatch.setenv("FRONTIER_HOME", "~nobody/mine")
    assert os_support.user_folder_place() == Path("~nobody/mine")
