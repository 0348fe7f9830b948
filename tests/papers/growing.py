"""Simulations that grow: many data sets begin with the few that were asked for before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, islice
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Growing(Generic[T]):
    """The first results of what makes one after the other without end; what was made already for the same arguments is
    not made again."""

    def __init__(self, simulated: Callable[..., Iterator[T]]) -> None:
        @cache
        def begun(*of: Any) -> tuple[list[T], Iterator[T]]:
            return [], simulated(*of)

        self._begun = begun

    def __call__(self, number: int, *of: Any) -> list[T]:
        """So many of the first."""
        made, others = self._begun(*of)
        made.extend(islice(others, max(number - len(made), 0)))
        return made[:number]

    def each(self, *of: Any) -> Iterator[T]:
        """One after the other from the first on, without end."""
        made, others = self._begun(*of)
        for place in count():
            if place == len(made):
                made.append(next(others))
            yield made[place]


def growing(simulated: Callable[..., Iterator[T]]) -> Growing[T]:
    """What ``simulated(...)`` makes one after the other, to be had as the ``first(number, ...)`` of them."""
    return Growing(simulated)
