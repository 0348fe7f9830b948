"""The ledger in a study's log: what came before comes back as it was told, and no bound set after results is fixed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError
from engine.plan import DecisionPlan, Plan
from engine.plan.samples import load
from engine.study.decision_log import append, entries
from engine.study.ledger import (
    BoundOrigin,
    EarlierStudy,
    Ledger,
    Unrelated,
    bound_origin,
    change_plan,
    ledger_of,
    ledger_sentences,
    record_plan,
)
from engine.study.study import Study

PLAN = load("czech")[1]
BOUNDS = st.sampled_from((None, 0.1, 0.2))
TEXTS = st.text(max_size=8)
EARLIER = st.builds(
    EarlierStudy,
    id=TEXTS,
    name=TEXTS,
    begun=TEXTS,
    candidates=st.integers(0, 99),
    runs=st.integers(0, 2),
    choices=st.integers(0, 3),
    decision=st.sampled_from(("", "chosen", "approved", "an event of a later version")),
    bound=BOUNDS,
    bound_kept=st.booleans(),
    bounds_chosen=st.lists(st.floats(0, 1), max_size=2).map(tuple),
    differences=st.lists(TEXTS, max_size=2).map(tuple),
    later=TEXTS,
    certain=st.booleans(),
)
LEDGERS = st.builds(
    Ledger,
    st.lists(EARLIER, max_size=4).map(tuple),
    st.lists(st.builds(Unrelated, st.lists(TEXTS, max_size=2).map(tuple), TEXTS), max_size=2).map(tuple),
    st.lists(TEXTS, max_size=2).map(tuple),
)


def begun(plan: Plan, ledger: Ledger | None) -> Study:
    """A study in memory whose log was begun."""
    study = Study.create_in_memory(plan, {"measures": ["small_cells"], "attributes": list(plan.names)}, {})
    record_plan(study, ledger=ledger)
    return study


def with_bound(bound: float | None) -> Plan:
    return replace(PLAN, decision=DecisionPlan(max_risk=None if bound is None else str(bound)))


@pytest.mark.slow
@given(LEDGERS)
def test_a_ledger_comes_back_from_the_log_as_it_was_written(ledger: Ledger) -> None:
    with begun(PLAN, ledger) as study:
        assert ledger_of(study) == ledger
        told = ledger_sentences(ledger)
    assert len(told) == len(ledger.earlier) + len(ledger.unrelated) + bool(ledger.unread)


@pytest.mark.slow
@given(LEDGERS, BOUNDS.filter(bool))
def test_a_bound_is_fixed_only_where_every_plan_had_it_before_its_results(ledger: Ledger, bound: float) -> None:
    seen = [earlier for earlier in ledger.earlier if earlier.runs]
    fixed = {(earlier.bound, earlier.bound_kept) for earlier in seen} <= {(bound, True)}
    with begun(with_bound(bound), ledger) as study:
        assert bound_origin(study, bound) is (BoundOrigin.FIXED if fixed else BoundOrigin.AFTER_EARLIER)
        assert bound_origin(study, bound / 2) is BoundOrigin.CHOSEN


def test_a_bound_that_a_change_of_the_plan_sets_is_not_fixed() -> None:
    for start in (None, 0.2, 0.1):
        with begun(with_bound(start), Ledger()) as study:
            for bound in (0.2, 0.1):  # from 0.1 there and back again
                change_plan(study, with_bound(bound))
            assert bound_origin(study, 0.1) is BoundOrigin.CHANGED
    with begun(with_bound(0.1), Ledger()) as study:
        change_plan(study, replace(study.plan, about=replace(study.plan.about, survey="Car workers")))
        assert bound_origin(study, 0.1) is BoundOrigin.FIXED


def test_a_log_of_an_earlier_version_says_nothing_of_earlier_studies() -> None:
    study = Study.create_in_memory(with_bound(0.1), {"measures": [], "attributes": []}, {})
    with study:
        assert ledger_of(study) is None and bound_origin(study, 0.1) is BoundOrigin.FIXED
        append(study, "plan", {"measures": [], "replicates": 20})
        assert ledger_of(study) is None and bound_origin(study, 0.1) is BoundOrigin.FIXED


def test_a_ledger_that_this_program_never_writes_is_refused_in_a_sentence() -> None:
    study = Study.create_in_memory(PLAN, {"measures": [], "attributes": []}, {})
    with study:
        append(study, "plan", {"ledger": {"earlier": [{"id": 7}]}})
        with pytest.raises(EngineError, match="the ledger in the decision log of 'in memory'"):
            ledger_of(study)


def test_the_log_opens_with_the_ledger_and_says_so_to_any_json_reader(tmp_path: Path) -> None:
    with begun(PLAN, Ledger(unread=("old.study",))) as study:
        first = entries(study)[0]
        assert first.event == "plan" and json.loads(json.dumps(first.detail))["ledger"]["unread"] == ["old.study"]
