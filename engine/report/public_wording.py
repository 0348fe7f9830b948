"""The paragraph on methods for the public; its words are in ``templates/methods.txt``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import plural
from engine.report.template_reader import texts

if TYPE_CHECKING:
    from engine.report.facts import Exposure


def methods_paragraph(*, title: str, extent: str, wording: str, swap: bool, n_tables: int, new_ids: bool) -> str:
    """Return the paragraph: that the data were altered, how in general, and how much only as far as ``extent`` says
    (a range in words; empty withholds it).

    ``title`` names the released file (may be empty), ``wording`` is added at the end, ``swap`` says whether values were
    exchanged between records or altered otherwise, ``n_tables`` how many tables the release has, ``new_ids`` whether
    records are released with new identifiers.
    """
    names = {"title": title, "extent": extent, "wording": wording, "swap": swap, "n_tables": n_tables}
    names["new_ids"] = new_ids
    return " ".join(" ".join(texts("methods.txt", names)).split())


def match_words(exposure: Exposure, is_rounded: bool, is_exactly_none: bool = False) -> str:
    """Return what the sentence on apparent matches means in this file, for the board; users are told no more."""
    after, unaltered = exposure.small_after, exposure.unaltered_after
    about = "about " if is_rounded else ""
    if after is None or unaltered is None:
        return (
            "How many records in small cells of this file are unaltered, so that a match with them is true, is "
            "withheld: it would tell how many records were altered. A match with one of the others is false."
        )
    if not after:
        return (
            "No record stands in a small cell of this file, so nobody who knows the keys alone finds an apparent "
            "match. The sentence that such a match may be false is for users who know other things."
        )
    if unaltered >= after:
        return (
            f"In this file {about}{plural(after, 'record')} in small cells {'is' if after == 1 else 'are'} unaltered, "
            "and none is altered: a match with one of them is true. That a match may be false holds for the method. "
            "Users are told no more, since more would tell an intruder which matches to trust."
        )
    if not unaltered and is_exactly_none:
        return (
            f"Of {about}{plural(after, 'record')} in small cells of this file none is unaltered: a match with one of "
            "them is false. Users are not told so, since that would tell an intruder which matches not to trust."
        )
    return (
        f"Of {about}{plural(after, 'record')} in small cells of this file {about}{unaltered:,} "
        f"{'is' if unaltered == 1 else 'are'} unaltered: a match with one of the others is false. Users are not "
        "told how many these are, since that would tell an intruder how far to trust a match."
    )
