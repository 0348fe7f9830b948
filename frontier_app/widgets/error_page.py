"""The page and the log entry for a defect of the program, without values of records.

Errors of the engine are sentences, shown where they arise.  Anything else is a defect: its own text may hold values of
records, so neither page nor log repeats it; they name its type and the line of code.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

import streamlit as st
from streamlit.elements import exception as shown_by_streamlit

from engine.common.errors import EngineError
from engine.common.os_support import FULL, reason_of
from engine.common.wording import upper_first
from frontier_app.widgets import elements as parts
from frontier_app.wording import remedies
from frontier_app.wording.markup import markdown

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
        return remedies.error_text(error)
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
            parts.show_error(sentence)
            return
        logging.getLogger(_LOG).error("", exc_info=error)
        st.error(markdown("**This page could not be shown.** {}", WORDS), icon=":material/error:")
        st.caption(f"The failure: {location_of(error)}.")
        with st.container(horizontal=True):
            st.button("Try again", type="primary", key="failed-again", icon=":material/refresh:")
            parts.go("data", "Back to the file", primary=False)
