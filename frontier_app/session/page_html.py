"""The page that a browser loads: Streamlit's own, and in it where its server is.

Streamlit's page looks for its server below its own address first.  At ``/explore`` it asks for ``/explore/_stcore/…``,
which is nowhere (an error in the browser's console), and only then at the top.  With the server's address in the page
it asks there at once.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from frontier_app.session.navigation import PAGES

SCRIPT = "window.__streamlit = {BACKEND_BASE_URL: location.origin};"
"""What tells Streamlit's page where its server is."""


@cache
def html() -> str:
    """The page."""
    own = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    return own.replace("<head>", f"<head><script>{SCRIPT}</script>", 1)


async def _answer(request: Request) -> HTMLResponse:
    return HTMLResponse(html(), headers={"cache-control": "no-cache"})


def routes() -> list[Route]:
    """The addresses of the page: the address of each page but the first, which is at the top, where nothing is
    missed."""
    return [Route(f"/{name}", _answer) for name in PAGES if name != "data"]
