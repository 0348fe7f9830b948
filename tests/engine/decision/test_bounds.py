"""A bound in words, and what would help where nothing meets it: larger rates, coarser keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.decision.bounds import bound_words, example_bound, figure_words, reachable_bound, unmet_bound
from engine.measures import call
from engine.plan import DecisionPlan, SpacePlan
from engine.release.scenarios import RunStatus
from engine.release.spec import ReleaseSpec
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from tests.small_tables import Small

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 5, 3))
RUNS = 12


@contextmanager
def study_of(
    folder: Path, risks: Mapping[str, float], original: float = 0.3, runs: int = RUNS, levels: Sequence[int] = (2, 5, 3)
) -> Iterator[Study]:
    """A study of one swap at several rates, each with the same risk in all runs."""
    plan = SMALL.plan(
        space=SpacePlan(specs=("A:S",), rates=tuple(risks), replicates=runs),
        measures=("small_cells", "hellinger"),
        decision=DecisionPlan(),
    )
    about = {"attributes": list(SMALL.names), "levels": levels, "measures": list(plan.measures), "n_records": 2}
    with Study.create(folder / "s", plan, about, {"small_cells": original, "hellinger": 0.0}) as study:
        study.scenario_table.add([ReleaseSpec(SMALL.spec("SUU"), rate) for rate in risks])
        rows = [(i, r, RunStatus.OK, 2, risk, 0.1) for i, risk in enumerate(risks.values()) for r in range(1, runs + 1)]
        study.runs.add(rows)
        yield study


def test_a_bound_that_is_met_asks_for_nothing(tmp_path: Path) -> None:
    with study_of(tmp_path, {"0.1": 0.2}) as study:
        assert unmet_bound(study, risk_utility_map(study), 0.2) is None


def test_with_too_few_runs_nothing_is_said_about_a_bound(tmp_path: Path) -> None:
    with study_of(tmp_path, {"0.1": 0.2}, runs=3) as study:
        assert unmet_bound(study, risk_utility_map(study), 0.1) is None


def test_the_least_risk_larger_rates_and_coarser_keys_are_told(tmp_path: Path) -> None:
    with study_of(tmp_path, {"0.1": 0.25, "0.2": 0.2}) as study:
        view = risk_utility_map(study)
        unmet = unmet_bound(study, view, 0.12)
        assert unmet is not None
        label = study.scenarios[1].label
        least, rate, keys = (told.values for told in unmet.statements)
        assert (least["share"], least["candidate"], least["original"]) == (0.9, label, "")
        assert (rate["rates"], rate["next_rate"], rate["reaches"]) == (("10 %", "20 %"), "40 %", True)
        assert keys["keys"] == ("B (5 levels)", "C (3 levels)")


@pytest.mark.parametrize(
    ("risks", "bound", "next_rate", "reaches"),
    [
        ({"0.02": 0.29}, 0.25, "0.1", True),
        ({"0.01": 0.29, "0.02": 0.28}, 0.25, "0.05", True),
        ({"0.1": 0.2, "0.2": 0.19}, 0.05, "0.4", False),
        ({"0.1": 0.2, "0.2": 0.21}, 0.1, None, False),
        ({"0.1": 0.31}, 0.1, None, False),
        ({"0.5": 0.2, "1": 0.15}, 0.1, None, False),
    ],
    ids=["one rate", "two rates", "too flat", "rising", "riskier than nothing", "all records"],
)
def test_a_larger_rate_is_proposed_only_where_risk_falls_with_it(
    tmp_path: Path, risks: dict[str, float], bound: float, next_rate: str | None, reaches: bool
) -> None:
    with study_of(tmp_path, risks) as study:
        unmet = unmet_bound(study, risk_utility_map(study), bound)
        assert unmet is not None
        assert (unmet.next_rate, unmet.statements[1].values["reaches"]) == (next_rate or "", reaches)


def test_it_is_said_where_the_data_unchanged_are_within_the_bound(tmp_path: Path) -> None:
    with study_of(tmp_path, {"0.1": 0.25}, original=0.1) as study:
        view = risk_utility_map(study)
        unmet = unmet_bound(study, view, 0.2)
        assert unmet is not None
        assert unmet.statements[0].values["original"] == "0.1 (10 % of unaltered records)"


@pytest.mark.parametrize(("levels", "told"), [([2, 2, 2], [{"keys": ()}]), ([], [])])
def test_keys_of_two_levels_cannot_be_coarser(tmp_path: Path, levels: list[int], told: list[dict[str, object]]) -> None:
    with study_of(tmp_path, {"0.1": 0.25}, levels=levels) as study:
        unmet = unmet_bound(study, risk_utility_map(study), 0.2)
        assert unmet is not None and unmet.coarse_keys == ()
        assert [each.values for each in unmet.statements if each.kind == "coarser_keys"] == told


# -- in words --------------------------------------------------------------------------------------------------------


def test_a_share_of_unaltered_records_is_no_share_of_all() -> None:
    words = bound_words(call("small_cells"), 0.55, 12_000)
    assert words == (
        "That is 55 % of unaltered records. It is at most 6,600 records of 12,000, and fewer the more records a "
        "candidate alters."
    )


def test_a_share_of_all_records_is_told_in_records_and_other_units_are_not() -> None:
    assert bound_words(call("k_anonymity_share"), 0.01, 12_000) == "That is 1 % of records: 120 of 12,000."
    assert bound_words(call("k_anonymity_share"), 0.29, 100).endswith(": 29 of 100.")
    assert bound_words(call("sample_uniques"), 40, 12_000) == ""


def test_a_figure_has_its_unit() -> None:
    assert figure_words(call("small_cells"), 0.0141) == "0.0141 (1.41 % of unaltered records)"


@pytest.mark.parametrize(
    ("doing_nothing", "example"),
    [(0.129, "0.065"), (0.0027, "0.0014"), (812.0, "406"), (3.0, "1.5"), (0.0, ""), (None, ""), (math.nan, "")],
)
def test_an_example_is_half_the_risk_of_doing_nothing(doing_nothing: float | None, example: str) -> None:
    assert example_bound(doing_nothing) == example


@pytest.mark.parametrize(("least", "example"), [(0.0742601, "0.075"), (0.02, "0.039"), (math.nan, "0.039")])
def test_an_example_is_no_less_than_what_candidates_reach(least: float, example: str) -> None:
    assert example_bound(0.078, least) == example


@pytest.mark.parametrize("least", [0.0, 0.012344, 0.0123451, 0.99996, 812.0, 81234.5])
def test_the_reachable_bound_is_met_by_the_least_risk(least: float) -> None:
    assert least <= reachable_bound(least) <= least * 1.1
