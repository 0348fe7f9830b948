"""The files that each reader of an export may get, and the bundles in a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from engine.bundle.contents import Contents, files_below, why_unopened
from engine.bundle.files import SUMS
from engine.bundle.tiers import Tier
from engine.common.errors import EngineError
from engine.common.untrusted import kind_of
from engine.report.circulating import CIRCULATING
from engine.report.format_1 import CHAIR

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
_FOLDERS = (*((tier, tier.value) for tier in Tier), (Tier.BOARD, "member"))  # the last in exports of format 1
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
    found = [(tier, folder / name) for tier, name in _FOLDERS]
    return {tier: path for tier, path in found if is_folder(path) and tier_of(path) is tier}


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder itself, and no link to one."""
    return os.path.lexists(path) and kind_of(path) == "a folder"


def contents_of(folder: Path, tier: Tier) -> Contents:
    """The files of a tier's bundle; refused are those that are no plain files, not on its list, or too large."""
    names = files_below(folder)
    reasons = {name: why_unopened(folder / name) or _why_not_listed(name, tier) for name in names}
    return Contents(folder, tier, tuple(names), {name: reason for name, reason in reasons.items() if reason})


def _why_not_listed(name: str, tier: Tier) -> str:
    return "" if _PATTERNS[tier].fullmatch(name) else "is not on the list of what this reader gets"


def check_files(folder: Path, tier: Tier) -> None:
    """Refuse a bundle with a file that its tier does not name."""
    for name in contents_of(folder, tier).refused:
        raise EngineError(
            f"the {tier} bundle would hold '{name}', which is not on the list of what that reader gets; nothing was "
            "written"
        )
