"""The readers of a bundle, and the files that each of them may get: allow-lists, so what is not named is refused."""

from __future__ import annotations

import re
from pathlib import Path

from engine.bundle.files import SUMS
from engine.errors import EngineError, UsageError

TIERS = ("analyst", "chair", "member", "public")
"""Readers, from the one who sees all to those who see only the release."""
ALL = "all"

_DATA = (r"release(-\d\d)?\.(csv|parquet|sav|dta|xpt)", r"release(-\d\d)?_formats\.sas")
_ALLOWED = {
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
_MARKS = {
    "analyst": "internal/manifest.json",
    "chair": "chair.json",
    "member": "board.json",
    "public": "METHODS.txt",
}
_PATTERNS = {
    tier: re.compile("|".join(f"(?:{pattern})" for pattern in (*allowed, SUMS))) for tier, allowed in _ALLOWED.items()
}


def tiers_of(tier: str) -> tuple[str, ...]:
    """The tiers that an export is asked for: one, or all."""
    if tier == ALL:
        return TIERS
    if tier not in TIERS:
        raise UsageError(f"tier == '{tier}', must be one of {', '.join(TIERS)} or {ALL}")
    return (tier,)


def tier_of(folder: Path) -> str | None:
    """Which reader's bundle a folder is, by the file that only that bundle has; None where it is none."""
    found = [tier for tier in TIERS if (folder / _MARKS[tier]).is_file()]
    return found[0] if len(found) == 1 else None


def bundles_in(folder: Path) -> dict[str, Path]:
    """The bundles in a folder by tier: the folder itself, or those that stand side by side in it."""
    tier = tier_of(folder)
    if tier is not None:
        return {tier: folder}
    return {name: folder / name for name in TIERS if tier_of(folder / name) == name}


def members(folder: Path) -> list[str]:
    """All files below a folder by their relative path, in order; links count as what they are."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir() or p.is_symlink())


def strangers(folder: Path, tier: str) -> list[str]:
    """Files that a tier's bundle must not hold."""
    return [name for name in members(folder) if not _PATTERNS[tier].fullmatch(name) or (folder / name).is_symlink()]


def check_files(folder: Path, tier: str) -> None:
    """Refuse a bundle with a file that its tier does not name."""
    wrong = strangers(folder, tier)
    if wrong:
        raise EngineError(
            f"the {tier} bundle would hold '{wrong[0]}', which is not on the list of what that reader gets; nothing "
            "was written"
        )
