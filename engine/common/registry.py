"""Things by name: those of the package, and those that a script adds for as long as its process runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from engine.common.errors import UsageError, did_you_mean

_NAME = re.compile(r"[A-Za-z_]\w*")


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """What a plan calls it."""
        ...


T = TypeVar("T", bound=Named)


class Registry(Mapping[str, T]):
    """What the package has under ``names``, each made by ``load`` when it is asked for, and what was registered since.

    ``noun`` says in errors what is looked up.
    """

    def __init__(self, noun: str, names: Iterable[str], load: Callable[[str], T]) -> None:
        self._noun, self._built_in, self._load = noun, dict.fromkeys(names), load
        self._registered: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._registered:
            return self._registered[name]
        if name not in self._built_in:
            raise KeyError(name)
        return self._load(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from self._registered

    def __len__(self) -> int:
        return len(self._built_in) + len(self._registered)

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._registered

    def find(self, name: str) -> T:
        """What is called ``name``; refuses (:class:`UsageError`) an unknown name with the nearest known ones."""
        if name not in self:
            raise UsageError(f"unknown {self._noun} '{name}'.{did_you_mean(name, self)}")
        return self[name]

    def register(self, thing: T) -> T:
        """Add ``thing``, or put it in the place of one that was registered under its name; returns it.

        Refuses (:class:`UsageError`) a name that no plan could write and one that the package uses.
        """
        if not _NAME.fullmatch(thing.name):
            raise UsageError(f"{self._noun} '{thing.name}' needs a name of letters, digits and underscores.")
        if thing.name in self._built_in:
            raise UsageError(f"{self._noun} '{thing.name}' belongs to the package; choose another name.")
        self._registered[thing.name] = thing
        return thing

    def unregister(self, name: str) -> None:
        """Forget what was registered under ``name``; refuses (:class:`UsageError`) what was not."""
        if name not in self._registered:
            raise UsageError(f"no {self._noun} '{name}' was registered, so it cannot be forgotten.")
        del self._registered[name]

    def registered(self, names: Iterable[str]) -> tuple[T, ...]:
        """Those of ``names`` that were registered, each once."""
        return tuple(self._registered[name] for name in dict.fromkeys(names) if name in self._registered)
