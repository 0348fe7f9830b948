"""The page that a browser loads: Streamlit's own, and in it where its server is and which scripts it will need.

Streamlit's page looks for its server below its own address first.  At ``/explore`` it asks for ``/explore/_stcore/…``,
which is nowhere (an error in the browser's console), and only then at the top.  With the server's address in the page
it asks there at once.

Streamlit's page asks for the script of a chart when it meets the first one.  The map needs five megabytes of them,
which are told in the page, so that the browser fetches them and runs that of the chart while the server makes the map.
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
CHART = "PlotlyChart"
"""The component whose script takes half a second to run."""
LARGE = 15_000
"""Bytes from which on a script is told ahead: smaller ones come as fast when they are asked for, and would only stand
before Streamlit's own."""


@cache
def html(name: str = "") -> str:
    """The page, at the address of one of the pages."""
    own = (static_files.FOLDER / "index.html").read_text(encoding="utf-8")
    own = own.replace("<head>", f"<head><script>{SCRIPT}</script>", 1)
    sizes = static_files.scripts_of(COMPONENTS.get(name, ()))
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
