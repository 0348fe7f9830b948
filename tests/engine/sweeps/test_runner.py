"""Results are stored some at a time, and the time left is right."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from engine.common.errors import EngineError
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import ReleaseSpecs
from engine.study.study import Study
from engine.sweeps import runner as pace_module
from engine.sweeps import runner as results_writer
from engine.sweeps.evaluator import Effort, Outcome
from engine.sweeps.groups import Group, Groups, SplitKept, TaskBatch, in_even_order
from engine.sweeps.runner import AT_MOST, Pace, ResultsWriter, TimeLeft
from engine.sweeps.sweep import sweep
from engine.sweeps.workers import SerialExecutor
from tests.engine.small_studies import RAW, keyed, plan_of, swept


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is put forward."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(results_writer, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def stored(monkeypatch) -> list[int]:
    """The rows of each transaction with runs."""
    numbers: list[int] = []
    from engine.study.runs import Runs

    add = Runs.add

    def counted(self, rows, *more):
        numbers.append(len(rows))
        return add(self, rows, *more)

    monkeypatch.setattr(Runs, "add", counted)
    return numbers


def outcome(replicate: int, processor: float = 0.01) -> Outcome:
    rows = np.array([[0.0, replicate, 0, 2, 0.1, 0.2, 0.3, 0.4, 0.5]])
    return Outcome(rows, [], Effort("random_swap", processor, processor, False))


def test_quick_batches_wait_for_others_and_long_ones_do_not(tmp_path, clock, stored):
    with sweep(RAW, plan_of(space={"replicates": 1}), keyed(tmp_path / "s.study"), workers=1) as study:
        study.lease.acquire()
        stored.clear()
        width = len(study.measures)
        writer = ResultsWriter(study, "fresh")

        def take(replicate: int, **more: float) -> bool:
            made = outcome(replicate, **more)
            writer.add(made._replace(rows=made.rows[:, : 4 + width]))
            return writer.is_due

        assert take(1000001), "the first one shows that something is there"
        assert writer.store() == 1
        assert not take(1000002) and not take(1000003)
        clock.now += AT_MOST
        assert take(1000004)
        assert writer.store() == 3
        assert take(1000005, processor=3.0), "a commit is little beside a long batch"
        assert writer.store() == 1
        assert writer.store() == 0
        assert stored == [1, 3, 1]


@pytest.mark.slow
def test_results_that_wait_are_stored_where_the_workers_are_lost(tmp_path, clock, stored, monkeypatch):
    monkeypatch.setattr("engine.sweeps.workers.BATCH_SIZE", 4)
    run = SerialExecutor.run

    def lost(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        for n, made in enumerate(run(self, batches)):
            yield made
            if n == 4:
                raise EngineError("the workers are lost")

    path = keyed(tmp_path / "s.study")
    with monkeypatch.context() as patch:
        patch.setattr(SerialExecutor, "run", lost)
        with pytest.raises(EngineError, match="the workers are lost"):
            sweep(RAW, plan_of(), path, workers=1)
    with Study.open(path) as study:
        assert len(study.runs.results()) == sum(stored) > stored[0]
        assert (study.progress.state, study.progress.done) == ("failed", sum(stored))
    whole = swept(keyed(tmp_path / "whole.study"), plan_of())
    assert swept(path) == whole


FACTOR = 1.5
NAMES = tuple("ABCDEFGH")


def quiet(moment: float) -> float:
    """Nobody else uses the machine."""
    return 1.0


def busy(moment: float) -> float:
    """Others always leave a fifth of each core."""
    return 5.0


def grows_busy(moment: float) -> float:
    """Others begin to use most of the machine after ten seconds."""
    return 1.0 if moment < 10 else 4.0


def groups() -> Groups:
    """Groups of swaps of one to four attributes, in the order of their number, and a few of a slow mechanism."""
    made: list[ReleaseSpec] = []
    for size in range(1, 5):
        for k in range(40):
            made.append(ReleaseSpec(AttributeSpec(NAMES, ("S" * size).ljust(8, "U")), f"0.{size}{k:02}"))
    for k in range(4):
        made.append(ReleaseSpec(AttributeSpec(NAMES, "SUUUUUUU"), "", mechanism="maps", params=(("k", str(k)),)))
    return Groups(np.arange(len(made)), ReleaseSpecs.of(made), np.arange(len(made) + 1), SplitKept((), ()))


def work(shared: Group) -> float:
    """Processor seconds of a run: more for more attributes, and far more for the slow mechanism."""
    spec = shared.specs[0]
    return 2.0 if shared.mechanism == "maps" else 0.02 * 2 ** len(spec.attributes.names_having("S"))


def batches(order: Sequence[Group], replicates: int = 20, size: int = 5) -> Iterator[tuple[Group, int]]:
    for shared in order:
        for first in range(0, replicates, size):
            yield shared, min(size, replicates - first)


def simulate(
    order: Sequence[Group],
    slowdown: Callable[[float], float],
    monkeypatch: pytest.MonkeyPatch,
    *,
    workers: int = 2,
    start: float = 8.0,
    prepare: float = 30.0,
) -> list[tuple[float, float, TimeLeft | None]]:
    """``(moment, share done, time left that is told)`` after each batch of a sweep on so many workers, which start and
    prepare first."""
    waiting = [(shared.mechanism, runs, runs * work(shared)) for shared, runs in batches(order)]
    return simulated(waiting, slowdown, monkeypatch, workers, start, prepare)


def simulated(
    waiting: Sequence[tuple[str, int, float]],
    slowdown: Callable[[float], float],
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    start: float,
    prepare: float,
) -> list[tuple[float, float, TimeLeft | None]]:
    """What :func:`simulate` tells, of batches given by mechanism, runs and processor seconds."""
    now = 0.0
    monkeypatch.setattr(pace_module, "time", SimpleNamespace(monotonic=lambda: now))
    expected = Counter[str]()
    for name, runs, _ in waiting:
        expected[name] += runs
    pace, total = Pace(), expected.total()
    pace.expect(expected)
    free = [(start * (1 + 0.2 * w), w) for w in range(workers)]
    heapq.heapify(free)
    ended: list[tuple[float, str, int, float, float, bool]] = []
    met: set[object] = set()
    for name, runs, taken in waiting:
        moment, worker = heapq.heappop(free)
        first = (worker, name) not in met
        loads = (0.5 if first else 0.0) + (prepare if worker not in met else 0.0)
        met |= {worker, (worker, name)}
        processor = taken + loads
        clock = processor * slowdown(moment)
        ended.append((moment + clock, name, runs, clock, processor, first))
        heapq.heappush(free, (moment + clock, worker))
    told, done = [], 0
    for now, mechanism, runs, clock, processor, first in sorted(ended):
        pace.add(Outcome(np.zeros((runs, 5)), [], Effort(mechanism, clock, processor, first)))
        done += runs
        told.append((now, done / total, pace.time_left(workers, total - done)))
    return told


def worst(told: list[tuple[float, float, TimeLeft | None]], since: float) -> float:
    """The largest factor between the time left that is told and the true one, from a tenth of the runs and a moment on,
    until they differ by less than a fiftieth of the whole time."""
    end = told[-1][0]
    factors = [1.0]
    for moment, share, left in told:
        true = end - moment
        if share >= 0.1 and moment >= since and true > 0:
            assert left is not None
            if abs(left.seconds - true) > end / 50:
                factors.append(max(left.seconds / true, true / left.seconds))
    return max(factors)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("slowdown", [quiet, busy])
def test_the_time_left_is_right_after_a_tenth_of_the_runs(
    slowdown: Callable[[float], float], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = simulate(in_even_order(groups()), slowdown, monkeypatch, workers=workers)
    assert told[-1][0] > 30
    assert worst(told, 0) < FACTOR


def test_the_time_left_follows_a_machine_that_becomes_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    told = simulate(in_even_order(groups()), grows_busy, monkeypatch, prepare=0.5)
    assert told[-1][0] > 60
    assert worst(told, 25) < FACTOR


def test_results_that_are_stored_slowly_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are done in no time, and wait for the one process that stores."""
    now = 0.0
    monkeypatch.setattr(pace_module, "time", SimpleNamespace(monotonic=lambda: now))
    pace, total, runs = Pace(), 4000, 10
    pace.expect({"random_swap": total})
    for done in range(runs, total, runs):
        now += 0.1
        pace.add(Outcome(np.zeros((runs, 5)), [], Effort("random_swap", 0.2, 0.2, False)))
        left = pace.time_left(8, total - done)
        assert left is not None
        if done > total // 2:
            assert left.seconds == pytest.approx((total - done) / runs * 0.1, rel=0.1)


def test_nothing_is_told_before_a_batch_has_ended() -> None:
    pace = Pace()
    pace.expect({"random_swap": 100})
    assert pace.time_left(2, 100) is None
    pace.add(Outcome(np.zeros((0, 4)), []))
    assert pace.time_left(2, 100) is None


def test_the_time_left_in_words() -> None:
    assert str(TimeLeft(30)) == "about 30 s left"
    assert str(TimeLeft(600, at_most=True)) == "at most 10 min left"
