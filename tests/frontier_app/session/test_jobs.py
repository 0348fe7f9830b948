"""Sweeps as processes: started once, found again, cancelled, resumed, and their complaints kept."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import pytest

from engine.cli.main import build_parser
from engine.common.processes import process_birth
from engine.plan import edit_plan, plan_to_toml, samples
from engine.study.study import Study
from frontier_app.session import jobs, workspace
from frontier_app.session.workspace import Workspace


def prepared(**changes: object) -> Workspace:
    plan = edit_plan(samples.load("czech")[1], **changes)  # type: ignore[arg-type]
    at = workspace.create()
    at.note(data="czech", study="study-1.study")
    at.save_plan(plan_to_toml(plan))
    return at


def wait(at: Workspace, done: Callable[[jobs.Job], bool], seconds: float = 60) -> jobs.Job:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        job = jobs.status(at)
        if done(job):
            return job
        time.sleep(0.05)
    raise AssertionError(f"still {jobs.status(at)}")


def test_nothing_yet():
    assert jobs.status(workspace.create()).state == "none"
    assert jobs.status(prepared()).state == "none"


def test_a_later_process_with_the_number_of_an_ended_one_is_not_taken_for_it(swept: Callable[..., Workspace]):
    """This process stands for the one that has the number now: it would be waited for until the machine is started
    anew."""
    at, began = swept(), process_birth(os.getpid())
    for born, busy in ((began, True), (f"{began}7", False)):
        noted = {"pid": os.getpid(), "born": born}
        at.keep("job.json", json.dumps({**noted, "at": time.time() + 9}))
        at.keep("recheck.json", json.dumps({**noted, "labels": ["x"], "replicates": 2}))
        at.keep("export.json", json.dumps({**noted, "out": "x", "tier": "public"}))
        assert (jobs.status(at).busy, jobs.recheck(at)[0], jobs.job(at).state == "running") == (busy, busy, busy)


@pytest.mark.slow
def test_runs_to_the_end_and_a_second_start_does_nothing():
    at = prepared(swap_sizes=[1], rates=["0.1"], replicates=3)
    jobs.start(at)
    first = jobs._noted(at, "job.json")["pid"]
    assert jobs.status(at).busy
    jobs.start(at)
    assert jobs._noted(at, "job.json")["pid"] == first
    job = wait(at, lambda job: not job.busy)
    assert (job.state, job.done, job.total) == ("finished", 18, 18)
    assert (at.folder / "study-1.study.key").stat().st_mode & 0o777 == 0o600


def test_a_stop_before_the_sweep_listens_is_not_lost(monkeypatch: pytest.MonkeyPatch, swept: Callable[..., Workspace]):
    """A sweep that begins to write forgets what was asked of the one before it."""
    at = swept()
    monkeypatch.setattr(jobs, "launch", lambda *_: os.getpid())
    jobs.start(at)
    assert jobs.status(at).state == "starting"
    jobs.cancel(at)
    assert jobs.status(at).state == "stopping"
    assert at.study is not None
    with Study.open(at.study) as study:
        study.acquire_lease(100, 40)
        assert not study.lease.beat(40) and jobs.status(at).state == "stopping" and study.lease.beat(40)
        study.lease.release("cancelled")
    (at.folder / "job.json").unlink()
    assert jobs.status(at).state == "cancelled"


@pytest.mark.slow
def test_cancel_and_resume_lose_nothing():
    at = prepared(all_specs=True, rates=["0.01", "0.1"], replicates=1000)  # tens of seconds
    jobs.start(at)
    wait(at, lambda job: job.done > 0)
    jobs.cancel(at)
    job = wait(at, lambda job: not job.busy)
    assert job.state == "cancelled" and 0 < job.done < job.total
    jobs.start(at)
    again = wait(at, lambda job: job.state == "running" and job.done > 0)
    assert again.done >= job.done
    jobs.stop(at)
    assert not jobs.status(at).busy


@pytest.mark.slow
def test_a_refusal_is_kept_in_the_engines_words():
    at = prepared(rates=["0.1"])
    at.note(data=str(at.folder / "gone.csv"))
    jobs.start(at)
    job = wait(at, lambda job: not job.busy)
    assert job.state == "failed" and job.message == "file 'gone.csv' does not exist; check the spelling and the folder"


def test_a_refusal_comes_whole_in_every_locale(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    at = prepared(rates=["0.1"])
    at.note(data=str(at.folder / "größe.csv"))
    jobs.start(at)
    job = wait(at, lambda job: not job.busy)
    assert job.message == "file 'größe.csv' does not exist; check the spelling and the folder"


def test_typed_words_that_begin_with_a_hyphen_are_no_options(monkeypatch: pytest.MonkeyPatch):
    at = prepared()
    launched: list[list[str]] = []

    def launch(arguments: list[str], *_: object) -> int:
        launched.append(arguments)
        return 0

    monkeypatch.setattr(jobs, "launch", launch)
    jobs.start(at, deviation="-later", by="-A")
    parsed = build_parser().parse_args(launched[0])
    assert (parsed.deviation, parsed.by) == ("-later", "-A")


def test_a_refusal_says_what_to_click():
    at = prepared()
    refusal = {"kind": "error", "text": "no key", "values": {}, "remedy": "KEY_FILE"}
    at.log_path.write_text(json.dumps(refusal) + "\n")
    assert jobs.complaint(at).startswith("no key. Put the file with the key beside the study")


def test_a_traceback_stays_in_the_log():
    at = prepared()
    fault = json.dumps({"kind": "fault", "text": "ValueError", "values": {}})
    at.log_path.write_text(f"Traceback ...\nValueError: could not convert 'Mary Smith'\n{fault}\n")
    assert jobs.complaint(at) == "the sweep ended unexpectedly; its log is in the workspace"


def test_time_left_counts_down_to_the_end_that_the_sweep_foresees(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    assert str(jobs.time_left(jobs.Job("running", 50, 100, ends=1030.0))) == "about 30 s left"
    assert str(jobs.time_left(jobs.Job("running", 50, 100, ends=1030.0, at_most=True))) == "at most 30 s left"
    assert str(jobs.time_left(jobs.Job("running", 50, 100, ends=990.0))) == "about 1 s left"
    assert jobs.time_left(jobs.Job("running", 50, 100)) is None
    assert jobs.time_left(jobs.Job("running", 100, 100, ends=1030.0)) is None


def test_a_running_sweep_says_when_it_ends(swept: Callable[..., Workspace]):
    at = swept()
    assert at.study is not None
    with Study.open(at.study) as study:
        study.acquire_lease(100, 40)
        study.lease.beat(50, 100, 600.0)
        left = jobs.time_left(jobs.status(at))
        assert left is not None and 590 < left.seconds <= 600
        study.acquire_lease(100, 50)  # another start knows nothing of the pace yet
        assert jobs.time_left(jobs.status(at)) is None
        study.lease.release("cancelled")
