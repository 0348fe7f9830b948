"""Figures as a board reads them."""

from __future__ import annotations

import math

NONE = "–"


def figure(value: float | None, digits: int = 3) -> str:
    """A figure with so many significant digits; whole numbers from there on; an undefined one is a dash."""
    if value is None or math.isnan(value):
        return NONE
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}".replace("-", "−")
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", "−")
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, 8)}f}".replace("-", "−")


def about(value: float | None, se: float | None) -> str:
    """A mean with its standard error, both to the error's first digit."""
    if value is None:
        return NONE
    if se is None or math.isnan(se):
        return figure(value)
    if se == 0:
        return f"{figure(value)} ± 0"
    places = max(0, -math.floor(math.log10(se)) + (1 if se / 10 ** math.floor(math.log10(se)) < 1.95 else 0))
    return f"{value:,.{places}f} ± {se:.{places}f}".replace("-", "−")


def signed(value: float | None, digits: int = 2) -> str:
    """A difference with its sign."""
    if value is None:
        return NONE
    text = figure(abs(value), digits)
    return text if text == "0" else ("+" if value > 0 else "−") + text


def percent(value: float | None, digits: int = 2) -> str:
    """A percentage that is given as one (0 to 100)."""
    return NONE if value is None else f"{value:.{digits}f} %"


def relative(value: float | None) -> str:
    """A relative change in percent with its sign."""
    if value is None:
        return "new"
    if value == 0:
        return "0 %"
    return f"{'+' if value > 0 else '−'}{100 * abs(value):.1f} %"


def plural(n: int, noun: str) -> str:
    """A number with its noun."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def of(part: int, whole: int, noun: str = "record") -> str:
    """A part of a whole: ``733 of 48,842 records``."""
    return f"{part:,} of {plural(whole, noun)}"


def one_in(part: int, whole: int) -> str:
    """Roughly one in how many; empty for none."""
    return f"about one in {round(whole / part):,}" if part else "none"
