"""Results that are computed once and shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


class Cache:
    """Results by name, each computed the first time it is asked for."""

    def __init__(self) -> None:
        self._results: dict[Any, Any] = {}

    def cached(self, name: Any, compute: Callable[[], _T]) -> _T:
        """Return the result of ``compute`` under ``name``."""
        if name not in self._results:
            self._results[name] = compute()
        result: _T = self._results[name]
        return result

    def forget(self) -> None:
        """Let go of all results: some refer back to what holds them, and would stay in memory for long."""
        self._results.clear()
