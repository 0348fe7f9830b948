"""Targeted swapping where little is possible: tiny areas, everybody risky, establishments, sizes that nobody shares."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.microdata import Microdata
from engine.mechanisms.base import Drawn
from engine.mechanisms.targeted import TRS, chances
from engine.release.scenarios import RunStatus
from tests.engine.mechanisms.test_targeted import derived, made, partner_of
from tests.households import in_households, persons_in_households


def drawn(data: Microdata, i: int = 0, **parameters: str) -> Drawn:
    setting, prepared = made(data, {"hierarchy": "town", "risk": "sex", "k": "0", **parameters})
    return TRS.draw_replicate(prepared, setting, derived(i))


def towns(sizes: list[int]) -> Microdata:
    """Towns of so many households of one person each."""
    town = np.repeat(np.arange(len(sizes)), sizes)
    return in_households(range(len(town)), {"town": town.tolist()}, {"sex": (np.arange(len(town)) % 2).tolist()})


@pytest.mark.parametrize("i", range(5))
def test_areas_of_one_household_each(i: int):
    data = towns([1] * 6)
    made_ = drawn(data, i, rate="1")
    partner = partner_of(made_)
    n_moved = int((partner != np.arange(6)).sum())
    assert (partner[partner] == np.arange(6)).all()
    assert n_moved in (4, 6), "a household that has given already begins no swap"
    assert made_.status is RunStatus.OK


@pytest.mark.parametrize("i", range(5))
def test_a_quota_above_those_who_can_begin_leaves_some_without_donor(i: int):
    data = towns([9, 1])
    made_ = drawn(data, i, rate="1")
    assert int((partner_of(made_) != np.arange(10)).sum()) == 2, "the small town has one household to give"
    assert made_.status is RunStatus.PARTIAL and float(made_.diagnostics["without_donor"]) >= 3


@pytest.mark.parametrize("i", range(5))
def test_with_two_areas_each_gives_to_the_other(i: int):
    data = towns([5, 5])
    partner = partner_of(drawn(data, i, rate="0.8"))
    moved = np.flatnonzero(partner != np.arange(10))
    assert len(moved) == 8 and all((u < 5) != (partner[u] < 5) for u in moved.tolist())


def test_one_region_is_refused():
    data = in_households(range(4), {"region": [0] * 4, "town": [0, 0, 1, 1]}, {"sex": [0, 1, 0, 1]})
    asked = {"rate": "0.5", "hierarchy": "region+town"}
    with pytest.raises(UsageError) as refused:
        TRS.prepare(TRS.setting(data, asked, range(3)))
    assert str(refused.value) == "hierarchy: all records lie in one 'region'; leave it out"


@pytest.mark.parametrize("must", ["all", "within"])
def test_where_everybody_is_risky_all_move_or_as_many_as_the_rate_says(must: str):
    data = towns([4, 4, 4])
    made_ = drawn(data, rate="0.5", k="12", must=must)
    n_moved = int((partner_of(made_) != np.arange(12)).sum())
    assert made_.diagnostics["risky_town"] == 12
    assert n_moved == (6 if must == "within" else 12 - float(made_.diagnostics["without_donor"]))
    assert made_.diagnostics["risky_left"] == 12 - n_moved


def establishments() -> Microdata:
    """Private households of two, and residents of homes, each a unit of its own."""
    private = [(h, 0) for h in range(20) for _ in range(2)]
    homes = [(20 + i, 1) for i in range(12)]
    units = [h for h, _ in private + homes]
    kind = [0] * 20 + [1] * 12
    return in_households(
        units,
        {"town": [h % 4 for h in range(32)], "kind": kind, "size": [1 - k for k in kind]},
        {"sex": [i % 2 for i in range(len(units))]},
    )


@pytest.mark.parametrize("i", range(5))
def test_residents_of_establishments_stay_among_themselves(i: int):
    data = establishments()
    partner = partner_of(drawn(data, i, rate="0.6", similar="kind+size|kind"))
    kind = data.codes[data.domain.index("kind")][data.units.first]  # type: ignore[union-attr]
    assert (partner != np.arange(32)).any() and (kind[partner] == kind).all()


def one_large(similar: str) -> tuple[Drawn, list[str]]:
    """A risky household of 15 among such of two."""
    units = [0] * 15 + [h for h in range(1, 11) for _ in range(2)]
    data = in_households(
        units,
        {"town": [h % 2 for h in range(11)], "size": [1] + [0] * 10},
        {"sex": [2] + [i % 2 for i in range(1, len(units))]},
    )
    setting, prepared = made(data, {"rate": "0.1", "hierarchy": "town", "risk": "sex", "k": "2", "similar": similar})
    result = TRS.draw_replicate(prepared, setting, derived(1))
    assert TRS.remarks is not None
    return result, list(TRS.remarks(prepared, setting, result))


def test_a_size_that_nobody_shares_has_no_donor():
    result, remarks = one_large("size")
    assert float(result.diagnostics["without_donor"]) >= 1 and result.diagnostics["risky_left"] == 1
    assert "1 household found no donor and stays where it is" in str(result.diagnostics["warning"])
    assert not [remark for remark in remarks if remark.startswith("similar")]


def test_a_profile_without_size_lets_it_move_and_a_remark_says_so():
    result, remarks = one_large("size|")
    assert partner_of(result)[0] != 0
    before, after = (Counter(codes.tolist()) for codes in (result.tables[0].data.codes[0], result.tables[0].codes(0)))
    assert before != after, "persons by area have changed"
    assert remarks[0] == (
        "similar: partners by profile 2 may differ in size, so the number of persons of an area may change"
    )


@pytest.mark.slow
@given(persons_in_households(), st.sampled_from(["0", "2"]), st.integers(0, 99))
def test_every_table_of_a_level_in_the_only_profile_is_kept(data: Microdata, k: str, i: int):
    setting, prepared = made(
        data, {"rate": "0.5", "hierarchy": "region+town", "risk": "sex", "k": k, "similar": "region"}
    )
    made_ = TRS.draw_replicate(prepared, setting, derived(i))
    region = data.domain.index("region")
    assert (made_.tables[0].codes(region) == data.codes[region]).all()
    assert int(chances(prepared, setting, derived(i)).quota.sum()) == chances(prepared, setting, derived(i)).swaps


def finer_than_the_last(similar: str) -> tuple[Drawn, list[str]]:
    """Two regions of two towns each, of which only regions count."""
    town = [0, 0, 1, 1, 2, 2, 3, 3] * 2
    data = in_households(range(16), {"region": [t // 2 for t in town], "town": town}, {"sex": [0, 1] * 8})
    asked = {"rate": "0.5", "hierarchy": "region+town", "risk": "sex", "k": "0", "levels": "1", "similar": similar}
    setting, prepared = made(data, asked)
    result = TRS.draw_replicate(prepared, setting, derived(1))
    assert TRS.remarks is not None
    return result, list(TRS.remarks(prepared, setting, result))


def test_partners_of_one_town_cannot_lie_in_two_regions_and_a_remark_says_so():
    result, remarks = finer_than_the_last("town")
    assert (partner_of(result) == np.arange(16)).all()
    assert [remark for remark in remarks if "donor" in remark] == [
        "similar: profile 1 finds no donor: households that agree on town all live in one 'region', the finest level "
        "that counts",
        "similar: no profile finds a donor, so no household can move and the table is the original",
    ]


def test_a_laxer_profile_finds_donors_where_the_first_cannot():
    result, remarks = finer_than_the_last("town|")
    assert (partner_of(result) != np.arange(16)).any()
    about_donors = [remark for remark in remarks if "donor" in remark]
    assert len(about_donors) == 1 and about_donors[0].startswith("similar: profile 1 finds no donor")
