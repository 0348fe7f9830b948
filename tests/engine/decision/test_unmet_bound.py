"""What would help where nothing meets a bound: the least risk reached, larger rates, coarser keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine.decision.unmet_bound import unmet_bound, unmet_statements
from engine.plan import DecisionPlan, SpacePlan
from engine.release.scenarios import RunStatus
from engine.release.spec import ReleaseSpec
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from tests.small_tables import Small

SMALL = Small(((0, 0, 0), (1, 1, 1)), (2, 5, 3))
RUNS = 12


@contextmanager
def study_of(folder: Path, risks: Mapping[str, float], original: float = 0.3, runs: int = RUNS) -> Iterator[Study]:
    """A study of one swap at several rates, each with the same risk in all runs."""
    plan = SMALL.plan(
        space=SpacePlan(specs=("A:S",), rates=tuple(risks), replicates=runs),
        measures=("small_cells", "hellinger"),
        decision=DecisionPlan(),
    )
    about = {"attributes": list(SMALL.names), "levels": [2, 5, 3], "measures": list(plan.measures), "n_records": 2}
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
        least, rate, keys = (told.values for told in unmet_statements(unmet, view))
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
        assert unmet is not None and unmet.trend is not None
        assert (unmet.trend.next_rate, unmet.trend.reaches) == (next_rate, reaches)


def test_it_is_said_where_the_data_unchanged_are_within_the_bound(tmp_path: Path) -> None:
    with study_of(tmp_path, {"0.1": 0.25}, original=0.1) as study:
        view = risk_utility_map(study)
        unmet = unmet_bound(study, view, 0.2)
        assert unmet is not None
        assert unmet_statements(unmet, view)[0].values["original"] == "0.1 (10 % of unaltered records)"


def test_keys_of_two_levels_cannot_be_coarser(tmp_path: Path) -> None:
    with study_of(tmp_path, {"0.1": 0.25}) as study:
        view = risk_utility_map(study)
        unmet = unmet_bound(study, view, 0.2)
        assert unmet is not None
        told = {each.kind: each.values for each in unmet_statements(replace(unmet, keys=(("A", 2),)), view)}
        assert told["coarser_keys"] == {"keys": ()}
        assert "coarser_keys" not in {each.kind for each in unmet_statements(replace(unmet, keys=()), view)}
