"""Run a plan: draw every candidate, measure it, keep the figures.

Work is cut into tasks of scenarios that share pairs.  A task is a pure function of the cell table, the study key and
the replicates asked for, so where and in which order tasks run changes nothing; rows of whole batches are stored in
transactions, so a killed sweep resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import KEY_BYTES, fingerprint, key_check
from engine.data.microdata import Microdata, RawTable
from engine.measures.declared import UnmeasuredUse, unmeasured_uses
from engine.plan import Plan
from engine.plan.column_assignment import check_seen
from engine.plan.guess import with_levels_in_order
from engine.release.release_specs import ReleaseSpecs
from engine.release.spec import ReleaseSpec
from engine.study import keys
from engine.study.decision_log import entries
from engine.study.earlier_studies import ALL_COUNT, Predecessors, earlier_studies
from engine.study.key_commitment import check_key
from engine.study.keys import key_path, read_key, read_or_make_key, write_key
from engine.study.ledger import Ledger
from engine.study.map_reader import risk_utility_map
from engine.study.plan_changes import change_plan, check_change, check_departures, record_plan
from engine.study.study import Study
from engine.sweeps.adaptive import most_runs, most_to_do, run_adaptively
from engine.sweeps.evaluator import Question
from engine.sweeps.readiness import Ready, ready
from engine.sweeps.release_warnings import ReleaseWarning, release_warnings
from engine.sweeps.remarks import Remark, method_remarks, remark_text, space_remarks
from engine.sweeps.runner import Announce, Cancelled, Runner, RunOptions, announce_compilation
from engine.sweeps.search import Search, run_search, search_of
from engine.sweeps.streamed_source import check_way_of_reading
from engine.sweeps.unit_warnings import torn_units
from engine.sweeps.workers import Executor, check_workers, default_workers, open_local_executor


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
        study_key = _key_of(path, old, key)
        if old is None:
            create = Study.create_in_memory if path is None else partial(Study.create, path)
            check_departures(plan, deviation)
            study = _created(raw, plan, made, study_key, create)
        else:
            study = old
            check_same(study, raw, study_key)
            _check_growth(study, plan, made, extend, deviation)
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
        with suppress(UsageError), study.cache.storing_beside():  # without a risk and a utility measure: no map
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
        with open_local_executor(question, key, workers, candidates) as executor:
            yield executor
        return
    from engine.sweeps.cluster import open_cluster

    with open_cluster(question, key, cluster, options.get("announce")) as executor:
        yield executor
