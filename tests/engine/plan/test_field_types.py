"""Types of a plan's fields: what is refused, in which words."""

from __future__ import annotations

from typing import Any

import pytest

from engine.common.errors import UsageError
from engine.plan import AboutPlan, AnalysisPlan, AttributePlan, DataPlan, DecisionPlan, SpacePlan, TolerancePlan


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (AttributePlan, {"name": 5}, "an attribute's name is 5, must be a text that is not empty"),
        (AttributePlan, {"name": "A", "levels": ["a", 1]}, "attribute 'A': levels holds 1, must hold texts"),
        (AttributePlan, {"name": "A", "skip": ["a", "a"]}, "attribute 'A': skip names 'a' more than once"),
        (AttributePlan, {"name": "A", "merge": {"x": "ab"}}, "attribute 'A': merge of 'x' is 'ab', must be a list"),
        (DataPlan, {"attributes": (AttributePlan("A"),), "weight": 5}, "weight is 5, must be the name of one column"),
        (SpacePlan, {"swap_sizes": "a"}, "swap_sizes is 'a', must be a list of whole numbers such as"),
        (SpacePlan, {"all_specs": 1}, "all_specs is 1, must be true or false"),
        (SpacePlan, {"replicates": True}, "replicates is True, must be a whole number"),
        (DecisionPlan, {"risk": "a b"}, "decision risk is 'a b', must be the name of a measure"),
        (TolerancePlan, {"min_n": -1}, "tolerances min_n is -1, must be a whole number, 0 or more"),
        (AboutPlan, {"survey": 3}, "about survey is 3, must be a text"),
        (AboutPlan, {"release_type": "old"}, "about release_type is 'old', must be one of new, series, re-release"),
        (AnalysisPlan, {"name": "x", "formula": 3}, "analysis 'x': formula is 3, must be a text"),
    ],
)
def test_a_field_of_another_type_is_refused(kind: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind(**fields)
    assert str(caught.value).startswith(message)


def test_lists_become_tuples() -> None:
    assert AttributePlan("A", ["a", "b"]).columns == ("a", "b")  # type: ignore[arg-type]
