"""How near a figure must be to the published one, and to how many digits the papers print it.

What the modules of rows call agreement is checked against this list once more, from the numbers in the document.
"""

from __future__ import annotations

import re
from math import sqrt
from typing import Any, NamedTuple


class Family(NamedTuple):
    """Rows of one source whose name matches ``pattern``: printed ``digits``; the difference allowed is ``absolute`` +
    ``relative`` · published + ``errors`` · Monte-Carlo error; None where the figure is a word or must be equal."""

    source: str
    pattern: str
    digits: int
    absolute: float = 0.0
    relative: float = 0.0
    errors: float = 0.0

    def allowed(self, row: dict[str, Any]) -> float:
        """The largest difference that agrees."""
        return self.absolute + self.relative * abs(row["published"]) + self.errors * (row["se"] or 0.0)

    def words(self) -> str:
        """The tolerance in words."""
        parts = [f"{self.absolute:g}"] if self.absolute else []
        parts += [f"{self.relative:.0%} of the published figure"] if self.relative else []
        parts += [f"{self.errors:.2f} Monte-Carlo errors"] if self.errors else []
        return " + ".join(parts) or "none"


def _errors(sets: int, published: int = 1000) -> float:
    """Two standard errors of a difference of two simulations, in standard errors of ours."""
    return 2 * sqrt(1 + sets / published)


TWO = 2 * sqrt(2)
FAMILIES = (
    Family("table 1", "shift of the mean$", 3, 0.02),
    Family("table 1", "MSE$", 3, 0.0, 0.08, _errors(1500)),
    Family("table 1", "coverage, %$", 1, 2.0),
    Family("table 2", "DDS .* bias$", 3, 0.06),
    Family("table 2", "RDS .* bias$", 3, 0.05),
    Family("table 2", "MSE$", 3, 0.0, 0.06, _errors(10_000)),
    Family("table 2", "coverage, %$", 1, 4.0),
    Family("group swapping", "mean overlap for sex$", 2, 0.1, 0.0, TWO),
    Family("group swapping", "mean overlap$", 2, 0.04, 0.0, TWO),
    Family("group swapping", "ratios of means, mean$", 3, 0.04, 0.0, TWO),
    Family("group swapping", "ratios of covariances, mean$", 2, 0.04, 0.0, TWO),
    Family("group swapping", "5 % point$", 2, 0.10, 0.0, TWO),
    Family("group swapping", "disjoint for sex", 0, 3.0, 0.0, TWO),
    Family("group swapping", "disjoint, of", 0, 12.0, 0.0, TWO),
    Family("group swapping", "sign changes", 0, 30.0, 0.0, TWO),
    Family("group swapping", "linked$", 3, 0.02, 0.0, TWO),
    Family("swapping as a decision", "", 0),
    Family("beside independent", "log-likelihood$", 4, 0.02),
    Family("beside independent", "AIC$|BIC$|G²$", 2, 0.02),
    Family("beside independent", "", 0),
    Family("key swaps", "^s[12] ", 3, 0.006),
    Family("key swaps", "^DDS", 3),
    Family("key swaps", "^RDS", 3, 0.010),
    Family("key swaps", "^PRAM", 3, 0.02),
    Family("SMIKe", "^s[12] ", 3, 0.006),
    Family("SMIKe", "^GS .* P1, s=3$", 3, 0.04),
    Family("SMIKe", "^GS .* P1", 3, 0.02),
    Family("SMIKe", "^GS .* P2", 3, 0.04),
    Family("SMIKe", "^LS", 3, 0.06),
    Family("SMIKe", "^study I,", 2, 0.1),
)


def family(source: str, name: str) -> Family:
    """The family of a row."""
    for one in FAMILIES:
        if one.source == source and re.search(one.pattern, name):
            return one
    raise LookupError(f"no tolerance for row '{name}' of {source}")
