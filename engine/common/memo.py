"""Work that is done once and shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


class Memory:
    """Work done once and shared: ``memo(name, work)`` calls ``work()`` the first time only."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def memo(self, name: Any, work: Callable[[], _T]) -> _T:
        """The remembered result of ``work`` under ``name``."""
        if name not in self._known:
            self._known[name] = work()
        result: _T = self._known[name]
        return result
