"""Text from elsewhere on a terminal or page, with characters that would steer it written out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import category

_UNSEEN = ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"  # of other categories
# C0 and C1 controls but for line ends and tabs, marks and overrides of the direction of writing, line separators of
# Unicode, halves of surrogate pairs, and the two that are no signs and that no XML can hold.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

_JOINER = re.compile("(?<=[\u0590-\u1dff\u2600-\U0010ffff])[\u200c\u200d](?=[\u0590-\u1dff\u2600-\U0010ffff])")


def printable(text: str) -> str:
    """``text`` with every sign that steers a terminal, or turns the direction of writing, written as ``\\u001b`` or
    ``\\u202e``, as JSON and TOML write it; line ends and tabs stay."""
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def has_hidden_signs(text: str) -> bool:
    """Return whether ``text`` holds signs that steer a page (:func:`printable`) or take no room on it; the joiners of
    Arabic and Indic letters and of pictures are none."""
    return any(hidden for _, hidden in _signs(text))


def without_hidden_signs(text: str) -> str:
    """``text`` without the signs of :func:`has_hidden_signs`."""
    return "".join(sign for sign, hidden in _signs(text) if not hidden)


def with_hidden_signs_written(text: str) -> str:
    """``text`` with the signs of :func:`has_hidden_signs` written as ``\\u200b`` or ``\\U000e0041``."""
    return "".join(_escape(sign) if hidden else sign for sign, hidden in _signs(text))


def _escape(sign: str) -> str:
    return f"\\U{ord(sign):08x}" if ord(sign) > 0xFFFF else f"\\u{ord(sign):04x}"


def _signs(text: str) -> Iterator[tuple[str, bool]]:
    """Each sign of a text, and whether it is hidden."""
    if text.isascii() and text.isprintable():
        yield from ((sign, False) for sign in text)
        return
    joiners = {match.start() for match in _JOINER.finditer(text)}
    for at, sign in enumerate(text):
        unseen = category(sign) == "Cf" or sign in _BLANK_LETTERS or _STEERING.match(sign) is not None
        yield sign, unseen and at not in joiners


def is_blank(text: str) -> bool:
    """Return whether nothing of ``text`` can be seen: it is empty, or all blanks, controls and signs of format."""
    return not any(category(sign) not in _UNSEEN and sign not in _BLANK_LETTERS for sign in text)
