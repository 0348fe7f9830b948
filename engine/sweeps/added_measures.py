"""Add measures to a study: its runs are remade from their streams and measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from engine.common.errors import EngineError
from engine.data.microdata import RawTable
from engine.measures import MeasureCall, call
from engine.plan.recode import code
from engine.study.lease import WriterTask
from engine.study.runs import TABLES, RunTable
from engine.study.study import Study
from engine.sweeps.evaluator import Question, question_of
from engine.sweeps.groups import Groups, TaskBatch, group, in_even_order
from engine.sweeps.pace import Pace
from engine.sweeps.runner import RunOptions, announce_compilation
from engine.sweeps.sweep import check_options, check_same, open_executor
from engine.sweeps.workers import BATCH_SIZE, records_batch_size


def add_measures(
    study: Study,
    raw: RawTable,
    key: bytes,
    texts: Sequence[str],
    **options: Unpack[RunOptions],
) -> list[str]:
    """Add measures to a study by remaking its runs from the same streams; returns the names of those added.

    Figures stored before stay as they are.  Killed or cancelled half-way, the study is as it was.  Of measures that the
    study has already, those runs are remade that lack them (:meth:`engine.study.runs.Runs.gaps`).
    """
    check_options(options)
    check_same(study, raw, key)
    study.acquire_lease(task=WriterTask.MEASURE)
    try:
        known = [str(c) for c in study.measures]
        calls = [call(text) for text in dict.fromkeys(str(call(text)) for text in texts)]
        new = [c for c in calls if str(c) not in known]
        old = [c for c in calls if str(c) in known]
        added = []
        for c in old:
            k = known.index(str(c))
            runs = {table: np.array(study.runs.gaps(table, k), np.int64).reshape(-1, 2) for table in TABLES}
            if any(map(len, runs.values())):
                _fill(study, _question(study, raw, [c]), key, [k], runs, **options)
                added.append(str(c))
        if new:
            runs = {table: study.runs.keys(table) for table in TABLES}
            question = _question(study, raw, new)
            _fill(study, question, key, study.runs.begin_measures(new), runs, **options)
            study.finish_measures(new, question.original())
        return added + [str(c) for c in new]
    finally:
        study.lease.release()


def _question(study: Study, raw: RawTable, calls: Sequence[MeasureCall]) -> Question:
    """The question that asks these measures of a study's data."""
    plan = replace(study.plan, measures=tuple(dict.fromkeys((*study.plan.measures, *map(str, calls)))))
    return question_of(plan, code(raw, plan), calls)


def _fill(
    study: Study,
    question: Question,
    key: bytes,
    columns: Sequence[int],
    runs: Mapping[RunTable, np.ndarray],
    **options: Unpack[RunOptions],
) -> None:
    """Fill columns of these ``runs`` (scenario, replicate; by table) with the measures of a question."""
    done, total = 0, sum(map(len, runs.values()))
    on_progress, on_time_left = options.get("on_progress"), options.get("on_time_left")
    codes, mechanisms = study.scenarios.coded("mechanism")
    groups = in_even_order(group(study.scenarios.specs, question.table))
    announce_compilation(options.get("announce"))
    with open_executor(question, key, total, **options) as executor:
        pace = Pace()
        pace.expect(Counter(mechanisms[code] for keys in runs.values() for code in codes[keys[:, 0]].tolist()))
        for table, keys in runs.items():
            size = BATCH_SIZE if not question.on_records else records_batch_size(len(keys))
            for outcome in executor.run(_batches(groups, keys, size)):
                notes = [
                    note if note.measure is None else note._replace(measure=columns[note.measure])
                    for note in outcome.notes
                ]
                if len(outcome.rows):
                    study.runs.update(columns, outcome.rows, notes, table)
                done += len(outcome.rows)
                pace.add(outcome)
                if on_time_left:
                    on_time_left(pace.time_left(executor.workers, total - done))
                if on_progress:
                    on_progress(done, total)
                if study.lease.beat():
                    raise EngineError("cancelled; the study is as it was before")


def _batches(groups: Groups, runs: np.ndarray, size: int) -> Iterator[TaskBatch]:
    """Batches of tasks, of roughly ``size`` candidates, that remake exactly these runs (scenario, replicate)."""
    replicates_of: dict[int, list[int]] = {}
    for index, replicate in runs.tolist():
        replicates_of.setdefault(index, []).append(replicate)
    for shared in groups:
        by_replicates: dict[tuple[int, ...], list[int]] = {}
        for place, index in enumerate(shared.indices.tolist()):
            if index in replicates_of:
                by_replicates.setdefault(tuple(replicates_of[index]), []).append(place)
        for replicates, places in by_replicates.items():
            step, part = max(1, size // len(places)), shared.part(np.array(places))
            for first in range(0, len(replicates), step):
                yield TaskBatch([(part, replicates[first : first + step])])
