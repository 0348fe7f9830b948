"""The random swap with weights and refused pairs: the twin's pairs from the same stream, what must hold, exact laws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.domain import Domain, EditRule
from engine.data.table import ContingencyTable
from engine.mechanisms import random_swap
from engine.mechanisms.random_swap import Prepared, Restricted, prepare_restricted, weights_of
from engine.plan.coding import edit_failures
from engine.release.spec import ReleaseSpec, Selection, Structure, pairs_wanted, structure_of
from tests.edit_rules import breaks_anew, refusing_rules
from tests.engine.mechanisms.laws import Case
from tests.engine.mechanisms.test_law import AGREES, DIFFERS, against_law, outcome_of
from tests.examples import examples
from tests.plain_python import compiled_and_plain
from tests.small_tables import KEY, Small, rates, roles_for, rules, smalls
from tests.twins import random_swap as swap_twin
from tests.twins import restricted_swap as twin

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
    pairs = twin.draw(
        [stratum(c) for c in order],
        [class_(c) for c in order],
        [int(table.counts[c]) for c in order],
        [weights[c] for c in order],
        lambda a, b: asked.feasible(order[a], order[b]),
        lambda a, b: asked.differ(order[a], order[b]),
        asked.wanted,
        twin.Stream(derived),
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
        "from tests.engine.mechanisms import test_restricted_swap as t; asked = t.one_of_each(); print(["
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
