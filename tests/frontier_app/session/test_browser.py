"""A browser is sent to the dashboard without anybody else on the machine learning the address."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlparse

import pytest

from engine.common.errors import EngineError
from engine.common.os_support import user_folder
from frontier_app.session import launch, settings, workspace
from frontier_app.session import launch as opening


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was asked to open."""
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    return found


def pages() -> list[Path]:
    return sorted(user_folder().glob("open-*"))


def test_the_browser_is_given_a_private_page_that_sends_it_on(asked: list[str]) -> None:
    with opening.opened("http://127.0.0.1:1/?w=secret&b=2"):
        page = Path(unquote(urlparse(asked[0]).path))
        assert asked[0].startswith("file:") and page.parent.parent == user_folder()
        assert page.stat().st_mode & 0o777 == 0o600 and page.parent.stat().st_mode & 0o777 == 0o700
        assert 'content="0; url=http://127.0.0.1:1/?w=secret&amp;b=2"' in page.read_text()
        assert "http-equiv" in page.read_text() and "no-referrer" in page.read_text()
    assert pages() == []


@pytest.mark.slow
def test_the_page_does_not_stay_as_long_as_the_server(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "KEPT", 0.05)
    with opening.opened("http://127.0.0.1:1/"):
        until = time.monotonic() + 20
        while pages() and time.monotonic() < until:
            time.sleep(0.01)
        assert pages() == []


def test_a_browser_that_cannot_be_started_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(address: str) -> bool:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "open", broken)
    with opening.opened("http://127.0.0.1:1/"):
        pass
    assert pages() == []


@pytest.mark.parametrize("browser", [True, False])
def test_no_command_line_holds_the_token_or_the_workspace(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], browser: bool
) -> None:
    started: list[tuple[list[str], dict[str, str], Any]] = []

    class Server:
        returncode = 0

        def __init__(self, words: list[str], env: dict[str, str], stdin: IO[bytes], **rest: Any) -> None:
            started.append((words, env, json.load(stdin)))

        def poll(self) -> int:
            return 0

        def wait(self) -> int:
            return 0

    monkeypatch.setattr(subprocess, "Popen", Server)
    monkeypatch.setattr(launch, "_wait_until_up", lambda server, port, mark: True)
    assert launch.launch(None, "czech", None, browser) == 0
    match = re.search(r"\?w=([\w-]{22})", capsys.readouterr().out)
    ((words, env, told),) = started
    assert match and len(asked) == int(browser)
    token, folder = match[1], Path(told["workspace"])
    seen = (*asked, *words, *env.values())
    assert not any(secret in one for one in seen for secret in (token, told["token"], folder.name))
    assert len(told["mark"]) == 22 and not any(told["mark"] in one for one in seen)
    assert told["token"] == workspace.digest(token) and (folder / "about.json").is_file()
    assert workspace.find(token) is None, "nothing on disk knows the launch's token"
    assert pages() == []


@pytest.mark.slow
@pytest.mark.parametrize("said", [None, "", "1", "the mark of another launch"])
def test_who_took_the_port_or_has_no_guard_is_sent_no_token(said: str | None) -> None:
    """The port is on the server's command line, and another account may listen there first."""

    class Bare(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if said is not None:
                self.send_header(settings.MARK, said)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server:
        def poll(self) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Bare) as bare:
        listener = threading.Thread(target=bare.serve_forever)
        listener.start()
        try:
            with pytest.raises(EngineError, match="not the dashboard with its guard"):
                launch._wait_until_up(Server(), bare.server_port, "the mark")  # type: ignore[arg-type]
        finally:
            bare.shutdown()
            listener.join()


def test_what_a_process_is_told_is_in_a_private_file_without_a_name() -> None:
    with launch.standard_input(["sweep", "Äpfel.csv", "\udcff"]) as given:
        assert json.loads(given.read()) == ["sweep", "Äpfel.csv", "\udcff"]
        if os.name != "nt":
            assert os.fstat(given.fileno()).st_mode & 0o077 == 0 and os.fstat(given.fileno()).st_nlink == 0
