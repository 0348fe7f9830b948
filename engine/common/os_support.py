"""Files and folders: private modes, atomic writes, free space; where shipped files and a user's own lie."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine.common.errors import EngineError, UsageError
from engine.common.processes import machine, was_left

if TYPE_CHECKING:
    import pyarrow as pa


_NETWORK = re.compile(
    r"nfs4?|cifs|smb3|smbfs|afs|9p|fuse\.sshfs|fuse\.davfs|davfs|ncpfs|lustre|glusterfs|ceph"
)  # kinds of file systems
_PART = re.compile(r"\.([0-9a-f]{8})\.([0-9]{1,9})\.[0-9a-f]{16}\.part")
"""Name of a file that is being written: on which machine, by which process."""


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
    return _NETWORK.fullmatch(kind) is not None


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
            raise UsageError(f"'{path.name}' could not be written: its folder does not exist; make it first") from None
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


_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "_shipped"
_PLACES = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Application Support")}


def datasets_folder() -> Path:
    """The folder of the sample data: inside an installed package, or at the top of a checkout."""
    return _shipped_or_checkout("datasets", "datasets")


def glossary_path() -> Path:
    """The glossary: inside an installed package, or under ``docs`` in a checkout."""
    return _shipped_or_checkout("GLOSSARY.md", "docs/GLOSSARY.md")


def user_folder() -> Path:
    """A private folder for this user's data, made when it is not there (mode 0700).

    ``FRONTIER_HOME`` wins; otherwise the platform's own place for application data.
    """
    folder = user_folder_place()
    shown = f"the private data folder '{folder.name}'"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"{shown} could not be made ({reason_of(error)}); set FRONTIER_HOME to a folder you may write to"
        ) from None
    if others := others_of(folder):
        raise EngineError(f"{shown} {others}; set FRONTIER_HOME to a folder that you alone can change (mode 700)")
    return folder


def home() -> Path | None:
    """This user's home folder; None where the system knows none: HOME is not set, and no account has the number."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def user_folder_place() -> Path:
    """The path that :func:`user_folder` has or would have, without making it."""
    return _user_folder(os.environ, sys.platform, home())


def _user_folder(environment: os._Environ[str] | dict[str, str], platform: str, home: Path | None) -> Path:
    if environment.get("FRONTIER_HOME"):
        return expanded(environment["FRONTIER_HOME"])
    variable, inside = _PLACES.get(platform, ("XDG_DATA_HOME", ".local/share"))
    if environment.get(variable):
        return Path(environment[variable]) / "swap-frontier"
    if home is None:
        raise EngineError("this user has no home folder, in which private data is kept; set FRONTIER_HOME to one")
    return home / inside / "swap-frontier"


def _shipped_or_checkout(shipped: str, checkout: str) -> Path:
    inside = _SHIPPED / shipped
    return inside if inside.exists() else _PACKAGE.parent / checkout
