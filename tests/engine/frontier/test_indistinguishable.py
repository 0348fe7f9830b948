"""Merging scenarios within noise, parts of a map, and counts in sentences, on a small study whose figures are set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.frontier.indistinguishable import indistinguishable_groups
from engine.frontier.neighbours import lettered
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.frontier.selection import inside, safest, undominated_among, undominated_together
from engine.frontier.summary import dominance, summarise
from engine.plan import edit_plan, samples
from engine.release.scenarios import Scenarios
from engine.report.sentences import counted_runs, exposed, headline
from engine.report.words import figure
from engine.study.map_reader import remapped, risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import sweep


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
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


def test_what_differs_by_less_than_noise_is_one_choice(study: Study):
    view = with_figures(risk_utility_map(study), [0.1, 0.101, 0.2, 0.3], [0.4, 0.399, 0.3, 0.2], 0.005)
    assert [(one.index, one.others) for one in indistinguishable_groups(view)] == [(0, (1,)), (2, ()), (3, ())]
    assert [(one.index, one.others) for one in indistinguishable_groups(view, representative=1)] == [
        (1, (0,)),
        (2, ()),
        (3, ()),
    ]


@pytest.mark.parametrize(("runs", "choices"), [(5, 2), (9, 2), (10, 1)])
def test_what_few_equal_runs_say_of_noise_merges_nothing(study: Study, runs: int, choices: int):
    """Two scenarios of equal figures are one choice as soon as enough runs say that these do not vary."""
    view = with_figures(risk_utility_map(study), [0.1, 0.1], [0.4, 0.4], 0.0)
    view = replace(view, summary=replace(view.summary, counted=np.full(len(view.scenarios), runs)))
    assert len(indistinguishable_groups(view)) == choices


def test_a_difference_on_one_measure_is_enough_to_stay_apart(study: Study):
    view = with_figures(risk_utility_map(study), [0.1, 0.101], [0.4, 0.2], 0.005)
    assert len(indistinguishable_groups(view)) == 2


def test_one_run_each_says_nothing_about_noise_so_nothing_is_merged(study: Study):
    view = with_figures(risk_utility_map(study), [0.1, 0.1001], [0.4, 0.3999], float("nan"))
    assert len(indistinguishable_groups(view)) == 2


def test_a_dominated_scenario_can_be_kept_among_them(study: Study):
    view = with_figures(risk_utility_map(study), [0.1, 0.2], [0.4, 0.3], 0.0001)
    assert [one.index for one in indistinguishable_groups(view, representative=5)] == [0, 1, 5]


def test_a_range_of_the_map_answers_with_what_lies_in_it(study: Study):
    view = with_figures(risk_utility_map(study), [0.1, 0.2, 0.3], [0.4, 0.3, 0.2], 0.001)
    assert inside(view, (0.25, 0.15), (0.0, 1.0)).tolist() == [1]
    assert inside(view, (0.1, 0.3), (0.2, 0.4)).tolist() == [0, 1, 2]
    assert inside(view, (0.5, 0.6), (0.0, 1.0)).tolist() == []


@pytest.mark.parametrize("most", [1, 2, 4, 100])
def test_the_safest_are_those_with_the_least_risk(study: Study, most: int):
    view = with_figures(risk_utility_map(study), [0.3, 0.1, 0.2, 0.1], [0.4, 0.3, 0.2, 0.2], 0.001)
    assert safest(view, most).tolist()[:4] == [3, 1, 2, 0][:most]
    assert len(safest(view, most)) == min(most, len(view.scenarios))
    holes = view.summary.loss.copy()
    holes[2:, view.risk] = np.nan
    few = replace(view, summary=replace(view.summary, loss=holes))
    assert safest(few, most).tolist()[:2] == [1, 0][:most] and len(safest(few, most)) == min(most, len(holes))


def test_the_frontier_of_a_part_is_that_of_the_part(study: Study):
    view = with_figures(risk_utility_map(study), [0.1, 0.2, 0.3], [0.4, 0.5, 0.2], 0.001)
    mask = np.zeros(len(view.scenarios), bool)
    mask[[1, 2]] = True
    assert np.flatnonzero(undominated_among(view, mask)).tolist() == [1, 2]
    together = undominated_together(view, (view.risk, view.utility))
    assert together[0] and not together[1] and together[2]


def test_counts_in_the_sentence_are_counts_of_records(study: Study):
    view = risk_utility_map(study)
    n = study.about["n_records"]
    found = exposed(study, view, 3)
    assert found is not None
    mine = view.results.scenario == 3
    counts = view.results.values[mine, view.risk] * (n - view.results.changed[mine])
    assert counts == pytest.approx(np.round(counts), abs=1e-6)  # eq. 6 times its denominator is a count
    assert found.mean == pytest.approx(counts.mean()) and (found.low, found.high) == (counts.min(), counts.max())
    said = headline(study, view, 3, "B")
    assert said.startswith(
        f"Of {n:,} records, {found.original} stand in combinations that fewer than 3 records share if nothing is done; "
    )
    assert f"on average {figure(found.mean)} unaltered ones do under B." in said
    assert headline(study, view, None).endswith("if nothing is done.")


def test_runs_are_those_of_one_scenario(study: Study):
    view = risk_utility_map(study)
    runs = counted_runs(study, 2, False)
    assert runs[:, 0].tolist() == [1, 2, 3, 4]
    assert runs[:, 2 + view.risk].mean() == pytest.approx(view.summary.mean[2, view.risk])
    assert counted_runs(study, 10_000, False).shape == (0, 2 + len(view.measures))


def test_another_risk_is_said_with_its_value_and_direction(tmp_path: Path):
    raw, plan = samples.load("czech")
    names = ("k_anonymity_share", "sample_uniques", "hellinger")
    plan = edit_plan(plan, swap_sizes=[1], rates=["0.1"], replicates=2, measures=list(names))
    with sweep(raw, plan, tmp_path / "s.study", workers=1) as study:
        for name, word in (
            ("k_anonymity_share", " % of records if nothing is done"),
            ("sample_uniques", "records if nothing"),
        ):
            view = risk_utility_map(study, name)
            said = headline(study, view, 1, "A")
            assert word in said and "less is safer" in said and said.endswith("under A.")
            assert exposed(study, view, 1) is None


def test_scenarios_are_found_by_label_and_can_be_lent(study: Study):
    labels = study.scenarios.labels()
    assert [study.scenarios.index_of(label) for label in labels] == list(range(len(labels)))
    assert study.scenarios.index_of("xnone") is None
    with Study.open(study.path) as again:
        again.scenario_table.reuse(study.scenarios)
        assert again.scenarios is study.scenarios
        assert again.find(f"{labels[2]}/3") == (study.scenarios[2], 3)
    arrays = study.scenarios.arrays()
    shorter = Scenarios(study.names, {**arrays, "label": arrays["label"][:-1]})
    with Study.open(study.path) as again:
        again.scenario_table.reuse(shorter)  # the study has grown since: it is read
        assert len(again.scenarios) == len(labels)


def test_letters_go_to_clearly_different_neighbours(study: Study):
    view = with_figures(risk_utility_map(study), [0.1, 0.2, 0.201, 0.3, 0.4], [0.6, 0.5, 0.4999, 0.4, 0.3], 0.005)
    assert lettered(view, 3) == {"B": 0, "C": 2, "A": 3, "D": 4}
    assert lettered(view, 3, each_side=1) == {"B": 2, "A": 3, "C": 4}


def test_a_map_under_other_measures_needs_no_second_reading(study: Study):
    view = risk_utility_map(study)
    again, fresh = remapped(study, view, utility="total_variation"), risk_utility_map(study, utility="total_variation")
    assert (again.risk, again.utility, again.objectives) == (fresh.risk, fresh.utility, fresh.objectives)
    assert again.summary is view.summary
    assert again.dominance.undominated.tolist() == fresh.dominance.undominated.tolist()
    assert again.dominance.clear.tolist() == fresh.dominance.clear.tolist()
    with pytest.raises(UsageError, match="wanted one of risk"):
        remapped(study, view, risk="hellinger")


def test_columns_as_codes_stand_for_their_values(study: Study):
    specs = [one.spec for one in study.scenarios]
    said = {
        "mechanism": [spec.mechanism for spec in specs],
        "rate": [spec.rate for spec in specs],
        "roles": [spec.attributes.roles for spec in specs],
    }
    for name, column in said.items():
        codes, values = study.scenarios.coded(name)
        assert [values[code] for code in codes.tolist()] == column


def test_one_run_each_makes_nothing_clear(study: Study):
    view = risk_utility_map(study)
    first = study.runs.results()
    alone = first.replicate == 1
    once = replace(first, **{name: getattr(first, name)[alone] for name in vars(first)})
    measures = [call.measure for call in view.measures]
    found = dominance(summarise(once, measures, len(view.scenarios)), once, measures, view.objectives)
    assert found.undominated.any() and not found.clear.any()
