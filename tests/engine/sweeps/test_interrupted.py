"""A sweep that is killed, cancelled, interrupted or out of disk, and goes on."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from engine.common.errors import EngineError
from engine.common.processes import process_is_alive
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests import forked, needs
from tests.engine.small_studies import RAW, end, keyed, plan_of, swept, table_of, wait_for


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    return keyed(tmp_path / "s.study")


SLOW_SWEEP = """
import sys, time
from tests.engine.small_studies import RAW, plan_of
from engine.sweeps import runner as results_writer, workers
from engine.sweeps.sweep import sweep

results_writer.AT_MOST = 0  # a transaction for each batch
workers.threads_pay = lambda *_: False  # workers are processes

def on_progress(done, total):
    print(done, total, flush=True)
    time.sleep(float(sys.argv[3]))

if __name__ == "__main__":
    plan = plan_of(space={"replicates": 200})
    sweep(RAW, plan, sys.argv[1], workers=int(sys.argv[2]), on_progress=on_progress).close()
"""
FULL = {"replicates": 200}


def start(path: Path, workers: int = 1, pause: float = 0.2) -> forked.Started:
    """A sweep in another process that pauses after every transaction."""
    script = path.with_name("slow_sweep.py")
    script.write_text(SLOW_SWEEP)
    return forked.start([str(script), str(path), str(workers), str(pause)])


@needs.SIGKILL
@pytest.mark.slow
def test_a_killed_sweep_resumes_where_it_was(path, tmp_path):
    process = start(path)
    try:
        wait_for(process, 1)
        process.send_signal(signal.SIGKILL)
    finally:
        end(process)
    with Study.open(path) as study:
        held = len(study.runs.results())
        assert 0 < held < 4000 and study.progress.state == "cancelled"
    ticks: list[tuple[int, int]] = []
    with sweep(RAW, None, path, workers=1, on_progress=lambda *t: ticks.append(t)) as study:
        resumed = table_of(study)
        assert study.progress.state == "finished"
    assert ticks[0][0] >= held - 400 and ticks[0][1] == 4000
    assert resumed == swept(keyed(tmp_path / "whole.study"), plan_of(space=FULL))
    assert len(resumed) == 4000 == len({row[:2] for row in resumed})


def workers_of(process: forked.Started) -> list[int]:
    """Workers that a sweep has started (Linux only)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and b"spawn_main" in stat.with_name("cmdline").read_bytes():
                found.append(int(stat.parent.name))
    return found


@pytest.mark.slow
@needs.PROC
def test_a_sweep_of_several_workers_killed_many_times(path, tmp_path):
    for at_least in (1, 1000):
        process = start(path, workers=2, pause=0.1)
        try:
            wait_for(process, at_least)
            left = workers_of(process)
            while not left and process.poll() is None:  # what was done before may be enough before they have started
                time.sleep(0.01)
                left = workers_of(process)
            process.send_signal(signal.SIGKILL)
        finally:
            end(process)
        until = time.monotonic() + 10
        while any(map(process_is_alive, left)) and time.monotonic() < until:
            time.sleep(0.1)
        assert left and not any(map(process_is_alive, left)), "workers outlive their sweep"
    assert swept(path) == swept(keyed(tmp_path / "whole.study"), plan_of(space=FULL))


@pytest.mark.slow
def test_readers_beside_the_writer_and_no_second_writer(path):
    process = start(path, pause=0.3)
    try:
        wait_for(process, 1)
        with Study.open(path) as reader:
            first = len(reader.runs.results())
            assert reader.progress.state == "running" and reader.progress.total == 4000
            with pytest.raises(EngineError, match=rf"another sweep \(process {process.pid}\) is writing 's.study'"):
                swept(path)
            wait_for(process, first + 1)
            assert len(reader.runs.results()) > first
            # cancelled from outside, everything done is kept
            reader.lease.cancel()
        assert process.wait(timeout=30) == 0
        with Study.open(path) as study:
            progress = study.progress
            assert progress.state == "cancelled" and progress.message == "cancelled by request"
            assert first < len(study.runs.results()) == progress.done < 4000
    finally:
        end(process)


def test_an_interrupted_sweep_says_so(path):
    def on_progress(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(RAW, plan_of(space=FULL), path, workers=1, on_progress=on_progress)
    with Study.open(path) as study:
        assert study.progress.state == "cancelled" and study.progress.message == "interrupted"


@pytest.mark.slow
def test_a_full_disk_gives_one_sentence_and_a_study_that_goes_on(path, monkeypatch):
    whole = plan_of(space={"replicates": 100})
    opened = Study.open

    def small_disk(where):
        study = opened(where)
        study.database.connection.execute("pragma max_page_count = 20")
        return study

    monkeypatch.setattr(Study, "open", small_disk)
    with pytest.raises(EngineError) as got:
        swept(path, whole)
    assert str(got.value) == (
        "study 's.study' could not be written: the disk is full; "
        "free some space and run the same command again, nothing is lost"
    )
    monkeypatch.undo()
    with Study.open(path) as study:
        held = len(study.runs.results())
        assert study.progress.state in ("failed", "cancelled", "running") and held < 2000
    assert len(swept(path)) == 2000
