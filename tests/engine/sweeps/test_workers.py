"""Processes of a sweep start together, and load what they need and no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from threading import Event, Thread, get_ident

import numpy as np
import pytest

from engine.common.compiled import COMPILED
from engine.release.spec import ReleaseSpec
from engine.sweeps import workers
from engine.sweeps.evaluator import Outcome, Question
from engine.sweeps.groups import TaskBatch
from engine.sweeps.workers import (
    BATCH_SIZE,
    BATCH_STEPS,
    NOTHING_YET,
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
def test_a_worker_on_counts_loads_no_library_but_numpy_and_the_compiler() -> None:
    assert loaded("hellinger") == []


_NOT_ASKED_FOR = (
    "pyarrow.compute",
    "multiprocessing.process",
    "engine.measures.attack",
    "engine.models.analyses",
    "engine.plan.check",
    "engine.data.io.labelled_writers",
)


@pytest.mark.slow
def test_a_sweep_of_a_file_loads_nothing_that_it_does_not_ask_for(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("a,b,c\n" + "x,1,p\ny,2,q\nx,2,q\ny,1,p\n" * 20)
    code = (
        "import sys\n"
        "from engine.cli.main import main\n"
        "assert main(['sweep', 'a.csv', '--study', 'a.study', '--rates', '0.1', '--replicates', '1']) == 0\n"
        f"print(*[name for name in {_NOT_ASKED_FOR} if name in sys.modules], file=sys.stderr)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr.splitlines()[-1] == ""


@pytest.mark.slow
def test_all_processes_start_at_once() -> None:
    """Not one after the other, each with the first batch that finds nobody idle."""
    with open_local_executor(SMALL.asked(), KEY, 3) as executor:
        assert isinstance(executor, PoolExecutor) and isinstance(executor._pool, ProcessPoolExecutor)
        assert len(executor._pool._processes) == 3


def threads_at_work(full_strength: Event | None) -> int:
    """Threads of two that work before the first outcome was looked at."""
    seen, both = set(), Event()

    def work(batch: TaskBatch) -> Outcome:
        seen.add(get_ident())
        if len(seen) == 2:
            both.set()
        both.wait(0.02)
        return Outcome(np.zeros((0, 4)), [])

    with ThreadPoolExecutor(2) as pool:
        outcomes = PoolExecutor(pool, work, 2, full_strength).run([TaskBatch()] * 5)
        assert next(outcomes) is NOTHING_YET
        while pool._work_queue.qsize():
            both.wait(0.01)
        at_work = len(seen)
        assert len(list(outcomes)) == 5
    return at_work


@pytest.mark.slow
def test_a_thread_waits_while_the_first_outcome_is_looked_at_where_it_is_told_to() -> None:
    assert threads_at_work(Event()) == 1
    assert threads_at_work(None) == 2


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
def test_processes_that_are_started_hear_of_no_interrupt_and_this_one_does_afterwards() -> None:
    asked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    told = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt), workers._interrupts_waiting():
            signal.raise_signal(signal.SIGINT)
            told.append(subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True).stdout.strip())
    finally:
        signal.signal(signal.SIGINT, before)
    assert told == ["True"] and signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


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
