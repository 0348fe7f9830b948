"""Evaluate mechanisms that draw over the cells of a table: one draw for all candidates of a group, measured together
with those of other groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.data.table import ContingencyTable
from engine.measures import MeasureCall, evaluate, evaluate_records, original_batch
from engine.measures.compiled_sums import SummedBatch
from engine.measures.exchange_sums import ExchangeSums, rule_of_sums
from engine.mechanisms import mechanism
from engine.mechanisms.base import PreparedCells
from engine.mechanisms.random_swap import exchanged
from engine.models.record_release import RecordRelease
from engine.plan import Plan
from engine.plan.recode import edit_failures
from engine.release.batch import CellIndex, ReleaseBatch, unpack
from engine.release.records import ReleasedTable
from engine.release.results import Note, NoteKind, RunStatus
from engine.release.spec import ReleaseSpec, Structure
from engine.release.specs import S
from engine.release.touched import TouchedBuffer
from engine.sweeps.batch_runs import BatchRuns, Layouts, drawn_as_wholes
from engine.sweeps.groups import Group, Task

_CELLS = 50_000  # touched cells measured together: enough to forget the calls, few enough to stay in the cache


class Measured(NamedTuple):
    """Rows and notes of candidates, as an ``Outcome`` holds them."""

    rows: np.ndarray
    notes: list[Note]


class _GroupLayout(NamedTuple):
    """Layout that all replicates of a group share: what to draw, and which candidates come of it in which order.

    ``stops`` are the pairs wanted at each; ``swapped`` and ``is_member`` have a row for each split, ``swaps`` one for
    each candidate.  The rows of ``candidates`` are their scenarios, the places of their stops, the pairs wanted, and
    whether nothing is to be swapped.
    """

    prepared: PreparedCells
    stops: np.ndarray
    swapped: np.ndarray
    is_member: np.ndarray
    candidates: np.ndarray
    swaps: np.ndarray

    @property
    def scenario_stops(self) -> Iterator[tuple[int, int]]:
        """Scenario and place of the stop of each candidate."""
        return zip(*self.candidates[:2].tolist(), strict=True)


class _Unmeasured:
    """Candidates drawn and not yet measured: the draws with their layout, replicate and number of pairs, and what is
    known of the candidates so far."""

    def __init__(self) -> None:
        self.draws: list[tuple[_GroupLayout, int, int]] = []
        self.record_figures: list[dict[int, float]] = []
        self.notes: list[Note] = []

    def heads(self) -> np.ndarray:
        """Scenario, replicate, status and changed records of each candidate."""
        layouts, replicates, pairs = zip(*self.draws, strict=True)
        sizes = [len(layout.swaps) for layout in layouts]
        scenarios, _, wanted, nothing = np.concatenate([layout.candidates for layout in layouts], axis=1)
        stops = np.minimum(wanted, np.repeat(pairs, sizes))
        heads = np.empty((len(wanted), 4), np.int64)
        heads[:, 0] = scenarios
        heads[:, 1] = np.repeat(replicates, sizes)
        heads[:, 2] = np.where(nothing, RunStatus.NOOP, np.where(stops == wanted, RunStatus.OK, RunStatus.FAILED))
        heads[:, 3] = 2 * stops
        return heads

    def swaps(self) -> np.ndarray:
        """The attributes that each candidate swaps."""
        return np.concatenate([layout.swaps for layout, _, _ in self.draws])


class CellRuns:
    """Draws and measures groups of scenarios over one cell table.

    ``original`` are the records; without them no measure may need any.
    """

    def __init__(
        self, table: ContingencyTable, calls: Sequence[MeasureCall], plan: Plan, original: ReleasedTable | None
    ) -> None:
        from engine.sweeps.layout_kernels import lay_out

        self._lay_out = lay_out
        self.calls, self.plan, self.original = calls, plan, original
        self.index = CellIndex(table)
        rule = rule_of_sums(calls, table, plan)
        self._touched: TouchedBuffer | ExchangeSums = TouchedBuffer() if rule is None else ExchangeSums(table, rule)
        self._most = _CELLS if rule is None else _CELLS // 50
        self._waiting = _Unmeasured()
        self._on_counts = [k for k, c in enumerate(calls) if not c.measure.on_records]
        self._on_records = [k for k, c in enumerate(calls) if c.measure.on_records]
        self._preparing: dict[str, Callable[[Structure], PreparedCells]] = {}
        self._layouts = Layouts(table.n_records)
        leaves_beside = {*plan.data.carry, *plan.publish.include} - {"id"}
        self._rows_are_cells = not leaves_beside and all(attribute.exact for attribute in table.domain.attributes)
        self._batch_runs: BatchRuns | None = None

    @cached_property
    def _original_figures(self) -> np.ndarray:
        return original_figures(self.calls, self.index.table, self.plan, self.original)

    def load(self) -> None:
        """Load the compiled code by which all runs of a random swap are drawn, where that is all there is to draw."""
        mechanisms, table = self.plan.mechanisms, self.index.table
        by_roles_alone = all(declared.by_roles and not declared.grid for declared in mechanisms)
        if by_roles_alone and drawn_as_wholes(table, ()) and (batch_runs := self._of_batches()):
            batch_runs.load()

    def _of_batches(self) -> BatchRuns | None:
        """Return the object that runs batches as wholes; None where a measure needs more than sums."""
        if not isinstance(self._touched, ExchangeSums) or self._on_records:
            return None
        self._batch_runs = self._batch_runs or BatchRuns(self.index, self._touched, self._layouts)
        return self._batch_runs

    def clear(self) -> None:
        """Forget candidates that wait to be measured."""
        self._touched.clear()
        self._waiting = _Unmeasured()

    def run(self, group: Group, replicates: Sequence[int], keys: Sequence[bytes]) -> Iterator[Measured]:
        """All members of a group at the given replicates, from their derived keys; what is not yielded here waits for
        :meth:`rest`, to be measured together with others, which changes no figure."""
        layout = self._layout(group)
        for replicate, derived in zip(replicates, keys, strict=True):
            self._draw(group, layout, replicate, derived)
            if len(self._touched) > self._most:
                yield self._measure()

    def run_batch(self, tasks: Sequence[Task], keys: Sequence[Sequence[bytes]]) -> Iterator[Measured]:
        """All members of the groups of tasks at their replicates, from each task's derived keys."""
        batch_runs = self._of_batches()
        if batch_runs is not None and batch_runs.take(tasks):
            yield self._measured(*batch_runs.run(tasks, keys), [])
            return
        for (group, replicates), derived in zip(tasks, keys, strict=True):
            yield from self.run(group, replicates, derived)
        yield from self.rest()

    def rest(self) -> Iterator[Measured]:
        """The candidates that wait to be measured."""
        if self._waiting.draws:
            yield self._measure()

    def remake(self, group: Group, derived: bytes) -> tuple[np.ndarray, dict[tuple[int, ...], int]]:
        """The row of a group of one candidate, and the counts of all cells of its table by level codes."""
        row, made = self.remake_table(group, derived)
        return row, dict(zip(map(tuple, made.cells.tolist()), made.counts.tolist(), strict=True))

    def remake_table(self, group: Group, derived: bytes) -> tuple[np.ndarray, ContingencyTable]:
        """The row of a group of one candidate, and its table."""
        self.clear()
        usual, self._touched = self._touched, TouchedBuffer()
        self._draw(group, self._layout(group), 1, derived)
        table, index = self.index.table, self.index
        counts = np.zeros(index.n_cells, np.int64)
        counts[: len(table)] = table.counts
        cell, _, after, _ = self._touched.cells
        counts[cell] = after
        left = np.flatnonzero(counts)
        codes = np.column_stack([unpack(index.words[left], at) for at in index.layout]).astype(np.int32)
        order = np.lexsort(codes.T[::-1])
        row = self._measure().rows[0]
        self._touched = usual
        return row, ContingencyTable(table.domain, codes[order], counts[left][order])

    def _layout(self, group: Group) -> _GroupLayout:
        """The layout of a group; its cells are ready until the next one's."""
        assert group.structure is not None
        prepare = self._preparing.get(group.mechanism)
        if prepare is None:
            batched = mechanism(group.mechanism).batched
            assert batched is not None
            prepare = self._preparing[group.mechanism] = batched.preparing(self.index.table)
        specs = group.specs
        used = np.zeros(len(specs.procedures), bool)
        used[specs.procedure_codes] = True
        stops = self._layouts.stops(specs.procedures, used)
        roles, row_of = self._layouts.roles(specs.specs)
        candidates = np.array([specs.spec_codes, specs.procedure_codes, group.indices], np.int64)
        masks = self.index.table.packing.masks
        laid_out = self._lay_out(candidates, roles, S, masks, stops.place, stops.rows, row_of)
        return _GroupLayout(prepare(group.structure), stops.wanted, *laid_out)

    def _draw(self, group: Group, layout: _GroupLayout, replicate: int, derived: bytes) -> None:
        """Draw one replicate of a group; its candidates wait to be measured."""
        pairs, told = layout.prepared.draw_told(derived, int(layout.stops[-1]))
        stops = np.minimum(layout.stops, len(pairs))
        self._touched.exchange(self.index, pairs, stops, layout.swapped, layout.is_member)
        self._waiting.draws.append((layout, replicate, len(pairs)))
        if told is not None:
            for scenario, k in layout.scenario_stops:
                if diagnostics := told.diagnostics(int(stops[k]), int(layout.stops[k])):
                    text = json.dumps(diagnostics, ensure_ascii=False)
                    self._waiting.notes.append(Note(scenario, replicate, NoteKind.DIAGNOSTICS, None, text))
        if self._on_records:
            batched = mechanism(group.mechanism).batched
            assert self.original is not None and batched is not None
            records = batched.records(derived, pairs, self.original.data.cell_of_record)
            spec_of = dict(group.scenarios)
            for scenario, k in layout.scenario_stops:
                self._measure_records(scenario, replicate, records[: stops[k]], spec_of[scenario])

    def _measure_records(self, scenario: int, replicate: int, pairs: np.ndarray, spec: ReleaseSpec) -> None:
        """Figures and notes of the measures that need records, on one candidate."""
        assert self.original is not None
        table = exchanged(self.original.data, pairs, spec.attributes)
        release = RecordRelease(self.original, [table], self.plan, spec)
        figures: dict[int, float] = {}
        for k in self._on_records:
            figures[k], note = evaluate_records(self.calls[k], release)
            if note:
                self._waiting.notes.append(Note(scenario, replicate, NoteKind.FIGURE, k, note))
        self._waiting.record_figures.append(figures)

    def _measure(self) -> Measured:
        """Measure the candidates that wait; what is undefined says so among the notes."""
        waiting = self._waiting
        return self._measured(waiting.heads(), waiting.swaps(), waiting.notes)

    def _measured(self, heads: np.ndarray, swaps: np.ndarray, notes: list[Note]) -> Measured:
        """Measure candidates that were drawn, with what is known of them so far."""
        failing = failing_cells(self.index, self.plan)
        batch = self._touched.batch(self.index, heads[:, 3], swaps, failing)
        figures = count_figures(self.calls, batch, self.index.table, self.plan)
        for k in self._on_counts:
            for row in np.flatnonzero(np.isnan(figures[:, k])).tolist():
                reason = f"{self.calls[k]}: {self.calls[k].measure.undefined}"
                notes.append(Note(int(heads[row, 0]), int(heads[row, 1]), NoteKind.FIGURE, k, reason))
        for row, extra in enumerate(self._waiting.record_figures):
            for k, value in extra.items():
                figures[row, k] = value
        void = unmoved(batch) & (heads[:, 2] != RunStatus.FAILED)
        if self._rows_are_cells and void.any():
            heads[void, 2:] = RunStatus.NOOP, 0
            figures[void] = self._original_figures
        self.clear()
        self.index.trim()
        return Measured(np.column_stack([heads.astype(float), figures]), notes)


def unmoved(batch: ReleaseBatch | SummedBatch) -> np.ndarray:
    """Mask of the candidates of a batch whose table is that of the original."""
    if isinstance(batch, SummedBatch):
        return np.asarray(batch.distances.moved == 0)
    return np.asarray(batch.total(batch.before != batch.after) == 0)


def original_figures(
    calls: Sequence[MeasureCall], table: ContingencyTable, plan: Plan, original: ReleasedTable | None
) -> np.ndarray:
    """Every measure on the unaltered data; ``original`` are the records, where a measure needs them."""
    cells, shape = table.cells, table.domain.shape
    failing = edit_failures(cells, table.domain, plan.edits, cells) if plan.edits else None
    figures: np.ndarray = count_figures(calls, original_batch(table.counts, cells, shape, failing), table, plan)[0]
    for k, call in enumerate(calls):
        if call.measure.on_records:
            assert original is not None
            figures[k] = evaluate_records(call, RecordRelease(original, [original], plan)).value
    return figures


def failing_cells(index: CellIndex, plan: Plan) -> np.ndarray | None:
    """A mask of the cells of an index that break an edit rule; None where the plan has none."""
    if not plan.edits:
        return None
    words = index.words[: index.n_cells]
    cells = np.column_stack([unpack(words, at) for at in index.layout])
    return edit_failures(cells, index.table.domain, plan.edits, index.table.cells)


def count_figures(
    calls: Sequence[MeasureCall], batch: ReleaseBatch | SummedBatch, table: ContingencyTable, plan: Plan
) -> np.ndarray:
    """Measures on every candidate of a batch, shape ``(candidates, measures)``; NaN where one needs records."""
    lists = {"keys": plan.keys, "analyse": plan.analyse}
    figures = np.full((len(batch), len(calls)), np.nan)
    for k, measure_call in enumerate(calls):
        if not measure_call.measure.on_records:
            figures[:, k] = evaluate(measure_call, batch, table.domain, lists)
    return figures
