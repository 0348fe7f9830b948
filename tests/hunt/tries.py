"""A command on files of its own: it ends soon, refuses with a sentence, and leaves alone what is not its own."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from engine.cli.main import main

PATIENCE = 60
"""Seconds after which a command hangs, on a machine that others use too."""
_PASSING = ("*/.*", ".*", "*.tmp", "*.part", "*~", "*-journal", "*-wal", "*-shm")
"""What no command leaves, not even one that ends well, unless the test says that it writes it."""
_LARGE = 1 << 26


@dataclass(frozen=True)
class Link:
    """A symbolic link in place of a file."""

    target: str


@dataclass(frozen=True)
class Pipe:
    """A named pipe in place of a file; nobody ever writes to it."""


@dataclass(frozen=True)
class Sparse:
    """A file of that many zero bytes that take no room on the disk."""

    size: int


Content = bytes | Link | Pipe | Sparse


@dataclass(frozen=True)
class Ran:
    """The exit code of a command and what it printed."""

    code: int
    out: str
    err: str


def lay(files: Mapping[str, Content], folder: Path) -> None:
    """Write files, in place of those that are there."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        match content:
            case Link(target):
                path.symlink_to(target)
            case Pipe():
                os.mkfifo(path)
            case Sparse(size):
                with path.open("wb") as file:
                    file.truncate(size)
            case _:
                path.write_bytes(content)


def tried(argv: Sequence[str], folder: Path, writes: Sequence[str] = ()) -> Ran:
    """Run a command in a folder.

    Files that match a pattern of ``writes`` may change and may be left by a refusal; every other file must be the same
    afterwards, and a command that is refused leaves no new one.
    """
    before = _state(folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    with contextlib.chdir(folder), _in_time(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(argv))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    ran = Ran(code, *(_text(stream) for stream in (out, err)))
    said = f"frontier {' '.join(argv)[:300]}\n{ran.out[-1000:]}{ran.err[-2000:]}"
    assert code in (0, 1, 2), said
    assert not re.search(r"Traceback|\.py:\d+: \w*Warning\b|too little memory", ran.err), said
    assert not code or (ran.out + ran.err).strip(), said
    after = _state(folder)
    for name in sorted({*before, *after}):
        if any(fnmatch(name, pattern) for pattern in writes):
            continue
        assert name in after, f"'{name}' is gone\n{said}"
        if name in before:
            assert before[name] == after[name], f"'{name}' was changed\n{said}"
        else:
            assert not code and not any(fnmatch(name, pattern) for pattern in _PASSING), f"'{name}' is left\n{said}"
    return ran


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def _state(folder: Path) -> dict[str, object]:
    """Every file below a folder with what would show that it was changed."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            found[path.relative_to(folder).as_posix()] = os.readlink(path)
        elif path.is_file():
            status = path.stat()
            content = hashlib.sha256(path.read_bytes()).digest() if status.st_size < _LARGE else status.st_mtime_ns
            found[path.relative_to(folder).as_posix()] = (status.st_size, content)
        elif not path.is_dir():
            found[path.relative_to(folder).as_posix()] = "a pipe"
    return found


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Raise in a command that hangs, where the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def late(*_: object) -> None:
        raise AssertionError(f"it takes longer than {PATIENCE} s")

    previous = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
