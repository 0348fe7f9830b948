"""Which clusters a sweep may use, what may never reach one; a real Dask cluster on this machine: workers that die,
join, freeze and are waited for, a scheduler that is lost.
"""

from __future__ import annotations

import builtins
import os
import pickle
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pytest

from engine.cli.main import main
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
from tests import forked
from tests.engine.small_studies import RAW, a_task, plan_of, table_of
from tests.small_tables import KEY
from tests.streamed_sources import records, write_source

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


@dataclass
class Grid:
    """A scheduler and workers, each a process of its own, all on this machine."""

    folder: Path
    start_process: Callable[[Sequence[str], IO[bytes]], forked.Started] = forked.start
    address: str = ""
    scheduler: forked.Started | None = None
    workers: list[forked.Started] = field(default_factory=list)

    def start(self, what: str, *arguments: str) -> forked.Started:
        with open(self.folder / f"{what}{len(self.workers)}.log", "wb") as log:
            return self.start_process(["-m", "distributed.cli.dask_" + what, *arguments], log)

    def open(self, scheme: str = "tcp") -> None:
        port = free_port()
        self.address = f"{scheme}://127.0.0.1:{port}"
        self.scheduler = self.start("scheduler", "--host", self.address, "--no-dashboard")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.1)
        raise AssertionError("the scheduler did not start")

    def add(self) -> None:
        self.workers.append(
            self.start(
                *("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
                *("--local-directory", str(self.folder)),
            )
        )

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()

    def logs(self) -> bytes:
        return b"".join(file.read_bytes() for file in self.folder.glob("*.log"))


@pytest.fixture
def grid(tmp_path) -> Iterator[Grid]:
    (tmp_path / "grid").mkdir()
    made = Grid(tmp_path / "grid")
    made.open()
    try:
        yield made
    finally:
        made.close()


def study_at(folder: Path, name: str) -> Path:
    (folder / f"{name}.study.key").write_text(KEY.hex())
    return folder / f"{name}.study"


LONG = {"replicates": 400}


def in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a small sweep consist of many batches, and the results of each message stored by themselves."""
    monkeypatch.setattr("engine.sweeps.workers.BATCH_SIZE", 60)
    monkeypatch.setattr("engine.sweeps.workers.BATCH_STEPS", 0)
    monkeypatch.setattr("engine.sweeps.runner.AT_MOST", 0.0)


@pytest.mark.slow
def test_an_encrypted_cluster(tmp_path, monkeypatch):
    """Dask's own configuration names the certificates, for the sweep as for the cluster, whose processes load all they
    need themselves."""
    import dask
    import distributed  # noqa: F401 (its defaults would go with the settings below, were they loaded among them)

    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with; install the package openssl")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*command, "-keyout", "key.pem", "-out", "cert.pem"], cwd=tmp_path, check=True, capture_output=True)
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    for role in ("SCHEDULER", "WORKER"):
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT", cert)
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY", key)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", cert)
    (tmp_path / "grid").mkdir()
    grid = Grid(tmp_path / "grid", forked.start_anew)
    try:
        grid.open("tls")
        grid.add()
        tls = "distributed.comm.tls."
        with (
            dask.config.set({tls + "ca-file": cert, tls + "client.cert": cert, tls + "client.key": key}),
            sweep(RAW, plan_of(), study_at(tmp_path, "c"), cluster=grid.address) as study,
        ):
            found = table_of(study)
    finally:
        grid.close()
    with sweep(RAW, plan_of(), study_at(tmp_path, "one"), workers=1) as study:
        assert found == table_of(study)


def rechecked_and_measured(folder: Path, where: Sequence[str]) -> tuple[list[tuple], bytes, list[str]]:
    """Runs, fresh runs and measures of a study after the three commands that draw, all working ``where`` is said."""
    folder.mkdir()
    data, study = str(folder / "d.csv"), str(study_at(folder, "s"))
    columns = [column.values.take(pa.array(column.codes)).to_pylist() for column in RAW.columns.values()]
    lines = [",".join(RAW.names), *map(",".join, zip(*columns, strict=True))]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    assert main(["sweep", data, "--study", study, "--rates", "0.1,0.5", "--swap-sizes", "1", *where]) == 0
    with Study.open(study) as swept:
        chosen = [text for scenario in swept.scenarios[1:3] for text in ("--candidate", scenario.label)]
    assert main(["recheck", study, "--data", data, "--replicates", "300", *chosen, *where]) == 0
    assert main(["measure", study, "--data", data, "--measures", "false_zeros,k_anonymity", *where]) == 0
    with Study.open(study) as done:
        fresh = done.runs.results("fresh")
        return table_of(done), fresh.replicate.tobytes() + fresh.values.tobytes(), list(map(str, done.measures))


@pytest.mark.slow
def test_fresh_runs_and_measures_made_on_a_cluster_equal_local_ones(grid, tmp_path):
    grid.add()
    on_cluster = rechecked_and_measured(tmp_path / "c", ["--cluster", grid.address])
    assert on_cluster == rechecked_and_measured(tmp_path / "one", ["--workers", "1"])
    assert on_cluster[2][-2:] == ["false_zeros", "k_anonymity"]
    assert len(on_cluster[1]) == 600 * 8 * (1 + len(on_cluster[2]))
    logs = grid.logs()
    assert b"Registered to" in logs and KEY.hex().encode() not in logs and repr(KEY).encode() not in logs


@pytest.mark.slow
def test_workers_die_and_join_and_the_study_equals_the_serial_one(grid, tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    for _ in range(3):
        grid.add()
    seen: list[tuple[int, int]] = []

    def on_progress(done: int, total: int) -> None:
        if done > 500 and len(grid.workers) == 3:
            grid.workers[0].send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
            grid.add()
            until = time.monotonic() + 30  # a busy machine starts it slowly, and the sweep must not be over by then
            while grid.logs().count(b"Registered to") < 4 and time.monotonic() < until:
                time.sleep(0.1)
        seen.append((done, total))

    plan = plan_of(space=LONG)
    with sweep(RAW, plan, study_at(tmp_path, "c"), cluster=grid.address, on_progress=on_progress) as study:
        assert study.progress.state == "finished" and study.progress.done == 8000
        rows = len(study.runs.results())
        found = table_of(study)
    assert grid.workers[0].wait(timeout=10) != 0, "a worker was killed on the way"
    assert seen[0] == (0, 8000) and seen[-1] == (8000, 8000) and len(seen) > 50
    with sweep(RAW, plan, study_at(tmp_path, "one"), workers=1) as study:
        assert found == table_of(study) and rows == 8000
    logs = grid.logs()
    assert logs.count(b"Registered to") >= 4, "the fourth joined while the sweep ran"
    key = stream_keys(a_task(plan, (1,))[1][0], a_task(plan)[0], KEY)[0]
    for secret in (KEY, KEY.hex().encode(), repr(KEY).encode(), key.hex().encode(), repr(key).encode()[:20]):
        assert secret not in logs


@pytest.mark.slow
def test_the_only_worker_dies_with_what_it_knew_and_another_comes(grid, tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    grid.add()

    def on_progress(done: int, total: int) -> None:
        if done and len(grid.workers) == 1:
            grid.workers[0].kill()
            grid.workers[0].wait()
            grid.add()

    # in stages: what is asked of the cluster follows from what it answered
    plan = plan_of(space={"replicates": 100, "swap_sizes": (), "search": True, "budget": 60})
    with sweep(RAW, plan, study_at(tmp_path, "c"), cluster=grid.address, on_progress=on_progress) as study:
        found, fresh = table_of(study), len(study.runs.results("fresh"))
    assert len(grid.workers) == 2
    with sweep(RAW, plan, study_at(tmp_path, "one"), workers=1) as study:
        assert found == table_of(study) and fresh == len(study.runs.results("fresh"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows freezes no process; run the tests on Linux or macOS")
def test_a_frozen_worker_keeps_its_own_bundles_waiting_and_no_others(grid, tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    monkeypatch.setattr(cluster_module, "_SILENT", 2.0)
    for _ in range(2):
        grid.add()
    frozen_at: list[int] = []
    said: list[str] = []
    most = 0

    def on_progress(done: int, total: int) -> None:
        nonlocal most
        most = max(most, done)
        if done and not frozen_at and len(members_of(grid)) == 2:
            frozen_at.append(done)
            grid.workers[0].send_signal(signal.SIGSTOP)

    def announce(text: str) -> None:
        said.append(text)
        if "no worker of the cluster has answered" in text:
            grid.workers[0].send_signal(signal.SIGCONT)

    with sweep(
        RAW,
        plan_of(space=LONG),
        study_at(tmp_path, "c"),
        cluster=grid.address,
        on_progress=on_progress,
        announce=announce,
    ) as s:
        assert s.progress.state == "finished" and frozen_at and most > frozen_at[0]
        found = table_of(s)
    assert any("no worker of the cluster has answered" in text for text in said)
    with sweep(RAW, plan_of(space=LONG), study_at(tmp_path, "one"), workers=1) as study:
        assert found == table_of(study)


def members_of(grid: Grid) -> list[int]:
    """Workers that have joined."""
    return [1] * grid.logs().count(b"Registered to")


@pytest.mark.slow
def test_a_sweep_on_a_cluster_is_cancelled_with_and_without_workers(grid, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "_ALONE", 0.3)
    path = study_at(tmp_path, "c")
    began = time.monotonic()
    ticks = []

    def cancel(done: int, total: int) -> None:
        ticks.append(done)
        if len(ticks) == 3:  # nobody works: time passes all the same
            with Study.open(path) as other:
                other.lease.cancel()

    said: list[str] = []
    with sweep(RAW, plan_of(), path, cluster=grid.address, on_progress=cancel, announce=said.append) as study:
        assert study.progress.state == "cancelled" and study.progress.message == "cancelled by request"
    assert set(ticks) == {0} and time.monotonic() - began < 20
    assert [text for text in said if text.startswith("waiting")] == [
        "waiting for workers: the cluster has none; the sweep goes on when one joins"
    ]
    grid.add()
    with sweep(RAW, None, path, cluster=grid.address) as study:
        assert study.progress.state == "finished" and len(study.runs.results()) == 80


@pytest.mark.slow
def test_a_lost_scheduler_gets_one_sentence_and_nothing_is_lost(grid, tmp_path, monkeypatch):
    in_small_batches(monkeypatch)
    grid.add()
    path = study_at(tmp_path, "c")

    def on_progress(done: int, total: int) -> None:
        if done and grid.scheduler is not None:
            grid.scheduler.kill()
            grid.scheduler.wait()
            grid.scheduler = None

    with pytest.raises(EngineError, match="the cluster's scheduler does not answer any more"):
        sweep(RAW, plan_of(space=LONG), path, cluster=grid.address, on_progress=on_progress)
    with Study.open(path) as study:
        assert study.progress.state == "failed" and 0 < len(study.runs.results()) < 8000
    with suppress(IndexError):
        grid.workers[0].kill()
    with sweep(RAW, None, path, workers=1) as study:
        assert len(study.runs.results()) == 8000


@pytest.mark.slow
def test_a_folder_is_counted_and_swept_on_a_cluster_as_here(grid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_source(tmp_path, "parquet folder", records(900), [100, 300], group=150)
    Path("plan.toml").write_text(
        '[data]\ncarry = ["note", "sex", "income"]\n[[attribute]]\nname = "age"\ncut = [25, 55]\n[[attribute]]\n'
        'name = "job"\non_missing = "level"\n[space]\nrates = [0.1]\nswap_sizes = [1]\nreplicates = 3\n'
        '[measures]\nnames = ["small_cells", "hellinger"]\n'
    )
    grid.add()
    tables = []
    for name, where in (("here.study", ["--workers", "1"]), ("there.study", ["--cluster", grid.address])):
        Path(f"{name}.key").write_text(KEY.hex() + "\n")
        assert main(["sweep", "people", "--plan", "plan.toml", "--study", name, "--after-all", *where]) == 0
        with Study.open(name) as study:
            tables.append((table_of(study), study.about["fingerprint"]))
    assert tables[0] == tables[1]
    assert b"people" not in grid.logs()
