"""An entry that is declared once is checked, read, written and offered by its declaration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pytest

from engine.cli.main import main
from engine.common.errors import UsageError
from engine.plan import DataPlan, DecisionPlan, Plan, SpacePlan, plan_from_toml, plan_to_toml, samples
from engine.plan.edit import PlanChanges
from engine.plan.schema import check, declared, entry, needed


@dataclass(frozen=True)
class Part:
    name: str = needed(example='"a"')
    size: int = entry(3, low=1, high=9)
    share: str = entry("0.5", decimal="above 0 and below 1", or_word="mean")
    kind: str = entry("a", choices=("a", "b"))
    names: tuple[str, ...] = entry((), implied=lambda part: (part.name,))
    pairs: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        check(self, "part ", strip=True)


def test_values_are_brought_to_one_form() -> None:
    made = Part(" x ", share=0.250, pairs={"a": ["b"]})  # type: ignore[arg-type]
    assert made == Part("x", 3, "0.25", "a", ("x",), (("a", ("b",)),))
    assert Part("x", share="mean").share == "mean"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 0}, "part size == 0, must be at least 1."),
        ({"size": 10}, "part size == 10, must be at most 9."),
        ({"size": True}, "part size is True, must be a whole number"),
        ({"share": "1"}, "part share == 1, must be above 0 and below 1, or 'mean'"),
        ({"share": "few"}, "part share is 'few', must be a decimal number"),
        ({"kind": "c"}, "part kind is 'c', must be one of a, b"),
        ({"names": ["a", "a"]}, "part names names 'a' more than once"),
        ({"pairs": {"a": "b"}}, "part pairs of 'a' is 'b', must be a list of texts"),
        ({"pairs": 3}, "part pairs is 3, must be a table"),
    ],
)
def test_a_value_that_is_not_as_declared_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Part("x", **changes)
    assert str(caught.value).startswith(message)


def test_what_commands_and_scripts_change_is_declared(capsys: pytest.CaptureFixture[str]) -> None:
    entries = {**declared(Plan), **declared(DataPlan), **declared(SpacePlan), **declared(DecisionPlan)}
    assert PlanChanges.__annotations__.keys() <= entries.keys()
    assert {f.name for f in fields(SpacePlan)} <= PlanChanges.__annotations__.keys()
    with pytest.raises(SystemExit):
        main(["space", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name in ("keys", "rates", "screen", "max_risk"):
        assert f"--{name.replace('_', '-')} " in shown and entries[name].entry.help.split(" (")[0] in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", [sample.name for sample in samples.describe() if sample.here])
def test_the_plan_of_every_sample_comes_back(name: str) -> None:
    plan = samples.load(name)[1]
    assert plan_from_toml(plan_to_toml(plan)) == plan
