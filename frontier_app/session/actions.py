"""The actions of a session: settle a plan, look at a study; nothing is drawn here."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.os_support import write_private, writing
from engine.data.microdata import Microdata, RawTable
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import MeasureCall
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.plan.codebook import apply_codebook, read_codebook, with_labels
from engine.plan.coding import code
from engine.plan.differences import Merge, merged, with_entries
from engine.plan.guess import with_levels_in_order
from engine.release.scenarios import Note
from engine.release.spec import ReleaseSpec
from engine.study.ledger import is_of_data
from engine.study.map_reader import LiveFrontier, live_frontier, objective_indices, remapped, risk_utility_map
from engine.study.study import Study
from engine.sweeps.runner import FRESH_FROM
from engine.sweeps.sweep import check_single_columns
from frontier_app.session import jobs, state
from frontier_app.session.workspace import Workspace
from frontier_app.wording import text
from frontier_app.wording.plan_words import action_words, taken_words

_MOST_TAKEN_BACK = 50
_CODING = "seconds to code"


def use_codebook(name: str, content: bytes) -> None:
    """Labels, missing codes, roles and blocks from a codebook table (CSV); it is kept with the data."""
    now = state.get()
    if now.raw is None or now.workspace is None:
        raise UsageError("open the data first; a codebook describes their columns")
    aside = now.workspace.folder / "given" / (Path(name).stem[:60] + ".csv")
    aside.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        write_private(aside, content)
        book = read_codebook(aside)
        plan, raw = apply_codebook(now.raw, book, now.plan), with_labels(now.raw, book)
        action = _action("the codebook was applied", now.plan) if now.plan is not None else None
        with writing(now.workspace.codebook_path):
            os.replace(aside, now.workspace.codebook_path)
    finally:
        shutil.rmtree(aside.parent, ignore_errors=True)
    if action is not None:
        _remember(action)
    state.put(raw=raw, memo=state.Memo())
    _keep(plan)
    state.renew()


def open_study(path: Path) -> None:
    """Work on another study of the workspace, with its plan."""
    refuse_behind()
    at = state.get().workspace
    if at is None or path not in at.studies:
        raise UsageError(f"'{path.name}' is no study of this workspace")
    with Study.open(path) as study:
        plan = study.plan
    at.note(study=path.name if path.parent == at.folder else str(path))
    state.put(selected=None, look=state.Look(), memo=state.Memo())
    _keep(plan)
    forget_actions()
    state.renew()


def forget() -> None:
    """Delete the workspace with everything in it and start over."""
    at = state.get().workspace
    if at:
        jobs.stop(at)
        at.delete()
    state.begin(notice="The workspace was deleted, with everything in it." if at else "")


def leave() -> None:
    """Go back to the start; the workspace stays, and its address opens it while the dashboard runs."""
    state.begin()


def set_plan(plan: Plan, done: str = "") -> bool:
    """Keep a plan; returns whether it is a new one.  Each new one is an action that can be taken back; ``done`` says in
    words what it did, "" says what differs."""
    now = state.get()
    changed = plan != now.plan
    if changed:
        if now.plan is not None:
            words = done or action_words(now.plan, plan, now.raw.names if now.raw is not None else ())
            _remember(_action(words, now.plan))
        _keep(plan)
    else:
        if now.error:
            state.put(error="")
        catch_up()
    return changed


def _keep(plan: Plan) -> None:
    """Make a plan the one at hand and write it, merged with what another tab has written since this one looked."""
    now = state.get()
    at = now.workspace
    if at is None or not at.folder.is_dir():
        state.put(plan=plan, error="")
        catch_up()
        return
    with at.turn():
        text = at.saved_plan
        theirs = None if text is None or text == now.saved else saved_plan(text)
        merge = Merge(plan) if theirs is None else merged(now.plan, plan, theirs)
        if text is None or merge.plan != theirs:
            text = plan_to_toml(merge.plan)
            at.save_plan(text)
        if merge.conflicts:
            _save_disputes(at, (*disputes(), state.Dispute(plan, merge.conflicts)))
    state.put(plan=merge.plan, saved=text, error="")
    if theirs is not None:
        _tell(now.plan, theirs, merge)


def catch_up() -> bool:
    """Take over what another tab has made of the plan, or that it deleted the workspace; returns whether it did."""
    now = state.get()
    at = now.workspace
    if at is None:
        return False
    if not at.folder.is_dir():
        state.begin(notice="The workspace was deleted in another tab, with everything in it.")
        return True
    text = at.saved_plan
    if text is None or text == now.saved:
        return False
    _keep(now.plan or saved_plan(text))
    return state.get().version != now.version


def saved_plan(text: str) -> Plan:
    """The plan in the text of a workspace's file."""
    try:
        return plan_from_toml(text)
    except UsageError as error:
        raise UsageError(f"the plan of this workspace was changed by hand and is none any more: {error}") from None


def _tell(before: Plan | None, theirs: Plan, merge: Merge) -> None:
    """Say what another tab made of the plan; inputs start again from the merged plan.
    What can be taken back is what this tab did, and nothing of what the other did."""
    now = state.get()
    state.put(actions=tuple(_rebased(now.actions, before, theirs, merge.plan)))
    if before is None:
        state.put(notice="A plan was made in another tab, and this page goes on with it.")
    elif merge.taken:
        words = "; ".join(taken_words(before, theirs, merge.taken))
        notice = f"The plan was changed in another tab, and this page goes on with it. Taken over: {words}."
        state.put(notice=f"{now.notice} {notice}".strip())
    if before is None or merge.taken or merge.conflicts:
        state.renew()


def _rebased(actions: Sequence[state.Action], before: Plan | None, theirs: Plan, now: Plan) -> Iterator[state.Action]:
    """Actions with what was there before them as it would have been after the other tab's change; without the last one
    where nothing of it was written, and without those that the other's change contradicts."""
    for k, action in enumerate(actions):
        merge = merged(before, action.plan, theirs)
        if merge.conflicts:
            return
        rebased = replace(action, plan=merge.plan)
        if k or rebased != _action(action.done, now):
            yield rebased


def disputes() -> tuple[state.Dispute, ...]:
    """What two tabs changed otherwise and nobody has settled yet: it is kept in the workspace, for every tab."""
    at = state.get().workspace
    if at is None or not at.disputes_path.exists():
        return ()
    kept = json.loads(at.disputes_path.read_text(encoding="utf-8"))
    return tuple(state.Dispute(saved_plan(one["mine"]), tuple(one["entries"])) for one in kept)


def _save_disputes(at: Workspace, disputes: Sequence[state.Dispute]) -> None:
    kept = [{"mine": plan_to_toml(one.mine), "entries": one.entries} for one in disputes]
    at.keep(at.disputes_path.name, json.dumps(kept))


def settle(dispute: state.Dispute, *, mine: bool) -> None:
    """Choose one side of what two tabs changed otherwise."""
    now = state.get()
    assert now.plan is not None and now.workspace is not None
    if mine:
        change(with_entries(now.plan, dispute.mine, dispute.entries), "what was entered here was put in place")
    with now.workspace.turn():
        _save_disputes(now.workspace, [other for other in disputes() if other != dispute])


def refuse_behind() -> None:
    """Refuse to replace the whole plan where another tab has changed it since this one looked."""
    if catch_up():
        raise UsageError("the plan was changed in another tab meanwhile; look at it as it is now, and do this again")


def load_plan(text: str) -> None:
    """Use a plan from a file."""
    refuse_behind()
    plan, raw = plan_from_toml(text), state.get().raw
    if raw is not None:
        plan = with_levels_in_order(plan, raw)
    if plan == state.get().plan:
        state.put(notice="The file holds the plan at hand. Nothing was changed.")
    change(plan, "another plan was loaded")


def change(plan: Plan, done: str = "") -> None:
    """Carry out one decision on the plan; the page's inputs start again from it."""
    set_plan(plan, done)
    state.renew()


def decline(keys: Sequence[str], done: str) -> None:
    """Decline suggestions by their keys."""
    _set_declined((*declined(), *keys), done)


def reconsider() -> None:
    """Ask again about all suggestions that were declined."""
    _set_declined((), f"{text.plural(len(declined()), 'declined suggestion')} asked about again")


def declined() -> tuple[str, ...]:
    """Keys of the suggestions that were declined."""
    at = state.get().workspace
    return tuple(at.about.get("declined", ())) if at else ()


def _set_declined(keys: Sequence[str], done: str) -> None:
    at = state.get().workspace
    assert at is not None
    plan = state.get().plan
    if plan is not None:
        before = declined()
        changed = tuple((key, key in before) for key in sorted({*before} ^ {*keys}))
        _remember(replace(_action(done, plan), declined=changed))
    at.note(declined=list(keys))
    state.renew()


def _action(done: str, plan: Plan) -> state.Action:
    """An action that is about to be done, with what is there before it."""
    now = state.get()
    return state.Action(done, plan, now.raw, now.workspace.codebook if now.workspace else None)


def _remember(action: state.Action) -> None:
    """Let an action be taken back."""
    state.put(actions=(action, *state.get().actions[: _MOST_TAKEN_BACK - 1]))


def forget_actions() -> None:
    """Let nothing that was done so far be taken back."""
    state.put(actions=())


def take_back() -> None:
    """Take the last action back, and no other."""
    now = state.get()
    if not now.actions:
        return
    action, *earlier = now.actions
    state.put(actions=tuple(earlier))
    if now.workspace:
        if action.declined:  # another tab's answers stay, and so does its codebook
            before = dict.fromkeys(declined(), True) | dict(action.declined)
            now.workspace.note(declined=[key for key, was_declined in before.items() if was_declined])
        if action.raw is not now.raw:
            now.workspace.restore_codebook(action.codebook)
    if action.raw is not now.raw:
        state.put(raw=action.raw, memo=state.Memo())
    _keep(action.plan)
    state.renew()


def coded() -> Microdata:
    """The data coded by the plan; raises the engine's own sentences."""
    now = state.get()
    if now.raw is None or now.plan is None:
        raise UsageError("open data first, and settle which columns become attributes")
    raw, plan = now.raw, now.plan
    return now.memo.get("coded", (plan.data, plan.edits), lambda: _timed_code(raw, plan))


def _timed_code(raw: RawTable, plan: Plan) -> Microdata:
    """The data coded; keeps how long that took."""
    began = time.perf_counter()
    data = code(raw, plan)
    check_single_columns(data)
    state.get().memo.keep(_CODING, time.perf_counter() - began)
    return data


def seconds_to_read() -> float:
    """Seconds that reading the file and coding it by the plan took, which a sweep does anew."""
    now = state.get()
    read = 0.0 if now.raw is None else now.raw.read_seconds
    return read + float(now.memo.last(_CODING) or 0.0)


def own_study() -> Path | None:
    """Path of the study, when it exists."""
    at = state.get().workspace
    path = at.study if at else None
    return path if path and path.exists() else None


@contextmanager
def opened() -> Iterator[Study | None]:
    """The study, knowing its scenarios where the map has read them; None where there is none."""
    path = own_study()
    if path is None:
        yield None
        return
    view = state.get().memo.last("map")
    with Study.open(path) as study:
        if view is not None and view[0] == str(path):
            study.scenario_table.reuse(view[1].scenarios)
        yield study


def the_map(risk: str | None, utility: str | None, partial: bool) -> RiskUtilityMap | None:
    """The study's map under two measures, read again when the study has grown; None without a study."""
    with opened() as study:
        if study is None:
            return None
        path = str(study.path)
        grown = (path, study.progress.done, study.n_scenarios, len(study.measures), partial)
        depends = (grown, risk, utility)
        before = state.get().memo.last("map")

        def make() -> tuple[str, RiskUtilityMap, object]:
            if before is not None and before[2] == grown:
                return path, remapped(study, before[1], risk, utility), grown
            return path, risk_utility_map(study, risk, utility, allow_partial=partial), grown

        view: RiskUtilityMap = state.get().memo.get("map", depends, make)[1]
        return view


def risks_seen(risk: MeasureCall) -> list[tuple[ReleaseSpec, float]] | None:
    """Each candidate with the figure of a risk that a bound is held against, on the map as it is looked at; None where
    there is none, or one of another risk."""
    look, view = state.get().look, None
    with suppress(EngineError):
        view = the_map(look.risk, look.utility, look.partial)
    if view is None or view.measures[view.risk] != risk:
        return None
    places = np.flatnonzero(np.isfinite(view.bounded_risk))
    return [(view.scenarios[int(k)].spec, float(view.bounded_risk[k])) for k in places] or None


@dataclass(frozen=True)
class FrontierSoFar:
    """The frontier of a study as it is now, how many scenarios the study has, the names of its two measures, the signs
    that turn losses into values, and the values of the original data."""

    frontier: LiveFrontier
    scenarios: int
    titles: tuple[str, str]
    signs: tuple[float, float]
    original: tuple[float, float]


def frontier_so_far() -> FrontierSoFar | None:
    """The study's frontier so far under the plan's measures; None without a study."""
    path = own_study()
    if path is None:
        return None
    now = state.get()
    with Study.open(path) as study:
        risk, utility = (study.measures[k] for k in objective_indices(study))
        depends = (str(path), study.progress.done, study.n_scenarios)
        frontier = now.memo.get("frontier so far", depends, lambda: live_frontier(study))
        original = (study.original[str(risk)], study.original[str(utility)])
        count = study.n_scenarios
    signs = tuple(-1.0 if measure.measure.better == "higher" else 1.0 for measure in (risk, utility))
    return FrontierSoFar(
        frontier, count, (text.measure_name(risk), text.measure_name(utility)), (signs[0], signs[1]), original
    )


def fresh_map(view: RiskUtilityMap) -> RiskUtilityMap | None:
    """The map of the runs on fresh replicates, under the same measures; None before there are any."""
    now = state.get()
    risk, utility = (str(view.measures[k]) for k in (view.risk, view.utility))
    with opened() as study:
        if study is None:
            return None
        n = study.runs.count("fresh")
        if not n:
            return None
        depends = (str(study.path), n, study.n_scenarios, len(study.measures), risk, utility, view.allow_partial)
        return now.memo.get(
            "fresh",
            depends,
            lambda: risk_utility_map(study, risk, utility, allow_partial=view.allow_partial, fresh=True),
        )


def notes(index: int) -> list[Note]:
    """The notes on a scenario's runs in the sweep."""
    path = own_study()
    if path is None:
        return []
    now = state.get()
    with Study.open(path) as study:
        depends = (str(path), study.progress.done, len(study.measures), index)
        return now.memo.get("notes", depends, lambda: [n for n in study.notes.of(index) if n.replicate < FRESH_FROM])


def earlier_elsewhere() -> list[Path]:
    """Earlier studies of the data at hand that were at work in the workspace and lie elsewhere."""
    now, paths = state.get(), []
    for path in now.workspace.elsewhere if now.workspace and now.raw else ():
        with Study.open(path) as study:
            if now.raw is not None and is_of_data(study, now.raw) is not False:
                paths.append(path)
    return paths


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
