"""The guard before the dashboard's server: it refuses requests under other names and from other pages.

A page elsewhere may send a browser to this machine, or point its own name here (DNS rebinding).  Every request, of any
path and kind, must name the server as 127.0.0.1 or localhost, and what a page sends must come from a page of this
server.  The rest is refused before Streamlit sees it, which would look up this machine's addresses on the internet to
decide.  Every answer tells the browser to load from, connect to and be framed by nothing else.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from hashlib import sha256
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MARK = "x-frontier-guard"
"""A header of every answer, with what the launch told its server alone: so the launch knows that its own server
answers, behind its guard, and nobody who took the port before it."""
_HOST = re.compile(rb"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.IGNORECASE)
_REFUSAL = b"This server answers on this machine only, at the address that `frontier app` printed.\n"
_POLICY = {
    "default-src": "'self'",
    # Plotly compiles the drawing of large clouds (WebGL) from text; nothing else needs 'unsafe-eval'.
    "script-src": "'self' 'unsafe-eval' {inline}",
    "style-src": "'self' 'unsafe-inline'",  # Streamlit and Plotly write styles as they draw
    "img-src": "'self' data: blob:",  # blob: a figure that is saved as a picture
    "font-src": "'self' data:",
    "connect-src": "'self' ws://{host}",  # not every browser takes 'self' for a WebSocket too
    "worker-src": "'self'",
    "object-src": "'none'",
    "frame-src": "'none'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}


@cache
def inline_scripts() -> str:
    """The digests of the scripts that stand in the page itself, as a policy names them."""
    from frontier_app.session.page_html import html

    scripts = re.findall(r"<script>(.*?)</script>", html(), re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)


def policy(host: str) -> str:
    """The Content-Security-Policy of an answer to a request at ``host``, a name with its port."""
    return "; ".join(
        f"{name} {sources.format(host=host, inline=inline_scripts())}" for name, sources in _POLICY.items()
    )


def headers(host: str, mark: str) -> dict[bytes, bytes]:
    """The headers of every answer to the browser, and to the launch."""
    return {
        b"content-security-policy": policy(host).encode(),
        b"cross-origin-opener-policy": b"same-origin",
        b"cross-origin-resource-policy": b"same-origin",
        b"referrer-policy": b"no-referrer",
        b"x-content-type-options": b"nosniff",
        b"x-frame-options": b"DENY",
        MARK.encode(): mark.encode(),
    }


def own_host(scope: Scope) -> str | None:
    """The host that a request names, if it is this server's and what sent the request is no page from elsewhere."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        return None
    origins = [value for name, value in scope["headers"] if name == b"origin"]
    if any(origin.lower() != b"http://" + hosts[0].lower() for origin in origins):
        return None
    return str(hosts[0].decode("ascii"))


class Guard:
    """An ASGI application before another one; ``mark`` is what its answers say under :data:`MARK`."""

    def __init__(self, inner: Callable[[Scope, Receive, Send], Awaitable[None]], mark: str) -> None:
        self.inner, self.mark = inner, mark

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        host = own_host(scope)
        said = headers(host or "127.0.0.1", self.mark)

        async def sealed(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                kept = [pair for pair in message.get("headers", ()) if bytes(pair[0]).lower() not in said]
                message = {**message, "headers": [*kept, *said.items()]}
            await send(message)

        if host is not None:
            await self.inner(scope, receive, sealed)
        elif scope["type"] == "websocket":
            await receive()  # the request to connect; closing it before it is accepted is an answer of 403
            await send({"type": "websocket.close", "code": 1008})
        else:
            plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_REFUSAL))]
            await sealed({"type": "http.response.start", "status": 421, "headers": plain})
            await sealed({"type": "http.response.body", "body": _REFUSAL})
