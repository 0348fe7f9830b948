"""The verdict of an attack on a release: one figure, and the severity that follows from it.

Every attack that names altered records ends in a :class:`Verdict`, and a release has the worst of them.  Pages,
documents and the command line print its statement (:mod:`engine.decision.verdict_log`); none judges a figure itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import msgspec

Severity = Literal["untried", "none", "caution", "serious"]
SEVERITIES: tuple[Severity, ...] = ("untried", "none", "caution", "serious")
"""From the least severe to the most."""
AttackKind = Literal["untried", "tables", "units", "rare", "columns", "several", "method"]
"""The knowledge of an intruder: published two-way tables of the original, such tables without a method supposed, the
method's preference for those at risk, the columns that stayed, several released tables of the same records, or the
method with its parameters."""

NEED_TABLES: frozenset[AttackKind] = frozenset(("tables", "units"))
"""The attacks that need published two-way tables of the original."""
_ODDS = 1.5  # times those of guesses
_SERIOUS = 0.5  # of the way from guesses to certain names
_SURPRISE = math.log(1000)  # guesses do as well once in a thousand times at most


@dataclass(frozen=True)
class Outright:
    """Those of ``altered`` records (``of``: or households) that are ``certain`` to be so for an intruder who has
    two-way tables of the original, or (``by`` "several") several released tables."""

    certain: int
    altered: int
    of: str = "records"
    by: Literal["tables", "several"] = "tables"


@dataclass(frozen=True)
class Verdict:
    """The result of an attack: an intruder names the ``named`` most suspect of ``n`` records (``of``: or households);
    ``right`` of these are altered, and as many guesses are right ``guessed`` times.

    ``kind`` is the intruder's knowledge.  An attack that was not made is "untried", and ``why`` is the reason.  By
    "method" the ``named`` records are those whose original values of the attributes in ``why`` are guessed, ``right``
    of them rightly, and ``guessed`` show their original values.
    ``outright`` are those that need no guess (None: there are none, or it was not looked for).
    """

    kind: AttackKind
    n: int = 0
    named: int = 0
    right: float = 0.0
    guessed: float = 0.0
    of: str = "records"
    why: str = ""
    outright: Outright | None = None

    @property
    def share(self) -> float:
        """The altered share of those named; NaN where none is named."""
        return self.right / self.named if self.named else math.nan

    @property
    def skill(self) -> float:
        """The part of the way from guesses (0) to certain names (1); below 0 where guesses are better."""
        return (self.right - self.guessed) / (self.named - self.guessed) if self.guessed < self.named else 0.0

    @property
    def severity(self) -> Severity:
        """The severity of the finding.

        It is "none" where the odds of a name to be right are less than 1.5 times those of a guess, or where as many
        guesses do as well more than once in a thousand times; else "serious" from half of the way to certain names on.
        It is "caution" at least where some are told outright.
        """
        if self.kind == "untried":
            return "untried"
        judged = self._severity()
        return "caution" if judged == "none" and self.outright is not None else judged

    def _severity(self) -> Severity:
        better = self.right * (self.named - self.guessed) >= _ODDS * self.guessed * (self.named - self.right)
        if self.skill <= 0 or not better or self._surprise() < _SURPRISE:
            return "none"
        return "serious" if self.skill >= _SERIOUS else "caution"

    @property
    def finds(self) -> bool:
        """Return whether the names are better than guesses."""
        return self.severity in ("caution", "serious")

    def _surprise(self) -> float:
        """Minus the logarithm of a bound on the probability that as many guesses do as well (Hoeffding 1963, theorem 1
        and section 6, which covers draws without replacement)."""
        p, q = self.right / self.named, self.guessed / self.named
        parts = [(p, q), (1 - p, 1 - q)]
        if any(a > 0 and b <= 0 for a, b in parts):
            return math.inf
        return self.named * sum(a * math.log(a / b) for a, b in parts if a > 0)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The most severe of some verdicts, of equally severe ones that on original values, then that with the most skill;
    with the most that are told outright by any of them."""
    verdicts = list(verdicts)
    told = max((one.outright for one in verdicts if one.outright), key=lambda one: one.certain, default=None)
    most = max(verdicts, key=lambda one: (SEVERITIES.index(one.severity), one.kind == "method", one.skill))
    return replace(most, outright=told)


def told_outright(found: Outright, n: int, kind: AttackKind) -> Verdict | None:
    """The verdict on those of ``n`` that are told outright, as the most suspect; None where there are none."""
    if not found.certain:
        return None
    guessed = found.certain * found.altered / n
    return Verdict(kind, n, found.certain, found.certain, guessed, found.of, outright=found)


def verdict_values(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values, for a file or a log, with its severity."""
    return {**asdict(verdict), "severity": verdict.severity}


def verdict_of(values: Mapping[str, Any]) -> Verdict | None:
    """The verdict of such values; None where there is none that this version knows."""
    try:
        return msgspec.convert({name: value for name, value in values.items() if name != "severity"}, Verdict)
    except msgspec.ValidationError:
        return None
