"""Run a plan: draw every candidate, measure it, keep the figures.

Work is cut into tasks of scenarios that share pairs.  A task is a pure function of the cell table, the study key and
the replicates asked for, so where and in which order tasks run changes nothing; each task's rows are stored in one
transaction, so a killed sweep resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from engine.common.errors import EngineError, UsageError
from engine.common.streams import KEY_BYTES, fingerprint, key_check, new_key
from engine.data.microdata import Microdata, RawTable
from engine.plan import Plan
from engine.release.spec import RANDOM_SWAP, ReleaseSpec
from engine.study.keys import key_path, read_key, read_or_make_key
from engine.study.plan_changes import change_plan, check_change, check_departures, record_plan
from engine.study.study import Study
from engine.study.study_map import risk_utility_map
from engine.sweeps.adaptive import run_adaptively
from engine.sweeps.candidates import release_warnings, remarks
from engine.sweeps.cluster import check_address, connected
from engine.sweeps.evaluator import Question
from engine.sweeps.readiness import Ready, ready
from engine.sweeps.runner import Announce, Cancelled, Filling, Tick, announce_compilation, no_collection
from engine.sweeps.search import Search, run_search, search_of
from engine.sweeps.workers import Crew, check_workers, crew, default_workers


def sweep(
    raw: RawTable,
    plan: Plan | None,
    path: str | Path,
    *,
    key_file: str | Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    extend: bool = False,
    deviation: str = "",
    by: str = "",
    tick: Tick | None = None,
    announce: Announce | None = None,
) -> Study:
    """Fill a study: make it, resume it, or with ``extend`` add rates, specs and replicates to it.

    ``plan`` None means the study's own plan.  Returns the open study, finished or cancelled.  ``tick(done, total)`` is
    called as results are stored.  Other data, another key or another plan than the study's are refused with the
    difference; a plan that departs from its approval needs the reason as ``deviation``, which is logged with ``by``.
    ``cluster`` is the address of a Dask scheduler whose workers do the work (see :mod:`engine.sweeps.cluster`).
    """
    path = Path(path)
    say = announce or (lambda text: None)
    check_workers(workers)
    if cluster is not None:
        if workers is not None:
            raise UsageError("workers are processes on this machine; a cluster has its own, so give one of the two")
        check_address(cluster)
    is_new = not path.exists()
    if is_new and not path.absolute().parent.is_dir():
        raise UsageError(f"the folder of '{path.name}' does not exist; make it first")
    old = None if is_new else Study.open(path)
    try:
        if plan is None:
            if old is None:
                raise UsageError("a new study needs a plan")
            plan = old.plan
        made = ready(raw, plan, old.measures if old else None, {s.spec for s in old.scenarios} if old else ())
        key = read_or_make_key(key_path(path, key_file)) if is_new else read_key(key_path(path, key_file))
        if old is None:
            study = _begun(raw, plan, made, key, partial(Study.create, path), say, why=deviation, by=by)
        else:
            check_same(old, raw, key)
            study = old
            check_change(study, plan, why=deviation, grow=extend)
            missing = {s.spec for s in old.scenarios if not _searched(s.spec, plan)} - set(made.specs)
            if missing:
                raise UsageError(
                    f"--extend only adds to a study; the new plan leaves out {len(missing)} of its scenarios, such as "
                    f"'{next(iter(missing))}'"
                )
    except BaseException:
        if old is not None:
            old.close()
        raise
    if old is not None:
        if study.progress.state == "new":  # whoever made it was killed before its log was begun
            record_plan(study, why=deviation, by=by)
        study.add_scenarios(made.specs)
        change_plan(study, plan, why=deviation, by=by, grow=extend)
    search = _search(study, plan, made.data, key)
    fill(study, made.asked, key, search=search, workers=workers, cluster=cluster, tick=tick, announce=say)
    return study


def sweep_in_memory(
    raw: RawTable,
    plan: Plan,
    *,
    key: bytes | None = None,
    workers: int | None = None,
    tick: Tick | None = None,
    announce: Announce | None = None,
) -> Study:
    """Fill a new study in memory: no file is written, neither of the study nor of its key.

    ``key`` are the study key's 16 bytes, by default new ones from the system's secure source.  The other arguments and
    the answer are as in :func:`sweep`; the same key gives the same figures there.  :meth:`Study.save
    <engine.study.study.Study.save>` writes study and key to files.
    """
    check_workers(workers)
    if key is None:
        key = new_key()
    elif len(key) != KEY_BYTES:
        raise UsageError(f"key has {len(key)} bytes, must have {KEY_BYTES}")
    say = announce or (lambda text: None)
    made = ready(raw, plan)
    study = _begun(raw, plan, made, key, Study.create_in_memory, say)
    search = _search(study, plan, made.data, key)
    fill(study, made.asked, key, search=search, workers=workers, tick=tick, announce=say)
    return study


def _begun(
    raw: RawTable,
    plan: Plan,
    made: Ready,
    key: bytes,
    create: Callable[..., Study],
    say: Announce,
    *,
    why: str = "",
    by: str = "",
) -> Study:
    """A new study with its scenarios, made by ``create``; ``say`` is told what is remarkable about its plan."""
    for remark in remarks(plan, made.found, made.data.n_records) if made.found else ():
        say(remark)
    for warning in release_warnings(made.data, plan):
        say(f"warning: {warning}")
    check_departures(plan, why)
    study = create(plan, _about(raw, made.data, made.asked, key), made.asked.original())
    study.key = key
    record_plan(study, why=why, by=by)
    with no_collection():
        study.add_scenarios(made.specs)
    return study


def _search(study: Study, plan: Plan, data: Microdata, key: bytes) -> Search | None:
    """The search that a plan asks for, with what the study holds already."""
    if not (plan.space.search and plan.swaps_at_random):
        return None
    known = [s.spec.attributes for s in study.scenarios if s.spec.mechanism == RANDOM_SWAP]
    return search_of(plan, data, key, list(dict.fromkeys(known)))


def _searched(spec: ReleaseSpec, plan: Plan) -> bool:
    """Whether a scenario is one that the plan's search may look at."""
    return plan.space.search and spec.mechanism == RANDOM_SWAP and spec.rate in plan.space.rates


def _about(raw: RawTable, data: Microdata, asked: Question, key: bytes) -> dict[str, Any]:
    return {
        "source": raw.source,
        "n_records": data.n_records,
        "n_cells": len(data.table),
        "attributes": list(data.domain.names),
        "levels": list(data.domain.shape),
        "measures": [str(c) for c in asked.calls],
        "fingerprint": fingerprint(key, raw.content_digest()),
        "key_check": key_check(key),
    }


def check_same(study: Study, raw: RawTable, key: bytes) -> None:
    """Refuse another key or other data than the study was made with; the open study keeps the key."""
    about = study.about
    if about["key_check"] != key_check(key):
        raise UsageError(
            f"the key is not the one that study '{study.name}' was made with; name the right file with --key-file"
        )
    if about["fingerprint"] != fingerprint(key, raw.content_digest()):
        detail = f"{about['n_records']:,} records of '{about['source']}'"
        raise UsageError(
            f"study '{study.name}' was made on other data: {detail}, given {raw.n_records:,} records of "
            f"'{raw.source}'" + ("; the values differ" if about["n_records"] == raw.n_records else "")
        )
    study.key = key


def fill(
    study: Study,
    asked: Question,
    key: bytes,
    *,
    search: Search | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    tick: Tick | None = None,
    announce: Announce | None = None,
) -> None:
    """Draw and measure what a study does not hold yet; stops early, keeping everything, when the study is cancelled.

    A ``search`` adds its scenarios to the study as it goes.  In stages, ``total`` is the most that may be left to do.
    """
    space = study.plan.space
    replicates = space.replicates
    total = replicates * (len(study.scenarios) if search is None else max(space.budget, len(study.scenarios)))
    staged = space.adaptive or space.search
    study.take(total, study.stored(replicates))
    try:
        done = study.stored(replicates)  # nobody else adds to it from now on
        if tick:
            tick(done, total)
        message = ""
        if done < total or staged:
            announce_compilation(announce)
            with hired(asked, key, workers, cluster, total - done, announce) as hands:
                filling = Filling(study, asked, hands, tick)
                filling.done, filling.total = done, total
                if search is not None:
                    message = str(run_search(filling, search))
                if staged:
                    run_adaptively(filling)
                else:
                    filling.bring(None, replicates)
        with suppress(UsageError):  # without a risk and a utility measure there is no map
            risk_utility_map(study, as_writer=True)
        study.release("finished", message)
    except Cancelled:
        study.release("cancelled", "cancelled by request")
    except KeyboardInterrupt:
        study.release("cancelled", "interrupted")
        raise
    except Exception as error:
        study.release("failed", str(error) if isinstance(error, EngineError) else type(error).__name__)
        raise


@contextmanager
def hired(
    asked: Question,
    key: bytes,
    workers: int | None,
    address: str | None,
    candidates: int,
    announce: Announce | None = None,
) -> Iterator[Crew]:
    """Those who do so much work: a cluster, or as many processes as asked for or as pay off."""
    if address is None:
        with crew(asked, key, workers or default_workers(candidates, asked)) as hands:
            yield hands
        return
    with connected(asked, key, address, announce) as hands:
        yield hands
