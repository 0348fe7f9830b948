"""A study in memory: it has no file, holds what a file would hold, and is saved as a study like any other."""

from __future__ import annotations

import pytest

from engine.common.errors import EngineError, UsageError
from engine.study.decision_log import WHOLE, entries, seal_words, verify
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study, pin, pins
from engine.sweeps.sweep import open_sweep, sweep
from tests.engine.small_studies import RAW, keyed, plan_of, swept, table_of
from tests.small_tables import KEY


def sweep_in_memory(plan, *, key=None, workers=1):
    opened = open_sweep(RAW, plan, None, key=key)
    opened.run(workers=workers)
    return opened.study


@pytest.fixture
def study():
    with sweep_in_memory(plan_of(), key=KEY) as made:
        yield made


def test_it_holds_what_a_file_holds_and_writes_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sweep_in_memory(plan_of(), key=KEY) as study:
        figures, frontier = table_of(study), risk_utility_map(study).frontier().tolist()
        assert study.progress.state == "finished" and study.in_memory and study.name == "in memory"
        with pytest.raises(UsageError, match="the study is in memory and has no file"):
            _ = study.path
    assert [*tmp_path.iterdir()] == []
    path = keyed(tmp_path / "s.study")
    assert swept(path, plan_of()) == figures
    with Study.open(path) as filed:
        assert risk_utility_map(filed).frontier().tolist() == frontier


@pytest.mark.slow
def test_the_key_is_the_systems_unless_it_is_given(study):
    plan = plan_of(space={"replicates": 1})
    with sweep_in_memory(plan) as one, sweep_in_memory(plan) as other:
        assert one.key != other.key and one.key is not None and len(one.key) == 16
    assert study.key == KEY
    with pytest.raises(UsageError, match="key has 3 bytes, must have 16"):
        sweep_in_memory(plan, key=b"abc")


@pytest.mark.slow
def test_a_search_and_replicates_in_stages_run_in_memory_too(tmp_path):
    plan = plan_of(space={"swap_sizes": (), "search": True, "budget": 12, "replicates": 6, "screen": 3})
    with sweep_in_memory(plan, key=KEY) as study:
        assert table_of(study) == swept(keyed(tmp_path / "s.study"), plan)


@pytest.mark.slow
def test_saved_it_is_a_study_like_any_other(study, tmp_path):
    pin(study, study.scenarios[3].label, "ours")
    path = tmp_path / "saved.study"
    study.save(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["saved.study", "saved.study.key"]
    assert read_key(key_path(path)) == KEY
    with Study.open(path) as saved:
        assert table_of(saved) == table_of(study) and saved.plan == study.plan and saved.about == study.about
        assert pins(saved) == pins(study) and entries(saved) == entries(study)
        verify(entries(saved))
        assert seal_words(saved) == WHOLE
    grown = plan_of(space={"replicates": 5})
    with sweep(RAW, grown, path, extend=True, workers=1) as more:
        assert len(more.runs.results()) == 100 and more.progress.state == "finished"
    assert len(study.runs.results()) == 80


def test_saving_replaces_nothing(study, tmp_path):
    path = tmp_path / "s.study"
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"'s\.study' exists already"):
        study.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["s.study"] and path.read_text() == "mine"
    keyed(tmp_path / "t.study", bytes(16))
    with pytest.raises(UsageError, match=r"key file 't\.study\.key' holds another key"):
        study.save(tmp_path / "t.study")
    assert not (tmp_path / "t.study").exists()
    with pytest.raises(UsageError, match=r"the folder of key file 'u\.study\.key' does not exist"):
        study.save(tmp_path / "none" / "u.study")


def test_a_study_is_not_saved_without_its_key(tmp_path):
    swept(keyed(tmp_path / "s.study"), plan_of())
    with Study.open(tmp_path / "s.study") as study, pytest.raises(UsageError, match="was opened without its key"):
        study.save(tmp_path / "t.study")


def test_a_file_is_copied_too(tmp_path):
    path = keyed(tmp_path / "s.study")
    with sweep(RAW, plan_of(), path, workers=1) as study:
        (tmp_path / "copy").mkdir()
        study.save(tmp_path / "copy" / "t.study", tmp_path / "copy" / "k")
        assert sorted(file.name for file in (tmp_path / "copy").iterdir()) == ["k", "t.study"]
        with Study.open(tmp_path / "copy" / "t.study") as copy:
            assert table_of(copy) == table_of(study)


@pytest.mark.slow
def test_it_is_gone_on_with_while_it_is_open(tmp_path):
    with sweep_in_memory(plan_of(), key=KEY) as study:
        open_sweep(RAW, plan_of(space={"replicates": 5}), study, extend=True).run(workers=1)
        path = keyed(tmp_path / "s.study")
        assert table_of(study) == swept(path, plan_of(space={"replicates": 5}))
        with pytest.raises(UsageError, match="the key is not the one"):
            open_sweep(RAW, None, study, key=bytes(16))
        study.runs.results()  # a refusal leaves it open


def test_a_key_that_is_given_is_kept_beside_a_file(tmp_path):
    opened = open_sweep(RAW, plan_of(space={"replicates": 1}), tmp_path / "s.study", key=KEY)
    opened.study.close()
    assert read_key(key_path(tmp_path / "s.study")) == KEY


def test_closed_it_says_so(study):
    study.close()
    with pytest.raises(EngineError, match="study 'in memory' is closed"):
        study.runs.results()
