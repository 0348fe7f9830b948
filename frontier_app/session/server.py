"""The dashboard's server: ``python -m frontier_app.session.server PORT``, which reads its launch on standard input.

``frontier app`` starts it (:mod:`frontier_app.session.launch`); nobody else needs to.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from threading import Thread

from streamlit.starlette import App

from frontier_app.session import access, page_html
from frontier_app.session.guard import Guard, Receive, Scope, Send
from frontier_app.session.settings import PRIVACY
from frontier_app.session.static_files import StaticFiles

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
    access.begin(launch["token"], Path(launch["workspace"]) if launch["workspace"] else None, tour=launch["tour"])
    os.umask(0o077)
    Thread(target=_load_ahead, daemon=True).start()
    dashboard = Dashboard(SCRIPT, routes=page_html.routes())
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
