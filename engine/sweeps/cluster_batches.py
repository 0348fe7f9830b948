"""Batches for a cluster: joined until one takes about a second, for handing one out costs milliseconds.

On one machine a batch of some hundred candidates costs a commit.  On a cluster it also costs its scheduler and the
process that fills the study a few milliseconds each, however long it takes, and hundreds of workers would wait for
both.  How batches are joined changes no bit of any result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from engine.sweeps.evaluator import Outcome
from engine.sweeps.groups import TaskBatch

SECONDS = 1.0
"""Processor time that the work of a message shall take.  That much is done again where a worker dies, and a worker goes
on for so long after a sweep was cancelled."""
_BESIDE_OTHERS = 0.02  # the same for each thread of a large cluster, since all messages go through one process
_AT_MOST = 10.0
_HANDING_OUT = 0.002  # what that process takes for a message: shorter ones do not come quickly enough for all threads
_LAST = 4  # messages, at least, that each thread still gets: so all end at about the same time
_MOST_BYTES = 256_000_000  # results that may be on their way at once, since they may be stored more slowly than made
_FIGURE = 8  # bytes
_GROWTH = 50  # times as many candidates in a message as in those before, at most: the first batches mislead


class ClusterBatches:
    """The batches that are still to be handed out.  ``width`` is the number of columns of their rows."""

    def __init__(self, batches: Iterable[TaskBatch], width: int) -> None:
        self._batches = deque(batches)
        self._left = sum(map(candidates, self._batches))
        self._most_out = _MOST_BYTES // (_FIGURE * width)
        self._out = self._messages = 0  # runs and messages that are out
        self._spent: dict[str, tuple[int, float]] = {}  # runs and processor seconds by mechanism
        self._largest = 0

    def learn(self, outcome: Outcome) -> None:
        """Learn from a message that has come back what its candidates took."""
        self._out -= len(outcome.rows)
        self._messages -= 1
        effort = outcome.effort
        if effort is None or not len(outcome.rows) or effort.first:
            return
        runs, seconds = self._spent.get(effort.mechanism, (0, 0.0))
        self._spent[effort.mechanism] = runs + len(outcome.rows), seconds + effort.processor
        self._largest = max(self._largest, len(outcome.rows))

    def next(self, threads: int) -> TaskBatch | None:
        """The work of the next message to a cluster with so many threads; None where nothing is left, or where first
        some of what is out has to come back."""
        if not self._batches or self._out >= self._most_out:
            return None
        if not self._spent and self._messages >= threads:  # they are short while nobody knows what a run takes
            return None
        joined = TaskBatch(self._batches.popleft())
        name, size = joined[0][0].mechanism, candidates(joined)
        most = self._most(name, threads)
        while self._batches and self._batches[0][0][0].mechanism == name:
            more = candidates(self._batches[0])
            if size + more > most:
                break
            _join(joined, self._batches.popleft())
            size += more
        self._left -= size
        self._out += size
        self._messages += 1
        return joined

    def _most(self, name: str, threads: int) -> int:
        """Candidates of a mechanism in one message, where several batches make it."""
        runs, seconds = self._spent.get(name, (0, 0.0))
        if not seconds or not SECONDS:
            return 0
        each = seconds / runs
        most = min(max(SECONDS, _BESIDE_OTHERS * threads), _AT_MOST)
        share = self._left * each / (_LAST * threads)
        wanted = max(min(most, share), _HANDING_OUT * threads)
        return int(min(wanted / each, _GROWTH * self._largest, self._most_out))


def candidates(batch: TaskBatch) -> int:
    """Number of runs of a batch."""
    return sum(len(group) * len(replicates) for group, replicates in batch)


def _join(joined: TaskBatch, batch: TaskBatch) -> None:
    """Append a batch; further replicates of the last group go with the others, so that it is prepared once."""
    for group, replicates in batch:
        last, before = joined[-1]
        if group is last:
            joined[-1] = (group, (*before, *replicates))
        else:
            joined.append((group, replicates))
