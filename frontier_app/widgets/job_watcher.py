"""Progress of a job that runs in a process of its own, with a way to stop it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from frontier_app.session.jobs import Job
from frontier_app.widgets import elements

_EVERY = 1.0  # seconds between looks


def watch(look: Callable[[], Job], words: Callable[[Job], str], stop: Callable[[], None], key: str) -> None:
    """Watch a job until it ends; then the page is drawn anew."""

    def stopped() -> None:  # a callback runs before the page is drawn, which then says at once that it was heard
        with elements.errors_shown():
            stop()

    @st.fragment(run_every=_EVERY)
    def watched() -> None:
        job = look()
        if not job.busy:
            st.rerun()
        stopping = job.state == "stopping"
        st.progress(min(1.0, job.done / max(1, job.total)), words(job))
        label = "Stopping…" if stopping else "Stop"
        st.button(label, icon=":material/stop:", key=key, disabled=stopping, on_click=stopped)

    watched()
