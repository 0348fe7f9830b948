"""Where files are: in a checkout, in an installed package, and in the user's own folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from engine.common import os_support as resources
from engine.common.errors import EngineError
from tests import needs


def test_a_checkout_has_its_samples_at_the_top() -> None:
    assert (resources.datasets_folder() / "README.md").is_file()
    assert resources.datasets_folder().parent == resources.glossary_path().parents[1]


def test_an_installed_package_has_them_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "GLOSSARY.md").touch()
    monkeypatch.setattr(resources, "_SHIPPED", tmp_path)
    assert resources.datasets_folder() == tmp_path / "datasets"
    assert resources.glossary_path() == tmp_path / "GLOSSARY.md"


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
    assert resources._user_folder(environment, platform, Path("/home/a")) == wanted


@needs.MODE_BITS
def test_the_users_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "a" / "b"))
    assert not resources.user_folder_place().exists()
    assert stat.S_IMODE(resources.user_folder().stat().st_mode) == 0o700
    assert resources.user_folder() == tmp_path / "a" / "b"


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(EngineError, match="the private data folder 'home' could not be made") as caught:
        resources.user_folder()
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
        resources.user_folder()
    (tmp_path / "home").chmod(0o755)  # what others may list is in folders of mode 700
    assert resources.user_folder() == tmp_path / "home"


@needs.MODE_BITS
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path))
    assert resources.user_folder() == tmp_path
    if os.geteuid() == 0:
        os.chown(tmp_path, 1234, -1)
    else:
        monkeypatch.setattr("os.geteuid", lambda: 1234)
    with pytest.raises(EngineError, match="belongs to another user; set FRONTIER_HOME"):
        resources.user_folder()


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
        resources.user_folder()


@pytest.mark.usefixtures("nobody")
def test_a_user_without_a_home_works_where_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.bundle.leaks import local_names
    from engine.common.compiled import cache_folder

    assert cache_folder().is_dir() and local_names()
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "mine"))
    assert resources.user_folder() == tmp_path / "mine" and cache_folder() == tmp_path / "mine" / "cache"
    monkeypatch.setenv("FRONTIER_HOME", "~nobody/mine")
    assert resources.user_folder_place() == Path("~nobody/mine")
