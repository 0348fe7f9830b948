"""Targeted swapping under edit rules that refuse: the twin's swaps, no record that fails anew, and what is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.domain import EditRule
from engine.data.microdata import Microdata
from engine.mechanisms.targeted import TRS, chances
from engine.plan.coding import edit_failures
from engine.release.scenarios import RunStatus
from tests.edit_rules import breaks_anew, refusing_rules
from tests.engine.mechanisms.test_targeted import SIMILAR, derived, given_parameters, made, partner_of
from tests.households import in_households, persons_in_households
from tests.twins import targeted as twin


def with_rules(data: Microdata, rules: Sequence[EditRule]) -> Microdata:
    return replace(data, domain=replace(data.domain, refusing=tuple(rules)))


@pytest.mark.slow
@given(persons_in_households(), given_parameters(), st.sampled_from(SIMILAR), st.integers(0, 99), st.data())
def test_no_pair_that_a_rule_refuses_is_made_and_the_swaps_are_the_twins(
    data: Microdata, parameters: dict[str, str], similar: str, i: int, drawing: st.DataObject
):
    data = with_rules(data, drawing.draw(refusing_rules(data.domain)))
    setting, prepared = made(data, parameters | {"similar": similar})
    drawn = TRS.draw_replicate(prepared, setting, derived(i))
    records = list(zip(*(codes.tolist() for codes in data.codes), strict=True))
    members = [np.flatnonzero(prepared.units.of_record == u).tolist() for u in range(len(prepared.units))]

    def refused(u: int, v: int) -> bool:
        for mine, other in ((u, v), (v, u)):
            place = {j: records[members[other][0]][j] for j in prepared.places}
            before = [records[i] for i in members[mine]]
            after = [[place.get(j, level) for j, level in enumerate(record)] for record in before]
            if breaks_anew(before, after, data.domain, records):
                return True
        return False

    chance = chances(prepared, setting, derived(i))
    partner, _, failed = twin.swap(
        prepared.area.tolist(),
        prepared.level.tolist(),
        prepared.group.tolist(),
        chance.quota.tolist(),
        chance.donors.tolist(),
        chance.initiators.tolist(),
        setting["must"] == "within",
        setting["compatible"],
        prepared.movable.tolist(),
        refused,
    )
    assert partner_of(drawn).tolist() == partner and drawn.diagnostics["without_donor"] == len(failed)
    table = drawn.tables[0]
    released = [table.codes(j) for j in range(len(data.domain))]
    after = list(zip(*(codes.tolist() for codes in released), strict=True))
    assert not breaks_anew(records, after, data.domain, records)
    original = np.column_stack(data.codes)
    for rule in data.domain.refusing:
        was, now = (
            int(edit_failures(cells, data.domain, (rule,), original).sum())
            for cells in (original, np.column_stack(released))
        )
        assert now <= was and not (rule.existing and now)


def farms(refuse: bool) -> Microdata:
    """Two towns of three households each; in the first all are farmers, and no farmer may live in the second."""
    data = in_households(range(6), {"town": [0, 0, 0, 1, 1, 1], "farmer": [1, 1, 1, 0, 0, 0]}, {"sex": [0] * 6})
    rule = EditRule("no farms in town", (("town", ("v1",)), ("farmer", ("v1",))), refuse)
    return with_rules(data, [rule] if refuse else [])


def test_who_finds_no_donor_because_of_a_rule_is_counted_and_told():
    asked = {"rate": "1", "hierarchy": "town", "risk": "sex", "k": "0"}
    setting, prepared = made(farms(False), asked)
    assert TRS.draw_replicate(prepared, setting, derived(1)).diagnostics["households_swapped"] == 6
    setting, prepared = made(farms(True), asked)
    drawn = TRS.draw_replicate(prepared, setting, derived(1))
    about = drawn.diagnostics
    assert drawn.status == RunStatus.PARTIAL and about["households_swapped"] == 0
    assert float(about["without_donor"]) == about["without_donor_by_rules"] != 0
    # each who begins meets the three donors of the other town, and is refused by them all
    assert about["pairs_refused_by_rules"] == 3 * float(about["without_donor"])
    assert "of them because edit rules refuse all donors that are left" in str(about["warning"])


def test_more_rules_than_a_word_has_bits():
    data = farms(True)
    (rule,) = data.domain.refusing
    # 64 rules that nobody can break come first, so that the one that counts lies in the second word
    never = [replace(rule, name=f"{i}", forbid=(("farmer", ("none",)),)) for i in range(64)]
    setting, prepared = made(
        with_rules(data, [*never, rule]), {"rate": "1", "hierarchy": "town", "risk": "sex", "k": "0"}
    )
    assert prepared.rules[0].shape[1] == 2
    assert TRS.draw_replicate(prepared, setting, derived(1)).diagnostics["households_swapped"] == 0


@pytest.mark.parametrize("attribute", ["town", "farmer"])
def test_a_rule_on_one_side_alone(attribute: str):
    """Places that fail a rule by themselves go to nobody who does not live in one; a rule without places refuses
    nothing, since it fails as before."""
    rule = EditRule("one side", ((attribute, ("v1",)),), refuse=True)
    data = with_rules(farms(False), [rule])
    setting, prepared = made(data, {"rate": "1", "hierarchy": "town", "risk": "sex", "k": "0"})
    swapped = TRS.draw_replicate(prepared, setting, derived(1)).diagnostics["households_swapped"]
    assert swapped == (0 if attribute == "town" else 6)
