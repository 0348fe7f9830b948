"""The random swap: what must hold for every run of it, whatever is drawn."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import combinations, pairwise, product
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.data.domain import LevelKind
from engine.mechanisms import random_swap
from engine.mechanisms import random_swap as published_swap
from engine.release.batch import CellIndex, unpack
from engine.release.scenarios import RunStatus
from engine.release.spec import ReleaseSpec, Structure, multi_kind
from engine.sweeps.evaluator import Evaluator, stream_keys
from engine.sweeps.groups import group_of
from tests.examples import examples
from tests.small_tables import KEY, Record, Small, expand, groups, rates, roles_for, rows, rules, run, smalls
from tests.twins import random_swap as twin
from tests.twins.measures import hellinger, total_variation

OK, FAILED, NOOP = RunStatus.OK, RunStatus.FAILED, RunStatus.NOOP


def counts_after(small: Small, result) -> Counter[Record]:
    """The released table as the batch has it."""
    table, batch = result.table, result.batch
    counts = Counter({tuple(cell): int(n) for cell, n in zip(table.cells.tolist(), table.counts, strict=True)})
    words = batch.index_words[batch.cell]
    touched = np.column_stack([unpack(words, place) for place in batch.layout]).tolist()
    for cell, before, after in zip(touched, batch.before, batch.after, strict=True):
        assert counts[tuple(cell)] == before
        counts[tuple(cell)] = int(after)
    return +counts


def margin(records, attributes) -> Counter[Record]:
    return Counter(tuple(record[j] for j in attributes) for record in records)


@st.composite
def cases(draw, with_kinds: bool = False, letters: str = "SFCU"):
    small = draw(smalls(with_kinds=with_kinds))
    return small, draw(roles_for(len(small.shape), letters)), draw(rates), draw(rules)


# -- one run ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(cases(with_kinds=True))
@examples(100)
def test_a_run_is_a_legal_run_of_the_algorithm(case):
    small, roles, rate, rule = case
    result = run(small, roles, rate, rule)
    _, cell_of_record = small.coded()
    pairs = result.records.tolist()
    kinds = small.kinds

    taken = [record for pair in pairs for record in pair]
    assert len(set(taken)) == len(taken), "a record is in two pairs"
    assert cell_of_record[result.records].tolist() == result.cells.tolist(), "records are not of the cells drawn"
    for a, b in pairs:
        assert twin.may_swap(small.records[a], small.records[b], roles, rule, kinds)
    if result.failed:
        rest = [record for i, record in enumerate(small.records) if i not in set(taken)]
        for one, other in combinations(rest, 2):
            assert not twin.may_swap(one, other, roles, rule, kinds), "the run gave up while a feasible pair was left"
    else:
        assert len(pairs) == result.wanted
    assert result.to_swap == int(Decimal(rate) * len(small.records))
    assert result.wanted == min((result.to_swap + 1) // 2, len(small.records) // 2)


@pytest.mark.slow
@given(cases(with_kinds=True))
@examples(100)
def test_the_batch_is_the_recount_of_the_released_records(case):
    small, roles, rate, rule = case
    result = run(small, roles, rate, rule)
    pairs = [tuple(pair) for pair in result.records.tolist()]
    after = twin.exchange(small.records, pairs, roles)
    assert counts_after(small, result) == Counter(after)

    swapped = [j for j, role in enumerate(roles) if role == "S"]
    touched = {record for pair in pairs for record in pair}
    for i, (old, new) in enumerate(zip(small.records, after, strict=True)):
        differs = [j for j in range(len(roles)) if old[j] != new[j]]
        assert differs == (swapped if i in touched else []), (
            "a swapped record changes on every S attribute, no other does"
        )

    inside = [j for j, role in enumerate(roles) if role in "SF"]
    outside = [j for j, role in enumerate(roles) if role != "S"]
    for attributes in (inside, outside):
        assert margin(small.records, attributes) == margin(after, attributes)

    kept = Counter(old for i, old in enumerate(small.records) if i not in touched)
    words = result.batch.index_words[result.batch.cell]
    cells = np.column_stack([unpack(words, place) for place in result.batch.layout]).tolist()
    for cell, stayed in zip(cells, result.batch.kept, strict=True):
        assert kept[tuple(cell)] == stayed
    assert result.batch.changed.tolist() == [len(touched)]

    assert twin.exchange(after, pairs, roles) == list(small.records), "swapping twice restores the original"
    everything = range(len(small.shape))
    distance = hellinger(small.records, after, everything, small.shape)
    variation = total_variation(small.records, after, everything, small.shape)
    slack = 1e-12
    assert variation <= len(touched) / len(small.records) + slack
    assert distance**2 <= variation + slack and variation <= 2**0.5 * distance + slack


@pytest.mark.slow
@given(cases(with_kinds=True), st.lists(rates, min_size=2, max_size=4))
@examples(100)
def test_a_lower_rate_is_the_beginning_of_a_higher_one(case, several):
    small, roles, _, rule = case
    results = [run(small, roles, rate, rule) for rate in sorted(several, key=Decimal)]
    for lower, higher in pairwise(results):
        assert higher.cells[: len(lower.cells)].tolist() == lower.cells.tolist()
        assert higher.records[: len(lower.records)].tolist() == lower.records.tolist()


@pytest.mark.slow
@given(smalls(), st.data(), rates, rules)
@examples(100)
def test_splits_share_their_pairs_and_complements_their_releases(small, data, rate, rule):
    roles = data.draw(roles_for(len(small.shape)))
    places = [j for j, role in enumerate(roles) if role in "SC"]
    assume(len(places) > 1)
    split = list(roles)
    letters = [
        "S",
        "C",
        *data.draw(st.lists(st.sampled_from("SC"), min_size=len(places) - 2, max_size=len(places) - 2)),
    ]
    for j, letter in zip(places, data.draw(st.permutations(letters)), strict=True):
        split[j] = letter
    first = "".join(split)
    other = first.translate(str.maketrans("SC", "CS"))
    third = run(small, other, rate, rule)
    one = run(small, first, rate, rule)
    assert one.cells.tolist() == third.cells.tolist() and one.records.tolist() == third.records.tolist()
    if "U" not in first:
        pairs = [tuple(pair) for pair in one.records.tolist()]
        released = [Counter(twin.exchange(small.records, pairs, roles)) for roles in (first, other)]
        assert released[0] == released[1] == counts_after(small, one) == counts_after(small, third)


@pytest.mark.slow
@given(cases(with_kinds=True), st.randoms(use_true_random=True))
@examples(100)
def test_the_order_of_records_in_the_file_does_not_matter(case, random):
    small, roles, rate, rule = case
    shuffled = list(small.records)
    random.shuffle(shuffled)
    one, two = run(small, roles, rate, rule), run(Small(tuple(shuffled), small.shape, small.kinds), roles, rate, rule)
    assert one.cells.tolist() == two.cells.tolist()
    assert counts_after(small, one) == counts_after(small, two)


# -- many runs: what is remembered between them changes nothing --------------------------------------------------------


@pytest.mark.slow
@given(smalls(with_kinds=True, most_records=25), st.data(), rules, st.permutations([1, 2, 3, 4, 5]))
@examples(40)
def test_batches_orders_and_instances_give_the_same_rows(small, data, rule, order):
    specs = []
    for _ in range(3):
        roles = data.draw(roles_for(len(small.shape)))
        specs += [ReleaseSpec(small.spec(roles), rate, rule) for rate in ("0.2", "1")]
    specs = list(dict.fromkeys(specs))
    asked = small.asked()
    together = rows(asked, specs, [1, 2, 3, 4, 5])
    assert len(together) == 5 * len(specs)
    # every candidate alone, in another order of replicates, each from an evaluator of its own
    for place, spec in reversed(list(enumerate(specs))):
        alone = rows(asked, [spec], order)
        alone[:, 0] = place
        assert alone.tobytes() == together[5 * place : 5 * place + 5].tobytes()


@pytest.mark.slow
@given(cases(with_kinds=True), st.integers(0, 4))
@examples(100)
def test_remembering_runs_of_classes_never_changes_a_draw(case, room):
    """With no or little room for what is remembered, runs are looked up again and the draws are the same."""
    small, roles, _, rule = case
    table, _ = small.coded()
    structure = ReleaseSpec(small.spec(roles), "1", rule).structure(multi_kind(table))
    wanted = table.n_records // 2
    keys = [random_swap.stream(KEY, structure, table, replicate) for replicate in range(1, 6)]
    fresh = [random_swap.prepare(structure, table).draw(key, wanted).tolist() for key in keys]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_swap, "RUNS_KEPT", room)
        prepared = random_swap.prepare(structure, table)
        assert isinstance(prepared, published_swap.Prepared) and prepared.spare <= room
        assert [prepared.draw(key, wanted).tolist() for key in keys] == fresh
    remembering = random_swap.prepare(structure, table)
    assert [remembering.draw(keys[i], wanted).tolist() for i in (4, 2, 0, 3, 1, 1)] == [
        fresh[i] for i in (4, 2, 0, 3, 1, 1)
    ]


def test_cells_met_in_other_releases_change_no_figure():
    """An index that has grown, been rebuilt and been trimmed gives the same tables."""
    rng = np.random.default_rng(1)
    shape = (4, 4, 4, 4)
    small = Small(tuple(tuple(int(v) for v in rng.integers(0, 4, 4)) for _ in range(60)), shape)
    asked = small.asked()
    spec = ReleaseSpec(small.spec("SUUU"), "0.5")
    (only,) = groups(asked, [spec])
    wanted = rows(asked, [spec], [3])
    crowded = Evaluator(asked, KEY)
    for roles in ("USUU", "UUSU", "SSUU", "SUSU"):
        for one in groups(asked, [ReleaseSpec(small.spec(roles), "1")]):
            crowded.run(one, range(1, 40))
    assert crowded.index.n_cells > len(asked.table) + 50
    assert crowded.run(only, [3]).rows.tobytes() == wanted.tobytes()
    crowded.index.reset()
    assert crowded.run(only, [3]).rows.tobytes() == wanted.tobytes()


def test_small_batches_give_the_rows_of_one_big_one(monkeypatch):
    small = Small(tuple((i % 3, i % 2, (i // 2) % 4) for i in range(40)), (3, 2, 4))
    asked = small.asked()
    specs = [ReleaseSpec(small.spec(roles), rate) for roles in ("SUU", "CSU") for rate in ("0.3", "0.6")]
    wanted = rows(asked, specs, range(1, 12))
    monkeypatch.setattr("engine.sweeps.realisations._CELLS", 10)
    assert rows(asked, specs, range(1, 12)).tobytes() == wanted.tobytes()


def test_tables_of_many_attributes_need_several_words():
    """Cells of more than 62 bits are packed into several words."""
    rng = np.random.default_rng(2)
    shape = (200,) * 12
    records = tuple(tuple(int(v) for v in row) for row in rng.integers(0, 200, (30, 12)))
    small = Small(records, shape)
    table, _ = small.coded()
    assert CellIndex(table).n_words == 2
    result = run(small, "SUUUUSUUUUUS", "0.5")
    after = twin.exchange(records, [tuple(pair) for pair in result.records.tolist()], "SUUUUSUUUUUS")
    assert counts_after(small, result) == Counter(after)


# -- labels, rates, closed forms -------------------------------------------------------------------------------------


def test_status_and_achieved_records():
    small = expand([(0, 0), (0, 1), (1, 0), (1, 1)], [3, 2, 1, 1], (2, 2))
    asked = small.asked()
    specs = [ReleaseSpec(small.spec("SU"), rate) for rate in ("0.1", "0.15", "0.5", "1")]
    by_place = rows(asked, specs, [1])
    # 7 records: 0.1 rounds to nobody; 0.15 to one record, which takes a pair; at most two pairs differ on A and on B
    # and may cancel each other out, which leaves the table as it was
    third = {4: OK, 0: NOOP}.get(int(by_place[2][3]), FAILED)
    assert [int(by_place[i][2]) for i in range(4)] == [NOOP, OK, third, FAILED]
    assert by_place[0][3] == 0 and by_place[1][3] == 2


@pytest.mark.parametrize(
    ("n", "rate", "to_swap", "pairs"),
    [
        (100, "0.29", 29, 15),
        (5, "1", 5, 2),
        (2, "1", 2, 1),
        (1841, "0.0001", 0, 0),
        (1841, "0.1", 184, 92),
        (3, "0.4", 1, 1),
    ],
)
def test_records_to_swap_come_from_decimals_and_odd_numbers_overshoot(n, rate, to_swap, pairs):
    from engine.release.spec import pairs_wanted

    assert pairs_wanted(rate, n) == (to_swap, pairs)
    run = twin.draw([(i, i) for i in range(n)], "SU", rate, Random(1))
    assert (run.to_swap, len(run.pairs)) == (to_swap, pairs)


def test_closed_form_of_the_two_by_two_table():
    small = expand([(0, 0), (1, 1)], [500, 500], (2, 2))
    asked = small.asked()
    for roles in ("SU", "SC", "US"):
        for row in rows(asked, [ReleaseSpec(small.spec(roles), "0.1")], [1, 2, 3]):
            status, changed, risk, hd, tv, dh, zeros = row[2:]
            assert (status, changed, risk, zeros) == (OK, 100, 0, 0)
            assert tv == pytest.approx(0.1, abs=1e-15)
            assert hd == pytest.approx(0.226532, abs=5e-7)
            assert dh == pytest.approx(0.325083, abs=5e-7)
    for replicate in (1, 2, 3):
        result = run(small, "SU", "0.1", replicate=replicate)
        assert counts_after(small, result) == {(0, 0): 450, (0, 1): 50, (1, 0): 50, (1, 1): 450}


@given(st.integers(2, 5), st.integers(2, 30), rules)
@examples(30)
def test_equal_rows_never_swap(d, n, rule):
    small = Small(((0,) * d,) * n, (2,) * d)
    result = run(small, "S" + "U" * (d - 1), "1", rule)
    assert len(result.cells) == 0 and result.failed
    assert result.batch.changed.tolist() == [0] and len(result.batch.cell) == 0


def test_loose_swaps_what_strict_refuses():
    """Two records that differ only on what is exchanged: each changes, the data do not."""
    small = expand([(0, 0), (1, 0)], [2, 2], (2, 1))
    assert len(run(small, "SU", "1", "strict").cells) == 0
    loose = run(small, "SU", "1", "loose")
    assert len(loose.cells) == 2 and counts_after(small, loose) == Counter(small.records)
    assert loose.batch.changed.tolist() == [4]


def test_kinds_keep_real_answers_from_meeting_skips():
    kinds: tuple[tuple[LevelKind, ...], ...] = (("value", "skip", "value"), ("value", "value"))
    records = tuple((a, b) for a in range(3) for b in range(2) for _ in range(4))
    small = Small(records, (3, 2), kinds)
    result = run(small, "SU", "1")
    for a, b in result.cells.tolist():
        levels = {int(result.table.cells[a, 0]), int(result.table.cells[b, 0])}
        assert levels == {0, 2}
    # as a C attribute levels of several kinds may meet: nothing of it is exchanged
    changed = run(small, "CS", "1")
    met = {frozenset(result.table.cells[pair, 0].tolist()) for pair in changed.cells}
    assert any(1 in levels for levels in met)


@pytest.mark.parametrize("rule", ["strict", "loose"])
@pytest.mark.parametrize("several_kinds", [(), (2,), (0, 3)])
def test_keys_by_roles_are_those_of_the_structures(rule, several_kinds):
    table, _ = Small(((0, 0, 0, 0), (1, 1, 1, 1)), (2, 2, 2, 2)).coded()
    role_streams = random_swap.RoleStreams(KEY, table)
    for roles in map("".join, product("SFCU", repeat=4)):
        structure = Structure.of_roles(roles, rule, several_kinds, (), None)
        wanted = [random_swap.stream(KEY, structure, table, number) for number in (1, 2, 30)]
        assert role_streams.keys(roles.encode(), rule, several_kinds, (1, 2, 30)) == wanted


@pytest.mark.parametrize("params", [(), (("near", "A:1"),)])
def test_an_evaluator_derives_the_keys_that_its_tasks_travel_with(params):
    """Also where more than roles is asked of pairs, which are then not those of the swap as published."""
    small = Small(((0, 0, 1), (1, 1, 0)) * 4, (2, 2, 2))
    question = small.asked()
    spec = ReleaseSpec(small.spec("SUF"), "0.1", "strict", params=params)
    task = group_of(spec, question.table), range(1, 4)
    assert Evaluator(question, KEY)._derived(task) == stream_keys(task, question, KEY)
