"""The readers of an export."""

from __future__ import annotations

from enum import StrEnum

from engine.common.errors import UsageError


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
_FORMER = {"chair": Tier.BOARD, "member": Tier.BOARD, "members": Tier.BOARD}  # names in old scripts


def tiers_of(text: str) -> tuple[Tier, ...]:
    """The tiers that an export is asked for: the one named, or all."""
    if text == ALL:
        return TIERS
    try:
        return (_FORMER.get(text) or Tier(text),)
    except ValueError:
        raise UsageError(f"tier == '{text}', must be one of {', '.join(TIERS)} or {ALL}") from None
