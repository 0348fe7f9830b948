"""The server's pages and scripts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.applications import Starlette

from frontier_app.session import server
from frontier_app.session.navigation import PAGES
from frontier_app.session.server import StaticFiles, files, scripts_of
from tests.asgi import run

SCRIPTS = "/static/js/"


def answer(path: str, method: str = "GET") -> list[dict[str, Any]]:
    """The messages of the answer to a request; an empty list where it was handed on."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def inner(*_: Any) -> None:
        """Answer nothing."""

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [], "root_path": ""}
    run(StaticFiles(inner)(scope, receive, send))
    return sent


@pytest.mark.slow
def test_every_script_is_sent_whole_and_may_be_kept():
    assert len(files()) > 100
    for address, path in files().items():
        start, body = answer(address)
        told = {name.decode(): value.decode() for name, value in start["headers"]}
        assert start["status"] == 200 and body["body"] == path.read_bytes() and not body.get("more_body")
        assert told["cache-control"] == "public, immutable, max-age=31536000"
        assert told["content-type"].startswith("text/javascript") == (path.suffix == ".js")


@pytest.mark.parametrize("path", ["/", "/explore", "/static/js/", "/static/js/../../index.html", "/static/js/none.js"])
def test_all_else_is_handed_on(path):
    assert answer(path) == []


def test_what_is_no_request_for_a_file_is_handed_on():
    assert answer(next(iter(files())), "POST") == []


@pytest.mark.slow
def test_a_component_brings_along_what_it_imports():
    (chart,) = [address for address in files() if address.startswith(f"{SCRIPTS}PlotlyChart.")]
    found = scripts_of(["PlotlyChart"])
    assert chart in found and len(found) > 10
    for address, size in found.items():
        imported = re.findall(r'(?:from|import)"\./([\w.-]+\.js)"', files()[address].read_text(encoding="utf-8"))
        assert {SCRIPTS + name for name in imported} <= set(found) and size == files()[address].stat().st_size
    assert scripts_of(["NoSuchComponent"]) == {}


@pytest.mark.slow
def test_a_page_tells_the_large_scripts_of_its_components_and_runs_that_of_the_chart():
    for name, components in server.COMPONENTS.items():
        for component in components:
            assert scripts_of([component]), f"{name}: {component}"
        text = server.html(name)
        told = re.findall(r'rel="modulepreload"[^>]* href="(/[^"]+)"', text)
        assert len(told) > 5 and all(files()[one].stat().st_size >= server.LARGE for one in told)
        (run,) = re.findall(r'<script type="module"[^>]* src="(/[^"]+)"', text)
        assert run.startswith(f"{SCRIPTS}PlotlyChart.") and text.index(run) > text.index("/index.")
    assert "fetchpriority" not in server.html("candidates") and server.FOLDER.is_dir()


def page_answer(path: str) -> tuple[int, str]:
    """Status and text of the answer to a request."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "root_path": ""}
    run(Starlette(routes=server.routes())(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode()


def test_every_page_below_the_top_says_where_the_server_is():
    for name in PAGES:
        if name != "data":
            assert page_answer(f"/{name}") == (200, server.html(name))
    assert page_answer("/explore/_stcore/health")[0] == 404


def test_it_is_said_before_any_script_of_streamlit_runs():
    before, said, after = server.html().partition(server.PAGE_SCRIPT)
    assert said and before.count("<script") == 1 and "<script" in after and server.PAGE_SCRIPT not in after
