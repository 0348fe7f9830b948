"""Run a plan: draw every candidate, measure it, keep the figures.

Work is cut into tasks of scenarios that share pairs.  A task is a pure function of the cell table, the study key and
the replicates asked for, so where and in which order tasks run changes nothing; rows of whole batches are stored in
transactions, so a killed sweep resumes.

Streamed sources as plans and studies use them: counted once, here or on a cluster, and refused where records are
needed.

Prepare a plan on its data for a sweep, and refuse what a sweep would refuse.

Recheck scenarios of a study: run them on fresh replicates.

Add measures to a study: its runs are remade from their streams and measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import KEY_BYTES, fingerprint, key_check
from engine.common.wording import quoted
from engine.data.io.stream import RecordStream
from engine.data.microdata import Microdata, RawTable
from engine.frontier.choosing import fresh_runs_needed
from engine.measures import MeasureCall, call
from engine.measures.planned import UnmeasuredUse, check_decision, unmeasured_uses
from engine.plan import Plan
from engine.plan.coding import check_assignment, check_seen, code, tabulate
from engine.plan.doubts import refuse_undecided
from engine.plan.guess import with_levels_in_order
from engine.plan.households import refuse_doubtful
from engine.release.records import ReleasedTable
from engine.release.space import Space
from engine.release.spec import MOST_REPLICATES, ReleaseSpec
from engine.release.specs import ReleaseSpecs
from engine.study import keys
from engine.study.decision_log import append, check_key, entries
from engine.study.keys import key_path, read_key, read_or_make_key, write_key
from engine.study.lease import WriterTask
from engine.study.ledger import (
    ALL_COUNT,
    Ledger,
    Predecessors,
    change_plan,
    check_change,
    check_departures,
    earlier_studies,
    record_plan,
)
from engine.study.map_reader import risk_utility_map
from engine.study.runs import TABLES, RunTable
from engine.study.study import Study
from engine.sweeps.adaptive import NONE_TO_START, Search, most_runs, most_to_do, run_adaptively, run_search, search_of
from engine.sweeps.candidates import check_meaning, counted, refuse_idle, scenarios_of, swap_remarks
from engine.sweeps.evaluator import Outcome, Question, check_countable, question_of
from engine.sweeps.groups import Groups, TaskBatch, group, in_even_order
from engine.sweeps.remake import remake, remake_cells, stream_of
from engine.sweeps.runner import (
    FRESH_FROM,
    Announce,
    Cancelled,
    Pace,
    Runner,
    RunOptions,
    announce_compilation,
    missing_runs,
)
from engine.sweeps.warnings import (
    ReleaseWarning,
    Remark,
    method_remarks,
    release_warnings,
    remark_text,
    space_remarks,
    torn_units,
    widest_first,
)
from engine.sweeps.workers import (
    BATCH_SIZE,
    Executor,
    SettlingExecutor,
    batch_size,
    check_workers,
    default_workers,
    open_local_executor,
    records_batch_size,
    task_batches,
)

_COMPARED = 50  # scenarios of a study whose figures are compared with those of this version


def table_for(
    data: RawTable | RecordStream,
    plan: Plan,
    calls: Sequence[MeasureCall] | None = None,
    *,
    announce: Callable[[str], None] | None = None,
) -> RawTable:
    """The table of a source for a plan: a stream is read once and counted, a table is given back as it is.

    A plan that asks for what needs records, in its measures or in ``calls`` in their place, is refused
    (:class:`UsageError`) before the stream is read.  ``announce`` is told that the source is streamed.
    """
    if isinstance(data, RawTable):
        return data
    check_countable(plan, data.source, calls)
    check_assignment(plan.data, data.names)
    say = announce or (lambda text: None)
    say(f"'{data.source}' is read by streaming: records are counted, none is kept; only analysts' bundles are made")
    table = tabulate(data, plan)
    n_files = len(data.parts)
    say(f"'{data.source}' holds {table.n_records:,} records in {n_files:,} file{'' if n_files == 1 else 's'}")
    return table


def check_way_of_reading(study: Study, raw: RawTable) -> None:
    """Refuse (:class:`UsageError`) records in memory for a study of streamed ones, and the other way round: the
    fingerprints of the two are not alike."""
    counted = study.about.get("streamed")
    if (counted is None) == (raw.streamed is None):
        return
    if counted is None:
        raise UsageError(
            f"study '{study.name}' was made with all records in memory and '{raw.source}' is read by streaming; read "
            "it into memory",
            Remedy.IN_MEMORY,
        )
    raise UsageError(
        f"study '{study.name}' was made by streaming and '{raw.source}' is in memory; read it by streaming",
        Remedy.STREAM,
    )


@dataclass(frozen=True)
class Ready:
    """The coded data, the question that the plan asks of them, its scenarios, the space of the random swap where that
    was listed, what mechanisms say of their candidates, and for each of these whether draws on trial ``change`` a
    record (None: they were not looked at)."""

    data: Microdata
    question: Question
    specs: ReleaseSpecs
    space: Space | None
    remarks: tuple[str, ...] = ()
    change: Sequence[bool] | None = None


def ready(
    raw: RawTable,
    plan: Plan,
    calls: Sequence[MeasureCall] | None = None,
    known: Sequence[ReleaseSpec] = (),
    *,
    listed: bool = True,
) -> Ready:
    """Make a plan ready: code the data, make every measure, analysis and mechanism ready on them, list the scenarios.

    ``calls`` are the measures where they are not those of the plan, ``known`` the scenarios of a study, ``listed``
    false leaves out the random swap where its swaps are too many to be looked at one by one.
    """
    data = code(raw, plan)
    if calls is None:  # a study that was begun goes on as it is
        refuse_undecided(plan, raw)
        refuse_doubtful(plan, raw)
    check_single_columns(data)
    question = question_of(plan, data, calls)
    _check_numeric(plan, data)
    _check_objectives(plan, question)
    if calls is None:
        check_decision(plan, question.calls)
    remarks: list[str] = []
    change: list[bool] | None = [] if calls is None else None
    listed = listed or counted(plan, data) is None
    specs, space = scenarios_of(plan, data, known, listed=listed, tell=remarks.append, change=change)
    if calls is None:
        check_meaning(plan, [specs[i] for i in np.flatnonzero(~specs.by_roles).tolist()])
        remarks += swap_remarks(plan, data, space or counted(plan, data))
    return Ready(data, question, specs, space, widest_first(remarks), change)


def check_single_columns(data: Microdata) -> None:
    """Refuse a weight that is none in some record (:meth:`Microdata.check_weight`), and a unit that is missing in
    one."""
    if data.streamed is None:  # else a unit is refused
        _ = data.units
    data.check_weight()


def _check_numeric(plan: Plan, data: Microdata) -> None:
    """Refuse a column that the plan names as numeric and that holds other values; columns of analyses were read."""
    if plan.data.numeric and data.streamed is None:
        from engine.models.record_release import numbers_of

        table = ReleasedTable(data)
        for column in plan.data.numeric:
            numbers_of(table, table, column, plan)


def _check_objectives(plan: Plan, question: Question) -> None:
    if plan.space.adaptive or plan.space.search:
        for kind in ("risk", "utility"):
            if not any(call.measure.kind == kind for call in question.calls):
                raise UsageError(
                    f"adaptive replicates and a search compare risk with utility, and the plan has no measure of {kind}"
                )


def plan_problems(plan: Plan, raw: RawTable, tell: Callable[[str], object] | None = None) -> list[str]:
    """The differences between a plan and a file, in sentences; where there are none, the reasons why a sweep of it
    would be refused.  ``tell`` is told the first remarks on its candidates."""
    from engine.plan.check import check_plan

    differing = check_plan(plan, raw)
    if differing:
        return differing
    try:
        made = ready(raw, plan, listed=False)
        made.question.original()
        refuse_idle(plan, made.data.n_records, made.change or ())
        for remark in method_remarks(made.remarks):
            if tell is not None:
                tell(remark_text(remark))
        if plan.space.search and plan.swaps_at_random and not search_of(plan, made.data, bytes(32)).start():
            return [NONE_TO_START]
    except EngineError as error:
        return [str(error)]
    return []


@dataclass(frozen=True)
class OpenSweep:
    """A study with all that is needed to fill it: the question asked of its data, its key, and the search where the
    plan asks for one.

    Of a new study ``remarks`` say what of its plan comes to nothing, and ``warnings`` what its releases would tell; its
    scenarios are still ``unlisted``, for :meth:`run` lists them in the study while processes start.
    """

    study: Study
    question: Question
    key: bytes
    search: Search | None
    remarks: tuple[Remark, ...] = ()
    warnings: tuple[ReleaseWarning, ...] = ()
    unmeasured: tuple[UnmeasuredUse, ...] = ()
    unlisted: ReleaseSpecs | None = None

    def listed(self) -> Study:
        """The study with its scenarios, where it is not filled."""
        if self.unlisted is not None:
            self.study.scenario_table.add(self.unlisted)
        return self.study

    def tell(self, announce: Announce | None) -> None:
        """Announce remarks and warnings, if there is somebody to tell."""
        warnings = (*map(str, self.warnings), *(use.sentence for use in self.unmeasured))
        for text in (*map(remark_text, self.remarks), *(f"warning: {warning}" for warning in warnings)):
            if announce:
                announce(text)

    def run(self, **options: Unpack[RunOptions]) -> None:
        """Draw and measure what the study does not hold yet (:func:`fill`)."""
        fill(self.study, self.question, self.key, self.search, self.unlisted, **options)


def sweep(
    raw: RawTable,
    plan: Plan | None,
    path: str | Path,
    *,
    key_file: str | Path | None = None,
    extend: bool = False,
    deviation: str = "",
    by: str = "",
    **options: Unpack[RunOptions],
) -> Study:
    """Fill a study: make it, resume it, or with ``extend`` add rates, specs and replicates to it.

    Returns the open study, finished or cancelled.  ``options`` say who does the work and who is told of it
    (:class:`~engine.sweeps.runner.RunOptions`); all else is as :func:`open_sweep` says.
    """
    check_options(options)
    key = None if key_file is None else Path(key_file)
    opened = open_sweep(raw, plan, path, key=key, extend=extend, deviation=deviation, by=by)
    opened.tell(options.get("announce"))
    opened.run(**options)
    return opened.study


def check_options(options: RunOptions) -> None:
    """Refuse (:class:`UsageError`) processes beside a cluster, and a number of processes or an address that cannot
    be."""
    workers, cluster = options.get("workers"), options.get("cluster")
    check_workers(workers)
    if cluster is not None:
        if workers is not None:
            raise UsageError("workers are processes on this machine; a cluster has its own, so give one of the two")
        from engine.sweeps.cluster import check_address

        check_address(cluster)


def open_sweep(
    raw: RawTable,
    plan: Plan | None,
    target: str | Path | Study | None,
    *,
    key: bytes | Path | None = None,
    extend: bool = False,
    deviation: str = "",
    by: str = "",
    earlier: Predecessors = ALL_COUNT,
) -> OpenSweep:
    """Make a study, or open one to go on with; nothing is drawn yet.

    ``target`` is the study's path, an open study, or None for a new study in memory.  ``plan`` None means the study's
    own plan.  ``key`` is the study key or the file that holds it: by default the file beside the study, in memory a new
    key of the system's.  Other data, another key or another plan than the study's are refused with the difference; a
    plan that departs from its approval needs the reason as ``deviation``, which is logged with ``by``.  ``earlier`` is
    what is said of other studies of the same data, with which the log of a new one opens; in memory there are none.
    """
    path = None if target is None or isinstance(target, Study) else Path(target)
    old = target if isinstance(target, Study) else None if path is None else _existing(path)
    try:
        if plan is None:
            if old is None:
                raise UsageError("a new study needs a plan")
            plan = old.plan
        plan = with_levels_in_order(plan, raw, None if old is None else old.plan)
        ledger = _ledger(path, old, raw, plan, earlier, key)
        if old is None:
            check_seen(plan.data, raw.names)
        made = ready(raw, plan, old.measures if old else None, old.scenarios.specs if old else ())
        if old is None:
            refuse_idle(plan, made.data.n_records, made.change or ())
        study_key = _key_of(path, old, key)
        if old is None:
            create = Study.create_in_memory if path is None else partial(Study.create, path)
            check_departures(plan, deviation)
            study = _created(raw, plan, made, study_key, create)
        else:
            study = old
            check_same(study, raw, study_key)
            _check_growth(study, plan, made, extend, deviation)
            if extend or study.progress.state != "finished":
                _check_meaning(study, made.data, study_key)
        if study.progress.state == "new":  # also where whoever made it was killed before its log was begun
            record_plan(study, why=deviation, by=by, ledger=ledger)
        if old is not None:
            study.scenario_table.add(made.specs)
            change_plan(study, plan, why=deviation, by=by, grow=extend)
    except BaseException:
        if old is not None and old is not target:
            old.close()
        raise
    return OpenSweep(
        study,
        made.question,
        study_key,
        _search(study, plan, made.data, study_key),
        (*_remarks(plan, made),) if old is None else (),
        tuple([*torn_units(made.data, plan), *release_warnings(made.data, plan)] if old is None else ()),
        tuple(unmeasured_uses(plan) if old is None else ()),
        made.specs if old is None else None,
    )


def _remarks(plan: Plan, made: Ready) -> list[Remark]:
    """The parts of a plan that come to nothing, and the remarks of its mechanisms on their candidates."""
    of_space = space_remarks(plan, made.space, made.data.n_records) if made.space else []
    return [*of_space, *method_remarks(made.remarks)]


def _existing(path: Path) -> Study | None:
    """The study in a file, None where a new one is to be made."""
    if path.exists():
        return Study.open(path)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"the folder of '{path.name}' does not exist; make it first")
    return None


def _key_of(path: Path | None, old: Study | None, key: bytes | Path | None) -> bytes:
    """The study key: the one given, else that of an open study, else the one in a file.  A new study without a key gets
    one of the system's, kept beside its file if it has one."""
    if isinstance(key, bytes):
        if len(key) != KEY_BYTES:
            raise UsageError(f"key has {len(key)} bytes, must have {KEY_BYTES}")
        if path is not None and old is None:
            write_key(key_path(path), key)
        return key
    if key is None and old is not None and old.key is not None:
        return old.key
    if path is None and old is not None and not old.in_memory:
        path = old.path
    if path is None:
        return keys.new_key() if key is None else read_key(key)
    file = key_path(path, key)
    return read_or_make_key(file) if old is None else read_key(file)


def _ledger(
    path: Path | None, old: Study | None, raw: RawTable, plan: Plan, earlier: Predecessors, key: bytes | Path | None
) -> Ledger | None:
    """The studies that came before one whose log is still to be begun; None of one in memory, and where the log is
    there."""
    if path is None and old is not None and not old.in_memory:
        path = old.path
    if path is None or (old is not None and entries(old)):
        return None
    if isinstance(key, bytes):
        known = [key]
    else:
        file = key_path(path, key)
        known = [read_key(file)] if file.exists() else []
    return earlier_studies(path, raw, plan, earlier, known)


def _created(raw: RawTable, plan: Plan, made: Ready, key: bytes, create: Callable[..., Study]) -> Study:
    """A new study, made by ``create``."""
    study = create(plan, _about(raw, made.data, made.question, key), made.question.original())
    study.key = key
    return study


def _check_growth(study: Study, plan: Plan, made: Ready, extend: bool, deviation: str) -> None:
    """Refuse a plan that a study cannot go on with."""
    check_change(study, plan, why=deviation, grow=extend)
    specs, n_planned = study.scenarios.specs, len(made.specs)
    left_out = specs.take(made.specs.joined(specs).first_equal()[n_planned:] >= n_planned)
    missing = [spec for spec in left_out if not _searched(spec, plan)]
    if missing:
        raise UsageError(
            f"a study is only added to; the new plan leaves out {len(missing)} of its scenarios, such as '{missing[0]}'"
        )


def _check_meaning(study: Study, data: Microdata, key: bytes) -> None:
    """Refuse to add runs to figures that an earlier version computed otherwise under the same name: runs with the
    least, middle and largest figure among some scenarios are drawn and measured again."""
    revised = [(k, c) for k, c in enumerate(study.measures) if c.measure.revised]
    if not revised:
        return
    some = np.unique(np.linspace(0, study.n_scenarios - 1, _COMPARED).astype(int))
    runs = study.runs.of(some.tolist())
    question = question_of(study.plan, data, [c for _, c in revised])
    made: dict[int, dict[str, float]] = {}
    again = remake if data.streamed is None else remake_cells
    for k, c in revised:
        there = np.flatnonzero(runs.counted(allow_partial=False) & np.isfinite(runs.values[:, k]))
        order = there[np.argsort(runs.values[there, k], kind="stable")]
        for row in order[[0, len(order) // 2, -1]].tolist() if len(order) else ():
            if row not in made:
                spec = study.scenarios[int(runs.scenario[row])].spec
                made[row] = again(data, question, spec, stream_of(key, spec, data, int(runs.replicate[row]))).figures
            if not np.isclose(made[row][str(c)], runs.values[row, k], rtol=1e-9, atol=1e-9):
                raise UsageError(
                    f"an earlier version computed {c} of study '{study.name}' otherwise ({c.measure.revised}), and "
                    "figures of two meanings are not mixed; make a new study under another name"
                )


def _search(study: Study, plan: Plan, data: Microdata, key: bytes) -> Search | None:
    """The search that a plan asks for, with what the study holds already."""
    if not (plan.space.search and plan.swaps_at_random):
        return None
    specs = study.scenarios.specs
    return search_of(plan, data, key, list(dict.fromkeys(spec.attributes for spec in specs.take(specs.by_roles))))


def _searched(spec: ReleaseSpec, plan: Plan) -> bool:
    """Return whether a scenario is one that the plan's search may look at."""
    return plan.space.search and spec.by_roles and spec.rate in plan.space.rates


def _about(raw: RawTable, data: Microdata, question: Question, key: bytes) -> dict[str, Any]:
    files = raw.files_digest()
    return {
        "source": raw.source,
        "n_records": data.n_records,
        "n_cells": len(data.table),
        "attributes": list(data.domain.names),
        "levels": list(data.domain.shape),
        "measures": [str(c) for c in question.calls],
        "fingerprint": fingerprint(key, raw.content_digest()),
        "key_check": key_check(key),
        **({} if raw.streamed is None else {"streamed": list(raw.streamed.rows.names)}),
        **({} if files is None else {"files": fingerprint(key, files)}),
    }


def check_same(study: Study, raw: RawTable, key: bytes) -> None:
    """Refuse another key or other data than the study was made with; the open study keeps the key."""
    about = study.about
    if about["key_check"] != key_check(key):
        raise UsageError(
            f"the key is not the one that study '{study.name}' was made with; name the right file", Remedy.KEY_FILE
        )
    check_key(study, key)
    check_way_of_reading(study, raw)
    if not raw.has_fingerprint(key, about["fingerprint"]):
        detail = f"{about['n_records']:,} records of '{about['source']}'"
        raise UsageError(
            f"study '{study.name}' was made on other data: {detail}, given {raw.n_records:,} records of "
            f"'{raw.source}'"
            + ("; the values differ" if about["n_records"] == raw.n_records else "")
            + "; give the records that were swept, in their order and with all their columns"
        )
    files = raw.files_digest() if "files" in about else None  # a study of an earlier version has none
    if files is not None and about["files"] != fingerprint(key, files):
        raise UsageError(
            f"the files of '{raw.source}' are not those of which study '{study.name}' was made: the columns that its "
            "attributes need hold the same, and something else has changed, of which columns may be released; give "
            "the files that were swept, byte for byte"
        )
    study.key = key


def fill(
    study: Study,
    question: Question,
    key: bytes,
    search: Search | None = None,
    unlisted: ReleaseSpecs | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Draw and measure what a study does not hold yet; stops early, keeping everything, when the study is cancelled.

    ``unlisted`` scenarios are all those of a new study, which lists them while workers start and draw.
    A ``search`` adds its scenarios to the study as it goes.  In stages, ``total`` is the most that there may be to do
    by what is known; it falls as scenarios are settled.
    """
    on_progress = options.get("on_progress")
    space = study.plan.space
    replicates = space.replicates
    staged, most = space.adaptive or space.search, most_runs(study.plan)
    n_scenarios = len(study.scenarios) or len(unlisted or ())
    if search is not None:
        n_scenarios = max(space.budget, n_scenarios)
    total = most_to_do(study.plan, n_scenarios) if staged else replicates * n_scenarios
    study.acquire_lease(total, min(total, study.runs.count(up_to=most)))
    try:
        done = min(total, study.runs.count(up_to=most))  # nobody else adds to it from now on
        if on_progress:
            on_progress(done, total)
        messages: list[str] = []
        if done < total or staged:
            announce_compilation(options.get("announce"))
            with open_executor(question, key, replicates * n_scenarios - done, **options) as executor:
                if unlisted is not None and staged:
                    study.scenario_table.add(unlisted)
                runner = Runner(study, question, executor, options)
                runner.done, runner.total = done, total
                if search is not None:
                    messages.append(str(run_search(runner, search)))
                if staged:
                    settlement = run_adaptively(runner)
                    messages += [] if settlement is None else [str(settlement)]
                else:
                    runner.bring(None, replicates, unlisted=unlisted)
        with suppress(UsageError):  # without a risk and a utility measure: no map
            risk_utility_map(study, as_writer=True)
        study.lease.release("finished", "; ".join(messages))
    except Cancelled:
        study.lease.release("cancelled", "cancelled by request")
    except KeyboardInterrupt:
        study.lease.release("cancelled", "interrupted")
        raise
    except Exception as error:
        study.lease.release("failed", str(error) if isinstance(error, EngineError) else type(error).__name__)
        raise


@contextmanager
def open_executor(question: Question, key: bytes, candidates: int, **options: Unpack[RunOptions]) -> Iterator[Executor]:
    """Executor for so many candidates, for as long as the context lasts: a cluster, or as many threads or processes as
    asked for or as pay off."""
    cluster = options.get("cluster")
    if cluster is None:
        workers = options.get("workers") or default_workers(candidates, question)
        opened: AbstractContextManager[Executor] = open_local_executor(question, key, workers, candidates)
    else:
        from engine.sweeps.cluster import open_cluster

        opened = open_cluster(question, key, cluster, options.get("announce"))
    with opened as executor:
        yield executor if question.data is None else SettlingExecutor(executor, question)


def recheck(
    study: Study,
    raw: RawTable,
    key: bytes,
    indices: Sequence[int],
    replicates: int | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Run some scenarios (by index) on fresh replicates, kept apart from those that led to the choice; fresh runs that
    the study holds already are not made again.  Scenarios all of whose runs change nothing
    are left out, and refused where there is no other.  Stops early, keeping everything, when the study is cancelled.

    ``replicates`` is the number of fresh runs of each; None for :func:`engine.frontier.choosing.fresh_runs_needed`.

    ``options`` say who does the work and who is told of it (:class:`~engine.sweeps.runner.RunOptions`).
    """
    check_options(options)
    replicates = fresh_runs_needed(study.plan.decision.run_share) if replicates is None else replicates
    if replicates < 2:
        raise UsageError(f"replicates == {quoted(replicates)}, must be at least 2 for a standard error.")
    if replicates > MOST_REPLICATES:
        raise UsageError(f"replicates == {quoted(replicates)}, must be at most {MOST_REPLICATES:,}.")
    check_same(study, raw, key)
    wanted = set(indices) - _void(study, indices)
    if not wanted:
        raise UsageError("nothing to run again: the released rows of what was named are those of the original")
    study.acquire_lease(task=WriterTask.RECHECK)
    try:
        data = code(raw, study.plan)
        _check_meaning(study, data, key)
        question = question_of(study.plan, data, study.measures)
        chosen = np.array(sorted(wanted), np.int64)
        groups = in_even_order(group(study.scenarios.specs.take(chosen), question.table, chosen))
        done = study.runs.replicates_done("fresh", FRESH_FROM - 1)
        missing = missing_runs(groups, done, replicates)
        fresh = _FreshRuns(len(wanted) * replicates - missing.total(), len(wanted) * replicates, options)
        if missing.total():
            fresh.pace.expect(missing)
            size = batch_size(question, groups, done, replicates)
            announce_compilation(options.get("announce"))
            with open_executor(question, key, missing.total(), **options) as executor:
                for outcome in executor.run(task_batches(groups, done, replicates, FRESH_FROM - 1, size)):
                    fresh.add(study, outcome, executor.workers)
    finally:
        study.lease.release()
    labels = [study.scenarios[index].label for index in sorted(wanted)]
    append(study, "rechecked", {"candidates": labels, "replicates": replicates})


def _void(study: Study, indices: Sequence[int]) -> set[int]:
    """Those of the scenarios all of whose runs leave the data as they were."""
    runs = study.runs.of(sorted(set(indices)))
    return {*runs.scenario.tolist()} - {*runs.scenario[~runs.changes_nothing].tolist()}


class _FreshRuns:
    """Fresh runs that are being stored, and who is told of them."""

    def __init__(self, done: int, total: int, options: RunOptions) -> None:
        self._done, self._total, self._options = done, total, options
        self.pace = Pace()

    def add(self, study: Study, outcome: Outcome, workers: int) -> None:
        """Store the runs of a batch; :class:`EngineError` where somebody asked for an end."""
        if len(outcome.rows):
            self._done += study.runs.add(outcome.rows, outcome.notes, table="fresh")
        self.pace.add(outcome)
        if on_time_left := self._options.get("on_time_left"):
            on_time_left(self.pace.time_left(workers, self._total - self._done))
        if on_progress := self._options.get("on_progress"):
            on_progress(self._done, self._total)
        if study.lease.beat():
            raise EngineError("stopped by request; what is done is kept")


def add_measures(
    study: Study,
    raw: RawTable,
    key: bytes,
    texts: Sequence[str],
    **options: Unpack[RunOptions],
) -> list[str]:
    """Add measures to a study by remaking its runs from the same streams; returns the names of those added.

    Figures stored before stay as they are.  Killed or cancelled half-way, the study is as it was.
    """
    check_options(options)
    check_same(study, raw, key)
    study.acquire_lease(task=WriterTask.MEASURE)
    try:
        known = [str(c) for c in study.measures]
        calls = [call(text) for text in dict.fromkeys(str(call(text)) for text in texts)]
        new = [c for c in calls if str(c) not in known]
        if new:
            runs = {table: study.runs.keys(table) for table in TABLES}
            question = _question(study, raw, new)
            _fill(study, question, key, study.runs.begin_measures(new), runs, **options)
            study.finish_measures(new, question.original())
        return [str(c) for c in new]
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
