"""Run again what a study holds: for further measures, or to see finalists on fresh replicates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from engine.candidates import Group, group
from engine.decision_log import append
from engine.errors import EngineError, UsageError
from engine.evaluation import count_place
from engine.evaluator import question
from engine.filling import FRESH_FROM, Announce, Tick, announce_compilation, plain
from engine.io.recode import code
from engine.measures import call
from engine.microdata import RawTable
from engine.record_runs import DIAGNOSTICS
from engine.spec import ReleaseSpec
from engine.study import Study
from engine.sweep import check_same
from engine.workers import TASK, Alone, Bundle, bundles, crew, default_workers


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
        announce_compilation(announce)
        columns = study.begin_measures(calls)
        with crew(asked, key, workers or default_workers(total, asked)) as hands:
            for table, held in tables.items():
                again = _held_tasks(group([(s.place, s.spec) for s in study.scenarios], asked.table), held)
                for outcome in hands.run(again):
                    rows = [(*row[4:], int(row[0]), int(row[1])) for row in plain(outcome.rows)]
                    notes = [
                        (place, replicate, _column_of(k, columns), text) for place, replicate, k, text in outcome.notes
                    ]
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


def _column_of(k: int, columns: Sequence[int]) -> int:
    """Where a note on the ``k``-th of the measures added stands; what the mechanism counted stays where it is."""
    if k == DIAGNOSTICS:
        return k
    return columns[k] if k >= 0 else count_place(columns[count_place(k)])


def _held_tasks(groups: Sequence[Group], held: np.ndarray) -> Iterator[Bundle]:
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
            step = max(1, TASK // len(members))
            for first in range(0, len(numbers), step):
                yield [(Group(one.structure, tuple(members)), numbers[first : first + step])]


def reevaluate(study: Study, raw: RawTable, key: bytes, places: Sequence[int], replicates: int) -> None:
    """Run some scenarios on fresh replicates, kept apart from those that led to the choice;
    what is held already is not run again.  Stops early, keeping everything, when the study is cancelled."""
    if replicates < 2:
        raise UsageError(f"replicates == {replicates}, must be at least 2 for a standard error.")
    check_same(study, raw, key)
    asked = question(study.plan, code(raw, study.plan), study.measures)
    wanted = set(places)
    if study.progress.state != "running":  # an earlier sweep may have been cancelled
        with study.transaction() as db:
            db.execute("update run set cancel=0")
    groups = group([(s.place, s.spec) for s in study.scenarios if s.place in wanted], asked.table)
    for outcome in Alone(asked, key).run(
        bundles(groups, study.held("fresh", FRESH_FROM - 1), replicates, FRESH_FROM - 1)
    ):
        study.add_results(plain(outcome.rows), outcome.notes, table="fresh")
        if study.read("select cancel from run")[0][0]:
            raise EngineError("stopped by request; what is done is kept")
    labels = [study.scenarios[place].label for place in sorted(wanted)]
    append(study, "rechecked", {"candidates": labels, "replicates": replicates})
