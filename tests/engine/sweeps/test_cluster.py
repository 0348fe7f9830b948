"""Which clusters a sweep may use, and what may never reach one."""

from __future__ import annotations

import builtins
import pickle
import ssl
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import EngineError, UsageError
from engine.data.microdata import RawColumn, RawTable
from engine.plan import MechanismPlan
from engine.plan.coding import code
from engine.study.study import Study
from engine.sweeps import cluster as cluster_module
from engine.sweeps.cluster import (
    ClusterExecutor,
    LoadedQuestion,
    TaskMessage,
    check_address,
    run_message,
    versions,
    worker_threads,
)
from engine.sweeps.evaluator import Evaluator, question_of, stream_keys
from engine.sweeps.sweep import sweep
from frontier_app.session.launch import free_port
from tests.engine.small_studies import RAW, a_task, plan_of
from tests.small_tables import KEY

# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address", ["tls://grid.example.org:8786", "tls://10.1.2.3:1", "tcp://127.0.0.1:8786", "tcp://[::1]:8786"]
)
def test_addresses_that_may_be_used(address):
    assert check_address(address) == address


def test_an_address_without_a_scheme_is_unencrypted():
    assert check_address("localhost:8786") == "tcp://localhost:8786"
    with pytest.raises(UsageError, match=r"'grid.example.org:8786' is another host and not encrypted; use tls://"):
        check_address("grid.example.org:8786")


@pytest.mark.parametrize("address", ["tcp://10.1.2.3:8786", "tcp://grid:8786", "tcp://0.0.0.0:8786"])
def test_another_host_is_reached_over_tls_only(address, tmp_path):
    with pytest.raises(UsageError, match="is another host and not encrypted; use tls:// there"):
        sweep(RAW, plan_of(), tmp_path / "s.study", cluster=address)
    assert not (tmp_path / "s.study").exists()


@pytest.mark.parametrize(
    "address",
    [
        "tls://grid",
        "ws://127.0.0.1:1",
        "inproc://x/1/1",
        "tls://grid:port",
        "",
        "tcp://[::1",
        "tls://]:1",
        "tcp://[::1]",
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match=r"must be tls://HOST:PORT, or tcp://127.0.0.1:PORT on this machine"):
        check_address(address)


@dataclass
class Known:
    """A client that knows these worker_threads."""

    scheduler: str
    workers: tuple[str, ...] = ()

    def scheduler_info(self) -> dict:
        return {"address": self.scheduler}

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 2)


def test_no_unencrypted_member_may_be_elsewhere():
    assert worker_threads(Known("tls://10.0.0.1:1", ("tls://10.0.0.2:1",))) == {"tls://10.0.0.2:1": 2}
    assert worker_threads(Known("tcp://127.0.0.1:1", ("tcp://127.0.0.1:2", "tcp://127.0.0.1:3"))).keys()
    for known in (Known("tcp://10.0.0.1:1"), Known("tcp://127.0.0.1:1", ("tcp://127.0.0.1:2", "tcp://10.0.0.2:1"))):
        with pytest.raises(EngineError, match="is not encrypted and listens to other hosts"):
            worker_threads(known)


def test_workers_are_either_here_or_there(tmp_path):
    with pytest.raises(UsageError, match="a cluster has its own, so give one of the two"):
        sweep(RAW, plan_of(), tmp_path / "s.study", workers=2, cluster="tcp://127.0.0.1:1")


def test_without_the_package_one_sentence_says_so(tmp_path, monkeypatch):
    imported = builtins.__import__

    def absent(name, *rest, **more):
        if name.partition(".")[0] in ("distributed", "dask"):
            raise ImportError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(UsageError, match=r"a cluster needs the package 'distributed'; install it with `pip install"):
        sweep(RAW, plan_of(), tmp_path / "s.study", cluster="tcp://127.0.0.1:1")


@pytest.mark.slow
def test_a_cluster_that_is_not_there_gets_one_sentence_and_the_study_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "_PATIENCE", 0.5)
    path = tmp_path / "s.study"
    with pytest.raises(EngineError, match=r"no cluster answers at tcp://127.0.0.1:\d+; start one with"):
        sweep(RAW, plan_of(), path, cluster=f"tcp://127.0.0.1:{free_port()}")
    with Study.open(path) as study:
        assert study.progress.state == "failed" and "no cluster answers" in study.progress.message
    with sweep(RAW, None, path, workers=1) as study:
        assert study.progress.state == "finished"


def test_encryption_without_certificates_says_where_to_name_them(tmp_path):
    with pytest.raises(UsageError, match=r"needs certificates; name them in Dask's configuration as distributed\.comm"):
        sweep(RAW, plan_of(), tmp_path / "s.study", cluster="tls://127.0.0.1:1")


def failing(error: BaseException) -> type:
    class Client:
        status = "connecting"

        def __init__(self, *_: object, **__: object) -> None:
            raise error

    return Client


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (TimeoutError("late"), EngineError, "no cluster answers at tls://a:1"),
        (ConnectionRefusedError(111, "refused"), EngineError, "no cluster answers at tls://a:1"),
        (FileNotFoundError(2, "none"), UsageError, "needs certificates that can be read; mend"),
        (ssl.SSLError("bad"), UsageError, "needs certificates that can be read; mend"),
        (ImportError("Mismatched versions found"), EngineError, "the cluster at tls://a:1 runs versions"),
        (ValueError("distributed.comm.tls.min-version=1"), UsageError, "as it is: distributed.comm.tls.min-version=1"),
        (AttributeError("a slip"), AttributeError, "a slip"),
        (TypeError("a slip"), TypeError, "a slip"),
    ],
)
def test_why_no_connection_was_made_is_told_apart(error, kind, said):
    """A fault of a program is no cluster that does not answer."""
    with pytest.raises(kind, match=said) as caught:
        cluster_module._client(failing(error), "tls://a:1")
    assert caught.type is kind


# -- what is sent ----------------------------------------------------------------------------------------------------


def marked() -> RawTable:
    """The small table with levels that can be searched for, and a column that is carried."""
    columns = {
        name: RawColumn(name, pa.array([f"LEVEL{name}{i}" for i in range(len(column.values))]), column.codes)
        for name, column in RAW.columns.items()
    }
    codes = np.arange(RAW.n_records, dtype=np.int32)
    columns["note"] = RawColumn("note", pa.array([f"SECRET{i}" for i in codes]), codes)
    return RawTable(columns, RAW.n_records, "marked")


def test_the_question_sent_holds_no_record():
    raw = marked()
    base = plan_of()
    plan = replace(base, data=replace(base.data, carry=("note",)))
    data = code(raw, plan)
    asked = question_of(plan, data)
    packed = pickle.dumps(LoadedQuestion(asked))
    again = pickle.loads(packed).question
    assert again.data is None and b"LEVELA0" in packed, "levels are needed, records are not"
    assert b"SECRET" not in packed and b"Microdata" not in packed and b"RawTable" not in packed
    arrays = [value for value in vars(again.table).values() if isinstance(value, np.ndarray)]
    assert arrays and all(len(array) != raw.n_records for array in arrays)
    assert max(map(len, arrays)) == len(data.table) < raw.n_records
    for column in data.codes:
        assert np.ascontiguousarray(column).tobytes() not in packed
    # the same check sees records where a mechanism needs them
    with_records = question_of(replace(plan, mechanisms=(MechanismPlan.of("rds", {"s": "3"}),)), data)
    assert b"SECRET" in pickle.dumps(LoadedQuestion(with_records))


def test_a_message_carries_derived_keys_and_never_shows_them():
    asked, batch = a_task(plan_of())
    keys = [stream_keys(task, asked, KEY) for task in batch]
    message = TaskMessage(batch, keys)
    packed = pickle.dumps((message, LoadedQuestion(asked)))
    assert KEY not in packed and KEY.hex().encode() not in packed
    assert all(one in packed for task in keys for one in task)
    assert repr(message) == f"<{len(batch)} tasks>" == str(message) and repr(LoadedQuestion(asked)) == "<question>"
    assert "b'" not in repr((message, LoadedQuestion(asked)))


@pytest.mark.parametrize("mechanisms", [(), (MechanismPlan.of("rds", {"s": ["3", "9"]}),)])
def test_derived_keys_do_what_the_study_key_does(mechanisms):
    asked, batch = a_task(plan_of(keys=("A", "B"), mechanisms=mechanisms))
    wanted = Evaluator(asked, KEY).run_all(batch)
    loaded = pickle.loads(pickle.dumps(LoadedQuestion(asked)))
    got = run_message(loaded, TaskMessage(batch, [stream_keys(task, asked, KEY) for task in batch]), versions())
    assert not isinstance(got, str)
    assert got.rows.tobytes() == wanted.rows.tobytes() and got.notes == wanted.notes


def test_a_worker_says_what_is_wrong_without_showing_anything(monkeypatch):
    asked, batch = a_task(plan_of())
    message = TaskMessage(batch, [])
    assert run_message(LoadedQuestion(asked), message, "swap-frontier 0") == (
        f"a worker of the cluster has {versions()}; wanted swap-frontier 0"
    )
    monkeypatch.setattr(Evaluator, "run_all", lambda *_: dict[str, int]()["a record"])
    assert run_message(LoadedQuestion(asked), message, versions()) == "a worker of the cluster failed with KeyError"


def test_a_scheduler_that_ends_between_two_questions_gets_the_sentence_too():
    class Client:
        status = "running"

        def submit(self, *given: object, **options: object) -> None:
            return None

        def nthreads(self) -> dict[str, int]:
            raise ConnectionResetError("Connection reset by peer")

    executor = ClusterExecutor(Client(), question_of(plan_of(), code(RAW, plan_of())), KEY)
    with pytest.raises(EngineError, match="the cluster's scheduler does not answer any more"):
        executor._most()
