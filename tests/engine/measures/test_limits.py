"""A bound on risk lies within the range of its measure, on every way in."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

import engine as sf
from engine.cli.main import main
from engine.common.errors import UsageError
from engine.measures import MEASURES, call
from engine.measures.planned import check_bounded
from engine.plan import edit_plan
from engine.plan.samples import load


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("small_cells", (0, 1)),
        ("pmse", (0, 0.25)),
        ("attribution_gain", (-1, 1)),
        ("p1", (-inf, 1)),
        ("ci_overlap", (-inf, 1)),
        ("r1_share", (0, inf)),
        ("sample_uniques", (0, inf)),
        ("entropy_change", (-inf, inf)),
    ],
)
def test_a_range_gives_its_numbers(name: str, limits: tuple[float, float]):
    assert (MEASURES[name].least, MEASURES[name].most) == limits


def test_a_bound_outside_the_range_is_refused_with_what_may_be_meant():
    check_bounded(call("small_cells"), 1)
    check_bounded(call("sample_uniques"), 2000)
    with pytest.raises(UsageError, match=r"max_risk == 1\.5, must be between 0 and 1, the range of 'small_cells'"):
        check_bounded(call("small_cells"), 1.5)
    with pytest.raises(UsageError, match=r"Did you mean 0\.02\?"):
        check_bounded(call("small_cells"), 2)


def test_a_first_plan_with_such_a_bound_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "init", "czech", "--max-risk", "2", "--out", str(tmp_path / "p.toml")]) == 2
    assert "the range of 'small_cells'" in capsys.readouterr().err and not (tmp_path / "p.toml").exists()


@pytest.mark.slow
def test_a_sweep_under_such_a_bound_does_not_begin():
    raw, plan = load("czech")
    with pytest.raises(sf.UsageError, match="the range of 'small_cells'"):
        sf.sweep("czech", plan=edit_plan(plan, max_risk="2"), replicates=10)
    assert raw.n_records
