"""Each remedy of a warning about released columns makes that warning go."""

from __future__ import annotations

import pytest

from engine.data.microdata import RawTable
from engine.plan import Plan, plan_from_toml
from engine.plan.coding import code
from engine.sweeps.warnings import ReleaseWarning, one_by_one, release_warnings, remedies
from tests.engine.proposals import table_of

N = 600
RAW = table_of(
    case=[f"c{i}" for i in range(N)],
    pay=[1 + i * 37 % N + i / 1000 for i in range(N)],
    age=[20 + i % 50 for i in range(N)],
    group=["young" if i % 50 < 25 else "old" for i in range(N)],
    sex=["f" if i * i % 7 < 3 else "m" for i in range(N)],
    work=[str(i // 3 % 4) for i in range(N)],
)
PLAN = """
[data]
carry = ["case", "pay"]
[[attribute]]
name = "age"
cut = [30]
[[attribute]]
name = "group"
[[attribute]]
name = "sex"
[[attribute]]
name = "work"
"""


def _warnings(plan: Plan, raw: RawTable = RAW) -> list[ReleaseWarning]:
    return one_by_one(release_warnings(code(raw, plan), plan))


def _labels(plan: Plan, warning: ReleaseWarning) -> list[str]:
    return [remedy.label for remedy in remedies(warning, plan, RAW)]


@pytest.mark.slow
def test_every_remedy_makes_its_warning_go() -> None:
    plan = plan_from_toml(PLAN)
    warnings = _warnings(plan)
    assert [_labels(plan, warning) for warning in warnings] == [
        ["Drop case", "case is the id"],
        ["Drop pay", "pay is the weight"],
        ["Count age by the values of age"],
        ["Let them move as one block", "Drop group", "Drop age"],
    ]
    for warning in warnings:
        for remedy in remedies(warning, plan, RAW):
            left = _warnings(remedy.plan)
            assert warning.what not in [other.what for other in left] and len(left) < len(warnings) + 1, remedy.label
    weighted = remedies(warnings[1], plan, RAW)[1].plan
    assert weighted.data.weight == "pay" and "pay" not in weighted.data.carry


def test_a_finer_column_of_a_block_is_dropped_and_one_that_makes_the_levels_hands_them_over() -> None:
    block = PLAN.replace('cut = [30]\n[[attribute]]\nname = "group"', 'columns = ["age", "group"]\nview = ["group"]')
    plan = plan_from_toml(block)
    warning = next(w for w in _warnings(plan) if "is counted by" in w.what)
    assert _labels(plan, warning) == ["Drop age", "Count age by the values of age"]
    dropped = remedies(warning, plan, RAW)[0].plan
    assert dropped.attributes[0].columns == ("group",) and "age" in dropped.data.drop
    exact = remedies(warning, plan, RAW)[1].plan
    assert code(RAW, exact).domain.attributes[0].size == 50
    by_case = PLAN.replace('carry = ["case", "pay"]', 'carry = ["pay"]').replace(
        'name = "group"', 'name = "group"\ncolumns = ["case", "group"]\nview = ["case"]'
    )
    named = plan_from_toml(by_case)
    warning = next(w for w in _warnings(named) if "'case'" in w.what)
    other = remedies(warning, named, RAW)[0].plan
    assert other.attributes[1].view == ("group",) and "case" in other.data.drop


def test_a_remedy_that_the_plan_does_not_allow_is_left_out() -> None:
    plan = plan_from_toml(PLAN + '[[table]]\nname = "t"\nattributes = ["group", "sex"]\n')
    warning = next(w for w in _warnings(plan) if "decides" in w.what)
    assert _labels(plan, warning) == ["Drop age"], "a table names 'group'"
