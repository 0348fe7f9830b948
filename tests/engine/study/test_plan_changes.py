"""A study's plan may change where no figure depends on it; an approval forbids more; everything is logged."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.common.errors import EngineError, UsageError
from engine.common.processes import hostname, process_birth
from engine.measures import call
from engine.plan import AboutPlan, DecisionPlan, Plan, TablePlan, ThreatPlan
from engine.plan.differences import lock
from engine.plan.samples import load
from engine.study.decision_log import entries, verify
from engine.study.ledger import change_plan, record_plan
from engine.study.study import Study

_PLAN = load("czech")[1]


def _study(path: Path, plan: Plan, why: str = "") -> Study:
    study = Study.create(path, plan, {"measures": ["small_cells"], "attributes": list(plan.names)}, {})
    record_plan(study, why=why, by="Ada")
    return study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with _study(tmp_path / "s.study", _PLAN) as made:
        yield made


def test_what_changes_no_figure_may_change_and_is_logged(study: Study) -> None:
    new = replace(
        _PLAN,
        decision=DecisionPlan(max_risk="0.01"),
        threat=ThreatPlan("a colleague"),
        tables=(TablePlan("t", _PLAN.names[:2]),),
    )
    said = change_plan(study, new, why="asked for by the board", by="Ada")
    assert len(said) == 3 and study.plan == new
    log = entries(study)
    assert [entry.event for entry in log] == ["plan", "changed"]
    assert log[1].by == "Ada" and log[1].detail == {"what": said, "why": "asked for by the board"}
    verify(log)


def test_what_changes_figures_is_refused_and_nothing_is_logged(study: Study) -> None:
    with pytest.raises(UsageError, match="another plan: keys"):
        change_plan(study, replace(_PLAN, keys=_PLAN.names[:3], threat=ThreatPlan("x")))
    more = replace(_PLAN, space=replace(_PLAN.space, replicates=50))
    with pytest.raises(UsageError, match="More of the same can be added"):
        change_plan(study, more)
    assert study.plan == _PLAN and len(entries(study)) == 1
    assert change_plan(study, more, grow=True) and study.plan == more
    with pytest.raises(UsageError, match=r"space\.replicates"):
        change_plan(study, _PLAN, grow=True)


def test_a_locked_plan_changes_by_recorded_deviation_only(tmp_path: Path) -> None:
    locked = lock(_PLAN, "DRB-7", "Grace")
    with _study(tmp_path / "s.study", locked) as study:
        assert [entry.event for entry in entries(study)] == ["plan", "locked"]
        change_plan(study, replace(locked, about=AboutPlan("Car workers")))  # an approval leaves that open
        change_plan(study, replace(study.plan, space=replace(locked.space, replicates=30)), grow=True)
        other = replace(study.plan, decision=DecisionPlan(max_risk="0.02"))
        with pytest.raises(UsageError, match=r"departs from the one approved as DRB-7: decision\.max_risk"):
            change_plan(study, other, why=" ")
        change_plan(study, other, why="the limit was a slip", by="Ada")
        assert [entry.event for entry in entries(study)] == ["plan", "locked", "changed", "changed", "deviation"]
        with pytest.raises(UsageError, match="cannot be changed or left out"):
            change_plan(study, replace(study.plan, lock=None), why="why not")


def test_a_study_that_departs_from_the_start_needs_a_reason(tmp_path: Path) -> None:
    departed = replace(lock(_PLAN, "DRB-7", "Grace"), keys=_PLAN.names[:3])
    with pytest.raises(UsageError, match="departs"):
        _study(tmp_path / "a.study", departed)
    with _study(tmp_path / "b.study", departed, why="three keys are public") as study:
        assert entries(study)[-1].event == "deviation"


def test_a_lock_may_come_later(study: Study) -> None:
    change_plan(study, lock(_PLAN, "DRB-7", "Grace"))
    assert [(entry.event, entry.by) for entry in entries(study)] == [("plan", "Ada"), ("locked", "Grace")]


def test_a_change_undoes_none_that_another_process_made_meanwhile(study: Study) -> None:
    with Study.open(study.path) as other:
        assert study.plan == other.plan == _PLAN
        ours = replace(_PLAN, threat=ThreatPlan("a colleague"))
        change_plan(other, ours)
        with pytest.raises(EngineError, match=r"'s.study' was changed meanwhile; look at it and make the change again"):
            change_plan(study, replace(_PLAN, about=AboutPlan("Car workers")))
        assert study.plan == ours and [entry.event for entry in entries(study)] == ["plan", "changed"]
        change_plan(study, replace(study.plan, about=AboutPlan("Car workers")))
        seen = study.plan
        other.finish_measures([call("sign_changes")], {})
        with pytest.raises(EngineError, match="changed meanwhile"):
            change_plan(study, replace(seen, threat=ThreatPlan("a neighbour")))
        assert study.plan.measures == (*_PLAN.measures, "sign_changes")


def test_no_other_runs_are_asked_for_while_another_process_is_the_writer(study: Study) -> None:
    with study.database.transaction() as db:
        about = ("measure", os.getppid(), hostname(), process_birth(os.getppid()), time.time())
        db.execute("update run set task = ?, pid = ?, host = ?, born = ?, beat = ?", about)
    with pytest.raises(EngineError, match="another process that adds measures"):
        change_plan(study, replace(_PLAN, space=replace(_PLAN.space, replicates=50)), grow=True)
    assert study.plan == _PLAN
    said = replace(_PLAN, about=AboutPlan("Car workers"))
    assert change_plan(study, said) and study.plan == said
