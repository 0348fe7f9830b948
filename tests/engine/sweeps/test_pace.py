"""The time left of a sweep, against a simulated machine with a clock of its own."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest

from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import ReleaseSpecs
from engine.sweeps import runner as pace_module
from engine.sweeps.evaluator import Effort, Outcome
from engine.sweeps.groups import Group, Groups, SplitKept, in_even_order
from engine.sweeps.runner import Pace, TimeLeft
from engine.sweeps.workers import batches_in_turn

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


def test_the_start_of_processes_is_not_part_of_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    told = simulate(in_even_order(groups()), quiet, monkeypatch, start=1000.0)
    assert worst(told, 0) < FACTOR


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


@pytest.mark.slow
def test_every_beginning_of_the_order_is_like_the_rest() -> None:
    made = groups()
    order = in_even_order(made)
    assert sorted(g.scenarios[0][0] for g in order) == list(range(len(made)))
    tenth = order[: len(order) // 10]
    assert {g.mechanism for g in tenth} == {"random_swap", "maps"}
    swaps = [work(g) for g in tenth if g.mechanism == "random_swap"]
    everyone = [work(g) for g in made if g.mechanism == "random_swap"]
    assert np.mean(swaps) == pytest.approx(np.mean(everyone), rel=0.35)


@pytest.mark.slow
def test_the_time_left_is_right_where_a_few_structures_take_far_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of one attribute is dear, wherever that is swapped; measures look at records."""
    swaps = [
        ReleaseSpec(AttributeSpec(NAMES, "".join("S" if k in chosen else "U" for k in range(8))), rate)
        for n in (1, 2)
        for chosen in combinations(range(8), n)
        for rate in ("0.02", "0.1")
    ]
    listed, sizes = np.arange(len(swaps)), np.arange(0, len(swaps) + 1, 2)
    made = in_even_order(Groups(listed, ReleaseSpecs.of(swaps), sizes, SplitKept((), ())))
    question = SimpleNamespace(on_records=[0])
    for dear in NAMES:
        waiting = []
        for batch in batches_in_turn(question, made, np.zeros(len(swaps), int), 100):  # type: ignore[arg-type]
            each = [0.06 if dear in part.specs[0].attributes.names_having("S") else 0.01 for part, _ in batch]
            runs = [len(part) * len(numbers) for part, numbers in batch]
            waiting.append(("random_swap", sum(runs), sum(map(prod, zip(each, runs, strict=True)))))
        assert worst(simulated(waiting, quiet, monkeypatch, 2, 1.0, 0.1), 0) < FACTOR


def test_nothing_is_told_before_a_batch_has_ended() -> None:
    pace = Pace()
    pace.expect({"random_swap": 100})
    assert pace.time_left(2, 100) is None
    pace.add(Outcome(np.zeros((0, 4)), []))
    assert pace.time_left(2, 100) is None


def test_the_time_left_in_words() -> None:
    assert str(TimeLeft(30)) == "about 30 s left"
    assert str(TimeLeft(600, at_most=True)) == "at most 10 min left"
