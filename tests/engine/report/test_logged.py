"""The log as a member reads it has fresh runs where they belong."""

from __future__ import annotations

from pathlib import Path

from engine.decision.choice import choose
from engine.plan import SpacePlan
from engine.report.change_log import DESPITE, FRESH_AFTERWARDS, FRESH_IN_SWEEP, LOG_TEXTS, is_plan_change
from engine.report.logged import history, rechecked_first
from engine.report.redaction import Redactor
from engine.study.keys import read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.recheck import recheck
from tests.engine.report.conftest import case_of, plan_of, raw_table


def told(study: Study) -> list[str]:
    return [words for _, words in history(study, Redactor.of(study, {}))]


def test_fresh_runs_stand_before_or_after_the_recommendation_as_they_were(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    assert told(study) == [LOG_TEXTS["chosen"]] and rechecked_first(study) is None
    choice = study.choices.all()[-1]
    key = read_key(study.path.with_name(study.path.name + ".key"))
    recheck(study, raw_table(), key, [study.find(choice.label)[0].index], 3)
    assert told(study) == [LOG_TEXTS["chosen"], FRESH_AFTERWARDS] and rechecked_first(study) is False
    choose(study, risk_utility_map(study), "again", candidate=choice.label)
    assert told(study)[-1] == LOG_TEXTS["chosen"] and rechecked_first(study) is True
    assert FRESH_IN_SWEEP not in told(study)


def test_fresh_runs_of_a_sweep_itself_stand_before_the_recommendation(tmp_path: Path) -> None:
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=12, adaptive=True, screen=10)
    study = case_of(tmp_path, plan_of(space=space, analyses=())).study
    assert told(study) == [FRESH_IN_SWEEP, LOG_TEXTS["chosen"]] and rechecked_first(study) is True


def test_words_of_steps_are_no_changes_of_the_plan() -> None:
    assert not any(map(is_plan_change, (FRESH_IN_SWEEP, FRESH_AFTERWARDS, DESPITE)))
