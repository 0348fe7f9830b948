"""File: open data and a plan, the overview of the file, and the folder that holds the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from engine.common.errors import EngineError, Remedy
from engine.common.wording import upper_first
from engine.data.io.readers import EXTENSIONS
from engine.plan import Plan
from engine.plan.codebook import FIELDS
from engine.plan.mismatches import Clash
from engine.plan.samples import Sample, describe, names
from frontier_app.pages.file import columns, levels, questions
from frontier_app.session import actions, loading, state, workspace
from frontier_app.session.settings import PRIVACY
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import elements, plan_fields, plan_status, small_cells
from frontier_app.wording import text
from frontier_app.wording.markup import joined, markdown

_FIRST = "fair"
_KINDS = "CSV, Parquet, SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt)"
_A_ROW = 5
_MOST = 30  # earlier work that is listed; the folder of a person who tries much holds more


def start() -> None:
    """The first page."""
    words, picture = st.columns([3, 1], gap="large", vertical_alignment="center")
    with words:
        st.title("How much swapping, of what?", anchor=False)
        st.markdown(
            markdown(
                "Many ways of swapping are tried. The **risk–utility frontier** shows those worth choosing among. You"
                " choose one, say why, and export it."
            )
        )
        elements.offer()
    picture.image(_PICTURE, width="stretch", alt=_ALT)
    sample, file, study = st.columns(3, gap="medium")
    with sample.container(border=True, height="stretch"):
        st.subheader("A sample", anchor=False)
        for one in sorted(describe(), key=lambda sample: (sample.name != _FIRST, not sample.here)):
            _sample(one)
    with file.container(border=True, height="stretch"):
        st.subheader("Your file", anchor=False, help=f"{_KINDS}; one row per record.")
        _path(loading.open_path)
        _upload(loading.open_upload)
    with study.container(border=True, height="stretch"):
        st.subheader("A study or a bundle", anchor=False)
        _study()
    if state.get().owner and (known := workspace.earlier()):
        _earlier(known)


_ALT = "A map: utility to the right, risk upwards, a limit, and candidates on the frontier, one of which is chosen"
_PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 150" fill="none" stroke="#77818C">
<rect x="30" y="70" width="280" height="56" fill="#0072B2" fill-opacity=".12" stroke="none"/>
<path d="M30 8v118h280" stroke-opacity=".5"/><path d="M30 70h280" stroke="#D55E00" stroke-dasharray="5 4"/>
<path d="M48 118l40-6 44-10 40-18 44-26 46-34" stroke="#0072B2" stroke-width="2"/>
<g fill="#77818C" stroke="none"><circle cx="70" cy="92" r="4"/><circle cx="104" cy="74" r="4"/>
<circle cx="140" cy="52" r="4"/><circle cx="92" cy="44" r="4"/><circle cx="188" cy="38" r="4"/></g>
<g fill="#0072B2" stroke="none"><circle cx="48" cy="118" r="5"/><circle cx="88" cy="112" r="5"/>
<circle cx="132" cy="102" r="5"/><circle cx="216" cy="58" r="5"/><circle cx="262" cy="24" r="5"/>
<path d="M172 72l4 8 9 1-7 6 2 9-8-5-8 5 2-9-7-6 9-1z"/></g>
<g fill="#77818C" font-family="sans-serif" stroke="none" font-size="11">
<text x="262" y="142">utility</text><text x="36" y="18">risk</text>
<text x="284" y="66">limit</text></g></svg>"""


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
                    elements.attempt(partial(loading.go_on, at.folder))


def _sample(sample: Sample) -> None:
    """A button that opens a sample; of one that is not here, how it is added."""
    about = f"{upper_first(sample.about)}. {sample.n_records:,} records, {sample.n_attributes} attributes."
    if sample.synthetic:
        about += " Synthetic."
    if not sample.here:
        st.caption(markdown("The command *frontier datasets add {}* adds it.", sample.name), help=about)
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    kind: Literal["primary", "secondary"] = "primary" if sample.name == _FIRST else "secondary"
    asked = row.button(f"Open {sample.name}", type=kind, key=f"open-{sample.name}", help=about)
    row.caption(f"{sample.n_records:,} records", width="content")
    if asked:
        with st.spinner("Opening…"):
            elements.attempt(lambda: loading.open_sample(sample.name))


def _study() -> None:
    """Open a study or a board bundle by its path."""
    if not state.get().owner:
        st.caption(markdown("It is opened at the address that *frontier app* printed."))
        return
    with st.form("open-study-form", border=False):
        typed = st.text_input(
            "Where it lies on this machine",
            key="open-study-text",
            placeholder="/data/survey.study",
            help="The whole path of a .study file, or of the folder of a board bundle.",
        )
        asked = st.form_submit_button("Open it", key="open-study", icon=":material/folder_open:")
    if asked:
        elements.attempt(partial(loading.open_study, typed))


def data_of_study() -> None:
    """Open the data of the study at work, which was opened without them."""
    st.title("Data", anchor=False)
    st.markdown(
        "A study is open, but not the data that it was made on. The map can be explored without them. Fresh runs,"
        " comparisons before and after, and the export need them."
    )
    elements.go("explore", "Explore the map", primary=False)
    st.subheader("Open the data of this study", anchor=False)
    name = actions.source_words()
    if name in names() and st.button(f"Open {name}", type="primary", key="add-sample"):
        elements.attempt(partial(loading.add_sample, name))
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


def plan_file() -> None:
    """Download the plan, or use one from a file."""
    now = state.get()
    if now.plan is not None and now.workspace is not None and now.workspace.plan_path.exists():
        plan_status.save_plan(
            now.workspace, "Save the plan", "plan-download", "The plan as a text file, which the command line reads too"
        )
    st.caption("A plan for other data, such as last year's, may be used. This page then lists what does not fit.")
    upload = st.file_uploader("Use a plan.toml", type=["toml"], key=f"plan-file-{now.version}")
    if upload is not None:
        try:
            content = upload.getvalue().decode("utf-8")
        except UnicodeDecodeError:
            elements.show_error("the file is not UTF-8 text, so it is no plan")
            return

        elements.attempt(partial(_use_plan, content))


def _use_plan(content: str) -> None:
    actions.load_plan(content)
    state.show_part(None)


def codebook() -> None:
    """Labels, roles and blocks from a table."""
    now = state.get()
    st.markdown(
        markdown(
            "A CSV file with a row for each column of the data, or for a pattern such as {}, under the headings {}."
            " Only **name** must be there.",
            "*_WT",
            joined(", ", (markdown("**{}**", name) for name in FIELDS)),
        )
    )
    st.caption(
        markdown(
            "**role** is one or more of key, swap, analyse, attribute, or one of weight, id, carry, drop. Where any"
            " column has one of the first four, exactly those columns become attributes. **missing** and **skip** list"
            " codes with semicolons between, **values** labels as 1=Male; 2=Female."
        )
    )
    upload = st.file_uploader("A codebook", type=["csv"], key=f"codebook-{now.version}")
    if upload is not None:
        elements.attempt(lambda: actions.use_codebook(upload.name, upload.getvalue()))


def work_folder() -> None:
    """Show where the work is, how to leave it, and how to delete it."""
    now = state.get()
    assert now.workspace is not None
    if workspace.is_the_launch(now.workspace.token):
        back = markdown(
            "It opens the work until the dashboard is ended; *frontier app* then finds it again at a new address: on"
            " its first page, or started with the same study or data. Whoever has the address can open the work, and"
            " files of yours by their path: **give it to nobody**."
        )
    elif now.owner:
        back = markdown(
            "**Keep the address** to come back to it until the dashboard is ended; after that the first page of"
            " *frontier app* lists the work. **Give it to nobody**: whoever has it can open this workspace on this"
            " machine, and files of yours by their path."
        )
    else:
        back = markdown(
            "**Keep the address** to come back to it until the dashboard is ended; whoever has it can open this"
            " workspace on this machine. After that the first page of *frontier app* lists the work."
        )
    st.markdown(
        markdown("Your work is in a private folder on this machine, found through this page's address. {}", back)
    )
    if st.button("Open other data", key="open-other", icon=":material/arrow_back:"):
        actions.leave()
        st.query_params.clear()
        st.rerun()
    st.markdown(
        "Deleting removes the uploaded copy, the plan, the studies with their keys, and every export. A file that was"
        " opened by its path stays."
    )
    sure = st.checkbox("I no longer need any of it", key=f"sure-{now.version}")
    if st.button("Delete this workspace", icon=":material/delete:", disabled=not sure):
        with elements.errors_shown():
            actions.forget()
            st.query_params.clear()
            st.rerun()


_FEW = 12  # columns up to which the table of columns says everything at a glance
_PARTS = {"columns": "Columns", "roles": "Roles", "levels": "Levels", "households": "Households"}


def opened() -> None:
    """Data are open: what is to be settled before the next step, beside the columns."""
    now = state.get()
    raw = now.raw
    assert raw is not None
    head = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="heading")
    left, buttons = head.container(width="content"), head.container(horizontal=True, width="content")
    counted = f"{text.plural(raw.n_records, 'record')} · {text.plural(len(raw.names), 'column')}"
    if now.plan is not None and now.plan.lock is not None:
        plan_status.shown(now.plan)
    plan, complaint, asked, making = now.plan, None, False, False
    if plan is None:
        title = "Mark the columns that are to become attributes"
        complaint = _unfit(_table())
    else:
        title, complaint, asked, making = _parts(plan)
    plan = state.get().plan
    with left:
        st.title(title, anchor=False)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(markdown("{} · {}", raw.source, counted), width="content")
            _take_back()
    with buttons:
        with st.popover("Plan file", icon=":material/description:", key=f"plan-file-open-{now.file_view.turn}"):
            plan_file()
        with st.popover("Codebook", icon=":material/menu_book:"):
            codebook()
        with st.popover("Workspace", icon=":material/folder:"):
            work_folder()
        held = complaint is not None or plan is None or plan_status.stands_in_the_way(plan)
        settled = not asked and not making and plan is not None and len(plan.keys) <= small_cells.MOST_KEYS
        elements.go("threat", "Next: intruder and uses", primary=settled and not held, disabled=held)
    questions.again()
    elements.offer()


def _take_back() -> None:
    """The last decision and the way back; before the first, the last plan of a file like this one."""
    done = state.get().actions
    if done:
        st.caption(markdown(":material/check: Done: {}.", done[0].done), width="content")
        if st.button("Take back", icon=":material/undo:", key="undo", type="tertiary"):
            actions.take_back()
            st.rerun()
        return
    at = state.get().workspace
    if at is None or at.studies or at.about["data"] in names():
        return
    if last := state.get().memo.get("last plan", at.folder, loading.last_plan):
        name, plan_text = last
        if st.button(f"Use the plan of {name}", icon=":material/history:", key="last-plan", type="tertiary"):
            elements.attempt(partial(_use_plan, plan_text))


def _parts(plan: Plan) -> tuple[str, str | None, bool, bool]:
    """The questions and the part of the page that is looked at; returns the title, what is wrong with the plan as it is
    edited, whether something is asked, and whether the next step is in the part."""
    raw = state.get().raw
    assert raw is not None
    found = plan_status.open_ones(plan)
    if any(isinstance(mismatch, Clash) and not mismatch.attribute for mismatch in found):
        # nothing else can be said about columns whose uses contradict each other
        return (
            "The plan contradicts itself",
            None,
            questions.table(plan, questions.questions(plan, found, fits=False)),
            True,
        )
    fits = not plan_status.stands_in_the_way(plan)
    with st.spinner("Looking at how the columns hang together…", show_time=False):
        asked = questions.questions(plan, found, fits=fits)
    asks = plan_fields.asks_for_places(plan)
    names = {name: words for name, words in _PARTS.items() if name != "households" or plan_fields.concerns(plan)}
    if "households" in names:
        names["households"] = f"Households ({int(asks)})"
    part = _shown_part(names, _fitting(plan, fits, bool(asked), asks))
    if part == "columns":
        left, right = st.columns([1, 1], gap="medium") if asked else (st.container(), None)
        with left:
            complaint = _table(brief=bool(asked))
        if right is not None:
            with right.container(key="wide"):
                asked = asked if questions.table(plan, asked) else []
        return _title(plan, len(asked), asks, fits), _unfit(complaint), bool(asked) or asks, False
    if part == "roles":
        columns.roles(plan)
    elif part == "households":
        plan_fields.inputs(plan, "file")
    else:
        levels.page(plan)
    return _title(plan, len(asked), asks, fits), None, bool(asked) or asks, True


def _title(plan: Plan, n: int, asks: bool, fits: bool) -> str:
    """The finding: what is to be settled before the next step."""
    if not fits:
        return f"The plan and this file differ in {text.plural(n, 'place')}"
    if len(plan.keys) > small_cells.MOST_KEYS:
        return "What may an intruder know?"
    if n or asks:
        return f"{text.plural(n + asks, 'suggestion')} before the next step"
    return f"{text.plural(len(plan.names), 'attribute')} of the file can be protected"


def _shown_part(names: dict[str, str], fitting: str) -> str:
    """The part that is looked at, as a switch says."""
    now = state.get()
    shown = now.file_view.part or fitting
    if shown not in names:
        now, shown = state.show_part(None), fitting
    if now.file_view.part is None:
        state.set_file_view(part=shown)
    key = f"file-part-{now.file_view.turn}"

    def chosen() -> None:
        # before the page is drawn: inputs drawn under the version before would lose what is given to them
        state.set_file_view(part=state.input_value(key))
        state.renew()

    return elements.switch("What to settle", names, shown, key, chosen)


def _fitting(plan: Plan, fits: bool, asked: bool, asks: bool) -> str:
    """The part that is shown first, by what is open."""
    raw = state.get().raw
    assert raw is not None
    # Roles first: what is asked about columns that nobody tabulates need not be decided.
    if fits and len(raw.names) > _FEW and len(plan.keys) > small_cells.MOST_KEYS:
        return "roles"
    return "households" if fits and asks and not asked else "columns"


def _table(*, brief: bool = False) -> str | None:
    plan, complaint = columns.table(brief=brief)
    if complaint is not None or plan is not None:
        plan_status.keep(plan if complaint is None else None)
    return complaint


def _unfit(complaint: str | None) -> str | None:
    """What is wrong with the plan as it is edited, or keeps the file from being coded by it; it is shown."""
    plan = state.get().plan
    if complaint is None and plan is not None and not plan_status.stands_in_the_way(plan):
        try:
            actions.coded()
        except EngineError as error:
            complaint = text.error_text(error)
    if complaint is not None:
        elements.show_error(complaint)
    return complaint


if state.get().raw is not None:
    opened()
elif state.get().workspace is not None and actions.own_study():
    data_of_study()
else:
    start()
