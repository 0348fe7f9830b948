"""Errors of single inputs on the Plan page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.common.errors import EngineError
from frontier_app.widgets import elements

T = TypeVar("T")


class Complaints(list[str]):
    """What is wrong with single inputs.  The others are drawn all the same: one left out would forget its value."""

    def attempt(self, make: Callable[[], T], otherwise: T) -> T:
        """What ``make`` makes; where it cannot, its complaint is kept."""
        try:
            return make()
        except EngineError as error:
            self.append(str(error))
            elements.complain(error)
            return otherwise
