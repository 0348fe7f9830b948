"""Load a module in a thread while the command goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Lock, Thread
from threading import enumerate as enumerate_threads

_TURN = 0.0005  # seconds; by default ten times as many, for which whoever reads or sorts a file would wait each time
_NAME = "loading "
_changing = Lock()
_before: list[float] = []  # a thread's turn before each of the modules that are being loaded


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
    with _changing:
        _before.append(sys.getswitchinterval())
        sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        with _changing:  # the last of several gets what was before the first
            sys.setswitchinterval(_before.pop())
