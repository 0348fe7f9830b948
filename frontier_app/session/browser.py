"""Open the dashboard in a browser without the secret name of the workspace on a command line.

A browser is given its address on its command line, which every user of the machine can list.  So it is given a page in
a private folder instead, which sends it on.  Browsers that may not read there (some packaged ones) show an error; the
address is in the terminal as well.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

from engine.common.os_support import user_folder, write_private

KEPT = 60.0  # seconds that the page stays: a browser that has to start first takes some of them
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"><title>Dashboard</title></head>
<body><p><a href="{address}">Open the dashboard</a></p></body></html>
"""


@contextmanager
def opened(address: str) -> Iterator[None]:
    """Send a browser to an address; the page that does it is removed soon, and when this ends at the latest."""
    folder = Path(tempfile.mkdtemp(prefix="open-", dir=user_folder()))
    soon = threading.Timer(KEPT, shutil.rmtree, (folder,), {"ignore_errors": True})
    soon.daemon = True
    try:
        page = folder / "dashboard.html"
        write_private(page, _PAGE.format(address=escape(address)).encode())
        with suppress(webbrowser.Error):
            webbrowser.open(page.as_uri())
        soon.start()
        yield
    finally:
        soon.cancel()
        shutil.rmtree(folder, ignore_errors=True)
