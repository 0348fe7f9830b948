"""The order of levels that their words say: bands of numbers, numbered names, months, weekdays, scales of answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf, isnan

from engine.common.notation import numbers_of_texts
from engine.common.raw_values import is_number
from engine.plan.missing_codes import reads_as_missing
from engine.plan.view import JOIN, in_order

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SCALES = tuple(
    tuple(words.split(", "))
    for words in (
        "strongly disagree, disagree, somewhat disagree, slightly disagree, neither agree nor disagree, neither, "
        "neutral, undecided, slightly agree, somewhat agree, agree, strongly agree",
        "very dissatisfied, dissatisfied, somewhat dissatisfied, neither satisfied nor dissatisfied, neither, "
        "neutral, somewhat satisfied, satisfied, very satisfied",
        "never, almost never, hardly ever, rarely, seldom, occasionally, sometimes, often, frequently, usually, "
        "very often, almost always, always",
        "very poor, poor, very bad, bad, fair, average, neutral, moderate, satisfactory, good, very good, excellent",
        "very unlikely, unlikely, neutral, neither likely nor unlikely, neither, likely, very likely",
        "not at all, not very, a little, slightly, somewhat, moderately, fairly, quite, quite a bit, a lot, very, "
        "very much, extremely",
        "not at all important, unimportant, not important, slightly important, somewhat important, "
        "moderately important, important, very important, extremely important",
        "none, very low, low, medium low, medium, moderate, average, medium high, high, very high",
        "none, mild, moderate, severe, very severe",
        "extra small, very small, small, medium, large, very large, extra large",
        "none, a few, few, some, many, most, all",
        "much worse, worse, somewhat worse, about the same, the same, same, somewhat better, better, much better",
    )
)
_NUMBER = r"(?<![\d.,])(?:(?:(?<![\w)\]])-)?(?:\d{1,3}(?:[ ,.'’\u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,]\d+)?))(?:[km]\b)?"
_NUMBERS = re.compile(_NUMBER, re.IGNORECASE)
_BELOW = re.compile(
    r"^(?:<=?|≤|-\s*inf\w*\s*,)|\b(?:under|below|less\s+than|fewer\s+than|younger\s+than|lower\s+than|up\s+to|at\s+most)\b|"
    r"\b(?:(?:and|or)\s+)?(?:under|below|less|fewer|younger|lower)\b",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"^(?:>=?|≥)|\+|,\s*\+?inf\w*|\b(?:over|above|more\s+than|older\s+than|greater\s+than|at\s+least)\b|"
    r"\b(?:(?:and|or)\s+)?(?:over|above|more|older|greater|higher|up|upwards?|plus)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"^\W*(?:to|through|thru|and|until|till|-|–|—)?\W*(?:under|below|less\s+than)?\W*$", re.IGNORECASE
)
_CHUNKS = re.compile(r"\d+|\D+")


def natural_order(labels: Sequence[str]) -> list[str]:
    """Return levels in the order that they say, or as :func:`~engine.plan.view.in_order` has them.

    Bands stand by their numbers (``<5, 5-9, 10-14, 100+``; ``under 5, 5 to 9, 65 and over``), names with numbers by
    these (``Grade 2, Grade 10``), months and weekdays as in the year and the week, and the answers of a usual scale
    from the lowest to the highest.  Levels that say nothing of the kind, or that a code for missing stands for, come
    last.
    """
    if len(labels) < 2 or all(map(is_number, labels)) or any(JOIN in label for label in labels):
        return in_order(labels)
    figures = numbers_of_texts(labels)
    if not any(map(isnan, figures)):
        return [label for _, label in sorted(zip(figures, labels, strict=True))]
    for key_of in (_calendar(labels), _scale(labels), _bands(labels)):
        said = {label: key for label in labels if (key := key_of(label)) is not None}
        others = [label for label in labels if label not in said]
        if said and (len(others) <= len(said) / 3 or all(map(reads_as_missing, others))):
            return [*sorted(said, key=lambda label: (said[label], label)), *_numbered(others)]
    return _numbered(labels)


def _numbered(labels: Sequence[str]) -> list[str]:
    """Labels by their text, but numbers within them by their size."""
    return sorted(
        labels,
        key=lambda label: (
            [(0, int(chunk), "") if chunk.isdecimal() else (1, 0, chunk) for chunk in _CHUNKS.findall(label)],
            label,
        ),
    )


_Key = Callable[[str], tuple[float, ...] | None]


def _calendar(labels: Sequence[str]) -> _Key:
    """Months or weekdays, whole or cut to three letters or more; not both."""
    words = [label.strip(" .").casefold() for label in labels]
    for names in (_MONTHS, _WEEKDAYS):
        known = [word for word in words if len(word) > 2 and any(name.startswith(word) for name in names)]
        if 2 * len(known) > len(words) and len(known) > 1:
            place_of = {word: next(i for i, name in enumerate(names) if name.startswith(word)) for word in known}
            return lambda label: _single(place_of.get(label.strip(" .").casefold()))
    return lambda label: None


def _scale(labels: Sequence[str]) -> _Key:
    """The first usual scale that most of the labels, and two at least, belong to."""
    words = [_plain(label) for label in labels if not reads_as_missing(label)]
    for scale in _SCALES:
        n_known = sum(word in scale for word in words)
        if n_known > 1 and all(word in scale for word in words):
            return lambda label, scale=scale: _single(scale.index(_plain(label)) if _plain(label) in scale else None)  # type: ignore[misc]
    return lambda label: None


def _single(place: int | None) -> tuple[float, ...] | None:
    return None if place is None else (place,)


def _plain(label: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", label).split()).casefold()


def _bands(labels: Sequence[str]) -> _Key:
    """Ranges of numbers, one of which has two ends or is open; what is said besides is the same everywhere."""
    read = {label: band for label in labels if (band := _band(label)) is not None}
    if not any(low != high for low, high, _ in read.values()):
        return lambda label: None
    common = Counter(rest for _, _, rest in read.values() if rest).most_common(1)
    alike = {"", *(rest for rest, _ in common)}
    return lambda label: read[label][:2] if label in read and read[label][2] in alike else None


def _band(label: str) -> tuple[float, float, str] | None:
    """The ends of a band and the words around them; None of a label that is none."""
    text = label.strip()
    found = list(_NUMBERS.finditer(text))
    if len(found) == 2:
        (a, b), between = found, text[found[0].end() : found[1].start()]
        if not _BETWEEN.match(between.replace("$", "").replace("€", "").replace("£", "")):
            return None
        return _size(a[0]), _size(b[0]), _rest(text[: a.start()] + " " + text[b.end() :])
    if len(found) != 1:
        return None
    value, around = _size(found[0][0]), text[: found[0].start()] + " " + text[found[0].end() :]
    if below := _BELOW.search(around):
        return -inf, value, _rest(around[: below.start()] + around[below.end() :])
    if above := _ABOVE.search(around):
        return value, inf, _rest(around[: above.start()] + around[above.end() :])
    return value, value, _rest(around)


def _rest(text: str) -> str:
    """The words beside the numbers, without their plural."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    return " ".join(word.removesuffix("s") for word in words if word not in ("between", "from", "age", "aged", "ages"))


def _size(text: str) -> float:
    factor = {"k": 1e3, "m": 1e6}.get(text[-1].casefold(), 1.0)
    digits = text.rstrip("kKmM")
    if re.fullmatch(r"-?\d{1,3}(?:[ ,.'’\u00a0\u202f]\d{3})+", digits):
        return float(re.sub(r"[^\d-]", "", digits)) * factor
    return float(digits.replace(",", ".")) * factor
