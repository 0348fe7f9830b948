"""Text from elsewhere on a terminal or page, with characters that would steer it written out."""

from __future__ import annotations

import re
from unicodedata import category

_UNSEEN = ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")
# C0 and C1 controls but for line ends and tabs, marks and overrides of the direction of writing, line separators of
# Unicode, halves of surrogate pairs, and the two that are no signs and that no XML can hold.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """``text`` with every sign that steers a terminal, or turns the direction of writing, written as ``\\u001b`` or
    ``\\u202e``, as JSON and TOML write it; line ends and tabs stay."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def without_steering(text: str) -> str:
    """``text`` without the signs that :func:`printable` writes out."""
    return _STEERING.sub("", text)


def is_blank(text: str) -> bool:
    """Return whether nothing of ``text`` can be seen: it is empty, or all blanks, controls and signs of format."""
    return not any(category(sign) not in _UNSEEN for sign in text)
