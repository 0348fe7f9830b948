"""Errors of single inputs, shown where they arise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.common.errors import EngineError
from frontier_app.widgets import elements

T = TypeVar("T")


class InputErrors:
    """Errors of single inputs, each shown at its input; ``shown`` counts them.  The other inputs are drawn all the
    same: one left out would forget its value."""

    def __init__(self) -> None:
        self.shown = 0

    def attempt(self, make: Callable[[], T], otherwise: T) -> T:
        """Return what ``make`` makes; where it fails, show its error and return ``otherwise``."""
        try:
            return make()
        except EngineError as error:
            self.shown += 1
            elements.show_error(error)
            return otherwise
