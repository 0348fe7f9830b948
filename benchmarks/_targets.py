"""Figures beside their targets: what a benchmark prints of each, and the table of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter


@dataclass(frozen=True)
class Judged:
    """A figure beside its target; ``off`` is its share of what is allowed: above one the target is missed."""

    figure: str
    value: float
    target: str
    off: float


HEADING = f"{'benchmark':15} {'figure':62} {'found':>9}  {'target':13} verdict"

_JUDGED: list[Judged] = []


def word(
    figure: str, value: float, *, most: float | None = None, least: float | None = None, either: float | None = None
) -> str:
    """ "met" or "MISSED", which the table of targets tells too; figures of one name share a row of it.

    ``most`` and ``least`` bound the value, ``either`` a ratio that should be one: the most that it may be off either
    way.  One of the three is given.
    """
    if most is not None:
        target, off = f"<= {most:g}", value / most
    elif least is not None:
        target, off = f">= {least:g}", least / value if value else float("inf")
    elif either is not None:
        target, off = f"{1 / either:.2g} to {either:g}", max(value, 1 / value if value else float("inf")) / either
    else:
        raise TypeError(f"{figure} has no target")
    _JUDGED.append(Judged(figure, value, target, off))
    return "met" if off <= 1 else "MISSED"


def rows(benchmark: str) -> list[str]:
    """The rows of the table for what was judged since the last call: of figures of one name the worst, and how many of
    them are met."""
    kinds: dict[tuple[str, str], list[Judged]] = {}
    for one in _JUDGED:
        kinds.setdefault((one.figure, one.target), []).append(one)
    _JUDGED.clear()
    lines = []
    for (figure, target), alike in kinds.items():
        worst = max(alike, key=attrgetter("off"))
        met = sum(one.off <= 1 for one in alike)
        verdict = "met" if met == len(alike) else "MISSED"
        many = f"  {met} of {len(alike)}, the worst is shown" if len(alike) > 1 else ""
        lines.append(f"{benchmark:15} {figure:62} {worst.value:9.4g}  {target:13} {verdict}{many}")
    return lines
