"""Work on a Dask cluster, whose processes may come and go.

What leaves this machine: the cell table, the plan and the names of the measures, once per worker; then tasks, each
with the derived keys of its own realisations.  The study key never leaves; nor do the records, unless a measure or a
mechanism of the plan needs them.  Therefore another host is reached over TLS only (its files are named in Dask's own
configuration, ``distributed.comm.tls``), and an unencrypted cluster must be on this machine and listen to it alone.

Workers may die, start again or join late: Dask hands their tasks to others, the question is loaded wherever it is
needed, and a batch that was run twice gives the same rows, of which the study keeps one.  Scheduler and workers need
the same versions of this program and of NumPy.  Every figure is then bit-identical to a serial sweep's, as far as
their machines compute alike.
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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from engine.common import __version__
from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import STREAM_VERSION
from engine.sweeps.evaluator import Evaluator, Outcome, Question, check_travel, stream_keys
from engine.sweeps.groups import TaskBatch
from engine.sweeps.workers import NOTHING_YET, Executor

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
        waiting = iter(batches)
        # its futures fetch one result each: a worker that is frozen keeps its own, and nobody else's wait for them
        executor = self._client.get_executor(pure=False)
        done: SimpleQueue[Future[Outcome | str]] = SimpleQueue()
        out = 0
        self._heard = time.monotonic()
        try:
            while True:
                most = self._most()
                while out < most and (batch := next(waiting, None)) is not None:
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
