"""Load a module in a thread while the command goes on."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from threading import Thread

_TURN = 0.0005  # seconds; by default ten times as many, which whoever reads or sorts a file would wait again and again


def load_beside(name: str) -> None:
    """Begin to load a module that takes long; whoever imports it waits for what is missing, and gets its errors.

    Threads take turns in Python's code, so this gains what the other one does outside of it meanwhile: reading a file,
    sorting it, hashing it.
    """
    Thread(target=_load, args=(name,), daemon=True, name=f"loading {name}").start()


def _load(name: str) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        with suppress(Exception):
            import_module(name)
    finally:
        sys.setswitchinterval(before)
