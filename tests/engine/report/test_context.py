"""The recommended candidate as the board reads it: its rule, its letters, and what was recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.decision.bounds import in_words
from engine.decision.choice import choose
from engine.decision.comparison import differences
from engine.decision.statements import statement, words
from engine.plan import DecisionPlan, SpacePlan
from engine.plan.differences import lock
from engine.report.build_findings import findings
from engine.report.context import MOST_FURTHER, candidate_rows, candidate_words, further_within, report_context
from engine.report.describe import remade
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import recheck, sweep
from tests.engine.report.conftest import Case, case_of, plan_of, raw_table


def test_alternatives_differ_in_words_and_never_in_the_analysts_figures(tmp_path: Path) -> None:
    (tmp_path / "private-study-name.study.key").write_text("0123456789abcdef" * 2)
    study = case_of(tmp_path, plan_of()).study
    view = risk_utility_map(study)
    index = view.under_bound(0.5)
    rows = np.flatnonzero(np.arange(len(view.scenarios)) != index).tolist()
    figures = "small-cell risk 0.1234 → 0.2345 (+0.1111, +90 %): riskier"
    others = [{"candidate": view.scenarios[i].label, "difference": figures, "why": ""} for i in rows]
    gone = {"candidate": "x00000", "difference": figures, "why": "it was tried before"}
    choice = choose(study, view, "as agreed", candidate=view.scenarios[index].label, others=[*others, gone])
    made = remade(study, raw_table(), choice.label, choice.replicate)
    report, context = findings(study, made), report_context(study, made)
    *kept, last = report.recommendation.alternatives
    assert (last.values["letter"], last.values["why"]) == ("?", "it was tried before")
    assert "0.1234" not in report.to_json()
    letters = context.lettered
    assert kept and {said.values["letter"] for said in kept} == letters.keys() - {report.recommendation.letter}
    for said in kept:
        i = letters[str(said.values["letter"])]
        found = differences(view, i, index, together=len(rows) + 1)
        risk, utility = (found[k].better for k in (view.risk, view.utility))
        assert said.values["risk"] == {1: "safer", -1: "riskier", 0: ""}[risk]
        assert said.values["utility"] == {1: "more useful", -1: "less useful", 0: ""}[utility]
        unclear = [axis for axis, k in (("risk", view.risk), ("utility", view.utility)) if not found[k].clear]
        assert said.values["noise"] == tuple(unclear)
    noise = statement("considered", letter="B", why="", risk="safer", utility="less useful", noise=("risk",))
    assert words(noise) == "B was considered: safer and less useful on average, in risk within noise."


def test_attributes_that_are_named_by_a_letter_are_called_attributes() -> None:
    from engine.release.spec import AttributeSpec, ReleaseSpec

    words = candidate_words(ReleaseSpec(AttributeSpec.parse("A:S B:F C:S D:C", "ABCD"), "0.1"))
    assert words == (
        "exchanges the attributes A and C between records that agree on the attribute B and differ on the attribute D"
    )


def test_what_a_candidate_does_reads_as_a_sentence_for_every_method() -> None:
    from engine.mechanisms import mechanism, names
    from engine.release.spec import AttributeSpec, ReleaseSpec

    for name in (name for name in names() if not mechanism(name).by_roles):
        words = candidate_words(ReleaseSpec(AttributeSpec.parse("A:S B:S", "AB"), "", mechanism=name))
        assert words.startswith("uses ") and words.endswith(", which may change the attributes A and B")
        assert words[5].islower()


@pytest.mark.slow
def test_a_bound_of_the_plan_is_not_called_late_and_not_mixed_up_with_another(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of()).study
    view = risk_utility_map(study)
    choice = choose(study, view, "as agreed", max_risk=0.5)
    report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
    assert "after results" not in report.approved.rule + report.recommendation.rule
    choice = choose(study, view, "as agreed later", max_risk=0.8)
    report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
    assert "50 %" in report.approved.rule and "80 %" not in report.approved.rule
    assert "80 %" in report.recommendation.rule and "after results were seen" in report.recommendation.rule


@pytest.mark.slow
def test_a_candidate_named_by_hand_above_the_bound_of_the_plan_is_told(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(decision=DecisionPlan(max_risk="0.0001"))).study
    view = risk_utility_map(study)
    risks = view.summary.mean[:, view.risk]
    choice = choose(study, view, "it serves", candidate=view.scenarios[int(np.nanargmax(risks))].label)
    assert choice.record["obstacles"][0]["kind"] == "over_limit"
    advice = findings(study, remade(study, raw_table(), choice.label, choice.replicate)).recommendation
    assert len(advice.obstacles) == 4 and advice.obstacles[0].kind == "over_limit"
    assert advice.run is not None and (advice.run.within, advice.run.of) == (0, 12) and advice.despite == ""


@pytest.mark.slow
@pytest.mark.parametrize("probability", ["0.9", "mean"])
def test_a_bound_is_said_with_how_many_runs_must_meet_it(tmp_path: Path, probability: str) -> None:
    study = case_of(tmp_path, plan_of(decision=DecisionPlan(max_risk="0.5", probability=probability))).study
    choice = study.choices.all()[-1]
    report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
    words = {"0.9": "in at least 90 % of single runs", "mean": "on average over runs"}[probability]
    assert report.map.bound.endswith(words) and words in report.approved.rule
    run = report.recommendation.run
    assert run is not None and (run.quantile is None) == (run.asked is None) == (probability == "mean")
    assert dict(report.approved.parameters)["Run to be released"] == (
        "the first run that meets the limit and is less risky than the data unchanged"
    )


@pytest.mark.slow
def test_the_rule_of_the_released_run_has_the_bound_also_where_only_the_choice_has_one(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(decision=DecisionPlan())).study
    view, rules = risk_utility_map(study), []
    for bound in (None, 0.5):
        named = {"candidate": study.choices.all()[0].label} if bound is None else {"max_risk": bound}
        choice = choose(study, view, "as agreed", **named)
        rules.append(findings(study, remade(study, raw_table(), choice.label, choice.replicate)).approved.run_rule)
    assert rules == [
        "the first run that is less risky than the data unchanged",
        "the first run that meets the limit and is less risky than the data unchanged",
    ]
    unchosen = "the first run that is less risky than the data unchanged and meets the limit, where the choice sets one"
    assert in_words("released_run", study.plan) == unchosen


@pytest.mark.slow
def test_the_certificate_is_of_the_recorded_run_and_of_no_other(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of()).study
    choice = study.choices.all()[-1]
    other = remade(study, raw_table(), choice.label, choice.replicate + 1)
    sure = findings(study, other).certificate
    assert sure.equal < sure.figures


def test_a_slope_by_which_doing_nothing_is_better_is_told(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(decision=DecisionPlan(slope="50"))).study
    view = risk_utility_map(study)
    choice = choose(study, view, "as agreed")
    assert view.beaten_by_original(study.find(choice.label)[0].index, 50.0)
    report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
    assert "beaten_by_original" in {each.kind for each in report.recommendation.cautions}
    for rule in (report.approved.rule, report.recommendation.rule):
        assert "one unit of Hellinger distance counts as much as 50 of the share of unaltered records in" in rule
        assert "not their number" in rule and "small_cells" not in rule


def test_a_slope_is_told_in_the_units_of_its_measures(tmp_path: Path) -> None:
    from engine.measures import MEASURES
    from engine.measures.base import parse_call

    r1, use = parse_call("r1", MEASURES), parse_call("total_variation", MEASURES)
    assert in_words("trade", r1, use, 2.5) == (
        "one unit of total variation distance (in share of records) counts as much as 2.5 of expected "
        "re-identifications (in records)"
    )
    plan = plan_of(decision=DecisionPlan(slope="2.5"))
    assert in_words("rule", plan, None, use) == "the best candidate on a straight trade-off of slope 2.5"


def test_the_place_of_the_released_run_among_its_siblings_is_counted(case: Case) -> None:
    run, view = case.findings.recommendation.run, risk_utility_map(case.study)
    choice = case.study.choices.all()[-1]
    mine = view.results.scenario == case.study.find(choice.label)[0].index
    risks = view.results.values[mine, view.risk]
    own = risks[view.results.replicate[mine] == choice.replicate]
    assert run is not None and (run.place, run.of) == (1 + int((risks < own).sum()), 12)
    assert run.within == int((risks <= 0.5).sum()) and run.as_safe == int((risks == own).sum())


@pytest.mark.slow
def test_fresh_runs_that_meet_the_bound_are_counted(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    choice = study.choices.all()[-1]
    index = study.find(choice.label)[0].index
    recheck(study, raw_table(), read_key(key_path(study.path)), [index], 15)
    run = findings(study, remade(study, raw_table(), choice.label, choice.replicate)).recommendation.run
    met = int((study.runs.of([index], "fresh").values[:, risk_utility_map(study).risk] <= 0.5).sum())
    assert run is not None and (run.fresh, run.fresh_within) == (15, met)
    assert run.fresh_low is not None and run.fresh_high is not None
    assert 0 < run.fresh_low <= met / 15 <= run.fresh_high <= 1


@pytest.mark.slow
def test_a_choice_off_the_approved_rule_departs_and_the_bound_of_the_plan_counts(tmp_path: Path) -> None:
    space = SpacePlan(swap_sizes=(1,), rates=("0.0537", "0.2113"), replicates=10)
    plan = lock(plan_of(space=space, decision=DecisionPlan(max_risk="0.074"), analyses=()), "DRB-7", "Board")
    study = sweep(raw_table(), plan, tmp_path / "s.study", workers=1)
    view = risk_utility_map(study)
    picked = view.scenarios[view.under_bound(0.074)].label
    other = next(s.label for s in view.scenarios if s.label != picked)
    runs, single = view.results, view.results.values[:, view.risk]
    for label, off in ((picked, False), (other, True)):
        choice = choose(study, view, "it serves", candidate=label)
        report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
        assert report.approved.rule.endswith("; it does not pick the recommended candidate") == off
        assert any("is not the one that it picks" in text for text in report.approved.departures) == off
    choice = choose(study, view, "it serves", max_risk=float(single.max()))
    report = findings(study, remade(study, raw_table(), choice.label, choice.replicate))
    within = sum((single[runs.scenario == i] <= 0.074).mean() >= 0.9 for i in range(len(view.scenarios)))
    assert 0 < within < len(view.scenarios) and report.map.n_within == within
    study.close()


@pytest.mark.slow
def test_who_dominates_is_decided_on_exact_averages(tmp_path: Path) -> None:
    study = case_of(tmp_path, plan_of(analyses=())).study
    view = risk_utility_map(study)
    index = int(np.flatnonzero(~view.dominance.undominated)[0])
    choice = choose(study, view, "by hand", candidate=view.scenarios[index].label)
    made = remade(study, raw_table(), choice.label, choice.replicate)
    report, context = findings(study, made), report_context(study, made)
    letters = context.lettered
    for row in report.map.candidates:
        other = letters[row.letter]
        gains = [float(loss[index] - loss[other]) for loss in (view.risk_loss, view.utility_loss)]
        assert row.dominates == (min(gains) >= 0 and max(gains) > 0)
    assert any(row.dominates for row in report.map.candidates)


def test_candidates_within_the_bound_have_letters_after_the_neighbours(case: Case) -> None:
    context = report_context(case.study, case.realisation)
    bound = context.bound
    assert bound is not None
    meets = {i for i, does in enumerate(context.view.meets(bound)) if does}
    further = meets - set(context.letters.values())
    assert further, "the sample has some"
    assert len(context.also_within) == min(MOST_FURTHER, len(further)) and set(context.also_within.values()) <= further
    assert not set(context.also_within) & set(context.letters)
    losses = [context.view.utility_loss[i] for i in context.also_within.values()]
    assert losses == sorted(losses)
    rows = {row.letter: row for row in candidate_rows(context)}
    assert list(rows) == [*context.letters, *context.also_within]
    assert all(rows[letter].also_within and rows[letter].within_bound for letter in context.also_within)
    assert not any(rows[letter].also_within for letter in context.letters)


def test_no_letters_without_a_bound(case: Case) -> None:
    context = report_context(case.study, case.realisation)
    assert further_within(context.view, None, context.letters) == {}
    assert further_within(context.view, -1.0, context.letters) == {}
