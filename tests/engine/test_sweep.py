"""Filling a study: complete, resumed after a kill, cancelled, extended, refused."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from engine.candidates import scenarios_of
from engine.errors import EngineError, UsageError
from engine.evaluation import FAILED, NOOP
from engine.evaluator import question
from engine.io.recode import code
from engine.keys import key_path, read_key
from engine.mechanisms import key_swaps
from engine.mechanisms.key_swaps import RDS
from engine.microdata import EditRule
from engine.places import process_is_alive
from engine.plan import MechanismPlan, Plan, SpacePlan
from engine.rerun import add_measures, reevaluate
from engine.study import Study
from engine.sweep import estimate, sweep
from tests.small_tables import KEY, Small, rows

ROOT = Path(__file__).parents[2]
SHAPE = (3, 2, 4, 2)
SMALL = Small(tuple(cell for i, cell in enumerate(product(*map(range, SHAPE))) for _ in range(1 + (7 * i) % 5)), SHAPE)
RAW = SMALL.raw()


def plan_of(**parts) -> Plan:
    space = {"swap_sizes": (1, 2), "rates": ("0.1", "0.5"), "replicates": 4, **parts.pop("space", {})}
    return SMALL.plan(space=SpacePlan(**space), **parts)


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    (tmp_path / "s.study.key").write_text(KEY.hex() + "\n")
    return tmp_path / "s.study"


def table_of(study: Study) -> list[tuple]:
    """All rows with labels in place of places: two studies are the same when these are."""
    results = study.results()
    labels = [scenario.label for scenario in study.scenarios]
    figures = [tuple(np.nan_to_num(row, nan=-9).tolist()) for row in results.values]
    heads = zip(results.scenario, results.replicate, results.status, results.changed, strict=True)
    return sorted((labels[s], int(r), int(t), int(c), *f) for (s, r, t, c), f in zip(heads, figures, strict=True))


def swept(path: Path, plan: Plan | None = None, **how) -> list[tuple]:
    with sweep(RAW, plan, path, **{"workers": 1, **how}) as study:
        return table_of(study)


# -- a whole sweep ---------------------------------------------------------------------------------------------------


def test_a_sweep_is_its_evaluations(path):
    plan = plan_of()
    ticks: list[tuple[int, int]] = []
    said: list[str] = []
    with sweep(RAW, plan, path, workers=1, tick=lambda *t: ticks.append(t), announce=said.append) as study:
        results = study.results()
        assert study.progress.state == "finished"
        specs = [s.spec for s in study.scenarios]
        assert len(specs) == 20 and len(results) == 80 == study.progress.done
        asked = question(plan, code(RAW, plan))
        wanted = rows(asked, specs, [1, 2, 3, 4])
        got = np.column_stack([results.scenario, results.replicate, results.status, results.changed, results.values])
        assert got.tobytes() == wanted.tobytes()
        assert study.original == asked.original()
        assert study.about["fingerprint"] and study.about["n_records"] == len(SMALL.records)
    assert ticks[0] == (0, 80) and ticks[-1] == (80, 80)


@pytest.mark.slow
def test_workers_change_nothing(path, tmp_path):
    plan = plan_of(space={"replicates": 60})
    one = swept(path, plan)
    (tmp_path / "w.study.key").write_text(KEY.hex())
    assert swept(tmp_path / "w.study", plan, workers=2) == one


def test_undefined_and_failed_runs_are_kept_as_such(path):
    with sweep(RAW, plan_of(space={"rates": ("0.0001", "1")}), path, workers=1) as study:
        results = study.results()
        assert {NOOP, FAILED} <= set(results.status.tolist())
        assert (results.changed[results.status == NOOP] == 0).all()
        everybody = results.changed == len(SMALL.records)
        assert (np.isnan(results.values[:, 0]) == everybody).all()


def test_edit_failures_are_counted_wherever_rules_are_declared(path):
    """Also when the plan's measures do not name them."""
    edits = (EditRule("never", (("A", ("v0",)), ("B", ("v1",)))),)
    with sweep(RAW, plan_of(edits=edits), path, workers=1) as study:
        assert "edit_failures" in [str(call) for call in study.measures]
        place = study.measure_place("edit_failures")
        before = sum(record[0] == 0 and record[1] == 1 for record in SMALL.records)
        assert study.original["edit_failures"] == before
        assert study.results().values[:, place].min() >= 0


def test_measures_added_later_keep_their_columns(path, tmp_path):
    """Edit failures are counted without being named, so the order of the plan is not that of the columns."""
    edits = (EditRule("never", (("A", ("v0",)), ("B", ("v1",)))),)
    with sweep(RAW, plan_of(edits=edits, space={"replicates": 2}), path, workers=1) as study:
        assert add_measures(study, RAW, KEY, ["false_zeros", "hellinger"], workers=1) == ["false_zeros"]
    with sweep(RAW, None, path, workers=1) as study:
        grown = replace(study.plan, space=replace(study.plan.space, replicates=4))
    with sweep(RAW, grown, path, workers=1, extend=True) as study:
        names = [str(call) for call in study.measures]
        results = study.results()
        reevaluate(study, RAW, KEY, [0], 2)
        fresh = study.results("fresh")
    assert names[-2:] == ["edit_failures", "false_zeros"] and len(results) == 80
    (tmp_path / "whole.study.key").write_text(KEY.hex())
    at_once = plan_of(edits=edits, measures=(*plan_of().measures, "edit_failures", "false_zeros"))
    with sweep(RAW, at_once, tmp_path / "whole.study", workers=1) as whole:
        assert [str(call) for call in whole.measures] == names
        assert whole.results().values.tobytes() == results.values.tobytes()
        reevaluate(whole, RAW, KEY, [0], 2)
        assert whole.results("fresh").values.tobytes() == fresh.values.tobytes()


def test_measures_given_up_half_way_leave_the_study_as_it_was(path):
    with sweep(RAW, plan_of(), path, workers=1) as study:
        before = table_of(study)
        with pytest.raises(EngineError, match="cancelled; the study is as it was before"):
            add_measures(study, RAW, KEY, ["false_zeros"], workers=1, tick=lambda *_: study.cancel())
        assert table_of(study) == before
        reevaluate(study, RAW, KEY, [0], 2)
    assert set(before) < set(swept(path, plan_of(space={"replicates": 5}), extend=True))
    with Study.open(path) as study:
        assert add_measures(study, RAW, KEY, ["false_zeros"], workers=1) == ["false_zeros"]
        place = study.measure_place("false_zeros")
        assert not np.isnan(study.results().values[:, place]).any()
        assert not np.isnan(study.results("fresh").values[:, place]).any()


# -- killed and resumed ----------------------------------------------------------------------------------------------

SLOW_SWEEP = """
import sys, time
from tests.engine.test_sweep import RAW, plan_of
from engine.sweep import sweep

def tick(done, total):
    print(done, total, flush=True)
    time.sleep(float(sys.argv[3]))

if __name__ == "__main__":
    sweep(RAW, plan_of(space={"replicates": 200}), sys.argv[1], workers=int(sys.argv[2]), tick=tick).close()
"""
FULL = {"replicates": 200}


def start(path: Path, workers: int = 1, pause: float = 0.2) -> subprocess.Popen[str]:
    """A sweep in another process that pauses after every transaction."""
    script = path.with_name("slow_sweep.py")
    script.write_text(SLOW_SWEEP)
    command = [sys.executable, str(script), str(path), str(workers), str(pause)]
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    )


def wait_for(process: subprocess.Popen[str], at_least: int) -> None:
    assert process.stdout
    for line in process.stdout:
        if int(line.split()[0]) >= at_least:
            return
    raise AssertionError("the sweep ended early")


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
@pytest.mark.slow
def test_a_killed_sweep_resumes_where_it_was(path, tmp_path):
    process = start(path)
    try:
        wait_for(process, 1)
        process.send_signal(signal.SIGKILL)
    finally:
        end(process)
    with Study.open(path) as study:
        held = len(study.results())
        assert 0 < held < 4000 and study.progress.state == "cancelled"
    ticks: list[tuple[int, int]] = []
    with sweep(RAW, None, path, workers=1, tick=lambda *t: ticks.append(t)) as study:
        resumed = table_of(study)
        assert study.progress.state == "finished"
    assert ticks[0][0] >= held - 400 and ticks[0][1] == 4000
    (tmp_path / "whole.study.key").write_text(KEY.hex())
    assert resumed == swept(tmp_path / "whole.study", plan_of(space=FULL))
    assert len(resumed) == 4000 == len({row[:2] for row in resumed})


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Workers that a sweep has started (Linux only)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and b"spawn_main" in stat.with_name("cmdline").read_bytes():
                found.append(int(stat.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers under /proc")
def test_a_sweep_of_several_workers_killed_many_times(path, tmp_path):
    for at_least in (1, 1000):
        process = start(path, workers=2, pause=0.1)
        try:
            wait_for(process, at_least)
            left = workers_of(process)
            process.send_signal(signal.SIGKILL)
        finally:
            end(process)
        until = time.monotonic() + 10
        while any(map(process_is_alive, left)) and time.monotonic() < until:
            time.sleep(0.1)
        assert left and not any(map(process_is_alive, left)), "workers outlive their sweep"
    (tmp_path / "whole.study.key").write_text(KEY.hex())
    assert swept(path) == swept(tmp_path / "whole.study", plan_of(space=FULL))


@pytest.mark.slow
def test_readers_beside_the_writer_and_no_second_writer(path):
    process = start(path, pause=0.3)
    try:
        wait_for(process, 1)
        with Study.open(path) as reader:
            first = len(reader.results())
            stamp = reader.stamp()
            assert reader.progress.state == "running" and reader.progress.total == 4000
            with pytest.raises(EngineError, match=rf"another sweep \(process {process.pid}\) is writing 's.study'"):
                swept(path)
            wait_for(process, first + 1)
            assert len(reader.results()) > first and reader.stamp() != stamp
            # cancelled from outside, everything done is kept
            reader.cancel()
        assert process.wait(timeout=30) == 0
        with Study.open(path) as study:
            progress = study.progress
            assert progress.state == "cancelled" and progress.message == "cancelled by request"
            assert first < len(study.results()) == progress.done < 4000
    finally:
        end(process)


def test_an_interrupted_sweep_says_so(path):
    def tick(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(RAW, plan_of(space=FULL), path, workers=1, tick=tick)
    with Study.open(path) as study:
        assert study.progress.state == "cancelled" and study.progress.message == "interrupted"


# -- growing ---------------------------------------------------------------------------------------------------------


def test_extending_gives_the_rows_of_asking_at_once(path, tmp_path):
    small = swept(path, plan_of(space={"swap_sizes": (1,), "rates": ("0.1",), "replicates": 2}))
    with Study.open(path) as study:
        labels = [scenario.label for scenario in study.scenarios]
    rates = swept(path, plan_of(space={"swap_sizes": (1,), "replicates": 2}), extend=True)
    sizes = swept(path, plan_of(space={"replicates": 2}), extend=True)
    whole = swept(path, plan_of(), extend=True)
    assert len(small) < len(rates) < len(sizes) < len(whole) == 80
    assert set(small) < set(rates) < set(sizes) < set(whole)
    (tmp_path / "whole.study.key").write_text(KEY.hex())
    assert swept(tmp_path / "whole.study", plan_of()) == whole
    with Study.open(path) as study:
        assert [scenario.label for scenario in study.scenarios][: len(labels)] == labels, "ids given once stay"
        assert study.plan == plan_of()
    assert swept(path) == whole, "nothing left to do"


def test_extending_from_specs_to_all_of_them(path):
    some = plan_of(space={"swap_sizes": (), "specs": ("A:S B:F C:C", "D:S")})
    every = plan_of(space={"swap_sizes": (), "all_specs": True, "replicates": 4})
    first = swept(path, some)
    assert set(first) < set(swept(path, every, extend=True))


def test_extending_keeps_the_spec_that_was_run_among_those_that_are_the_same(path):
    """Of three attributes, A:S C:S and its complement are the same release; all specs would list another one first."""
    cube = Small(tuple(product(range(2), repeat=3)) * 3, (2, 2, 2))
    few, all_of_them = ({"swap_sizes": (1, 2)}, {"all_specs": True})

    def run(**space) -> list[tuple]:
        plan = cube.plan(space=SpacePlan(rates=("0.1",), replicates=2, **space))
        with sweep(cube.raw(), plan, path, workers=1, extend=True) as study:
            return table_of(study)

    first = run(**few)
    every = run(**all_of_them)
    assert len(first) == 12 and len(every) == 30 and set(first) < set(every)
    assert run(**all_of_them) == every


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"space": {"rates": ("0.1", "0.2", "0.5")}}, "space.rates: the study has 0.1, 0.5, asked 0.1, 0.2, 0.5. Add"),
        ({"space": {"replicates": 5}}, "space.replicates: the study has 4, asked 5. Add --extend to add more"),
        ({"space": {"rule": "loose"}}, "space.rule: the study has strict, asked loose."),
        ({"measures": ("small_cells", "hellinger")}, "measures: the study has small_cells, hellinger, total_variation"),
        ({"keys": ("A",)}, "keys: the study has A, B, C, D, asked A."),
    ],
)
def test_another_plan_is_refused_with_the_difference(path, parts, words):
    swept(path, plan_of())
    with pytest.raises(UsageError) as got:
        swept(path, plan_of(**parts))
    assert "study 's.study' has another plan: " in str(got.value) and words in str(got.value)


def test_extending_refuses_less_and_other(path):
    swept(path, plan_of())
    for parts, words in (
        ({"space": {"replicates": 3}}, "space.replicates: the study has 4, asked 3"),
        ({"space": {"rates": ("0.1",)}}, "--extend only adds to a study; the new plan leaves out 10 of its scenarios"),
        ({"space": {"rule": "loose"}}, "space.rule: the study has strict, asked loose"),
        ({"keys": ("A",)}, "keys: the study has A, B, C, D, asked A"),
    ):
        with pytest.raises(UsageError) as got:
            swept(path, plan_of(**parts), extend=True)
        assert words in str(got.value) and "Add --extend" not in str(got.value)
    with Study.open(path) as study:
        assert study.plan == plan_of() and len(study.results()) == 80


def test_other_data_are_refused(path):
    swept(path, plan_of())
    changed = list(SMALL.records)
    changed[0] = (2, 1, 3, 1)
    for records, words in (
        (tuple(changed), "120 records of 'small', given 120 records of 'other'; the values differ"),
        (SMALL.records[:-1], "120 records of 'small', given 119 records of 'other'"),
        (SMALL.records[::-1], "the values differ"),
    ):
        with pytest.raises(UsageError) as got:
            sweep(Small(records, SHAPE).raw("other"), None, path, workers=1)
        assert "study 's.study' was made on other data" in str(got.value)
        assert words.replace("120", str(len(SMALL.records))).replace("119", str(len(SMALL.records) - 1)) in str(
            got.value
        )


def test_another_key_is_refused(path, tmp_path):
    swept(path, plan_of())
    other = tmp_path / "other.key"
    other.write_text(bytes(16).hex())
    with pytest.raises(UsageError, match=r"the key is not the one that study 's\.study' was made with"):
        swept(path, None, key_file=other)
    key_path(path).unlink()
    with pytest.raises(
        EngineError, match=r"key file 's.study.key' does not exist; without its key a study cannot go on"
    ):
        swept(path)
    assert not key_path(path).exists(), "a study that exists is never given a new key"


def test_what_is_asked_must_make_sense(path):
    with pytest.raises(UsageError, match="a new study needs a plan"):
        sweep(RAW, None, path)
    with pytest.raises(UsageError, match="workers == 0, must be at least 1"):
        sweep(RAW, plan_of(), path, workers=0)
    assert not path.exists()


def test_a_request_that_fails_leaves_nothing_behind(tmp_path):
    flat = Small(((0, 0), (0, 0), (0, 0)), (1, 1))
    with pytest.raises(UsageError, match="no candidate release is possible"):
        sweep(flat.raw(), flat.plan(), tmp_path / "s.study")
    assert list(tmp_path.iterdir()) == []


# -- secrets ---------------------------------------------------------------------------------------------------------


def test_the_key_is_private_and_never_in_the_study(tmp_path):
    path = tmp_path / "new.study"
    swept(path, plan_of())
    file = key_path(path)
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
    key = read_key(file)
    content = b"".join(part.read_bytes() for part in tmp_path.iterdir() if part != file)
    for secret in (key, key.hex().encode(), key.hex().upper().encode(), key[::-1], repr(key).encode()):
        assert secret not in content


def test_no_value_of_a_record_is_in_the_study(path):
    """Levels may stand in the plan only where the plan itself declares them."""
    marked = Small(SMALL.records, SHAPE).raw()
    import pyarrow as pa

    from engine.microdata import RawColumn, RawTable

    secret = {
        name: RawColumn(name, pa.array([f"SECRET{name}{i}" for i in range(len(column.values))]), column.codes)
        for name, column in marked.columns.items()
    }
    sweep(RawTable(secret, marked.n_records, "secret"), plan_of(), path, workers=1).close()
    for part in path.parent.iterdir():
        assert b"SECRET" not in part.read_bytes()
    with sqlite3.connect(path) as db:
        tables = {name for (name,) in db.execute("select name from sqlite_master where type='table'")}
    results = {"scenario", "realisation", "fresh", "aggregate"}
    assert tables == {"about", "run", "note", "decision", "log", "log_seal"} | results
    db.close()


# -- full disk -------------------------------------------------------------------------------------------------------


def test_a_full_disk_gives_one_sentence_and_a_study_that_goes_on(path, monkeypatch):
    whole = plan_of(space={"replicates": 100})
    opened = Study.open

    def small_disk(where):
        study = opened(where)
        study._db.execute("pragma max_page_count = 20")
        return study

    monkeypatch.setattr(Study, "open", small_disk)
    with pytest.raises(EngineError) as got:
        swept(path, whole)
    assert str(got.value) == (
        "study 's.study' could not be written: database or disk is full; "
        "free some space and run the same command again, nothing is lost"
    )
    monkeypatch.undo()
    with Study.open(path) as study:
        held = len(study.results())
        assert study.progress.state in ("failed", "cancelled", "running") and held < 2000
    assert len(swept(path)) == 2000


# -- fresh runs, estimates -------------------------------------------------------------------------------------------


def test_fresh_replicates_are_others_than_the_sweeps(path):
    with sweep(RAW, plan_of(), path, workers=1) as study:
        reevaluate(study, RAW, KEY, [0, 3], 5)
        fresh = study.results("fresh")
        assert set(fresh.scenario.tolist()) == {0, 3} and fresh.replicate.min() > 1_000_000 and len(fresh) == 10
        assert len(study.results()) == 80
        with pytest.raises(UsageError, match="replicates == 1, must be at least 2 for a standard error"):
            reevaluate(study, RAW, KEY, [0], 1)
        with pytest.raises(UsageError, match="the key is not the one"):
            reevaluate(study, RAW, bytes(16), [0], 2)


def test_an_estimate_counts_the_candidates(path):
    candidates, seconds = estimate(plan_of(), code(RAW, plan_of()))
    assert candidates == 80 and 0 < seconds < 60
    known, _ = scenarios_of(plan_of(), code(RAW, plan_of()))
    assert estimate(plan_of(), code(RAW, plan_of()), specs=known)[0] == 80
    few = [spec for spec in known if spec.attributes == known[0].attributes]
    assert estimate(plan_of(), code(RAW, plan_of()), specs=few, total=len(known))[0] == 80


def test_measures_are_asked_once_however_written(path):
    plan = plan_of(measures=("small_cells[n_rule=3]", "hellinger", "small_cells"))
    with sweep(RAW, plan, path, workers=1) as study:
        assert [str(call) for call in study.measures] == ["small_cells", "hellinger"]
        assert study.results().values.shape[1] == 2


def test_runs_over_records_are_reported_a_few_at_a_time_and_fitted_once(path, monkeypatch):
    plan = plan_of(mechanisms=(MechanismPlan.of("rds", {"s": ["3"]}),), space={"replicates": 20})
    fits, ticks = [], []

    def counted(setting):
        fits.append(1)
        return RDS.prepare(setting)

    monkeypatch.setattr(key_swaps, "RDS", replace(RDS, prepare=counted))
    sweep(RAW, plan, path, workers=1, tick=lambda done, _: ticks.append(done)).close()
    assert ticks[0] == 0 and ticks[-1] == 20
    assert 0 < max(b - a for a, b in pairwise(ticks)) <= 4
    assert len(fits) == 2  # on trial beforehand, and for all runs
