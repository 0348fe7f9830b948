"""One pass accepts every proposal that is wanted, also those that arise from accepting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datasets.make_survey import survey
from engine.data.microdata import RawTable
from engine.plan import TablePlan, dependencies, propose
from engine.plan.dependencies import Dependencies
from engine.plan.guess import first_plan
from engine.plan.propose import accept_all

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def raw() -> RawTable:
    """The records of a survey."""
    return survey(1500)[0]


@pytest.fixture(scope="module")
def known(raw: RawTable) -> Dependencies:
    """What its columns say about each other."""
    return dependencies(raw)


def test_nothing_is_left_after_one_pass(raw: RawTable, known: Dependencies) -> None:
    plan = first_plan(raw)
    before = [proposal.key for proposal in propose(raw, plan, known) if proposal.certain]
    done = accept_all(raw, plan, known, lambda proposal: proposal.certain)
    assert not done.refused and {*before} <= {proposal.key for proposal in done.accepted}
    assert not [proposal for proposal in propose(raw, done.plan, known) if proposal.certain]


def test_what_is_not_wanted_stays_open(raw: RawTable, known: Dependencies) -> None:
    done = accept_all(raw, first_plan(raw), known, lambda proposal: proposal.kind == "unit")
    assert [proposal.kind for proposal in done.accepted] == ["unit"]
    assert "block" in {proposal.kind for proposal in propose(raw, done.plan, known)}


def test_what_cannot_be_carried_out_is_told_and_the_others_are_done(raw: RawTable, known: Dependencies) -> None:
    plan = first_plan(raw)
    blocks = [proposal for proposal in propose(raw, plan, known) if proposal.kind == "block"]
    (other,) = [p for p in blocks if "agegrp" in p.columns]
    # One name can be the block's; the table would lose the other.
    named = replace(plan, tables=(TablePlan("t", ("agegrp", "age5")),))
    done = accept_all(raw, named, known, lambda proposal: proposal.kind == "block")
    assert [proposal.key for proposal, _ in done.refused] == [other.key]
    assert "'t'" in str(done.refused[0][1]) and len(done.accepted) == len(blocks) - 1
