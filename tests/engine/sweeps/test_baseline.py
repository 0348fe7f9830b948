"""The figure of the unaltered data is the one that a study records."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.plan import edit_plan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.sweeps.evaluator import original_figure
from engine.sweeps.sweep import sweep


def test_it_is_the_studys_own_figure(tmp_path: Path) -> None:
    raw, plan = load("czech")
    plan = edit_plan(
        plan, rates=["0.05"], replicates=1, swap_sizes=[1], measures=["small_cells[n_rule=5]", "hellinger"]
    )
    with sweep(raw, plan, tmp_path / "c.study", workers=1) as study:
        originals = study.original
    data = code(raw, plan)
    assert original_figure(plan, data, "small_cells[n_rule=5]") == pytest.approx(originals["small_cells[n_rule=5]"])
    assert original_figure(plan, data, "hellinger") == 0
    assert original_figure(plan, data, "distance_linkage") is None
