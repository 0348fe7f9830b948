"""Where files are: in a checkout, in an installed package, and in the user's own folder."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from engine import resources
from engine.errors import EngineError
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
