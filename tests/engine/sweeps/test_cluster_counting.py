"""The first pass on a Dask cluster: the same values, rows, counts and digest as on this machine alone."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.common.errors import EngineError
from engine.data.io.counting import count, count_unit
from engine.data.io.stream import RecordStream, open_stream
from engine.plan import coding as tabulation
from engine.plan import plan_from_toml
from engine.plan.coding import tabulate
from engine.sweeps import cluster as cluster_counting
from engine.sweeps.cluster import UnitMessage, cluster_counter, count_message, versions
from tests.streamed_sources import records, small_pieces, write_source

PLAN = plan_from_toml(
    '[data]\ncarry = ["note", "sex"]\n[[attribute]]\nname = "age"\n[[attribute]]\nname = "job"\non_missing = "level"\n'
    '[[attribute]]\nname = "income"\ncut = [2000]\n'
)


class TravellingClient:
    """A client whose workers are this process: messages and results travel as bytes."""

    status = "running"

    def get_executor(self, pure: bool) -> TravellingClient:
        return self

    def nthreads(self) -> dict[str, int]:
        return {"tcp://127.0.0.1:1": 2}

    def scheduler_info(self) -> dict[str, str]:
        return {"address": "tcp://127.0.0.1:0"}

    def submit(self, function: Any, message: UnitMessage, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(message)), *arguments))))
        return future


@contextmanager
def travelling(address: str) -> Iterator[TravellingClient]:
    yield TravellingClient()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordStream]:
    monkeypatch.setattr(cluster_counting, "open_client", travelling)
    path = write_source(tmp_path, "parquet folder", records(900), [100, 300], group=150)
    with small_pieces(70, 200, 4096):
        yield open_stream(path)


@pytest.mark.slow
@pytest.mark.parametrize("many", [0, 10_000])
def test_a_pass_on_workers_equals_one_here(source: RecordStream, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabulation, "MANY_ROWS", many)
    here, there = tabulate(source, PLAN), tabulate(source, PLAN, cluster_counter("tcp://127.0.0.1:1"))
    assert here.streamed is not None and there.streamed is not None
    assert here.content_digest() == there.content_digest()
    assert np.array_equal(here.streamed.counts, there.streamed.counts)
    for name in ("age", "job", "income"):
        a, b = here.streamed.rows.columns[name], there.streamed.rows.columns[name]
        assert a.values.equals(b.values)
        assert np.array_equal(a.codes, b.codes)


def test_errors_of_workers_come_back_as_words(source: RecordStream) -> None:
    source.parts[0].path.unlink()
    with pytest.raises(EngineError, match=r"a worker of the cluster: file 'part-000\.parquet' cannot be read again"):
        cluster_counter("tcp://127.0.0.1:1")(source, ("age",), {})


def test_workers_of_another_version_are_refused(source: RecordStream) -> None:
    message = UnitMessage(source, ("age",), source.units()[0], {})
    answer = count_message(message, "swap-frontier 0")
    assert answer == f"a worker of the cluster has {versions()}; wanted swap-frontier 0"


def test_no_log_of_the_cluster_shows_a_path(source: RecordStream) -> None:
    assert repr(UnitMessage(source, ("age",), source.units()[0], {})) == "<a piece of a source>"


def test_the_pieces_of_a_source_are_counted_each_by_itself(source: RecordStream) -> None:
    units = [count_unit(source, ("age",), unit) for unit in source.units()]
    assert len(units) > 3
    assert sum(int(unit.counts.sum()) for unit in units) == int(count(source, ("age",)).counts.sum()) == 900
