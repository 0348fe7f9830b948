"""Run the candidates of a study again: for further measures, or on fresh replicates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import RawTable
from engine.measures import MeasureCall, call
from engine.plan.recode import code
from engine.release.spec import MOST_REPLICATES, ReleaseSpec
from engine.study.decision_log import append
from engine.study.lease import MEASURE, RECHECK
from engine.study.runs import TABLES, RunTable
from engine.study.study import Study
from engine.sweeps.candidates import Group, group
from engine.sweeps.evaluator import Question, question
from engine.sweeps.runner import FRESH_FROM, RunOptions, announce_compilation
from engine.sweeps.sweep import check_options, check_same, open_executor
from engine.sweeps.workers import (
    TASK,
    Bundle,
    SerialExecutor,
    bundles,
)


def add_measures(
    study: Study,
    raw: RawTable,
    key: bytes,
    texts: Sequence[str],
    **options: Unpack[RunOptions],
) -> list[str]:
    """Add measures to a study by remaking its releases from the same streams; returns the names of those added.

    Figures stored before stay as they are.  Killed or cancelled half-way, the study is as it was.  Of measures that the
    study has already, those runs are remade that lack them (:meth:`engine.study.runs.Runs.gaps`).
    """
    check_options(options)
    check_same(study, raw, key)
    study.acquire_lease(task=MEASURE)
    try:
        have = [str(c) for c in study.measures]
        calls = [call(text) for text in dict.fromkeys(str(call(text)) for text in texts)]
        new = [c for c in calls if str(c) not in have]
        old = [c for c in calls if str(c) in have]
        added = []
        for c in old:
            k = have.index(str(c))
            tables = {table: np.array(study.gaps(table, k), np.int64).reshape(-1, 2) for table in TABLES}
            if any(map(len, tables.values())):
                _remake(study, _question(study, raw, [c]), key, [k], tables, **options)
                added.append(str(c))
        if new:
            tables = {table: study.keys_of_runs(table) for table in TABLES}
            asked = _question(study, raw, new)
            _remake(study, asked, key, study.begin_measures(new), tables, **options)
            study.finish_measures(new, asked.original())
        return added + [str(c) for c in new]
    finally:
        study.release_lease()


def _question(study: Study, raw: RawTable, calls: Sequence[MeasureCall]) -> Question:
    """The question that asks these measures of a study's data."""
    plan = replace(study.plan, measures=tuple(dict.fromkeys((*study.plan.measures, *map(str, calls)))))
    return question(plan, code(raw, plan), calls)


def _remake(
    study: Study,
    asked: Question,
    key: bytes,
    columns: Sequence[int],
    tables: Mapping[RunTable, np.ndarray],
    **options: Unpack[RunOptions],
) -> None:
    """Fill columns of these runs (scenario, replicate) with the measures asked."""
    done, total, on_progress = 0, sum(map(len, tables.values())), options.get("on_progress")
    announce_compilation(options.get("announce"))
    with open_executor(asked, key, total, **options) as executor:
        for table, held in tables.items():
            again = _held_tasks(group([(s.index, s.spec) for s in study.scenarios], asked.table), held)
            for outcome in executor.run(again):
                notes = [
                    note if note.measure is None else note._replace(measure=columns[note.measure])
                    for note in outcome.notes
                ]
                study.update_results(columns, outcome.rows, notes, table)
                done += len(outcome.rows)
                if on_progress:
                    on_progress(done, total)
                if study.beat():
                    raise EngineError("cancelled; the study is as it was before")


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
    if replicates > MOST_REPLICATES:
        raise UsageError(f"replicates == {replicates}, must be at most {MOST_REPLICATES:,}.")
    check_same(study, raw, key)
    wanted = set(places)
    study.acquire_lease(task=RECHECK)
    try:
        asked = question(study.plan, code(raw, study.plan), study.measures)
        groups = group([(s.index, s.spec) for s in study.scenarios if s.index in wanted], asked.table)
        for outcome in SerialExecutor(asked, key).run(
            bundles(groups, study.replicates_done("fresh", FRESH_FROM - 1), replicates, FRESH_FROM - 1)
        ):
            study.add_results(outcome.rows, outcome.notes, table="fresh")
            if study.beat():
                raise EngineError("stopped by request; what is done is kept")
    finally:
        study.release_lease()
    labels = [study.scenarios[place].label for place in sorted(wanted)]
    append(study, "rechecked", {"candidates": labels, "replicates": replicates})
