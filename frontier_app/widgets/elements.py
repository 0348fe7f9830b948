"""Small elements that several pages draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import streamlit as st

from engine.common.errors import EngineError
from engine.common.wording import upper_first
from engine.report.describe import Occupancy
from frontier_app.charts.style import framed
from frontier_app.session import navigation
from frontier_app.widgets import tour
from frontier_app.wording import remedies
from frontier_app.wording.text import plural

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show the engine's own sentence where something could not be done."""
    try:
        yield
    except EngineError as error:
        show_error(error)


def show_error(error: EngineError | str) -> None:
    """Show an error with what mends it, or a sentence about one, first letter raised."""
    sentence = remedies.error_text(error) if isinstance(error, EngineError) else error
    st.error(upper_first(sentence), icon=":material/error:")


def is_dark() -> bool:
    """Return whether the dark theme is shown."""
    return st.context.theme.type == "dark"


def chart(
    figure: Figure,
    key: str,
    alt: str,
    *,
    chosen: Callable[[], None] | None = None,
    boxes: bool = False,
    toolbar: bool | Mapping[str, Any] = False,
    size: int = 12,
    tall: bool = False,
) -> None:
    """A figure in the theme's colours, and what it says in words.  A click on a point calls ``chosen``; with ``boxes``
    a box drawn over the figure does too.  A toolbar may be a table of plotly's own settings.  A ``tall`` one reaches
    to the lower end of the window."""
    config: dict[str, Any] = {"displaylogo": False} if toolbar else {"displayModeBar": False}
    if isinstance(toolbar, Mapping):
        config |= toolbar
    with st.container(key=f"tall-{key}") if tall else nullcontext():
        st.plotly_chart(
            framed(figure, picks=chosen is not None, size=size),
            theme=None,
            key=key,
            height="stretch" if tall else "content",
            on_select=chosen or "ignore",
            selection_mode=("points", "box") if boxes else "points",
            config=config,
            alt=alt,
        )


def go(page: str, label: str, *, primary: bool = True, disabled: bool = False, stretch: bool = False) -> None:
    """A button to another page, as wide as its words or as its place."""
    if st.button(
        label,
        type="primary" if primary else "secondary",
        disabled=disabled,
        key=f"go-{page}-{label}",
        width="stretch" if stretch else "content",
    ):
        navigation.go_to(page)


def switch(
    label: str, options: Mapping[str, str], current: str, key: str, chosen: Callable[[], None] | None = None
) -> str:
    """One of a few views, as buttons beside each other; a click on the one that is shown leaves it, one on another
    calls ``chosen`` before the page is drawn."""
    picked = st.segmented_control(
        label,
        list(options),
        default=current if current in options else next(iter(options)),
        format_func=options.__getitem__,
        key=key,
        on_change=chosen,
        label_visibility="collapsed",
        required=True,
    )
    return picked or current


def needs_data(what: str) -> None:
    """Say what needs the data of the study, while they are not open, and show the way to open them."""
    st.info(f"{what} the data of this study, which are not open.", icon=":material/info:")
    go("data", "Open the data", primary=False)


def empty_page(what: str, page: str, label: str) -> None:
    """An empty page: what is missing and where to get it, and what is done on every page."""
    with st.container(border=True):
        st.markdown(what)
        go(page, label)
    tour.overview(page)


def share(part: int, total: int) -> str:
    """A share in percent, to two figures below ten."""
    percent = 100 * part / max(1, total)
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


def occupancy(counts: Occupancy, before: Occupancy | None = None) -> None:
    """A table's fullness in four figures; with ``before``, the changes too."""

    def change(name: str) -> str | None:
        if before is None:
            return None
        difference = getattr(counts, name) - getattr(before, name)
        return f"{difference:+,} by the swap".replace("-", "−") if difference else "unchanged"

    columns = st.columns(4)
    figures = (
        ("Occupied cells", f"{counts.cells:,}", "cells", f"of {plural(counts.combinations, 'possible combination')}"),
        ("Cells of one", f"{counts.ones:,}", "ones", "records that are alone in their combination (sample uniques)"),
        ("Cells of two", f"{counts.twos:,}", "twos", "combinations shared by exactly two records"),
        (
            "Records in cells of 1–2",
            f"{counts.in_small:,} ({share(counts.in_small, counts.n_records)})",
            "in_small",
            f"of {plural(counts.n_records, 'record')}",
        ),
    )
    for column, (label, value, name, tip) in zip(columns, figures, strict=True):
        column.metric(label, value, change(name), delta_color="off", delta_arrow="off", help=tip)
