"""The range of the share of records concerned, as it is told to the public in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from engine.common.errors import UsageError

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_END = rf"(\d+(?:\.\d+)?|\.\d+|{'|'.join(_WORDS)})"
_PERCENT = r"(?:\s*%|\s*per\s?cent)"
_BETWEEN = re.compile(
    rf"(?:(?:between|from)\s+)?{_END}{_PERCENT}?\s*(?:\band\b|\bto\b|-|–)\s*{_END}{_PERCENT}", re.IGNORECASE
)
_BELOW = re.compile(rf"(?:below|under|up to|at most|less than|no more than|not more than)\s+{_END}{_PERCENT}", re.I)


@dataclass(frozen=True)
class RateRange:
    """Both ends of a range of shares, in percent."""

    low: Decimal
    high: Decimal

    def holds(self, share: float | Decimal) -> bool:
        """Return whether a share (0.02 is 2 percent) lies in the range, its ends included."""
        return self.low <= Decimal(str(share)) * 100 <= self.high


def rate_range(text: str) -> RateRange:
    """The range that a text names, such as "between 1 and 5 percent" or "below 5 percent".

    A narrow range says as much as the rate itself: both ends must have one significant digit and the upper one be at
    least twice the lower, which may be 0 (:class:`UsageError` otherwise).
    """
    plain = " ".join(text.split())
    ends = ["0"]
    if match := _BETWEEN.fullmatch(plain):
        ends = list(match.groups())
    elif match := _BELOW.fullmatch(plain):
        ends += match.groups()
    numbers = [Decimal(_WORDS.index(end.lower()) if end.lower() in _WORDS else end) for end in ends]
    rough = all(len(number.normalize().as_tuple().digits) == 1 for number in numbers)
    wide = len(numbers) == 2 and 2 * numbers[0] <= numbers[1] and 0 < numbers[1] <= 100
    if not (rough and wide):
        raise UsageError(
            f"the range for the public is '{text}', must read like 'between 1 and 5 percent' or 'below 5 percent', "
            "both ends with one significant digit and the upper one at least twice the lower: a narrow range would say "
            "as much as the rate itself"
        )
    return RateRange(*numbers)
