"""Draw and measure groups of scenarios: the pure function at the heart of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine import analyses
from engine.candidates import Group
from engine.evaluation import FAILED, NOOP, OK
from engine.io.recode import edit_failures
from engine.measures import MeasureCall, call, evaluate, evaluate_records, original_batch
from engine.mechanisms import random_swap
from engine.microdata import Microdata
from engine.plan import Plan
from engine.records import RecordRelease, ReleasedTable
from engine.release import CellIndex, ReleaseBatch, unpack
from engine.spec import AttributeSpec, ReleaseSpec, pairs_wanted
from engine.table import ContingencyTable

_CELLS = 400_000  # touched cells measured together


class Outcome(NamedTuple):
    """Rows ``(scenario, replicate, status, changed, values...)`` and notes ``(scenario, replicate, measure, text)``."""

    rows: np.ndarray
    notes: list[tuple[int, int, int, str]]


@dataclass(frozen=True)
class Question:
    """What a worker needs to know: the cell table, the measures and the plan.

    ``data`` are the records, present only when a measure needs them.
    """

    table: ContingencyTable
    calls: tuple[MeasureCall, ...]
    plan: Plan
    data: Microdata | None = None

    @property
    def on_counts(self) -> list[int]:
        """Columns of the measures that need counts only."""
        return [k for k, c in enumerate(self.calls) if c.measure.needs == "counts"]

    @property
    def on_records(self) -> list[int]:
        """Columns of the measures that need records."""
        return [k for k, c in enumerate(self.calls) if c.measure.needs != "counts"]

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


def question(plan: Plan, data: Microdata, calls: Sequence[MeasureCall] | None = None) -> Question:
    """The question that a plan asks of its data; ``calls`` asks for some measures only."""
    calls = measures_of(plan) if calls is None else tuple(calls)
    records = any(c.measure.needs != "counts" for c in calls)
    analyses.check(plan, data, [str(c.values["analysis"]) for c in calls if "analysis" in c.values])
    return Question(data.table, calls, plan, data if records else None)


def measures_of(plan: Plan) -> tuple[MeasureCall, ...]:
    """The plan's measures; edit failures are always counted where edit rules are declared."""
    texts = dict.fromkeys(str(call(text)) for text in plan.measures)
    if plan.edits:
        texts.setdefault("edit_failures")
    return tuple(call(text) for text in texts)


class _Batch:
    """Candidates drawn and not yet measured."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, ...]] = []
        self.heads: list[tuple[int, int, int, int]] = []
        self.specs: list[AttributeSpec] = []
        self.extra: list[dict[int, float]] = []
        self.cells = 0


class Evaluator:
    """Draws and measures groups of scenarios over one cell table."""

    def __init__(self, question: Question, key: bytes) -> None:
        self.question, self.key = question, key
        self.index = CellIndex(question.table)
        self._original = None if question.data is None else ReleasedTable(question.data)

    def run(self, group: Group, replicates: Sequence[int]) -> Outcome:
        """All members of a group at the given replicates."""
        table = self.question.table
        prepared = random_swap.prepare(group.structure, table)
        wanted = {spec.rate: pairs_wanted(spec.rate, table.n_records) for _, spec in group.members}
        rates = sorted(wanted, key=lambda rate: wanted[rate][1])
        scenarios = dict(group.members)
        places: dict[AttributeSpec, dict[str, int]] = {}
        for place, spec in group.members:
            places.setdefault(spec.attributes, {})[spec.rate] = place
        batch, rows, notes = _Batch(), [], []
        for replicate in replicates:
            derived = random_swap.stream(self.key, group.structure, table, replicate)
            pairs = prepared.draw(derived, wanted[rates[-1]][1])
            stops = np.minimum([wanted[rate][1] for rate in rates], len(pairs)).astype(np.int64)
            records = None
            if self._original is not None:
                records = random_swap.records_of_pairs(derived, pairs, self._original.data.cell_of_record)
            for attributes, part in zip(
                places, random_swap.exchange(self.index, pairs, stops, list(places)), strict=True
            ):
                ends, *cells = part
                begin = 0
                for rate, stop, end in zip(rates, stops.tolist(), ends.tolist(), strict=True):
                    if rate in places[attributes]:
                        place = places[attributes][rate]
                        status = NOOP if wanted[rate][0] == 0 else OK if stop == wanted[rate][1] else FAILED
                        batch.parts.append((np.array([end - begin]), *(column[begin:end] for column in cells)))
                        batch.heads.append((place, replicate, status, 2 * stop))
                        batch.specs.append(attributes)
                        if records is not None:
                            extra, said = self._on_records(records[:stop], scenarios[place])
                            batch.extra.append(extra)
                            notes += [(place, replicate, k, text) for k, text in said]
                    begin = end
                batch.cells += begin
            if batch.cells > _CELLS:
                rows.append(self._measure(batch))
                batch = _Batch()
        if batch.heads:
            rows.append(self._measure(batch))
        return Outcome(np.concatenate(rows), notes)

    def _measure(self, batch: _Batch) -> np.ndarray:
        failing = self.question.failing(self.index.words[: self.index.n_cells], self.index.layout)
        releases = random_swap.batch(self.index, batch.parts, [head[3] for head in batch.heads], batch.specs, failing)
        figures = self.question.measure(releases)
        for row, extra in enumerate(batch.extra):
            for k, value in extra.items():
                figures[row, k] = value
        self.index.trim()
        return np.column_stack([np.array(batch.heads, float), figures])

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
