"""Evaluate mechanisms that draw over records: one fit for a group, tables per replicate, the same measures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.common.processes import one_thread
from engine.common.registry import Cache
from engine.data.table import occupied
from engine.measures import MeasureCall, evaluate_records
from engine.measures.base import attribute_indices, evaluate_counts
from engine.mechanisms import mechanism
from engine.mechanisms.base import Drawn
from engine.models.record_release import RecordRelease
from engine.plan import Plan
from engine.plan.coding import edit_failures
from engine.release.batch import Cells, ReleaseBatch, TouchedCells, release_batch
from engine.release.reader_view import renumbered_records
from engine.release.records import ReleasedTable
from engine.release.scenarios import Note, NoteKind, RunStatus
from engine.release.spec import ReleaseSpec
from engine.sweeps.candidates import setting_of
from engine.sweeps.cell_evaluator import Measured
from engine.sweeps.groups import Group, fit_key


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
        failing = np.append(failing, edit_failures(new_cells, release.data.domain, release.plan.edits, original.cells))
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
    each record; which cells break an edit rule (None without rules, and where not all attributes are looked at).
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
        if drawn.diagnostics:
            text = json.dumps(drawn.diagnostics, ensure_ascii=False)
            notes.append(Note(*head, NoteKind.DIAGNOSTICS, None, text))
        changed = changed_records(release)
        release.forget()
        return [*head, drawn.status, changed, *figures]


def changed_records(release: RecordRelease) -> int:
    """Records whose level of some attribute, or number that was drawn anew, is another one, per table of the release,
    rounded."""
    everything = range(len(release.data.domain))
    counts = [int((release.changed(table, everything) | renumbered_records(table)).sum()) for table in release.tables]
    return round(sum(counts) / len(counts))
