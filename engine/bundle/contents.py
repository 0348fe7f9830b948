"""Check the folder of a bundle before a file in it is opened: kinds of files, allow-list, sizes, file formats."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.common.errors import EngineError
from engine.common.untrusted import MOST_BYTES, in_words, kind_of, spelt

DATA = (".csv", ".parquet", ".sav", ".dta", ".xpt")
"""Endings of released data, which may be of any size."""
_MOST_FILES = 10_000
_DEEPEST = 4
_HOLES_FROM = 1 << 26
_HOLES = 64  # times as large as the space that it takes: a disk that compresses saves less than that


@dataclass(frozen=True)
class Contents:
    """The files of one reader's bundle.

    ``names`` are all of them by their relative path, ``refused`` says of some why they must not be opened.
    """

    folder: Path
    tier: str
    names: tuple[str, ...]
    refused: dict[str, str]

    @property
    def sound(self) -> tuple[str, ...]:
        """The files that may be opened."""
        return tuple(name for name in self.names if name not in self.refused)

    def without(self, refused: dict[str, str]) -> Contents:
        """The same with more files refused."""
        return Contents(self.folder, self.tier, self.names, {**self.refused, **refused})


def members(folder: Path) -> list[str]:
    """All files below a folder by their relative path, in order; links count as what they are and are not followed.

    Folders that are empty, cannot be read or lie too deep are named as well: no bundle has such.
    """
    found, waiting, seen = list[str](), [""], 0
    while waiting:
        inside = waiting.pop()
        names = _names(folder / inside)
        if not names and inside:
            found.append(inside)
        for name in names:
            seen += 1
            if seen > _MOST_FILES:
                raise EngineError(f"'{spelt(folder.name)}' holds more than {_MOST_FILES:,} files, so it is no bundle")
            path = f"{inside}/{name}" if inside else name
            deeper = kind_of(folder / path) == "a folder" and path.count("/") < _DEEPEST
            (waiting if deeper else found).append(path)
    return sorted(found)


def _names(folder: Path) -> list[str]:
    """The first names in a folder; none where it cannot be read."""
    try:
        with os.scandir(folder) as there:
            return [entry.name for entry in islice(there, _MOST_FILES + 1)]
    except PermissionError:
        return []


def why_unopened(path: Path) -> str:
    """Why a file must not be opened whatever it is called: what it is, or how large; empty where it may be."""
    kind = kind_of(path)
    if kind:
        return f"is {kind} and no plain file; it was not opened"
    status = os.lstat(path)
    taken = getattr(status, "st_blocks", None)
    if taken is not None and status.st_size > max(_HOLES_FROM, _HOLES * 512 * taken):
        return f"says that it has {in_words(status.st_size)} and takes {in_words(512 * taken)}; it was not opened"
    if path.suffix.lower() not in DATA and status.st_size > MOST_BYTES:
        return f"is larger than {in_words(MOST_BYTES)}, the most that such a file may have; it was not opened"
    return ""
