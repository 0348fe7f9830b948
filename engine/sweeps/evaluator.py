"""Draw and measure groups of scenarios: the pure function at the heart of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable
from engine.measures import MeasureCall, call, evaluate, evaluate_records, original_batch
from engine.mechanisms import random_swap
from engine.models import analyses
from engine.models.record_release import RecordRelease
from engine.plan import Plan
from engine.plan.recode import edit_failures
from engine.release.batch import CellIndex, ReleaseBatch, unpack
from engine.release.records import ReleasedTable
from engine.release.results import FAILED, NOOP, OK, Note, NoteKind
from engine.release.spec import RANDOM_SWAP, ReleaseSpec, pairs_wanted
from engine.sweeps.candidates import Group
from engine.sweeps.record_evaluator import RecordRuns
from engine.sweeps.record_evaluator import stream as record_stream
from engine.sweeps.registered import Registered, register_parts, registered_parts

_CELLS = 50_000  # touched cells measured together: enough to forget the calls, few enough to stay in the cache

Task = tuple[Group, Sequence[int]]
"""A group of scenarios and the replicates at which to run it."""


class Outcome(NamedTuple):
    """Rows ``(scenario, replicate, status, changed, values...)`` and notes on them."""

    rows: np.ndarray
    notes: list[Note]


@dataclass(frozen=True)
class Question:
    """What a worker needs to know: the cell table, the measures and the plan.

    ``data`` are the records, present only when a measure or a mechanism needs them.
    """

    table: ContingencyTable
    calls: tuple[MeasureCall, ...]
    plan: Plan
    data: Microdata | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # by name: what measures compute with are functions made on the spot, which do not travel to another process
        return _on_worker, (self.table, tuple(map(str, self.calls)), self.plan, self.data, self.registered)

    @property
    def registered(self) -> tuple[Registered, ...]:
        """The measures and mechanisms that do not belong to the package."""
        return registered_parts(self.calls, self.plan)

    @property
    def on_counts(self) -> list[int]:
        """Columns of the measures that need counts only."""
        return [k for k, c in enumerate(self.calls) if not c.measure.on_records]

    @property
    def on_records(self) -> list[int]:
        """Columns of the measures that need records."""
        return [k for k, c in enumerate(self.calls) if c.measure.on_records]

    def failing(self, words: np.ndarray, layout: Sequence[tuple[int, int, int]]) -> np.ndarray | None:
        """Which packed cells break an edit rule."""
        if not self.plan.edits:
            return None
        cells = np.column_stack([unpack(words, place) for place in layout])
        return edit_failures(cells, self.table.domain, self.plan.edits)

    def measure(self, batch: ReleaseBatch) -> np.ndarray:
        """Measures on every candidate of a batch, shape ``(candidates, measures)``; NaN where one needs records."""
        lists = {"keys": self.plan.keys, "analyse": self.plan.analyse}
        figures = np.full((len(batch), len(self.calls)), np.nan)
        for k in self.on_counts:
            figures[:, k] = evaluate(self.calls[k], batch, self.table.domain, lists)
        return figures

    def original(self) -> dict[str, float]:
        """Every measure on the unaltered data."""
        cells = self.table.cells
        failing = edit_failures(cells, self.table.domain, self.plan.edits) if self.plan.edits else None
        figures = self.measure(original_batch(self.table.counts, cells, self.table.domain.shape, failing))[0]
        if self.on_records:
            assert self.data is not None
            same = ReleasedTable(self.data)
            for k in self.on_records:
                figures[k] = evaluate_records(self.calls[k], RecordRelease(same, [same], self.plan)).value
        return {str(c): float(v) for c, v in zip(self.calls, figures, strict=True)}


def _on_worker(
    table: ContingencyTable,
    texts: tuple[str, ...],
    plan: Plan,
    data: Microdata | None,
    parts: tuple[Registered, ...],
) -> Question:
    register_parts(parts)
    return Question(table, tuple(call(text) for text in texts), plan, data)


def question(plan: Plan, data: Microdata, calls: Sequence[MeasureCall] | None = None) -> Question:
    """The question that a plan asks of its data; ``calls`` asks for some measures only."""
    calls = measures_of(plan) if calls is None else tuple(calls)
    records = any(c.measure.on_records for c in calls) or any(m.name != RANDOM_SWAP for m in plan.mechanisms)
    analyses.check(plan, data, [str(c.values["analysis"]) for c in calls if "analysis" in c.values])
    return Question(data.table, calls, plan, data if records else None)


def measures_of(plan: Plan) -> tuple[MeasureCall, ...]:
    """The plan's measures; edit failures are always counted where edit rules are declared."""
    texts = dict.fromkeys(str(call(text)) for text in plan.measures)
    if plan.edits:
        texts.setdefault("edit_failures")
    return tuple(call(text) for text in texts)


class _Layout:
    """What all replicates of a group share: what to draw, and which candidates come of it in which order."""

    def __init__(self, group: Group, index: CellIndex) -> None:
        assert group.structure is not None
        table = index.table
        self.prepared = random_swap.prepare(group.structure, table)
        wanted = {rate: pairs_wanted(rate, table.n_records) for rate in {spec.rate for _, spec in group.members}}
        self.rates = sorted(wanted, key=lambda rate: wanted[rate][1])
        self.wanted = np.array([wanted[rate][1] for rate in self.rates], np.int64)
        self.nothing = np.array([wanted[rate][0] == 0 for rate in self.rates])
        splits = {spec.attributes.roles: spec.attributes for _, spec in group.members}
        row = {roles: i for i, roles in enumerate(splits)}
        self.swapped = random_swap.split_masks(index, list(splits.values()))
        # place of each candidate by split and stop, -1 where the group has no such member
        places = np.full((len(splits), len(self.rates)), -1, np.int64)
        column = {rate: k for k, rate in enumerate(self.rates)}
        for place, spec in group.members:
            places[row[spec.attributes.roles], column[spec.rate]] = place
        self.asked = places >= 0
        self.split_of, self.stop_of = np.nonzero(self.asked)
        self.places = places[self.asked]
        self.spec_of = dict(group.members)
        self.swaps = np.array([[role == "S" for role in roles] for roles in splits])[self.split_of]


class _Batch:
    """Candidates drawn and not yet measured."""

    def __init__(self) -> None:
        self.heads: list[np.ndarray] = []
        self.swaps: list[np.ndarray] = []
        self.extra: list[dict[int, float]] = []


def stream_keys(task: Task, question: Question, key: bytes) -> list[bytes]:
    """The derived keys of a task's realisations, replicate by replicate: one for all members of a group that shares
    pairs, else one for each member.

    They are all the randomness a task needs, and tell nothing about the study key or any other realisation.
    """
    group, replicates = task
    if group.structure is not None:
        stream = random_swap.streams(key, group.structure, question.table)
        return [stream(replicate) for replicate in replicates]
    assert question.data is not None
    return [record_stream(key, spec, question.data, number) for number in replicates for _, spec in group.members]


class Evaluator:
    """Draws and measures groups of scenarios over one cell table.

    Without the study key it runs only tasks that come with their derived keys.
    """

    def __init__(self, question: Question, key: bytes | None = None) -> None:
        self.question, self.key = question, key
        self.index = CellIndex(question.table)
        self._touched = random_swap.Touched()
        self._original = None if question.data is None else ReleasedTable(question.data)
        self._record_runs = (
            None if self._original is None else RecordRuns(question.calls, question.plan, self._original)
        )
        self._on_records_too = bool(question.on_records)

    def run(self, group: Group, replicates: Sequence[int]) -> Outcome:
        """All members of a group at the given replicates."""
        return self.run_all([(group, replicates)])

    def run_all(self, tasks: Sequence[Task], keys: Sequence[Sequence[bytes]] | None = None) -> Outcome:
        """Several tasks; candidates are measured together across tasks, which changes no figure.

        ``keys`` are each task's :func:`stream_keys`; without them they are derived from the study key.
        """
        self._touched.clear()
        batch, rows = _Batch(), []
        notes: list[Note] = []
        for at, (group, replicates) in enumerate(tasks):
            derived = self._derived(tasks[at]) if keys is None else keys[at]
            if group.structure is None:
                assert self._record_runs is not None
                made, said = self._record_runs.run(group, replicates, derived)
                rows.append(made)
                notes += said
                continue
            layout = _Layout(group, self.index)
            for replicate, one in zip(replicates, derived, strict=True):
                notes += self._draw(layout, replicate, one, batch)
                if len(self._touched) > _CELLS:
                    rows.append(self._measure(batch, notes))
                    batch = _Batch()
        if batch.heads:
            rows.append(self._measure(batch, notes))
        return Outcome(np.concatenate(rows), notes)

    def _derived(self, task: Task) -> list[bytes]:
        assert self.key is not None, "an evaluator without the study key needs derived keys"
        return stream_keys(task, self.question, self.key)

    def _draw(self, layout: _Layout, replicate: int, derived: bytes, batch: _Batch) -> list[Note]:
        """Draw one replicate of a group and add its candidates to a batch; returns their notes."""
        pairs = layout.prepared.draw(derived, int(layout.wanted[-1]))
        stops = np.minimum(layout.wanted, len(pairs))
        self._touched.exchange(self.index, pairs, stops, layout.swapped, layout.asked)
        status = np.where(layout.nothing, NOOP, np.where(stops == layout.wanted, OK, FAILED))
        heads = np.empty((len(layout.places), 4), np.int64)
        heads[:, 0] = layout.places
        heads[:, 1] = replicate
        heads[:, 2] = status[layout.stop_of]
        heads[:, 3] = 2 * stops[layout.stop_of]
        batch.heads.append(heads)
        batch.swaps.append(layout.swaps)
        notes = []
        if self._on_records_too:
            assert self._original is not None
            records = random_swap.records_of_pairs(derived, pairs, self._original.data.cell_of_record)
            for place, k in zip(layout.places.tolist(), layout.stop_of, strict=True):
                extra, said = self._on_records(records[: stops[k]], layout.spec_of[place])
                batch.extra.append(extra)
                notes += [Note(place, replicate, NoteKind.FIGURE, column, text) for column, text in said]
        return notes

    def _measure(self, batch: _Batch, notes: list[Note]) -> np.ndarray:
        """Rows of a batch; what is undefined says so among the notes."""
        heads = np.concatenate(batch.heads)
        failing = self.question.failing(self.index.words[: self.index.n_cells], self.index.layout)
        figures = self.question.measure(
            self._touched.batch(self.index, heads[:, 3], np.concatenate(batch.swaps), failing)
        )
        for k in self.question.on_counts:
            for row in np.flatnonzero(np.isnan(figures[:, k])).tolist():
                reason = f"{self.question.calls[k]}: {self.question.calls[k].measure.undefined}"
                notes.append(Note(int(heads[row, 0]), int(heads[row, 1]), NoteKind.FIGURE, k, reason))
        for row, extra in enumerate(batch.extra):
            for k, value in extra.items():
                figures[row, k] = value
        self._touched.clear()
        self.index.trim()
        return np.column_stack([heads.astype(float), figures])

    def _on_records(self, pairs: np.ndarray, spec: ReleaseSpec) -> tuple[dict[int, float], list[tuple[int, str]]]:
        """Figures and notes of the measures that need records, on one candidate."""
        assert self._original is not None
        source = np.arange(self._original.data.n_records)
        source[pairs[:, 0]], source[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
        table = ReleasedTable(self._original.data, source, spec.attributes.having("S"))
        release = RecordRelease(self._original, [table], self.question.plan, spec)
        figures: dict[int, float] = {}
        notes = []
        for k in self.question.on_records:
            figures[k], note = evaluate_records(self.question.calls[k], release)
            if note:
                notes.append((k, note))
        return figures, notes
