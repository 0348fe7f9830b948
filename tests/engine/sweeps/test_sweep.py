"""A sweep is made ready, run, resumed, rechecked, given more measures or extended; killed, cancelled, interrupted or
out of disk, it goes on.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.cli.main import main
from engine.common.errors import EngineError, UsageError
from engine.common.processes import process_is_alive
from engine.data.domain import EditRule
from engine.data.frames import table_of_frame
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.readers import read_table
from engine.data.io.stream import RecordStream, open_stream
from engine.data.io.writers import write_csv, write_parquet
from engine.data.microdata import RawColumn, RawTable
from engine.mechanisms import MECHANISMS
from engine.mechanisms.key_swaps import RDS
from engine.plan import DataPlan, MechanismPlan, Plan, SpacePlan, plan_from_toml
from engine.plan.coding import code, tabulate, with_seen
from engine.release.scenarios import RunStatus
from engine.study.keys import key_path, read_key
from engine.study.study import Study
from engine.sweeps import probe
from engine.sweeps import runner as results_writer
from engine.sweeps.candidates import scenarios_of
from engine.sweeps.evaluator import question_of
from engine.sweeps.probe import estimate
from engine.sweeps.runner import TimeLeft
from engine.sweeps.sweep import add_measures, plan_problems, recheck, sweep
from tests import forked, needs
from tests.engine.data.io.labelled import write_xpt
from tests.engine.small_studies import RAW, SHAPE, SMALL, end, keyed, plan_of, swept, table_of, wait_for
from tests.hunt import bad_plans, checked_plans
from tests.small_tables import KEY, Small, rows


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    return keyed(tmp_path / "s.study")


def test_a_sweep_is_its_evaluations(path):
    plan = plan_of()
    ticks: list[tuple[int, int]] = []
    said: list[str] = []
    with sweep(RAW, plan, path, workers=1, on_progress=lambda *t: ticks.append(t), announce=said.append) as study:
        results = study.runs.results()
        assert study.progress.state == "finished"
        specs = [s.spec for s in study.scenarios]
        assert len(specs) == 20 and len(results) == 80 == study.progress.done
        asked = question_of(plan, code(RAW, plan))
        wanted = rows(asked, specs, [1, 2, 3, 4])
        got = np.column_stack([results.scenario, results.replicate, results.status, results.changed, results.values])
        assert got.tobytes() == wanted.tobytes()
        assert study.original == asked.original()
        assert study.about["fingerprint"] and study.about["n_records"] == len(SMALL.records)
    assert ticks[0] == (0, 80) and ticks[-1] == (80, 80)


def test_undefined_and_failed_runs_are_kept_as_such(path):
    with sweep(RAW, plan_of(space={"rates": ("0.0001", "1")}), path, workers=1) as study:
        results = study.runs.results()
        assert {RunStatus.NOOP, RunStatus.FAILED} <= set(results.status.tolist())
        assert (results.changed[results.status == RunStatus.NOOP] == 0).all()
        everybody = results.changed == len(SMALL.records)
        assert (np.isnan(results.values[:, 0]) == everybody).all()


def test_edit_failures_are_counted_wherever_rules_are_declared(path):
    """Also when the plan's measures do not name them."""
    edits = (EditRule("never", (("A", ("v0",)), ("B", ("v1",)))),)
    with sweep(RAW, plan_of(edits=edits), path, workers=1) as study:
        assert "edit_failures" in [str(call) for call in study.measures]
        place = study.subject.measure_index("edit_failures")
        before = sum(record[0] == 0 and record[1] == 1 for record in SMALL.records)
        assert study.original["edit_failures"] == before
        assert study.runs.results().values[:, place].min() >= 0


@pytest.mark.slow
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
        assert str(got.value).endswith("; give the records that were swept, in their order and with all their columns")
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


def test_an_estimate_adds_up_over_mechanisms_and_parts(monkeypatch):
    """With a second for each candidate of a swap and ten for each of another mechanism."""
    monkeypatch.setattr(probe, "_each", lambda _, chosen, *__: (0.0, 1.0 if chosen[0].structure else 10.0))
    monkeypatch.setattr(probe, "default_workers", lambda *_: 1)
    monkeypatch.setattr(probe, "_STARTED", 0.0)
    data = code(RAW, plan_of())
    assert estimate(plan_of(), data)[1] == pytest.approx(80, rel=1e-3)
    known, _ = scenarios_of(plan_of(), data)
    assert estimate(plan_of(), data, specs=known[::4], total=len(known))[1] == pytest.approx(80, rel=1e-3)
    both = replace(plan_of(), keys=("A", "B"), mechanisms=(MechanismPlan("random_swap"), MechanismPlan("dds")))
    assert estimate(both, data)[1] == pytest.approx(80 + 10 * plan_of().space.replicates, rel=1e-3)


def test_measures_are_asked_once_however_written(path):
    plan = plan_of(measures=("small_cells[n_rule=3]", "hellinger", "small_cells"))
    with sweep(RAW, plan, path, workers=1) as study:
        assert [str(call) for call in study.measures] == ["small_cells", "hellinger"]
        assert study.runs.results().values.shape[1] == 2


@pytest.mark.slow
def test_runs_over_records_are_reported_a_few_at_a_time_and_fitted_once(path, monkeypatch):
    plan = plan_of(keys=("A",), mechanisms=(MechanismPlan.of("rds", {"s": ["1000"]}),), space={"replicates": 20})
    fits, ticks = [], []
    monkeypatch.setattr(results_writer, "AT_MOST", 0)

    def counted(setting):
        fits.append(1)
        return RDS.prepare(setting)

    monkeypatch.setitem(MECHANISMS._registered, "rds", replace(RDS, prepare=counted))  # it goes before the package's
    sweep(RAW, plan, path, workers=1, on_progress=lambda done, _: ticks.append(done)).close()
    assert ticks[0] == 0 and ticks[-1] == 20
    assert 0 < max(b - a for a, b in pairwise(ticks)) <= 4
    assert len(fits) == 2  # on trial beforehand, and for all runs


@pytest.mark.slow
def test_a_study_records_which_columns_only_a_pattern_covered(tmp_path: Path) -> None:
    plan = Plan(DataPlan(plan_of().attributes[:3], carry=("*",)), space=plan_of().space)
    with pytest.raises(UsageError, match="that the plan does not name, and only a pattern covers"):
        sweep(RAW, plan, tmp_path / "a.study", workers=1)
    decided = replace(plan, data=with_seen(plan.data, RAW.names))
    with sweep(RAW, decided, tmp_path / "a.study", workers=1) as study:
        assert study.plan.data.seen == tuple(RAW.names[3:])
        grown = study.plan
    with sweep(RAW, plan, tmp_path / "a.study", workers=1) as study:
        assert study.plan.data.seen == grown.data.seen, "a plan that says nothing of it goes on with the study"


BAD = {
    "outcome": '[[analysis]]\nname = "a"\nformula = "A ~ x"\nfamily = "logistic"',
    "code": '[[analysis]]\nname = "a"\nformula = "x ~ __import__(\'os\')"',
    "mechanism": '[[mechanism]]\nname = "nobody"',
    "parameter": '[[mechanism]]\nname = "pram"\ntheta = "2"',
    "measure": '[measures]\nnames = ["small_cells", "hellinger", "nobody"]',
    "measure's parameter": '[measures]\nnames = ["small_cells[n_rule=0]", "hellinger"]',
    "measure's attributes": '[measures]\nnames = ["small_cells[attributes=nobody]", "hellinger"]',
    "search": '[measures]\nnames = ["small_cells"]',
}


@pytest.mark.parametrize("what", BAD)
def test_what_a_sweep_refuses_the_check_refuses_in_the_same_words(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, data, study = tmp_path / "plan.toml", tmp_path / "data.csv", tmp_path / "new.study"
    rest = bad_plans.REST if what != "search" else '[space]\nrates = ["0.1"]\nsearch = true\nreplicates = 4\n'
    plan.write_text(f"{bad_plans.BASE}\n{BAD[what]}\n{rest}")
    data.write_text(bad_plans.DATA)
    assert main(["sweep", str(data), "--plan", str(plan), "--study", str(study), "--workers", "1"]) in (1, 2)
    refused = capsys.readouterr().err.strip().splitlines()[-1].removeprefix("frontier: ")
    assert not study.exists()
    assert main(["plan", "check", str(plan), "--data", str(data)]) == 1
    assert capsys.readouterr().out.strip().splitlines()[-1] == refused


SLOWER = ("sav", "dta", "xpt", "frame", "streamed csv", "streamed parquet")
READERS = ("csv", "parquet", *(pytest.param(reader, marks=pytest.mark.slow) for reader in SLOWER))
PLAN = """
[data]
weight = "wt"
unit = "hid"
numeric = ["pay"]
carry = ["pay"]
[[attribute]]
name = "region"
[[attribute]]
name = "place"
[[attribute]]
name = "sex"
[[mechanism]]
name = "trs"
rate = ["0.1"]
hierarchy = "region+place"
"""
COLUMNS: dict[str, list[Any]] = {
    "region": ["n", "n", "n", "n", "s", "s", "s", "s"] * 5,
    "place": ["a", "a", "b", "b", "c", "c", "d", "d"] * 5,
    "hid": [f"h{i // 2}" for i in range(40)],
    "sex": ["f", "m"] * 20,
    "wt": [1.5, 2.0, 2.5, 0.0] * 10,
    "pay": [float(100 * i) for i in range(40)],
}


def read_by(reader: str, folder: Path, columns: Mapping[str, list[Any]]) -> RawTable | RecordStream:
    table = {name: pa.array(values) for name, values in columns.items()}
    form = reader.split()[-1]
    if form == "frame":
        return table_of_frame(pa.table(table).to_pandas())
    path = folder / f"people.{form}"
    writers: dict[str, Callable[..., object]] = {
        "csv": write_csv,
        "parquet": write_parquet,
        "sav": write_sav,
        "dta": write_dta,
        "xpt": write_xpt,
    }
    writers[form](path, table)
    return open_stream(path) if reader != form else read_table(path)


def with_values(name: str, **values: Any) -> dict[str, list[Any]]:
    """The columns with some values of one changed, by ``r`` and the number of the record."""
    changed = dict(enumerate(COLUMNS[name], 1)) | {int(key[1:]): value for key, value in values.items()}
    return {**COLUMNS, name: list(changed.values())}


def as_text(name: str, **values: Any) -> dict[str, list[Any]]:
    columns = with_values(name, **values)
    return {**columns, name: [str(value) for value in columns[name]]}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (COLUMNS, None),
        (with_values("wt", r3=-1.0, r9=-2.5), "'wt', which is negative in 2 records (first: record 3) of 40"),
        (
            with_values("wt", r4=None, r5=-1.0),
            "is missing in 1 record (first: record 4) and negative in 1 record (first",
        ),
        (as_text("wt", r7="none"), "which is not a finite number in 1 record (first: record 7) of 40"),
        (as_text("wt", r7="inf", r8="-inf"), "which is not a finite number in 2 records (first: record 7)"),
        (as_text("wt", r2="NA"), "which is missing in 1 record (first: record 2)"),
        ({**COLUMNS, "wt": [0.0] * 40}, "weight names column 'wt', which is 0 in every record"),
        ({**COLUMNS, "wt": ["x"] * 40}, "weight names column 'wt', which holds no numbers"),
        (with_values("hid", r5=None, r6=None), "column 'hid' has 2 missing values (first: record 5)"),
        (with_values("hid", r5="NA", r6="  "), "column 'hid' has 2 missing values (first: record 5)"),
        (with_values("place", r2="b"), "'place' differs between members of 1 household"),
        (as_text("pay", r6="plenty"), "column 'pay' is no number in 1 of 40 records (first: record 6)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_content_is_refused_whatever_read_it(
    reader: str, columns: Mapping[str, list[Any]], said: str | None, tmp_path: Path, quick_readers: None
) -> None:
    plan, source = plan_from_toml(PLAN), read_by(reader, tmp_path, columns)
    if not isinstance(source, RawTable):
        if said is not None and "wt" not in said:
            return  # streamed records have no household and no analysis, so there is nothing to refuse
        plan = replace(plan, mechanisms=(), data=replace(plan.data, unit=None, numeric=(), carry=("pay", "hid")))
    problems = plan_problems(plan, tabulate(source, plan))
    assert len(problems) == (said is not None), problems
    assert all(str(said) in problem for problem in problems)


@pytest.mark.parametrize("reader", ["csv", "parquet"])
def test_weights_without_a_finite_sum_are_refused(reader: str, tmp_path: Path) -> None:
    source = read_by(reader, tmp_path, {**COLUMNS, "wt": [1e308] * 40})
    (problem,) = plan_problems(plan_from_toml(PLAN), tabulate(source, plan_from_toml(PLAN)))
    assert problem.startswith("weight names column 'wt', whose values are so large")


@pytest.mark.slow
def test_generated_plans_are_checked_as_they_are_swept() -> None:
    outcomes = list(checked_plans.trials(random.Random(7), 40))
    assert [detail for verdict, detail in outcomes if verdict not in ("accepted", "refused")] == []
    assert {verdict for verdict, _ in outcomes} == {"accepted", "refused"}


def test_fresh_replicates_are_others_than_the_sweeps(tmp_path):
    with sweep(RAW, plan_of(), keyed(tmp_path / "s.study"), workers=1) as study:
        recheck(study, RAW, KEY, [0, 3], 5)
        fresh = study.runs.results("fresh")
        assert set(fresh.scenario.tolist()) == {0, 3} and fresh.replicate.min() > 1_000_000 and len(fresh) == 10
        assert len(study.runs.results()) == 80
        with pytest.raises(UsageError, match="replicates == 1, must be at least 2 for a standard error"):
            recheck(study, RAW, KEY, [0], 1)
        with pytest.raises(UsageError, match="the key is not the one"):
            recheck(study, RAW, bytes(16), [0], 2)


@pytest.mark.slow
def test_progress_and_time_left_are_told(tmp_path):
    done: list[tuple[int, int]] = []
    left: list[TimeLeft | None] = []
    with sweep(RAW, plan_of(), keyed(tmp_path / "s.study"), workers=1) as study:
        recheck(study, RAW, KEY, [0], 2)
        recheck(study, RAW, KEY, [0, 3], 500, on_progress=lambda *tick: done.append(tick), on_time_left=left.append)
    assert done[-1] == (1000, 1000) and done[0][0] > 2
    first, *_, last = left
    assert len(done) > 1 and first and last and first.seconds > 0 == last.seconds


@pytest.mark.slow
def test_measures_added_later_keep_their_columns(path, tmp_path):
    """Edit failures are counted without being named, so the order of the plan is not that of the columns."""
    edits = (EditRule("never", (("A", ("v0",)), ("B", ("v1",)))),)
    with sweep(RAW, plan_of(edits=edits, space={"replicates": 2}), path, workers=1) as study:
        assert add_measures(study, RAW, KEY, ["false_zeros", "hellinger"], workers=1) == ["false_zeros"]
    with sweep(RAW, None, path, workers=1) as study:
        grown = replace(study.plan, space=replace(study.plan.space, replicates=4))
    with sweep(RAW, grown, path, workers=1, extend=True) as study:
        names = [str(call) for call in study.measures]
        results = study.runs.results()
        recheck(study, RAW, KEY, [0], 2)
        fresh = study.runs.results("fresh")
    assert names[-2:] == ["edit_failures", "false_zeros"] and len(results) == 80
    at_once = plan_of(edits=edits, measures=(*plan_of().measures, "edit_failures", "false_zeros"))
    with sweep(RAW, at_once, keyed(tmp_path / "whole.study"), workers=1) as whole:
        assert [str(call) for call in whole.measures] == names
        assert whole.runs.results().values.tobytes() == results.values.tobytes()
        recheck(whole, RAW, KEY, [0], 2)
        assert whole.runs.results("fresh").values.tobytes() == fresh.values.tobytes()


@pytest.mark.slow
def test_measures_given_up_half_way_leave_the_study_as_it_was(path):
    with sweep(RAW, plan_of(), path, workers=1) as study:
        before = table_of(study)
        with pytest.raises(EngineError, match="cancelled; the study is as it was before"):
            add_measures(study, RAW, KEY, ["false_zeros"], workers=1, on_progress=lambda *_: study.lease.cancel())
        assert table_of(study) == before
        recheck(study, RAW, KEY, [0], 2)
    assert set(before) < set(swept(path, plan_of(space={"replicates": 5}), extend=True))
    with Study.open(path) as study:
        assert add_measures(study, RAW, KEY, ["false_zeros"], workers=1) == ["false_zeros"]
        place = study.subject.measure_index("false_zeros")
        assert not np.isnan(study.runs.results().values[:, place]).any()
        assert not np.isnan(study.runs.results("fresh").values[:, place]).any()


@pytest.mark.slow
def test_extending_gives_the_rows_of_asking_at_once(path, tmp_path):
    small = swept(path, plan_of(space={"swap_sizes": (1,), "rates": ("0.1",), "replicates": 2}))
    with Study.open(path) as study:
        labels = [scenario.label for scenario in study.scenarios]
    rates = swept(path, plan_of(space={"swap_sizes": (1,), "replicates": 2}), extend=True)
    sizes = swept(path, plan_of(space={"replicates": 2}), extend=True)
    whole = swept(path, plan_of(), extend=True)
    assert len(small) < len(rates) < len(sizes) < len(whole) == 80
    assert set(small) < set(rates) < set(sizes) < set(whole)
    assert swept(keyed(tmp_path / "whole.study"), plan_of()) == whole
    with Study.open(path) as study:
        assert [scenario.label for scenario in study.scenarios][: len(labels)] == labels, "ids given once stay"
        assert study.plan == plan_of()
    assert swept(path) == whole, "nothing left to do"


@pytest.mark.slow
def test_extending_from_specs_to_all_of_them(path):
    some = plan_of(space={"swap_sizes": (), "specs": ("A:S B:F C:C", "D:S")})
    every = plan_of(space={"swap_sizes": (), "all_specs": True, "replicates": 4})
    first = swept(path, some)
    assert set(first) < set(swept(path, every, extend=True))


@pytest.mark.slow
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
        ({"space": {"rates": ("0.1", "0.2", "0.5")}}, "space.rates: the study has 0.1, 0.5, asked 0.1, 0.2, 0.5. More"),
        ({"space": {"replicates": 5}}, "space.replicates: the study has 4, asked 5. More of the same can be added"),
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


@pytest.mark.slow
def test_extending_refuses_less_and_other(path):
    swept(path, plan_of())
    for parts, words in (
        ({"space": {"replicates": 3}}, "space.replicates: the study has 4, asked 3"),
        ({"space": {"rates": ("0.1",)}}, "a study is only added to; the new plan leaves out 10 of its scenarios"),
        ({"space": {"rule": "loose"}}, "space.rule: the study has strict, asked loose"),
        ({"keys": ("A",)}, "keys: the study has A, B, C, D, asked A"),
    ):
        with pytest.raises(UsageError) as got:
            swept(path, plan_of(**parts), extend=True)
        assert words in str(got.value) and "can be added" not in str(got.value)
    with Study.open(path) as study:
        assert study.plan == plan_of() and len(study.runs.results()) == 80


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
