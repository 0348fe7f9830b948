"""The decision log is chained, and pins are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.common.errors import EngineError, UsageError
from engine.plan.coding import code
from engine.plan.samples import load
from engine.study import decision_log
from engine.study.study import Study, pin, pins, unpin
from engine.sweeps.candidates import scenarios_of


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    _, plan = load("czech")
    about = {"measures": ["small_cells"], "attributes": list(plan.names)}
    with Study.create(tmp_path / "s.study", plan, about, {"small_cells": 0.1}) as made:
        raw, plan = load("czech")
        made.scenario_table.add(scenarios_of(plan, code(raw, plan))[0][:5])
        yield made


def test_entries_come_back_as_they_were_written(study: Study) -> None:
    assert decision_log.entries(study) == []
    first = decision_log.append(study, "plan", {"rates": ["0.1"]}, by="Ada")
    second = decision_log.append(study, "chosen", {"why": "ümlaut", "share": 0.1})
    assert decision_log.entries(study) == [first, second]
    assert first.previous == decision_log.START and second.previous == first.digest
    decision_log.verify([first, second])


@pytest.mark.parametrize("broken", ["changed", "removed", "swapped", "inserted"])
def test_a_log_that_was_touched_is_refused(study: Study, broken: str) -> None:
    log = [decision_log.append(study, "plan", {"n": i}) for i in range(3)]
    touched = {
        "changed": [log[0], replace(log[1], detail={"n": 7}), log[2]],
        "removed": [log[0], log[2]],
        "swapped": [log[1], log[0], log[2]],
        "inserted": [log[0], replace(log[0], number=2, previous=log[0].digest), *log[1:]],
    }[broken]
    with pytest.raises(EngineError, match="broken at entry"):
        decision_log.verify(touched)


def test_an_unknown_event_is_refused(study: Study) -> None:
    with pytest.raises(ValueError, match="must be one of"):
        decision_log.append(study, "gossip")  # type: ignore[arg-type]


def test_pins_are_named_annotated_and_taken_away(study: Study) -> None:
    a, b = study.scenarios[0].label, study.scenarios[3].label
    assert pins(study) == []
    pin(study, b, "favourite", "small loss")
    pin(study, a)
    assert [(p.label, p.name) for p in pins(study)] == [(b, "favourite"), (a, "")]
    pin(study, b, "second", "x")
    assert pins(study)[0].name == "second" and len(pins(study)) == 2
    with pytest.raises(UsageError, match="already called"):
        pin(study, a, "second")
    with pytest.raises(UsageError, match="at most 60"):
        pin(study, a, "n" * 61)
    with pytest.raises(UsageError, match="no candidate"):
        pin(study, "nobody")
    unpin(study, b)
    assert [p.label for p in pins(study)] == [a]


@pytest.mark.parametrize(
    ("sentence", "entry", "section", "words"),
    [
        (
            "publish.include: the study has nothing, asked id",
            "publish.include",
            "publish",
            "the study has nothing, asked id",
        ),
        ("keys: the study has A, asked A: B", "keys", "keys", "the study has A, asked A: B"),
        ("attribute 'publish: x' is new", "", "", "attribute 'publish: x' is new"),
        ("the limit has moved", "", "", "the limit has moved"),
    ],
)
def test_a_logged_change_is_read_as_the_entry_of_the_plan_and_its_words(
    sentence: str, entry: str, section: str, words: str
) -> None:
    change = decision_log.LoggedChange.read(sentence)
    assert (change.entry, change.section, change.words) == (entry, section, words)
