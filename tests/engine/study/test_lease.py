"""One writer at a time: who it is, when it counts as gone, and what others may do beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.common.errors import EngineError
from engine.common.processes import hostname, process_birth
from engine.plan.samples import load
from engine.study.keys import key_path, read_key
from engine.study.lease import Writer, WriterTask
from engine.study.ledger import change_plan
from engine.study.study import Study
from engine.sweeps.sweep import add_measures, recheck, sweep
from tests import forked
from tests.engine.small_studies import RAW, keyed, plan_of, swept, table_of
from tests.small_tables import KEY


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    return keyed(tmp_path / "s.study")


def pretend(study: Study, pid: int, born: str, *, host: str = "", silent: float = 0, task: str = "sweep") -> None:
    """Let another process be the writer."""
    with study.database.transaction() as db:
        db.execute(
            "update run set state = ?, pid = ?, host = ?, born = ?, beat = ?, task = ?",
            ("running" if task == "sweep" else "finished", pid, host or hostname(), born, time.time() - silent, task),
        )


def test_a_process_that_got_the_number_of_a_dead_sweep_holds_nothing(path):
    """Its parent stands for the process that has the number now."""
    with sweep(RAW, plan_of(), path, workers=1) as study:
        pretend(study, os.getppid(), process_birth(os.getppid()))
        assert study.progress.state == "running"
        with pytest.raises(EngineError, match=rf"another sweep \(process {os.getppid()}\) is writing 's.study'; wait"):
            study.acquire_lease(10, 0)
        pretend(study, os.getppid(), process_birth(os.getppid()).rpartition(" ")[0] + " 12345")
        assert study.progress.state == "cancelled" and study.lease.writer is None
        study.acquire_lease(10, 0)
        study.lease.release("cancelled")


def test_a_process_that_got_the_number_of_this_one_before_it_holds_nothing(path):
    with sweep(RAW, plan_of(), path, workers=1) as study:
        pretend(study, os.getpid(), process_birth(os.getpid()).rpartition(" ")[0] + " 12345", silent=5)
        assert study.progress.state == "cancelled" and study.lease.writer is None


def test_a_lease_of_which_nobody_knows_more_expires(path):
    """From an earlier version, from another machine, and from before this one was started anew."""
    with sweep(RAW, plan_of(), path, workers=1) as study:
        for pid, born, host, seconds in (
            (os.getppid(), "", "", 600),
            (17, "", "elsewhere", 60),
            (os.getppid(), "another-system/1 7", "", 60),
        ):
            pretend(study, pid, born, host=host, silent=seconds - 5)
            assert study.progress.state == "running", (pid, born)
            pretend(study, pid, born, host=host, silent=seconds + 5)
            assert study.progress.state == "cancelled" and study.lease.writer is None


def test_a_process_is_told_from_a_later_one_with_its_number():
    before = process_birth(os.getpid())
    assert before and before == process_birth(os.getpid())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as later:
        assert process_birth(later.pid) not in ("", before)
    assert process_birth(later.pid) == ""


@pytest.mark.slow
@pytest.mark.parametrize("task", ["sweep", "measure", "recheck"])
def test_every_writer_is_refused_beside_another(path, task):
    before = swept(path, plan_of())
    with Study.open(path) as study:
        pretend(study, os.getppid(), process_birth(os.getppid()), task=task)
        words = rf"another .* \(process {os.getppid()}\) is writing 's.study'; wait for it or cancel it"
        with pytest.raises(EngineError, match=words):
            sweep(RAW, plan_of(space={"replicates": 5}), path, workers=1, extend=True)
        with pytest.raises(EngineError, match=words):
            add_measures(study, RAW, KEY, ["false_zeros"], workers=1)
        with pytest.raises(EngineError, match=words):
            recheck(study, RAW, KEY, [0], 2)
        with pytest.raises(EngineError, match=words):
            study.runs.add([(0, 9, 0, 2, *[0.1] * len(study.measures))])
        assert table_of(study) == before and not len(study.runs.results("fresh"))
        assert study.plan.space.replicates == 4
        # what lies in tables of its own is free
        choice = study.choices.record(study.scenarios[0], 1, "by hand", "small", {})
        assert study.choices.all() == [choice]


@pytest.mark.slow
def test_fresh_runs_asked_for_while_measures_are_added_spoil_nothing(tmp_path):
    path = tmp_path / "s.study"
    raw, plan = load("czech")
    sweep(raw, plan, path, workers=1).close()
    said: list[tuple[int | None, str]] = []

    def on_progress(done: int, total: int) -> None:
        if not said:
            other = forked.start(["-m", "engine", "recheck", str(path), "--data", "czech", "--replicates", "3"])
            said.append((other.wait(120), other.communicate()[1]))

    with Study.open(path) as study:
        add_measures(study, raw, read_key(key_path(path)), ["r1_share"], workers=1, on_progress=on_progress)
    assert said[0][0] == 1 and "Traceback" not in said[0][1]
    assert "another process that adds measures (process" in said[0][1]
    assert main(["recheck", str(path), "--data", "czech", "--replicates", "3"]) == 0
    with Study.open(path) as study:
        assert len(study.runs.results("fresh")) and study.runs.results("fresh").values.shape[1] == len(study.measures)


@pytest.mark.slow
def test_measures_added_to_an_unfinished_study_leave_it_unfinished(path):
    def on_progress(done: int, total: int) -> None:
        if done:
            with Study.open(path) as other:
                other.lease.cancel()

    sweep(RAW, plan_of(space={"replicates": 200}), path, workers=1, on_progress=on_progress).close()
    with Study.open(path) as study:
        before = study.progress
        assert before.state == "cancelled" and 0 < before.done < before.total == 4000
        add_measures(study, RAW, KEY, ["false_zeros"], workers=1)
        recheck(study, RAW, KEY, [0], 2)
        assert study.progress == before
    with sweep(RAW, None, path, workers=1) as study:
        assert study.progress.state == "finished" and len(study.runs.results()) == 4000


@pytest.mark.slow
def test_a_plan_written_while_measures_are_added_stays(path):
    from dataclasses import replace

    swept(path, plan_of())
    with Study.open(path) as study:

        def on_progress(done: int, total: int) -> None:
            with Study.open(path) as other:
                change_plan(other, replace(other.plan, about=replace(other.plan.about, survey="Car workers")))

        add_measures(study, RAW, KEY, ["false_zeros"], workers=1, on_progress=on_progress)
        assert study.plan.about.survey == "Car workers" and "false_zeros" in study.plan.measures


def test_a_writer_whose_lease_was_taken_stops(path):
    """It was silent for so long on another machine that it counted as gone."""
    with sweep(RAW, plan_of(), path, workers=1) as study:
        study.acquire_lease(100, 0)
        pretend(study, os.getppid(), process_birth(os.getppid()))
        with pytest.raises(EngineError, match="another sweep"):
            study.lease.beat(5)
        study.lease.release("finished")
        assert study.progress.state == "running", "the lease of the other stays"


def test_who_is_at_work_is_shown_and_asked_to_stop(path, capsys):
    swept(path, plan_of())
    assert main(["status", str(path)]) == 0
    assert capsys.readouterr().out == "sweep: finished, 80 of 80 runs, 20 scenarios\nat work: nobody\n"
    assert main(["cancel", str(path)]) == 0
    assert capsys.readouterr().out == "nobody is at work; the next command may go on\n"
    with Study.open(path) as study:
        pretend(study, os.getppid(), process_birth(os.getppid()), silent=3, task="recheck")
        assert main(["cancel", str(path)]) == 0
        who = f"a process that makes fresh runs (process {os.getppid()})"
        assert capsys.readouterr().out.startswith(f"asked {who} to stop after its current runs")
        assert study.lease.asked_to_stop
        assert main(["status", str(path)]) == 0
        assert capsys.readouterr().out.endswith(f"at work: {who}; last heard from 3 s ago; it was asked to stop\n")


def test_fresh_runs_stop_when_asked_to(path, monkeypatch):
    swept(path, plan_of())
    monkeypatch.setattr("engine.sweeps.workers.BATCH_SIZE", 1)
    with Study.open(path) as study:
        added = study.runs.add

        def and_cancel(*given, **more):
            study.lease.cancel()
            return added(*given, **more)

        monkeypatch.setattr(study.runs, "add", and_cancel)
        with pytest.raises(EngineError, match="stopped by request; what is done is kept"):
            recheck(study, RAW, KEY, [0, 1], 9)
        monkeypatch.undo()
        assert 0 < len(study.runs.results("fresh")) < 18 and study.lease.writer is None
        recheck(study, RAW, KEY, [0, 1], 9)
        assert len(study.runs.results("fresh")) == 18


def test_every_task_of_a_writer_has_words():
    for task in WriterTask:
        assert str(Writer(task, 7, "elsewhere", 0.0, False)).endswith(" (process 7 on elsewhere)")
