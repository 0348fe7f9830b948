"""Tell how long a sweep will still take, from what its batches have taken so far.

Runs of unlike mechanisms take unlike times, and a machine that others use gives each batch less of its processors.  So
the processor time of a run is taken over all batches of its mechanism, and how long that takes by the clock over the
latest ones.  What happens before the first batch ends (processes start, and prepare) says nothing of the runs to come.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass

from engine.common.wording import duration
from engine.sweeps.evaluator import Outcome

_LATEST = 32  # batches that tell how busy the machine is
_MANY = 10  # batches of each worker, as long as the longest, after which those that are under way hardly count


@dataclass(frozen=True)
class TimeLeft:
    """Seconds that a sweep will still take; ``at_most`` where it may be settled earlier.  ``load`` is how many seconds
    of a worker have lately passed by the clock for one of the processor: 1 for processes on a machine that nobody else
    uses.  A thread waits for others in Python too, which is part of its pace and no load of the machine."""

    seconds: float
    at_most: bool = False
    load: float = 1.0

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'about'} {duration(self.seconds)} left"


@dataclass
class _Spent:
    """Runs of a mechanism and the processor seconds that they took."""

    runs: int = 0
    processor: float = 0.0

    def add(self, runs: int, processor: float) -> None:
        self.runs += runs
        self.processor += processor

    @property
    def each(self) -> float:
        return self.processor / self.runs


class Pace:
    """The pace of runs: what each took, and what those to come will take."""

    def __init__(self) -> None:
        self._missing: Counter[str] = Counter()
        self._first: dict[str, _Spent] = {}  # of processes that had to load something: asked where there are no others
        self._later: dict[str, _Spent] = {}
        self._latest: deque[tuple[float, float]] = deque(maxlen=_LATEST)  # by the clock, of the processor
        # since the last process began with a mechanism: when that was, what batches took, and the longest of them
        self._since: float | None = None
        self._now = self._busy = self._longest = 0.0

    def expect(self, missing: Mapping[str, int]) -> None:
        """Runs that are to come now, by mechanism."""
        self._missing = Counter(missing)

    def add(self, outcome: Outcome) -> None:
        """Learn from a batch that has ended now."""
        effort, runs = outcome.effort, len(outcome.rows)
        if effort is None or not runs:
            return
        self._missing[effort.mechanism] -= runs
        spent = self._first if effort.first else self._later
        spent.setdefault(effort.mechanism, _Spent()).add(runs, effort.processor)
        self._latest.append((effort.clock, effort.processor))
        self._now = time.monotonic()
        if effort.first or self._since is None:
            self._since, self._busy, self._longest = self._now, 0.0, 0.0
        else:
            self._busy += effort.clock
            self._longest = max(self._longest, effort.clock)

    def time_left(self, workers: int, total: int, *, at_most: bool = False) -> TimeLeft | None:
        """The time that ``total`` runs to come take with so many ``workers``; None before a batch has ended.

        Runs beyond those that were announced, and those of a mechanism that has not run yet, are taken to be like the
        others.
        """
        spent = {**self._first, **self._later}
        processor = sum(part.processor for part in spent.values())
        clock = sum(passed for passed, _ in self._latest)
        busy = sum(worked for _, worked in self._latest)
        if not processor or not busy:  # nothing has ended yet, or the machine's clock is too coarse for it
            return None
        mean = processor / sum(part.runs for part in spent.values())
        known = {name: runs for name, runs in self._missing.items() if runs > 0}
        ahead = sum(runs * (spent[name].each if name in spent else mean) for name, runs in known.items())
        ahead += max(0, total - sum(known.values())) * mean
        load = max(1.0, clock / busy)
        return TimeLeft(ahead * load / self._at_once(workers), at_most, load)

    def _at_once(self, workers: int) -> float:
        """Number of batches under way at the same time: fewer than workers where they wait for results to be
        stored."""
        passed = 0.0 if self._since is None else self._now - self._since
        if passed <= _MANY * workers * self._longest or not self._busy:
            return float(workers)
        return min(float(workers), self._busy / passed)
