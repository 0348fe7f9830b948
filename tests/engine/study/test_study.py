"""The study file: what is no study, one transaction a change, ids, the one writer, the key beside it."""

from __future__ import annotations

import gc
import os
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.common.processes import hostname
from engine.common.untrusted import sums_of
from engine.plan import SpacePlan
from engine.release.scenarios import RunStatus
from engine.release.spec import ReleaseSpec
from engine.study.keys import key_path, read_key, read_or_make_key, write_key
from engine.study.study import Study
from tests import needs
from tests.examples import examples
from tests.small_tables import Small

OK = RunStatus.OK

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
SPECS = [ReleaseSpec(SMALL.spec(roles), rate) for roles in ("SUU", "USU", "UUS") for rate in ("0.1", "0.2")]
ABOUT = {"attributes": list(SMALL.names), "measures": ["small_cells", "hellinger"], "n_records": 2}


def create(path) -> Study:
    plan = SMALL.plan(space=SpacePlan(swap_sizes=(1,), rates=("0.1", "0.2"), replicates=3))
    study = Study.create(path, plan, ABOUT, {"small_cells": 0.5, "hellinger": 0.0})
    study.scenario_table.add(SPECS)
    return study


@pytest.fixture
def study(tmp_path):
    with create(tmp_path / "s.study") as made:
        yield made


# -- what is no study ------------------------------------------------------------------------------------------------


def empty(path):
    path.write_bytes(b"")


def text(path):
    path.write_text("a,b\n1,2\n")


def folder(path):
    path.mkdir()


def database(path):
    db = sqlite3.connect(path)
    db.execute("create table about (name text)")
    db.close()


def damaged(path):
    path.write_bytes(b"SQLite format 3\x00" + bytes(200))


def newer(path):
    create(path).close()
    db = sqlite3.connect(path)
    db.execute("update about set value = '99' where name = 'format'")
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (None, "study 'x' does not exist; make it by a sweep"),
        (empty, "'x' is no study; a study is made by a sweep"),
        (text, "'x' is no study, or a damaged one (file is not a database); a study is made by a sweep"),
        (folder, "'x' is a folder, not a study"),
        (database, "'x' is a database but no study; a study is made by a sweep"),
        (damaged, "'x' is no study, or a damaged one"),
        (newer, "study 'x' has format 99, this version reads format 2"),
    ],
)
def test_what_is_no_study_is_refused_in_one_sentence(tmp_path, made, words):
    path = tmp_path / "x"
    if made:
        made(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(EngineError) as got:
        Study.open(path)
    assert str(got.value).startswith(words) and "\n" not in str(got.value)
    if made is not newer:
        assert before is None or path.read_bytes() == before, "nothing is written to a file that is not ours"


def test_a_new_study_replaces_nothing(tmp_path):
    text(tmp_path / "x")
    with pytest.raises(UsageError, match="'x' exists already; choose another path"):
        create(tmp_path / "x")
    with pytest.raises(UsageError, match="the folder of 'y' does not exist; make it first"):
        create(tmp_path / "none" / "y")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_study_that_could_not_be_made_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        Study.create(tmp_path / "x", SMALL.plan(), {**ABOUT, "bad": object()}, {})
    assert [path.name for path in tmp_path.iterdir() if path.name == "x"] == []


@needs.PLAIN_USER
def test_a_read_only_study(study):
    study.close()
    study.path.chmod(0o400)
    with Study.open(study.path) as readable:
        assert len(readable.scenarios) == 6
        with pytest.raises(EngineError, match="is read-only; copy it to a folder you may write to"):
            readable.lease.cancel()


# -- scenarios and results -------------------------------------------------------------------------------------------


def test_ids_stay_whatever_is_added(study):
    labels = {s.spec: s.label for s in study.scenarios}
    more = [ReleaseSpec(SMALL.spec(roles), "0.3") for roles in ("SUU", "SFU")]
    study.scenario_table.add([*reversed(SPECS), *more, more[0]])
    assert len(study.scenarios) == 8 and [s.index for s in study.scenarios] == list(range(8))
    assert {s.spec: s.label for s in study.scenarios[:6]} == labels
    assert len({s.label for s in study.scenarios}) == 8
    with Study.open(study.path) as again:
        assert again.scenarios == study.scenarios


def test_results_come_back_as_they_were(study):
    rows = [(1, 2, OK, 4, 0.1, None), (0, 1, OK, 2, 1 / 3, 5e-324), (1, 1, 1, 0, -0.0, 1e300)]
    study.runs.add(rows)
    study.runs.add([(0, 1, 1, 9, 9.0, 9.0)])
    results = study.runs.results()
    assert results.scenario.tolist() == [0, 1, 1] and results.replicate.tolist() == [1, 1, 2]
    assert results.status.tolist() == [OK, 1, OK] and results.changed.tolist() == [2, 0, 4]
    np.testing.assert_array_equal(results.values, [[1 / 3, 5e-324], [0, 1e300], [0.1, np.nan]])
    assert len(study.runs.results("fresh")) == 0
    assert study.original == {"small_cells": 0.5, "hellinger": 0.0}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), unique=True, max_size=20))
@examples(12)
def test_replicates_done_counts_those_without_a_gap(tmp_path_factory, runs):
    with create(tmp_path_factory.mktemp("held") / "s") as study:
        study.runs.add([(place, replicate, OK, 2, 0.1, 0.1) for place, replicate in runs])
        for place, got in enumerate(study.runs.replicates_done()):
            wanted = 0
            while (place, wanted + 1) in runs:
                wanted += 1
            assert got == wanted


def test_a_failed_transaction_changes_nothing(study):
    with pytest.raises(EngineError):
        study.runs.add([(0, 1, OK, 2, 0.1, 0.1), (0, 2, OK, 2, 0.1)])
    assert len(study.runs.results()) == 0
    study.runs.add([(0, 1, OK, 2, 0.1, 0.1)])
    with pytest.raises(ZeroDivisionError), study.database.transaction() as db:
        db.execute("delete from realisation")
        raise ZeroDivisionError
    assert len(study.runs.results()) == 1


def test_measures_by_name(study):
    assert study.subject.measure_index("hellinger") == 1 == study.subject.measure_index(" hellinger ")
    assert study.subject.measure_index("small_cells[n_rule=3]") == 0
    with pytest.raises(UsageError, match=r"the study has no measure 'total_variation'\."):
        study.subject.measure_index("total_variation")
    with pytest.raises(UsageError, match="unknown measure 'helinger'"):
        study.subject.measure_index("helinger")


def test_finding_a_candidate(study):
    label = study.scenarios[3].label
    assert study.find(f" {label} ") == (study.scenarios[3], None)
    assert study.find(f"{label}/12") == (study.scenarios[3], 12)
    for wrong in (f"{label}/", f"{label}/-1", f"{label}/x", "", "x"):
        with pytest.raises(UsageError):
            study.find(wrong)


# -- the one writer --------------------------------------------------------------------------------------------------


def pretend(study: Study, pid: int, host: str, beat: float) -> None:
    with study.database.transaction() as db:
        db.execute("update run set state = 'running', pid = ?, host = ?, beat = ?", (pid, host, beat))


def test_the_lease(study):
    import time

    assert study.progress.state == "new"
    study.acquire_lease(10, 0)
    assert study.progress.state == "running" and not study.lease.beat(4) and study.progress.done == 4
    study.acquire_lease(10, 4)
    study.lease.cancel()
    assert study.lease.beat(5)
    study.lease.release("cancelled", "cancelled by request")
    assert study.progress.state == "cancelled"
    study.acquire_lease(10, 5)
    assert not study.lease.beat(5), "an old request to cancel does not stop a new sweep"
    study.lease.release("finished")

    # a living process of this machine, a dead one, and one that is silent on another machine
    pretend(study, os.getppid(), hostname(), time.time())
    with pytest.raises(
        EngineError, match=rf"another sweep \(process {os.getppid()}\) is writing 's.study'; wait for it"
    ):
        study.acquire_lease(10, 5)
    pretend(study, 2**22 + 12345, hostname(), time.time())
    assert study.progress.state == "cancelled"
    study.acquire_lease(10, 5)
    pretend(study, 17, "elsewhere", time.time())
    with pytest.raises(EngineError, match=r"another sweep \(process 17 on elsewhere\) is writing"):
        study.acquire_lease(10, 5)
    pretend(study, 17, "elsewhere", time.time() - 61)
    assert study.progress.state == "cancelled"
    study.acquire_lease(10, 5)


def test_a_reader_sees_whole_transactions_beside_a_writer(study):
    with Study.open(study.path) as reader:
        with study.database.transaction() as db:
            row = [0.0, 1, 0, 2, 0.1, 0.2]
            values = (*row, *sums_of(np.array([row])))
            db.execute("insert into realisation values (?, ?, ?, ?, ?, ?, ?)", values)
            assert len(reader.runs.results()) == 0, "not yet"
        assert len(reader.runs.results()) == 1
        study.lease.beat(1)
        assert reader.progress.done == 1


def test_a_reader_meets_scenarios_that_were_added_after_it_opened(study):
    with Study.open(study.path) as reader:
        assert len(reader.scenarios) == 6
        study.scenario_table.add([ReleaseSpec(SMALL.spec("SFU"), "0.1")])
        study.runs.add([(6, 1, OK, 2, 0.1, 0.2)])
        with Study.open(study.path) as later:
            assert len(later.scenarios) == 7 and later.runs.replicates_done().tolist() == [0] * 6 + [1]


# -- the key ---------------------------------------------------------------------------------------------------------


def test_a_key_is_made_once_and_for_its_owner_only(tmp_path):
    path = key_path(tmp_path / "s.study")
    assert path.name == "s.study.key" and key_path("s", tmp_path / "k") == tmp_path / "k"
    key = read_or_make_key(path)
    assert len(key) == 16 and read_or_make_key(path) == key == read_key(path)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_or_make_key(tmp_path / "other.key") != key


@pytest.mark.parametrize("content", [b"", b"abc", b"00" * 15, b"00" * 17, b"zz" * 16, b"\xff\xfe" * 16])
def test_what_is_no_key_is_refused(tmp_path, content):
    path = tmp_path / "k"
    path.write_bytes(content)
    with pytest.raises(
        EngineError, match=r"key file 'k' (holds no study key; wanted 32 hexadecimal digits|cannot be read)"
    ):
        read_or_make_key(path)
    assert path.read_bytes() == content


def test_a_key_is_a_small_plain_file(tmp_path):
    path = tmp_path / "k"
    path.write_bytes(b"0" * 5000)
    with pytest.raises(EngineError, match="'k' is larger than"):
        read_key(path)
    path.unlink()
    if hasattr(os, "mkfifo"):  # nobody writes to it, and it is not waited for
        os.mkfifo(path)
        with pytest.raises(EngineError, match="'k' is a named pipe and no plain file"):
            read_key(path)


def test_a_key_needs_its_folder(tmp_path):
    with pytest.raises(UsageError, match="the folder of key file 'k' does not exist; make it first"):
        read_or_make_key(tmp_path / "none" / "k")
    with pytest.raises(EngineError, match="key file 'k' does not exist"):
        read_key(tmp_path / "k")


def test_scenarios_at_hand_are_those_in_the_file(tmp_path):
    with create(tmp_path / "s") as made:
        specs = [s.spec for s in made.scenarios]
        with Study.open(made.path) as read:
            assert read.scenarios == made.scenarios
        extra = [ReleaseSpec(specs[0].attributes, rate) for rate in ("0.7", "0.70", "0.8")]
        made.scenario_table.add([*specs, *extra, *extra])
        assert [s.spec for s in made.scenarios] == [*specs, extra[0], extra[2]]
        with Study.open(made.path) as read:
            assert read.scenarios == made.scenarios


def test_a_study_that_nobody_holds_is_closed(study):
    held = Study.open(study.path)
    connection = held.database.connection
    del held
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("select 1")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no folder that nothing can be written to; run on Linux")
def test_a_key_that_cannot_be_written_is_said():
    with pytest.raises(EngineError, match=r"'zz.key' could not be written"):
        write_key(Path("/proc/zz.key"), b"k" * 16)
