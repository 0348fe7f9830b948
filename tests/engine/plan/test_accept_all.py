"""One pass accepts every proposal that is wanted, also those that arise from accepting."""

from __future__ import annotations

from dataclasses import replace

from datasets.make_survey import survey
from engine.plan import TablePlan, dependencies, propose
from engine.plan.accept_all import accept_all
from engine.plan.guess import first_plan

RAW, _ = survey(1500)
KNOWN = dependencies(RAW)


def test_nothing_is_left_after_one_pass() -> None:
    plan = first_plan(RAW)
    before = [proposal.key for proposal in propose(RAW, plan, KNOWN) if proposal.certain]
    done = accept_all(RAW, plan, KNOWN, lambda proposal: proposal.certain)
    assert not done.refused and {*before} <= {proposal.key for proposal in done.accepted}
    assert not [proposal for proposal in propose(RAW, done.plan, KNOWN) if proposal.certain]


def test_what_is_not_wanted_stays_open() -> None:
    done = accept_all(RAW, first_plan(RAW), KNOWN, lambda proposal: proposal.kind == "unit")
    assert [proposal.kind for proposal in done.accepted] == ["unit"]
    assert "block" in {proposal.kind for proposal in propose(RAW, done.plan, KNOWN)}


def test_what_cannot_be_carried_out_is_told_and_the_others_are_done() -> None:
    plan = first_plan(RAW)
    blocks = [proposal for proposal in propose(RAW, plan, KNOWN) if proposal.kind == "block"]
    (other,) = [p for p in blocks if "agegrp" in p.columns]
    named = replace(plan, tables=(TablePlan("t", ("agegrp", "sex")),))
    done = accept_all(RAW, named, KNOWN, lambda proposal: proposal.kind == "block")
    assert [proposal.key for proposal, _ in done.refused] == [other.key]
    assert "'t'" in str(done.refused[0][1]) and len(done.accepted) == len(blocks) - 1
