"""Files, folders and processes as the operating system sees them: private modes, atomic writes, free memory."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.common.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa

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


_FORGOTTEN = 2 * 86_400.0  # seconds after which nobody is writing any more
_PART = re.compile(r"\.([0-9a-f]{8})\.([0-9]{1,9})\.[0-9a-f]{16}\.part")
"""Name of a file that is being written: on which machine, by which process."""


def hostname() -> str:
    """This machine's name."""
    return socket.gethostname()


def machine() -> str:
    """A mark that tells this machine from others that write to the same place, without its name.  Containers of one
    name count as machines of their own, since each numbers its own processes."""
    space = ""
    with suppress(OSError):
        space = f" {os.stat('/proc/self/ns/pid').st_ino}"
    return hashlib.sha256(f"{hostname()}{space}".encode()).hexdigest()[:8]


def process_is_alive(pid: int) -> bool:
    """Return whether a process of this machine is running."""
    if pid <= 0:
        return False
    if os.name == "nt":
        import ctypes

        kernel32 = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
        handle = kernel32.OpenProcess(0x1000, False, pid)
        if not handle:
            return bool(kernel32.GetLastError() == 5)  # it runs, and is another user's
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


def process_birth(pid: int) -> str:
    """The origin of a process, which tells it from later ones of its number: the running system (on Linux also the
    space in which numbers count) and when it was started, as this system tells it; empty where it tells nothing, or of
    a process that has ended."""
    if not process_is_alive(pid):
        return ""
    if os.name == "nt":
        return _windows_birth(pid)
    with suppress(OSError, IndexError):
        if sys.platform == "linux":
            started = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
            system = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
            return f"{system}/{os.stat('/proc/self/ns/pid').st_ino} {started}"
        output = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True,
            encoding="ascii",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
        )
        return " ".join(output.stdout.split()).replace(" ", "_")
    return ""


def is_running(pid: int, born: str) -> bool:
    """Return whether the process that had this number is running still. ``born`` is its :func:`process_birth`; where
    that was not told, any process of the number counts."""
    return process_birth(pid) == born if born else process_is_alive(pid)


def _windows_birth(pid: int) -> str:
    import ctypes
    from ctypes import wintypes

    kernel32 = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel32.OpenProcess(0x1000, False, pid)
    if not handle:
        return ""
    times = [wintypes.FILETIME() for _ in range(4)]
    succeeded = kernel32.GetProcessTimes(handle, *map(ctypes.byref, times))
    kernel32.CloseHandle(handle)
    return f"{times[0].dwHighDateTime}:{times[0].dwLowDateTime}" if succeeded else ""


def is_network_path(path: Path, mounts: str | None = None) -> bool:
    """Return whether a path lies on a network drive; ``mounts`` is the text of /proc/mounts (read when None)."""
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
    """The path of the external file of a bare name: in a folder of :data:`EXTERNAL`, else in the current one."""
    folders = [Path(folder) for folder in os.environ.get(EXTERNAL, "").split(os.pathsep) if folder]
    return next((folder / name for folder in (*folders, Path.cwd()) if (folder / name).is_file()), None)


def expanded(text: str | Path) -> Path:
    """A path as it was typed, with ``~`` as the home folder; ``~nobody`` stays a name where there is no such user."""
    path = Path(text)
    return Path(os.path.expanduser(path))


@contextmanager
def external_beside(files: Iterable[str | None]) -> Iterator[None]:
    """Meanwhile look for external files beside these files too, before the current folder."""
    before = os.environ.get(EXTERNAL)
    beside = [str(expanded(file).absolute().parent) for file in files if file]
    os.environ[EXTERNAL] = os.pathsep.join(dict.fromkeys([*(before.split(os.pathsep) if before else ()), *beside]))
    try:
        yield
    finally:
        if before is None:
            del os.environ[EXTERNAL]
        else:
            os.environ[EXTERNAL] = before


@contextmanager
def private_files() -> Iterator[None]:
    """Meanwhile every new file and folder of this process, and of those that it starts, is its owner's alone.

    Studies, plans, logs and bundles hold what only some may see; what is published gets its rights by name
    (:func:`publish`).
    """
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def publish(folder: Path) -> None:
    """Let everybody read a folder and what is in it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def keep_private(folder: Path) -> None:
    """Let the owner alone read a folder and what is in it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    _take_inherited_rights(folder, "(OI)(CI)F")


@contextmanager
def aside(path: str | Path, *, replace: bool = True) -> Iterator[Path]:
    """An empty new file in the folder of ``path`` to write to; it becomes ``path`` at the end of the block.

    Its owner alone can read it until then.  What the system still holds in memory goes to the disk before: some drives
    say only then that they are full.  Whatever goes wrong, ``path`` stays what it was and nothing is left beside it
    (:func:`writing` says why).  Where the process is killed, the next one that writes in that folder removes what is
    left.  Without ``replace``, a file that is there is a :class:`FileExistsError`.  A link stays one: the file that it
    leads to is replaced.
    """
    path = Path(path)
    if replace and path.is_symlink():
        path = Path(os.path.realpath(path))
    _remove_left_over(path.parent)
    part = path.with_name(f".{machine()}.{os.getpid()}.{secrets.token_hex(8)}.part")
    try:
        with writing(path):
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            yield part
            with part.open("r+b") as file:
                os.fsync(file.fileno())
            if replace:
                os.replace(part, path)
            else:
                appear(part, path)
    finally:
        with suppress(OSError):
            part.unlink()


def _remove_left_over(folder: Path) -> None:
    with suppress(OSError), os.scandir(folder) as there:
        for entry in there:
            match = _PART.fullmatch(entry.name)
            if match and entry.is_file(follow_symlinks=False) and was_left(entry.path, match[1], int(match[2])):
                os.unlink(entry)


def was_left(path: str | Path, of: str, pid: int) -> bool:
    """Return whether what a process wrote on a machine (:func:`machine`) was left by it: it was this machine and the
    process has ended, or nothing was written for days, as by a container that was started anew."""
    if of == machine():
        return not process_is_alive(pid)
    with suppress(OSError):
        return time.time() - os.lstat(path).st_mtime > _FORGOTTEN
    return False


def arrow_file(path: Path, mode: Literal["rb", "wb"] = "rb") -> pa.NativeFile:
    """A file for pyarrow, which takes a path's text for UTF-8 whatever the encoding of the system's names is."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path), mode)


class Unwritten(EngineError):
    """A file could not be written, for a ``reason`` in a few words."""

    def __init__(self, path: Path, reason: str, hint: str) -> None:
        super().__init__(f"'{path.name}' could not be written: {reason}; {hint}")
        self.reason = reason


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise what goes wrong while ``path`` is written as one sentence that names it; a full disk is called one, also
    where a library wrapped it in an error of its own."""
    try:
        yield
    except (EngineError, FileExistsError):
        raise
    except Exception as error:
        if isinstance(error, FileNotFoundError) and not path.parent.is_dir():
            raise Unwritten(path, "its folder does not exist", "make it first") from None
        if getattr(error, "errno", None) is None and not is_full(path.parent):
            raise
        reason = reason_of(error, path.parent)
        hint = "free some space" if reason == FULL else "choose another folder, or see to the disk"
        raise Unwritten(path, reason, f"{hint} and try again") from None


FULL = "the disk is full"
_FREE = 1 << 16  # a disk with less room than this is full


def reason_of(error: Exception, folder: Path | None = None) -> str:
    """Return why something could not be written, in a few words; a full disk is called one.

    Libraries wrap errors of the system and lose their number: ``folder`` is where it was to be written.
    """
    number = getattr(error, "errno", None)
    if number in (errno.ENOSPC, errno.EDQUOT) or (number is None and folder is not None and is_full(folder)):
        return FULL
    return getattr(error, "strerror", None) or type(error).__name__


def is_full(folder: Path) -> bool:
    """Return whether the disk of a folder has no room left."""
    try:
        disk = shutil.disk_usage(folder)
    except OSError:
        return False
    return disk.total > 0 and disk.free < _FREE  # what the system keeps in memory has no size, and is no disk


def write_private(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file that its owner alone can read: it appears whole or not at all (:func:`aside`)."""
    with aside(path, replace=replace) as part:
        part.write_bytes(content)
        _take_inherited_rights(part, "F")


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Meanwhile no other thread or process has the turn at ``path``, an empty file that stays; where files cannot be
    locked, everybody has it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with suppress(OSError):
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file, msvcrt.LK_LOCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def appear(part: Path, path: Path) -> None:
    """Give a whole file its name, unless another has it: :class:`FileExistsError`."""
    if os.name == "nt":
        os.rename(part, path)  # which replaces nothing there
        return
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a drive without links: whoever makes the empty file may replace it
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(part, path)
    else:
        part.unlink()


def _take_inherited_rights(path: Path, rights: str) -> None:
    """On Windows, where modes mean nothing: take inherited rights away and grant the owner these."""
    if sys.platform == "win32":
        user = os.environ.get("USERNAME", "")
        command = ["icacls", str(path), "/inheritance:r", "/grant:r", f"{user}:{rights}"]
        subprocess.run(command, check=True, capture_output=True)


def open_to_others(path: Path) -> str:
    """The mode of a file that others on this machine may read or change, such as "644"; empty where nobody else may, or
    where modes mean nothing."""
    if os.name == "nt":
        return ""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return ""
    return f"{mode:03o}" if mode & 0o077 else ""


def others_of(folder: Path) -> str:
    """The others who can change what is in a folder, in words: it "belongs to another user", or "can be changed by
    others". Empty where nobody else can but the machine's root, or where modes mean nothing."""
    if sys.platform == "win32":
        return ""
    status = folder.stat()
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    return f"can be changed by others (mode {stat.S_IMODE(status.st_mode):03o})" if status.st_mode & 0o022 else ""
