"""The amount of a candidate: how much its mechanism changes, as a share, a count, a number or a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from engine.release.spec import percent

AmountKind = Literal["share", "count", "number", "word"]


class Counts(NamedTuple):
    """The amount that a parameter gives: its kind, the ``unit`` behind its number (of a word the word itself), and the
    text with which the parameter leaves the amount to the next one."""

    kind: AmountKind
    unit: str = ""
    unset: str | None = None


@dataclass(frozen=True)
class Amount:
    """How much a candidate changes: the canonical ``text`` of its number, or a word, and the ``unit`` behind it."""

    kind: AmountKind
    text: str
    unit: str = ""

    @property
    def short(self) -> str:
        """The number or the word alone: ``"10 %"``, ``"5"``, ``"c = 0.15"``, ``"all sensitive records"``."""
        if self.kind == "share":
            return percent(self.text)
        return f"{int(self.text):,}" if self.kind == "count" else self.text

    @property
    def share(self) -> str:
        """The share as a decimal; empty where the amount is none."""
        return self.text if self.kind == "share" else ""

    @property
    def order(self) -> tuple[str, float, str]:
        """A key that sorts amounts of one unit by size, and words last."""
        number = float(self.text.rpartition(" ")[2]) if self.kind != "word" else float("inf")
        return self.unit, number, self.text

    def __str__(self) -> str:
        return f"{self.short} {self.unit}".rstrip()
