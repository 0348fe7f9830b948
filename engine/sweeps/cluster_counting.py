"""The first pass over a streamed source on the workers of a Dask cluster, which must find its files at the same paths.

Each task is a piece of the source.  What comes back are the distinct rows of the piece with their counts, which are
joined here in the order of the pieces: values, rows and digest are those of a pass on this machine alone.  Pieces and
counts travel as the tasks of a sweep do: encrypted, or on this machine.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.common.errors import EngineError
from engine.data.io.counting import Counted, UnitCount, count_unit, merge
from engine.data.io.parts import Unit
from engine.data.io.stream import RecordStream
from engine.data.io.value_classes import Classify
from engine.plan.tabulate import Counter
from engine.sweeps.cluster import LOST, open_client, result_of, versions, worker_threads

_POLL = 0.5  # seconds
_AHEAD = 3  # pieces handed out per thread of the cluster
_ALONE = 3.0  # seconds without any worker after which it is said that one is waited for


@dataclass(frozen=True, repr=False)
class UnitMessage:
    """A piece of a source to count.  Its ``repr`` shows no path, so that no log of the cluster does."""

    stream: RecordStream
    names: tuple[str, ...]
    unit: Unit
    classify: Mapping[str, Classify]

    def __repr__(self) -> str:
        return "<a piece of a source>"


def count_message(message: UnitMessage, wanted: str) -> UnitCount | str:
    """Count a piece, on a worker.  An error comes back as a text, since an exception would be logged with the arguments
    of the call."""
    if versions() != wanted:
        return f"a worker of the cluster has {versions()}; wanted {wanted}"
    try:
        return count_unit(message.stream, message.names, message.unit, message.classify)
    except EngineError as error:
        return f"a worker of the cluster: {error}"
    except Exception as error:
        return f"a worker of the cluster failed with {type(error).__name__}"


def cluster_counter(address: str, say: Callable[[str], None] | None = None) -> Counter:
    """A counter that works on the cluster whose scheduler is at ``address``; ``say`` is told what it waits for."""
    return partial(_count, address=address, say=say)


def _count(
    stream: RecordStream,
    names: tuple[str, ...],
    classify: Mapping[str, Classify],
    address: str,
    say: Callable[[str], None] | None,
) -> Counted:
    with open_client(address) as client:
        messages = (UnitMessage(stream, names, unit, classify) for unit in stream.units())
        return merge(stream, names, _results(client, messages, say), classify)


def _results(client: Any, messages: Iterator[UnitMessage], say: Callable[[str], None] | None) -> Iterator[UnitCount]:
    """The counts of all pieces in their order, so many of them under way that no thread of the cluster waits."""
    executor = client.get_executor(pure=False)
    under_way: deque[Future[UnitCount | str]] = deque()
    most = _AHEAD * max(1, sum(worker_threads(client).values()))
    try:
        while True:
            while len(under_way) < most and (message := next(messages, None)) is not None:
                under_way.append(executor.submit(count_message, message, versions()))
            if not under_way:
                return
            _wait_for(client, under_way[0], say)
            yield result_of(under_way.popleft())
            most = _AHEAD * max(1, sum(worker_threads(client).values()))
    finally:
        for future in under_way:
            future.cancel()


def _wait_for(client: Any, future: Future[UnitCount | str], say: Callable[[str], None] | None) -> None:
    """Wait for a result, as long as there is a cluster to give it."""
    began, told = time.monotonic(), False
    while not wait([future], _POLL).done:
        if client.status != "running":
            raise EngineError(LOST)
        alone = time.monotonic() - began > _ALONE and not worker_threads(client)
        if alone and not told and say:
            say("waiting for workers: the cluster has none; the first pass goes on when one joins")
            told = True
