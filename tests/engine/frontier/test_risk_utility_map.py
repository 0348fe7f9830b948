"""The map, the rules that pick from it, and what is recorded.

Merging scenarios within noise, parts of a map, and counts in sentences, on a small study whose figures are set.

The recommendation is A; the other letters go from safe to useful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.decision.choice import choose
from engine.frontier.risk_utility_map import (
    RiskUtilityMap,
    indistinguishable_groups,
    inside,
    lettered,
    middle,
    safest,
    undominated_among,
    undominated_together,
)
from engine.plan import DecisionPlan, SpacePlan, edit_plan, samples
from engine.plan.samples import load
from engine.release.scenarios import Choice, RunStatus, Scenarios
from engine.release.spec import ReleaseSpec
from engine.report.sentences import counted_runs, exposed, headline
from engine.study.decision_log import entries
from engine.study.map_reader import objective_indices, realisation_of, remapped, risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck, sweep
from tests.small_tables import Small

OK, FAILED, NOOP = RunStatus.OK, RunStatus.FAILED, RunStatus.NOOP

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
MEASURES = ("small_cells", "hellinger", "entropy_change")
ORIGINAL = {"small_cells": 0.3, "hellinger": 0.0, "entropy_change": 0.0}


def study_of(folder: Path, rows: list[tuple], decision: DecisionPlan | None = None, name: str = "s") -> Study:
    """A study of four scenarios with given rows (scenario, replicate, status, changed, DR, HD, dh)."""
    plan = SMALL.plan(
        space=SpacePlan(specs=("A:S", "B:S", "C:S", "A:S B:F"), rates=("0.1",), replicates=3),
        measures=MEASURES,
        decision=decision or DecisionPlan(),
    )
    about = {"attributes": list(SMALL.names), "measures": list(MEASURES), "n_records": 2}
    study = Study.create(folder / name, plan, about, ORIGINAL)
    study.scenario_table.add([ReleaseSpec(SMALL.spec(roles), "0.1") for roles in ("SUU", "USU", "UUS", "SFU")])
    study.runs.add(rows)
    return study


def rows_of(runs: int) -> list[tuple]:
    """So many runs of each of three scenarios, whose risks go round in three steps, and a fourth that always failed."""
    step = {r: 0.01 * (1 + (r - 1) % 3) for r in range(1, runs + 1)}
    return [
        *((0, r, OK, 2, 0.10 + step[r], 0.5, 0.1 * (-1) ** r) for r in step),
        *((1, r, OK, 2, 0.20 + step[r], 0.2, 0.05) for r in step),
        *((2, r, OK, 2, 0.40 + step[r], 0.3, 0.0) for r in step),
        (3, 1, FAILED, 0, 0.01, 0.01, 0.0),
        (3, 2, FAILED, 0, 0.01, 0.01, 0.0),
    ]


ROWS = rows_of(3)
ENOUGH = rows_of(12)
RULE = "most useful with a small-cell risk of at most 0.2 (20 % of unaltered records) in at least 90 % of single runs"
"""Enough runs to choose from."""


@pytest.fixture
def study(tmp_path):
    with study_of(tmp_path, ENOUGH) as made:
        yield made


def test_the_map(study):
    view = risk_utility_map(study)
    assert (view.risk, view.utility) == (0, 1)
    np.testing.assert_allclose(view.risk_loss, [0.12, 0.22, 0.42, np.nan])
    assert view.frontier().tolist() == [0, 1]
    assert view.riskier_than_original.tolist() == [False, False, True, False]
    assert view.dominators(2).tolist() == [1]
    assert view.realisations_undominated().sum() == 8
    assert view.original_losses.tolist() == [0.3, 0, 0]
    partial = risk_utility_map(study, allow_partial=True)
    assert partial.frontier().tolist() == [3]
    absolute = risk_utility_map(study, utility="entropy_change")
    assert absolute.utility_loss[0] == pytest.approx(0.1), "distortions are averaged, not signed changes"


def test_which_measures(study, tmp_path):
    assert objective_indices(study, utility="entropy_change") == (0, 2)
    for asked, words in (
        ({"risk": "hellinger"}, "'hellinger' is a measure of utility, wanted one of risk"),
        ({"utility": "small_cells"}, "'small_cells' is a measure of risk, wanted one of utility"),
        ({"utility": "false_zeros"}, "the study has no measure 'false_zeros'."),
    ):
        with pytest.raises(UsageError) as got:
            objective_indices(study, **asked)
        assert words in str(got.value)
    with study_of(tmp_path, ROWS, DecisionPlan(utility="entropy_change"), "other") as other:
        assert objective_indices(other) == (0, 2)


def test_choosing_under_a_bound(study):
    """Nine of ten single runs meet the bound: the worst of three steps does, not their mean."""
    view = risk_utility_map(study)
    assert view.under_bound(0.23) == 1 and view.under_bound(0.229) == 0 and view.under_bound(0.2) == 0
    assert view.meets(0.229).tolist() == [True, False, False, False]
    choice = choose(study, view, "bound", max_risk=0.2)
    assert choice.label == study.scenarios[0].label
    assert choice.rule == RULE
    words = (
        r"no candidate meets the limit 0\.12; the nearest is x\w+, with a risk that 90 % of single runs do not exceed"
    )
    with pytest.raises(UsageError, match=words + r" of 0\.13"):
        choose(study, view, "bound", max_risk=0.12)


def tied(*further: float, third: float = 0.0) -> list[tuple]:
    """Twelve runs each of three scenarios whose risk and utility cannot be told apart, the first the most useful by its
    mean, with figures of a further measure; and of a fourth that is as good on both axes but far less useful."""
    swing = {r: 0.01 * (-1) ** r for r in range(1, 13)}
    rows = [
        (i, r, OK, 2, 0.10 + swing[r], 0.2 + 0.001 * i + swing[r], figure + 0.1 * swing[r])
        for i, figure in enumerate(further)
        for r in swing
    ]
    return [*rows, *((3, r, OK, 2, 0.10 + swing[r], 0.4 + swing[r], third) for r in swing)]


@pytest.mark.parametrize(
    ("further", "picked", "measure"),
    [
        ((0.076, 0.075, 0.007), 2, 2),
        ((0.007, 0.0071, 0.076), 0, None),
        ((0.076, 0.0072, 0.0070), 1, 2),
        ((0.0070, 0.0072, 0.0070), 0, None),
        ((-0.076, 0.075, -0.007), 2, 2),
    ],
)
def test_a_further_measure_decides_between_candidates_that_the_rule_cannot_tell_apart(
    tmp_path: Path, further: tuple[float, ...], picked: int, measure: int | None
) -> None:
    """The third measure of the study; of a signed change the size counts.  One that is clearly less useful is no tie,
    however good it is elsewhere."""
    with study_of(tmp_path, tied(*further), DecisionPlan(max_risk="0.2")) as study:
        view = risk_utility_map(study)
        tie = view.tie_under(0.2)
        assert tie is not None and tie.among == (0, 1, 2) and tie.leader == 0
        assert (tie.pick, tie.measure) == (picked, measure) and view.under_bound(0.2) == picked
        choice = choose(study, view, "as planned")
        assert choice.label == study.scenarios[picked].label and choice.record["planned"]
        noted = [each["kind"] for each in choice.record["notes"]]
        assert noted == ([] if measure is None else ["tie_broken"])


def test_a_tie_needs_noise_that_is_known(tmp_path: Path) -> None:
    """Ten equal runs are known to be exact, so the least difference is one."""
    rows = [(i, r, OK, 2, 0.1, 0.2 + 1e-9 * i, -0.01 * i) for i in range(3) for r in range(1, 13)]
    with study_of(tmp_path, rows) as study:
        tie = risk_utility_map(study).tie_under(0.2)
        assert tie is not None and tie == (0, 0, (0,), None)
    rows = [(i, r, OK, 2, 0.1, 0.2, 0.03 - 0.01 * i) for i in range(3) for r in range(1, 13)]
    with study_of(tmp_path, rows, name="same") as study:
        tie = risk_utility_map(study).tie_under(0.2)
        assert tie is not None and tie == (2, 0, (0, 1, 2), 2)


def test_a_bound_on_the_mean_where_the_plan_says_so(tmp_path):
    with study_of(tmp_path, ENOUGH, DecisionPlan(probability="mean")) as study:
        view = risk_utility_map(study)
        assert view.under_bound(0.2201) == 1 and view.under_bound(0.2) == 0
        choice = choose(study, view, "bound", max_risk=0.2)
        assert choice.rule == "most useful with a mean small-cell risk of at most 0.2 (20 % of unaltered records)"
        words = r"no candidate meets the limit 0\.1; the nearest is x\w+, with a mean risk of 0\.12$"
        with pytest.raises(UsageError, match=words):
            choose(study, view, "bound", max_risk=0.1)


@pytest.mark.parametrize(("probability", "needed"), [("0.9", 10), ("mean", 10), ("0.95", 20)])
def test_a_bound_needs_enough_runs(tmp_path, probability, needed):
    decision = DecisionPlan(probability=probability)
    for runs in (needed - 1, needed):
        with study_of(tmp_path, rows_of(runs), decision, f"{runs}") as study:
            view = risk_utility_map(study)
            if runs == needed:
                assert view.under_bound(0.5) == 1
                continue
            words = f"takes {needed}, and {study.scenarios[0].label} has {runs}, 1 too few"
            with pytest.raises(UsageError, match=words):
                view.under_bound(0.5)


def test_the_share_of_runs_is_kept_with_the_study(tmp_path):
    """What the study stores comes back as it was computed, under each of two measures."""
    with study_of(tmp_path, ENOUGH) as study:
        for _ in range(2):
            quantiles = risk_utility_map(study).single_runs
            assert quantiles is not None
            np.testing.assert_allclose(quantiles.quantile, [0.13, 0.23, 0.43, np.nan])
            assert quantiles.runs.tolist() == [12, 12, 12, 0]


def test_choosing_by_a_slope(study):
    view = risk_utility_map(study)
    assert view.by_slope(0.0) == [0] and view.by_slope(100.0) == [1]
    ((first, low, edge), (second, also, high)) = view.slope_intervals()
    assert (first, low, second, high) == (0, 0, 1, np.inf) and edge == also == pytest.approx(0.1 / 0.3)
    assert choose(study, view, "slope", slope=1.0).label == study.scenarios[1].label
    with pytest.raises(UsageError, match="are equally good; choose one of them"):
        choose(study, view, "slope", slope=edge)
    with pytest.raises(UsageError, match="slope is -1"):
        choose(study, view, "slope", slope=-1.0)


def test_choosing_by_name(study):
    view = risk_utility_map(study)
    label = study.scenarios[2].label
    choice = choose(study, view, "  because  ", candidate=label)
    assert (choice.label, choice.replicate, choice.why, choice.state) == (label, 1, "because", "draft")
    assert choose(study, view, "the first", candidate=f"{label}/1").replicate == 1
    with pytest.raises(
        UsageError, match=f"the plan releases replicate 1 of {label}, not 2: choosing among runs by their"
    ):
        choose(study, view, "the luckiest", candidate=f"{label}/2")
    for text, words in (
        ("x000zz", "the study has no candidate 'x000zz'"),
        (f"{label}/two", f"the replicate 'two' must be a whole number, such as {label}/1."),
        (study.scenarios[3].label, "failed"),
    ):
        with pytest.raises(UsageError) as got:
            choose(study, view, "why", candidate=text)
        assert words in str(got.value)


def test_a_choice_needs_one_rule_and_a_reason(study):
    view = risk_utility_map(study)
    with pytest.raises(UsageError, match="a decision needs its reason in words"):
        choose(study, view, " ", max_risk=1.0)
    for rules in ({}, {"max_risk": 1.0, "slope": 1.0}, {"candidate": "x", "slope": 0.0}):
        with pytest.raises(UsageError, match="choose by exactly one of candidate, max_risk and slope"):
            choose(study, view, "why", **rules)
    assert study.choices.all() == []


def test_the_plans_own_rule_counts_when_none_is_given(tmp_path):
    with study_of(tmp_path, ENOUGH, DecisionPlan(max_risk="0.2", realisation="2")) as study:
        choice = choose(study, risk_utility_map(study), "as planned")
        assert (choice.label, choice.replicate) == (study.scenarios[0].label, 2)
        assert choice.rule == RULE
    with study_of(tmp_path, ENOUGH, DecisionPlan(realisation="99"), "many") as study:
        view = risk_utility_map(study)
        with pytest.raises(UsageError, match="has no replicate 99; it has 12"):
            choose(study, view, "why", max_risk=0.2)


def test_the_first_completed_run_is_released(tmp_path):
    rows = [(0, 1, FAILED, 0, 0.1, 0.1, 0.0), (0, 2, OK, 2, 0.4, 0.1, 0.0), (0, 3, OK, 2, 0.1, 0.1, 0.0)]
    first = DecisionPlan(realisation="first")
    with study_of(tmp_path, [*rows, (1, 1, NOOP, 0, 0.3, 0, 0)], first) as study:
        results, view = study.runs.results(), risk_utility_map(study)
        assert realisation_of(study, results, 0, 0, allow_partial=False) == 2
        assert realisation_of(study, results, 0, 0, allow_partial=True) == 1
        with pytest.raises(UsageError, match="has not been run yet; finish the sweep first"):
            realisation_of(study, results, 2, 0, allow_partial=False)
        with pytest.raises(UsageError, match=r"has 1 runs that count, and a choice needs at least 10; add 9 to"):
            choose(study, view, "too soon", candidate=study.scenarios[1].label)
    with study_of(tmp_path, ROWS[-2:], name="failed") as study:
        with pytest.raises(
            UsageError, match=f"every run of {study.scenarios[3].label} failed: no feasible pair was left"
        ):
            realisation_of(study, study.runs.results(), 3, 0, allow_partial=False)
        view = risk_utility_map(study)
        with pytest.raises(UsageError, match="no candidate has a completed run, so none can be chosen"):
            choose(study, view, "why", max_risk=1.0)
        failed = next(int(i) for i in np.flatnonzero(view.summary.failed))
        assert "no feasible pair was left" in view.why_apart(failed)
        assert sum(view.all_apart.values()) == len(view.scenarios)


def test_the_first_run_within_the_bound_is_released(tmp_path):
    """Run 1 is riskier than the data unchanged, run 2 fails, run 3 is above the bound of the plan."""
    risks = (0.3, 0.05, 0.25, *[0.1] * 9)
    rows = [(0, r, FAILED if r == 2 else OK, 2, risk, 0.1, 0.0) for r, risk in enumerate(risks, 1)]

    def released(study: Study, risk: int | None = 0, bound: float | None = None) -> int:
        return realisation_of(study, study.runs.results(), 0, risk, bound=bound, allow_partial=False)

    with study_of(tmp_path, rows, DecisionPlan(max_risk="0.2")) as study:
        assert released(study) == 4
        assert released(study, bound=0.27) == 4, "the plan's limit holds beside one's own"
        assert released(study, bound=0.01) == 1, "none is within it; the submission is refused"
        assert released(study, None) == 1
    with study_of(tmp_path, rows, name="without a limit") as study:
        assert released(study) == 3
        assert released(study, bound=0.24) == 4


@pytest.mark.parametrize("failed", [3, 0])
def test_only_runs_that_count_make_enough(tmp_path, failed):
    runs = [(0, r, FAILED if r <= failed else OK, 2, 0.1, 0.1, 0.0) for r in range(1, 13)]
    with study_of(tmp_path, runs) as study:
        view, label = risk_utility_map(study), study.scenarios[0].label
        if failed:
            with pytest.raises(UsageError, match="has 9 runs that count, and a choice needs at least 10; add 1"):
                choose(study, view, "nine of twelve", candidate=label)
        else:
            assert choose(study, view, "twelve", candidate=label).replicate == 1


def test_what_is_recorded(study):
    view = risk_utility_map(study)
    choose(study, view, "first thought", max_risk=0.2)
    choose(study, view, "second thought", max_risk=0.25)
    one, two = study.choices.all()
    assert (one.why, two.why) == ("first thought", "second thought") and one.at <= two.at
    record = one.record
    assert record["spec"] == "A:S" and record["rate"] == "0.1" and record["risk"] == "small_cells"
    assert record["figures"]["small_cells"]["mean"] == pytest.approx(0.12)
    assert record["figures"]["small_cells"]["se"] == pytest.approx(0.01 * np.sqrt(8 / 11) / np.sqrt(12))
    assert record["figures"]["small_cells"]["original"] == 0.3
    assert (record["replicates"], record["failed"], record["undominated"]) == (12, 0, True)
    with Study.open(study.path) as again:
        assert again.choices.all() == [one, two]


def test_fresh_runs_are_kept_apart(study):
    study.runs.add([(0, 1_000_001, OK, 2, 0.5, 0.5, 0), (0, 1_000_002, OK, 2, 0.7, 0.5, 0)], table="fresh")
    assert risk_utility_map(study, fresh=True).risk_loss[0] == pytest.approx(0.6)
    assert risk_utility_map(study).risk_loss[0] == pytest.approx(0.12)


def test_a_map_before_anything_has_run(tmp_path):
    with study_of(tmp_path, []) as study:
        view = risk_utility_map(study)
        assert view.frontier().tolist() == [] and np.isnan(view.risk_loss).all() and view.knee() is None
        assert [RunStatus(code).word for code in (OK, FAILED, NOOP)] == ["ok", "failed", "noop"]


def cautioned(choice: Choice) -> list[str]:
    """The kinds of caution that a choice was recorded with."""
    return [each["kind"] for each in choice.record["cautions"]]


def test_a_slope_that_picks_what_loses_to_doing_nothing_says_so(study):
    """Doing nothing has risk 0.3 and loses no use: of slope 1 the best sum is 0.42, of slope 0.1 it is 0.17."""
    view = risk_utility_map(study)
    assert view.beaten_by_original(1, 1.0) == pytest.approx((0.42, 0.3)) and view.beaten_by_original(0, 0.1) is None
    assert view.beaten_by_original(1, np.inf) == pytest.approx((0.2, 0.0))
    assert view.beaten_by_original(3, 1.0) is None  # no completed run
    steep, flat = choose(study, view, "slope", slope=1.0), choose(study, view, "slope", slope=0.1)
    assert steep.rule == "best on the straight line of slope 1 between small-cell risk and Hellinger distance"
    (said,) = (each["values"] for each in steep.record["cautions"] if each["kind"] == "beaten_by_original")
    assert (said["candidate"], said["original"]) == pytest.approx((0.42, 0.3)) and not said["utility_only"]
    assert "beaten_by_original" not in cautioned(flat)
    by_hand = choose(study, view, "by hand", candidate=steep.label)
    assert "beaten_by_original" not in cautioned(by_hand)


def test_the_slope_of_the_plan_is_held_against_doing_nothing_too(tmp_path):
    with study_of(tmp_path, ENOUGH, DecisionPlan("small_cells", "hellinger", slope="1")) as study:
        view = risk_utility_map(study)
        for label in (None, study.scenarios[1].label):  # by the rule, and by hand what the rule picks
            assert "beaten_by_original" in cautioned(choose(study, view, "as planned", candidate=label))
        other = choose(study, view, "by hand", candidate=study.scenarios[0].label)
        assert "beaten_by_original" not in cautioned(other)


def test_equal_sums_in_other_last_bits_are_no_reason_to_do_nothing(tmp_path):
    rows = [(0, r, OK, 2, 0.1, 2.0, 0.0) for r in (1, 2, 3)]  # 0.1 + 0.1 * 2 is not 0.3 in floats
    with study_of(tmp_path, rows) as study:
        view = risk_utility_map(study)
        assert float(view.risk_loss[0]) + 0.1 * float(view.utility_loss[0]) > 0.3
        assert view.beaten_by_original(0, 0.1) is None


def test_a_limit_that_the_unaltered_file_meets_calls_for_no_protection(study):
    """Doing nothing has risk 0.3."""
    view = risk_utility_map(study)
    loose, just, strict = (choose(study, view, "loose", max_risk=limit) for limit in (0.35, 0.3, 0.29))
    (said,) = (each["values"] for each in loose.record["cautions"] if each["kind"] == "limit_met_unaltered")
    assert (said["original"], said["limit"]) == (0.3, 0.35)
    assert "limit_met_unaltered" in cautioned(just) and "limit_met_unaltered" not in cautioned(strict)


def test_a_choice_says_what_to_bear_in_mind(tmp_path):
    """Enough single runs meet the bound, the released one too; what is not settled and fresh figures are told."""
    raw, plan = load("czech")
    (tmp_path / "s.study.key").write_text("0123456789abcdef" * 2)
    with sweep(raw, edit_plan(plan, rates=["0.1", "0"], replicates=12), tmp_path / "s.study", workers=1) as study:
        view = risk_utility_map(study)
        best = view.under_bound(0.002)
        choice = choose(study, view, "test", max_risk=0.002)
        runs = view.results.values[view.results.scenario == best, 0]
        first = next(r for r, risk in enumerate(runs, 1) if risk <= 0.002 and risk < view.original[0])
        assert choice.replicate == first and choice.record["released"]["small_cells"] == runs[first - 1]
        within = int((runs <= 0.002).sum())
        assert within >= 0.9 * 12 and choice.record["obstacles"] == []
        assert choice.record["run"]["place"] == 1 + int((runs < runs[first - 1]).sum())
        assert (choice.record["run"]["within"], choice.record["run"]["of"]) == (within, 12)
        assert cautioned(choice) == ["limit_set_late", "not_rechecked"] and choice.record["fresh"] is None
        nothing = next(s for s in study.scenarios if s.spec.rate == "0")
        with pytest.raises(UsageError, match="changes nothing"):
            choose(study, view, "test", candidate=nothing.label)
        recheck(study, raw, bytes.fromhex("0123456789abcdef" * 2), [best], 12)
        logged = entries(study)[-1]
        assert logged.event == "rechecked"
        assert logged.detail == {"candidates": [study.scenarios[best].label], "replicates": 12}
        chosen = choose(study, view, "test", max_risk=0.002)
        again = chosen.record
        assert again["fresh"]["small_cells"]["mean"] == pytest.approx(study.runs.results("fresh").values[:, 0].mean())
        assert cautioned(chosen) == ["limit_set_late"]


def test_a_bound_tried_first_is_one_that_the_middle_of_the_frontier_meets(tmp_path):
    for rows, bound in ((ENOUGH, 0.23), (ROWS, 0.22)):  # of three runs only a mean
        with study_of(tmp_path, rows, name=f"{len(rows)}") as study:
            view = risk_utility_map(study)
            assert middle(view) == pytest.approx(bound)
            assert view.meets(bound + 1e-9).tolist()[1] == (rows is ENOUGH)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Study:
    raw, plan = samples.load("czech")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.02", "0.1"], replicates=4)
    folder = tmp_path_factory.mktemp("alike")
    (folder / "key").write_bytes(bytes(range(16)))  # another key might leave a single record exposed: "1 unaltered one"
    return sweep(raw, plan, folder / "s.study", key_file=folder / "key", workers=1)


def with_figures(view: RiskUtilityMap, risk: Sequence[float], loss: Sequence[float], se: float) -> RiskUtilityMap:
    """The map with these means (the rest far away and dominated) and one standard error for all."""
    n, k = view.summary.loss.shape
    figures = np.full((n, k), 9.0)
    figures[: len(risk), view.risk], figures[: len(loss), view.utility] = risk, loss
    summary = replace(view.summary, loss=figures, loss_se=np.full((n, k), se), counted=np.full(n, 20))
    on = np.zeros(n, bool)
    on[: len(risk)] = True
    return replace(view, summary=summary, dominance=replace(view.dominance, undominated=on))


def test_what_differs_by_less_than_noise_is_one_choice(swept: Study):
    view = with_figures(risk_utility_map(swept), [0.1, 0.101, 0.2, 0.3], [0.4, 0.399, 0.3, 0.2], 0.005)
    assert [(one.index, one.others) for one in indistinguishable_groups(view)] == [(0, (1,)), (2, ()), (3, ())]
    assert [(one.index, one.others) for one in indistinguishable_groups(view, representative=1)] == [
        (1, (0,)),
        (2, ()),
        (3, ()),
    ]


@pytest.mark.parametrize(("runs", "choices"), [(5, 2), (9, 2), (10, 1)])
def test_what_few_equal_runs_say_of_noise_merges_nothing(swept: Study, runs: int, choices: int):
    """Two scenarios of equal figures are one choice as soon as enough runs say that these do not vary."""
    view = with_figures(risk_utility_map(swept), [0.1, 0.1], [0.4, 0.4], 0.0)
    view = replace(view, summary=replace(view.summary, counted=np.full(len(view.scenarios), runs)))
    assert len(indistinguishable_groups(view)) == choices


def test_a_difference_on_one_measure_is_enough_to_stay_apart(swept: Study):
    view = with_figures(risk_utility_map(swept), [0.1, 0.101], [0.4, 0.2], 0.005)
    assert len(indistinguishable_groups(view)) == 2


def test_one_run_each_says_nothing_about_noise_so_nothing_is_merged(swept: Study):
    view = with_figures(risk_utility_map(swept), [0.1, 0.1001], [0.4, 0.3999], float("nan"))
    assert len(indistinguishable_groups(view)) == 2


def test_a_dominated_scenario_can_be_kept_among_them(swept: Study):
    view = with_figures(risk_utility_map(swept), [0.1, 0.2], [0.4, 0.3], 0.0001)
    assert [one.index for one in indistinguishable_groups(view, representative=5)] == [0, 1, 5]


def test_a_range_of_the_map_answers_with_what_lies_in_it(swept: Study):
    view = with_figures(risk_utility_map(swept), [0.1, 0.2, 0.3], [0.4, 0.3, 0.2], 0.001)
    assert inside(view, (0.25, 0.15), (0.0, 1.0)).tolist() == [1]
    assert inside(view, (0.1, 0.3), (0.2, 0.4)).tolist() == [0, 1, 2]
    assert inside(view, (0.5, 0.6), (0.0, 1.0)).tolist() == []


@pytest.mark.parametrize("most", [1, 2, 4, 100])
def test_the_safest_are_those_with_the_least_risk(swept: Study, most: int):
    view = with_figures(risk_utility_map(swept), [0.3, 0.1, 0.2, 0.1], [0.4, 0.3, 0.2, 0.2], 0.001)
    assert safest(view, most).tolist()[:4] == [3, 1, 2, 0][:most]
    assert len(safest(view, most)) == min(most, len(view.scenarios))
    holes = view.summary.loss.copy()
    holes[2:, view.risk] = np.nan
    few = replace(view, summary=replace(view.summary, loss=holes))
    assert safest(few, most).tolist()[:2] == [1, 0][:most] and len(safest(few, most)) == min(most, len(holes))


def test_the_frontier_of_a_part_is_that_of_the_part(swept: Study):
    view = with_figures(risk_utility_map(swept), [0.1, 0.2, 0.3], [0.4, 0.5, 0.2], 0.001)
    mask = np.zeros(len(view.scenarios), bool)
    mask[[1, 2]] = True
    assert np.flatnonzero(undominated_among(view, mask)).tolist() == [1, 2]
    together = undominated_together(view, (view.risk, view.utility))
    assert together[0] and not together[1] and together[2]


def test_counts_in_the_sentence_are_counts_of_records(swept: Study):
    view = risk_utility_map(swept)
    n = swept.about["n_records"]
    found = exposed(swept, view, 3)
    assert found is not None
    mine = view.results.scenario == 3
    counts = view.results.values[mine, view.risk] * (n - view.results.changed[mine])
    assert counts == pytest.approx(np.round(counts), abs=1e-6)  # eq. 6 times its denominator is a count
    assert found.mean == pytest.approx(counts.mean()) and (found.low, found.high) == (counts.min(), counts.max())
    told = headline(swept, view, 3, "B").values
    assert (told["records"], told["small"], told["fewest"], told["after"]) == (n, found.original, 3, found.mean)
    assert headline(swept, view, None).values["after"] is None


def test_runs_are_those_of_one_scenario(swept: Study):
    view = risk_utility_map(swept)
    runs = counted_runs(swept, 2, False)
    assert runs[:, 0].tolist() == [1, 2, 3, 4]
    assert runs[:, 2 + view.risk].mean() == pytest.approx(view.summary.mean[2, view.risk])
    assert counted_runs(swept, 10_000, False).shape == (0, 2 + len(view.measures))


def test_another_risk_is_said_with_its_value_and_direction(tmp_path: Path):
    raw, plan = samples.load("czech")
    names = ("k_anonymity_share", "sample_uniques", "hellinger")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.1"], replicates=2, measures=list(names))
    with sweep(raw, plan, tmp_path / "s.study", workers=1) as swept:
        for name, unit in (("k_anonymity_share", " % of records"), ("sample_uniques", " records")):
            view = risk_utility_map(swept, name)
            told = headline(swept, view, 1, "A").values
            assert told["better"] == "lower"
            assert str(told["before"]).endswith(unit) and str(told["after"]).endswith(unit)
            assert exposed(swept, view, 1) is None


def test_scenarios_are_found_by_label_and_can_be_lent(swept: Study):
    labels = swept.scenarios.labels()
    assert [swept.scenarios.index_of(label) for label in labels] == list(range(len(labels)))
    assert swept.scenarios.index_of("xnone") is None
    with Study.open(swept.path) as again:
        again.scenario_table.reuse(swept.scenarios)
        assert again.scenarios is swept.scenarios
        assert again.find(f"{labels[2]}/3") == (swept.scenarios[2], 3)
    arrays = swept.scenarios.arrays()
    shorter = Scenarios(swept.names, {**arrays, "label": arrays["label"][:-1]})
    with Study.open(swept.path) as again:
        again.scenario_table.reuse(shorter)  # the study has grown since: it is read
        assert len(again.scenarios) == len(labels)


def test_letters_go_to_clearly_different_neighbours(swept: Study):
    view = with_figures(risk_utility_map(swept), [0.1, 0.2, 0.201, 0.3, 0.4], [0.6, 0.5, 0.4999, 0.4, 0.3], 0.005)
    assert lettered(view, 3) == {"B": 0, "C": 2, "A": 3, "D": 4}
    assert lettered(view, 3, each_side=1) == {"B": 2, "A": 3, "C": 4}


def test_a_map_under_other_measures_needs_no_second_reading(swept: Study):
    view = risk_utility_map(swept)
    again, fresh = remapped(swept, view, utility="total_variation"), risk_utility_map(swept, utility="total_variation")
    assert (again.risk, again.utility, again.objectives) == (fresh.risk, fresh.utility, fresh.objectives)
    assert again.summary is view.summary
    assert again.dominance.undominated.tolist() == fresh.dominance.undominated.tolist()
    assert again.dominance.clear.tolist() == fresh.dominance.clear.tolist()
    with pytest.raises(UsageError, match="wanted one of risk"):
        remapped(swept, view, risk="hellinger")


def test_columns_as_codes_stand_for_their_values(swept: Study):
    specs = [one.spec for one in swept.scenarios]
    said = {
        "mechanism": [spec.mechanism for spec in specs],
        "rate": [spec.rate for spec in specs],
        "roles": [spec.attributes.roles for spec in specs],
    }
    for name, column in said.items():
        codes, values = swept.scenarios.coded(name)
        assert [values[code] for code in codes.tolist()] == column


# A staircase 0 (safest) to 2 (most useful), and 3 dominated by 1.
NEIGHBOURS = [
    (place, r, RunStatus.OK, 2, risk + 0.001 * r, loss, 0.0)
    for place, (risk, loss) in enumerate([(0.1, 0.5), (0.2, 0.3), (0.3, 0.1), (0.25, 0.4)])
    for r in (1, 2, 3)
]


@pytest.fixture
def view(tmp_path):
    with study_of(tmp_path, NEIGHBOURS) as made:
        yield risk_utility_map(made)


@pytest.mark.parametrize(("place", "letters"), [(0, "ABC"), (1, "BAC"), (2, "BCA")])
def test_the_recommendation_is_a_in_its_place_along_the_frontier(view, place, letters):
    assert list(lettered(view, place).items()) == list(zip(letters, (0, 1, 2), strict=True))


def test_few_on_each_side(view):
    assert lettered(view, 0, 1) == {"A": 0, "B": 1}
    assert lettered(view, 2, 1) == {"B": 1, "A": 2}
    assert lettered(view, 1, 0) == {"A": 1}


def test_a_dominated_choice_stands_among_the_frontier(view):
    found = lettered(view, 3)
    assert found["A"] == 3
    assert sorted(found.values()) == [0, 1, 2, 3]
    order = list(found.values())
    assert order.index(0) < order.index(3) < order.index(2)
    assert np.all(np.diff([view.risk_loss[i] for i in order if i != 3]) > 0)
