"""Words and numbers that read like codes for a missing answer."""

from __future__ import annotations

import re

import numpy as np

from engine.common.raw_values import texts
from engine.data.microdata import RawColumn

_MISSING_WORD = re.compile(
    r"n\W?a\W?n?|\W*n\W?/\W?a\W*|none|null|nil|nan|[-–—?.*#]+|missing|unknown|refused|refusal|dk|don'?t[\W_]+know|"
    r"not[\W_]+(asked|stated|known|available|applicable|reported|ascertained)([\W_]+code)?|no[\W_]+answer|"
    r"inapplicable",
    re.IGNORECASE,
)
MISSING_WORDS = re.compile(
    r"\b(refus\w*|don'?t\W+know|do\W+not\W+know|not\W+ascertained|missing|no\W+answer|not\W+stated|not\W+reported|"
    r"nonresponse|non-response|unknown|not\W+available|dk)\b",
    re.IGNORECASE,
)
"""Words in the label of a value that says nothing."""
_APART = 3  # times the usual step between numbers, from which a code lies away from the others
_LONGEST = 40  # signs of a word
_MOST_NEGATIVE = 6  # codes below 0, where all other numbers are not


def reads_as_missing(text: str) -> bool:
    """Return whether a text is one of the usual codes or words for a missing answer."""
    return _MISSING_WORD.fullmatch(text.strip()) is not None


def says_answer(label: str) -> bool:
    """Return whether the label of a value names an answer and not that there is none."""
    return not (reads_as_missing(label) or MISSING_WORDS.search(label))


def code_like(column: RawColumn) -> tuple[np.ndarray, np.ndarray]:
    """Masks of distinct values, each of shape ``(len(values),)``: those that read like a code for missing (0, 99), and
    of these the ones that no other value resembles: words, and numbers that are negative or lie away from all others.

    A value with a label is a code if the label says so, and no code otherwise.
    """
    figures = column.numbers
    finite = np.isfinite(figures)
    negative = finite & (figures < 0)
    if np.count_nonzero(negative) > min(_MOST_NEGATIVE, np.count_nonzero(finite) / 2):
        negative[:] = False
    coded = finite & (figures >= 0) & _is_zero_or_nines(figures)
    apart = negative.copy()
    usual = np.unique(figures[finite & (figures >= 0) & ~coded])
    if len(usual) and coded.any():
        step = float(np.median(np.diff(usual))) if len(usual) > 1 else 1.0
        apart |= coded & (np.maximum(figures - usual[-1], usual[0] - figures) > max(1.0, _APART * step))
    like = negative | coded
    if column.is_text and not finite.all():
        words = [i for i, text in enumerate(texts(column.values)) if len(text) < _LONGEST and reads_as_missing(text)]
        words = [i for i in words if not finite[i]]
        like[words] = apart[words] = True
    if column.about.label_of:
        for i, text in enumerate(texts(column.values)):
            if text in column.about.label_of:
                like[i] = apart[i] = not says_answer(column.about.label_of[text])
    return like, apart


def _is_zero_or_nines(figures: np.ndarray) -> np.ndarray:
    """Mask of numbers from 0 on that are 0, or whose digits are all 7, 8 or 9 (99, 888), or 9 before one of these
    (997, 98): the codes for missing answers that people choose."""
    figures = np.where(np.abs(figures) < 1e15, figures, 1)
    whole = np.floor(figures)
    power = 10.0 ** (np.floor(np.log10(np.maximum(whole, 1) + 0.5)) + 1)
    rest = np.round(power - 1 - whole)
    ones = np.round((power - 1) / 9)
    written = (rest <= 2) | (whole == 8 * ones) | (whole == 7 * ones)
    part = figures - whole
    mask: np.ndarray = (figures == 0) | (written & (whole > 10) & ((part == 0) | (part > 0.89)))
    return mask
