"""Wordings that all readers share: titles, lists and numbers in a sentence, times, the name that occurs twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def first_twice(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time, or None; looks at each once, however many there are."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


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
