"""Workspaces: private folders, and the tokens that open them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.common.errors import EngineError, UsageError
from engine.common.os_support import user_folder
from frontier_app.session import jobs, launch, loading, workspace
from frontier_app.session.settings import PRIVACY
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, launched
from tests.frontier_app.elements import press


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


def visited(token: str) -> AppTest:
    """A new session at an address with this token."""
    made = AppTest.from_file(str(APP), default_timeout=300)
    made.query_params["w"] = token
    return made.run()


def is_owner(made: AppTest) -> bool:
    """Whether the session may open files by their path."""
    offered = any(box.key == "open-path-text" for box in made.text_input)
    held = bool(made.session_state["frontier"].owner)
    assert offered == held or made.session_state["frontier"].workspace is not None
    return held


def opened(made: AppTest, name: str = "fair") -> AppTest:
    """The session after a sample was opened in it."""
    return made.button(key=f"open-{name}").click().run()


def token_in(made: AppTest) -> str:
    """The token in the address of a session."""
    held = made.query_params["w"]
    return held[0] if isinstance(held, list) else held


def test_without_a_launch_no_token_is_the_launchs() -> None:
    assert not workspace.is_the_launch("") and workspace.opened_by("") is None and workspace.opened_by(None) is None
    assert workspace.opened_by("é" * 22) is None


@pytest.mark.slow
def test_the_launchs_address_has_the_owners_rights_and_keeps_them_when_loaded_again() -> None:
    token = launched(None)
    made = visited(token)
    assert is_owner(made) and token_in(made) == token
    made = opened(made)
    mine = token_in(made)
    assert mine != token and is_owner(visited(mine)), "a workspace made in this launch, its page loaded again"
    assert "fair ·" in visited(mine).caption[0].value


@pytest.mark.slow
def test_a_later_launch_takes_the_rights_of_an_earlier_ones_addresses() -> None:
    first = launched(None)
    mine = token_in(opened(visited(first)))
    second = launched(None)
    assert second != first
    assert not is_owner(visited(first)) and any("nothing any more" in one.value for one in visited(first).info)
    kept = visited(mine)
    assert "fair ·" in kept.caption[0].value, "the work itself is found"
    assert not is_owner(kept)
    left = press(kept, "open-other")
    assert not is_owner(left)


def server_ended(at: Workspace) -> None:
    """As if the server that gave the workspace's tokens had ended, and its number had come again."""
    at.note(tokens=[{**one, "born": "another"} for one in at.about["tokens"]])


def test_a_token_of_a_server_that_has_ended_opens_nothing_and_its_work_is_listed() -> None:
    first = opened(visited(launched(None)))
    mine, at = token_in(first), first.session_state["frontier"].workspace
    server_ended(at)
    refused = visited(mine)
    assert any("nothing any more" in one.value for one in refused.info)
    assert refused.session_state["frontier"].workspace is None and not is_owner(refused)
    assert not any((button.key or "").startswith("go-on-") for button in refused.button), "it may be anybody's"
    made = visited(launched(None))
    made = made.button(key=f"go-on-{at.folder.name}").click().run()
    assert not made.exception and "fair ·" in made.caption[0].value
    assert token_in(made) != mine and is_owner(visited(token_in(made)))
    assert workspace.find(mine) is None


@pytest.mark.slow
def test_work_that_is_open_at_another_server_stays_open_there() -> None:
    made = opened(visited(launched(None)))
    at, mine = made.session_state["frontier"].workspace, token_in(made)
    again = workspace.reopened(at.folder)
    assert again.token != mine and workspace.find(mine) == workspace.find(again.token) == at
    server_ended(at)
    assert len(workspace.reopened(at.folder).about["tokens"]) == 1, "tokens that are good for nothing are not kept"


def test_earlier_work_is_for_who_started_the_server_alone() -> None:
    at = workspace.create()
    with pytest.raises(UsageError, match="earlier work is opened only at the address"):
        loading.go_on(at.folder)  # a session of its own, which no address has given rights


def test_with_nothing_open_the_page_loaded_again_is_still_its_owners() -> None:
    made = opened(visited(launched(None)))
    left = press(made, "open-other")
    assert is_owner(left) and left.session_state["frontier"].workspace is None
    again = visited(token_in(left))
    assert is_owner(again) and again.session_state["frontier"].workspace is None and not again.info
    launched(None)
    assert not is_owner(visited(token_in(left)))


@pytest.mark.slow
def test_who_comes_without_the_launchs_address_gets_no_rights_by_a_workspace() -> None:
    launched(None)
    stranger = AppTest.from_file(str(APP), default_timeout=300).run()
    assert not is_owner(stranger)
    assert not is_owner(visited(token_in(opened(stranger))))
    at = workspace.create()
    at.note(data="czech", owner=True)  # as earlier versions noted it
    assert not is_owner(visited(at.token))


@pytest.mark.slow
def test_a_launch_on_a_study_opens_its_workspace_and_outlives_its_deletion(tmp_path: Path) -> None:
    at = workspace.link(tmp_path / "mine.study", "czech")
    made = visited(token := launched(at))
    assert "czech ·" in made.caption[0].value and is_owner(made) and token_in(made) == token
    assert workspace.link(tmp_path / "mine.study", None) == at
    at.delete()
    again = visited(token)
    assert is_owner(again) and again.session_state["frontier"].workspace is None and not again.exception


@pytest.mark.slow
def test_the_rights_are_in_no_file(home: Path) -> None:
    made = opened(visited(token := launched(None)))
    mine = token_in(made)
    said = [path.read_text(errors="replace") for path in home.rglob("*") if path.is_file()]
    assert said
    for secret in (token, workspace.digest(token), mine):
        assert not any(secret in text for text in said)
    assert not any('"owner"' in text for text in said)


@pytest.mark.slow
def test_the_page_says_what_its_address_is_good_for() -> None:
    def said(made: AppTest) -> str:
        return next(one.value for one in made.markdown if one.value.startswith("Your work is in a private folder"))

    at = workspace.link(None, "czech")
    assert "until the dashboard is ended; *frontier app*" in said(visited(launched(at)))
    assert "**Give it to nobody**" in said(opened(visited(launched(None))))
    assert "nobody" not in said(opened(AppTest.from_file(str(APP), default_timeout=300).run()))
