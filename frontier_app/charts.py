"""Colours and shapes of all figures.

Colours are those of Okabe and Ito that keep 3:1 against both themes' grounds; shape says the same as colour.
"""

from __future__ import annotations

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
SHAPES = (
    "circle",
    "diamond",
    "square",
    "triangle-down",
    "pentagon",
    "hexagon",
    "star",
    "triangle-left",
    "triangle-right",
)
QUIET = "#77818C"
TOOLBAR = 34
"""Pixels kept free above a legend: plotly's buttons stand there, and would lie on its words."""

MARGIN = {"l": 94, "r": 10, "b": 66}
"""Pixels beside and under a map, a little more than its ticks and titles take: where they need more, plotly makes room
by drawing everything a second time."""
GROUNDS = ("#FFFFFF", "#14181D")
INK = ("#10151A", "#E8EAED")
"""Colours of text on the light and on the dark ground."""


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours (WCAG 2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def look_of(category: int) -> tuple[str, str]:
    """Colour and shape of a category; shapes repeat later than colours."""
    return COLOURS[category % len(COLOURS)], SHAPES[category % len(SHAPES)]
