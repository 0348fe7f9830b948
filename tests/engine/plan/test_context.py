"""What a plan says beyond figures comes back equal, is checked, and is locked by its digest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.common.errors import EngineError, UsageError
from engine.plan import (
    AboutPlan,
    PublishPlan,
    TablePlan,
    ThreatPlan,
    TolerancePlan,
    plan_from_toml,
    plan_to_toml,
)
from engine.plan.differences import PlanDifference, approved_plan, departures, lock
from engine.plan.samples import load

_PLAN = load("czech")[1]
_FULL = replace(
    _PLAN,
    data=replace(_PLAN.data, weight="wt"),
    about=AboutPlan("Car workers", "1981", contact="Ada", release_type="series", changes="one more year"),
    threat=ThreatPlan("a colleague who knows four answers", ("staff list",), "dismissal", "yes"),
    tables=(TablePlan("work", _PLAN.names[:2]),),
    tolerances=TolerancePlan("0.05", 30, "2", "1.2"),
    publish=PublishPlan("Car workers 1981", "range", "between 1 and 5 percent", include=("weight",)),
)


def test_it_comes_back_equal() -> None:
    locked = lock(_FULL, "DRB-7", "Grace")
    assert plan_from_toml(plan_to_toml(_FULL)) == _FULL
    assert plan_from_toml(plan_to_toml(locked)) == locked


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[about]\nrelease_type = "old"', "release_type is 'old', must be one of new"),
        ("[about]\nsurvey = 3", "must be a text"),
        ('[publish]\nrate_policy = "tell"', "rate_policy is 'tell'"),
        ('[publish]\nrate_policy = "range"', "belong together"),
        ('[publish]\nrate_range = "few"', "belong together"),
        ('[publish]\nrate_policy = "range"\nrate_range = "1.9 to 2.1 %"', "at least twice the lower"),
        ('[publish]\ninclude = ["wt"]', "publish include names 'wt', must be weight, id or unit. They"),
        ('[publish]\ninclude = "weight"', "include is 'weight', must be a list of texts"),
        ('[publish]\ninclude = ["id"]', r"names the id, but the plan declares none; name it as id in \[data\]"),
        ("[tolerances]\nchange = 0", "must be above 0"),
        ("[tolerances]\nmin_n = -1", "must be a whole number, 0 or more"),
        ('[[table]]\nname = "t"\nattributes = ["Q"]', "table 't' names the unknown attribute 'Q'"),
        ('[[table]]\nname = "t"', "has no attributes"),
        ('[[table]]\nname = " "\nattributes = ["A"]', "not empty"),
        ('[[table]]\nname = "t"\nattributes = []', "is empty"),
        ('[lock]\nnumber = "1"', r"\[lock\] has no by"),
        ('[lock]\nnumber = ""\nby = "a"\nat = "b"\ndigest = "c"\napproved = "d"', "lock number is empty"),
        ('[threat]\npublic_files = ["a", "a"]', "more than once"),
        ('[threat]\npublished_tables = "some"', "published_tables is 'some', must be one of yes"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(toml: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan_from_toml(plan_to_toml(_PLAN) + "\n" + toml)


def _sentences(found: dict[str, PlanDifference]) -> list[str]:
    assert all(entry == difference.entry for entry, difference in found.items())
    return [difference.sentence for difference in found.values()]


def test_a_lock_notices_every_change_but_replicates_and_wording() -> None:
    locked = lock(_FULL, "DRB-7", "Grace")
    assert not departures(_FULL) and not departures(locked)
    assert approved_plan(_FULL) is None and approved_plan(locked) == replace(
        _FULL, about=AboutPlan(), publish=PublishPlan(include=("weight",))
    )
    assert not departures(replace(locked, space=replace(locked.space, replicates=99)))
    assert not departures(replace(locked, about=AboutPlan("Renamed")))
    fewer = replace(locked, space=replace(locked.space, replicates=5))
    assert _sentences(departures(fewer)) == ["space.replicates: approved was 20, now it is 5"]
    assert list(departures(replace(locked, keys=locked.names[:3]))) == ["keys"]
    assert [*departures(replace(locked, tolerances=TolerancePlan("0.05", 30, "2")))] == ["tolerances.se_ratio"]
    assert departures(replace(locked, space=replace(locked.space, rates=("0.03",))))
    assert departures(replace(locked, tables=()))
    words = replace(locked, publish=PublishPlan("Other", wording="Ask us.", include=("weight",)))
    assert not departures(words)
    assert _sentences(departures(replace(locked, publish=PublishPlan()))) == [
        "publish.include: approved was weight, now it is nothing"
    ]
    with pytest.raises(UsageError, match="locked already"):
        lock(locked, "DRB-8", "Grace")


def test_a_lock_that_was_written_by_hand_is_refused() -> None:
    locked = lock(_FULL, "DRB-7", "Grace")
    assert locked.lock is not None
    forged = replace(locked, lock=replace(locked.lock, approved=locked.lock.approved.replace("0.02", "0.03")))
    with pytest.raises(EngineError, match="damaged"):
        departures(forged)


def test_published_tables_are_written_only_where_the_plan_knows_of_them_and_an_approval_fixes_them() -> None:
    """Plans that were locked before there was the entry keep their digest."""
    plain = replace(_FULL, threat=replace(_FULL.threat, published_tables="not known"))
    assert "published_tables" not in plan_to_toml(plain) and 'published_tables = "yes"' in plan_to_toml(_FULL)
    assert plan_from_toml(plan_to_toml(plain)).threat.published_tables == "not known"
    locked = lock(plain, "DRB-7", "Grace")
    assert list(departures(replace(locked, threat=_FULL.threat))) == ["threat.published_tables"]
