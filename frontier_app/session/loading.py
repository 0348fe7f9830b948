"""Open data, earlier work, and the data of a study; nothing is drawn here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.common.errors import EngineError, UsageError
from engine.common.os_support import expanded, home
from engine.data.io.stream import RecordStream
from engine.data.microdata import RawTable
from engine.plan import Plan, first_plan, plan_from_toml, plan_to_toml
from engine.plan.codebook import read_codebook, with_labels
from engine.plan.coding import with_seen
from engine.plan.samples import names, open_data, open_source
from engine.report.findings import read_board
from engine.study.keys import key_path, read_key
from engine.study.study import Study
from engine.sweeps.sweep import check_same
from frontier_app.session import state, workspace
from frontier_app.session.actions import own_study, saved_plan
from frontier_app.session.settings import PRIVACY
from frontier_app.session.workspace import Workspace
from frontier_app.wording import text


def open_sample(name: str) -> None:
    """Work on a sample with its own plan, in a new workspace."""
    raw, plan = open_data(name)
    at = workspace.create()
    at.note(data=name, study=None)
    _begin(at, raw, plan)


def open_upload(name: str, content: Any, size: int, clean_names: bool = False) -> None:
    """Work on an uploaded file with a first plan guessed from its columns, in a new workspace."""
    _check_size(size)
    at = workspace.create()
    try:
        path = at.save_upload(name, content)
        raw, _ = _records(str(path), clean_names)
    except BaseException:
        at.delete()
        raise
    at.note(data=str(path), study=None, clean_names=clean_names)
    _begin_first(at, raw)


def open_path(text: str, clean_names: bool = False) -> None:
    """Work on a file of this machine where it lies, with a first plan guessed from its columns, in a new workspace.

    Only for who started the server: it reads with that person's rights.
    """
    path = _own_path(text)
    raw, _ = _records(str(path), clean_names)
    at = workspace.create()
    at.note(data=str(path), study=None, clean_names=clean_names)
    _begin_first(at, raw)


def _records(text: str, clean_names: bool = False) -> tuple[RawTable, Plan | None]:
    """Records in memory, with the plan of a sample; refuses what is only read by streaming."""
    source, plan = open_source(text, clean_names=clean_names)
    if isinstance(source, RecordStream):
        raise UsageError(
            f"'{source.source}' is larger than a page can hold in memory; the command frontier sweep makes its study, "
            "frontier app opens that without the data, and frontier export writes the release; pages that need records "
            "take a part of them"
        )
    return source, plan


def _check_size(size: int) -> None:
    """Refuse an upload that is larger than the server takes."""
    most = int(str(PRIVACY["server.maxUploadSize"]))
    if size > most * 2**20:
        raise UsageError(f"the file has {size / 2**20:,.0f} MB, must be at most {most:,} MB; open it by its path")


def _own_path(text: str) -> Path:
    """The absolute path that the person who started the server typed."""
    if not state.get().owner:
        raise UsageError("files are opened by their path only at the address that `frontier app` printed")
    typed = text.strip().strip("\"'")
    if not typed:
        raise UsageError("no path is given; write where the file lies, such as /data/survey.sav")
    path = expanded(typed)
    if not path.is_absolute():
        raise UsageError(
            f"'{typed}' does not begin at the top; write the whole path, such as {(home() or Path('/data')) / typed}"
        )
    return path


def _begin(at: Workspace, raw: RawTable, plan: Plan | None, **more: Any) -> None:
    """A fresh state on these data."""
    saved = None if plan is None else plan_to_toml(plan)
    if state.begin(workspace=at, raw=raw, plan=plan, saved=saved, base=plan, **more).owner:
        workspace.own(at.token)
    if saved is not None:
        at.save_plan(saved)


def _begin_first(at: Workspace, raw: RawTable) -> None:
    notice = ""
    plan = None
    try:
        plan = first_plan(raw)
    except EngineError as error:
        notice = text.error_text(error)
    _begin(at, raw, plan, notice=notice)


def open_workspace(at: Workspace) -> None:
    """Go on where a workspace was left: after a reload, in another tab, or on a study named on the command line."""
    about = at.about
    raw = None
    error = ""
    if about["data"]:
        try:
            raw, sample_plan = _records(about["data"], about["clean_names"])
            raw = _labelled(at, raw)
        except EngineError as problem:
            error, sample_plan = text.error_text(problem), None
    else:
        sample_plan = None
    plan = sample_plan
    saved = at.saved_plan
    if saved is not None:
        plan = saved_plan(saved)
    elif at.study and at.study.exists():
        with Study.open(at.study) as study:
            plan = study.plan
        saved = plan_to_toml(plan)
        at.save_plan(saved)
    if plan is not None and raw is not None and at.study and at.study.exists():
        # a study of an earlier version does not say which columns its patterns covered: those of its data
        plan = replace(plan, data=with_seen(plan.data, raw.names))
    old = state.get()
    look, selected = state.load(at)
    state.put(
        workspace=at,
        look=look,
        selected=selected,
        raw=raw,
        plan=plan,
        saved=saved,
        base=plan,
        version=old.version + 1,
        memo=state.Memo(),
        actions=(),
        error=error,
    )


def _labelled(at: Workspace, raw: RawTable) -> RawTable:
    """The records with the labels of the codebook that was given with them."""
    if not at.codebook_path.exists():
        return raw
    return with_labels(raw, read_codebook(at.codebook_path))


def last_plan() -> tuple[str, str] | None:
    """Return the data's name and the plan's text of the last used earlier work on a file most of whose columns the open
    one has; None where there is none.  Only for who started the server: it may be anybody's."""
    now = state.get()
    if not now.owner or now.raw is None or now.workspace is None:
        return None
    here = set(now.raw.names)
    for at in workspace.earlier():
        data, text = at.about["data"], at.saved_plan
        if at.folder == now.workspace.folder or data in names() or text is None:
            continue
        with suppress(EngineError):
            plan = plan_from_toml(text)
            columns = [column for part in plan.attributes for column in part.columns]
            if 2 * len(here.intersection(columns)) > len(columns):
                return Path(data).name, text
    return None


def go_on(folder: Path) -> None:
    """Open earlier work, under a token of this server.  Only for who started the server: it may be anybody's."""
    if not state.get().owner:
        raise UsageError("earlier work is opened only at the address that `frontier app` printed")
    at = workspace.reopened(folder)
    workspace.own(at.token)
    open_workspace(at)


def open_study(text: str) -> None:
    """Open a study, or a board bundle, where it lies.  Only for who started the server."""
    path = _own_path(text)
    if path.is_dir() or path.suffix == ".json":
        read_board(path)
        at = workspace.link_board(path)
    else:
        with Study.open(path) as study:
            source = str(study.about["source"])
        at = workspace.link(path, source if source in names() else None)
    go_on(at.folder)


def add_sample(name: str) -> None:
    """Open the sample that the study at work was made on."""
    _add_data(name)


def add_upload(name: str, content: Any, size: int, clean_names: bool = False) -> None:
    """Open an uploaded copy of the data that the study at work was made on."""
    _check_size(size)
    at = state.get().workspace
    assert at is not None
    path = at.save_upload(name, content)
    try:
        _add_data(str(path), clean_names)
    except BaseException:
        at.delete_upload()
        raise


def add_path(text: str, clean_names: bool = False) -> None:
    """Open, where they lie, the data that the study at work was made on."""
    _add_data(str(_own_path(text)), clean_names)


def _add_data(data: str, clean_names: bool = False) -> None:
    """Open data for the study at work; refuses data that it was not made on."""
    at, path = state.get().workspace, own_study()
    assert at is not None and path is not None
    raw, _ = _records(data, clean_names)
    with Study.open(path) as study:
        check_same(study, raw, read_key(key_path(path)))
    at.note(data=data, clean_names=clean_names)
    open_workspace(at)
