"""A plan of which every candidate has the same figure stops before anything is drawn, on every way in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import engine as sf
from engine.cli.main import main
from engine.common.errors import UsageError
from engine.plan import MechanismPlan, Plan, edit_plan, plan_to_toml
from engine.plan.samples import load
from engine.sweeps.meaning import check_meaning
from engine.sweeps.sweep import plan_problems, sweep

VOID: dict[str, dict[str, Any]] = {
    "utility, nothing tabulated": {"swap": ["A"], "analyse": ["C", "D"]},
    "utility, one attribute": {"analyse": ["A"]},
    "utility, as a whole": {"specs": ["A:S B:S"], "analyse": ["A", "B"]},
    "risk": {"swap": ["A", "B"], "keys": ["C", "D"]},
    "only spec": {"specs": ["A:S"], "analyse": ["B", "C"]},
}
SOUND: dict[str, dict[str, Any]] = {
    "as it is": {},
    "one of two": {"swap": ["A", "B"], "analyse": ["A", "B"]},
    "beside": {"swap": ["A"], "analyse": ["A", "C"]},
    "one of several specs": {"specs": ["A:S B:S", "A:S"], "analyse": ["A", "B"]},
    "another measure": {"swap": ["A"], "analyse": ["C", "D"], "measures": ["small_cells", "hellinger[attributes=A+B]"]},
}


def plan_with(**changes: Any) -> Plan:
    return edit_plan(load("czech")[1], **{"rates": ["0.1"], "replicates": 10, **changes})


@pytest.mark.parametrize("changes", VOID.values(), ids=VOID)
def test_one_figure_for_all_is_refused(changes: dict[str, Any]):
    with pytest.raises(UsageError, match="every candidate has the same"):
        check_meaning(plan_with(**changes), [])


@pytest.mark.parametrize("changes", SOUND.values(), ids=SOUND)
def test_figures_that_can_differ_are_not(changes: dict[str, Any]):
    check_meaning(plan_with(**changes), [])


def test_under_a_rule_the_measure_that_it_compares_must_differ():
    changes = {
        "swap": ["A"],
        "analyse": ["C", "D"],
        "measures": ["small_cells", "hellinger", "hellinger[attributes=A+B]"],
    }
    check_meaning(plan_with(**changes), [])
    with pytest.raises(UsageError, match="every candidate has the same utility, by 'hellinger'"):
        check_meaning(plan_with(**changes, max_risk="0.002"), [])
    check_meaning(plan_with(**changes, max_risk="0.002", utility="hellinger[attributes=A+B]"), [])


@pytest.mark.parametrize(
    ("mechanism", "keys", "void"),
    [
        (MechanismPlan.of("rds", {"s": "3"}), ["A", "B"], True),
        (MechanismPlan.of("pram", {"vars": "A+B"}), ["A", "B"], False),
        (MechanismPlan.of("rds", {"s": "3"}), ["A", "B", "C"], False),
    ],
)
def test_other_mechanisms(mechanism: MechanismPlan, keys: list[str], void: bool):
    raw, _ = load("czech")
    analyse = ["A", "B"] if len(keys) == 2 else ["A", "D"]
    plan = plan_with(keys=keys, analyse=analyse, mechanisms=[mechanism])
    assert any("every candidate has the same utility" in problem for problem in plan_problems(plan, raw)) == void


def test_an_exchange_that_utility_cannot_see_does_not_stand_beside_others_as_if_it_cost_nothing():
    raw, _ = load("czech")
    unseen, seen = MechanismPlan.of("dds", {"s": "3"}), MechanismPlan.of("pram", {"vars": "A+B"})
    mixed = plan_with(keys=["A", "B", "C"], analyse=["A", "B", "C"], mechanisms=[unseen, seen])
    (problem,) = plan_problems(mixed, raw)
    assert problem.startswith("of mechanism 'dds' every candidate has the same utility")
    assert not plan_problems(edit_plan(mixed, analyse=["A", "B", "D"]), raw)


@pytest.mark.slow
def test_every_way_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plan = plan_with(**VOID["utility, nothing tabulated"])
    (tmp_path / "p.toml").write_text(plan_to_toml(plan))
    given = ("--plan", str(tmp_path / "p.toml"))
    assert main(["sweep", "czech", "--study", str(tmp_path / "a.study"), *given]) == 2
    assert "every candidate has the same utility" in capsys.readouterr().err
    assert not (tmp_path / "a.study").exists()
    assert main(["space", "czech", *given]) == 2
    assert main(["plan", "check", str(tmp_path / "p.toml"), "--data", "czech"]) == 1
    assert "every candidate has the same utility" in capsys.readouterr().out
    with pytest.raises(sf.UsageError, match="every candidate has the same utility"):
        sf.sweep("czech", plan=plan)
    with pytest.raises(sf.UsageError, match="every candidate has the same utility"):
        sweep(load("czech")[0], plan, tmp_path / "b.study")
