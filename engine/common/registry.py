"""Things by name: those of the package, those that a script adds while its process runs; results computed once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.wording import quoted

_NAME = re.compile(r"[A-Za-z_]\w*")


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """The name that a plan has for it."""
        ...


T = TypeVar("T", bound=Named)
R = TypeVar("R")
P = ParamSpec("P")


class Registry(Mapping[str, T]):
    """The objects that the package has under ``names``, each made by ``load`` when it is asked for, and what was
    registered since.

    ``noun`` says in errors what is looked up, ``kind`` is the type of what may be registered.
    """

    def __init__(self, noun: str, names: Iterable[str], load: Callable[[str], T], kind: type = object) -> None:
        self._noun, self._built_in, self._load, self._kind = noun, dict.fromkeys(names), load, kind
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
        """The object called ``name``; refuses (:class:`UsageError`) an unknown name with the nearest known ones."""
        if name not in self:
            raise UsageError(f"unknown {self._noun} {quoted(name)}.{did_you_mean(name, self)}")
        return self[name]

    def register(self, thing: T) -> T:
        """Add ``thing``, or put it in the place of one that was registered under its name; returns it.

        Refuses (:class:`UsageError`) a thing of another type, a name that no plan could write and one that the package
        uses.
        """
        if not isinstance(thing, self._kind):
            raise UsageError(
                f"a {self._noun} to register is of type {type(thing).__name__}, must be a {self._kind.__name__}"
            )
        if not _NAME.fullmatch(thing.name):
            raise UsageError(f"{self._noun} {quoted(thing.name)} needs a name of letters, digits and underscores.")
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


_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "bool": (bool, "True or False"),
    "tuple": (tuple, "a tuple"),
    "Mapping": (Mapping, "a mapping"),
    "Callable": (Callable, "a function"),  # type: ignore[dict-item]
}
"""What a field may be, by the first word of its declared type."""


def check_fields(thing: Any, noun: str) -> None:
    """Refuse (:class:`UsageError`) a field of a measure or mechanism whose value is of another type than declared."""
    name = thing.name if isinstance(thing.name, str) else quoted(thing.name)
    for field in fields(thing):
        declared = str(field.type)
        value = getattr(thing, field.name)
        if value is None and declared.endswith("| None"):
            continue
        kind, wanted = _KINDS.get(re.split(r"\W", declared)[0], (object, ""))
        if not isinstance(value, kind):
            raise UsageError(f"{noun} '{name}': {field.name} is of type {type(value).__name__}, must be {wanted}.")


class FunctionFailed(EngineError):
    """A function of a registered measure or mechanism raised an error of its own."""


def call_registered(
    owner: str,
    function: Callable[..., R],
    *args: Any,
    parameters: Mapping[str, Any] | None = None,
    passing: tuple[type[Exception], ...] = (),
) -> R:
    """Return what a function of a measure or mechanism returns; ``owner`` names it, such as "measure 'moved'".

    What a function from outside the package raises is a :class:`FunctionFailed` that names its owner, with the error
    itself as the cause; errors of the engine and those in ``passing`` pass.
    """
    try:
        return function(*args, **(parameters or {}))
    except Exception as error:
        if belongs_to_package(function) or isinstance(error, (EngineError, *passing)):
            raise
        raise FunctionFailed(f"{owner} failed: {type(error).__name__}: {error}") from error


def belongs_to_package(function: Callable[..., Any]) -> bool:
    """Return whether a function of a measure or mechanism is the package's own, and not one of a script."""
    module = getattr(getattr(function, "func", function), "__module__", "")  # ``func``: of a partial function
    return str(module).partition(".")[0] == __name__.partition(".")[0]


def described(value: Any) -> str:
    """The value that a function returned, as a sentence names it."""
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        return f"an array of {value.dtype}, shape {value.shape}"
    if value is None or isinstance(value, str | float | int):
        return quoted(value)
    return f"an object of type {type(value).__name__}"


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


def remembered(part: str = "", at: int = 0) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep what a function computes in its argument number ``at``, a :class:`Cache`, or in a ``part`` of it.

    Results are told apart by the function and by the arguments after that one.
    """

    def keeping(compute: Callable[P, R]) -> Callable[P, R]:
        @wraps(compute)
        def kept(*args: P.args, **options: P.kwargs) -> R:
            cache: Any = getattr(args[at], part) if part else args[at]
            further = (tuple(one) if isinstance(one, list) else one for one in args[at + 1 :])
            name = compute.__module__, compute.__qualname__, *further, *options.items()
            result: R = cache.cached(name, partial(compute, *args, **options))
            return result

        return kept

    return keeping
