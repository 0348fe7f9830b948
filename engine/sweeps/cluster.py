"""Work on a Dask cluster, whose processes may come and go.

What leaves this machine: the cell table, the plan and the names of the measures, once per worker; then tasks, each
with the derived keys of its own realisations.  The study key never leaves; nor do the records, unless a measure or a
mechanism of the plan needs them.  Therefore another host is reached over TLS only (its files are named in Dask's own
configuration, ``distributed.comm.tls``), and an unencrypted cluster must be on this machine and listen to it alone.

Workers may die, start again or join late: Dask hands their tasks to others, the question is loaded wherever it is
needed, and a batch that was run twice gives the same rows, of which the study keeps one.  Scheduler and workers need
the same versions of this program and of NumPy.  Every figure is then bit-identical to a serial sweep's, as far as
their machines compute alike.

Batches for a cluster: joined until one takes about a second, for handing one out costs milliseconds.

On one machine a batch of some hundred candidates costs a commit.  On a cluster it also costs its scheduler and the
process that fills the study a few milliseconds each, however long it takes, and hundreds of workers would wait for
both.  How batches are joined changes no bit of any result.

The first pass over a streamed source on the workers of a Dask cluster, which must find its files at the same paths.

Each task is a piece of the source.  What comes back are the distinct rows of the piece with their counts, which are
joined here in the order of the pieces: values, rows and digest are those of a pass on this machine alone.  Pieces and
counts travel as the tasks of a sweep do: encrypted, or on this machine.
"""

from __future__ import annotations

import ipaddress
import logging
import pickle
import ssl
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from engine.common import __version__
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import STREAM_VERSION
from engine.data.io.counting import Counted, UnitCount, count_unit, merge
from engine.data.io.parts import Unit
from engine.data.io.stream import RecordStream
from engine.data.io.value_classes import Classify
from engine.plan.coding import Counter
from engine.sweeps.evaluator import Evaluator, Outcome, Question, check_travel, stream_keys
from engine.sweeps.groups import TaskBatch
from engine.sweeps.workers import NOTHING_YET, Executor

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


_AHEAD = 3  # pieces handed out per thread of the cluster


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


_PATIENCE = 10.0  # seconds until a scheduler that does not answer counts as unreachable
_POLL = 0.5  # seconds without a result after which the sweep looks whether somebody cancelled it
WAITING = 3  # batches handed out per thread of the cluster
_ALONE = 3.0  # seconds without any worker after which the sweep says that it waits for one
_SILENT = 60.0  # seconds after which it says that those who are there do not answer


def check_address(address: str) -> str:
    """Return the address with its scheme: ``tls://host:port`` anywhere, ``tcp://host:port`` on this machine only;
    :class:`UsageError` for any other."""
    text = address if "://" in address else f"tcp://{address}"
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("tcp", "tls") and parts.hostname and parts.port is not None
    except ValueError:  # half a bracket, a port that is none
        sound = False
    if not sound:
        raise UsageError(f"cluster == '{address}', must be tls://HOST:PORT, or tcp://127.0.0.1:PORT on this machine.")
    if parts.scheme == "tcp" and not _is_here(parts.hostname):
        raise UsageError(
            f"cluster == '{address}' is another host and not encrypted; use tls:// there, with the certificates that "
            "Dask's configuration names"
        )
    return text


def _is_here(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, repr=False)
class TaskMessage:
    """A batch with the derived keys it needs.  Its ``repr`` shows neither, so that no log of the cluster does."""

    batch: TaskBatch
    keys: list[list[bytes]] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{len(self.batch)} tasks>"


@dataclass(frozen=True, repr=False)
class LoadedQuestion:
    """A question on a worker, with an evaluator for each of its threads."""

    question: Question
    _local: threading.local = field(default_factory=threading.local)

    def __repr__(self) -> str:
        return "<question>"

    def __reduce__(self) -> tuple[Any, ...]:
        return LoadedQuestion, (self.question,)

    def evaluator(self) -> Evaluator:
        """This thread's evaluator."""
        if not hasattr(self._local, "evaluator"):
            self._local.evaluator = Evaluator(self.question)
        result: Evaluator = self._local.evaluator
        return result


def versions() -> str:
    """Versions that have to be the same on every machine, in one text."""
    return f"swap-frontier {__version__}, streams {STREAM_VERSION}, NumPy {np.__version__}"


def load(packed: bytes) -> LoadedQuestion:
    """Unpack the question, on a worker."""
    loaded: LoadedQuestion = pickle.loads(packed)
    return loaded


def run_message(loaded: LoadedQuestion, message: TaskMessage, wanted: str) -> Outcome | str:
    """Run a batch, on a worker.  An error comes back as a text, since an exception would be logged with the arguments
    of the call."""
    if versions() != wanted:
        return f"a worker of the cluster has {versions()}; wanted {wanted}"
    try:
        return loaded.evaluator().run_all(message.batch, message.keys)
    except EngineError as error:
        return str(error)
    except Exception as error:
        return f"a worker of the cluster failed with {type(error).__name__}"


class ClusterExecutor:
    """Workers of a Dask cluster.  The study key stays here, to derive the keys that each batch needs."""

    def __init__(self, client: Any, question: Question, key: bytes, say: Callable[[str], None] | None = None) -> None:
        self._client, self._question, self._key = client, question, key
        self._say = say or (lambda text: None)
        self._heard, self._told = time.monotonic(), ""
        # submitted rather than scattered: when every worker that holds it has died, the scheduler makes it again
        packed = pickle.dumps(LoadedQuestion(question))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            self._loaded = client.submit(load, packed, key=f"question-{uuid.uuid4().hex}", pure=False)
        self._looked, self._threads = 0.0, 0

    @property
    def workers(self) -> int:
        """Threads that the cluster had when it was last looked at."""
        return max(1, self._threads)

    def run(self, batches: Iterable[TaskBatch]) -> Iterator[Outcome]:
        """Return every outcome as it comes; an empty one whenever nothing came for a while."""
        waiting = ClusterBatches(batches, 4 + len(self._question.calls))
        # its futures fetch one result each: a worker that is frozen keeps its own, and nobody else's wait for them
        executor = self._client.get_executor(pure=False)
        done: SimpleQueue[Future[Outcome | str]] = SimpleQueue()
        out = 0
        self._heard = time.monotonic()
        try:
            while True:
                most = self._most()
                while out < most and (batch := waiting.next(self.workers)) is not None:
                    message = TaskMessage(batch, [stream_keys(task, self._question, self._key) for task in batch])
                    executor.submit(run_message, self._loaded, message, versions()).add_done_callback(done.put)
                    out += 1
                if not out:
                    break
                try:
                    outcome = result_of(done.get(timeout=_POLL))
                except Empty:
                    self._say_what_it_waits_for()
                    yield NOTHING_YET
                    continue
                out -= 1
                self._heard, self._told = time.monotonic(), ""
                waiting.learn(outcome)
                yield outcome
        finally:
            if out:
                with suppress(Exception):
                    executor.shutdown(wait=False)

    def _most(self) -> int:
        """Batches out at once, by the threads that the cluster has now."""
        now = time.monotonic()
        if now - self._looked > 2:
            self._looked = now
            if self._client.status != "running":
                raise EngineError(LOST)
            try:
                self._threads = sum(worker_threads(self._client).values())
            except OSError:  # it ended after its status was read
                raise EngineError(LOST) from None
        return WAITING * max(1, self._threads)

    def _say_what_it_waits_for(self) -> None:
        """Say whether nobody works or nobody answers while nothing comes."""
        silent = time.monotonic() - self._heard
        text = ""
        if not self._threads and silent > _ALONE:
            text = "waiting for workers: the cluster has none; the sweep goes on when one joins"
        elif silent > _SILENT:
            text = "waiting: no worker of the cluster has answered for a minute; the sweep goes on when one does"
        if text and text != self._told:
            self._say(text)
            self._told = text


def result_of(future: Future[Any]) -> Any:
    """The result from a worker; :class:`EngineError` where it is a text, which says why there is none."""
    from distributed import KilledWorker

    if future.cancelled():  # it was given up, since there is no scheduler any more
        raise EngineError(LOST)
    error = future.exception()
    if isinstance(error, KilledWorker):
        raise EngineError(
            "several workers of the cluster ended while they ran the same task, perhaps for want of memory; the same "
            "command goes on where this one stopped"
        )
    if error is not None:
        raise EngineError(
            f"the cluster could not run a task ({type(error).__name__}); its scheduler and workers need {versions()}"
        )
    result = future.result()
    if isinstance(result, str):
        raise EngineError(result)
    return result


LOST = "the cluster's scheduler does not answer any more; the same command goes on where this one stopped"
"""What is said of a cluster that is there no longer."""


def worker_threads(client: Any) -> dict[str, int]:
    """Return the threads by worker.  Refuses (:class:`EngineError`) an unencrypted cluster of which another host could
    be a part."""
    threads: dict[str, int] = client.nthreads()
    for address in (client.scheduler_info()["address"], *threads):
        parts = urlsplit(address)
        if parts.scheme != "tls" and not _is_here(parts.hostname):
            raise EngineError(
                "the cluster is not encrypted and listens to other hosts; start its scheduler and workers on host "
                "127.0.0.1, or with TLS"
            )
    return threads


@contextmanager
def open_cluster(
    question: Question, key: bytes, address: str, say: Callable[[str], None] | None = None
) -> Iterator[Executor]:
    """Workers of the cluster whose scheduler is at ``address``, for as long as the context lasts; ``say`` is told what
    the sweep waits for.  Raises the errors of :func:`open_client`."""
    check_travel(question.registered, far=True)
    with open_client(address) as client:
        yield ClusterExecutor(client, question, key, say)


@contextmanager
def open_client(address: str) -> Iterator[Any]:
    """Dask's client of the cluster whose scheduler is at ``address``, for as long as the context lasts.

    Raises :class:`UsageError` for an address that may not be used or a missing package, and :class:`EngineError` where
    no cluster answers, or one of other versions.
    """
    address = check_address(address)
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "a cluster needs the package 'distributed'; install it with `pip install swap-frontier[cluster]`"
        ) from None
    _quiet()
    client = _client(Client, address)
    try:
        worker_threads(client)
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=2)


def _quiet() -> None:
    """No complaints of Dask's own, to the end: what matters is said in one sentence of ours, and what is left of a lost
    connection complains later."""
    theirs = ("distributed", "tornado", "asyncio")
    for name in (*theirs, *(name for name in logging.root.manager.loggerDict if name.startswith(theirs))):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _client(Client: Any, address: str) -> Any:
    client = Client.__new__(Client)
    try:
        Client.__init__(client, address, timeout=_PATIENCE, set_as_default=False, name="swap-frontier")
    except BaseException as error:
        client.status = "closed"  # else it would try to say good-bye when it is collected, and complain
        reason = _why_not(error, address)
        if reason is None:
            raise
        raise reason from None
    return client


def _why_not(error: BaseException, address: str) -> EngineError | None:
    """Our error for one that Dask raises when it connects; None for one that is a fault of a program."""
    certificates = "distributed.comm.tls.ca-file, distributed.comm.tls.client.cert and distributed.comm.tls.client.key"
    if isinstance(error, TypeError) and "ssl_context" in str(error):
        return UsageError(
            f"cluster == '{address}' needs certificates; name them in Dask's configuration as {certificates}"
        )
    if isinstance(error, ssl.SSLError | FileNotFoundError | PermissionError):  # of its files, not of the connection
        return UsageError(
            f"cluster == '{address}' needs certificates that can be read; mend what Dask's configuration names as "
            f"{certificates}"
        )
    if isinstance(error, ImportError):  # what Dask raises when it looks at the versions of a scheduler
        return EngineError(
            f"the cluster at {address} runs versions of Python or Dask that do not fit this program's; install the "
            "same there"
        )
    if isinstance(error, ValueError):  # it names the entry
        return UsageError(f"cluster == '{address}' cannot be used with Dask's configuration as it is: {error}")
    if isinstance(error, OSError):
        return EngineError(
            f"no cluster answers at {address}; start one with `dask scheduler`, or sweep on this machine alone",
            Remedy.NO_CLUSTER,
        )
    return None
