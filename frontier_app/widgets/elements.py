"""Small elements that several pages draw.

The page and the log entry for a defect of the program, without values of records.

Errors of the engine are sentences, shown where they arise.  Anything else is a defect: its own text may hold values of
records, so neither page nor log repeats it; they name its type and the line of code.

Errors of single inputs, shown where they arise.

Pages about a finished study: opened with its map, or with a sentence about what is missing.

The guided tour: what is done on each page, in the order of the work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from streamlit.elements import exception as shown_by_streamlit

from engine.common.errors import EngineError
from engine.common.os_support import FULL, reason_of
from engine.common.wording import upper_first
from engine.data.microdata import Microdata
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.study.study import Study
from frontier_app.charts.style import framed
from frontier_app.session import actions, navigation, state
from frontier_app.wording import text
from frontier_app.wording.markup import markdown

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
    sentence = text.error_text(error) if isinstance(error, EngineError) else error
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
        key=state.keep_among(key, options),
        on_change=chosen,
        label_visibility="collapsed",
        required=True,
        persist_state="session",
    )
    return picked or current


def needs_data(what: str) -> None:
    """Say what needs the data of the study, while they are not open, and show the way to open them."""
    st.info(f"{what} the data of this study, which are not open.", icon=":material/info:")
    go("data", "Open the data", primary=False)


def empty_page(what: str, page: str, label: str) -> None:
    """An empty page: what is missing and where to get it, with the tour."""
    with st.container(border=True):
        st.markdown(what)
        go(page, label)
    offer()


def share(part: int, total: int) -> str:
    """A share in percent, to two figures below ten."""
    percent = 100 * part / max(1, total)
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


_LOG = "streamlit.error_util"
_OWN = Path(__file__).resolve().parents[2]
WORDS = (
    "Something in the program has failed. Your file is untouched, and what was recorded stays recorded. Try again; if "
    "it happens again, tell who looks after this program what you did, and the line about the failure in the terminal."
)


def location_of(error: BaseException) -> str:
    """Type of an error and the last line of our own code that it passed through."""
    where = ""
    for frame in extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_OWN / "engine") or path.is_relative_to(_OWN / "frontier_app"):
            where = f" at {path.relative_to(_OWN).as_posix()}, line {frame.lineno}"
    return type(error).__name__ + where


class _TypeOnly(logging.Filter):
    """Takes the text and the traceback out of what Streamlit logs about an error."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
            record.msg, record.args = "the page failed: %s", (location_of(record.exc_info[1]),)
            record.exc_info = record.exc_text = None
        return True


def prepare() -> None:
    """Let Streamlit say and log no more than this module does where an error arises outside a page: in a callback, or
    in a part of a page that runs by itself."""
    log = logging.getLogger(_LOG)
    if not any(isinstance(known, _TypeOnly) for known in log.filters):
        log.addFilter(_TypeOnly())
    if shown_by_streamlit._exception is not _shown:
        shown_by_streamlit._exception = _shown  # type: ignore[assignment]
    # no option of Streamlit's sets this text
    shown_by_streamlit._GENERIC_UNCAUGHT_EXCEPTION_TEXT = WORDS  # type: ignore[misc]


def _sentence(error: BaseException | None) -> str:
    """What an error says that is no defect: a sentence of the engine, or that the disk is full; "" of a defect."""
    if isinstance(error, EngineError):
        return text.error_text(error)
    return f"{FULL}; free some space and try again" if isinstance(error, OSError) and reason_of(error) == FULL else ""


_shown_by_streamlit = shown_by_streamlit._exception


def _shown(dg: Any, error: BaseException, *more: Any, **options: Any) -> Any:
    """Show what escaped a callback: the sentence of an error that is no defect, else what Streamlit shows."""
    if sentence := _sentence(error):
        return dg.error(upper_first(sentence), icon=":material/error:")
    return _shown_by_streamlit(dg, error, *more, **options)


@contextmanager
def caught() -> Iterator[None]:
    """Show a defect as one message with what to do next."""
    try:
        yield
    except Exception as error:
        if sentence := _sentence(error):
            show_error(sentence)
            return
        logging.getLogger(_LOG).error("", exc_info=error)
        st.error(markdown("**This page could not be shown.** {}", WORDS), icon=":material/error:")
        st.caption(f"The failure: {location_of(error)}.")
        with st.container(horizontal=True):
            st.button("Try again", type="primary", key="failed-again", icon=":material/refresh:")
            go("data", "Back to the file", primary=False)


T = TypeVar("T")


class InputErrors:
    """Errors of single inputs, each shown at its input; ``shown`` counts them.  The other inputs are drawn all the
    same: one left out would forget its value."""

    def __init__(self) -> None:
        self.shown = 0

    def attempt(self, make: Callable[[], T], otherwise: T) -> T:
        """Return what ``make`` makes; where it fails, show its error and return ``otherwise``."""
        try:
            return make()
        except EngineError as error:
            self.shown += 1
            show_error(error)
            return otherwise


def with_data(missing: str) -> Microdata | None:
    """The open data coded by the plan; where they cannot be, say why, or what is ``missing``, and show the way."""
    if state.get().raw is None or state.get().plan is None:
        empty_page(missing, "data", "Open data")
        return None
    try:
        return actions.coded()
    except EngineError as error:
        show_error(error)
        go("data", "Back to the data")
        return None


def first_step() -> tuple[str, str]:
    """The page to go to where there is no study yet, with the label of its button."""
    return ("data", "Open data") if state.get().raw is None else ("candidates", "Run the sweep")


def with_map(missing: str, show: Callable[[Study, RiskUtilityMap], None], title: str = "") -> None:
    """Call ``show`` with the study at hand and its map as it is looked at; without a study say what is ``missing``,
    under the ``title`` of a page whose own is a finding."""
    if actions.own_study() is None:
        if title:
            st.title(title, anchor=False)
        empty_page(missing, *first_step())
        return
    look = state.get().look
    try:
        with st.spinner("Reading the study…"):
            view = actions.the_map(look.risk, look.utility, look.partial)
    except EngineError as error:
        show_error(error)
        if look != state.Look() and st.button("Show the map as planned"):
            state.put(look=state.Look())
            st.rerun()
        return
    with errors_shown(), actions.opened() as study:
        assert study is not None and view is not None
        if len(view.results):
            show(study, view)
        else:
            empty_page("No run has been completed yet.", "candidates", "See the sweep")


STEPS = {
    "Data": "Open data and say what becomes of every column: which are answers that may be exchanged, which only stay"
    " with their record, which never leave. The four figures say how many people stand out if nothing is done.",
    "Intruder and uses": "Before any result is seen, say what an intruder may already know, what users do with the"
    " data, and by which rule a release will be chosen. Under 'How the choice will be made' pick the most useful"
    " release within a risk limit: the page then asks for the largest acceptable risk, α. What is changed later is"
    " logged.",
    "Candidates": "Say which exchanges are tried, on how many records, and how often; the box on the right says what"
    " that amounts to. Then start the sweep, which draws and measures every candidate: you may leave the page, stop and"
    " resume, and nothing is lost. The grid shows what decides the risk.",
    "Explore": "See every way to swap as a point of the map. Higher is riskier, farther right is more useful;"
    " filled points are the frontier. Move α and see which candidate is the most useful within it.",
    "Compare": "Pin a few candidates, give them names, and see what each gains and loses, and whether a difference is"
    " clear or only noise. One candidate can also be looked at before and after the swap.",
    "Decide": "Say which release is recommended, by which rule, and why not its neighbours. Run it again on fresh"
    " replicates, submit it, and record the board's answer. “As the board sees it” shows the decision sheet.",
    "Export": "Write a bundle for each reader: analyst, board, public. Each holds what its reader may see and"
    " nothing else; every byte is searched, and a public release attacked, before it is there.",
}
"""What to do on each page, by its name in the navigation, in the order of the work."""


def offer() -> None:
    """A button that shows what is done on each page."""
    if st.button("Show me around, page by page", key="tour", icon=":material/tour:", type="tertiary"):
        _tour()


@st.dialog("From a file to a release", width="large")
def _tour() -> None:
    for number, (page, step) in enumerate(STEPS.items(), 1):
        st.markdown(markdown("**{}. {}.** {}", number, page, step))


def attempt(action: Callable[[], object]) -> None:
    """Do it and draw the page anew, or say what is wrong."""
    with errors_shown():
        action()
        st.rerun()
