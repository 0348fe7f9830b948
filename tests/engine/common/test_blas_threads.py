"""Linear algebra runs on one thread while anybody asks for it, and afterwards on as many as before."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from engine.common import processes as blas_threads
from engine.common.processes import one_thread


def threads() -> list[int]:
    """How many threads each linear algebra library uses now."""
    controller = blas_threads._controller("scipy.linalg" in sys.modules)
    return [library["num_threads"] for library in controller.info() if library["user_api"] == "blas"]


@pytest.fixture
def two() -> Iterator[list[int]]:
    """Two threads for each library, whatever the machine has; nothing is said where it has no such libraries."""
    np.dot(np.ones((2, 2)), np.ones((2, 2)))
    controller = blas_threads._controller("scipy.linalg" in sys.modules)
    with controller.limit(limits=2, user_api="blas"):
        before = threads()
        if 2 not in before:
            pytest.skip("no linear algebra library here can be told its number of threads; install NumPy with OpenBLAS")
        yield before


def test_whoever_leaves_first_takes_nothing_from_those_inside(two: list[int]) -> None:
    """Two threads whose turns overlap, as sweeps of two sessions do."""
    entered, left = threading.Event(), threading.Event()
    within: list[list[int]] = []

    def other() -> None:
        with one_thread():
            entered.set()
            assert left.wait(60)
            within.append(threads())

    thread = threading.Thread(target=other)
    with one_thread():
        thread.start()
        assert entered.wait(60)
    left.set()
    thread.join(60)
    assert within == [[1] * len(two)]
    assert threads() == two


def test_what_fails_inside_leaves_as_many_threads_as_before(two: list[int]) -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        assert set(threads()) == {1}
        raise ZeroDivisionError
    assert threads() == two


def test_a_library_that_is_loaded_meanwhile_is_limited_too(two: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its controller is another one; all is put back when the last has left."""
    known = blas_threads._controller("scipy.linalg" in sys.modules)
    later = type(known)()
    with one_thread():
        monkeypatch.setattr(blas_threads, "_controller", lambda with_scipy: later)
        with one_thread():
            assert len(blas_threads._before) == 2
        assert set(threads_of(known)) == {1}
    assert threads_of(known) == two and blas_threads._before == []


def threads_of(controller: object) -> list[int]:
    """The same of the libraries of one controller."""
    return [one["num_threads"] for one in controller.info() if one["user_api"] == "blas"]  # type: ignore[attr-defined]
