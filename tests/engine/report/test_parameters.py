"""Parameters in words."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.entries import TolerancePlan
from engine.plan.samples import load
from engine.report.parameters import parameters, tolerance_words


def test_the_parameters_say_whether_the_plan_sets_the_tolerances() -> None:
    _, plan = load("czech")
    rows = dict(parameters(plan, None, None, "12"))
    assert rows["Tolerances of change"] == (
        "1.96 standard errors; 10 % of figures from more than 45 records (the program's; the plan sets none)"
    )
    own = replace(plan, tolerances=TolerancePlan(min_n=30))
    assert dict(parameters(own, None, None, "12"))["Tolerances of change"].endswith("30 records (set by the plan)")
    assert tolerance_words(TolerancePlan(se="2")).startswith("2 standard errors;")
