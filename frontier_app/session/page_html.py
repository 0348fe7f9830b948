"""The page that a browser loads: Streamlit's own, and in it where its server is and which scripts it will need.

Streamlit's page looks for its server below its own address first.  At ``/explore`` it asks for ``/explore/_stcore/…``,
which is nowhere (an error in the browser's console), and only then at the top.  With the server's address in the page
it asks there at once.

Streamlit's page asks for the script of a chart when it meets the first one.  The map needs five megabytes of them,
which are told in the page, so that the browser fetches and compiles them while the server makes the map.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from frontier_app.session import static_files
from frontier_app.session.navigation import PAGES

SCRIPT = "window.__streamlit = {BACKEND_BASE_URL: location.origin};"
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


@cache
def html(name: str = "") -> str:
    """The page, at the address of one of the pages."""
    own = (static_files.FOLDER / "index.html").read_text(encoding="utf-8")
    told = [
        address
        for address in static_files.scripts_of(COMPONENTS.get(name, ()))
        if PurePosixPath(address).name not in own
    ]
    links = "".join(f'<link rel="modulepreload" fetchpriority="low" crossorigin href="{address}">' for address in told)
    own = own.replace("<head>", f"<head><script>{SCRIPT}</script>", 1)
    return own.replace("</head>", f"{links}</head>", 1)


async def _answer(request: Request) -> HTMLResponse:
    return HTMLResponse(html(request.url.path.strip("/")), headers={"cache-control": "no-cache"})


def routes() -> list[Route]:
    """The addresses of the page: the address of each page but the first, which is at the top, where nothing is
    missed."""
    return [Route(f"/{name}", _answer) for name in PAGES if name != "data"]
