"""The paragraph on methods for the public; its words are in ``templates/methods.html``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import plural
from engine.report.documents import lines

if TYPE_CHECKING:
    from engine.report.facts import Exposure
    from engine.report.findings import Findings


def methods_paragraph(*, title: str, extent: str, wording: str, swap: bool, n_tables: int, new_ids: bool) -> str:
    """Return the paragraph: that the data were altered, how in general, and how much only as far as ``extent`` says
    (a range in words; empty withholds it).

    ``title`` names the released file (may be empty), ``wording`` is added at the end, ``swap`` says whether values were
    exchanged between records or altered otherwise, ``n_tables`` how many tables the release has, ``new_ids`` whether
    records are released with new identifiers.
    """
    names = {"title": title, "extent": extent, "wording": wording, "swap": swap, "n_tables": n_tables}
    names["new_ids"] = new_ids
    return " ".join(lines("methods.html", **names))


def match_words(exposure: Exposure, is_exactly_none: bool = False) -> str:
    """Return what the sentence on apparent matches means in this file, for the board; users are told no more."""
    after, unaltered = exposure.small_after, exposure.unaltered_after
    if after is None or unaltered is None:
        return ""
    if not after:
        return (
            "No record stands in a small cell of this file, so nobody who knows the keys alone finds an apparent "
            "match. The sentence that such a match may be false is for users who know other things."
        )
    if unaltered >= after:
        return (
            f"In this file {plural(after, 'record')} in small cells {'is' if after == 1 else 'are'} unaltered, "
            "and none is altered: a match with one of them is true. That a match may be false holds for the method."
        )
    of = f"Of {plural(after, 'record')} in small cells of this file"
    if not unaltered and is_exactly_none:
        which = "it" if after == 1 else "one of them"
        return f"{of} none is unaltered: a match with {which} is false."
    other = "the other" if after - unaltered == 1 else "one of the others"
    are = "is" if unaltered == 1 else "are"
    return f"{of} {unaltered:,} {are} unaltered: a match with {other} is false."


def public_wording(findings: Findings) -> str:
    """The paragraph that goes with the public file, word for word."""
    return methods_paragraph(
        title=findings.publish.title,
        extent=findings.publish.extent,
        wording=findings.publish.wording,
        swap=findings.design.swap,
        n_tables=findings.design.tables,
        new_ids=bool({"id", "unit"} & set(findings.publish.include)),
    )
