"""Start the dashboard's server on this machine, open a browser, and stay until the server ends.

A browser's address on its command line could be listed by every user of the machine.  So the browser is given a page in
a private folder, which sends it on.  Browsers that may not read there (some packaged ones) show an error; the address
is in the terminal as well.
"""

from __future__ import annotations

import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from html import escape
from pathlib import Path
from types import FrameType
from typing import IO, Any

from engine.common.errors import EngineError
from engine.common.os_support import expanded, user_folder, write_private, writing
from engine.plan.samples import names
from frontier_app.session.settings import MARK
from frontier_app.session.workspace import Workspace, digest, link, link_board, new_token

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


_HERE = Path(__file__).resolve().parents[1]
HOST = "127.0.0.1"
_PATIENCE = 60.0  # seconds until a server that does not answer is given up


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        if os.name != "nt":  # there it would allow to take a port in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            raise EngineError(
                f"port {port} cannot be used, another program may hold it; leave --port out for a free one"
            ) from None


def command(port: int) -> list[str]:
    """The server's command line.  ``-P`` keeps the folder it is started in, which may hold anything, out of imports."""
    return [sys.executable, "-P", "-m", "frontier_app.session.server", str(port)]


def environment() -> dict[str, str]:
    """The environment of started processes: they find this package from any folder."""
    env = dict(os.environ)
    if env.get("FRONTIER_HOME"):
        env["FRONTIER_HOME"] = str(expanded(env["FRONTIER_HOME"]).absolute())
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_HERE.parent), env.get("PYTHONPATH", "")]))
    env["PYTHONIOENCODING"] = "utf-8"  # in which their logs are read
    return env


@contextmanager
def standard_input(message: Any) -> Iterator[IO[bytes]]:
    """The knowledge that a started process needs, as JSON in a private file without a name, to be its standard input.

    Command lines can be read by every user of the machine.
    """
    folder = user_folder()
    with tempfile.TemporaryFile(dir=folder) as file:
        with writing(folder / "standard input"):
            file.write(json.dumps(message).encode())
            file.seek(0)
        yield file


def launch(
    study: Path | None,
    data: str | None,
    port: int | None,
    open_browser: bool,
    *,
    board: Path | None = None,
) -> int:
    """Serve the dashboard, on a study if one is named, until it is stopped; returns the server's exit code.

    With ``board``, a board bundle, it shows that and nothing else.

    The address holds the secret token of this launch, so that other users of this machine cannot open the study, nor
    read files through the server.  It is printed, never on a command line (:mod:`frontier_app.session.launch`), and
    good until the server ends.
    """
    if data is not None and data not in names():
        data = str(expanded(data).absolute())
    workspace: Workspace | None = None
    if board is not None:
        workspace = link_board(board)
    elif study or data:
        workspace = link(study, data)
    if port is None:
        port = free_port()
    else:
        _check_port(port)
    token = new_token()
    address = f"http://{HOST}:{port}/{'explore' if study else ''}?w={token}"
    mark = new_token()
    at = str(workspace.folder.absolute()) if workspace else ""
    message = {"token": digest(token), "mark": mark, "workspace": at}
    # Streamlit prints an address of its own on standard output, without the token.
    # Its look is in the package when installed, and at the top of a checkout.
    here = _HERE if (_HERE / ".streamlit").exists() else _HERE.parent
    with standard_input(message) as standard_in:
        server = subprocess.Popen(
            command(port), env=environment(), cwd=here, stdin=standard_in, stdout=subprocess.DEVNULL
        )
    try:
        previous = signal.signal(signal.SIGTERM, _stop)
        try:
            if not _wait_until_up(server, port, mark):
                return _end(server) or 1
            print(f"the dashboard is at {address}\nCtrl-C ends it; sweeps that run go on", flush=True)
            with opened(address) if open_browser else nullcontext():
                return server.wait()
        finally:
            signal.signal(signal.SIGTERM, previous)
    except KeyboardInterrupt:
        _end(server)
        return 0
    finally:
        _end(server)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _wait_until_up(server: subprocess.Popen[bytes], port: int, mark: str) -> bool:
    """Return whether the server came up. Others can read its port in the list of processes and take it first, to be
    sent the token: only who knows ``mark`` is the server."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + _PATIENCE
    while server.poll() is None and time.monotonic() < until:
        with suppress(urllib.error.URLError, http.client.HTTPException, OSError):
            with opener.open(f"http://{HOST}:{port}/_stcore/health", timeout=5) as answer:
                ours = hmac.compare_digest(answer.headers.get(MARK, "").encode(), mark.encode())
            if not ours:
                raise EngineError(
                    "what answers at the dashboard's port is not the dashboard with its guard; another program may have"
                    " taken the port; start it again, and install the version of streamlit that requirements.lock names"
                    " if that does not help"
                )
            return True
        time.sleep(0.1)
    return False


def _end(server: subprocess.Popen[bytes]) -> int:
    """Ask the server to end, then make it."""
    if server.poll() is None:
        server.terminate()
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    return server.returncode
