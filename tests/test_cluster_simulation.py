"""The simulated cluster of the benchmark: where one part is the limit, its time follows by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks._cluster_simulation import Costs, simulate
from engine.sweeps import cluster as cluster_batches

FREE = Costs(1e-3, 0.0, 0.0, 0.0, 0.0, latency=0.0, row_bytes=0.0)


def test_workers_that_wait_for_nobody_share_the_work():
    for workers in (1, 4, 16):
        made = simulate(FREE, workers, 200_000)
        assert made.wall == pytest.approx(200 / workers, rel=0.05) and made.workers > 0.95 and made.limit == "workers"


def test_the_writer_the_scheduler_and_the_link_are_limits():
    writer = simulate(replace(FREE, row=1e-4), 64, 200_000)
    assert writer.wall == pytest.approx(20, rel=0.1) and writer.limit == "writer"
    link = simulate(replace(FREE, row_bytes=100.0, bandwidth=1e6), 64, 200_000)
    assert link.wall == pytest.approx(20, rel=0.1) and link.limit == "link"
    scheduler = simulate(replace(FREE, row_scheduling=1e-4), 64, 200_000)
    assert scheduler.wall == pytest.approx(20, rel=0.1) and scheduler.limit == "scheduler"


def test_long_messages_cost_the_scheduler_less(monkeypatch):
    dear = replace(FREE, scheduling=0.05)
    long = simulate(dear, 16, 200_000)
    monkeypatch.setattr(cluster_batches, "SECONDS", 0.0)
    short = simulate(dear, 16, 200_000)
    assert short.messages == 500 and short.wall == pytest.approx(25, rel=0.1) and short.limit == "scheduler"
    assert long.messages < 400 and long.wall < short.wall


def test_processes_share_the_processors_of_one_machine():
    made = simulate(FREE, 8, 200_000, cores=2)
    assert made.wall == pytest.approx(100, rel=0.05)
    assert simulate(FREE, 8, 200_000, cores=2) == made
