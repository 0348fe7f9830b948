"""Processes and threads: which are alive, modules loaded in a thread, linear algebra kept on one."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread
from threading import enumerate as enumerate_threads
from typing import Any

_FORGOTTEN = 2 * 86_400.0  # seconds after which nobody is writing any more


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


def was_left(path: str | Path, of: str, pid: int) -> bool:
    """Return whether what a process wrote on a machine (:func:`machine`) was left by it: it was this machine and the
    process has ended, or nothing was written for days, as by a container that was started anew."""
    if of == machine():
        return not process_is_alive(pid)
    with suppress(OSError):
        return time.time() - os.lstat(path).st_mtime > _FORGOTTEN
    return False


_TURN = 0.0005  # seconds; by default ten times as many, for which whoever reads or sorts a file would wait each time
_NAME = "loading "
_turning = Lock()
_turns_before: list[float] = []  # a thread's turn before each of the modules that are being loaded


def load_beside(name: str) -> None:
    """Begin to load a module that takes long; whoever imports it waits for what is missing, and gets its errors.

    Threads take turns in Python's code, so this gains what the other one does outside of it meanwhile: reading a file,
    sorting it, hashing it.
    """
    if name not in sys.modules:
        Thread(target=_load, args=(name,), daemon=True, name=_NAME + name).start()


def join_loading() -> None:
    """Wait until what :func:`load_beside` loads is there, before it is imported: an interrupt ends this, while one that
    hits Python as it waits for a module is lost and stops the loading for ever."""
    for thread in enumerate_threads():
        if thread.name.startswith(_NAME):
            thread.join()


def _load(name: str) -> None:
    with _short_turns(), suppress(Exception):
        import_module(name)


@contextmanager
def _short_turns() -> Iterator[None]:
    with _turning:
        _turns_before.append(sys.getswitchinterval())
        sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        with _turning:  # the last of several gets what was before the first
            sys.setswitchinterval(_turns_before.pop())


_changing = Lock()
_inside = 0
_before: list[tuple[Any, list[dict[str, Any]]]] = []
"""The libraries that are held, with what they were when the first thread entered."""


@lru_cache(maxsize=2)
def _controller(with_scipy: bool) -> Any:
    """The linear algebra libraries loaded so far; SciPy brings one of its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which matrix products and decompositions use one thread (some 30 microseconds to enter).

    A sweep has a worker for every core, so a matrix product that starts threads of its own only waits for them (a fit
    of 40 milliseconds took a second on a busy machine); and with one thread a sum has the same order, hence the same
    bits, on every machine.

    The number counts for the whole process in most libraries, so the first thread that enters sets it and the last one
    that leaves puts back what was there.  Where it counts for each thread, each sets its own.
    """
    global _inside
    controller = _controller("scipy.linalg" in sys.modules)
    with _changing:
        info = controller.info()
        _set(controller, [1] * len(info))
        if not _before or _before[-1][0] is not controller:  # SciPy was loaded since the first entered
            _before.append((controller, info))
        _inside += 1
    try:
        yield
    finally:
        with _changing:
            _put_back(controller, info, of_thread=True)
            _inside -= 1
            while not _inside and _before:
                _put_back(*_before.pop(), of_thread=False)


def _put_back(controller: Any, info: list[dict[str, Any]], *, of_thread: bool) -> None:
    """Give the libraries the numbers that they had, those that have one for each thread or the others."""
    _set(
        controller,
        [one["num_threads"] if (one.get("threading_layer") == "openmp") == of_thread else None for one in info],
    )


def _set(controller: Any, numbers: list[int | None]) -> None:
    """Give each linear algebra library its number; None leaves it.

    Newer versions of threadpoolctl let the thread alone decide that was the first to do so, until it is told that this
    one is done.
    """
    for library, number in zip(controller.lib_controllers, numbers, strict=True):
        if library.user_api == "blas" and number is not None:
            may_decide = getattr(library, "clear_controlling_thread", lambda force: None)
            may_decide(force=True)
            library.set_num_threads(number)
            may_decide(force=True)
