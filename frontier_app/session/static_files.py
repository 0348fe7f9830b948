"""Streamlit's scripts, styles and fonts: each is sent in one piece, and a page tells ahead which scripts it will need.

Streamlit sends a file in small pieces, each by way of a thread, while the same process is importing what the first page
needs: a hundred scripts then take a second.  Their names hold digests, so a browser keeps them.
"""

from __future__ import annotations

import re
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from frontier_app.session.guard import Receive, Scope, Send

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
