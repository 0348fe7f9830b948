"""Check the folder of a bundle before a file in it is opened: kinds of files, allow-list, sizes, file formats."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.bundle.tiers import Tier
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

    ``names`` are the relative paths of all; ``refused`` gives, for the files that must not be opened, the reason.
    """

    folder: Path
    tier: Tier
    names: tuple[str, ...]
    refused: dict[str, str]

    @property
    def openable(self) -> tuple[str, ...]:
        """The files that may be opened."""
        return tuple(name for name in self.names if name not in self.refused)

    def without(self, refused: dict[str, str]) -> Contents:
        """These contents with more files refused."""
        return Contents(self.folder, self.tier, self.names, {**self.refused, **refused})


def files_below(folder: Path) -> list[str]:
    """The relative paths of all files below a folder, sorted; links are listed and not followed.

    Folders that are empty, cannot be read or lie too deep are listed as well: no bundle has such.
    """
    listed, unvisited, n_entries = list[str](), [""], 0
    while unvisited:
        parent = unvisited.pop()
        names = _names_in(folder / parent)
        if not names and parent:
            listed.append(parent)
        for name in names:
            n_entries += 1
            if n_entries > _MOST_FILES:
                raise EngineError(f"'{spelt(folder.name)}' holds more than {_MOST_FILES:,} files, so it is no bundle")
            path = f"{parent}/{name}" if parent else name
            is_visited = kind_of(folder / path) == "a folder" and path.count("/") < _DEEPEST
            (unvisited if is_visited else listed).append(path)
    return sorted(listed)


def _names_in(folder: Path) -> list[str]:
    """The first names in a folder; none where it cannot be read."""
    try:
        with os.scandir(folder) as directory:
            return [entry.name for entry in islice(directory, _MOST_FILES + 1)]
    except PermissionError:
        return []


def why_unopened(path: Path) -> str:
    """The reason why a file must not be opened whatever its name: it is no plain file, or too large; empty where it may
    be."""
    kind = kind_of(path)
    if kind:
        return f"is {kind} and no plain file; it was not opened"
    status = os.lstat(path)
    n_sectors = getattr(status, "st_blocks", None)
    if n_sectors is not None and status.st_size > max(_HOLES_FROM, _HOLES * 512 * n_sectors):
        return (
            f"says that it has {in_words(status.st_size)} and takes {in_words(512 * n_sectors)} of the disk; it was "
            "not opened"
        )
    if path.suffix.lower() not in DATA and status.st_size > MOST_BYTES:
        return f"is larger than {in_words(MOST_BYTES)}, the most that such a file may have; it was not opened"
    return ""
