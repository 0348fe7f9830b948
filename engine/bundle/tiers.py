"""The readers of a bundle, and for each an allow-list of files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, get_args

from engine.bundle.contents import Contents, members, why_unopened
from engine.bundle.files import SUMS
from engine.common.errors import EngineError, UsageError
from engine.common.untrusted import kind_of

Tier = Literal["analyst", "chair", "member", "public"]
TIERS: tuple[Tier, ...] = get_args(Tier)
"""Readers, from the one who sees all to those who see only the release."""
ALL = "all"

_DATA = (r"release(-\d\d)?\.(csv|parquet|sav|dta|xpt)", r"release(-\d\d)?_formats\.sas")
_ALLOWED: dict[Tier, tuple[str, ...]] = {
    "analyst": (
        *(f"release/{pattern}" for pattern in _DATA),
        r"internal/(manifest|seed-annex|decision-log|self-attack)\.json",
        r"internal/candidates\.(csv|parquet)",
        r"internal/(pairs|flags)(-\d\d)?\.parquet",
        r"internal/annex-b-analyst\.(docx|html|pdf)",
        r"internal/(plan\.toml|REPLAY\.txt)",
    ),
    "chair": (r"annex-a-chair\.(docx|html|pdf)", r"chair\.json"),
    "member": (r"memo\.(docx|html|pdf)", r"tables\.xlsx", r"slides\.pptx", r"board\.json"),
    "public": (*_DATA, r"codebook\.(html|xml)", r"load(-\d\d)?\.(R|py|sas|do|sps)", r"METHODS\.txt"),
}
_MARKS: dict[Tier, str] = {
    "analyst": "internal/manifest.json",
    "chair": "chair.json",
    "member": "board.json",
    "public": "METHODS.txt",
}
_PATTERNS = {
    tier: re.compile("|".join(f"(?:{pattern})" for pattern in (*allowed, SUMS))) for tier, allowed in _ALLOWED.items()
}


def tiers_of(tier: str) -> tuple[Tier, ...]:
    """The tiers that an export is asked for: one, or all."""
    if tier == ALL:
        return TIERS
    named = tuple(known for known in TIERS if known == tier)
    if not named:
        raise UsageError(f"tier == '{tier}', must be one of {', '.join(TIERS)} or {ALL}")
    return named


def tier_of(folder: Path) -> Tier | None:
    """Which reader's bundle a folder is, by the file that only that bundle has; None where it is none.

    The file may be a link or a pipe as well: whoever opens the bundle says so.
    """
    found = [tier for tier in TIERS if os.path.lexists(folder / _MARKS[tier])]
    return found[0] if len(found) == 1 else None


def bundles_in(folder: Path) -> dict[Tier, Path]:
    """The bundles in a folder by tier: the folder itself, or those that stand side by side in it."""
    tier = tier_of(folder)
    if tier is not None:
        return {tier: folder}
    return {name: folder / name for name in TIERS if is_folder(folder / name) and tier_of(folder / name) == name}


def is_folder(path: Path) -> bool:
    """Whether a folder of its own stands there, and no link to one."""
    return os.path.lexists(path) and kind_of(path) == "a folder"


def contents_of(folder: Path, tier: Tier) -> Contents:
    """The files of a tier's bundle; refused are those that are no plain files, not on its list, or too large."""
    names = members(folder)
    why = {name: why_unopened(folder / name) or _not_listed(name, tier) for name in names}
    return Contents(folder, tier, tuple(names), {name: text for name, text in why.items() if text})


def _not_listed(name: str, tier: Tier) -> str:
    return "" if _PATTERNS[tier].fullmatch(name) else "is not on the list of what this reader gets"


def strangers(folder: Path, tier: Tier) -> list[str]:
    """Files that a tier's bundle must not hold."""
    return list(contents_of(folder, tier).refused)


def check_files(folder: Path, tier: Tier) -> None:
    """Refuse a bundle with a file that its tier does not name."""
    wrong = strangers(folder, tier)
    if wrong:
        raise EngineError(
            f"the {tier} bundle would hold '{wrong[0]}', which is not on the list of what that reader gets; nothing "
            "was written"
        )
