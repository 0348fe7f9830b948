"""Studies of an earlier version, without check sums: they open, go on, and are mended where that version spoiled them.

``format1.study.gz`` was written by it: the plan of :mod:`tests.engine.small_studies` swept, two scenarios run again on
three fresh replicates, a measure added later, a choice and a pin.
"""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.common.errors import EngineError
from engine.decision.states import decision_status
from engine.plan import DecisionPlan
from engine.study.map_reader import risk_utility_map
from engine.study.pins import pins
from engine.study.study import Study
from engine.sweeps.sweep import add_measures, recheck, sweep
from tests.engine.small_studies import RAW, keyed, plan_of, table_of
from tests.small_tables import KEY


@pytest.fixture
def old(tmp_path) -> Path:
    path = keyed(tmp_path / "old.study")
    path.write_bytes(gzip.decompress(Path(__file__).with_name("format1.study.gz").read_bytes()))
    return path


@pytest.fixture
def new(tmp_path) -> Path:
    """The same study, made today, with the rule for the released run that was the default then."""
    path = keyed(tmp_path / "new.study")
    with sweep(RAW, plan_of(decision=DecisionPlan(realisation="first")), path, workers=1) as study:
        recheck(study, RAW, KEY, [0, 3], 3)
        add_measures(study, RAW, KEY, ["false_zeros"], workers=1)
    return path


@pytest.mark.slow
def test_an_old_study_holds_what_one_made_today_holds(old, new):
    with Study.open(old) as was, Study.open(new) as now:
        assert not was.subject.has_sums and now.subject.has_sums
        assert table_of(was) == table_of(now) and was.original == now.original and was.plan == now.plan
        assert list(was.scenarios) == list(now.scenarios)
        for table in ("realisation", "fresh"):
            assert was.runs.results(table).values.tobytes() == now.runs.results(table).values.tobytes()
        before, after = (risk_utility_map(study).summary for study in (was, now))
        assert all(a.tobytes() == b.tobytes() for a, b in zip(vars(before).values(), vars(after).values(), strict=True))
        assert was.progress.state == "finished" and was.progress.done == 80 + 6  # adding measures counted as the sweep
        assert [pin.name for pin in pins(was)] == ["third"]
        status = decision_status(was)
        assert status.state == "draft" and status.choice is not None
        assert status.choice.label == was.scenarios[3].label
        assert was.plan.decision == DecisionPlan(probability="0.9", realisation="first")


@pytest.mark.slow
def test_an_old_study_goes_on(old, new):
    grown = plan_of(space={"replicates": 6}, measures=(*plan_of().measures, "false_zeros"))
    for path in (old, new):
        with sweep(RAW, grown, path, workers=1, extend=True) as study:
            recheck(study, RAW, KEY, [1], 2)
            add_measures(study, RAW, KEY, ["hellinger_two_way"], workers=1)
    with Study.open(old) as was, Study.open(new) as now:
        assert table_of(was) == table_of(now) and len(was.runs.results()) == 120
        assert was.runs.results("fresh").values.tobytes() == now.runs.results("fresh").values.tobytes()
        assert not was.subject.has_sums


def spoil(path: Path) -> None:
    """What an earlier version left when fresh runs were made while the measure was being added."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("update fresh set m4 = null where scenario = 3")
        db.commit()


def test_a_study_that_lacks_a_measure_in_places_says_so_and_is_mended(old, new, capsys):
    spoil(old)
    with Study.open(old) as study:
        assert len(risk_utility_map(study).scenarios) == 20, "what the sweep found is whole"
        with pytest.raises(EngineError) as got:
            study.runs.results("fresh")
        assert str(got.value) == (
            "3 fresh runs of study 'old.study' lack false_zeros: they were made while it was being added; "
            "adding it again fills the gap"
        )
        assert add_measures(study, RAW, KEY, ["false_zeros"], workers=1) == ["false_zeros"]
        assert add_measures(study, RAW, KEY, ["false_zeros"], workers=1) == []
        with Study.open(new) as now:
            assert study.runs.results("fresh").values.tobytes() == now.runs.results("fresh").values.tobytes()
            assert study.measures == now.measures and study.plan == now.plan
    assert main(["show", str(old)]) == 0


def test_a_study_of_a_later_format_is_refused(old):
    with closing(sqlite3.connect(old)) as db:
        db.execute("update about set value = '3' where name = 'format'")
        db.commit()
    with pytest.raises(EngineError, match="has format 3, this version reads format 1 and 2"):
        Study.open(old)
