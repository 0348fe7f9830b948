"""The sizes of the key cells, before and after a change of levels."""

from __future__ import annotations

import streamlit as st

from engine.plan import Plan
from engine.plan.coding import N_RULE, KeyTable, key_table
from frontier_app.session import state
from frontier_app.widgets import elements
from frontier_app.wording import text
from frontier_app.wording.markup import Markdown, markdown

MOST_KEYS = 40
"""Keys from which the table is not made: nobody knows as many, and every record is alone on them."""
_ALONE = 0.9  # share of records in small cells from which a table says little


def of(plan: Plan) -> KeyTable | None:
    """The key table under a plan's coding, made once for each coding; None where there are too many keys."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    if len(plan.keys) > MOST_KEYS:
        return None
    coding = tuple(part for part in plan.attributes if part.name in plan.keys)
    depends = (coding, plan.data.missing, plan.data.columns, plan.keys)
    name = "key-table" if plan == now.plan else "key-table-tried"
    known = now.memo.peek("key-table", depends)
    if known is not None:
        table: KeyTable = known
        return table
    return now.memo.get(name, depends, lambda: key_table(raw, plan))


def draw(counts: KeyTable, before: KeyTable | None = None) -> None:
    """The table in four figures; with ``before``, what a change does to them."""

    def change(name: str) -> str | None:
        if before is None:
            return None
        was = getattr(before, name)
        difference = getattr(counts, name) - was
        return f"{difference:+,} (was {was:,})".replace("-", "−") if difference else "unchanged"

    figures = (
        ("Occupied cells", "cells", "", f"of {text.plural(counts.possible, 'possible combination')} of levels"),
        (
            f"Cells of 1–{N_RULE - 1}",
            "small_cells",
            "",
            f"combinations that fewer than {N_RULE} records share",
        ),
        (
            "Records in them",
            "small_records",
            f" ({elements.share(counts.small_records, counts.n_records)})",
            f"of {text.plural(counts.n_records, 'record')}",
        ),
        (
            "Records alone",
            "uniques",
            f" ({elements.share(counts.uniques, counts.n_records)})",
            "records that are alone in their combination (sample uniques)",
        ),
    )
    for column, (label, name, share, tip) in zip(st.columns(4), figures, strict=True):
        column.metric(
            label, f"{getattr(counts, name):,}{share}", change(name), delta_color="off", delta_arrow="off", help=tip
        )


def keys_line(plan: Plan) -> Markdown:
    """A line that says which table it is."""
    shown = ", ".join(plan.keys[:10]) + (" …" if len(plan.keys) > 10 else "")
    keys = text.plural(len(plan.keys), "key")
    return markdown("**What an intruder could single out**: the table of {} – {}", keys, shown)


def live(plan: Plan) -> None:
    """The table of the plan's keys, with a word where it says little."""
    counts = of(plan)
    if counts is None:
        st.warning(
            markdown(
                "The plan has {} keys. Nobody knows as many answers of a person, and on so many every record is alone."
                " Choose under **Roles** what an intruder really knows.",
                len(plan.keys),
            ),
            icon=":material/warning:",
        )
        return
    st.markdown(keys_line(plan))
    draw(counts)
    if counts.small_records > _ALONE * counts.n_records:
        st.warning(
            "Nearly every record is alone or almost alone on these keys. A table so thin says little about risk or"
            " utility: mark fewer keys (what an intruder really knows), or merge and cut levels.",
            icon=":material/warning:",
        )
