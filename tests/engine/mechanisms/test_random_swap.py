"""The random swap: what must hold for every run; structures prepared one after the other are those of a slow twin; with
weights and refused pairs the twin's pairs from the same stream, and exact laws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, pairwise, product
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.streams import derive
from engine.data.domain import Domain, EditRule, LevelKind
from engine.data.table import ContingencyTable
from engine.mechanisms import random_swap
from engine.mechanisms import random_swap as published_swap
from engine.mechanisms.random_swap import (
    Prepared,
    Preparing,
    Restricted,
    prepare,
    prepare_restricted,
    preparing,
    streams,
    weights_of,
)
from engine.mechanisms.swap_kernels import cell_at
from engine.plan.coding import edit_failures
from engine.release.batch import CellIndex, unpack
from engine.release.scenarios import RunStatus
from engine.release.spec import ReleaseSpec, Selection, Structure, multi_kind, pairs_wanted, structure_of
from engine.sweeps.evaluator import Evaluator, stream_keys
from engine.sweeps.groups import group_of
from tests.edit_rules import breaks_anew, refusing_rules
from tests.engine.mechanisms.laws import Case
from tests.engine.mechanisms.test_law import AGREES, DIFFERS, against_law, outcome_of
from tests.examples import examples
from tests.plain_python import compiled_and_plain
from tests.small_tables import KEY, Record, Small, expand, groups, rates, roles_for, rows, rules, run, smalls
from tests.twins import preparing as preparing_twin
from tests.twins import random_swap as swap_twin
from tests.twins import random_swap as twin
from tests.twins import restricted_swap as restricted_swap_twin
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


_LISTED = ("order", "class_start", "first_class", "last_class", "values")


def same_numbers(numbers: list[int], things: list[object]) -> bool:
    """Whether two numbers are equal exactly where two things are."""
    return len(set(zip(numbers, things, strict=True))) == len(set(numbers)) == len(set(things))


def check(prepared: Prepared, structure: Structure, small: Small) -> None:
    table, _ = small.coded()
    expected = preparing_twin.prepared(structure, table)
    assert {name: getattr(prepared, name).tolist() for name in _LISTED} == {name: expected[name] for name in _LISTED}
    start, limit, class_of, apart = prepared.cells.reshape(-1, 4).T.tolist()
    assert (start, limit[:-1], class_of[:-1]) == (expected["start"], expected["start"][1:], expected["class_of"])
    assert same_numbers(apart[:-1], expected["apart"])
    cells = [int(cell_at(p, prepared.cells, prepared.guide, prepared.shift)) for p in range(table.n_records)]
    assert cells == preparing_twin.cell_of_position(expected["start"])
    assert (prepared.memo == -1).all() and prepared.used.tolist() == [0, 0]
    assert len(prepared.runs) == len(prepared.reach) == len(prepared.offset) > prepared.spare


def structure_of_of_published_swap(small: Small, roles: str, rule: str) -> Structure:
    return ReleaseSpec(small.spec(roles), "1", rule).structure(multi_kind(small.coded()[0]))


@pytest.mark.slow
@given(smalls(with_kinds=True), st.data(), st.sampled_from([1, 3, 1 << 16]))
@examples(150)
def test_structure_after_structure_is_prepared_as_by_the_twin(small, data, keys):
    """Also where few combinations are sorted at once, and where room is left from a larger structure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_swap, "_KEYS", keys)
        prepare_next = Preparing(small.coded()[0])
    for _ in range(4):
        structure = structure_of_of_published_swap(small, data.draw(roles_for(len(small.shape))), data.draw(rules))
        prepared = prepare_next(structure)
        check(prepared, structure, small)
        prepared.draw(derive(KEY, "test"), len(small.records) // 2)  # leaves the arrays as a draw leaves them


@pytest.mark.parametrize("roles", ["SUUUUUUUUUUUUUU", "SFUUUUUUUUUUUUC", "FSSUUUUUUUUUUUU"])
def test_cells_of_several_words_are_prepared_as_by_the_twin(roles):
    rng = np.random.default_rng(2)
    shape = (60, 3, 70, *(50,) * 12)
    values = [rng.integers(0, min(size, 1 + j % 4), 90).tolist() for j, size in enumerate(shape)]
    small = Small(tuple(zip(*values, strict=True)), shape)
    structure = structure_of_of_published_swap(small, roles, "strict")
    assert small.coded()[0].packing.n_words > 1
    check(Preparing(small.coded()[0])(structure), structure, small)


@pytest.mark.slow
@pytest.mark.parametrize("roles", ["SUUUU", "USFUU", "SSUUU", "CSUFU"])
@pytest.mark.parametrize(
    ("largest", "shift", "n_words", "bits"), [(8, 3, 1, 31), (9, 3, 1, 32), (9, 9, 1, 62), (9, 12, 2, 16)]
)
def test_wide_codes_give_the_draws_of_narrow_ones(roles, largest, shift, n_words, bits):
    """Levels far apart fill words beyond 32 bits, and several words: cells in the same order have the same draws."""
    rng = np.random.default_rng(4)
    shape = (5, 6, 7, largest, 16)
    codes = np.column_stack([np.minimum(rng.geometric(0.4, 200) - 1, size - 1) for size in shape])
    narrow = Small(tuple(map(tuple, codes.tolist())), shape)
    wide = Small(tuple(map(tuple, (codes << shift).tolist())), tuple(size << shift for size in shape))
    packing = wide.coded()[0].packing
    assert (packing.n_words, packing.bits) == (n_words, bits)
    draws = []
    for small in (narrow, wide):
        prepared = Preparing(small.coded()[0])(structure_of_of_published_swap(small, roles, "strict"))
        draws.append([prepared.draw(derive(KEY, "test", [k]), 100).tolist() for k in range(3)])
    assert draws[0] == draws[1]
    assert all(draws[0])


def test_where_all_must_agree_on_what_stays_nobody_meets():
    """A strict swap without C and U: a pair would have to differ on an attribute that there is not."""
    small = Small(((0, 0), (1, 0), (0, 1), (1, 1)) * 3, (2, 2))
    structure = structure_of_of_published_swap(small, "SF", "strict")
    assert structure.needs_free_difference and not structure.free
    assert len(Preparing(small.coded()[0])(structure).draw(derive(KEY, "test"), 6)) == 0


@pytest.mark.slow
@given(smalls(most_records=25), st.data(), rules)
@examples(40)
def test_draws_from_arrays_used_before_are_those_from_fresh_ones(small, data, rule):
    table, wanted = small.coded()[0], len(small.records) // 2
    prepare_next = preparing(table)
    for _ in range(4):
        structure = structure_of_of_published_swap(small, data.draw(roles_for(len(small.shape))), rule)
        prepared, stream = prepare_next(structure), streams(KEY, structure, table)
        for replicate in (1, 2):
            fresh = prepare(structure, table).draw(stream(replicate), wanted)
            assert prepared.draw(stream(replicate), wanted).tolist() == fresh.tolist()


Params = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Asked:
    """A scenario on a small table under refusing rules, and what it means record by record."""

    small: Small
    roles: str
    rate: str
    rule: str
    params: Params
    refusing: tuple[EditRule, ...]

    @cached_property
    def domain(self) -> Domain:
        return replace(self.small.domain, refusing=self.refusing)

    @cached_property
    def table(self) -> ContingencyTable:
        return replace(self.small.coded()[0], domain=self.domain)

    @cached_property
    def cells(self) -> list[list[int]]:
        return self.table.cells.tolist()

    @cached_property
    def structure(self) -> Structure:
        spec = ReleaseSpec(self.small.spec(self.roles), self.rate, self.rule, params=self.params)
        return structure_of(spec, self.table)

    @property
    def wanted(self) -> int:
        return pairs_wanted(self.rate, len(self.small.records))[1]

    def prepared(self) -> Restricted:
        return prepare_restricted(self.structure, self.table)

    def exchanged(self, a: int, b: int) -> list[list[int]]:
        """Cells ``a`` and ``b`` after they have exchanged S."""
        cells = self.cells
        return [
            [cells[y][j] if role == "S" else cells[x][j] for j, role in enumerate(self.roles)]
            for x, y in ((a, b), (b, a))
        ]

    def differ(self, a: int, b: int) -> bool:
        x, y = self.cells[a], self.cells[b]
        return all(x[j] != y[j] for j, role in enumerate(self.roles) if role in "SC")

    @cached_property
    def feasible(self) -> Callable[[int, int], bool]:
        """Whether two cells may exchange; each two are looked at once."""
        return cache(self._feasible)

    def _feasible(self, a: int, b: int) -> bool:
        """By roles, then distance, then similarity, then rules."""
        x, y = self.cells[a], self.cells[b]
        if not swap_twin.may_swap(tuple(x), tuple(y), self.roles, self.rule, self.small.kinds):
            return False
        asked, names = dict(self.params), self.small.names
        for part in filter(None, asked.get("near", "").split("+")):
            j, most = names.index(part.split(":")[0]), int(part.split(":")[1])
            answers = [i for i, kind in enumerate(self.domain.attributes[j].kinds) if kind == "value"]
            both = x[j] in answers and y[j] in answers
            if x[j] != y[j] and not (both and abs(answers.index(x[j]) - answers.index(y[j])) <= most):
                return False
        similar = [names.index(name) for name in filter(None, asked.get("similar", "").split("+"))]
        if sum(x[j] == y[j] for j in similar) < int(asked.get("similarity", "0")):
            return False
        return not breaks_anew([x, y], self.exchanged(a, b), self.domain, self.cells)


@st.composite
def params_for(draw: st.DrawFn, names: tuple[str, ...]) -> Params:
    some = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    params: list[tuple[str, str]] = []
    if draw(st.booleans()):
        params += [("lean", draw(st.sampled_from(["0.5", "1", "2.5"]))), ("risk", "+".join(draw(some)))]
    if draw(st.booleans()):
        params.append(("near", "+".join(f"{name}:{draw(st.integers(1, 2))}" for name in draw(some))))
    if draw(st.booleans()):
        similar = draw(some)
        params += [("similar", "+".join(similar)), ("similarity", str(draw(st.integers(1, len(similar)))))]
    return tuple(params)


@st.composite
def asked_for(draw: st.DrawFn) -> Asked:
    small = draw(smalls(with_kinds=True))
    roles = draw(roles_for(len(small.shape)))
    refusing = draw(refusing_rules(small.domain))
    return Asked(small, roles, draw(rates), draw(rules), draw(params_for(small.names)), refusing)


def of_twin(asked: Asked, weights: list[int], derived: bytes) -> list[tuple[int, int]]:
    """The twin's pairs of cells, by their places in the table."""
    structure, table = asked.structure, asked.table
    cells = table.cells.tolist()
    kinds = [attribute.kinds for attribute in asked.domain.attributes]

    def stratum(c: int) -> tuple[object, ...]:
        order = ("value", "skip", "missing")
        return (
            *(cells[c][j] for j in structure.equal),
            *(order.index(kinds[j][cells[c][j]]) for j in structure.same_kind),
        )

    def class_(c: int) -> tuple[object, ...]:
        return tuple(cells[c][j] for j in structure.differ)

    order = sorted(range(len(cells)), key=lambda c: (stratum(c), class_(c)))
    pairs = restricted_swap_twin.draw(
        [stratum(c) for c in order],
        [class_(c) for c in order],
        [int(table.counts[c]) for c in order],
        [weights[c] for c in order],
        lambda a, b: asked.feasible(order[a], order[b]),
        lambda a, b: asked.differ(order[a], order[b]),
        asked.wanted,
        restricted_swap_twin.Stream(derived),
    )
    return [(order[a], order[b]) for a, b in pairs]


def weights(asked: Asked) -> list[int]:
    """Each cell's weight, by counting records one by one."""
    params = dict(asked.params)
    if "lean" not in params:
        return [1] * len(asked.table)
    places = [asked.small.names.index(name) for name in params["risk"].split("+")]
    keys = Counter(tuple(record[j] for j in places) for record in asked.small.records)
    counts = [keys[tuple(cell[j] for j in places)] for cell in asked.table.cells.tolist()]
    return weights_of(np.array(counts), params["lean"]).tolist()


@pytest.mark.slow
@given(asked_for(), st.integers(1, 99))
@examples(150)
def test_pairs_are_the_twins_from_the_same_stream(asked: Asked, replicate: int):
    derived = random_swap.stream(KEY, asked.structure, asked.table, replicate)
    pairs = asked.prepared().draw(derived, asked.wanted)
    assert [tuple(pair) for pair in pairs.tolist()] == of_twin(asked, weights(asked), derived)


@pytest.mark.slow
def test_partners_that_are_hardly_ever_drawn_are_counted_by_weight():
    """Forty heavy records that differ in nothing that must, and ninety light ones of two weights that all do."""
    heavy = [(0, i % 2, i + 2) for i in range(40)]
    light = [(1, i % 2, 0) for i in range(30)] + [(1, i % 2, 1) for i in range(60)]
    asked = Asked(Small((*heavy, *light), (2, 2, 42)), "SUU", "0.3", "strict", (("lean", "2"), ("risk", "C")), ())
    for i in range(1, 9):
        derived = random_swap.stream(KEY, asked.structure, asked.table, i)
        pairs, told = asked.prepared().draw_told(derived, asked.wanted)
        assert [tuple(pair) for pair in pairs.tolist()] == of_twin(asked, weights(asked), derived)
        assert told.turned_down[-1].sum() > 64 * 5, "what was to be tried was not"


@pytest.mark.slow
@given(asked_for(), st.integers(1, 99))
@examples(150)
def test_what_must_hold_whatever_is_drawn(asked: Asked, replicate: int):
    derived = random_swap.stream(KEY, asked.structure, asked.table, replicate)
    prepared = asked.prepared()
    pairs, told = prepared.draw_told(derived, asked.wanted)
    table, left = asked.table, asked.table.counts.copy()
    cells = table.cells.tolist()
    gone: list[list[int]] = []
    come: list[list[int]] = []
    for a, b in pairs.tolist():
        assert asked.feasible(a, b)
        left[a] -= 1
        left[b] -= 1
        gone += [cells[a], cells[b]]
        come += asked.exchanged(a, b)
    assert (left >= 0).all()
    for rule in asked.refusing:
        failing = [
            int(edit_failures(np.array(some or cells[:1]), asked.domain, (rule,), table.cells).sum())
            for some in (gone, come)
        ]
        assert not pairs.size or failing[1] <= failing[0]
    if len(pairs) < asked.wanted:
        there = np.flatnonzero(left).tolist()
        assert not any(asked.feasible(a, b) for a in there for b in there if a != b or left[a] > 1)
        about = told.diagnostics(len(pairs), asked.wanted)
        assert about["without_partner"] == left.sum() and "found no partner" in str(about["warning"])
    for fewer in range(0, len(pairs), 2):
        assert prepared.draw(derived, fewer).tolist() == pairs[:fewer].tolist()


@pytest.mark.slow
@given(asked_for())
@examples(100)
def test_what_keeps_all_records_from_exchanging_is_said_only_where_something_does(asked: Asked):
    counts, cells = asked.table.counts, range(len(asked.table))
    some = any(asked.feasible(a, b) for a in cells for b in cells if a != b or counts[a] > 1)
    words = asked.prepared().obstacle()
    assert not (some and words)
    by_roles = replace(asked, params=(), refusing=())
    roles_allow = any(by_roles.feasible(a, b) for a in cells for b in cells if a != b)
    assert bool(words) == (roles_allow and not some)


@pytest.mark.slow
@given(smalls(), st.data(), rates, rules)
def test_rules_on_attributes_that_stay_leave_the_published_stream_alone(small, data, rate, rule):
    roles = data.draw(roles_for(len(small.shape)))
    stays = [j for j, role in enumerate(roles) if role != "S"]
    if not stays:
        return
    rules_ = (EditRule("never", ((small.names[stays[0]], ("v0",)),), refuse=True),)
    plain, ruled = Asked(small, roles, rate, rule, (), ()), Asked(small, roles, rate, rule, (), rules_)
    assert ruled.structure.is_published
    streams = {random_swap.stream(KEY, one.structure, one.table, 1) for one in (plain, ruled)}
    assert len(streams) == 1 and isinstance(random_swap.prepare(ruled.structure, ruled.table), Prepared)


@pytest.mark.slow
def test_plain_python_gives_the_compiled_pairs():
    code = (
        "from tests.engine.mechanisms import test_random_swap as t; asked = t.one_of_each(); print(["
        "asked.prepared().draw(t.random_swap.stream(t.KEY, asked.structure, asked.table, i), 9).tolist() "
        "for i in (1, 2)])"
    )
    compiled, plain = compiled_and_plain(code)
    assert compiled == plain and compiled[0]


def one_of_each() -> Asked:
    """Weights, distance, similarity and a rule at once."""
    records = tuple((i % 3, i % 2, (i * i) % 5, i % 7 % 4) for i in range(60))
    rule = EditRule("never", (("A", ("v2",)), ("B", ("v1",))), refuse=True)
    params = (("lean", "1.5"), ("risk", "A+C"), ("near", "C:2"), ("similar", "B+D"), ("similarity", "1"))
    return Asked(Small(records, (3, 2, 5, 4)), "SUSU", "0.3", "strict", params, (rule,))


# -- weights and laws ------------------------------------------------------------------------------------------------


def test_weights_are_powers_of_one_over_the_count():
    counts = np.array([4, 1, 2, 4, 100])
    assert weights_of(counts, "1").tolist() == [2**30, 2**32, 2**31, 2**30, round(2**32 / 100)]
    assert weights_of(counts, "0.5").tolist() == [2**31, 2**32, round(2**32 / 2**0.5), 2**31, round(2**32 / 10)]
    assert weights_of(np.array([2, 4]), "1").tolist() == [2**32, 2**31], "the rarest counts as one"
    assert weights_of(np.array([1, 1000]), "10").tolist() == [2**32, 1], "nobody has no chance at all"


WEIGHTED = {
    "one pair": (Case(((0, 0), (0, 1), (1, 0), (1, 1)), (1, 3, 2, 2), "SU", "0.25"), (("lean", "1"), ("risk", "A+B"))),
    "all": (Case(((0, 0), (0, 1), (1, 0), (1, 2)), (1, 2, 2, 1), "SU"), (("lean", "2"), ("risk", "B"))),
    "near": (
        Case(((0, 0), (1, 1), (2, 0), (3, 1)), (2, 1, 1, 2), "SU"),
        (("lean", "1"), ("risk", "A"), ("near", "A:1")),
    ),
}


def lawful(name: str) -> tuple[Asked, swap_twin.Law]:
    case, params = WEIGHTED[name]
    asked = Asked(case.small, case.roles, case.rate or "1", case.rule, params, ())
    return asked, swap_twin.law(
        case.cells, case.counts, case.roles, case.wanted, case.rule, weights=weights(asked), feasible=asked.feasible
    )


def draws(asked: Asked, replicates: int) -> Counter:
    prepared, table = asked.prepared(), asked.table
    streams = random_swap.streams(KEY, asked.structure, table)
    return Counter(outcome_of(prepared.draw(streams(i), asked.wanted)) for i in range(1, replicates + 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHTED)
def test_pairs_have_the_exact_law_of_draws_by_weight(name: str):
    asked, law = lawful(name)
    assert sum(law.values()) == 1
    assert against_law(draws(asked, 8_000), law) > AGREES


def test_draws_that_are_alike_do_not_have_that_law():
    asked, law = lawful("one pair")
    assert against_law(draws(replace(asked, params=(("near", "A:9"),)), 8_000), law) < DIFFERS


@pytest.mark.slow
def test_with_equal_weights_and_nothing_refused_the_law_is_the_published_one():
    case = Case(((0, 0), (0, 1), (1, 0), (1, 2)), (1, 2, 2, 1), "SU")
    asked = Asked(case.small, case.roles, "1", "strict", (), ())
    structure = replace(asked.structure, selection=Selection())
    prepared = prepare_restricted(structure, asked.table)
    streams = random_swap.streams(KEY, structure, asked.table)
    found = Counter(outcome_of(prepared.draw(streams(i), case.wanted)) for i in range(1, 8_001))
    law = swap_twin.law(case.cells, case.counts, case.roles, case.wanted)
    assert against_law(found, law) > AGREES


@pytest.mark.slow
def test_a_record_alone_on_its_key_is_drawn_first_as_often_as_its_weight_says():
    """Of eight records, one alone and one of seven alike: weight 1 against 7 · 1/7 of all the others."""
    small = Small((*((0, 0),) * 7, (1, 1)), (2, 2))
    asked = Asked(small, "SU", "0.25", "strict", (("lean", "1"), ("risk", "A")), ())
    prepared, streams = asked.prepared(), random_swap.streams(KEY, asked.structure, asked.table)
    firsts = Counter(int(pair[0]) for i in range(4000) for pair in prepared.draw(streams(i), 1))
    assert abs(firsts[1] / 4000 - Fraction(1, 2)) < 4.9 * (0.25 / 4000) ** 0.5
