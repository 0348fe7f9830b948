"""Open data: earlier work, samples, an upload, or a path on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from engine.common.errors import EngineError, Remedy
from engine.common.wording import upper_first
from engine.data.io.readers import EXTENSIONS
from engine.plan.samples import Sample, describe, names
from frontier_app.session import actions, loading, state, workspace
from frontier_app.session.settings import PRIVACY
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import elements, tour
from frontier_app.wording.markup import markdown

_FIRST = "fair"
_KINDS = "CSV, Parquet, SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt)"
_A_ROW = 5
_MOST = 30  # earlier work that is listed; the folder of a person who tries much holds more


def start() -> None:
    """The first page."""
    st.title("How much swapping, of what?", anchor=False)
    st.markdown(
        markdown(
            "Data swapping protects people by exchanging some answers between records. This tool tries many ways to do"
            " it, measures for each how exposed people remain and how useful the data stay, and shows the ones worth"
            " choosing among: the **risk–utility frontier**. You choose one, say why, and export it."
        )
    )
    tour.offer()
    if state.get().owner and (known := workspace.earlier()):
        _earlier(known)
    st.subheader("Start with a sample", anchor=False)
    samples = sorted(describe(), key=lambda sample: (sample.name != _FIRST, not sample.here))
    for column, sample in zip(st.columns(len(samples)), samples, strict=True):
        with column.container(border=True, height="stretch"):
            _sample(sample)
    st.subheader("Or open your own file", anchor=False)
    upload, path = st.columns(2, gap="large")
    with upload:
        _upload(loading.open_upload)
    with path:
        _path(loading.open_path)
    st.caption(
        f"{_KINDS}; one row per record. Labels and codes that mean missing are kept. A codebook can be added once the"
        " file is open."
    )


def _earlier(known: Sequence[Workspace]) -> None:
    """Work that was begun before, the last used first."""
    st.subheader("Go on with earlier work", anchor=False)
    _cards(known[:_A_ROW])
    if older := known[_A_ROW:_MOST]:
        with st.expander(f"Older work ({len(older)})"):
            for begin in range(0, len(older), _A_ROW):
                _cards(older[begin : begin + _A_ROW])


def _cards(row: Sequence[Workspace]) -> None:
    for column, at in zip(st.columns(_A_ROW), row, strict=False):
        with column.container(border=True, height="stretch"):
            name = Path(at.about["data"]).name
            st.markdown(markdown("**{}**", name))
            n, when = len(at.studies), time.strftime("%Y-%m-%d %H:%M", time.localtime(at.used))
            swept = f"{n} {'study' if n == 1 else 'studies'}" if n else "Not swept yet"
            st.caption(f"{swept}; last changed {when}")
            if st.button("Go on", key=f"go-on-{at.folder.name}", help=f"Open the work on {name} where it was left"):
                with st.spinner("Opening…"):
                    attempt(partial(loading.go_on, at.folder))


def _sample(sample: Sample) -> None:
    st.markdown(markdown("**{}** :gray-badge[synthetic]" if sample.synthetic else "**{}**", sample.name))
    st.caption(f"{upper_first(sample.about)}. {sample.n_records:,} records, {sample.n_attributes} attributes.")
    if not sample.here:
        st.caption(markdown("The command *frontier datasets add {}* adds it.", sample.name))
    elif st.button(
        f"Open {sample.name}",
        type="primary" if sample.name == _FIRST else "secondary",
        key=f"open-{sample.name}",
    ):
        with st.spinner("Opening…"):
            attempt(lambda: loading.open_sample(sample.name))


def data_of_study() -> None:
    """Open the data of the study at work, which was opened without them."""
    st.title("File", anchor=False)
    st.markdown(
        "A study is open, but not the data that it was made on. The map can be explored without them. Fresh runs,"
        " comparisons before and after, and the export need them."
    )
    elements.go("explore", "Explore the map", primary=False)
    st.subheader("Open the data of this study", anchor=False)
    name = actions.source_words()
    if name in names() and st.button(f"Open {name}", type="primary", key="add-sample"):
        attempt(partial(loading.add_sample, name))
    upload, path = st.columns(2, gap="large")
    with upload:
        _upload(loading.add_upload)
    with path:
        _path(loading.add_path)
    st.caption("The study takes no other data: the same records, in the same order, with all their columns.")


def _upload(take: Callable[[str, Any, int, bool], None]) -> None:
    upload = st.file_uploader(
        "A copy of a file, by choosing or dropping it",
        type=[extension.removeprefix(".") for extension in EXTENSIONS],
        key="open-upload",
        help=f"Up to {int(str(PRIVACY['server.maxUploadSize'])):,} MB. The copy stays on this machine, in a private "
        "folder that you can delete here at any time.",
    )
    if upload is not None:
        with st.spinner("Reading the file…"):
            _open("upload", partial(take, upload.name, upload.getbuffer(), upload.size))


def _path(take: Callable[[str, bool], None]) -> None:
    if not state.get().owner:
        st.markdown(markdown("**A file where it lies**"))
        st.caption(
            markdown(
                "To open a file of this machine by its path, without a copy and of any size, open the address"
                " that *frontier app* printed. You reached this page without it, so you may be somebody else."
            )
        )
        return
    with st.form("open-path", border=False):
        typed = st.text_input(
            "A file where it lies on this machine",
            key="open-path-text",
            placeholder="/data/survey.sav",
            help="The whole path. The file is read where it is, of any size, and no copy is made. The path is in no"
            " address, study or export.",
        )
        asked = st.form_submit_button("Open this file", key="open-path", icon=":material/folder_open:")
    if asked:
        with st.spinner("Reading the file…"):
            _open("path", partial(take, typed))


def _open(key: str, take: Callable[[bool], None]) -> None:
    """Open a file and draw the page anew, or say what is wrong; names that no format holds are replaced on a click."""
    try:
        take(False)
    except EngineError as error:
        elements.show_error(error)
        if error.remedy is Remedy.CLEAN_NAMES:
            st.button("Open it with clean names", key=f"clean-{key}", type="primary", on_click=partial(_clean, take))
        return
    st.rerun()


def _clean(take: Callable[[bool], None]) -> None:
    with elements.errors_shown():
        take(True)


def attempt(action: Callable[[], object]) -> None:
    """Do it and draw the page anew, or say what is wrong."""
    with elements.errors_shown():
        action()
        st.rerun()
