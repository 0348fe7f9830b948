"""What the hunt tries and what came of it.

A generator is a module of this folder with ``cases(rng, count) -> Iterator[Case]``: the same ``rng`` gives the same
cases.  What cannot be told by one command (kills, a browser) is a module with
``trials(rng, count) -> Iterator[Outcome]`` instead.  Either is named in ``tests/hunt/kinds.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Link:
    """A symbolic link in place of a file."""

    target: str


@dataclass(frozen=True)
class Pipe:
    """A named pipe in place of a file; nobody ever writes to it."""


@dataclass(frozen=True)
class Sparse:
    """A file of that many zero bytes that take no room on the disk."""

    size: int


Content = bytes | Link | Pipe | Sparse


@dataclass(frozen=True)
class Ran:
    """What a command that ended by itself did: for checks of what it said."""

    code: int
    out: str
    err: str
    folder: Path


@dataclass(frozen=True)
class Case:
    """One command among files of its own.

    ``files`` are laid down by their path in the folder where the command runs, ``argv`` are the arguments of
    ``frontier``.  Files that match a pattern of ``writes`` may change and may be left by a refusal; every other
    file must be the same afterwards, and a command that is refused leaves no new one.  ``check`` says in a sentence
    what is wrong about a command that ended well or was refused, or nothing.
    """

    kind: str
    name: str
    files: Mapping[str, Content]
    argv: Sequence[str]
    writes: Sequence[str] = ()
    check: Callable[[Ran], str] | None = None


VERDICTS = {
    "refused": "refused with a sentence",
    "accepted": "accepted",
    "traceback": "tracebacks",
    "silent": "refused without a sentence",
    "hang": "hangs over 20 s",
    "crash": "crashes",
    "memory": "out of memory",
    "left": "left behind or lost",
    "wrong": "wrong",
}
"""What may come of a case, with the heading of its column; only the first two are as they should be."""
GOOD = ("refused", "accepted")


@dataclass(frozen=True)
class Outcome:
    """What came of a case: a word of :data:`VERDICTS`, and what was said and seen."""

    kind: str
    name: str
    verdict: str
    detail: str = ""
    seconds: float = 0.0
    number: int = 0
    """Its place among the cases of its kind."""
    argv: tuple[str, ...] = field(default=())

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return self.verdict in GOOD
