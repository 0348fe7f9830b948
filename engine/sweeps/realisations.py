"""Draw realisations and measure them: over the cells of a table, or over records.

Over cells there is one draw for all candidates of a group, measured together with those of other groups; batches of the
random swap as published whose measures need no more than sums are drawn and summed as a whole.  Over records there is
one fit for a group and tables per replicate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from engine.common.processes import one_thread
from engine.common.registry import Cache
from engine.common.streams import kernel_states
from engine.data.table import ContingencyTable, occupied
from engine.measures import MeasureCall, evaluate, evaluate_records, original_batch
from engine.measures.base import attribute_indices, evaluate_counts
from engine.measures.exchange_sums import ExchangeSums, rule_of_sums
from engine.mechanisms import mechanism
from engine.mechanisms import random_swap as published_swap
from engine.mechanisms.base import Drawn, PreparedCells
from engine.mechanisms.random_swap import altering, exchanged
from engine.models.record_release import RecordRelease
from engine.plan import Plan
from engine.plan.coding import edit_failures
from engine.release.batch import (
    CellIndex,
    Cells,
    ReleaseBatch,
    SummedBatch,
    TouchedBuffer,
    TouchedCells,
    release_batch,
    unpack,
)
from engine.release.reader_view import renumbered_records
from engine.release.records import ReleasedTable
from engine.release.scenarios import Note, NoteKind, RunStatus
from engine.release.spec import ReleaseSpec, Structure, pairs_wanted
from engine.release.specs import Procedure, S, Specs
from engine.sweeps.candidates import rows_are_cells, setting_of
from engine.sweeps.groups import Group, Task, fit_key

ALTERED_SHARE = "altered_share_of_those_who_took_part"
"""Diagnostic of a candidate's first run: the altered share of the records that took part, where it is below one
half."""
AT_ONCE = 30_000_000
"""Cells and records of the draws of one compiled call, at most: no interruption is heard meanwhile."""


class Stops(NamedTuple):
    """Numbers of pairs after which a group's candidates stop, from the fewest on: the place of each procedure among
    them, and two rows, the pairs ``wanted`` and whether nothing is to be swapped."""

    place: np.ndarray
    rows: np.ndarray

    @property
    def wanted(self) -> np.ndarray:
        """The pairs wanted at each stop."""
        wanted: np.ndarray = self.rows[0]
        return wanted

    @classmethod
    def of(cls, procedures: Sequence[Procedure], used: np.ndarray, n_records: int) -> Stops:
        """Return those of the procedures that are ``used``; they differ in their rates alone."""
        codes = np.flatnonzero(used)
        numbers = np.array([pairs_wanted(procedures[code].rate, n_records) for code in codes.tolist()], np.int64)
        order = np.argsort(numbers[:, 1], kind="stable")
        place = np.full(len(used), -1, np.int64)
        place[codes[order]] = np.arange(len(codes))
        return cls(place, np.array([numbers[order, 1], numbers[order, 0] == 0]))


class Layouts:
    """Arrays of specs and procedures that laying out groups takes, made once for groups over the same ones."""

    def __init__(self, n_records: int) -> None:
        self._n_records = n_records
        self._specs: Specs | None = None
        self._roles, self._row_of = np.zeros((0, 0), np.uint8), np.zeros(0, np.int64)
        self._stops: dict[tuple[tuple[Procedure, ...], bytes], Stops] = {}

    def roles(self, specs: Specs) -> tuple[np.ndarray, np.ndarray]:
        """The roles of specs, and scratch by spec."""
        if self._specs is not specs:
            self._specs, self._roles = specs, np.require(specs.roles, np.uint8, ["C", "W"])
        if len(self._row_of) < len(self._roles):
            self._row_of = np.full(len(self._roles), -1, np.int64)
        return self._roles, self._row_of

    def stops(self, procedures: tuple[Procedure, ...], used: np.ndarray) -> Stops:
        """The stops of those procedures that are ``used``."""
        name = procedures, used.tobytes()
        if name not in self._stops:
            self._stops[name] = Stops.of(procedures, used, self._n_records)
        return self._stops[name]


class _Laid(NamedTuple):
    """Groups of a batch as the kernel takes them: its ``structures``, scratch by spec, and the ``candidates`` with the
    ``bounds`` of each group."""

    structures: tuple[np.ndarray, bool, bool, np.ndarray, np.ndarray]
    row_of: np.ndarray
    candidates: np.ndarray
    bounds: np.ndarray


def drawn_as_wholes(table: ContingencyTable, procedures: Sequence[Procedure]) -> bool:
    """Return whether batches of these procedures over a table are drawn in compiled calls for many tasks: whether roles
    are all that is asked of pairs."""
    by_roles_alone = all(procedure.by_roles and not procedure.params for procedure in procedures)
    return by_roles_alone and table.packing.n_words == 1 and not table.domain.ruled


class BatchRuns:
    """Draws tasks over one table and adds the sums of their candidates, in one compiled call for many tasks whose
    candidates stop after the same numbers of pairs."""

    def __init__(self, index: CellIndex, sums: ExchangeSums, layouts: Layouts, rows_are_cells: bool) -> None:
        from engine.sweeps.batch_kernels import run_groups

        self._run_groups = run_groups
        self._index, self._sums, self._layouts, self._rows_are_cells = index, sums, layouts, rows_are_cells
        self._preparing = published_swap.Preparing(index.table)
        self._few_levels_first = np.array(self._preparing.few_levels_first, np.int64)

    def load(self) -> None:
        """Load the compiled code, or compile it, by a call for no run at all."""
        d, stops = len(self._index.table.domain), Stops(np.zeros(1, np.int64), np.zeros((2, 1), np.int64))
        structures = np.zeros((1, d), np.uint8), False, False, np.zeros(d, bool), self._few_levels_first
        nothing = _Laid(structures, np.zeros(1, np.int64), np.empty((3, 0), np.int64), np.zeros(1, np.int64))
        heads, swaps = np.empty((0, 5), np.int64), np.empty((0, d), bool)
        self._add(nothing, np.empty((0, 2), np.int64), kernel_states([]), stops, heads, swaps)

    def take(self, tasks: Sequence[Task]) -> bool:
        """Return whether tasks can be run so: they are :func:`drawn_as_wholes`, and groups are over the same specs and
        procedures, of one rule."""
        first = tasks[0][0]
        specs, procedures = first.specs.specs, first.specs.procedures
        return (
            drawn_as_wholes(self._index.table, procedures)
            and len({procedure.rule for procedure in procedures}) == 1
            and all(group.specs.specs is specs and group.specs.procedures is procedures for group, _ in tasks)
        )

    def run(self, tasks: Sequence[Task], keys: Sequence[Sequence[bytes]]) -> tuple[np.ndarray, np.ndarray]:
        """Scenario, replicate, status, changed records and those that took part of each candidate, and the attributes
        that it swaps; their sums are added in this order.  ``keys`` are each task's derived keys."""
        groups = [group for group, _ in tasks]
        sizes, replicates = np.array([(len(group), len(numbers)) for group, numbers in tasks], np.int64).T
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        numbers = np.array([number for _, listed in tasks for number in listed], np.int64)
        runs = np.column_stack([np.repeat(np.arange(len(tasks)), replicates), numbers])
        states = kernel_states([derived for listed in keys for derived in listed])
        candidates = np.empty((3, bounds[-1]), np.int64)
        np.concatenate([group.specs.spec_codes for group in groups], out=candidates[0])
        np.concatenate([group.specs.procedure_codes for group in groups], out=candidates[1])
        np.concatenate([group.indices for group in groups], out=candidates[2])
        used = np.zeros((len(tasks), len(groups[0].specs.procedures)), bool)
        used[np.repeat(np.arange(len(tasks)), sizes), candidates[1]] = True
        n = int(sizes @ replicates)
        d = len(self._index.table.domain)
        heads, swaps = np.empty((n, 5), np.int64), np.empty((n, d), bool)
        roles, row_of = self._layouts.roles(groups[0].specs.specs)
        several_kinds = np.zeros(d, bool)
        several_kinds[list(groups[0].split_kept.several_kinds)] = True
        strict = groups[0].specs.procedures[0].rule == "strict"
        trades = not strict and self._rows_are_cells
        laid = _Laid((roles, strict, trades, several_kinds, self._few_levels_first), row_of, candidates, bounds)
        self._sums.make_room(n)
        differs = (used[runs[1:, 0]] != used[runs[:-1, 0]]).any(axis=1)
        step = max(1, AT_ONCE // (len(self._index.table) + self._index.table.n_records))
        begins = sorted({*range(0, len(runs), step), *(np.flatnonzero(differs) + 1).tolist()})
        for first, end in pairwise([*begins, len(runs)]):
            some = slice(first, end)
            stops = self._layouts.stops(groups[0].specs.procedures, used[runs[first, 0]])
            self._add(laid, runs[some], states[some], stops, heads, swaps)
        return heads, swaps

    def _add(
        self,
        laid: _Laid,
        runs: np.ndarray,
        states: np.ndarray,
        stops: Stops,
        heads: np.ndarray,
        swaps: np.ndarray,
    ) -> None:
        """Add runs that have the same stops, of groups that were laid out."""
        index, sums, preparing = self._index, self._sums, self._preparing
        done = split = 0
        while True:
            cells = index.words, index.most_cells, index.buckets, index.bucket_shift
            done, split, index.n_cells, sums.n_added = self._run_groups(
                done,
                split,
                runs,
                states,
                laid.candidates,
                laid.bounds,
                laid.structures,
                stops.rows,
                (stops.place, laid.row_of),
                preparing.table_arrays,
                preparing.shift,
                published_swap.RUNS_KEPT,
                preparing.room,
                (*cells, index.counts, index.arrived, index.fresh),
                index.n_cells,
                sums.arrays(index),
                sums.n_added,
                heads,
                swaps,
            )
            if done == len(runs):
                break
            index.make_room(2 * int(stops.wanted[-1]) + 1)


_CELLS = 50_000  # touched cells measured together: enough to forget the calls, few enough to stay in the cache


class Measured(NamedTuple):
    """Rows and notes of candidates, as an ``Outcome`` holds them; ``unclear`` are the rows of which the table is that
    of the original, and the records may be."""

    rows: np.ndarray
    notes: list[Note]
    unclear: Sequence[int] = ()


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
    """Candidates drawn and not yet measured: the draws with their layout, replicate, number of pairs, and how many of
    these alter their records up to each stop; and what is known of the candidates so far."""

    def __init__(self) -> None:
        self.draws: list[tuple[_GroupLayout, int, int, np.ndarray]] = []
        self.record_figures: list[dict[int, float]] = []
        self.notes: list[Note] = []

    def heads(self) -> np.ndarray:
        """Scenario, replicate, status, changed records and those that took part of each candidate."""
        layouts, replicates, pairs, counted = zip(*self.draws, strict=True)
        sizes = [len(layout.swaps) for layout in layouts]
        scenarios, _, wanted, nothing = np.concatenate([layout.candidates for layout in layouts], axis=1)
        stops = np.minimum(wanted, np.repeat(pairs, sizes))
        heads = np.empty((len(wanted), 5), np.int64)
        heads[:, 0] = scenarios
        heads[:, 1] = np.repeat(replicates, sizes)
        heads[:, 2] = np.where(nothing, RunStatus.NOOP, np.where(stops == wanted, RunStatus.OK, RunStatus.FAILED))
        heads[:, 3] = 2 * np.concatenate([n[layout.candidates[1]] for layout, n in zip(layouts, counted, strict=True)])
        heads[:, 4] = 2 * stops
        return heads

    def swaps(self) -> np.ndarray:
        """The attributes that each candidate swaps."""
        return np.concatenate([layout.swaps for layout, *_ in self.draws])


class CellRuns:
    """Draws and measures groups of scenarios over one cell table.

    ``original`` are the records; without them no measure may need any.
    """

    def __init__(
        self, table: ContingencyTable, calls: Sequence[MeasureCall], plan: Plan, original: ReleasedTable | None
    ) -> None:
        from engine.sweeps.batch_kernels import lay_out

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
        self._rows_are_cells = rows_are_cells(plan, table)
        self._batch_runs: BatchRuns | None = None

    @cached_property
    def original_figures(self) -> np.ndarray:
        """Every measure on the unaltered data."""
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
        arguments = self.index, self._touched, self._layouts, self._rows_are_cells
        self._batch_runs = self._batch_runs or BatchRuns(*arguments)
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
        assert group.structure is not None
        counted = np.ones(len(pairs), bool)
        if self._rows_are_cells:
            counted = altering(pairs, group.structure, self.index.table)
        n_altering = np.concatenate([[0], np.cumsum(counted)])[stops]
        self._touched.exchange(self.index, pairs[counted], n_altering, layout.swapped, layout.is_member)
        self._waiting.draws.append((layout, replicate, len(pairs), n_altering))
        if told is not None:
            for scenario, k in layout.scenario_stops:
                if diagnostics := told.diagnostics(int(stops[k]), int(layout.stops[k])):
                    text = json.dumps(diagnostics, ensure_ascii=False)
                    self._waiting.notes.append(Note(scenario, replicate, NoteKind.DIAGNOSTICS, None, text))
        if self._on_records:
            batched = mechanism(group.mechanism).batched
            assert self.original is not None and batched is not None
            records = batched.records(derived, pairs, self.original.data.cell_of_record)[counted]
            spec_of = dict(group.scenarios)
            for scenario, k in layout.scenario_stops:
                self._measure_records(scenario, replicate, records[: n_altering[k]], spec_of[scenario])

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
        moved = moved_records(batch)
        void = (moved == 0) & (heads[:, 2] != RunStatus.FAILED)
        if self._rows_are_cells and void.any():
            heads[void, 2:4] = RunStatus.NOOP, 0
            figures[void] = self.original_figures
        if self._rows_are_cells:
            _note_cancelled(heads, moved, notes)
        unclear = () if self._rows_are_cells else np.flatnonzero(void & (heads[:, 2] == RunStatus.OK)).tolist()
        self.clear()
        self.index.trim()
        return Measured(np.column_stack([heads[:, :4].astype(float), figures]), notes, unclear)


def moved_records(batch: ReleaseBatch | SummedBatch) -> np.ndarray:
    """The records of each candidate of a batch that are in a cell where the original has none for them."""
    if isinstance(batch, SummedBatch):
        return np.asarray(batch.moved / 2)
    return np.asarray(batch.total(np.abs(batch.after - batch.before)) / 2)


def _cancelled(took_part: float, altered: float) -> dict[str, float | str]:
    """Diagnostics of a run of which fewer than half of the records that took part are altered; else none."""
    if 2 * altered >= took_part:
        return {}
    words = (
        f"only {altered:,.0f} of {took_part:,.0f} records that took part ({100 * altered / took_part:.3g} %) are "
        "altered: the others traded equal values, or exchanges cancel each other"
    )
    return {ALTERED_SHARE: altered / took_part, "warning": words}


def _with(diagnostics: Mapping[str, float | str], more: Mapping[str, float | str]) -> dict[str, float | str]:
    """Diagnostics with more, and with both warnings."""
    warnings = [str(told["warning"]) for told in (diagnostics, more) if told.get("warning")]
    return {**diagnostics, **more, **({"warning": "; ".join(warnings)} if warnings else {})}


def _note_cancelled(heads: np.ndarray, moved: np.ndarray, notes: list[Note]) -> None:
    """Note the candidates of a batch of which few records are altered, on their first runs."""
    few = np.flatnonzero((heads[:, 1] == 1) & (heads[:, 2] == RunStatus.OK) & (2 * moved < heads[:, 4]))
    told = {(n.scenario, n.replicate): k for k, n in enumerate(notes) if n.kind is NoteKind.DIAGNOSTICS and len(few)}
    for row in few.tolist():
        scenario, replicate, _, _, took_part = heads[row].tolist()
        at = told.get((scenario, replicate))
        known = {} if at is None else json.loads(notes[at].text)
        text = json.dumps(_with(known, _cancelled(took_part, float(moved[row]))), ensure_ascii=False)
        note = Note(scenario, replicate, NoteKind.DIAGNOSTICS, None, text)
        if at is None:
            notes.append(note)
        else:
            notes[at] = note


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
    """A mask of the cells of an index that break each edit rule; None where the plan has none."""
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


def batch_of(release: RecordRelease, places: Sequence[int]) -> ReleaseBatch:
    """The tables of a release over some attributes, one candidate of a batch per table.

    A record counts as changed when its level of any of these attributes is another one.
    """
    places = tuple(places)
    return release.cached(("batch", places), lambda: _batch_of(release, places))


def _batch_of(release: RecordRelease, places: tuple[int, ...]) -> ReleaseBatch:
    """The original is tabulated once for all releases; of a release only the records that changed are looked at."""
    shape = tuple(release.data.domain.shape[j] for j in places)
    original = release.original.cached(("table", places), lambda: _original_table(release, places))
    changed = [np.flatnonzero(release.changed(table, places)) for table in release.tables]
    levels = [original.cells]
    for table, records in zip(release.tables, changed, strict=True):
        after = np.empty((len(records), len(places)), np.int32)
        for k, j in enumerate(places):
            after[:, k] = table.codes(j)[records]
        levels.append(after)
    of_all = np.concatenate(levels)
    cells, number = occupied(list(of_all.T), shape, len(of_all))
    # cells of the original first, as a batch wants them
    n_original = len(original.cells)
    is_new = np.ones(len(cells), bool)
    is_new[number[:n_original]] = False
    rank = np.empty(len(cells), np.int64)
    rank[~is_new], rank[is_new] = np.arange(n_original), np.arange(n_original, len(cells))
    new_cells = cells[is_new]
    counts = np.append(original.counts, np.zeros(len(new_cells), np.int64))
    ends = np.cumsum([len(part) for part in levels])
    parts, swaps = [], []
    for records, after, end in zip(changed, levels[1:], ends[1:], strict=True):
        gone = np.bincount(original.cell_of[records], minlength=len(cells))
        come = np.bincount(rank[number[end - len(records) : end]], minlength=len(cells))
        touched = np.flatnonzero(gone + come)
        parts.append((touched, counts[touched], gone[touched], come[touched]))
        swaps.append((after != original.cells[original.cell_of[records]]).any(axis=0))
    cell, before, gone, come = (np.concatenate(column) for column in zip(*parts, strict=True))
    failing = original.failing
    if failing is not None:
        of_new = edit_failures(new_cells, release.data.domain, release.plan.edits, original.cells)
        failing = np.concatenate([failing, of_new])
    batch = release_batch(
        Cells.listed(np.concatenate([original.cells, new_cells]), counts, shape, failing, original.shared),
        TouchedCells.moved(np.cumsum([len(part[0]) for part in parts]), cell, before, gone, come),
        np.array([len(records) for records in changed], np.int64),
        np.array(swaps, bool),
    )
    batch.exact = lambda attributes: batch_of(release, [places[j] for j in attributes])
    return batch


class _OriginalTable(NamedTuple):
    """The original over some attributes: its ``cells`` in the order of their codes, their ``counts``, and the cell of
    each record; which cells break each edit rule (None without rules, and where not all attributes are looked at).
    ``shared`` caches results on it."""

    cells: np.ndarray
    counts: np.ndarray
    cell_of: np.ndarray
    failing: np.ndarray | None
    shared: Cache


def _original_table(release: RecordRelease, places: tuple[int, ...]) -> _OriginalTable:
    data, edits = release.data, release.plan.edits
    columns, shape = [release.original.codes(j) for j in places], [data.domain.shape[j] for j in places]
    cells, cell_of = occupied(columns, shape, data.n_records)
    everything = places == tuple(range(len(data.domain)))
    failing = edit_failures(cells, data.domain, edits, cells) if edits and everything else None
    return _OriginalTable(cells, np.bincount(cell_of), cell_of, failing, Cache())


def figure(call: MeasureCall, release: RecordRelease) -> tuple[float, str]:
    """One measure on a release down to records: its figure, averaged over the release's tables, and its note.

    A measure that judges all tables jointly gets them jointly.
    """
    if call.measure.on_records:
        return evaluate_records(call, release)
    domain = release.data.domain
    places = attribute_indices(call, domain, {"keys": release.plan.keys, "analyse": release.plan.analyse})
    batch = batch_of(release, range(len(domain)) if call.measure.named else places)
    values = evaluate_counts(call, batch, domain, places)
    value = float(values.sum() / len(values))
    return value, "" if value == value else f"{call}: {call.measure.undefined}"


def unaltered_in_small(call: MeasureCall, release: RecordRelease) -> float:
    """Records of eq. 6, counted: unaltered ones in small cells, a mean over the release's tables.

    It cannot be had from the share: tables leave unlike numbers of records unaltered, and a mean of shares is none of
    the unaltered records of all.
    """
    places = attribute_indices(call, release.data.domain, {"keys": release.plan.keys, "analyse": release.plan.analyse})
    batch = batch_of(release, places)
    shares = evaluate_counts(call, batch, release.data.domain, places)
    counts = np.rint(np.nan_to_num(shares) * (batch.n_records - batch.changed))
    return float(counts.mean())


class RecordRuns:
    """Draws and measures groups of scenarios of one mechanism; the fit of a group is kept until another group comes,
    for its runs come a few at a time."""

    def __init__(self, calls: Sequence[MeasureCall], plan: Plan, original: ReleasedTable) -> None:
        self.calls, self.plan, self.original = calls, plan, original
        self._fitted: tuple[tuple[str, ...], Any] | None = None

    def run(self, group: Group, replicates: Sequence[int], keys: Sequence[bytes]) -> Measured:
        """Rows and notes of all members at the given replicates; ``keys`` are the derived keys, replicate by replicate
        and in each member by member."""
        rows: list[list[float]] = []
        notes: list[Note] = []
        scenarios = group.scenarios
        with one_thread():  # fits are matrix products: with more threads their last bits would follow the machine
            draws = self._draws(group)
            at = iter(keys)
            for replicate in replicates:
                for (scenario, spec), draw in zip(scenarios, draws, strict=True):
                    head = (scenario, replicate)
                    rows.append(self._measure(head, spec, draw(next(at)), notes))
        return Measured(np.array(rows, float), notes)

    def forget(self) -> None:
        """Forget the fit of the last group."""
        self._fitted = None

    def remake(self, group: Group, derived: bytes) -> tuple[Drawn, np.ndarray]:
        """The draw of a group of one candidate, and its row."""
        with one_thread():
            (draw,) = self._draws(group)
            drawn = draw(derived)
            scenario, spec = group.scenarios[0]
            return drawn, np.array(self._measure((scenario, 1), spec, drawn, []), float)

    def _draws(self, group: Group) -> list[Callable[[bytes], Drawn]]:
        """Functions that draw a replicate of each scenario from its derived key; the scenarios share a fit."""
        settings = [setting_of(spec, self.plan, self.original.data) for spec in group.specs]
        made = mechanism(group.mechanism)
        fit = fit_key(made, settings[0].texts)
        if self._fitted is None or self._fitted[0] != fit:
            self._fitted = None  # never two at once in memory
            self._fitted = fit, made.fitted(settings[0])
        fitted, original = self._fitted[1], self.original
        return [partial(made.draw_replicate, fitted, setting, original=original) for setting in settings]

    def _measure(self, head: tuple[int, int], spec: ReleaseSpec, drawn: Drawn, notes: list[Note]) -> list[float]:
        """The row of one realisation of a scenario and replicate (``head``); adds to the notes.  One that changes
        nothing has the figures of the original, whatever records were drawn."""
        if drawn.status == RunStatus.NOOP:
            release = RecordRelease(self.original, [self.original], self.plan)
        else:
            release = RecordRelease(self.original, drawn.tables, self.plan, spec)
        figures = []
        for k, call in enumerate(self.calls):
            value, note = figure(call, release)
            figures.append(value)
            if note:
                notes.append(Note(*head, NoteKind.FIGURE, k, note))
            if call.measure.of_unaltered:
                count = repr(unaltered_in_small(call, release))
                notes.append(Note(*head, NoteKind.COUNT, k, count))
        changed, diagnostics = changed_records(release), drawn.diagnostics
        if drawn.status == RunStatus.OK and head[1] == 1:
            diagnostics = _with(diagnostics, _cancelled(drawn.touched.sum() / len(drawn.touched), changed))
        if diagnostics:
            text = json.dumps(diagnostics, ensure_ascii=False)
            notes.append(Note(*head, NoteKind.DIAGNOSTICS, None, text))
        release.forget()
        return [*head, drawn.status, changed, *figures]


def changed_records(release: RecordRelease) -> int:
    """Records whose level of some attribute, or number that was drawn anew, is another one, per table of the release,
    rounded."""
    everything = range(len(release.data.domain))
    counts = [int((release.changed(table, everything) | renumbered_records(table)).sum()) for table in release.tables]
    return round(sum(counts) / len(counts))
