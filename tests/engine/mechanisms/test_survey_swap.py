"""The survey swap: the twin's targets and partners from the same random numbers, what must hold, what is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.domain import KINDS, Attribute, EditRule
from engine.data.microdata import Microdata
from engine.mechanisms.base import Drawn
from engine.mechanisms.survey_swap import SURVEY_SWAP, Prepared, chances, figures, select, targets
from engine.release.parameter import Setting
from engine.release.scenarios import RunStatus
from tests.edit_rules import breaks_anew, refusing_rules
from tests.examples import examples
from tests.households import in_households
from tests.level_codes import level_codes
from tests.numeric_data import numbered
from tests.plain_python import compiled_and_plain
from tests.twins import survey_swap as twin

NAMES = ("region", "sex", "job", "pay", "note")


def derived(i: int) -> bytes:
    return derive(bytes(range(16)), "test", (i,))


@st.composite
def surveys(draw: st.DrawFn, most_records: int = 40) -> Microdata:
    """4 to 40 weighted records with five attributes; some lack a job; ties of weights and empty cells are common."""
    n = draw(st.integers(4, most_records))
    sizes = {"region": 2, "sex": 2, "job": 4, "pay": 5, "note": 3}
    codes = {name: draw(level_codes(n, k)) for name, k in sizes.items()}
    weights = [(1.0, 1.5, 2.0, 2.25, 7.0)[code] for code in draw(level_codes(n, 5))]
    data = numbered(codes, {"wt": weights})
    attributes = [_named(attribute, draw(st.booleans())) for attribute in data.domain.attributes]
    data = replace(data, domain=replace(data.domain, attributes=tuple(attributes)))
    return replace(data, weight="wt") if draw(st.booleans()) else data


def _named(attribute: Attribute, lacks_last: bool) -> Attribute:
    """The attribute with numbers as levels, the last of which means missing where that is wanted of the job."""
    kinds = [KINDS[0]] * attribute.size
    if attribute.name == "job" and lacks_last:
        kinds[-1] = KINDS[2]
    return replace(attribute, levels=tuple(str(v * v) for v in range(attribute.size)), kinds=tuple(kinds))


@st.composite
def given_parameters(draw: st.DrawFn) -> dict[str, str]:
    return {
        "rate": draw(st.sampled_from(["0", "0.05", "0.2", "0.35", "0.5"])),
        "swap": draw(st.sampled_from(["pay", "job+pay", "sex+job+pay"])),
        "boundary": draw(st.sampled_from(["", "region"])),
        "linked": draw(st.sampled_from(["", "note"])),
        "stratum": draw(st.sampled_from(["", "region", "region+sex"])),
        "risk": draw(st.sampled_from(["region", "region+sex+job"])),
        "k": draw(st.sampled_from(["3", "4"])),
        "size": draw(st.sampled_from(["equal", "class", "square"])),
        "certain": draw(st.sampled_from(["0", "1", "2"])),
        "bias": draw(st.sampled_from(["last", "each"])),
    }


def made(data: Microdata, parameters: dict[str, str]) -> tuple[Setting, Prepared]:
    setting = SURVEY_SWAP.setting(data, parameters, range(len(data.domain)))
    return setting, SURVEY_SWAP.prepare(setting)


def source_of(drawn: Drawn) -> np.ndarray:
    (table,) = drawn.tables
    return np.arange(table.data.n_records) if table.source is None else table.source


@pytest.mark.slow
@given(surveys(), given_parameters(), st.integers(0, 99), st.booleans(), st.data())
@examples(300)
def test_partners_are_the_twins_from_the_same_random_numbers(
    data: Microdata, parameters: dict[str, str], i: int, has_rules: bool, drawing: st.DataObject
):
    if has_rules:
        data = replace(data, domain=replace(data.domain, refusing=drawing.draw(refusing_rules(data.domain))))
    setting, prepared = made(data, parameters)
    records = list(zip(*(codes.tolist() for codes in data.codes), strict=True))

    def refused(t: int, p: int) -> bool:
        after = [
            [records[other][j] if j in prepared.places else level for j, level in enumerate(records[mine])]
            for mine, other in ((t, p), (p, t))
        ]
        return breaks_anew([records[t], records[p]], after, data.domain, records)

    drawn, chance = SURVEY_SWAP.draw_replicate(prepared, setting, derived(i)), chances(prepared, setting, derived(i))
    chosen = targets(prepared, chance, parameters["rate"])
    n, group = data.n_records, chance.group.tolist()
    orders = [order.tolist() for order in chance.orders]
    zone = [(int(prepared.zone[r]), group[r]) for r in range(n)]
    cell = [(*zone[r], *(int(prepared.codes[c][r]) for c in orders[group[r]])) for r in range(n)]
    value = [float(prepared.values[orders[group[r]][-1]][r]) for r in range(n)]
    found, rounds = twin.partners(
        np.flatnonzero(chosen).tolist(),
        np.flatnonzero(~chosen & (prepared.size > 0)).tolist(),
        zone,
        cell,
        prepared.weight.tolist(),
        value,
        chance.rank.tolist(),
        refused,
    )
    partner = list(range(n))
    for t, p in found.items():
        partner[t], partner[p] = p, t
    assert source_of(drawn).tolist() == partner
    assert drawn.diagnostics["pairs"] == len(found)
    assert drawn.diagnostics["without_partner"] == int(chosen.sum()) - len(found)
    assert drawn.diagnostics["rounds"] == rounds
    released = list(zip(*(drawn.tables[0].codes(j).tolist() for j in range(len(data.domain))), strict=True))
    assert not breaks_anew(records, released, data.domain, records)


@pytest.mark.slow
@given(surveys(), given_parameters(), st.integers(0, 99))
@examples(200)
def test_what_must_hold_whatever_is_drawn(data: Microdata, parameters: dict[str, str], i: int):
    setting, prepared = made(data, parameters)
    drawn = SURVEY_SWAP.draw_replicate(prepared, setting, derived(i))
    table, partner, everyone = drawn.tables[0], source_of(drawn), np.arange(data.n_records)
    moved = partner != everyone
    assert (partner[partner] == everyone).all() and (drawn.touched[0] == moved).all()
    swap = data.domain.indices(tuple(parameters["swap"].split("+")))
    linked = data.domain.indices(tuple(filter(None, parameters["linked"].split("+"))))
    for j in range(len(data.domain)):
        expected = data.codes[j][partner] if j in (*swap, *linked) else data.codes[j]
        assert (table.codes(j) == expected).all()
        assert (np.bincount(table.codes(j)) == np.bincount(data.codes[j])).all()
    assert (prepared.zone[partner] == prepared.zone).all(), "partners agree on the boundary"
    differs = np.any([data.codes[j] != data.codes[j][partner] for j in swap], axis=0)
    assert (differs == moved).all(), "every exchange changes something"
    job = data.domain.index("job")
    if job in swap:
        missing = data.domain.attributes[job].kind_codes[data.codes[job]] == KINDS.index("missing")
        assert not (missing & moved).any()
    assert (drawn.status == RunStatus.PARTIAL) == (drawn.diagnostics["without_partner"] != 0)
    number, pairs, alone = (float(drawn.diagnostics[name]) for name in ("targets", "pairs", "without_partner"))
    assert number == pairs + alone


@given(surveys(), given_parameters(), st.integers(0, 99))
@examples(100)
def test_as_many_targets_are_drawn_as_the_rate_says_of_each_stratum(
    data: Microdata, parameters: dict[str, str], i: int
):
    setting, prepared = made(data, parameters)
    chosen = targets(prepared, chances(prepared, setting, derived(i)), parameters["rate"])
    assert chosen[prepared.certain].all() and not chosen[prepared.size == 0].any()
    others = (prepared.size > 0) & ~prepared.certain
    for h in set(prepared.stratum.tolist()):
        here = others & (prepared.stratum == h)
        asked = int(Fraction(parameters["rate"]) * int(here.sum()) + Fraction(1, 2))
        assert int((chosen & here).sum()) == asked


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.data())
def test_targets_are_the_twins(size: list[int], data: st.DataObject):
    asked = data.draw(st.integers(0, sum(s > 0 for s in size)))
    begin = data.draw(st.integers(0, twin.STARTS - 1))
    assert select(np.array(size), asked, begin).tolist() == twin.select(size, asked, begin)


@pytest.mark.parametrize("size", [[1, 1, 1, 1, 1], [1, 5, 1, 2, 3, 1], [2, 2, 9, 1, 1, 1], [3, 0, 1, 0, 2, 4, 4]])
@pytest.mark.parametrize("asked", [1, 2, 3])
def test_every_record_is_a_target_with_its_share_as_chance(size: list[int], asked: int):
    certain: list[int] = []
    while more := [
        i for i, s in enumerate(size)
        if i not in certain and asked > len(certain)
        and s * (asked - len(certain)) >= sum(size) - sum(size[c] for c in certain)
    ]:  # fmt: skip
        certain += more
    left, total = asked - len(certain), sum(size) - sum(size[c] for c in certain)
    begins = [-(-u * twin.STARTS // total) for u in range(total)] if left else [0]
    drawn = Counter(i for begin in begins for i in np.flatnonzero(select(np.array(size), asked, begin)).tolist())
    for i, s in enumerate(size):
        assert drawn[i] == (len(begins) if i in certain else s * left)


def test_risk_makes_a_record_a_target_for_certain():
    data = numbered({"age": [0, 0, 0, 0, 1, 1, 2, 0], "pay": [0, 1, 2, 0, 1, 2, 0, 1]}, {})
    parameters = {"rate": "0", "swap": "pay", "risk": "age", "certain": "2"}
    setting, prepared = made(data, parameters)
    assert prepared.size.tolist() == [1, 1, 1, 1, 2, 2, 3, 1]
    assert np.flatnonzero(targets(prepared, chances(prepared, setting, derived(0)), "0")).tolist() == [6]
    setting, prepared = made(data, parameters | {"certain": "1", "size": "square"})
    assert prepared.size.tolist() == [1, 1, 1, 1, 2, 2, 5, 1]
    assert np.flatnonzero(targets(prepared, chances(prepared, setting, derived(0)), "0")).tolist() == [4, 5, 6]


def test_the_partner_of_least_bias_is_taken_and_the_least_bias_keeps_it():
    # one target in the cell between two others: weights decide within a cell, bias between cells
    pay, weight = [1, 0, 0, 2, 2], [4.0, 4.5, 1.0, 3.9, 9.0]
    data = replace(numbered({"pay": pay, "age": [1, 0, 0, 0, 0]}, {"wt": weight}), weight="wt")
    drawn = _draw(data, {"swap": "pay", "risk": "age", "certain": "2", "rate": "0"})
    assert source_of(drawn).tolist() == [3, 1, 2, 0, 4]
    # two targets want the one donor; the one of less bias keeps it, the other finds the next one
    pay, weight = [0, 0, 1, 2], [5.0, 4.0, 4.1, 1.0]
    data = replace(numbered({"pay": pay, "age": [1, 2, 0, 0]}, {"wt": weight}), weight="wt")
    drawn = _draw(data, {"swap": "pay", "risk": "age", "certain": "2", "rate": "0"})
    assert source_of(drawn).tolist() == [3, 2, 1, 0] and drawn.diagnostics["rounds"] == 2


def test_a_target_without_a_partner_stays_and_is_counted():
    data = numbered({"pay": [0, 1, 0, 0], "region": [0, 1, 2, 2], "age": [0, 1, 2, 2]}, {})
    drawn = _draw(data, {"swap": "pay", "boundary": "region", "risk": "age", "certain": "2", "rate": "0"})
    assert source_of(drawn).tolist() == [0, 1, 2, 3] and drawn.status == RunStatus.PARTIAL
    assert drawn.diagnostics["without_partner"] == 2
    assert str(drawn.diagnostics["warning"]).startswith("2 targets have no partner within their boundary and stay")


def test_one_target_and_one_record_are_spoken_of_as_one():
    data = numbered({"pay": [0, 1, 1, 1], "region": [0, 1, 1, 1], "age": [0, 1, 1, 1]}, {})
    drawn = _draw(data, {"swap": "pay", "boundary": "region", "risk": "age", "certain": "2", "rate": "0"})
    alone = "1 target has no partner within its boundary and stays as it is"
    assert str(drawn.diagnostics["warning"]).startswith(alone)
    one_household = in_households([0, 0], {"town": [0]}, {"pay": [0, 1]})
    with pytest.raises(EngineError, match="is the same within the only household; a swap"):
        made(one_household, {"rate": "0.1", "swap": "pay", "linked": "town", "k": "2"})


def test_a_target_that_only_rules_leave_alone_is_told():
    data = numbered({"pay": [0, 1, 1, 1], "sex": [0, 1, 1, 1]}, {})
    rule = EditRule("no pay", (("pay", ("v0",)), ("sex", ("v1",))), refuse=True)
    data = replace(data, domain=replace(data.domain, refusing=(rule,)))
    drawn = _draw(data, {"swap": "pay", "risk": "pay", "certain": "2", "rate": "0"})
    assert drawn.status == RunStatus.PARTIAL
    assert drawn.diagnostics["pairs_refused_by_rules"] == 3 and drawn.diagnostics["without_partner_by_rules"] == 1
    assert str(drawn.diagnostics["warning"]).endswith("stays as it is, because edit rules refuse all that are left")


def _draw(data: Microdata, parameters: dict[str, str]) -> Drawn:
    setting, prepared = made(data, parameters)
    return SURVEY_SWAP.draw_replicate(prepared, setting, derived(0))


def test_weighted_totals_change_less_than_by_partners_at_random():
    rng = np.random.default_rng(5)
    n = 4000
    pay = rng.integers(0, 8, n)
    data = replace(
        numbered({"job": rng.integers(0, 12, n), "pay": pay}, {"wt": np.round(rng.lognormal(0, 1, n), 3)}), weight="wt"
    )
    weights = data.raw.columns["wt"].values.to_numpy()[data.raw.columns["wt"].codes]
    drawn = _draw(data, {"swap": "job+pay", "rate": "0.1", "size": "equal"})
    partner = source_of(drawn)
    pairs = np.flatnonzero(partner > np.arange(n))
    moved = np.abs((weights[pairs] - weights[partner[pairs]]) * (pay[pairs] - pay[partner[pairs]])).mean()
    others = rng.permutation(n)[: len(pairs)]
    at_random = np.abs((weights[pairs] - weights[others]) * (pay[pairs] - pay[others])).mean()
    assert len(pairs) == 400 and moved < 0.1 * at_random


def test_figures_are_numbers_where_all_values_are():
    kinds = (KINDS[0], KINDS[0], KINDS[2])
    assert figures(Attribute("age", ("10", "2.5", "refused"), kinds)).tolist() == [10, 2.5, 0]
    assert figures(Attribute("job", ("10", "none"))).tolist() == [0, 1]


def some() -> Microdata:
    return numbered({"pay": [0, 1, 2, 0], "age": [0, 1, 0, 1]}, {"wt": [1.0, 2.0, -1.0, 3.0]})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"rate": "0.6"}, "rate == 0.6, must be between 0 and 0.5."),
        ({"swap": ""}, "swap names no attribute; name those whose values partners exchange, such as"),
        ({"boundary": "pay"}, "'pay' stands more than once in swap, boundary and linked; keep it in one of them."),
        ({"swap": "pai"}, "unknown attribute 'pai'. Did you mean 'pay'?"),
        ({"k": "5"}, "k == 5, must be at most the number of records (4)."),
        ({"certain": "3"}, "certain == 3, must be less than k (3); nobody is at so high a risk."),
        ({"size": "big"}, "size == 'big', must be one of equal, class, square."),
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, str], words: str):
    with pytest.raises((UsageError, EngineError)) as error:
        made(some(), {"rate": "0.1", "swap": "pay", "risk": "age"} | parameters)
    assert str(error.value).startswith(words)


def test_negative_weights_are_refused():
    with pytest.raises(EngineError, match=r"weight 'wt' is negative in 1 record$"):
        made(replace(some(), weight="wt"), {"rate": "0.1", "swap": "pay"})


def test_places_of_households_are_refused():
    data = in_households([0, 0, 1], {"town": [0, 1]}, {"sex": [0, 1, 0], "pay": [0, 1, 1]})
    words = "'town' is the same within all 2 households; a swap of single persons would tear them apart; use mechanism"
    with pytest.raises(EngineError, match=words):
        made(data, {"rate": "0.1", "swap": "pay", "linked": "town", "k": "2"})
    made(data, {"rate": "0.1", "swap": "pay", "k": "2"})


SCRIPT = """
import json, sys
import numpy as np
from dataclasses import replace
from tests.engine.mechanisms.test_survey_swap import _draw, source_of
from tests.numeric_data import numbered
from engine.common.compiled import COMPILED
rng = np.random.default_rng(3)
n = 500
data = replace(numbered({a: rng.integers(0, 5, n) for a in ("pay", "job", "age", "region")},
                        {"wt": np.round(rng.lognormal(0, 1, n), 1)}), weight="wt")
drawn = _draw(data, {"swap": "job+pay", "boundary": "region", "rate": "0.2", "bias": "each", "risk": "age+job"})
print(json.dumps([COMPILED, source_of(drawn).tolist(), drawn.diagnostics]))
"""


@pytest.mark.slow
def test_compiled_and_plain_kernels_give_the_same_bits():
    compiled, plain = compiled_and_plain(SCRIPT)
    assert (compiled[0], plain[0]) == (True, False) and compiled[1:] == plain[1:]


@pytest.mark.slow
def test_as_many_targets_are_drawn_as_asked_where_sizes_are_huge() -> None:
    size = np.full(300_000, (200_000 - 1) ** 2 + 1)
    assert np.count_nonzero(select(size, 30_000, 2**61)) == 30_000
