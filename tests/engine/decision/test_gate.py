"""What stands against releasing one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

from engine.data.io.readers import read_table
from engine.decision.gate import (
    AlteredGroup,
    _near_limit,
    altered_groups,
    altered_share,
    group_caution,
    obstacles,
    over_edit_limits,
    released_run,
    slope_of,
)
from engine.decision.statements import of_severity
from engine.measures import call
from engine.measures.planned import EditLimit
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan
from engine.plan.coding import code
from engine.plan.entries import MechanismPlan
from engine.release.scenarios import Results, RunStatus
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.study.map_reader import risk_utility_map
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, remake
from tests.engine.frontier.test_risk_utility_map import ORIGINAL, rows_of, study_of
from tests.engine.report.conftest import case_of, plan_of
from tests.shared import shared_file

Check = Callable[..., list[str]]


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """The kinds of obstacle against a run of some risks, on the map of a study."""
    with study_of(tmp_path_factory.mktemp("check"), []) as study:
        view = risk_utility_map(study)
    assert view.single_runs is not None and view.single_runs.probability == Fraction(9, 10)

    def kinds(
        risk: Sequence[float],
        *,
        bound: float | None = 0.02,
        on_mean: bool = False,
        original: float = 0.03,
        fresh: Sequence[float] = (),
        failed: Sequence[int] = (),
    ) -> list[str]:
        single_runs = None if on_mean else view.single_runs
        own = replace(view, original=np.array([original, 0, 0]), single_runs=single_runs)
        found = obstacles(own, _runs(risk, failed), 0, bound, _runs(fresh, ()))
        assert of_severity(found, "obstacle") == found
        of = {True: "fresh", False: ""}
        return [f"{one.kind} {one.values.get('of') or of[bool(one.values.get('fresh'))]}".strip() for one in found]

    return kinds


def _runs(risk: Sequence[float], failed: Sequence[int]) -> Results:
    status = np.array([RunStatus.FAILED if i in failed else RunStatus.OK for i in range(len(risk))])
    ones = np.ones(len(risk), np.int64)
    values = np.zeros((len(risk), len(ORIGINAL)))
    values[:, 0] = risk
    return Results(0 * ones, np.arange(1, len(risk) + 1), status, ones, values)


def test_nothing_stands_against_a_run_within_the_bound_among_enough_such_runs(check):
    assert check([0.01] * 20, fresh=[0.011] * 100) == []


def test_a_run_above_the_bound_is_not_released_however_low_the_mean(check):
    assert check([0.025, *[0.01] * 19]) == ["over_limit run"]


def test_a_run_as_risky_as_the_original_is_not_released_even_without_a_bound(check):
    assert check([0.03] + [0.01] * 19, bound=None) == ["not_safer run"]
    assert check([0.029] + [0.01] * 19, bound=None) == []


def test_a_safe_run_of_a_candidate_that_is_riskier_on_average_than_doing_nothing_is_luck(check):
    assert check([0.029] + [0.031] * 19, bound=None) == ["not_safer mean"]
    assert check([0.029] + [0.030] * 19, bound=None) == []


def test_nine_runs_support_no_choice_and_ten_do(check):
    assert check([0.01] * 9) == ["too_few_runs"]
    assert check([0.01] * 10) == []
    assert check([0.01] * 10, on_mean=True) == []
    assert check([0.01] * 9, on_mean=True) == ["too_few_runs"]
    assert check([0.01] * 12, failed=(9, 10, 11)) == ["too_few_runs"]


def test_a_bound_on_single_runs_is_not_met_by_a_mean(check):
    runs = [0.001] * 17 + [0.021] * 3  # a mean of .004
    assert check(runs) == ["rarely_within"]
    assert check(runs, on_mean=True) == []
    assert check([0.001] * 18 + [0.021] * 2) == []


def test_a_mean_above_the_bound_where_the_bound_is_on_the_mean(check):
    assert check([0.019] + [0.03] * 19, on_mean=True) == ["over_limit mean"]


def test_fresh_runs_that_do_not_confirm_the_figure_stop_the_submission(check):
    both = ["over_limit fresh", "rarely_within fresh"]
    assert check([0.01] * 20, fresh=[0.0201] * 5) == both
    assert check([0.01] * 20, on_mean=True, fresh=[0.0201] * 5) == ["over_limit fresh"]


def test_fresh_runs_that_clearly_refute_the_plans_probability_stop_the_submission_though_their_mean_does_not(check):
    """Of 50 fresh runs 40 meet it, so 66 to 90.0 % of all do, and of 41 at most 91 %."""
    few, more = ([0.01] * within + [0.025] * (50 - within) for within in (40, 41))
    assert check([0.01] * 20, fresh=few) == ["rarely_within fresh"]
    assert check([0.01] * 20, fresh=more) == ["too_few_runs fresh"]
    assert check([0.01] * 20, fresh=few, on_mean=True) == []


def test_fresh_runs_that_cannot_tell_stop_the_submission(check):
    """Of 100 fresh runs 96 meet it, so 90.1 to 98.9 % of all do, and of 95 at least 88.7 %."""
    within = {n: [0.01] * n + [0.025] * (100 - n) for n in (95, 96)}
    assert check([0.01] * 20, fresh=[0.01] * 2) == ["too_few_runs fresh"]
    assert check([0.01] * 20, fresh=[0.01] * 99) == ["too_few_runs fresh"]
    assert check([0.01] * 20, fresh=within[95]) == ["share_unsettled"]
    assert check([0.01] * 20, fresh=within[96]) == []
    assert check([0.01] * 20, fresh=[0.01] * 2, on_mean=True) == []


@pytest.mark.parametrize("within", range(101))
def test_no_count_of_fresh_runs_that_leaves_ninety_percent_open_is_submitted_without_a_word(check, within):
    """The count of an exact binomial test at 2.5 % on either side, reckoned with whole numbers."""
    chance = [comb(100, k) * 9**k / 10**100 for k in range(101)]
    tells = sum(chance[within:]) <= 0.025 or sum(chance[: within + 1]) <= 0.025
    found = check([0.01] * 20, fresh=[0.01] * within + [0.0200001] * (100 - within))
    assert ("share_unsettled" not in found) == tells


def test_rules_that_are_only_together_over_their_limits_in_too_many_runs_are_named(tmp_path_factory) -> None:
    with study_of(tmp_path_factory.mktemp("rules"), []) as study:
        view = risk_utility_map(study)
    limits = (EditLimit("a", 1, 1), EditLimit("b", 1, 2))
    for over, named in ((0, []), (2, [("over_edit_limits", 16)]), (3, [("over_edit_limit", 17)])):
        runs = _runs([0.01] * 20, ())
        runs.values[:2, 1] = runs.values[20 - over :, 2] = 2
        of_rules = np.array([[1.0, 2.0 if over > 2 else 1.0]])
        own = replace(view, results=runs, edit_limits=limits, of_rules=of_rules)
        found = [(one.kind, one.values.get("within", 20 - over)) for one in over_edit_limits(own, 0)]
        assert found == named


def test_a_run_without_a_figure_meets_no_limit(check):
    assert check([np.nan] * 20) == [
        "no_figure run",
        "rarely_within",
    ]


def test_data_without_a_figure_set_no_limit(check):
    assert check([0.01] * 20, original=np.nan) == []


def test_where_nothing_is_at_risk_a_run_without_risk_is_as_good(check):
    assert check([0.0] * 12, original=0.0) == []
    assert check([0.001, *[0.0] * 11], original=0.0) == ["not_safer run", "not_safer mean"]


def test_the_place_of_a_run_among_its_siblings(tmp_path):
    study = study_of(tmp_path, [])
    view = risk_utility_map(study)
    runs = _runs([0.03, 0.01, 0.02, 0.03, 0.01, 0.02, 0.04, 0.02, 0.02, 0.02, 0.9], failed=[10])
    run = released_run(study, view, runs, 2, {"bound": 0.02})
    assert (run.place, run.of, run.released, run.quantile, run.within, run.as_safe) == (3, 10, 0.02, 0.03, 7, 5)
    assert run.mean == pytest.approx(0.022)
    alone = released_run(study, view, runs, 0, {})
    assert (alone.place, alone.within, alone.fresh) == (8, None, None)
    counts = released_run(study, view, runs, 2, {"bound": 0.02}, 100 * runs.values[:, 0])
    assert (counts.place, counts.within, counts.released) == (3, 7, 2.0)
    assert released_run(study, view, runs, 10, {}).released is None, "a failed run does not count"
    study.close()


@pytest.mark.parametrize(
    ("runs", "steps", "cautions"),
    [(12, -0.1, []), (12, 0.0, [True]), (12, 1.9, [True]), (12, 2.1, []), (1, 9.0, [False])],
)
def test_a_mean_is_within_the_limit_for_certain_from_two_standard_errors_on(
    tmp_path, runs: int, steps: float, cautions: list[bool]
) -> None:
    """One run has no known standard error, so that no limit is met for certain."""
    with study_of(tmp_path, rows_of(runs)) as study:
        view = risk_utility_map(study)
        mean, se = float(view.risk_loss[0]), np.std([0.01, 0.02, 0.03] * 4, ddof=1) / np.sqrt(12)
        found = _near_limit(view, 0, mean + steps * float(se) + 1e-12)
    assert [one.values["noise_known"] for one in found] == cautions
    assert all(one.kind == "near_limit" and one.values["value"] == mean for one in found)


@pytest.mark.parametrize(
    ("record", "slope"), [({"slope": 2.0}, 2.0), ({"planned": True}, 3.0), ({"planned": False}, None), ({}, None)]
)
def test_a_choice_rests_on_its_own_slope_or_on_the_plans_that_picks_it(tmp_path, record, slope) -> None:
    with study_of(tmp_path, [], DecisionPlan(slope="3")) as study:
        assert slope_of(study, record) == slope


# -- who carries the change ------------------------------------------------------------------------------------------


def counted(realisation: Remade) -> dict[tuple[str, str], tuple[float, float]]:
    """Records and altered records of every group, a mean over tables, record by record."""
    data, n_tables = realisation.data, len(realisation.tables)
    records: Counter[tuple[str, str]] = Counter()
    altered: Counter[tuple[str, str]] = Counter()
    for d in range(n_tables):
        columns = [realisation.codes(j, d).tolist() for j in range(len(data.domain))]
        original = [codes.tolist() for codes in data.codes]
        for i in range(data.n_records):
            is_altered = any(after[i] != before[i] for before, after in zip(original, columns, strict=True))
            for attribute, column in zip(data.domain.attributes, columns, strict=True):
                group = (attribute.name, attribute.levels[column[i]])
                records[group] += 1
                altered[group] += is_altered
    return {group: (records[group] / n_tables, altered[group] / n_tables) for group in records}


@pytest.mark.slow
def test_every_group_is_counted_as_by_hand(tmp_path: Path) -> None:
    for mechanism in ((), (MechanismPlan("maps", (("w0", ("0.2",)), ("s", ("9",)), ("D", ("2",)))),)):
        plan = plan_of(mechanisms=mechanism, measures=("small_cells[n_rule=5]", "pmse"), analyses=())
        folder = tmp_path / f"{len(mechanism)}"
        folder.mkdir()
        realisation = case_of(folder, plan).realisation
        groups, expected = altered_groups(realisation, 45), counted(realisation)
        assert len(groups) == len(expected) == len({(group.attribute, group.level) for group in groups})
        for group in groups:
            records, altered = expected[group.attribute, group.level]
            assert group.share == pytest.approx(altered / records)
            assert (group.records, group.altered) == (round(records), round(altered))
        order = [(group.records <= 45, -group.share) for group in groups]
        assert order == sorted(order) and {few for few, _ in order} == {True, False}
        total = sum(altered for (name, _), (_, altered) in expected.items() if name == "A")
        assert altered_share(realisation) == pytest.approx(total / realisation.data.n_records)


@pytest.mark.slow
def test_a_third_of_the_small_group_and_a_twentieth_of_the_large_carry_a_swap_of_ten_percent() -> None:
    raw = read_table(shared_file("data", "cps8d.csv"))
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec.parse("Race:S", data.domain.names), "0.1", "strict")
    realisation = remake(data, question_of(plan, data, (call("small_cells"),)), spec, bytes(range(32)))
    groups = altered_groups(realisation, plan.tolerances.min_n)
    shares = {group.level: round(group.share, 3) for group in groups if group.attribute == "Race"}
    assert shares == {"Non-White": 0.345, "White": 0.058}
    rate = altered_share(realisation)
    assert rate == pytest.approx(0.1, abs=1e-4)
    caution = group_caution(groups, rate, plan.tolerances.min_n)
    assert caution is not None and caution.kind == "uneven_group"
    assert caution.values["group"] == "Race: Non-White" and caution.values["times"] == pytest.approx(
        0.345 / 0.1, abs=0.01
    )


def _group(records: int, altered: int) -> AlteredGroup:
    return AlteredGroup("A", f"{records}/{altered}", records, altered, altered / records)


def test_a_caution_needs_records_a_share_far_above_the_rate_and_more_than_chance() -> None:
    rate, min_n = 0.1, 45
    assert group_caution([_group(45, 45)], rate, min_n) is None, "too few records"
    assert group_caution([_group(10_000, 2_000)], rate, min_n) is None, "twice the rate is not above it"
    assert group_caution([_group(50, 15)], rate, min_n) is None, "three times the rate, but by chance"
    assert group_caution([_group(50, 20)], rate, min_n) is not None
    assert group_caution([_group(10_000, 2_140)], rate, min_n) is not None
    worst = group_caution([_group(10_000, 3_000), _group(100, 50), _group(500, 160)], rate, min_n)
    assert worst is not None and worst.values["group"] == "A: 100/50" and worst.values["times"] == pytest.approx(5)
    assert group_caution([_group(100, 0)], 0.0, min_n) is None


def test_chance_alone_gives_no_caution() -> None:
    """Of records altered at random, whoever they are, hardly ever."""
    rng, given = np.random.default_rng(5), 0
    for _ in range(400):
        groups = [_group(n, int(rng.binomial(n, 0.05))) for n in (46, 60, 100, 300, 2_000) * 6]
        given += group_caution(groups, 0.05, 45) is not None
    assert given <= 4
