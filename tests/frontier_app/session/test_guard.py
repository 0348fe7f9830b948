"""The guard before the server: its own name only, pages of its own only, and what every answer tells the browser."""

from __future__ import annotations

import base64
import hashlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import streamlit
from streamlit.starlette import App

from frontier_app.session import server, settings
from tests.asgi import run


def asked(headers: list[tuple[bytes, bytes]], kind: str = "http") -> tuple[list[dict[str, Any]], bool]:
    """What the guard answers, and whether it let the application answer."""
    sent: list[dict[str, Any]] = []
    reached = False

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        nonlocal reached
        reached = True
        answer = [(b"Referrer-Policy", b"unsafe-url"), (b"x-own", b"1")]
        start = "websocket.http.response.start" if kind == "websocket" else "http.response.start"
        await send({"type": start, "status": 200, "headers": answer})

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    run(server.Guard(inner, "a mark")({"type": kind, "headers": headers}, receive, send))
    return sent, reached


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("headers", "right"),
    [
        ([(b"host", b"127.0.0.1:8501")], True),
        ([(b"host", b"localhost")], True),
        ([(b"host", b"LOCALHOST:1"), (b"origin", b"http://localhost:1")], True),
        ([(b"host", b"127.0.0.1:8501"), (b"origin", b"http://127.0.0.1:8501")], True),
        ([], False),
        ([(b"host", b"")], False),
        ([(b"host", b"evil.example:8501")], False),
        ([(b"host", b"127.0.0.1.evil.example")], False),
        ([(b"host", b"localhost.")], False),
        ([(b"host", b"[::1]:8501")], False),
        ([(b"host", b"0.0.0.0:8501")], False),
        ([(b"host", b"127.0.0.1:8501\n")], False),
        ([(b"host", b"user@127.0.0.1")], False),
        ([(b"host", b"127.0.0.1"), (b"host", b"127.0.0.1")], False),
        ([(b"host", b"127.0.0.1:1"), (b"origin", b"http://evil.example")], False),
        ([(b"host", b"127.0.0.1:1"), (b"origin", b"http://127.0.0.1:2")], False),
        ([(b"host", b"127.0.0.1:1"), (b"origin", b"http://localhost:1")], False),
        ([(b"host", b"127.0.0.1:1"), (b"origin", b"https://127.0.0.1:1")], False),
        ([(b"host", b"127.0.0.1:1"), (b"origin", b"null")], False),
        ([(b"host", b"127.0.0.1:1"), (b"origin", b"http://127.0.0.1:1"), (b"origin", b"http://evil.example")], False),
    ],
)
def test_only_the_servers_own_name_and_pages_are_served(
    kind: str, headers: list[tuple[bytes, bytes]], right: bool
) -> None:
    sent, reached = asked(headers, kind)
    assert reached is right
    if not right and kind == "websocket":
        assert [message["type"] for message in sent] == ["websocket.close"]
    if not right and kind == "http":
        assert sent[0]["status"] == 421 and b"evil" not in sent[1]["body"]


@pytest.mark.parametrize("host", [b"127.0.0.1:8501", b"evil.example"])
def test_every_answer_carries_the_headers_once(host: bytes) -> None:
    sent, _ = asked([(b"host", host)])
    names = [name.lower() for name, _ in sent[0]["headers"]]
    said = {name.lower(): value for name, value in sent[0]["headers"]}
    assert len(set(names)) == len(names)
    assert said[settings.MARK.encode()] == b"a mark"
    assert said[b"referrer-policy"] == b"no-referrer" and said[b"x-content-type-options"] == b"nosniff"
    policy = said[b"content-security-policy"].decode()
    for words in ("default-src 'self'", "object-src 'none'", "frame-src 'none'", "frame-ancestors 'none'"):
        assert words in policy
    assert re.search(r"img-src 'self' data: blob:(;|$)", policy)
    assert "evil" not in policy and "*" not in policy and "http:" not in policy and "https:" not in policy
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert scripts.startswith("script-src 'self' 'unsafe-eval' 'sha256-") and "inline" not in scripts


def test_the_scripts_of_streamlits_page_are_named_by_their_digests() -> None:
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    inline = [server.PAGE_SCRIPT, *re.findall(r"<script>(.*?)</script>", page, re.DOTALL)]
    assert len(inline) > 1 and server.inline_scripts().count("sha256-") == len(inline)
    for script in inline:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in server.inline_scripts()
    assert not re.search(r"\son\w+=", page), "a handler in an attribute would not run"


def test_streamlit_has_what_the_server_relies_on() -> None:
    assert inspect.iscoroutinefunction(App.__call__)
    assert "config" in inspect.signature(App.run).parameters
    assert "routes" in inspect.signature(App).parameters
