"""Keep linear algebra on one thread.

A sweep has a worker for every core, so a matrix product that starts threads of its own only waits for them (a fit of
40 milliseconds took a second on a busy machine); and with one thread a sum has the same order, hence the same bits, on
every machine.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=2)
def _controller(with_scipy: bool) -> Any:
    """The linear algebra libraries loaded so far; SciPy brings one of its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """A context in which matrix products and decompositions use one thread (some 15 microseconds to enter)."""
    limit: AbstractContextManager[Any] = _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    return limit
