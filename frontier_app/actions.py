"""What a person can do with a session: open data, settle a plan, look at a study.  No drawing here."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.datasets import names, open_data
from engine.decision import RiskUtilityMap, risk_utility_map
from engine.errors import EngineError, UsageError
from engine.io.recode import code
from engine.microdata import Microdata, RawTable
from engine.plan import Plan, first_plan, plan_from_toml, plan_to_toml, read_plan
from engine.study import Study
from engine.sweep import FRESH_FROM
from frontier_app import jobs, state, workspace
from frontier_app.settings import PRIVACY
from frontier_app.workspace import Workspace


def _begin(at: Workspace, raw: RawTable, plan: Plan | None, **more: Any) -> None:
    """A fresh state on these data."""
    old = state.get()
    state.put(
        workspace=at,
        raw=raw,
        plan=plan,
        base=plan,
        version=old.version + 1,
        look=state.Look(),
        selected=None,
        shown=None,
        map_key=None,
        memo=state.Memo(),
        error="",
        **{"notice": "", **more},
    )
    if plan is not None:
        at.save_plan(plan_to_toml(plan))


def open_sample(name: str) -> None:
    """Work on a sample with its own plan, in a new workspace."""
    raw, plan = open_data(name)
    at = workspace.create()
    at.note(data=name, study=None)
    _begin(at, raw, plan)


def open_upload(name: str, content: Any, size: int) -> None:
    """Work on an uploaded file with a first plan guessed from its columns, in a new workspace."""
    most = int(str(PRIVACY["server.maxUploadSize"]))
    if size > most * 2**20:
        raise UsageError(f"the file has {size / 2**20:,.0f} MB, must be at most {most:,} MB; use the command line")
    at = workspace.create()
    try:
        path = at.save_upload(name, content)
        raw, _ = open_data(str(path))
    except BaseException:
        at.delete()
        raise
    at.note(data=str(path), study=None)
    notice = ""
    plan = None
    try:
        plan = first_plan(raw)
    except EngineError as error:
        notice = str(error)
    _begin(at, raw, plan, notice=notice)


def open_workspace(at: Workspace) -> None:
    """Go on where a workspace was left: after a reload, in another tab, or on a study named on the command line."""
    about = at.about
    raw = None
    error = ""
    if about["data"]:
        try:
            raw, sample_plan = open_data(about["data"])
        except EngineError as problem:
            error, sample_plan = str(problem), None
    else:
        sample_plan = None
    plan = sample_plan
    if at.plan_path.exists():
        plan = read_plan(at.plan_path)
    elif at.study and at.study.exists():
        with Study.open(at.study) as study:
            plan = study.plan
        at.save_plan(plan_to_toml(plan))
    old = state.get()
    state.put(workspace=at, raw=raw, plan=plan, base=plan, version=old.version + 1, memo=state.Memo(), error=error)


def forget() -> None:
    """Delete the workspace with everything in it and start over."""
    at = state.get().workspace
    if at:
        jobs.stop(at)
        at.delete()
    state.put(
        workspace=None,
        raw=None,
        plan=None,
        base=None,
        look=state.Look(),
        selected=None,
        shown=None,
        map_key=None,
        memo=state.Memo(),
        error="",
        notice="The workspace was deleted, with everything in it." if at else "",
    )


def leave() -> None:
    """Go back to the start; the workspace stays and its address still opens it."""
    state.put(
        workspace=None, raw=None, plan=None, base=None, look=state.Look(), selected=None, memo=state.Memo(), error=""
    )


def set_plan(plan: Plan, *, renew: bool = False) -> bool:
    """Keep a plan; returns whether it is a new one.  ``renew`` lets the page's inputs start again from it."""
    now = state.get()
    changed = plan != now.plan
    if changed:
        state.put(plan=plan, error="")
        if now.workspace:
            now.workspace.save_plan(plan_to_toml(plan))
    elif now.error:
        state.put(error="")
    if renew:
        state.renew()
    return changed


def load_plan(text: str) -> None:
    """Use a plan from a file."""
    set_plan(plan_from_toml(text), renew=True)


def coded() -> Microdata:
    """The data coded by the plan; raises the engine's own sentences."""
    now = state.get()
    if now.raw is None or now.plan is None:
        raise UsageError("open data first, and settle which columns become attributes")
    raw, plan = now.raw, now.plan
    return now.memo.get("coded", (plan.data, plan.edits), lambda: code(raw, plan))


def own_study() -> Path | None:
    """Path of the study, when it exists."""
    at = state.get().workspace
    path = at.study if at else None
    return path if path and path.exists() else None


def the_map(risk: str | None, utility: str | None, partial: bool) -> RiskUtilityMap | None:
    """The study's map under two measures, read again when the study has grown; None without a study."""
    path = own_study()
    if path is None:
        return None
    now = state.get()
    with Study.open(path) as study:
        depends = (str(path), study.stamp()[0], len(study.scenarios), risk, utility, partial)
        return now.memo.get("map", depends, lambda: risk_utility_map(study, risk, utility, allow_partial=partial))


def fresh_map(view: RiskUtilityMap) -> RiskUtilityMap | None:
    """The map of the runs on fresh replicates, under the same measures; None before there are any."""
    path = own_study()
    if path is None:
        return None
    now = state.get()
    risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
    with Study.open(path) as study:
        n = len(study.results("fresh"))
        if not n:
            return None
        depends = (str(path), n, len(study.scenarios), risk, utility, view.allow_partial)
        return now.memo.get(
            "fresh",
            depends,
            lambda: risk_utility_map(study, risk, utility, allow_partial=view.allow_partial, fresh=True),
        )


def notes(place: int) -> list[tuple[int, int, str]]:
    """What was said about a scenario's runs in the sweep: (replicate, column of the measure, text)."""
    path = own_study()
    if path is None:
        return []
    now = state.get()
    with Study.open(path) as study:
        depends = (str(path), study.stamp()[0], len(study.measures), place)
        return now.memo.get("notes", depends, lambda: [row for row in study.notes(place) if row[0] < FRESH_FROM])


def is_sample(text: str | None) -> bool:
    """Whether the data are a sample."""
    return text in names()


def source_words() -> str:
    """The data's name, as people know it."""
    now = state.get()
    if now.raw is not None:
        return now.raw.source
    path = own_study()
    if path:
        with suppress(EngineError), Study.open(path) as study:
            return str(study.about["source"])
    return ""


def n_records() -> int:
    """Records of the study's data."""
    path = own_study()
    if path is None:
        return 0
    with Study.open(path) as study:
        return int(study.about["n_records"])
