"""Small pieces that several pages draw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from engine.describe import Occupancy
from engine.errors import EngineError
from frontier_app.text import plural


@contextmanager
def spoken() -> Iterator[None]:
    """Show the engine's own sentence where something could not be done."""
    try:
        yield
    except EngineError as error:
        complain(error)


def complain(error: EngineError | str) -> None:
    """The engine's words, first letter raised."""
    text = str(error)
    st.error(text[:1].upper() + text[1:], icon=":material/error:")


def is_dark() -> bool:
    """Whether the dark theme is shown."""
    return st.context.theme.type == "dark"


def go(page: str, label: str, *, primary: bool = True, disabled: bool = False) -> None:
    """A button to another page."""
    if st.button(label, type="primary" if primary else "secondary", disabled=disabled, key=f"go-{page}-{label}"):
        st.switch_page(f"views/{page}.py")


def nothing(what: str, page: str, label: str) -> None:
    """An empty page: what is missing and where to get it."""
    with st.container(border=True):
        st.markdown(what)
        go(page, label)


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(1, whole)
    return f"{share:.0f} %" if share >= 10 or share == 0 else f"{share:.2g} %"


def occupancy(found: Occupancy, before: Occupancy | None = None) -> None:
    """A table's fullness in four figures; with ``before``, the changes too."""

    def change(name: str) -> str | None:
        if before is None:
            return None
        difference = getattr(found, name) - getattr(before, name)
        return f"{difference:+,} by the swap" if difference else "unchanged"

    columns = st.columns(4)
    figures = (
        ("Occupied cells", f"{found.cells:,}", "cells", f"of {plural(found.combinations, 'possible combination')}"),
        ("Cells of one", f"{found.ones:,}", "ones", "records that are alone in their combination (sample uniques)"),
        ("Cells of two", f"{found.twos:,}", "twos", "combinations shared by exactly two records"),
        (
            "Records in cells of 1–2",
            f"{found.in_small:,} ({_percent(found.in_small, found.n_records)})",
            "in_small",
            f"of {plural(found.n_records, 'record')}",
        ),
    )
    for place, (label, value, name, words) in zip(columns, figures, strict=True):
        place.metric(label, value, change(name), delta_color="off", delta_arrow="off", help=words)
