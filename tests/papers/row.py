"""A published figure beside ours, and the one rule by which two figures agree.

Both are means over simulated data, so both are uncertain.  Ours is known from the spread over our simulations; the
published one's follows from the same spread and the number of simulations that the paper states.  The two agree when
they differ by at most three standard errors of their difference, after what rounding to the printed digits may hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf, isnan, sqrt

MOST = 3.0
"""Standard errors of a difference up to which two figures agree."""

Figure = float | str | None


@dataclass(frozen=True)
class Row:
    """One row of the page.

    ``digits`` are printed after the point.  ``error`` is the standard error of ours, ``theirs`` that of the published
    figure; None where nothing is left to chance.  ``units`` says how many units of the last printed digit rounding may
    hide: half a one, or one where the published figure is a difference of two printed ones.  ``holds`` answers a
    statement in words or a bound.  ``reading`` lists parameters that differ from the defaults and choices that the
    paper leaves open.
    """

    name: str
    published: Figure
    ours: Figure
    grade: str
    digits: int = 0
    error: float | None = None
    theirs: float | None = None
    units: float = 0.5
    holds: bool | None = None
    reading: str = ""
    why: str = ""
    absent: bool = False

    @property
    def spread(self) -> float:
        """Standard error of the difference of the two figures."""
        return hypot(self.error or 0.0, self.theirs or 0.0)

    def errors_apart(self, spread: float | None = None) -> float | None:
        """By how many standard errors (``spread``, or this row's own) the figures differ; None for words."""
        if not isinstance(self.published, (int, float)) or not isinstance(self.ours, (int, float)):
            return None
        if isnan(self.ours):
            return inf
        gap = abs(self.ours - self.published) - self.units * 10.0**-self.digits
        spread = self.spread if spread is None else spread
        if gap <= 1e-9:
            return 0.0
        return gap / spread if spread > 0 else inf

    @property
    def allowed(self) -> float:
        """The largest difference that agrees."""
        return MOST * self.spread + self.units * 10.0**-self.digits

    @property
    def agrees(self) -> bool:
        """Whether ours is the published figure, as far as both are known."""
        if self.ours is None:
            return False
        if self.holds is not None:
            return self.holds
        apart = self.errors_apart()
        return self.published == self.ours if apart is None else apart <= MOST

    @property
    def required(self) -> bool:
        """Whether the tests insist on it."""
        return self.grade in ("A", "B")

    def rejects(self, mutant: Row) -> float:
        """By how many standard errors a wrong implementation's figure misses the published one, the larger of both
        rows' errors taken; 0 where it agrees, infinite for words and for what leaves nothing to chance."""
        apart = mutant.errors_apart(max(self.spread, mutant.spread))
        if mutant.holds is not None or apart is None:
            return 0.0 if mutant.agrees else inf
        return apart if apart > MOST else 0.0


def of_other(error: float, sets: int, published: int) -> float:
    """The standard error of a published mean over ``published`` simulations, where ours over ``sets`` has ``error``."""
    return error * sqrt(sets / published)
