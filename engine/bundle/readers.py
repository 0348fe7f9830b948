"""The readers of an export: the files that each may get, the kinds of files that are never opened, and refusals."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Literal

from engine.common.errors import EngineError, UsageError
from engine.common.untrusted import MOST_BYTES, in_words, kind_of, spelt
from engine.report.circulating import CIRCULATING
from engine.report.earlier_formats import CHAIR


class Tier(StrEnum):
    """One reader of an export, from the one who sees all to those who see only the release."""

    ANALYST = "analyst"
    BOARD = "board"
    CIRCULATING = "circulating"
    PUBLIC = "public"
    CHAIR = "chair"  # in bundles of format 1; what members got is the board's


TIERS: tuple[Tier, ...] = (Tier.ANALYST, Tier.BOARD, Tier.CIRCULATING, Tier.PUBLIC)
"""Those that are written; a circulating copy only where the plan withholds the rate from it."""
ALL = "all"
SUMS = "SHA256SUMS"
"""The list of digests in every bundle."""


def tiers_of(text: str) -> tuple[Tier, ...]:
    """The tiers that an export is asked for: the one named, or all."""
    if text == ALL:
        return TIERS
    if text not in TIERS:
        raise UsageError(f"tier == '{text}', must be one of {', '.join(TIERS)} or {ALL}")
    return (Tier(text),)


Attack = Literal["keys", "order", "identifiers", "recodes", "misfits", "guessed"]


class Refused(EngineError):
    """A bundle was refused: it held what its reader must not see, or its swap could be undone.

    ``kind`` says why in words that may be logged: never a secret, a name or a path.
    """

    def __init__(self, message: str, kind: str, **values: str) -> None:
        super().__init__(message, None, **values)
        self.kind = kind


class AttackSucceeded(Refused):
    """A release was refused because an attack succeeded: which one, ``why``, and what to do about it (``mend``)."""

    def __init__(self, attack: Attack, why: str, mend: str) -> None:
        sentence = f"the release was refused: an attack on it succeeded ({why}); {mend}. Nothing was written"
        super().__init__(sentence, f"attack: {attack}", attack=attack, why=why, mend=mend)


DATA = (".csv", ".parquet", ".sav", ".dta", ".xpt")
"""Endings of released data, which may be of any size."""
_MOST_FILES = 10_000
_DEEPEST = 4
_HOLES_FROM = 1 << 26
_HOLES = 64  # times as large as the space that it takes: a disk that compresses saves less than that


@dataclass(frozen=True)
class Contents:
    """The paths of all files of a reader's bundle (``names``), and why some must not be opened (``refused``)."""

    folder: Path
    tier: Tier
    names: tuple[str, ...]
    refused: dict[str, str]

    @property
    def openable(self) -> tuple[str, ...]:
        """The files that may be opened."""
        return tuple(name for name in self.names if name not in self.refused)


def files_below(folder: Path) -> list[str]:
    """The relative paths of all files below a folder, sorted; links are listed and not followed.

    Folders that are empty, cannot be read or lie too deep are listed as well: no bundle has such.
    """
    listed, unvisited, n_entries = list[str](), [""], 0
    while unvisited:
        parent = unvisited.pop()
        names = list[str]()
        with suppress(PermissionError), os.scandir(folder / parent) as directory:
            names = [entry.name for entry in islice(directory, _MOST_FILES + 1)]
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


def why_unopened(path: Path) -> str:
    """The reason why a file must not be opened whatever its name: no plain file, or too large; else empty."""
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


_DATA = (r"release(-\d\d)?\.(csv|parquet|sav|dta|xpt)", r"release(-\d\d)?_formats\.sas")
_ALLOWED: dict[Tier, tuple[str, ...]] = {
    Tier.ANALYST: (
        *(f"release/{pattern}" for pattern in _DATA),
        r"internal/(manifest|seed-annex|decision-log|self-attack)\.json",
        r"internal/candidates\.(csv|parquet)",
        r"internal/(pairs|flags)(-\d\d)?\.parquet",
        r"internal/annex-b-analyst\.(docx|html|pdf)",
        r"internal/(plan\.toml|REPLAY\.txt)",
    ),
    Tier.BOARD: (r"memo\.(docx|html|pdf)", r"(tables|places)\.xlsx", r"slides\.pptx", r"board\.json"),
    Tier.CIRCULATING: (r"memo\.(docx|html|pdf)", r"circulating\.json"),
    Tier.CHAIR: (r"annex-a-chair\.(docx|html|pdf)", r"chair\.json", r"places\.xlsx"),
    Tier.PUBLIC: (*_DATA, r"codebook\.(html|xml)", r"load(-\d\d)?\.(R|py|sas|do|sps)", r"METHODS\.txt"),
}
_MARKS: dict[Tier, str] = {
    Tier.ANALYST: "internal/manifest.json",
    Tier.BOARD: "board.json",
    Tier.CIRCULATING: CIRCULATING,
    Tier.CHAIR: CHAIR,
    Tier.PUBLIC: "METHODS.txt",
}
_PATTERNS = {
    tier: re.compile("|".join(f"(?:{pattern})" for pattern in (*allowed, SUMS))) for tier, allowed in _ALLOWED.items()
}


def tier_of(folder: Path) -> Tier | None:
    """The reader whose bundle a folder is, by the file that only that bundle has; None where it is none.

    The file may be a link or a pipe as well: whoever opens the bundle says so.
    """
    marked = [tier for tier in _MARKS if os.path.lexists(folder / _MARKS[tier])]
    return marked[0] if len(marked) == 1 else None


def bundles_in(folder: Path) -> dict[Tier, Path]:
    """The bundles in a folder by tier: the folder itself, or those that stand side by side in it."""
    tier = tier_of(folder)
    if tier is not None:
        return {tier: folder}
    names = {**{tier.value: tier for tier in Tier}, "member": Tier.BOARD}  # the last in exports of format 1
    return {t: path for name, t in names.items() if is_folder(path := folder / name) and tier_of(path) is t}


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder itself, and no link to one."""
    return os.path.lexists(path) and kind_of(path) == "a folder"


def contents_of(folder: Path, tier: Tier) -> Contents:
    """The files of a tier's bundle; refused are those that are no plain files, not on its list, or too large."""
    names, refused = files_below(folder), dict[str, str]()
    for name in names:
        listed = _PATTERNS[tier].fullmatch(name)
        why = why_unopened(folder / name) or ("" if listed else "is not on the list of what this reader gets")
        refused |= {name: why} if why else {}
    return Contents(folder, tier, tuple(names), refused)


def check_files(folder: Path, tier: Tier) -> None:
    """Refuse a bundle with a file that its tier does not name."""
    for name in contents_of(folder, tier).refused:
        raise EngineError(
            f"the {tier} bundle would hold '{name}', which is not on the list of what that reader gets; nothing was "
            "written"
        )
