"""Write a new folder whole or not at all, and the digests of its files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.bundle import cleanup_process
from engine.bundle.readers import SUMS, files_below, is_folder, why_unopened
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.os_support import Unwritten, is_full, keep_private, publish, reason_of
from engine.common.processes import machine, was_left
from engine.common.untrusted import open_plain, read_text

_HIDDEN_NAME = re.compile(r"\..+\.([0-9a-f]{8})\.([0-9]{1,9})\.[0-9a-f]{8}\.part")
"""Name of a folder that is being written: of what, on which machine (a digest), by which process."""


class Failed(EngineError):
    """A folder could not be written; nothing was left behind."""


@contextmanager
def new_folder(out: Path, *, public: Iterable[str] = (), what: str = "") -> Iterator[tuple[Path, Callable[[], None]]]:
    """A hidden folder beside ``out`` to write into, and the step that makes it ``out``; ``what`` names it in errors.

    It is its owner's alone, but for the folders in it that are ``public`` ("." is itself), which everybody may read.
    Whatever goes wrong before that step, nothing is left.  Where this process is killed, another one that outlives it
    (:mod:`engine.bundle.cleanup_process`) removes the hidden folder; where all processes of the machine ended at once,
    the next new folder in the same place does.
    """
    check_new(out)
    parent = out.absolute().parent
    _remove_left_over(parent)
    hidden = parent / _hidden_name(out.name)
    with _removed_when_killed(hidden):
        _make(hidden, out)

        def finish() -> None:
            keep_private(hidden)
            for name in public:
                publish(hidden / name)
            if out.exists():
                out.rmdir()
            os.rename(hidden, out)

        try:
            yield hidden, finish
        except Exception as error:
            # Libraries that write documents wrap a full disk in errors of their own.
            if not isinstance(error, Unwritten | OSError) and (isinstance(error, EngineError) or not is_full(hidden)):
                raise
            reason = error.reason if isinstance(error, Unwritten) else reason_of(error, parent)
            what = what or f"the export to '{out.name}'"
            raise Failed(f"{what} could not be written: {reason}; nothing was left behind") from None
        finally:
            shutil.rmtree(hidden, ignore_errors=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder for temporary files, removed as a :func:`new_folder` that is not finished."""
    out = Path(tempfile.gettempdir()).absolute() / f"swap-frontier-{secrets.token_hex(4)}"
    with new_folder(out, what="temporary files") as (hidden, _):
        yield hidden


@contextmanager
def _removed_when_killed(hidden: Path) -> Iterator[None]:
    """Have another process, in a session of its own, wait to remove a folder should this process be killed."""
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    try:
        # The folder goes through the pipe: command lines can be read by every user of the machine.
        cleanup = subprocess.Popen(
            [sys.executable, "-I", "-S", cleanup_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=hidden.anchor,
            start_new_session=True,
            creationflags=flags,
        )
    except OSError as error:
        raise Failed(_not_started(error.strerror or type(error).__name__)) from None
    assert cleanup.stdin is not None and cleanup.stdout is not None
    try:
        with suppress(OSError):
            cleanup.stdin.write(json.dumps(str(hidden)).encode() + b"\n")
            cleanup.stdin.flush()
        if not cleanup.stdout.read(1):
            raise Failed(_not_started("it ended at once"))
        yield
    finally:
        with suppress(OSError):
            cleanup.stdin.close()
        cleanup.stdout.close()
        cleanup.wait()


def _not_started(why: str) -> str:
    return (
        "nothing was written: the process that clears up if this one is killed could not be started "
        f"({why}); let this program start {Path(sys.executable or 'python').name}, and try again"
    )


def check_new(out: Path) -> None:
    """Refuse a folder that holds something, whose parent is not there, or beside which nothing can be written."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            f"'{out.name}' exists and is not an empty folder; an export never overwrites. Choose another folder",
            Remedy.OUTPUT,
        )
    if not out.absolute().parent.is_dir():
        raise UsageError(f"the folder that should hold '{out.name}' does not exist; make it first")
    trial = out.absolute().parent / _hidden_name(out.name)
    _make(trial, out)
    trial.rmdir()


def _make(hidden: Path, out: Path) -> None:
    try:
        hidden.mkdir(mode=0o700)
    except OSError as error:
        reason = reason_of(error, hidden.parent)
        raise Failed(f"cannot write beside '{out.name}': {reason}; choose another folder", Remedy.OUTPUT) from None


def _hidden_name(name: str) -> str:
    return f".{name}.{machine()}.{os.getpid()}.{secrets.token_hex(4)}.part"


def _remove_left_over(parent: Path) -> None:
    """Remove the hidden folders whose process on this machine has ended."""
    with suppress(OSError):
        for path in parent.iterdir():
            match = _HIDDEN_NAME.fullmatch(path.name)
            if match and path.is_dir() and was_left(path, match[1], int(match[2])):
                shutil.rmtree(path, ignore_errors=True)


def sha256(path: Path) -> str:
    """SHA-256 of a plain file."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path) -> None:
    """Write the digests of all files below a folder, in the form that ``sha256sum -c`` reads."""
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != SUMS)
    text = "".join(f"{sha256(folder / path)}  {path}\n" for path in paths)
    (folder / SUMS).write_bytes(text.encode())


def read_sums(folder: Path) -> dict[str, str] | None:
    """The digests that a folder lists by relative path; None where it lists none or the list is damaged."""
    try:
        lines = read_text(folder / SUMS).splitlines()
    except (OSError, EngineError):
        return None
    pairs = [line.partition("  ") for line in lines]
    if not all(len(digest) == 64 and path for digest, _, path in pairs):
        return None
    return {path: digest for digest, _, path in pairs}


def changed_files(folder: Path, digests: Mapping[str, str], *own: str) -> dict[str, str]:
    """The files below a folder, but for its ``own``, that are not those of the digests: changed, added or removed."""
    present = set(files_below(folder)) - {*own} if is_folder(folder) else set[str]()
    changed = dict.fromkeys({*digests} - present, "removed") | dict.fromkeys(present - {*digests}, "added")
    for name in present & {*digests}:
        if why_unopened(folder / name) or sha256(folder / name) != digests[name]:
            changed[name] = "changed"
    return dict(sorted(changed.items()))
