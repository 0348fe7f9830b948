"""Contrast of colours, and the grounds and inks of the two themes."""

from __future__ import annotations

GROUNDS = ("#FFFFFF", "#14181D")
"""The light and the dark ground."""
INKS = ("#10151A", "#E8EAED")
"""Colours of text on them."""


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours (WCAG 2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)
