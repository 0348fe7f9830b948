"""Things by name: those of the package are looked up when asked for, and a script adds its own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.common.errors import UsageError
from engine.common.registry import Registry


@dataclass(frozen=True)
class Thing:
    name: str
    size: int = 0


def things() -> Registry[Thing]:
    return Registry("thing", ("cup", "spoon"), Thing)


def test_names_come_in_order_and_registered_ones_last():
    known = things()
    own = known.register(Thing("fork"))
    assert list(known) == ["cup", "spoon", "fork"]
    assert len(known) == 3 and "fork" in known and known["fork"] is own
    assert known.find("cup") == Thing("cup")


def test_a_registered_thing_may_be_replaced_and_forgotten():
    known = things()
    known.register(Thing("fork", 1))
    known.register(Thing("fork", 2))
    assert known["fork"].size == 2
    assert known.registered(["cup", "fork", "fork"]) == (Thing("fork", 2),)
    known.unregister("fork")
    assert "fork" not in known
    with pytest.raises(UsageError, match="no thing 'fork' was registered"):
        known.unregister("fork")


def test_names_of_the_package_and_names_no_plan_could_write_are_refused():
    known = things()
    with pytest.raises(UsageError, match="thing 'cup' belongs to the package; choose another name"):
        known.register(Thing("cup"))
    with pytest.raises(UsageError, match="thing 'two words' needs a name of letters"):
        known.register(Thing("two words"))
    assert list(known) == ["cup", "spoon"]


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(UsageError, match=r"unknown thing 'spon'\. Did you mean 'spoon'\?"):
        things().find("spon")
