"""What the operating system says about files, folders and processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NETWORK = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "afs",
    "9p",
    "fuse.sshfs",
    "fuse.davfs",
    "davfs",
    "ncpfs",
    "lustre",
    "glusterfs",
    "ceph",
}


def hostname() -> str:
    """This machine's name."""
    return socket.gethostname()


def process_is_alive(pid: int) -> bool:
    """Whether a process of this machine is running."""
    if pid <= 0:
        return False
    if os.name == "nt":
        import ctypes

        kernel32 = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
        handle = kernel32.OpenProcess(0x1000, False, pid)
        if not handle:
            return False
        code = ctypes.c_ulong()
        kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
        kernel32.CloseHandle(handle)
        return code.value == 259
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with suppress(OSError):  # a killed child that nobody has waited for is a zombie: it will never write again
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    return True


def is_network_path(path: Path, mounts: str | None = None) -> bool:
    """Whether a path lies on a network drive; ``mounts`` is the text of /proc/mounts (read when None)."""
    resolved = str(path.resolve())
    if os.name == "nt":
        import ctypes

        drive = os.path.splitdrive(resolved)[0]
        remote = 4
        return drive.startswith("\\\\") or ctypes.windll.kernel32.GetDriveTypeW(drive + "\\") == remote  # type: ignore[attr-defined,unused-ignore]
    if mounts is None:
        try:
            mounts = os.fsdecode(Path("/proc/mounts").read_bytes())
        except OSError:
            return False
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        at = fields[1].replace("\\040", " ")
        inside = resolved == at or resolved.startswith(at.rstrip("/") + "/")
        if inside and len(at) >= len(best):
            best, kind = at, fields[2]
    return kind in _NETWORK


EXTERNAL = "FRONTIER_EXTERNAL"
"""The environment variable with folders of external files; worker processes inherit it."""


def external_file(name: str) -> Path | None:
    """Where the external file of a bare name is: in a folder of :data:`EXTERNAL`, else in the current one."""
    folders = [Path(folder) for folder in os.environ.get(EXTERNAL, "").split(os.pathsep) if folder]
    return next((folder / name for folder in (*folders, Path.cwd()) if (folder / name).is_file()), None)


@contextmanager
def external_beside(files: Iterable[str | None]) -> Iterator[None]:
    """Meanwhile look for external files beside these files too, before the current folder."""
    before = os.environ.get(EXTERNAL)
    beside = [str(Path(file).expanduser().absolute().parent) for file in files if file]
    os.environ[EXTERNAL] = os.pathsep.join(dict.fromkeys([*(before.split(os.pathsep) if before else ()), *beside]))
    try:
        yield
    finally:
        if before is None:
            del os.environ[EXTERNAL]
        else:
            os.environ[EXTERNAL] = before


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that its owner alone can read; refuses to replace one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    if sys.platform == "win32":  # the mode above means nothing there: take inherited rights away, grant the owner
        user = os.environ.get("USERNAME", "")
        subprocess.run(
            ["icacls", str(path), "/inheritance:r", "/grant:r", f"{user}:F"], check=True, capture_output=True
        )
