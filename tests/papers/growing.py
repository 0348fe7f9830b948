"""Simulations that grow: many data sets begin with the few that were asked for before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")


def growing(simulated: Callable[..., Iterator[T]]) -> Callable[..., list[T]]:
    """The first results of what makes one after the other without end, ``first(number, ...)``; what was made already
    for the same other arguments is not made again."""

    @cache
    def begun(*of: Any) -> tuple[list[T], Iterator[T]]:
        return [], simulated(*of)

    def first(number: int, *of: Any) -> list[T]:
        made, others = begun(*of)
        made.extend(islice(others, max(number - len(made), 0)))
        return made[:number]

    return first
