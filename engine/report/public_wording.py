"""The paragraph on methods for the public; its words are in ``templates/methods.txt``."""

from __future__ import annotations

from engine.report.template_reader import texts


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
