"""Figures of measures that tell the rate are in no file of a members' bundle, and no choice by them makes one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle.members import UNTESTED, told_to_members
from engine.bundle.refusal import Refused
from engine.decision.choice import choose
from engine.plan import AttributePlan, DataPlan, Plan, PublishPlan, SpacePlan
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.report.rate_words import rate_words
from engine.report.redaction import is_withheld
from engine.study.keys import key_path
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from tests.engine.bundle.members_case import KEY, raw_table

TELLING = ("rate_error", "detection_precision", "altered_share_max", "r1_share")


RATE = 0.1


def _findings(folder: Path, risk: str, members_rate: str = "withhold") -> Findings:
    names = ("group", "work", "town")
    plan = Plan(
        DataPlan(tuple(AttributePlan(name) for name in names), drop=("age", "pay")),
        space=SpacePlan(specs=("group:S",), rates=(str(RATE),), replicates=10),
        measures=("small_cells", "hellinger", *TELLING),
        publish=PublishPlan(members_rate=members_rate),  # type: ignore[arg-type]
    )
    path, raw = folder / "measures.study", raw_table()
    key_path(path).write_text(KEY)
    with sweep(raw, plan, path, workers=1) as study:
        label = study.scenarios[0].label
        choice = choose(study, risk_utility_map(study, risk), "the only candidate", candidate=label, by="somebody")
        return findings(study, remade(study, raw, choice.label, choice.replicate))


@pytest.mark.slow
def test_measures_that_tell_the_rate_have_no_figures_for_members(tmp_path: Path) -> None:
    whole = _findings(tmp_path, "small_cells")
    told, _ = told_to_members(whole, RATE)
    withheld = [row for row in told.measures if is_withheld(row)]
    assert len(withheld) == len(TELLING)
    figures = [(row.mean, row.se, row.released, row.fresh, row.fresh_se) for row in withheld]
    assert set(figures) == {(None,) * 5}


def test_a_choice_by_such_a_measure_makes_no_bundle_for_members(tmp_path: Path) -> None:
    whole = _findings(tmp_path, "detection_precision")
    with pytest.raises(Refused, match="by a measure whose figures tell the rate"):
        told_to_members(whole, RATE)
    assert told_to_members(replace(whole, map=replace(whole.map, tells_rate=False)), RATE)[0].members_rate.attacked


def test_members_who_know_the_rate_see_them(tmp_path: Path) -> None:
    told, _ = told_to_members(_findings(tmp_path, "detection_precision", "tell"), RATE)
    assert not [row for row in told.measures if is_withheld(row)]


def test_of_a_mechanism_without_attacks_members_read_little(tmp_path: Path) -> None:
    whole = _findings(tmp_path, "small_cells")
    other = replace(whole, design=replace(whole.design, swap=False))
    told, attacks = told_to_members(other, RATE)
    assert (told.members_rate.step, told.members_rate.counts) == UNTESTED == (attacks["changes"], attacks["counts"])
    assert not told.members_rate.attacked and "tried" not in attacks
    assert all(row.before == row.after for row in told.utility.shares) and not told.utility.losses
    first, second = rate_words(told)
    assert "was not tested" in first and "none is on this method" in first and "factor" not in first
    assert "for these pages and the files beside them alone" in second
