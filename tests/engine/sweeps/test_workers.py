"""Processes of a sweep start together, and load what they need and no more."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from threading import Event, Thread

import numpy as np
import pytest

from engine.common.compiled import COMPILED
from engine.release.spec import ReleaseSpec
from engine.sweeps.evaluator import Question
from engine.sweeps.groups import TaskBatch
from engine.sweeps.workers import (
    BATCH_SIZE,
    BATCH_STEPS,
    PoolExecutor,
    batch_size,
    open_local_executor,
    task_batches,
)
from tests import needs
from tests.engine.small_studies import ROOT, SMALL
from tests.small_tables import KEY, Small, groups

needs_compiler = pytest.mark.skipif(not COMPILED, reason="nothing is compiled here; install numba")
_DEAR = ("pandas", "pyarrow", "statsmodels", "scipy.linalg", "scipy.stats", "scipy.special", "patsy")


def loaded(measure: str) -> list[str]:
    """The dear libraries that a worker has loaded once it has worked, and what its linear algebra can do then."""
    code = (
        "import pickle, sys\n"
        "from engine.sweeps import workers\n"
        "question, groups, key = pickle.load(sys.stdin.buffer)\n"
        "workers._start_worker(question, key)\n"
        "assert len(workers._work(groups).rows)\n"
        f"print(*[name for name in {_DEAR} if name in sys.modules])\n"
        "import scipy.linalg\n"
        "assert scipy.linalg.cython_blas and scipy.linalg.norm([3.0, 4.0]) == 5.0\n"
    )
    work = (
        "import pickle, sys\n"
        "from engine.release.spec import ReleaseSpec\n"
        "from engine.sweeps.groups import TaskBatch\n"
        "from tests.engine.small_studies import SMALL\n"
        "from tests.small_tables import KEY, groups\n"
        f"question = SMALL.asked({measure!r})\n"
        "made = groups(question, [ReleaseSpec(SMALL.spec('SUUU'), '0.5')])\n"
        "sys.stdout.buffer.write(pickle.dumps((question, TaskBatch((one, (1,)) for one in made), KEY)))\n"
    )
    asked = subprocess.run([sys.executable, "-c", work], cwd=ROOT, capture_output=True, check=True).stdout
    worked = subprocess.run([sys.executable, "-c", code], cwd=ROOT, input=asked, capture_output=True, check=True)
    return worked.stdout.decode().split()


@pytest.mark.slow
def test_all_processes_start_at_once() -> None:
    """Not one after the other, each with the first batch that finds nobody idle."""
    with open_local_executor(SMALL.asked(), KEY, 3) as executor:
        assert isinstance(executor, PoolExecutor) and isinstance(executor._pool, ProcessPoolExecutor)
        assert len(executor._pool._processes) == 3


@needs_compiler
@pytest.mark.parametrize("n_processors, waits", [(2, True), (3, False), (None, True)])
def test_a_thread_waits_where_every_processor_has_one(
    n_processors: int | None, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: n_processors)
    with open_local_executor(SMALL.asked("hellinger"), KEY, 2, candidates=1) as executor:
        assert isinstance(executor, PoolExecutor) and isinstance(executor._pool, ThreadPoolExecutor)
        assert (executor._full_strength is not None) == waits


@needs_compiler
def test_a_pool_ends_when_what_is_done_meanwhile_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    question, failed = SMALL.asked("hellinger"), []
    made = groups(question, [ReleaseSpec(SMALL.spec("SUUU"), "0.5")])

    def fail() -> None:
        try:
            with open_local_executor(question, KEY, 2, candidates=1) as executor:
                assert isinstance(executor, PoolExecutor) and isinstance(executor._pool, ThreadPoolExecutor)
                for _ in executor.run([TaskBatch((one, (1,)) for one in made)]):
                    while executor._pool._work_queue.qsize():
                        Event().wait(0.01)
                    raise RuntimeError("no room for the list")
        except RuntimeError as error:  # which keeps what it left behind from being collected
            failed.append(error)

    thread = Thread(target=fail, daemon=True)
    thread.start()
    thread.join(20)
    assert failed


@needs_compiler
def test_batches_of_a_long_sweep_are_longer_where_compiled_calls_take_no_longer() -> None:
    roles, rates = ("SUUU", "USUU", "SSUU"), ("0.2", "0.5")
    specs = [ReleaseSpec(SMALL.spec(text), rate) for text in roles for rate in rates]
    near = [replace(spec, params=(("near", "A:1"),)) for spec in specs]

    def size_and_batches(question: Question, replicates: int, specs: list[ReleaseSpec] = specs) -> tuple[int, int]:
        made, done = groups(question, specs), np.zeros(len(specs), np.int64)
        size = batch_size(question, made, done, replicates)
        batches = list(task_batches(made, done, replicates, 0, size))
        assert sum(len(one) * len(numbers) for batch in batches for one, numbers in batch) == len(specs) * replicates
        return size, len(batches)

    long, sums = 300_000, SMALL.asked("small_cells", "hellinger")
    size, n_batches = size_and_batches(sums, long)
    assert 10 * BATCH_SIZE < size <= BATCH_STEPS // 1000 and n_batches > 32
    assert size_and_batches(sums, 100)[0] == BATCH_SIZE, "few runs: workers end at the same time"
    assert size_and_batches(SMALL.asked("small_cells", "k_anonymity"), long)[0] == BATCH_SIZE, "these take longer"
    assert size_and_batches(sums, long, near)[0] == BATCH_SIZE, "these are drawn one by one"
    many = Small(SMALL.records * (200_000 // len(SMALL.records)), SMALL.shape)
    assert size_and_batches(many.asked("small_cells", "hellinger"), long)[0] == BATCH_SIZE, "many records are swapped"


@pytest.mark.slow
@needs.SIGKILL
def test_a_worker_that_has_started_hears_of_interrupts_but_of_none_before() -> None:
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\n"  # as it is for all threads of a worker
        "from engine.sweeps import workers\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "workers._hear_interrupts(); print('started', flush=True)\n"
        "try: os.kill(os.getpid(), signal.SIGINT); signal.pause()\n"
        "except KeyboardInterrupt: print('heard')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["started", "heard"], "")
