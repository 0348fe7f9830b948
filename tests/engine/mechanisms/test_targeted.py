"""Targeted swapping: the twin's swaps from the same random numbers, what must hold, laws, what is refused; where little
is possible, and under edit rules that refuse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.domain import EditRule
from engine.data.microdata import Microdata, RawColumn
from engine.mechanisms import targeted
from engine.mechanisms.base import Drawn
from engine.mechanisms.targeted import TRS, Prepared, chances, compatible_quotas, race_order, swap
from engine.plan.coding import edit_failures
from engine.release.parameter import Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.edit_rules import breaks_anew, refusing_rules
from tests.examples import examples
from tests.households import in_households, persons_in_households
from tests.plain_python import compiled_and_plain
from tests.twins import targeted as twin

KEY = bytes(range(16))
SIMILAR = ["", "size", "size+tenure|size", "region+size|tenure|", "region|"]


@st.composite
def given_parameters(draw: st.DrawFn) -> dict[str, str]:
    return {
        "rate": draw(st.sampled_from(["0", "0.1", "0.3", "0.5", "1"])),
        "hierarchy": draw(st.sampled_from(["region+town", "town", "region"])),
        "risk": draw(st.sampled_from(["sex", "sex+age", "age+size"])),
        "k": draw(st.sampled_from(["0", "1", "2", "3", "4"])),
        "must": draw(st.sampled_from(["all", "within"])),
        "lean": draw(st.sampled_from(["0", "1", "2.5"])),
        "levels": draw(st.sampled_from(["0", "1"])),
        "compatible": draw(st.sampled_from(["no", "yes"])),
    }


def made(data: Microdata, parameters: dict[str, str]) -> tuple[Setting, Prepared]:
    """A setting that is possible, and its fit."""
    setting = TRS.setting(data, parameters, range(len(data.domain)))
    try:
        return setting, TRS.prepare(setting)
    except (UsageError, EngineError) as error:
        assume("hierarchy: " not in str(error) and "finest level" not in str(error))
        raise


def derived(i: int) -> bytes:
    return derive(KEY, "test", (i,))


def of_twin(
    setting: Setting, prepared: Prepared, key: bytes, refused: Callable[[int, int], bool] | None = None
) -> tuple[list[int], list[Any], list[int]]:
    chance = chances(prepared, setting, key)
    return twin.swap(
        prepared.area.tolist(),
        prepared.level.tolist(),
        prepared.group.tolist(),
        chance.quota.tolist(),
        chance.donors.tolist(),
        chance.initiators.tolist(),
        setting["must"] == "within",
        setting["compatible"],
        prepared.movable.tolist(),
        *([refused] if refused else []),
    )


def partner_of(drawn: Drawn) -> np.ndarray:
    table = drawn.tables[0]
    units = table.data.units
    assert units is not None and table.source is not None
    partner: np.ndarray = units.of_record[table.source[units.first]]
    return partner


@pytest.mark.parametrize("must", ["all", "within"])
def test_swaps_of_a_town_are_the_twins_by_several_profiles(must: str):
    n = 24
    of_household = {
        "region": [u % 2 for u in range(n)],
        "town": [u % 4 for u in range(n)],
        "size": [u * u % 3 for u in range(n)],
        "tenure": [u // 5 % 2 for u in range(n)],
    }
    data = in_households(range(n), of_household, {"sex": [u * 7 % 5 for u in range(n)]})
    asked = {"rate": "0.6", "hierarchy": "region+town", "risk": "sex", "k": "3", "similar": "size+tenure|size|"}
    setting, prepared = made(data, asked | {"must": must})
    used = Counter[int]()
    for i in range(6):
        drawn = TRS.draw_replicate(prepared, setting, derived(i))
        partner, swaps, failed = of_twin(setting, prepared, derived(i))
        assert partner_of(drawn).tolist() == partner and drawn.diagnostics["without_donor"] == len(failed)
        used.update(p for _, _, _, p in swaps)
    assert len(used) > 1


@pytest.mark.slow
@given(persons_in_households(), given_parameters())
def test_counts_and_levels_of_risk_are_the_twins(data: Microdata, parameters: dict[str, str]):
    setting, prepared = made(data, parameters)
    units = data.units
    assert units is not None
    codes = [data.codes[j] for j in data.domain.indices(setting["risk"])]
    numbers = list(zip(*codes, strict=True))
    persons = [(int(u), numbers.index(number)) for u, number in zip(units.of_record, numbers, strict=True)]
    shared = [twin.least_shared(area, persons, len(units)) for area in prepared.area.tolist()]
    assert prepared.shared.tolist() == shared
    assert prepared.level.tolist() == [twin.coarsest(shared, setting["k"], u) for u in range(len(units))]


@pytest.mark.slow
@given(persons_in_households(), given_parameters(), st.sampled_from(SIMILAR), st.integers(0, 99))
def test_what_must_hold_whatever_is_drawn(data: Microdata, parameters: dict[str, str], similar: str, i: int):
    setting, prepared = made(data, parameters | {"similar": similar})
    drawn, key = TRS.draw_replicate(prepared, setting, derived(i)), derived(i)
    partner, table, units = partner_of(drawn), drawn.tables[0], prepared.units
    _, swaps, failed = of_twin(setting, prepared, key)
    chance, area, everyone = chances(prepared, setting, key), prepared.area, np.arange(len(units))
    compatible = setting["compatible"]
    assert (partner[partner] == everyone).all()
    assert (drawn.touched[0] == (partner != everyone)[units.of_record]).all()
    for h, u, v, p in swaps:
        assert compatible or area[h][u] != area[h][v]
        assert prepared.group[p][u] == prepared.group[p][v]
    risky = np.flatnonzero(prepared.level < len(area))
    stays = [u for u in risky if area[prepared.level[u]][partner[u]] == area[prepared.level[u]][u]]
    assert len(stays) == drawn.diagnostics["risky_left"]
    if setting["must"] == "all" and not compatible:
        assert set(stays) <= set(failed)
    households_stay(data, table, prepared)
    for j, name in enumerate(data.domain.names):
        if name not in setting["hierarchy"]:
            assert (table.codes(j) == data.codes[j]).all()
        else:
            assert units.constant(table.codes(j)).all()
    if not compatible:
        assert int(chance.quota.sum()) == chance.swaps
        attempts = initiated(prepared, swaps, failed, chance.quota, setting["must"] == "within")
        assert attempts == len(swaps) + len(failed)
    if setting["rate"] == 0 and setting["k"] < 2:
        assert compatible or (not swaps and drawn.status == RunStatus.NOOP)


def initiated(prepared: Prepared, swaps: list[Any], failed: list[int], quota: np.ndarray, within: bool) -> int:
    """Who began: at coarse levels all who had to and were still there, at the last the quota or more."""
    last = len(prepared.area) - 1
    early = [s for s in swaps if s[0] < last]
    used = {u for s in early for u in s[1:3]}
    failed_early = [u for u in failed if prepared.level[u] < last]
    total = len(early) + len(failed_early)
    for a in range(len(quota)):
        home = np.flatnonzero(prepared.area[-1] == a)
        already = sum(1 for s in early if prepared.area[-1][s[1]] == a)
        later = [s for s in swaps if s[0] == last and prepared.area[-1][s[1]] < a]
        gone = used | {u for s in later for u in s[1:3]} | set(failed_early)
        free = [u for u in home if u not in gone]
        mandatory = sum(1 for u in free if prepared.level[u] == last)
        rest = max(0, int(quota[a]) - already)
        total += min(len(free), rest if within else max(mandatory, rest))
    return total


def households_stay(data: Microdata, table: ReleasedTable, prepared: Prepared) -> None:
    """Households by area, and by area and what all profiles share, are the same."""
    units, places = prepared.units, prepared.places
    for depth in range(1, len(places) + 1):
        before = Counter(zip(*(data.codes[j][units.first].tolist() for j in places[:depth]), strict=True))
        after = Counter(zip(*(table.codes(j)[units.first].tolist() for j in places[:depth]), strict=True))
        assert before == after


@pytest.mark.slow
@given(persons_in_households(), given_parameters(), st.integers(0, 99))
def test_a_table_of_what_all_profiles_share_is_kept_in_every_area(data: Microdata, parameters: dict[str, str], i: int):
    setting, prepared = made(data, parameters | {"similar": "size+tenure|size"})
    drawn = TRS.draw_replicate(prepared, setting, derived(i))
    first, size = prepared.units.first, data.codes[data.domain.index("size")]
    for j in prepared.places:
        before = Counter(zip(data.codes[j][first].tolist(), size[first].tolist(), strict=True))
        after = Counter(zip(drawn.tables[0].codes(j)[first].tolist(), size[first].tolist(), strict=True))
        assert before == after
        assert (np.bincount(data.codes[j]) == np.bincount(drawn.tables[0].codes(j))).all()  # persons by area


@pytest.mark.slow
@given(
    persons_in_households(), given_parameters(), st.sampled_from(SIMILAR), st.integers(0, 99), st.integers(0, 2**32 - 1)
)
def test_the_order_of_rows_and_the_numbers_of_households_only_permute_the_result(
    data: Microdata, parameters: dict[str, str], similar: str, i: int, shuffle: int
):
    setting, prepared = made(data, parameters | {"similar": similar, "compatible": "no"})
    chance = chances(prepared, setting, derived(i))
    order = list(range(len(prepared.units)))
    Random(shuffle).shuffle(order)
    new = np.array(order)  # the unit that stands at each place
    place = np.argsort(new)
    moved = prepared._replace(
        area=prepared.area[:, new],
        shared=prepared.shared[:, new],
        level=prepared.level[new],
        group=prepared.group[:, new],
        movable=prepared.movable[new],
    )
    ranks = chance._replace(donors=place[chance.donors], initiators=place[chance.initiators])
    within = setting["must"] == "within"
    before, after = swap(prepared, chance, within, False), swap(moved, ranks, within, False)
    assert (place[before.partner][new] == after.partner).all()
    assert (before.begun == after.begun).all() and (before.failed[new] == after.failed).all()


@pytest.mark.slow
def test_plain_python_gives_the_compiled_swaps():
    code = (
        "from tests.engine.mechanisms import test_targeted as t; import numpy as np; rng = np.random.default_rng(1); "
        "d = t.in_households(np.repeat(np.arange(60), 2), {'town': rng.integers(0, 5, 60), 'size': rng.integers(0, 2, "
        "60)}, {'age': rng.integers(0, 9, 120)}); s, p = t.made(d, {'rate': '0.3', 'hierarchy': 'town', 'risk': 'age', "
        "'similar': 'size'}); print([t.partner_of(t.TRS.draw(p, s, t.derived(i))).tolist() for i in range(3)])"
    )
    compiled, plain = compiled_and_plain(code)
    assert compiled == plain and compiled[0]


def town(n: int) -> Microdata:
    """n households of one person in two towns of one region each, half in either."""
    return in_households(range(n), {"town": [u % 2 for u in range(n)], "size": [0] * n}, {"sex": [0] * n})


@pytest.mark.slow
def test_quotas_are_right_on_average_and_sum_to_what_was_asked():
    sizes = [3, 7, 1, 14, 5]
    towns = [t for t, size in enumerate(sizes) for _ in range(size)]
    data = in_households(range(len(towns)), {"town": towns}, {"sex": [0] * len(towns)})
    setting, prepared = made(data, {"rate": "0.4", "hierarchy": "town", "risk": "sex", "k": "0"})
    drawn = [chances(prepared, setting, derived(i)) for i in range(2000)]
    assert {int(c.quota.sum()) for c in drawn} == {6}  # 30 households, 12 of them swapped
    wanted = 6 * np.array(sizes) / 30
    quotas = np.array([c.quota for c in drawn])
    assert (np.abs(quotas - wanted) < 1).all()
    error = quotas.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(quotas.mean(axis=0) - wanted) <= 4.5 * error + 1e-12).all()


def test_half_a_swap_is_one_more_or_one_less_by_a_fair_coin():
    setting, prepared = made(town(10), {"rate": "0.5", "hierarchy": "town", "risk": "sex", "k": "0"})
    swaps = Counter(chances(prepared, setting, derived(i)).swaps for i in range(400))
    assert set(swaps) == {2, 3} and abs(swaps[2] - 200) < 45


@pytest.mark.slow
@pytest.mark.parametrize(("lean", "odds"), [("1", 2.0), ("0", 1.0), ("2", 4.0)])
def test_donors_are_drawn_by_one_over_their_count(lean: str, odds: float):
    # Two towns; whoever lives in the second is donor of the one in the first, one of them alone on sex.
    data = in_households(range(4), {"town": [0, 1, 1, 1]}, {"sex": [0, 0, 1, 1]})
    setting, prepared = made(data, {"rate": "0.5", "hierarchy": "town", "risk": "sex", "k": "0", "lean": lean})
    first = Counter[int]()
    for i in range(3000):
        order = chances(prepared, setting, derived(i)).donors[0]
        first[int(next(u for u in order if u in (1, 2)))] += 1
    share = odds / (odds + 1)
    assert abs(first[1] / 3000 - share) < 4.5 * np.sqrt(share * (1 - share) / 3000)


class Given:
    """A stream of given exponential numbers, for two levels and eight households."""

    times = np.random.default_rng(3).standard_exponential((3, 8))

    def integers(self, below: int) -> int:
        return 0

    def standard_exponential(self, shape: tuple[int, ...]) -> np.ndarray:
        assert shape == self.times.shape
        return self.times


@pytest.mark.parametrize("lean", ["0", "0.5", "2"])
def test_each_race_goes_by_the_counts_of_its_own_level_and_who_begins_by_those_of_the_finest(
    monkeypatch: pytest.MonkeyPatch, lean: str
):
    monkeypatch.setattr(targeted, "table_stream", lambda derived, table: Given())
    data = in_households(
        range(8),
        {"region": [0, 0, 0, 0, 1, 1, 1, 1], "town": [0, 1, 0, 1, 2, 2, 2, 3]},
        {"sex": [1, 0, 0, 0, 1, 1, 0, 1]},
    )
    asked = {"rate": "0.5", "hierarchy": "region+town", "risk": "sex", "k": "0", "lean": lean}
    setting, prepared = made(data, asked)
    assert prepared.shared.tolist() == [[1, 3, 3, 3, 3, 3, 1, 3], [1, 2, 1, 2, 2, 2, 1, 1]]
    drawn, power = chances(prepared, setting, derived(1)), float(lean)
    races = [*zip(drawn.donors, prepared.shared, strict=True), (drawn.initiators, prepared.shared[-1])]
    for (order, counts), times in zip(races, Given.times, strict=True):
        assert order.tolist() == sorted(range(8), key=lambda u: times[u] * counts[u] ** power)


def in_turn(weights: dict[int, Fraction]) -> dict[tuple[int, ...], Fraction]:
    """Orders in which units are drawn one by one in proportion to their weights, with their chances."""
    total = sum(weights.values())
    return {
        (u, *rest): weight / total * chance
        for u, weight in weights.items()
        for rest, chance in in_turn({v: w for v, w in weights.items() if v != u}).items()
    } or {(): Fraction(1)}


def law_of_partners(prepared: Prepared, lean: int, lean_of_who_begins: int) -> dict[tuple[int, ...], Fraction]:
    """Partners of all households with their exact chances where one swap is asked for: each order of who begins, each
    order of donors and each area that may begin, by the twin."""
    n, lowest = len(prepared.units), prepared.area[-1].tolist()
    orders = [
        in_turn({u: Fraction(1, int(prepared.shared[-1][u]) ** power) for u in range(n)})
        for power in (lean, lean_of_who_begins)
    ]
    law: Counter[tuple[int, ...]] = Counter()
    for (donors, p), (begin, q) in product(orders[0].items(), orders[1].items()):
        for place, households in Counter(lowest).items():
            quota = [int(area == place) for area in range(max(lowest) + 1)]
            partner, _, _ = twin.swap(
                prepared.area.tolist(), prepared.level.tolist(), prepared.group.tolist(), quota, [list(donors)],
                list(begin), False, False, prepared.movable.tolist(),
            )  # fmt: skip
            law[tuple(partner)] += p * q * households / n  # type: ignore[assignment]
    return law  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize("lean", [1, 2])
def test_partners_have_the_exact_law_of_the_two_races(lean: int):
    """Five households, of which one swap takes two; a draw in which all begin alike is rejected by the same draws."""
    data = in_households(range(5), {"town": [0, 0, 0, 1, 1]}, {"sex": [1, 0, 0, 1, 0]})
    asked = {"rate": "0.4", "hierarchy": "town", "risk": "sex", "k": "0", "lean": str(lean)}
    setting, prepared = made(data, asked)
    assert prepared.shared.tolist() == [[1, 2, 2, 1, 1]]
    times = 4000
    drawn = Counter(tuple(partner_of(TRS.draw_replicate(prepared, setting, derived(i))).tolist()) for i in range(times))

    def farthest(law: dict[tuple[int, ...], Fraction]) -> float:
        assert sum(law.values()) == 1 and set(drawn) <= set(law)
        return max(abs(drawn[k] - times * float(p)) / float(times * p * (1 - p)) ** 0.5 for k, p in law.items())

    assert farthest(law_of_partners(prepared, lean, lean)) < 3.5
    assert farthest(law_of_partners(prepared, lean, 0)) > 8


def test_within_stops_risky_households_at_the_quota():
    n = 40
    data = in_households(range(n), {"town": [u % 2 for u in range(n)]}, {"age": list(range(n))})
    asked = {"rate": "0.2", "hierarchy": "town", "risk": "age", "k": "2"}
    counts = {}
    for must in ("all", "within"):
        setting, prepared = made(data, asked | {"must": must})
        counts[must] = float(TRS.draw_replicate(prepared, setting, derived(1)).diagnostics["households_swapped"])
    assert counts == {"all": 40.0, "within": 8.0}


def test_a_household_without_donor_gives_none_to_its_neighbours():
    # Household 0 is risky in its region and alone in having neighbours of its size only there: it finds no donor.  The
    # published program then swaps it with a neighbour inside that region.
    data = in_households(
        range(6),
        {"region": [0, 0, 0, 1, 1, 1], "town": [0, 1, 1, 2, 2, 3], "size": [1, 1, 1, 0, 0, 0]},
        {"sex": [1, 0, 0, 0, 0, 0]},
    )
    asked = {"rate": "1", "hierarchy": "region+town", "risk": "sex", "k": "2", "similar": "size"}
    given_away = Counter[str]()
    for compatible in ("yes", "no"):
        setting, prepared = made(data, asked | {"compatible": compatible})
        for i in range(20):
            drawn = TRS.draw_replicate(prepared, setting, derived(i))
            assert float(drawn.diagnostics["without_donor"]) >= 1
            given_away[compatible] += int(partner_of(drawn)[0] != 0)
    assert given_away["yes"] > 0 and given_away["no"] == 0


def test_compatible_quotas_add_one_too_many_where_nothing_is_left_to_give():
    households = np.array([10, 10])
    assert compatible_quotas(households, 4, np.array([0, 1])).tolist() == [3, 2]
    assert compatible_quotas(households, 4, np.array([1, 0])).tolist() == [2, 2]
    assert compatible_quotas(households, 5, np.array([1, 0])).tolist() == [2, 3]


def test_households_whose_place_is_missing_neither_begin_nor_give():
    data = in_households(range(9), {"town": [0, 1, 2, 0, 1, 2, 0, 1, 2]}, {"age": list(range(9))}, unknown={"town": 2})
    setting, prepared = made(data, {"rate": "1", "hierarchy": "town", "risk": "age", "k": "2"})
    for i in range(20):
        assert (partner_of(TRS.draw_replicate(prepared, setting, derived(i)))[[2, 5, 8]] == [2, 5, 8]).all()


BASE = {"rate": "0.1", "hierarchy": "region+town", "risk": "sex"}


def some() -> Microdata:
    return in_households(
        [0, 0, 1, 2, 3],
        {"region": [0, 0, 1, 1], "town": [0, 1, 2, 2], "size": [1, 0, 0, 0]},
        {"sex": [0, 1, 0, 1, 0]},
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"k": "6"}, "k == 6, must be at most the number of records (5)."),
        ({"levels": "3"}, "levels == 3, must be at most the number of levels (2)."),
        ({"hierarchy": ""}, "hierarchy names no attribute; name the places from coarse to fine, such as"),
        ({"hierarchy": "town+region"}, "hierarchy: 'town' decides 'region', so it is the finer one; write region+town"),
        ({"rate": "5"}, "rate == 5, must be between 0 and 1. Did you mean 0.05?"),
        (
            {"hierarchy": "sex+town"},
            "'sex' differs between members of 1 household, first in the one that begins at record 1; targeted",
        ),
        ({"similar": "size|sex"}, "profile 2 of similar: 'sex' differs between members of 1 household; use columns"),
        ({"similar": "town"}, "similar: profile 1 names 'town', the finest level; no donor can agree on it and lie"),
        ({"risk": "sexx"}, "unknown attribute 'sexx'. Did you mean 'sex'?"),
    ],
)
def test_what_cannot_be_is_refused(changed: dict[str, str], words: str):
    with pytest.raises((UsageError, EngineError)) as error:
        TRS.prepare(TRS.setting(some(), BASE | changed, range(4)))
    assert str(error.value).startswith(words)


def test_a_file_without_units_is_refused():
    with pytest.raises(EngineError, match=r"mechanism 'trs' needs \[data\] unit, the column that numbers households"):
        TRS.prepare(TRS.setting(replace(some(), unit=None), BASE, range(4)))


def test_one_place_for_all_and_equal_places_are_refused():
    one = in_households(range(4), {"region": [0] * 4, "town": [0, 0, 1, 1], "area": [1, 1, 0, 0]}, {"sex": [0] * 4})
    with pytest.raises(UsageError, match="hierarchy: all records lie in one 'region'; leave it out"):
        TRS.prepare(TRS.setting(one, BASE, range(4)))
    with pytest.raises(UsageError, match="hierarchy: 'town' and 'area' are the same areas; leave one out"):
        TRS.prepare(TRS.setting(one, BASE | {"hierarchy": "town+area"}, range(4)))


def test_a_code_that_lies_in_two_areas_is_told_and_its_path_used():
    data = in_households(range(5), {"region": [0, 0, 1, 1, 1], "town": [0, 1, 0, 2, 2]}, {"sex": [0] * 5})
    prepared = TRS.prepare(TRS.setting(data, BASE, range(3)))
    assert prepared.warnings[0] == "hierarchy: 'town' == 'v0' lies in 2 areas of 'region'; its path is used"
    assert prepared.area[1].tolist() == [0, 1, 2, 3, 3]


def test_persons_without_a_household_are_refused():
    data = some()
    columns = dict(data.raw.columns)
    columns["hid"] = replace(columns["hid"], codes=np.array([0, 0, -1, 1, -1], np.int32))
    data = replace(data, raw=replace(data.raw, columns=columns))
    with pytest.raises(EngineError, match=r"column 'hid' has 2 missing values \(first: record 3\); every"):
        TRS.prepare(TRS.setting(data, BASE, range(4)))


def test_equal_profiles_have_one_text():
    assert TRS.parameter("similar").canonical(" tenure + size|size+ size| ") == "size+tenure|size|"
    assert Fraction(dict(TRS.setting(some(), BASE, range(4)).texts)["rate"]) == Fraction(1, 10)


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, 0.5, 0.25, 1.5, 3.0]), max_size=40))
@examples(100)
def test_a_race_goes_by_time_and_equal_times_by_first_appearance(times):
    assert race_order(np.array(times)).tolist() == sorted(range(len(times)), key=lambda u: (times[u], u))


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


PLAIN = {"compatible": "no"}


@pytest.mark.slow
@given(persons_in_households(), given_parameters(), st.sampled_from(SIMILAR), st.integers(0, 99))
@examples(100)
def test_no_eligible_donor_is_left_on_an_earlier_profile(
    data: Microdata, parameters: dict[str, str], similar: str, i: int
):
    setting, prepared = made(data, parameters | PLAIN | {"similar": similar})
    _, swaps, failed = of_twin(setting, prepared, derived(i))
    swapped = set[int]()
    for h, u, v, used in swaps:
        free = [w for w in range(len(prepared.units)) if w not in swapped and w not in failed and prepared.movable[w]]
        for p in range(used):
            alike = [w for w in free if prepared.group[p][w] == prepared.group[p][u]]
            assert all(prepared.area[h][w] == prepared.area[h][u] for w in alike)
        swapped |= {u, v}


def weighted(data: Microdata, of_household: bool) -> tuple[Microdata, np.ndarray]:
    """The file with a weight: by tenure where it is one of the household, else any."""
    tenure = data.codes[data.domain.index("tenure")]
    weight = 1.0 + 2 * tenure if of_household else 1.0 + np.arange(data.n_records) % 7
    numbers = RawColumn("weight", pa.array(weight), np.arange(data.n_records, dtype=np.int32))
    raw = replace(data.raw, columns={**data.raw.columns, "weight": numbers})
    return replace(data, raw=raw, weight="weight"), weight


def totals(codes: list[np.ndarray], weight: np.ndarray) -> Counter[tuple[int, ...]]:
    found = Counter[tuple[int, ...]]()
    for cell, w in zip(zip(*(c.tolist() for c in codes), strict=True), weight.tolist(), strict=True):
        found[cell] += w
    return found


@pytest.mark.slow
@given(persons_in_households(), given_parameters(), st.integers(0, 99))
@examples(60)
def test_weighted_tables_without_places_stay_and_by_area_with_a_class_of_the_weight_in_all_profiles(
    data: Microdata, parameters: dict[str, str], i: int
):
    anything, weight = weighted(data, of_household=False)
    table = drawn_table(anything, parameters | {"similar": "size"}, i)
    others = [j for j, name in enumerate(data.domain.names) if name not in parameters["hierarchy"].split("+")]
    before, after = ([source(j) for j in others] for source in (lambda j: data.codes[j], table.codes))
    assert totals(before, weight) == totals(after, weight)
    classed, weight = weighted(data, of_household=True)
    table = drawn_table(classed, parameters | {"similar": "size+tenure"}, i)
    for name in parameters["hierarchy"].split("+"):
        kept = data.domain.indices((name, "size", "tenure"))
        before, after = ([source(j) for j in kept] for source in (lambda j: data.codes[j], table.codes))
        assert totals(before, weight) == totals(after, weight)


def drawn_table(data: Microdata, parameters: dict[str, str], i: int) -> ReleasedTable:
    setting, prepared = made(data, parameters)
    table: ReleasedTable = TRS.draw_replicate(prepared, setting, derived(i)).tables[0]
    return table


@pytest.mark.slow
@given(
    persons_in_households(),
    given_parameters(),
    st.sampled_from(SIMILAR),
    st.integers(0, 99),
    st.randoms(use_true_random=True),
)
@examples(100)
def test_households_of_other_names_and_rows_in_another_order_get_the_same_places(
    data: Microdata, parameters: dict[str, str], similar: str, i: int, random: Any
):
    """Random numbers belong to households in order of first appearance: with that kept, a member's row may stand
    anywhere, and numbers may be any."""
    parameters = parameters | {"similar": similar}
    table = drawn_table(data, parameters, i)
    units = data.units
    assert units is not None
    later = [r for r in range(data.n_records) if r not in set(units.first.tolist())]
    random.shuffle(later)
    order = np.array([*units.first.tolist(), *later])
    names = list(range(len(units)))
    random.shuffle(names)
    codes = np.array(names, np.int32)[units.of_record][order]
    raw = {
        name: replace(column, codes=column.codes[order]) for name, column in data.raw.columns.items() if name != "hid"
    }
    raw["hid"] = RawColumn("hid", pa.array([f"x{n}" for n in range(len(units))]), codes)
    moved = replace(data, raw=replace(data.raw, columns=raw), codes=tuple(c[order] for c in data.codes))
    again = drawn_table(moved, parameters, i)
    for j in range(len(data.domain)):
        assert (again.codes(j) == table.codes(j)[order]).all()


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

    partner, swaps, failed = of_twin(setting, prepared, derived(i), refused)
    assert partner_of(drawn).tolist() == partner and drawn.diagnostics["without_donor"] == len(failed)
    begun = Counter((prepared.names[h], p + 1) for h, _, _, p in swaps)
    assert all(drawn.diagnostics[f"begun_{name}_profile_{p}"] == number for (name, p), number in begun.items())
    assert (drawn.status == RunStatus.PARTIAL) == bool(failed)
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
