"""Workspaces: private, found by unguessable tokens, harmless names, deleted whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.common.errors import EngineError, UsageError
from engine.common.os_support import user_folder
from frontier_app.session import jobs, launch, loading, workspace
from frontier_app.session.settings import PRIVACY


def test_a_workspace_is_private_and_found_by_its_whole_token_only():
    at = workspace.create()
    at.note(data="czech")
    assert at.folder.stat().st_mode & 0o777 == 0o700
    assert (at.folder / "about.json").stat().st_mode & 0o777 == 0o600
    assert workspace.find(at.token) == at
    assert len(at.token) == 22 and workspace.create().token != at.token
    for token in (None, "", at.token[:-1], at.token + "/", "../" + at.token, at.token[:-1] + "."):
        assert workspace.find(token) is None


def test_nothing_on_disk_tells_the_token():
    at = workspace.create()
    at.note(data="czech")
    at.save_plan("")
    assert at.token not in repr(at)
    for path in (at.folder, *at.folder.iterdir()):
        assert at.token not in path.name and (path.is_dir() or at.token not in path.read_text())
    assert workspace.find(at.folder.name) is None


def test_a_folder_that_an_earlier_version_named_by_its_token_is_not_opened_by_it(tmp_path: Path):
    old = user_folder() / "workspaces" / ("A" * 22)
    old.mkdir(parents=True)
    (old / "about.json").write_text('{"data": "czech", "study": "study-1.study", "owner": true}')
    assert workspace.find("A" * 22) is None
    found = workspace.link(old / "study-1.study", None)
    assert found.folder == old and found.about["data"] == "czech", "a launch finds the work by the study's path"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file modes; there the rights are set by name")
def test_what_is_kept_is_for_the_owner_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "launch", lambda *_: 0)
    before = os.umask(0o022)
    try:
        at = workspace.create()
        at.note(data="czech", study="study-1.study")
        at.save_plan("")
        at.save_look("{}")
        at.save_upload("a.csv", b"a\n1\n")
        jobs.start(at)
        jobs.start_recheck(at, ["x1"], 2, "r", "u")
        jobs.start_export(at, "x1", "public", ["csv"], [], False)
        modes = {path.name: path.stat().st_mode & 0o077 for path in (at.folder, *at.folder.rglob("*"))}
    finally:
        os.umask(before)
    assert {"job.json", "recheck.json", "export.json", "look.json", "plan.toml", "a.csv", "exports"} <= set(modes)
    assert not any(modes.values()), modes


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
        loading.open_upload("big.csv", b"", most * 2**20 + 1)


def test_deleting_removes_everything_but_a_study_that_lies_elsewhere(tmp_path: Path):
    study = tmp_path / "mine.study"
    study.write_bytes(b"x")
    at = workspace.link(study, "czech")
    assert at.study == study and workspace.link(study, None) == at and at.about["data"] == "czech"
    at.delete()
    assert not at.folder.exists() and study.exists()


def test_a_launch_on_the_same_data_finds_the_work_that_was_begun_on_them():
    at = workspace.link(None, "czech")
    at.note(study="study-1.study")
    assert workspace.link(None, "czech") == at and at.about["study"] == "study-1.study"
    assert workspace.link(None, "fair") != at
    other = workspace.create()
    other.note(data="adult")
    assert workspace.link(None, "adult") != other, "opened by somebody in a session, not by a launch"


def test_the_server_is_started_safely(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FRONTIER_HOME", "here")
    words, env = launch.command(1234), launch.environment()
    assert words[1:] == ["-P", "-m", "frontier_app.session.server", "1234"]
    assert Path(env["FRONTIER_HOME"]).is_absolute()


def test_a_port_that_cannot_be_is_refused():
    with pytest.raises(EngineError, match="port 99999999"):
        launch.launch(None, None, 99999999, False)


def test_no_exports_in_a_fresh_workspace():
    assert jobs.complete(workspace.create()) == []
