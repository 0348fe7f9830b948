"""Wordings that all readers share: the public paragraph on protection, titles within a sentence, times."""

from __future__ import annotations

from collections.abc import Iterable

_SWAP = "values of some variables were exchanged between records before release"
_OTHER = "values of some variables were altered by a statistical procedure before release"
_WITHHELD = (
    "The variables and the share of records concerned are not published, because that would weaken the protection."
)
_RANGE = "The share of records concerned is {extent}. Which records and variables were concerned is not published."


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


def methods_paragraph(*, title: str, extent: str, wording: str, swap: bool, n_tables: int) -> str:
    """The paragraph for the public: that the data were altered, how in general, and how much only as far as ``extent``
    says (a range in words; empty withholds it).

    ``title`` names the released file (may be empty), ``wording`` is added at the end, ``swap`` says whether values were
    exchanged between records or altered otherwise, ``n_tables`` how many tables the release has.
    """
    what = _SWAP if swap else _OTHER
    said = [f"To protect the confidentiality of the people and organisations behind {title or 'this file'}, {what}."]
    if n_tables > 1:
        said.append(
            f"The release consists of {n_tables} files with the same records in the same order; analyse each of them "
            "and combine the results by the rules for multiple imputation."
        )
    said.append(_RANGE.format(extent=extent) if extent else _WITHHELD)
    said.append(
        "An apparent match with a known person or organisation may therefore be false. Estimates from the file may "
        "differ from those from the confidential data."
    )
    said.append("Records stand in a random order, and identifiers, where there are any, were assigned anew.")
    if wording:
        said.append(wording)
    return " ".join(" ".join(said).split())


def duration(seconds: float) -> str:
    """A time in words, such as ``18 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def in_digits(number: int) -> str:
    """A whole number, however large: digit by digit up to fifteen digits, else their number."""
    if abs(number) < 10**15:
        return f"{number:,}"
    return f"about 10^{int(abs(number).bit_length() * 0.30103)}"
