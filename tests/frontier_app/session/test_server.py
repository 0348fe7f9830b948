"""A running server: nothing leaves this machine whatever is asked, and no command line tells a secret."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from frontier_app.session import jobs, server, settings, workspace
from frontier_app.session.settings import PRIVACY
from tests.browser.steps import at_home, engine, injected, served, variable

pytestmark = pytest.mark.slow

# Says in a file of its own which addresses a Python process looks up, connects or sends to, this machine's aside.
_SPY = """
import os, sys
def _spy(event, args, _file=os.environ["SPIED"]):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        where = args[0]
    elif event in ("socket.connect", "socket.sendto"):
        where = args[1][0] if isinstance(args[1], tuple) else ""
    else:
        return
    where = where.decode() if isinstance(where, bytes) else where
    if where not in (None, "", "127.0.0.1", "localhost", "::1"):
        with open(_file, "a") as said:
            said.write(f"{event} {where}\\n")
sys.addaudithook(_spy)
"""


@dataclass
class Watched:
    """A server that is watched: its address, its process, and what left it so far."""

    address: str
    process: int
    log: Path
    proxied: list[bytes]

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.split(":")[2].partition("/")[0])

    def left(self) -> list[str]:
        """What it looked up, connected to or asked of the proxy."""
        said = self.log.read_text().splitlines() if self.log.exists() else []
        return said + [one.decode(errors="replace") for one in self.proxied]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A server whose way out is a proxy that writes down who calls, and whose every look-up is written down too."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "spy").mkdir()
    proxied: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def listen() -> None:
            while True:
                try:
                    caller, _ = proxy.accept()
                except OSError:
                    return
                with caller:
                    proxied.append(caller.recv(200))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        way_out = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        names = [name for kind in ("http_proxy", "https_proxy", "all_proxy") for name in (kind, kind.upper())]
        with pytest.MonkeyPatch.context() as patched:
            for name in names:
                patched.setenv(name, way_out)
            patched.setenv("SPIED", str(folder / "left.txt"))
            for name in ("no_proxy", "NO_PROXY"):
                patched.delenv(name, raising=False)
            with injected(folder / "spy", _SPY), served(folder, folder / "home") as (address, process):
                yield Watched(address, process.pid, folder / "left.txt", proxied)
        proxy.shutdown(socket.SHUT_RDWR)
    listener.join(10)


def status(port: int, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, dict[str, str]]:
    """The answer to a raw request: its status and headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def shaken(port: int, host: str, origin: str | None, path: str = "/_stcore/stream") -> int:
    """The status of the answer to a WebSocket's handshake."""
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        "Sec-WebSocket-Protocol: streamlit",
        *([f"Origin: {origin}"] if origin is not None else []),
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(connection.recv(64).decode().split()[1])


PATHS = (
    "/",
    "/explore",
    "/nowhere",
    "/favicon.png",
    "/static/js/none.js",
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/metrics",
    "/_stcore/script-health-check",
    "/_stcore/stream",
    "/_stcore/upload_file/a/b",
    "/_stcore/agent/interact",
    "/_stcore/agent/openapi.json",
    "/_stcore/bidi-components/a/b",
    "/component/a/index.html",
    "/media/none.png",
    "/app/static/none",
    "/oauth2callback",
    "/auth/login",
    "//evil.example/",
    "/..%2f..%2fetc/passwd",
    "http://evil.example/",
)
FOREIGN = ("evil.example", "127.0.0.1.evil.example", "localhost.", "[::1]", "10.0.0.1", "0.0.0.0", "xn--nxasmq6b")


def test_the_watch_sees_what_leaves(watched: Watched, tmp_path: Path) -> None:
    """A check must be able to fail: another process under such a watch is seen at once."""
    call = (
        "import socket, contextlib, urllib.request\n"
        "with contextlib.suppress(OSError): urllib.request.urlopen('http://checkip.invalid', timeout=5)\n"
        "with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:\n"
        "    s.connect(('8.8.8.8', 1))\n"
    )
    before = len(watched.proxied)
    env = {**os.environ, "PYTHONPATH": str(watched.log.parent / "spy"), "SPIED": str(tmp_path / "left.txt")}
    subprocess.run([sys.executable, "-c", call], env=env, check=True, timeout=60)
    assert "socket.connect 8.8.8.8" in (tmp_path / "left.txt").read_text()
    assert b"checkip.invalid" in watched.proxied.pop() and len(watched.proxied) == before


def test_a_foreign_name_is_refused_for_everything(watched: Watched) -> None:
    port = watched.port
    for foreign in FOREIGN:
        for path in PATHS:
            for host in (foreign, f"{foreign}:{port}"):
                got, said = status(port, "GET", path, {"Host": host})
                assert got in (400, 421), (path, host, got)
                assert got == 400 or said["referrer-policy"] == "no-referrer"
        assert shaken(port, f"{foreign}:{port}", f"http://{foreign}:{port}") in (400, 403)
    for own in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert status(port, "GET", "/_stcore/health", {"Host": own})[0] == 200
        assert shaken(port, own, f"http://{own}") == 101
    assert not watched.left()


def test_nothing_leaves_whatever_origin_asks(watched: Watched) -> None:
    port = watched.port
    own = f"127.0.0.1:{port}"
    for origin in (
        "http://evil.example",
        "https://evil.example:8443",
        f"http://localhost:{port}",
        f"https://{own}",
        "null",
        "",
        "http://",
        "//",
        "http://10.1.2.3",
        "file:///x",
        "http://[::1",
    ):
        for path in ("/_stcore/stream", "/x/_stcore/stream", "/"):
            answered = shaken(port, own, origin, path)
            assert not watched.left() and answered == 403, (origin, path)
        for path in PATHS:
            for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
                assert status(port, method, path, {"Host": own, "Origin": origin})[0] in (400, 421), (origin, path)
    assert not watched.left()


def test_every_answer_to_its_own_page_carries_the_policy_and_nothing_leaves(watched: Watched) -> None:
    port = watched.port
    own = f"127.0.0.1:{port}"
    for path in PATHS:
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
            got, said = status(port, method, path, {"Host": own, "Origin": f"http://{own}"}, b"x" * 100)
            if got != 400:  # what is no request at all is answered before there is one
                assert said["content-security-policy"] == server.policy(own), (method, path)
                assert said["x-content-type-options"] == "nosniff" and settings.MARK in said
            assert "evil" not in said.get("location", "")
    assert not watched.left()


def test_streamlit_runs_with_these_settings(watched: Watched) -> None:
    said = Path(f"/proc/{watched.process}").exists() and children(watched.process)
    if not said:
        pytest.skip("there is no /proc; run the tests on Linux")
    assert any(line.endswith(f"\0-P\0-m\0frontier_app.session.server\0{watched.port}\0") for line in said.values())
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = {row[1] for row in rows if int(row[1].partition(":")[2], 16) == watched.port and row[3] == "0A"}
    assert mine == {f"0100007F:{watched.port:04X}"} and PRIVACY["server.address"] == "127.0.0.1"


def children(root: int) -> dict[int, str]:
    """Command lines of a process and of all below it, by process id."""
    parents: dict[int, int] = {}
    lines: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            lines[int(folder.name)] = (folder / "cmdline").read_text(errors="replace")
        except (OSError, ValueError):
            continue  # it has ended meanwhile
    found = {root}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return {one: lines[one] for one in found if one in lines}


def lines_of_children() -> dict[int, str]:
    """The command lines of this process and all that it started; one that has just ended has none."""
    return {pid: line for pid, line in children(os.getpid()).items() if line}


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no /proc; run the tests on Linux")
def test_no_command_line_tells_a_path_a_token_or_a_reason(tmp_path: Path) -> None:
    """Sweep, fresh runs and export at work: what `ps` shows of them to every user of the machine."""
    (tmp_path / "Secret folder").mkdir()
    data = tmp_path / "Secret folder" / "people.csv"
    engine(tmp_path / "home", "datasets", "write", "czech", "--to", str(data))
    engine(tmp_path / "home", "plan", "init", str(data), "--out", str(tmp_path / "plan.toml"))
    with at_home(tmp_path / "home"), variable("FRONTIER_CACHE", tmp_path / "cache"):
        at = workspace.create()
        at.note(data=str(data), study="study-1.study")
        plan = (tmp_path / "plan.toml").read_text()
        at.save_plan(re.sub(r"(?m)^replicates = .*", "replicates = 2000", plan))
        before = os.umask(0o022)
        jobs.start(at, deviation="a Secret reason", by="Secret Ada")
        os.umask(before)
        seen: dict[int, str] = {}
        until = time.monotonic() + 60
        while jobs.status(at).state not in ("running", "failed", "finished") and time.monotonic() < until:
            seen |= lines_of_children()
            time.sleep(0.05)
        until = time.monotonic() + 2
        while jobs.status(at).busy and time.monotonic() < until:
            seen |= lines_of_children()
        assert jobs.status(at).state in ("running", "finished"), jobs.status(at)
        pid = json.loads((at.folder / "job.json").read_text())["pid"]
        assert seen[pid].endswith("\0-P\0-m\0engine\0-\0")
        del seen[os.getpid()]
        for line in seen.values():
            assert not any(word in line for word in ("Secret", at.token, at.folder.name, "people.csv", "study-1")), line
        jobs.stop(at)
        assert not {p.name for p in at.folder.iterdir() if p.stat().st_mode & 0o077}
        written = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
        assert at.log_path in written and not [p.name for p in written if at.token.encode() in p.read_bytes()]
