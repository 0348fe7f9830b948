"""Run a plan: draw every candidate, measure it, keep the figures.

Work is cut into tasks of scenarios that share pairs.  A task is a pure function of the cell table, the study key and
the replicates asked for, so where and in which order tasks run changes nothing; each task's rows are stored in one
transaction, so a killed sweep resumes.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from engine.candidates import Group, carried_identifiers, group, remarks, scenarios_of
from engine.decision import risk_utility_map
from engine.errors import EngineError, UsageError
from engine.evaluator import Evaluator, Outcome, Question, Task, question
from engine.io.recode import code
from engine.keys import key_path, read_key, read_or_make_key
from engine.measures import call
from engine.microdata import Microdata, RawTable
from engine.plan import Plan
from engine.spec import ReleaseSpec
from engine.streams import fingerprint, key_check
from engine.study import Study

Announce = Callable[[str], None]
Tick = Callable[[int, int], None]

FRESH_FROM = 1_000_001
"""First replicate index of re-evaluations, so that they never meet the replicates that led to a choice."""

_TASK = 400  # candidates per task: long enough to pay for its commit, short enough to cancel at once


# -- tasks and workers -----------------------------------------------------------------------------------------------

_evaluator: Evaluator | None = None


def _start_worker(question: Question, key: bytes) -> None:
    global _evaluator
    Thread(target=_end_with_parent, daemon=True).start()
    _evaluator = Evaluator(question, key)


def _end_with_parent() -> None:
    """A killed sweep must not leave workers behind that wait for ever, with the table and the key in their memory."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(tasks: list[Task]) -> Outcome:
    assert _evaluator is not None
    return _evaluator.run_all(tasks)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Leave out the search for circular garbage: among the hundreds of thousands of objects of a large space there is
    none, and searching them again and again takes longer than making them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _tasks(groups: Sequence[Group], held: np.ndarray, replicates: int) -> Iterator[list[Task]]:
    """Bundles of tasks of roughly equal size, leaving out replicates that all members of a group hold."""
    bundle: list[Task] = []
    size = 0
    for one in groups:
        have = min(int(held[place]) for place, _ in one.members)
        step = max(1, _TASK // len(one.members))
        for first in range(have + 1, replicates + 1, step):
            numbers = tuple(range(first, min(first + step, replicates + 1)))
            bundle.append((one, numbers))
            size += len(numbers) * len(one.members)
            if size >= _TASK:
                yield bundle
                bundle, size = [], 0
    if bundle:
        yield bundle


def _run_all(bundles: Iterator[list[Task]], question: Question, key: bytes, workers: int) -> Iterator[Outcome]:
    """The outcome of every bundle; in order with one worker, as they come with more."""
    if workers == 1:
        evaluator = Evaluator(question, key)
        for bundle in bundles:
            yield evaluator.run_all(bundle)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (question, key)) as pool:
        waiting: set[Future[Outcome]] = set()
        try:
            for bundle in bundles:
                waiting.add(pool.submit(_work, bundle))
                if len(waiting) > 3 * workers:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in waiting:
                future.cancel()


# -- the sweep -------------------------------------------------------------------------------------------------------


def sweep(
    raw: RawTable,
    plan: Plan | None,
    path: str | Path,
    *,
    key_file: str | Path | None = None,
    workers: int | None = None,
    extend: bool = False,
    tick: Tick | None = None,
    announce: Announce | None = None,
) -> Study:
    """Fill a study: make it, resume it, or with ``extend`` add rates, specs and replicates to it.

    ``plan`` None means the study's own plan.  Returns the open study, finished or cancelled.  ``tick(done, total)`` is
    called as results are stored.  Other data, another key or another plan than the study's are refused with the
    difference.
    """
    path = Path(path)
    say = announce or (lambda text: None)
    if workers is not None and workers < 1:
        raise UsageError(f"workers == {workers}, must be at least 1.")
    is_new = not path.exists()
    if is_new and not path.absolute().parent.is_dir():
        raise UsageError(f"the folder of '{path.name}' does not exist; make it first")
    old = None if is_new else Study.open(path)
    try:
        if plan is None:
            if old is None:
                raise UsageError("a new study needs a plan")
            plan = old.plan
        data = code(raw, plan)
        asked = question(plan, data, old.measures if old else None)
        with _no_collection():
            specs, found = scenarios_of(plan, data, {s.spec for s in old.scenarios} if old else ())
        key = read_or_make_key(key_path(path, key_file)) if is_new else read_key(key_path(path, key_file))
        for remark in remarks(plan, found, data.n_records) if is_new and found else ():
            say(remark)
        for warning in carried_identifiers(data) if is_new else ():
            say(f"warning: {warning}")
        if old is None:
            study = Study.create(path, plan, _about(raw, data, asked, key), asked.original())
            with _no_collection():
                study.add_scenarios(specs)
        else:
            check_same(old, raw, key)
            _check_plan(old, plan, extend)
            study = old
            missing = {s.spec for s in old.scenarios} - set(specs)
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
        study.add_scenarios(specs)
        if study.plan != plan:
            study.grow(plan)
    fill(study, asked, key, workers=workers, tick=tick, announce=say)
    return study


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
    """Refuse another key or other data than the study was made with."""
    about = study.about
    if about["key_check"] != key_check(key):
        raise UsageError(
            f"the key is not the one that study '{study.path.name}' was made with; name the right file with --key-file"
        )
    if about["fingerprint"] != fingerprint(key, raw.content_digest()):
        detail = f"{about['n_records']:,} records of '{about['source']}'"
        raise UsageError(
            f"study '{study.path.name}' was made on other data: {detail}, given {raw.n_records:,} records of "
            f"'{raw.source}'" + ("; the values differ" if about["n_records"] == raw.n_records else "")
        )


_MAY_GROW = {"rates", "replicates", "swap_sizes", "specs", "all_specs"}


def plan_differences(old: Plan, new: Plan) -> dict[str, str]:
    """What differs between two plans, one sentence per entry."""
    found: dict[str, str] = {}
    pairs: list[tuple[str, Any, Any, tuple[str, ...]]] = [
        ("", old, new, ("keys", "swap", "analyse", "edits", "measures", "analyses", "mechanisms"))
    ]
    for part in ("data", "space", "decision"):
        a, b = getattr(old, part), getattr(new, part)
        pairs.append((part + ".", a, b, tuple(f.name for f in fields(a) if f.name != "attributes")))
    for prefix, a, b, names in pairs:
        for name in names:
            x, y = getattr(a, name), getattr(b, name)
            if x != y:
                found[prefix + name] = f"{prefix}{name}: the study has {_words(x)}, asked {_words(y)}"
    ours, theirs = {a.name: a for a in old.attributes}, {a.name: a for a in new.attributes}
    for name in [*ours, *(n for n in theirs if n not in ours)]:
        if ours.get(name) != theirs.get(name):
            how = (
                "is coded differently"
                if name in ours and name in theirs
                else "is new"
                if name in theirs
                else "is missing"
            )
            found["attribute." + name] = f"attribute '{name}' {how}"
    return found


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "nothing"
    return "nothing" if value is None else str(value)


def _check_plan(study: Study, plan: Plan, extend: bool) -> None:
    differences = plan_differences(study.plan, plan)
    growth = {"mechanisms", *(f"space.{name}" for name in _MAY_GROW)}
    barred = [text for name, text in differences.items() if not (extend and name in growth)]
    if plan.space.replicates < study.plan.space.replicates and extend:
        barred.append(differences["space.replicates"])
    if barred:
        hint = "" if extend or not set(differences) <= growth else " Add --extend to add more of the same."
        raise UsageError(f"study '{study.path.name}' has another plan: " + "; ".join(barred[:5]) + "." + hint)


def fill(
    study: Study,
    asked: Question,
    key: bytes,
    *,
    workers: int | None = None,
    tick: Tick | None = None,
    announce: Announce | None = None,
) -> None:
    """Draw and measure what a study does not hold yet; stops early, keeping everything, when the study is cancelled."""
    replicates = study.plan.space.replicates
    with _no_collection():
        groups = group([(s.place, s.spec) for s in study.scenarios], asked.table)
    held = study.held()
    total = replicates * len(study.scenarios)
    done = int(np.minimum(held, replicates).sum())
    study.take(total, done)
    try:
        if tick:
            tick(done, total)
        if done < total:
            _announce_compilation(announce)
            count = workers or _default_workers(total - done, asked)
            for outcome in _run_all(_tasks(groups, held, replicates), asked, key, count):
                study.add_results(_plain(outcome.rows), outcome.notes)
                done = min(total, done + len(outcome.rows))
                if tick:
                    tick(done, total)
                if study.beat(done):
                    study.release("cancelled", "cancelled by request")
                    return
        with suppress(UsageError):  # without a risk and a utility measure there is no map
            risk_utility_map(study, as_writer=True)
        study.release("finished")
    except KeyboardInterrupt:
        study.release("cancelled", "interrupted")
        raise
    except Exception as error:
        study.release("failed", str(error) if isinstance(error, EngineError) else type(error).__name__)
        raise


def _plain(rows: np.ndarray) -> list[tuple[Any, ...]]:
    """Rows for SQLite: whole numbers first, undefined figures as nulls."""
    whole = rows[:, :4].astype(np.int64).tolist()
    return [
        (*head, *(None if v != v else v for v in values))
        for head, values in zip(whole, rows[:, 4:].tolist(), strict=True)
    ]


def _default_workers(candidates: int, asked: Question) -> int:
    """One process for little work (starting others costs more), else one per core."""
    each = len(asked.table) + 1000 if asked.data is None else 100_000 * len(asked.on_records)
    return 1 if candidates * each < 30_000_000 else os.cpu_count() or 1


def _announce_compilation(announce: Announce | None) -> None:
    from engine import compiled

    if not announce:
        return
    if not compiled.COMPILED:
        announce(f"{compiled.WHY_NOT}: the same results, computed far more slowly")
    elif not any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi")):
        announce("compiling the kernels once; later runs start at once")


def estimate(plan: Plan, data: Microdata, probes: int = 5) -> tuple[int, float]:
    """``(candidates, seconds)``: realisations that the plan asks for and the time they will take, from a probe of a few
    groups."""
    asked = question(plan, data)
    specs, _ = scenarios_of(plan, data)
    groups = group(list(enumerate(specs)), asked.table)
    evaluator = Evaluator(asked, bytes(16))
    chosen = [groups[i] for i in np.unique(np.linspace(0, len(groups) - 1, probes).astype(int))]
    evaluator.run(chosen[0], [1])  # loads or compiles the kernels, which is not part of the rate
    begin = time.perf_counter()
    for one in chosen:
        evaluator.run(one, [1])
    per_group = (time.perf_counter() - begin) / len(chosen)
    total = len(specs) * plan.space.replicates
    return total, per_group * len(groups) * plan.space.replicates / (_default_workers(total, asked) ** 0.8)


def add_measures(
    study: Study,
    raw: RawTable,
    key: bytes,
    texts: Sequence[str],
    *,
    workers: int | None = None,
    tick: Tick | None = None,
    announce: Announce | None = None,
) -> list[str]:
    """Add measures to a study by remaking its releases from the same streams; returns the names of those added.

    Figures stored before stay as they are.  Killed or cancelled half-way, the study is as it was.
    """
    check_same(study, raw, key)
    have = {str(c) for c in study.measures}
    calls = [call(text) for text in dict.fromkeys(str(call(text)) for text in texts) if text not in have]
    if not calls:
        return []
    plan = replace(study.plan, measures=(*study.plan.measures, *map(str, calls)))
    asked = question(plan, code(raw, plan), calls)
    original = asked.original()
    tables: dict[str, np.ndarray] = {}
    for table in ("realisation", "fresh"):
        results = study.results(table)
        tables[table] = np.column_stack([results.scenario, results.replicate])
    total = sum(len(rows) for rows in tables.values())
    study.take(total, 0)
    done = 0
    try:
        _announce_compilation(announce)
        columns = study.begin_measures(calls)
        for table, held in tables.items():
            bundles = _held_tasks(group([(s.place, s.spec) for s in study.scenarios], asked.table), held)
            count = workers or _default_workers(len(held), asked)
            for outcome in _run_all(bundles, asked, key, count):
                rows = [(*row[4:], int(row[0]), int(row[1])) for row in _plain(outcome.rows)]
                notes = [(place, replicate, columns[k], text) for place, replicate, k, text in outcome.notes]
                study.update_results(columns, rows, notes, table)
                done += len(rows)
                if tick:
                    tick(done, total)
                if study.beat(done):
                    study.release("finished", "adding measures was cancelled")
                    raise EngineError("cancelled; the study is as it was before")
        study.finish_measures(plan, calls, original)
    finally:
        study.release("finished")
    return [str(c) for c in calls]


def _held_tasks(groups: Sequence[Group], held: np.ndarray) -> Iterator[list[Task]]:
    """Bundles of tasks that make exactly the realisations held (scenario, replicate) again."""
    by_scenario: dict[int, list[int]] = {}
    for place, number in held.tolist():
        by_scenario.setdefault(place, []).append(number)
    for one in groups:
        by_numbers: dict[tuple[int, ...], list[tuple[int, ReleaseSpec]]] = {}
        for place, spec in one.members:
            if place in by_scenario:
                by_numbers.setdefault(tuple(by_scenario[place]), []).append((place, spec))
        for numbers, members in by_numbers.items():
            step = max(1, _TASK // len(members))
            for first in range(0, len(numbers), step):
                yield [(Group(one.structure, tuple(members)), numbers[first : first + step])]


def reevaluate(study: Study, raw: RawTable, key: bytes, places: Sequence[int], replicates: int) -> None:
    """Run some scenarios on fresh replicates, kept apart from those that led to the choice."""
    if replicates < 2:
        raise UsageError(f"replicates == {replicates}, must be at least 2 for a standard error.")
    check_same(study, raw, key)
    asked = question(study.plan, code(raw, study.plan), study.measures)
    evaluator = Evaluator(asked, key)
    wanted = set(places)
    for one in group([(s.place, s.spec) for s in study.scenarios if s.place in wanted], asked.table):
        outcome = evaluator.run(one, range(FRESH_FROM, FRESH_FROM + replicates))
        study.add_results(_plain(outcome.rows), outcome.notes, table="fresh")
