"""Draw and measure groups of scenarios: the pure function at the heart of a sweep.

Measures and mechanisms that a script registered, on their way to other processes.

A worker imports this package and knows what is in it.  What a script has registered travels beside the question, as a
reference to the functions that it consists of; the worker must be able to import these.

Refuse what a plan asks of records that are read by streaming, before anything is read.

The figures of the unaltered data, which a bound on risk is compared with.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from engine import measures, mechanisms
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.processes import one_thread
from engine.common.wording import listed
from engine.data.microdata import Microdata
from engine.data.table import ContingencyTable, occupied
from engine.measures import Measure, MeasureCall, call
from engine.measures.planned import planned_calls
from engine.mechanisms import Mechanism, mechanism
from engine.mechanisms.random_swap import RoleStreams
from engine.models.record_release import numeric_columns
from engine.plan import Plan
from engine.release.batch import CellIndex, ReleaseBatch
from engine.release.reader_view import is_original
from engine.release.records import ReleasedTable
from engine.release.scenarios import Note, RunStatus
from engine.release.spec import ReleaseSpec
from engine.sweeps.candidates import rows_are_cells, setting_of
from engine.sweeps.groups import Group, Task, group_of
from engine.sweeps.realisations import CellRuns, Measured, RecordRuns, count_figures, original_figures

Registered = Measure | Mechanism


def registered_parts(calls: Sequence[MeasureCall], plan: Plan) -> tuple[Registered, ...]:
    """The measures called and the mechanisms planned that do not belong to the package."""
    return (
        *measures.MEASURES.registered(call.measure.name for call in calls),
        *mechanisms.MECHANISMS.registered(declared.name for declared in plan.mechanisms),
    )


def register_parts(parts: Sequence[Registered]) -> None:
    """Register on a worker what :func:`registered_parts` found where the sweep was started."""
    for part in parts:
        if isinstance(part, Measure):
            measures.register(part)
        else:
            mechanisms.register(part)


def can_travel(parts: Sequence[Registered], *, far: bool = False) -> bool:
    """Return whether other processes can import all functions of ``parts``; ``far`` on other machines, where the script
    that was started is not."""
    return all(not _not_importable(part, far) for part in parts)


def check_travel(parts: Sequence[Registered], *, far: bool = False) -> None:
    """Refuse (:class:`UsageError`) what another process cannot import."""
    for part in parts:
        function = _not_importable(part, far)
        if function:
            noun = "measure" if isinstance(part, Measure) else "mechanism"
            instead = "" if far else ", or run the sweep with one worker"
            raise UsageError(
                f"{noun} '{part.name}' cannot be sent to other processes, because they cannot import its function "
                f"'{function}'; define it at the top of a module of its own{instead}"
            )


def _not_importable(part: Registered, far: bool) -> str:
    """The name of a function of ``part`` that another process cannot import; empty where there is none."""
    return next((_name(value) for value in _callables(part) if not _is_importable(value, far)), "")


def _callables(part: object) -> list[Any]:
    values = [getattr(part, f.name) for f in fields(part)] if is_dataclass(part) else []
    return [value for value in values if callable(value)]


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _is_importable(function: Any, far: bool) -> bool:
    # a new process of this machine runs the script again; what was typed into a session stands in no file
    script = not far and hasattr(sys.modules["__main__"], "__file__")
    if getattr(function, "__module__", None) == "__main__" and not script:
        return False
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):  # what pickle raises for lambdas and inner functions
        return False
    return True


def check_countable(plan: Plan, source: str, calls: Sequence[MeasureCall] | None = None) -> None:
    """Refuse (:class:`UsageError`) a plan of which something needs the records of a streamed ``source``."""
    asked: list[str] = []
    names_asked: list[str] = []
    measures = [str(call) for call in (planned_calls(plan) if calls is None else calls) if call.measure.on_records]
    mechanisms = [part.name for part in plan.mechanisms if mechanism(part.name).batched is None]
    analyses = [analysis.name for analysis in plan.analyses]
    for what, several, names in (
        ("measure", "measures", measures),
        ("mechanism", "mechanisms", mechanisms),
        ("analysis", "analyses", analyses),
        ("unit", "units", plan.data.unit_columns),
    ):
        if names:
            names_asked += names
            quoted = listed(f"'{name}'" for name in names)
            asked.append(f"{what if len(names) == 1 else several} {quoted}")
    need = "needs" if len(names_asked) == 1 else "need"
    if asked:
        raise UsageError(
            f"'{source}' is read by streaming, so its records are not in memory, and {listed(asked)} of the plan "
            f"{need} them; leave this out, or read data that fit into memory",
            Remedy.IN_MEMORY,
        )


def original_figure(plan: Plan, data: Microdata, measure: str) -> float | None:
    """``measure`` (a name with its parameters) on the unaltered data, in its own unit.

    None for a measure that works on records: it takes long, and a study has its figure.  Parameters or attributes that
    do not fit are a :class:`~engine.common.errors.UsageError`.
    """

    wanted = call(measure)
    if wanted.measure.on_records:
        return None
    return Question(data.table, (wanted,), plan).original()[str(wanted)]


class Effort(NamedTuple):
    """Time that runs of a mechanism took: seconds by the clock and of the processor; ``first`` where they are the first
    of their mechanism in a process, and it loaded what all share."""

    mechanism: str
    clock: float
    processor: float
    first: bool


class Outcome(NamedTuple):
    """Rows ``(scenario, replicate, status, changed, values...)``, notes on them, and what they took, where somebody
    worked for it.

    ``unclear`` are rows (by place, with spec and derived key) whose released cells are those of the original; whether
    the records are is for :meth:`Evaluator.settled` to say, where these are.
    """

    rows: np.ndarray
    notes: list[Note]
    effort: Effort | None = None
    unclear: tuple[tuple[int, ReleaseSpec, bytes], ...] = ()


@dataclass(frozen=True)
class Question:
    """Content of a worker's question: the cell table, the measures and the plan.

    ``data`` are the records, present only where a measure or a mechanism needs them, or where a release may differ from
    the original in columns that the table does not hold; in the latter case they stay in this process.
    """

    table: ContingencyTable
    calls: tuple[MeasureCall, ...]
    plan: Plan
    data: Microdata | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # by name: what measures compute with are functions made on the spot, which do not travel to another process
        data = self.data if self.over_records else None
        return _on_worker, (self.table, tuple(map(str, self.calls)), self.plan, data, self.registered)

    @property
    def registered(self) -> tuple[Registered, ...]:
        """The measures and mechanisms that do not belong to the package."""
        return registered_parts(self.calls, self.plan)

    @property
    def over_records(self) -> bool:
        """Return whether a measure or a mechanism works on records."""
        return bool(self.on_records) or any(mechanism(one.name).batched is None for one in self.plan.mechanisms)

    @property
    def on_records(self) -> list[int]:
        """Columns of the measures that need records."""
        return [k for k, c in enumerate(self.calls) if c.measure.on_records]

    def measure(self, batch: ReleaseBatch) -> np.ndarray:
        """Measures on every candidate of a batch, shape ``(candidates, measures)``; NaN where one needs records."""
        return count_figures(self.calls, batch, self.table, self.plan)

    def original(self, records: ReleasedTable | None = None) -> dict[str, float]:
        """Every measure on the unaltered data; ``records`` are these, where what is made of them is to be kept."""
        if self.on_records and records is None:
            assert self.data is not None
            records = ReleasedTable(self.data)
        figures = original_figures(self.calls, self.table, self.plan, records)
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


def question_of(plan: Plan, data: Microdata, calls: Sequence[MeasureCall] | None = None) -> Question:
    """The question that a plan asks of its data; ``calls`` asks for some measures only."""
    calls = planned_calls(plan) if calls is None else tuple(calls)
    if data.streamed is not None:
        check_countable(plan, data.raw.source, calls)
    named = [str(c.values["analysis"]) for c in calls if "analysis" in c.values]
    if plan.analyses or named:
        from engine.models import analyses  # which takes as long to load as all that a plan without any needs

        analyses.check(plan, data, named)
    else:
        numeric_columns(plan, data)
    question = Question(data.table, calls, plan, data)
    seen_in_cells = data.streamed is not None or rows_are_cells(plan, data.table)
    return replace(question, data=None) if seen_in_cells and not question.over_records else question


def stream_keys(task: Task, question: Question, key: bytes) -> list[bytes]:
    """The derived keys of a task's realisations, replicate by replicate: one for all members of a group that shares
    pairs, else one for each member.

    They are all the randomness a task needs, and tell nothing about the study key or any other realisation.
    """
    group, replicates = task
    made = mechanism(group.mechanism)
    if group.structure is not None:
        assert made.batched is not None
        stream = made.batched.streams(key, group.structure, question.table)
        return [stream(replicate) for replicate in replicates]
    return [made.stream(key, spec, question.table, number) for number in replicates for spec in group.specs]


def _candidates(
    tasks: Sequence[Task], keys: Sequence[Sequence[bytes]]
) -> dict[tuple[int, ...], tuple[ReleaseSpec, bytes]]:
    """Spec and derived key of each candidate of tasks over cells, by scenario and replicate."""
    return {
        (scenario, replicate): (spec, derived)
        for (group, replicates), own in zip(tasks, keys, strict=True)
        if group.over_cells
        for replicate, derived in zip(replicates, own, strict=True)
        for scenario, spec in group.scenarios
    }


class Realisation(NamedTuple):
    """One realisation drawn again: its tables over the records, its status, and its figures by measure."""

    tables: list[ReleasedTable]
    status: RunStatus
    figures: dict[str, float]


class Evaluator:
    """Draws and measures groups of scenarios, over the cells of a table or over its records.

    Without the study key it runs only tasks that come with their derived keys.
    """

    def __init__(self, question: Question, key: bytes | None = None) -> None:
        self.question, self.key = question, key
        original = None if question.data is None else ReleasedTable(question.data)
        self._cell_runs = CellRuns(question.table, question.calls, question.plan, original)
        self._record_runs = None if original is None else RecordRuns(question.calls, question.plan, original)
        self._original = original
        self._met: set[str] = set()
        self._role_streams: RoleStreams | None = None

    def prepare(self) -> None:
        """Load compiled code, or compile it, and make what measures on records need of the unaltered data, so that no
        run has to wait for it."""
        with suppress(Exception):  # who draws by it is told what is wrong
            self._cell_runs.load()
        if self.question.on_records:
            with one_thread():
                self.question.original(self._original)

    def forget_fit(self) -> None:
        """Forget the fit of the last group that was drawn over records."""
        self._over_records.forget()

    @property
    def index(self) -> CellIndex:
        """The cells met so far."""
        return self._cell_runs.index

    def run(self, group: Group, replicates: Sequence[int]) -> Outcome:
        """All members of a group at the given replicates."""
        return self.run_all([(group, replicates)])

    def run_all(self, tasks: Sequence[Task], keys: Sequence[Sequence[bytes]] | None = None) -> Outcome:
        """Several tasks; candidates are measured together across tasks, which changes no figure.

        ``keys`` are each task's :func:`stream_keys`; without them they are derived from the study key.  The tasks are
        taken to be of one mechanism, where their effort is reported.
        """
        began, busy = time.monotonic(), time.thread_time()
        self._cell_runs.clear()
        keys = [self._derived(task) for task in tasks] if keys is None else keys
        measured: list[Measured] = []
        over_cells: list[Task] = []
        keys_over_cells: list[Sequence[bytes]] = []
        for task, derived in zip(tasks, keys, strict=True):
            group, replicates = task
            if not group.over_cells:
                measured.append(self._over_records.run(group, replicates, derived))
            else:
                over_cells.append(task)
                keys_over_cells.append(derived)
        if over_cells:
            measured += self._cell_runs.run_batch(over_cells, keys_over_cells)
        rows = np.concatenate([part.rows for part in measured])
        notes = [note for part in measured for note in part.notes]
        mechanisms = {group.mechanism for group, _ in tasks}
        first = not mechanisms <= self._met
        self._met |= mechanisms
        starts = accumulate((len(part.rows) for part in measured), initial=0)
        unclear = [start + row for start, part in zip(starts, measured, strict=False) for row in part.unclear]
        candidates = _candidates(tasks, keys) if unclear else {}
        found = tuple((at, *candidates[tuple(rows[at, :2].astype(int).tolist())]) for at in unclear)
        passed, worked = time.monotonic() - began, time.thread_time() - busy
        outcome = Outcome(rows, notes, Effort(tasks[0][0].mechanism, passed, worked, first), found)
        return outcome if self._original is None else self.settled(outcome)

    def settled(self, outcome: Outcome) -> Outcome:
        """The outcome with its unclear rows marked where all released columns are those of the original."""
        for at, spec, derived in outcome.unclear:
            if self._is_original(spec, self._tables(spec, derived)):
                outcome.rows[at, 2:] = RunStatus.NOOP, 0, *self._cell_runs.original_figures
        return outcome._replace(unclear=())

    def remake(self, spec: ReleaseSpec, derived: bytes) -> Realisation:
        """Draw one realisation again from its derived key and measure it again, as a sweep does.

        Where a sweep draws over cells, the records are drawn beside them and counted: they must give the table that was
        measured (:class:`EngineError`).
        """
        group = group_of(spec, self.question.table)
        if group.structure is None:
            drawn, row = self._over_records.remake(group, derived)
            return self._realisation(drawn.tables, row)
        row, counts = self._cell_runs.remake(group, derived)
        tables = self._tables(spec, derived)
        check_counts(tables[0], counts)
        if row[2] != RunStatus.FAILED and self._is_original(spec, tables):
            row[2:] = RunStatus.NOOP, 0, *self._cell_runs.original_figures
        return self._realisation(tables, row)

    def _tables(self, spec: ReleaseSpec, derived: bytes) -> list[ReleasedTable]:
        """The tables over records of a candidate that a sweep draws over cells."""
        made = mechanism(spec.mechanism)
        setting = setting_of(spec, self.question.plan, self._over_records.original.data)
        return made.draw_replicate(made.fitted(setting), setting, derived).tables

    def _is_original(self, spec: ReleaseSpec, tables: Sequence[ReleasedTable]) -> bool:
        original = self._over_records.original
        beside = setting_of(spec, self.question.plan, original.data).beside or ()
        return is_original(tables[0], original, beside)

    def _realisation(self, tables: list[ReleasedTable], row: np.ndarray) -> Realisation:
        names = map(str, self.question.calls)
        return Realisation(tables, RunStatus(int(row[2])), dict(zip(names, map(float, row[4:]), strict=True)))

    @property
    def _over_records(self) -> RecordRuns:
        assert self._record_runs is not None, "the question holds no records"
        return self._record_runs

    def _derived(self, task: Task) -> list[bytes]:
        assert self.key is not None, "an evaluator without the study key needs derived keys"
        group, replicates = task
        published = group.published_roles
        if published is None:
            return stream_keys(task, self.question, self.key)
        self._role_streams = self._role_streams or RoleStreams(self.key, self.question.table)
        return self._role_streams.keys(*published, group.split_kept.several_kinds, replicates)


def check_counts(table: ReleasedTable, counts: Mapping[tuple[int, ...], int]) -> None:
    """Recount the records themselves: their table must have these ``counts`` by level codes."""
    domain = table.data.domain
    cells, inverse = occupied([table.codes(j) for j in range(len(domain))], domain.shape, table.data.n_records)
    recounted = dict(zip(map(tuple, cells.tolist()), np.bincount(inverse).tolist(), strict=True))
    if recounted != counts:
        raise EngineError(
            "the remade records do not give the table that was measured; nothing was written. Please report this."
        )
