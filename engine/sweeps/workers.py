"""Executors of a sweep's tasks: in this process, in threads of it, in several processes, or elsewhere.

Work is handed out in *batches* of tasks.  A batch is a pure function of the question, the study key and itself, so
where, when, how often and in which order batches run changes no bit of any outcome.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from concurrent.futures import Executor as Pool
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue
from threading import Event, Thread, local
from typing import Protocol

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.processes import join_loading
from engine.common.wording import quoted
from engine.measures.exchange_sums import rule_of_sums
from engine.mechanisms import mechanism
from engine.release.spec import pairs_wanted
from engine.sweeps.evaluator import Evaluator, Outcome, Question, can_travel, check_travel
from engine.sweeps.groups import Groups, TaskBatch
from engine.sweeps.realisations import drawn_as_wholes

BATCH_SIZE = 400
"""Candidates per batch: long enough to pay for its commit, short enough to cancel at once."""
BATCH_STEPS = 17_000_000
"""Cells and swapped records of runs, and thousands of runs, in a batch of a long sweep in compiled calls, about: some
hundredths of a second, after each of which a thread waits for its turn."""
_BATCH_ON_RECORDS = 20  # candidates per batch where a measure looks at records
_BATCHES = 64  # batches, or hardly fewer, into which candidates go whose measures look at records, or of a long sweep
_TURNS = 10  # parts of the replicates in which these come
ON_RECORDS = 100
"""What a run of a mechanism that draws over records counts as, in candidates: it takes milliseconds to seconds."""

_AHEAD = 100
"""Batches that wait for each worker: they work on while results are stored and scenarios are listed."""

_STEPS = 90e6
"""Cells of runs on counts, and thousands of runs, that one process gets through in a second."""
_START = 1.0  # seconds until processes have started and loaded what they need
THREADS = 1.7
"""Threads of one process that work at the same time, at most: between compiled calls one waits for the other."""

MOST_WORKERS = 61 if os.name == "nt" else 1024
"""Most processes of a sweep; Windows waits for no more."""


NOTHING_YET = Outcome(np.zeros((0, 4)), [])
"""An outcome without rows: workers are busy, and time has passed."""


class Executor(Protocol):
    """Runs batches: in this process, in others on this machine, or on a cluster."""

    @property
    def workers(self) -> int:
        """Number of batches run at the same time."""
        ...

    def run(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        """Return the outcome of every batch, in any order; :data:`NOTHING_YET` says only that time has passed.

        Raises :class:`EngineError` when the workers are lost; outcomes returned before stay valid.
        """
        ...


class SerialExecutor:
    """Runs batches in this process."""

    workers = 1

    def __init__(self, question: Question, key: bytes) -> None:
        self._evaluator = Evaluator(question, key)

    def run(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        """Return every outcome, in order."""
        return map(self._evaluator.run_all, batches)


class SettlingExecutor:
    """Settles, in this process, which has the records, what others leave open that have only the cells."""

    def __init__(self, executor: Executor, question: Question) -> None:
        self._executor, self._question = executor, question

    @property
    def workers(self) -> int:
        """Number of batches run at the same time."""
        return self._executor.workers

    def run(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        """Return every outcome as it comes, settled."""
        evaluator: Evaluator | None = None
        for outcome in self._executor.run(batches):
            if outcome.unclear and evaluator is None:
                evaluator = Evaluator(self._question)
            yield outcome if evaluator is None else evaluator.settled(outcome)


class PoolExecutor:
    """Runs batches in the threads or the processes of a pool, by a function of theirs; they end with this process.

    With an event for its ``full_strength`` one worker waits for it: it is set once who asked for the first outcomes has
    done what there is to do meanwhile, and by whoever ends the pool.
    """

    def __init__(
        self, pool: Pool, work: Callable[[TaskBatch], Outcome], workers: int, full_strength: Event | None = None
    ) -> None:
        self._pool, self._work, self.workers, self._full_strength = pool, work, workers, full_strength

    def run(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        """Return every outcome as it comes; the first one says that workers have enough to do for a while."""
        left, under_way, done = iter(batches), 0, SimpleQueue[Future[Outcome]]()
        try:
            if self._full_strength is not None:
                self._pool.submit(self._full_strength.wait)
            for batch in islice(left, _AHEAD * self.workers):
                self._pool.submit(self._work, batch).add_done_callback(done.put)
                under_way += 1
            yield NOTHING_YET
            if self._full_strength is not None:
                self._full_strength.set()
            while under_way:
                outcome = done.get().result()
                under_way -= 1
                for batch in islice(left, 1):
                    self._pool.submit(self._work, batch).add_done_callback(done.put)
                    under_way += 1
                yield outcome
        except BrokenExecutor:
            raise EngineError(
                "a worker process ended unexpectedly, perhaps for want of memory; a new start goes on where this one "
                "stopped, and one process needs least",
                Remedy.ONE_WORKER,
            ) from None


class _ThreadEvaluators:
    """Evaluators of one question, one for each thread that asks: what an evaluator keeps is never shared."""

    def __init__(self, question: Question, key: bytes) -> None:
        self._question, self._key, self._own = question, key, local()

    def prepare(self) -> Evaluator:
        """The evaluator of this thread, made at its first call."""
        if not hasattr(self._own, "evaluator"):
            self._own.evaluator = Evaluator(self._question, self._key)
            self._own.evaluator.prepare()
        evaluator: Evaluator = self._own.evaluator
        return evaluator

    def run(self, tasks: TaskBatch) -> Outcome:
        """Run tasks in this thread."""
        return self.prepare().run_all(tasks)


@contextmanager
def _ending(pool: Pool) -> Iterator[Pool]:
    """A pool that ends after what is under way, whatever still waits."""
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_waiting() -> Iterator[None]:
    """Let processes that are started meanwhile hear of no interrupt until :func:`_hear_interrupts`: it would end each
    with a report of its own.  This process hears of it afterwards.  On Windows nothing is held back."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def open_local_executor(
    question: Question, key: bytes, workers: int, candidates: int | None = None
) -> Iterator[Executor]:
    """An executor with ``workers`` threads or processes on this machine, for as long as the context lasts: with
    whatever gets through so many ``candidates`` first."""
    if workers == 1:
        yield SerialExecutor(question, key)
    elif candidates is not None and threads_pay(candidates, question, workers):
        evaluators = _ThreadEvaluators(question, key)
        # The thread that lists scenarios meanwhile is one too many where every processor has a worker: all would wait
        # for each other's turn, and the first results for the list.
        full_strength = Event() if workers >= (os.cpu_count() or 1) else None
        with _ending(ThreadPoolExecutor(workers, "sweep")) as pool:
            for _ in range(workers):  # each loads kernels while tasks are being made
                pool.submit(evaluators.prepare)
            try:
                yield PoolExecutor(pool, evaluators.run, workers, full_strength)
            finally:
                if full_strength is not None:
                    full_strength.set()
    else:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        check_travel(question.registered)
        with _ending(ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (question, key))) as pool:
            with _interrupts_waiting():
                for _ in range(workers):  # each starts with work that finds nobody idle: let all, while tasks are made
                    pool.submit(os.getpid)
            yield PoolExecutor(pool, _work, workers)


def default_workers(candidates: int, question: Question) -> int:
    """One for little work (starting others costs more) and for measures or mechanisms that other processes cannot
    import, two where threads of this process are done before others have started, else one per core."""
    if not can_travel(question.registered) or _steps(candidates, question) < 30_000_000:
        return 1
    cores = os.cpu_count() or 1
    return min(2, cores) if threads_pay(candidates, question, cores) else cores


def threads_pay(candidates: int, question: Question, workers: int) -> bool:
    """Return whether threads of this process get through so many candidates before as many processes would.

    Threads start at once, but run beside each other only while they are in compiled code.  Where most of the work is
    not, or comes from outside of the package, there are none.
    """
    if question.over_records or question.registered or question.on_records:
        return False
    seconds = _steps(candidates, question) / _STEPS
    if seconds / min(workers, THREADS) > _START + seconds / workers:
        return False
    join_loading()
    return rule_of_sums(question.calls, question.table, question.plan) is not None


def _steps(candidates: int, question: Question) -> int:
    return candidates * (100_000 * len(question.on_records) if question.over_records else len(question.table) + 1000)


def check_workers(workers: int | None) -> None:
    """Refuse (:class:`UsageError`) a number of processes that cannot be; None leaves it to the program."""
    if workers is not None and not isinstance(workers, int):
        raise UsageError(f"workers is {quoted(workers)}, must be a whole number such as 2.")
    if workers is not None and workers < 1:
        raise UsageError(f"workers == {quoted(workers)}, must be at least 1.")
    if workers is not None and workers > MOST_WORKERS:
        raise UsageError(
            f"workers == {quoted(workers)}, must be at most {MOST_WORKERS}; one per core is all that helps."
        )


_evaluator: Evaluator | None = None


def _start_worker(question: Question, key: bytes) -> None:
    global _evaluator
    Thread(target=_end_with_parent, daemon=True).start()
    _evaluator = Evaluator(question, key)
    _evaluator.prepare()
    _hear_interrupts()


def _hear_interrupts() -> None:
    """From now on let an interrupt end the work of this process; what came before is for the parent alone."""
    if hasattr(signal, "pthread_sigmask"):
        usual = signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops what has come
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, usual)


def _end_with_parent() -> None:
    """A killed sweep must not leave workers behind that wait for ever, with the table and the key in their memory."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(tasks: TaskBatch) -> Outcome:
    assert _evaluator is not None
    return _evaluator.run_all(tasks)


def batch_size(question: Question, groups: Groups, done: np.ndarray, replicates: int) -> int:
    """Candidates per batch of :func:`task_batches`: fewer where a measure looks at records, which takes up to seconds,
    so that all workers end at about the same time, and stop soon when they are to stop; more of a long sweep that draws
    and sums in compiled calls, where these take no longer."""
    runs = int(np.maximum(0, replicates - done[groups.indices]).sum())
    if question.on_records:
        return records_batch_size(runs)
    table, procedures = question.table, groups.specs.procedures
    if not drawn_as_wholes(table, procedures) or rule_of_sums(question.calls, table, question.plan) is None:
        return BATCH_SIZE
    swapped = max((2 * pairs_wanted(procedure.rate, table.n_records)[1] for procedure in procedures), default=0)
    return max(BATCH_SIZE, min(runs // _BATCHES, BATCH_STEPS // (len(table) + 1000 + swapped)))


def records_batch_size(runs: int) -> int:
    """Candidates per batch of so many runs where a measure looks at records."""
    return max(1, min(_BATCH_ON_RECORDS, runs // _BATCHES))


def task_batches(
    groups: Groups, done: np.ndarray, replicates: int, before: int = 0, size: int | None = None
) -> Iterator[TaskBatch]:
    """Tasks that bring every scenario of the groups to a number of replicates, in batches of roughly ``size``
    candidates (None: :data:`BATCH_SIZE`), each of one mechanism.

    ``done`` are the replicates that the study holds by scenario (its index); those that all unfinished scenarios of a
    group have are left out.  Replicates are numbered from ``before`` + 1.
    """
    size = BATCH_SIZE if size is None else size
    batch, collected, last = TaskBatch(), 0, ""
    fewest, most = _extremes(done[groups.indices], groups.bounds)
    for k, name in enumerate(groups.mechanisms):
        if fewest[k] >= replicates:
            continue
        shared = groups[k]
        if most[k] >= replicates:
            shared = shared.part(done[shared.indices] < replicates)
        if batch and name != last:
            yield batch
            batch, collected = TaskBatch(), 0
        last = name
        size_of_replicate = len(shared) * (ON_RECORDS if mechanism(name).batched is None else 1)
        step = max(1, size // size_of_replicate)
        for first in range(fewest[k] + 1, replicates + 1, step):
            numbers = range(before + first, before + min(first + step, replicates + 1))
            batch.append((shared, numbers))
            collected += len(numbers) * size_of_replicate
            if collected >= size:
                yield batch
                batch, collected = TaskBatch(), 0
    if batch:
        yield batch


def batches_in_turn(
    question: Question, groups: Groups, done: np.ndarray, replicates: int, before: int = 0
) -> Iterator[TaskBatch]:
    """Batches of a sweep (:func:`task_batches`): where a measure looks at records, all groups get a tenth of their
    replicates before any gets the next one.

    Structures differ in what such a measure takes, and are few: the first ones would tell nothing of the others.  A
    group that is drawn over records has a fit, which is made once: of these a tenth comes in each turn, with all
    replicates.
    """
    size = batch_size(question, groups, done, replicates)
    if not question.on_records:
        yield from task_batches(groups, done, replicates, before, size)
        return
    fitted = np.array([mechanism(name).batched is None for name in groups.mechanisms], bool)
    drawn, whole = groups.take(np.flatnonzero(~fitted)), np.flatnonzero(fitted)
    step = max(1, -(-replicates // _TURNS))
    turns = range(step, replicates + step, step)
    for turn, up_to in enumerate(turns):
        yield from task_batches(drawn, np.maximum(done, up_to - step), min(up_to, replicates), before, size)
        part = whole[turn * len(whole) // len(turns) : (turn + 1) * len(whole) // len(turns)]
        yield from task_batches(groups.take(part), done, replicates, before, size)


def _extremes(done: np.ndarray, bounds: np.ndarray) -> tuple[list[int], list[int]]:
    """The smallest and the largest number of each group of scenarios."""
    if not len(done):
        return [], []
    return np.minimum.reduceat(done, bounds[:-1]).tolist(), np.maximum.reduceat(done, bounds[:-1]).tolist()
