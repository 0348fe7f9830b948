"""Entries that a plan leaves empty although a board asks for them: a list to fill in, and no refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.plan import Plan

_TITLES = {
    "about.survey": "survey",
    "about.vintage": "vintage",
    "about.sponsor": "sponsor",
    "about.contact": "contact",
    "about.authority": "authority",
    "about.design": "strata, sampling units and households",
    "about.geography": "smallest geography released",
    "about.changes": "what changed since the earlier release",
    "about.overlaps": "other releases of the same data",
    "publish.title": "title of the release",
    "threat.intruder": "intruder",
    "threat.public_files": "public files that overlap with the keys",
    "threat.harm": "harm of a disclosure",
}
"""Entries that the memo prints, with their titles within a sentence."""


@dataclass(frozen=True)
class Unstated:
    """An empty entry of a plan, such as ``about.survey``, with its ``title`` within a sentence."""

    entry: str
    title: str


def unstated(plan: Plan) -> tuple[Unstated, ...]:
    """Return the entries that the memo would call not stated, in its order."""
    return tuple(
        Unstated(entry, title)
        for entry, title in _TITLES.items()
        if not _value(plan, entry) and not (entry == "about.changes" and plan.about.release_type == "new")
    )


def _value(plan: Plan, entry: str) -> object:
    section, _, name = entry.partition(".")
    return getattr(getattr(plan, section), name)
