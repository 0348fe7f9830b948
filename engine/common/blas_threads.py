"""Keep linear algebra on one thread.

A sweep has a worker for every core, so a matrix product that starts threads of its own only waits for them (a fit of
40 milliseconds took a second on a busy machine); and with one thread a sum has the same order, hence the same bits, on
every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

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
