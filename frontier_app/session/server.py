"""The dashboard's server: ``python -m frontier_app.session.server PORT``, which reads its launch on standard input.

``frontier app`` starts it (:mod:`frontier_app.session.launch`); nobody else needs to.

The page that a browser loads: Streamlit's own, and in it where its server is and which scripts it will need.

Streamlit's page looks for its server below its own address first.  At ``/explore`` it asks for ``/explore/_stcore/…``,
which is nowhere (an error in the browser's console), and only then at the top.  With the server's address in the page
it asks there at once.

Streamlit's page asks for the script of a chart when it meets the first one.  The map needs five megabytes of them,
which are told in the page, so that the browser fetches them and runs that of the chart while the server makes the map.

Streamlit's scripts, styles and fonts: each is sent in one piece, and a page tells ahead which scripts it will need.

Streamlit sends a file in small pieces, each by way of a thread, while the same process is importing what the first page
needs: a hundred scripts then take a second.  Their names hold digests, so a browser keeps them.

The guard before the dashboard's server: it refuses requests under other names and from other pages.

A page elsewhere may send a browser to this machine, or point its own name here (DNS rebinding).  Every request, of any
path and kind, must name the server as 127.0.0.1 or localhost, and what a page sends must come from a page of this
server.  The rest is refused before Streamlit sees it, which would look up this machine's addresses on the internet to
decide.  Every answer tells the browser to load from, connect to and be framed by nothing else.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from hashlib import sha256
from importlib import import_module
from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import TYPE_CHECKING, Any

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from streamlit.starlette import App

from frontier_app.session import workspace
from frontier_app.session.navigation import PAGES
from frontier_app.session.settings import MARK, PRIVACY

if TYPE_CHECKING:
    from collections.abc import Iterable


PAGE_SCRIPT = "window.__streamlit = {BACKEND_BASE_URL: location.origin};"
"""What tells Streamlit's page where its server is."""


COMPONENTS = {
    "explore": (
        "Html",
        "Selectbox",
        "Slider",
        "Checkbox",
        "ButtonGroup",
        "PlotlyChart",
        "DataFrame",
        "Multiselect",
        "NumberInput",
        "Button",
    )
}
"""Streamlit's components on a page, of which the browser is told ahead."""
CHART = "PlotlyChart"
"""The component whose script takes half a second to run."""
LARGE = 15_000
"""Bytes from which on a script is told ahead: smaller ones come as fast when they are asked for, and would only stand
before Streamlit's own."""


@cache
def html(name: str = "") -> str:
    """The page, at the address of one of the pages."""
    own = (FOLDER / "index.html").read_text(encoding="utf-8")
    own = own.replace("<head>", f"<head><script>{PAGE_SCRIPT}</script>", 1)
    sizes = scripts_of(COMPONENTS.get(name, ()))
    ahead = [one for one, size in sizes.items() if size >= LARGE and PurePosixPath(one).name not in own]
    told = "".join(f'<link rel="modulepreload" fetchpriority="low" crossorigin href="{one}">' for one in ahead)
    # below Streamlit's own script, and so run after it
    chart = [one for one in ahead if PurePosixPath(one).name.startswith(f"{CHART}.")]
    run = "".join(f'<script type="module" crossorigin src="{one}"></script>' for one in chart)
    return own.replace("</head>", f"{told}{run}</head>", 1)


async def _answer(request: Request) -> HTMLResponse:
    return HTMLResponse(html(request.url.path.strip("/")), headers={"cache-control": "no-cache"})


def routes() -> list[Route]:
    """The addresses of the page: the address of each page but the first, which is at the top, where nothing is
    missed."""
    return [Route(f"/{name}", _answer) for name in PAGES if name != "data"]


FOLDER = Path(streamlit.__file__).parent / "static"
"""The folder of what Streamlit sends to a browser."""
_HASHED = "/static/"
_KEPT = {"cache-control": "public, immutable, max-age=31536000"}
_IMPORTED = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"')


@cache
def files() -> dict[str, Path]:
    """Every file whose name holds a digest, by its address."""
    return {_HASHED + path.relative_to(FOLDER / "static").as_posix(): path for path in (FOLDER / "static").glob("*/*")}


def scripts_of(components: Iterable[str]) -> dict[str, int]:
    """The scripts of Streamlit's components (the beginnings of their files' names), each with all that it imports, as
    bytes by address; what this version of Streamlit does not have is left out."""
    folder = f"{_HASHED}js/"
    by_name = {address.removeprefix(folder): path for address, path in files().items() if address.startswith(folder)}
    found: dict[str, int] = {}
    ahead = [name for wanted in components for name in by_name if name.startswith(f"{wanted}.")]
    while ahead:
        name = ahead.pop()
        if name in by_name and name not in found:
            text = by_name[name].read_bytes()
            found[name] = len(text)
            ahead += _IMPORTED.findall(text.decode())
    return {folder + name: size for name, size in found.items()}


class StaticFiles:
    """An ASGI application before another one, which answers requests for :func:`files` alone."""

    def __init__(self, inner: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["method"] == "GET"
        path = files().get(scope["path"]) if asked else None
        if path is None:
            await self.inner(scope, receive, send)
        else:
            kind = "text/javascript" if path.suffix == ".js" else guess_type(path.name)[0]
            await Response(path.read_bytes(), media_type=kind, headers=_KEPT)(scope, receive, send)


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

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


SCRIPT = Path(__file__).resolve().parents[1] / "app" / "main.py"
AHEAD = "frontier_app.app.ahead"
"""The module that loads what the first page needs."""


class Dashboard(App):
    """Streamlit's application behind the guard: before everything, its own answers to its failures too."""

    mark = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Guard(StaticFiles(super().__call__), self.mark)(scope, receive, send)


def main() -> None:
    """Serve until the process is ended."""
    (port,) = sys.argv[1:]
    launch = json.load(sys.stdin)
    workspace.begin(launch["token"], Path(launch["workspace"]) if launch["workspace"] else None)
    os.umask(0o077)
    Thread(target=_load_ahead, daemon=True).start()
    dashboard = Dashboard(SCRIPT, routes=routes())
    dashboard.mark = launch["mark"]
    dashboard.run(config={**PRIVACY, "server.port": int(port)})


def _load_ahead() -> None:
    """Load :data:`AHEAD`; meanwhile nobody searches the thousands of classes and functions for garbage again and again,
    which would be a fifth of the time, and afterwards they are left out of such searches."""
    gc.disable()
    try:
        import_module(AHEAD)
    finally:
        gc.freeze()
        gc.enable()


if __name__ == "__main__":
    main()
