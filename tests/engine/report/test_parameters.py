"""Parameters in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan.entries import AttributePlan, TolerancePlan
from engine.plan.samples import load
from engine.report.parameters import coding_words, parameters


def test_the_parameters_say_whether_the_plan_sets_the_tolerances() -> None:
    _, plan = load("czech")
    rows = dict(parameters(plan, None, None, "12"))
    assert rows["Tolerances of change"] == (
        "1.96 standard errors; 10 % of figures from more than 45 records (the program's; the plan sets none)"
    )
    own = replace(plan, tolerances=TolerancePlan(min_n=30))
    assert dict(parameters(own, None, None, "12"))["Tolerances of change"].endswith("30 records (set by the plan)")


@pytest.mark.parametrize(
    ("raw", "levels", "said"),
    [
        ([("1", ("m",)), ("2", ("f",))], ["m", "f"], "codes of the file by name: m 1, f 2"),
        ([(str(k), (f"c{k}",)) for k in range(8)], [], "by name: c0 0, c1 1, c2 2, c3 3, c4 4, c5 5, c6 6, c7 7"),
        ([(str(k), (f"c{k}",)) for k in range(9)], [], "codes of the file, each by its own name"),
        ([("1", ("m",)), ("2", ("f", "x"))], ["m", "f"], "merged: 1 stands for m; 2 stands for f and x"),
        ([], list("abcdefgh"), "levels as in the file: a, b, c, d, e, f, g, h"),
        ([], list("abcdefghi"), "levels as in the file"),
        ([], [], "levels as in the file"),
    ],
)
def test_a_coding_is_of_single_codes_or_of_merged_ones(
    raw: list[tuple[str, tuple[str, ...]]], levels: list[str], said: str
) -> None:
    assert coding_words(AttributePlan("A", merge=tuple(raw)), levels).endswith(said)
