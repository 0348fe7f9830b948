"""Executors of a sweep's tasks: in this process, in several on this machine, or elsewhere.

Work is handed out in *bundles* of tasks.  A bundle is a pure function of the question, the study key and itself, so
where, when, how often and in which order bundles run changes no bit of any outcome.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Protocol

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError
from engine.sweeps.candidates import Group
from engine.sweeps.evaluator import Evaluator, Outcome, Question, Task
from engine.sweeps.registered import can_travel, check_travel

TASK = 400
"""Candidates per bundle: long enough to pay for its commit, short enough to cancel at once."""
ON_RECORDS = 100
"""What a run of a mechanism that draws over records counts as, in candidates: it takes milliseconds to seconds."""

MOST_WORKERS = 61 if os.name == "nt" else 1024
"""Most processes of a sweep; Windows waits for no more."""

Bundle = list[Task]


class Executor(Protocol):
    """Runs bundles: in this process, in others on this machine, or on a cluster."""

    def run(self, bundles: Iterable[Bundle]) -> Iterator[Outcome]:
        """Return the outcome of every bundle, in any order; one without rows says only that time has passed.

        Raises :class:`EngineError` when the workers are lost; outcomes returned before stay valid.
        """
        ...


class SerialExecutor:
    """Runs bundles in this process."""

    def __init__(self, question: Question, key: bytes) -> None:
        self._evaluator = Evaluator(question, key)

    def run(self, bundles: Iterable[Bundle]) -> Iterator[Outcome]:
        """Return every outcome, in order."""
        return map(self._evaluator.run_all, bundles)


class ProcessExecutor:
    """Runs bundles in several processes on this machine, which end with this one."""

    def __init__(self, pool: ProcessPoolExecutor, workers: int) -> None:
        self._pool, self._workers = pool, workers

    def run(self, bundles: Iterable[Bundle]) -> Iterator[Outcome]:
        """Return every outcome as it comes, with a few bundles waiting for each process."""
        waiting: set[Future[Outcome]] = set()
        try:
            for bundle in bundles:
                waiting.add(self._pool.submit(_work, bundle))
                if len(waiting) > 3 * self._workers:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenExecutor:
            raise EngineError(
                "a worker process ended unexpectedly, perhaps for want of memory; a new start goes on where this one "
                "stopped, and one process needs least",
                Remedy.ONE_WORKER,
            ) from None
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def open_local_executor(question: Question, key: bytes, workers: int) -> Iterator[Executor]:
    """That many workers on this machine, for as long as the context lasts."""
    if workers == 1:
        yield SerialExecutor(question, key)
        return
    check_travel(question.registered)
    with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (question, key)) as pool:
        pool.submit(os.getpid)  # processes start with the first work: let them, while tasks are still being made
        yield ProcessExecutor(pool, workers)


def default_workers(candidates: int, asked: Question) -> int:
    """One process for little work (starting others costs more) and for measures or mechanisms that other processes
    cannot import, else one per core."""
    if not can_travel(asked.registered):
        return 1
    each = len(asked.table) + 1000 if asked.data is None else 100_000 * len(asked.on_records)
    return 1 if candidates * each < 30_000_000 else os.cpu_count() or 1


def check_workers(workers: int | None) -> None:
    """Refuse (:class:`UsageError`) a number of processes that cannot be; None leaves it to the program."""
    if workers is not None and not isinstance(workers, int):
        raise UsageError(f"workers is {workers!r}, must be a whole number such as 2.")
    if workers is not None and workers < 1:
        raise UsageError(f"workers == {workers}, must be at least 1.")
    if workers is not None and workers > MOST_WORKERS:
        raise UsageError(f"workers == {workers}, must be at most {MOST_WORKERS}; one per core is all that helps.")


_evaluator: Evaluator | None = None


def _start_worker(question: Question, key: bytes) -> None:
    global _evaluator
    Thread(target=_end_with_parent, daemon=True).start()
    _evaluator = Evaluator(question, key)


def _end_with_parent() -> None:
    """A killed sweep must not leave workers behind that wait for ever, with the table and the key in their memory."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(tasks: Bundle) -> Outcome:
    assert _evaluator is not None
    return _evaluator.run_all(tasks)


def bundles(groups: Sequence[Group], held: np.ndarray, replicates: int, before: int = 0) -> Iterator[Bundle]:
    """Tasks that bring every member of the groups to a number of replicates, in bundles of roughly equal size.

    ``held`` are the replicates held by place; those that all unfinished members of a group hold are left out.
    Replicates are numbered from ``before`` + 1.
    """
    bundle: Bundle = []
    size = 0
    for one in groups:
        least = [int(held[place]) for place, _ in one.members]
        have = min(least)
        if have >= replicates:
            continue
        if max(least) >= replicates:
            behind = [m for m, n in zip(one.members, least, strict=True) if n < replicates]
            one = Group(one.structure, tuple(behind))
        each = len(one.members) * (ON_RECORDS if one.structure is None else 1)
        step = max(1, TASK // each)
        for first in range(have + 1, replicates + 1, step):
            numbers = range(before + first, before + min(first + step, replicates + 1))
            bundle.append((one, tuple(numbers)))
            size += len(numbers) * each
            if size >= TASK:
                yield bundle
                bundle, size = [], 0
    if bundle:
        yield bundle
