"""Processes and threads of a sweep: they start together, give the bits of one evaluator, stop and fail alike."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread

import numpy as np
import pytest

from engine.common import compiled
from engine.common.compiled import COMPILED
from engine.common.errors import EngineError
from engine.plan import MechanismPlan
from engine.release.spec import ReleaseSpec
from engine.sweeps import evaluator, workers
from engine.sweeps import realisations as cell_evaluator
from engine.sweeps import runner as results_writer
from engine.sweeps.evaluator import Evaluator, Outcome, Question
from engine.sweeps.groups import TaskBatch
from engine.sweeps.sweep import open_sweep, sweep
from engine.sweeps.workers import (
    BATCH_SIZE,
    BATCH_STEPS,
    PoolExecutor,
    batch_size,
    default_workers,
    open_local_executor,
    task_batches,
    threads_pay,
)
from tests import needs
from tests.engine.small_studies import RAW, ROOT, SMALL, a_task, keyed, plan_of, swept
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


MEASURES = ("small_cells", "hellinger", "total_variation", "entropy_change")
SMALL_BATCHES = 20


@pytest.fixture
def contended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads that take turns after every few instructions, with small batches in compiled code throughout."""
    monkeypatch.setattr(workers, "BATCH_SIZE", SMALL_BATCHES)
    monkeypatch.setattr(workers, "BATCH_STEPS", 0)
    monkeypatch.setattr(cell_evaluator, "_CELLS", 100)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def threads_of(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads in which batches will have run."""
    seen: set[str] = set()
    run = Evaluator.run_all

    def noted(self: Evaluator, *given, **options):
        seen.add(current_thread().name)
        return run(self, *given, **options)

    monkeypatch.setattr(Evaluator, "run_all", noted)
    return seen


@pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled here, and no thread used; install numba")
def test_threads_give_the_rows_of_one_evaluator_however_they_take_turns(contended: None, tmp_path: Path) -> None:
    plan = plan_of(measures=MEASURES, space={"swap_sizes": (1, 2, 3), "rates": ("0.02", "0.1", "0.5")})
    question, tasks = a_task(plan)
    expected = Evaluator(question, KEY).run_all(tasks)
    batches = [TaskBatch([task]) for task in tasks for _ in range(3)]
    with open_local_executor(question, KEY, 4, candidates=1) as executor:
        outcomes = [outcome for outcome in executor.run(batches) if len(outcome.rows)]
    rows = np.concatenate([outcome.rows for outcome in outcomes])
    found, times = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(found, np.unique(expected.rows, axis=0)) and set(times.tolist()) == {3}
    notes = {str(note) for outcome in outcomes for note in outcome.notes}
    assert notes == set(map(str, expected.notes))


@pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled here, and no thread used; install numba")
@pytest.mark.slow
def test_a_study_filled_by_threads_is_the_one_filled_by_one(
    contended: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(measures=MEASURES)
    one = swept(keyed(tmp_path / "one.study"), plan, workers=1)
    seen = threads_of(monkeypatch)
    assert swept(keyed(tmp_path / "four.study"), plan, workers=4) == one
    assert seen and main_thread().name not in seen


@pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled here, and no thread used; install numba")
def test_what_waits_when_a_sweep_ends_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    question, tasks = a_task(plan_of(measures=MEASURES))
    begun: list[TaskBatch] = []

    def noted(self: Evaluator, batch: TaskBatch) -> Outcome:
        begun.append(batch)
        time.sleep(0.005)
        return Outcome(np.zeros((1, 4)), [])

    monkeypatch.setattr(Evaluator, "run_all", noted)
    with open_local_executor(question, KEY, 2, candidates=1) as executor:
        outcomes = executor.run([TaskBatch(tasks)] * 100)
        assert not len(next(outcomes).rows) and len(next(outcomes).rows)
    assert 0 < len(begun) < 50


@pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled here, and no thread used; install numba")
def test_an_error_in_a_thread_is_the_error_of_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise EngineError("nothing can be drawn")

    monkeypatch.setattr(Evaluator, "run_all", fails)
    path = keyed(tmp_path / "s.study")
    with pytest.raises(EngineError, match="nothing can be drawn"):
        sweep(RAW, plan_of(measures=MEASURES), path, workers=2)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(evaluator, "CellRuns", lambda *_: (_ for _ in ()).throw(MemoryError()))
        sweep(RAW, None, path, workers=2)


@pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled here, and no thread used; install numba")
@pytest.mark.slow
@pytest.mark.parametrize("how", ["interrupted", "cancelled"])
def test_a_sweep_in_threads_stops_and_goes_on(
    contended: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(results_writer, "AT_MOST", 0.0)
    path = keyed(tmp_path / "s.study")
    opened = open_sweep(RAW, plan_of(measures=MEASURES, space={"replicates": 50}), path)

    def on_progress(done: int, total: int) -> None:
        if done and how == "interrupted":
            raise KeyboardInterrupt
        if done:
            opened.study.lease.cancel()

    with opened.study as study:
        if how == "interrupted":
            with pytest.raises(KeyboardInterrupt):
                opened.run(workers=2, on_progress=on_progress)
        else:
            opened.run(workers=2, on_progress=on_progress)
        stopped = study.progress
        assert stopped.state == "cancelled" and 0 < study.runs.count() < stopped.total
    with sweep(RAW, None, path, workers=2) as study:
        assert study.progress.state == "finished" and study.progress.done == stopped.total


@pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled here, and no thread used; install numba")
def test_threads_are_taken_where_they_are_done_before_processes_have_started(monkeypatch: pytest.MonkeyPatch) -> None:
    quick, other = SMALL.asked(*MEASURES), SMALL.asked("false_zeros")
    over_records = replace(quick, plan=replace(quick.plan, mechanisms=(MechanismPlan.of("rds", {"s": "3"}),)))
    some, many = 150_000, 20_000_000
    assert threads_pay(some, quick, 2) and threads_pay(some, quick, 4)
    assert not threads_pay(many, quick, 2), "most of the time one of two threads waits for some Python"
    assert threads_pay(500_000, quick, 2) and not threads_pay(500_000, quick, 8), "only some threads work at once"
    assert not threads_pay(some, other, 2)
    assert not threads_pay(some, over_records, 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert [default_workers(n, quick) for n in (1000, some, many)] == [1, 2, 8]
    monkeypatch.setattr(compiled, "COMPILED", False)
    assert not threads_pay(some, quick, 2)
