"""Workspaces: private, unguessable, harmless names, deleted whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import EngineError, UsageError
from frontier_app import actions, exports, launch, workspace
from frontier_app.settings import PRIVACY


def test_a_workspace_is_private_and_found_by_its_whole_name_only():
    at = workspace.create()
    at.note(data="czech")
    assert at.folder.stat().st_mode & 0o777 == 0o700
    assert (at.folder / "about.json").stat().st_mode & 0o777 == 0o600
    assert workspace.find(at.token) == at
    assert len(at.token) == 22 and workspace.create().token != at.token
    for token in (None, "", at.token[:-1], at.token + "/", "../" + at.token, at.token[:-1] + "."):
        assert workspace.find(token) is None


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("people.csv", "people.csv"),
        ("../../etc/passwd.csv", "passwd.csv"),
        ("a b;c$(d).CSV", "a_b_c_d.csv"),
        ("…….parquet", "data.parquet"),
        ("x" * 300 + ".csv", "x" * 80 + ".csv"),
    ],
)
def test_an_upload_is_kept_under_a_harmless_name(name: str, kept: str):
    at = workspace.create()
    path = at.save_upload(name, b"a\n1\n")
    assert path.parent.parent == at.folder and path.name == kept
    assert path.stat().st_mode & 0o777 == 0o600
    assert at.save_upload("other.csv", b"b\n2\n").exists() and (not path.exists() or kept == "other.csv")


def test_too_large_a_file_is_refused_on_the_server_too():
    most = int(str(PRIVACY["server.maxUploadSize"]))
    with pytest.raises(UsageError, match="at most"):
        actions.open_upload("big.csv", b"", most * 2**20 + 1)


def test_deleting_removes_everything_but_a_study_that_lies_elsewhere(tmp_path: Path):
    study = tmp_path / "mine.study"
    study.write_bytes(b"x")
    at = workspace.link(study, "czech")
    assert at.study == study and workspace.link(study, None) == at and at.about["data"] == "czech"
    at.delete()
    assert not at.folder.exists() and study.exists()


def test_the_server_is_started_safely(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FRONTIER_STUDY", "/secret/place.study")
    monkeypatch.setenv("FRONTIER_HOME", "here")
    words, env = launch.command(1234), launch.environment()
    assert "-P" in words and "--server.address=127.0.0.1" in words and "--browser.gatherUsageStats=false" in words
    assert "FRONTIER_STUDY" not in env and Path(env["FRONTIER_HOME"]).is_absolute()


def test_a_port_that_cannot_be_is_refused():
    with pytest.raises(EngineError, match="port 99999999"):
        launch.launch(None, None, 99999999, False)


def test_no_exports_in_a_fresh_workspace():
    assert exports.found(workspace.create()) == []


def test_the_doorway_is_one_empty_workspace_that_shows_who_came():
    at = workspace.doorway()
    assert at.is_doorway and workspace.doorway() == at
    assert not workspace.create().is_doorway
    at.note(data="czech")
    assert not at.is_doorway and workspace.doorway() != at
