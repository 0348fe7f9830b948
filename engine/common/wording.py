"""Words, lists and numbers in sentences; text from elsewhere quoted, printed and put into cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    pass


def first_twice(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time, or None; looks at each once, however many there are."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def quoted(value: object) -> str:
    """A value as a sentence quotes it, cut where it is long; one that cannot be printed, such as a whole number of
    thousands of digits, by its type."""
    try:
        text = repr(value)
    except Exception:  # of an object of somebody else
        text = f"<{type(value).__name__} that cannot be printed>"
    return text if len(text) <= 60 else text[:57] + "..."


def text_of(value: object) -> str:
    """A value that a person gave as the text that a plan keeps."""
    try:
        return str(value).strip()
    except ValueError:  # of a whole number of thousands of digits
        return quoted(value)


def upper_first(text: str) -> str:
    """The beginning of a sentence."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """A title within a sentence: names of people keep their capital."""
    first = text.split()[0] if text else ""
    named = first.endswith("'s") or first[1:] != first[1:].lower() or first in ("Hellinger", "Shannon", "Pearson")
    return text if named else text[:1].lower() + text[1:]


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: ``A``, ``A and B``, ``A, B and C``."""
    names = list(names)
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))


def columns_named(names: Sequence[str], most: int = 10) -> str:
    """Columns in a sentence, in quotes and ``most`` by name: ``column 'a'``, ``columns 'a', 'b' and 2,000 more``."""
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    quoted = [f"'{name}'" for name in names[:most]]
    return f"column{'' if len(names) == 1 else 's'} {listed([*quoted, *more])}"


def plural(n: int, noun: str) -> str:
    """A number with its noun: ``1 record``, ``2,000 records``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def all_of(n: int, noun: str) -> str:
    """All things of a kind: ``the only record``, ``all 2,000 records``."""
    return f"the only {noun}" if n == 1 else f"all {plural(n, noun)}"


def of_them(k: int, n: int) -> str:
    """Some of the ``n`` things just named, before a reason: ``3 of them because``; ``because`` of the only one."""
    return "because" if n == 1 else f"{k:,} of them because"


def number_text(number: float) -> str:
    """A number with all its digits, a whole one without a decimal sign."""
    return repr(float(number)).removesuffix(".0")


def duration(seconds: float) -> str:
    """A time in words, such as ``18 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def rough_duration(seconds: float) -> str:
    """An estimated time in words: a start of some seconds cannot be told to the second."""
    return "a few seconds" if seconds < 8 else f"about {duration(seconds)}"


def in_digits(number: int) -> str:
    """A whole number, however large: digit by digit up to fifteen digits, else their number."""
    if abs(number) < 10**15:
        return f"{number:,}"
    return f"about 10^{int(abs(number).bit_length() * 0.30103)}"


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


_BEGINS = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # the last four are the signs' wide forms


def may_be_formula(text: str) -> bool:
    """Return whether a spreadsheet program may take a cell for a formula: it begins with one of ``= + - @``, a tab or a
    carriage return, and is no number."""
    return text.startswith(_BEGINS) and not _is_a_number(text)


def as_cell(text: str) -> str:
    """A text as a cell of CSV that no spreadsheet program computes: an apostrophe before what may be a formula, and
    what would steer a terminal or turn the direction of writing written out."""
    return f"'{printable(text)}" if may_be_formula(text) else printable(text)


def _is_a_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text
