"""A sweep on a real Dask cluster of separate processes, and what may never reach one."""

from __future__ import annotations

import builtins
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine import cluster as cluster_module
from engine.candidates import group
from engine.cluster import Errand, Loaded, check_address, members, versions, work
from engine.errors import EngineError, UsageError
from engine.evaluator import Evaluator, question, stream_keys
from engine.io.recode import code
from engine.microdata import RawColumn, RawTable
from engine.plan import MechanismPlan
from engine.study import Study
from engine.sweep import sweep
from tests.engine.sweeps import RAW, plan_of, table_of
from tests.small_tables import KEY

ROOT = Path(__file__).parents[2]


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
    """A client that knows these members."""

    scheduler: str
    workers: tuple[str, ...] = ()

    def scheduler_info(self) -> dict:
        return {"address": self.scheduler}

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 2)


def test_no_unencrypted_member_may_be_elsewhere():
    assert members(Known("tls://10.0.0.1:1", ("tls://10.0.0.2:1",))) == {"tls://10.0.0.2:1": 2}
    assert members(Known("tcp://127.0.0.1:1", ("tcp://127.0.0.1:2", "tcp://127.0.0.1:3"))).keys()
    for known in (Known("tcp://10.0.0.1:1"), Known("tcp://127.0.0.1:1", ("tcp://127.0.0.1:2", "tcp://10.0.0.2:1"))):
        with pytest.raises(EngineError, match="is not encrypted and listens to other hosts"):
            members(known)


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
    with pytest.raises(UsageError, match=r"--cluster needs the package 'distributed'; install it with `pip install"):
        sweep(RAW, plan_of(), tmp_path / "s.study", cluster="tcp://127.0.0.1:1")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


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
    asked = question(plan, data)
    packed = pickle.dumps(Loaded(asked))
    again = pickle.loads(packed).question
    assert again.data is None and b"LEVELA0" in packed, "levels are needed, records are not"
    assert b"SECRET" not in packed and b"Microdata" not in packed and b"RawTable" not in packed
    arrays = [value for value in vars(again.table).values() if isinstance(value, np.ndarray)]
    assert arrays and all(len(array) != raw.n_records for array in arrays)
    assert max(map(len, arrays)) == len(data.table) < raw.n_records
    for column in data.codes:
        assert np.ascontiguousarray(column).tobytes() not in packed
    # the same check sees records where a mechanism needs them
    with_records = question(replace(plan, mechanisms=(MechanismPlan.of("rds", {"s": "3"}),)), data)
    assert b"SECRET" in pickle.dumps(Loaded(with_records))


def a_task(plan, replicates=(1, 2)):
    asked = question(plan, code(RAW, plan))
    from engine.candidates import scenarios_of

    specs, _ = scenarios_of(plan, code(RAW, plan))
    return asked, [(one, replicates) for one in group(list(enumerate(specs)), asked.table)]


def test_an_errand_carries_derived_keys_and_never_shows_them():
    asked, bundle = a_task(plan_of())
    keys = [stream_keys(task, asked, KEY) for task in bundle]
    errand = Errand(bundle, keys)
    packed = pickle.dumps((errand, Loaded(asked)))
    assert KEY not in packed and KEY.hex().encode() not in packed
    assert all(one in packed for task in keys for one in task)
    assert repr(errand) == f"<{len(bundle)} tasks>" == str(errand) and repr(Loaded(asked)) == "<question>"
    assert "b'" not in repr((errand, Loaded(asked)))


@pytest.mark.parametrize("mechanisms", [(), (MechanismPlan.of("rds", {"s": ["3", "9"]}),)])
def test_derived_keys_do_what_the_study_key_does(mechanisms):
    asked, bundle = a_task(plan_of(mechanisms=mechanisms))
    wanted = Evaluator(asked, KEY).run_all(bundle)
    loaded = pickle.loads(pickle.dumps(Loaded(asked)))
    got = work(loaded, Errand(bundle, [stream_keys(task, asked, KEY) for task in bundle]), versions())
    assert not isinstance(got, str)
    assert got.rows.tobytes() == wanted.rows.tobytes() and got.notes == wanted.notes


def test_a_worker_says_what_is_wrong_without_showing_anything():
    asked, bundle = a_task(plan_of())
    assert work(Loaded(asked), Errand(bundle, []), "swap-frontier 0") == (
        f"a worker of the cluster has {versions()}; wanted swap-frontier 0"
    )
    assert work(Loaded(asked), Errand(bundle, []), versions()) == "a worker of the cluster failed with IndexError"


# -- a real one ------------------------------------------------------------------------------------------------------


@dataclass
class Grid:
    """A scheduler and workers, each a process of its own, all on this machine."""

    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = open(self.folder / f"{what}{len(self.workers)}.log", "wb")  # noqa: SIM115 (the process goes on writing)
        command = [sys.executable, "-m", "distributed.cli.dask_" + what, *arguments]
        with log:
            return subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=log, stderr=subprocess.STDOUT
            )

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


@pytest.mark.slow
def test_an_encrypted_cluster(tmp_path, monkeypatch):
    """Dask's own configuration names the certificates, for the sweep as for the cluster."""
    import dask

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
    grid = Grid(tmp_path / "grid")
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


@pytest.mark.slow
def test_workers_die_and_join_and_the_study_equals_the_serial_one(grid, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.workers.TASK", 60)
    for _ in range(3):
        grid.add()
    seen: list[tuple[int, int]] = []

    def tick(done: int, total: int) -> None:
        if done > 500 and len(grid.workers) == 3:
            grid.workers[0].send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
            grid.add()
            until = time.monotonic() + 30  # a busy machine starts it slowly, and the sweep must not be over by then
            while grid.logs().count(b"Registered to") < 4 and time.monotonic() < until:
                time.sleep(0.1)
        seen.append((done, total))

    plan = plan_of(space=LONG)
    with sweep(RAW, plan, study_at(tmp_path, "c"), cluster=grid.address, tick=tick) as study:
        assert study.progress.state == "finished" and study.progress.done == 8000
        rows = len(study.results())
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
    monkeypatch.setattr("engine.workers.TASK", 60)
    grid.add()

    def tick(done: int, total: int) -> None:
        if done and len(grid.workers) == 1:
            grid.workers[0].kill()
            grid.workers[0].wait()
            grid.add()

    # in stages: what is asked of the cluster follows from what it answered
    plan = plan_of(space={"replicates": 100, "swap_sizes": (), "search": True, "budget": 60})
    with sweep(RAW, plan, study_at(tmp_path, "c"), cluster=grid.address, tick=tick) as study:
        found, fresh = table_of(study), len(study.results("fresh"))
    assert len(grid.workers) == 2
    with sweep(RAW, plan, study_at(tmp_path, "one"), workers=1) as study:
        assert found == table_of(study) and fresh == len(study.results("fresh"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows freezes no process; run the tests on Linux or macOS")
def test_a_frozen_worker_keeps_its_own_bundles_waiting_and_no_others(grid, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.workers.TASK", 60)
    monkeypatch.setattr(cluster_module, "_SILENT", 2.0)
    for _ in range(2):
        grid.add()
    frozen_at: list[int] = []
    said: list[str] = []
    most = 0

    def tick(done: int, total: int) -> None:
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
        RAW, plan_of(space=LONG), study_at(tmp_path, "c"), cluster=grid.address, tick=tick, announce=announce
    ) as s:
        assert s.progress.state == "finished" and frozen_at and most > frozen_at[0]
        found = table_of(s)
    assert any("no worker of the cluster has answered" in text for text in said)
    with sweep(RAW, plan_of(space=LONG), study_at(tmp_path, "one"), workers=1) as study:
        assert found == table_of(study)


def members_of(grid: Grid) -> list[int]:
    """Workers that have joined."""
    return [1] * grid.logs().count(b"Registered to")


SWEPT = """
import sys
import engine.workers
from engine.sweep import sweep
from tests.engine.sweeps import RAW, plan_of
from engine.errors import EngineError

engine.workers.TASK = 60
if __name__ == "__main__":
    try:
        sweep(RAW, plan_of(space={"replicates": 400}), sys.argv[1], cluster=sys.argv[2],
              tick=lambda done, total: print(done, flush=True)).close()
    except EngineError as error:
        print(error, file=sys.stderr)
"""


@pytest.mark.slow
def test_a_killed_scheduler_makes_the_library_say_nothing(grid, tmp_path):
    grid.add()
    script = tmp_path / "swept.py"
    script.write_text(SWEPT)
    process = subprocess.Popen(
        [sys.executable, str(script), str(study_at(tmp_path, "c")), grid.address],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and grid.scheduler
    next(line for line in process.stdout if int(line))
    grid.scheduler.kill()
    grid.scheduler.wait()
    grid.scheduler = None
    assert process.communicate(timeout=60)[1] == cluster_module._LOST + "\n"


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
                other.cancel()

    said: list[str] = []
    with sweep(RAW, plan_of(), path, cluster=grid.address, tick=cancel, announce=said.append) as study:
        assert study.progress.state == "cancelled" and study.progress.message == "cancelled by request"
    assert set(ticks) == {0} and time.monotonic() - began < 20
    assert [text for text in said if text.startswith("waiting")] == [
        "waiting for workers: none is at the cluster; the sweep goes on when one joins"
    ]
    grid.add()
    with sweep(RAW, None, path, cluster=grid.address) as study:
        assert study.progress.state == "finished" and len(study.results()) == 80


@pytest.mark.slow
def test_a_lost_scheduler_gets_one_sentence_and_nothing_is_lost(grid, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.workers.TASK", 60)
    grid.add()
    path = study_at(tmp_path, "c")

    def tick(done: int, total: int) -> None:
        if done and grid.scheduler is not None:
            grid.scheduler.kill()
            grid.scheduler.wait()
            grid.scheduler = None

    with pytest.raises(EngineError, match="the cluster's scheduler does not answer any more"):
        sweep(RAW, plan_of(space=LONG), path, cluster=grid.address, tick=tick)
    with Study.open(path) as study:
        assert study.progress.state == "failed" and 0 < len(study.results()) < 8000
    with suppress(IndexError):
        grid.workers[0].kill()
    with sweep(RAW, None, path, workers=1) as study:
        assert len(study.results()) == 8000
