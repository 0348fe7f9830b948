"""The page that a browser loads tells where its server is, so that it is not looked for elsewhere first."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette

from frontier_app.session import server
from frontier_app.session.navigation import PAGES
from tests.asgi import run


def answer(path: str) -> tuple[int, str]:
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
            assert answer(f"/{name}") == (200, server.html(name))
    assert answer("/explore/_stcore/health")[0] == 404


def test_it_is_said_before_any_script_of_streamlit_runs():
    before, said, after = server.html().partition(server.PAGE_SCRIPT)
    assert said and before.count("<script") == 1 and "<script" in after and server.PAGE_SCRIPT not in after
