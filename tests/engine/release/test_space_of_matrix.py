"""A space built from a matrix of roles is the one that is built spec by spec."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.domain import Attribute, Domain, EditRule
from engine.data.table import ContingencyTable
from engine.plan import SpacePlan
from engine.plan.coding import code
from engine.release import equal_roles, space
from engine.release.space import Merging, Space, build, by_swap_sizes, complete
from engine.release.spec import AttributeSpec
from engine.release.specs import Specs
from engine.sweeps.candidates import space_of
from tests.examples import examples
from tests.small_tables import expand
from tests.twins import space as twin

NAMES = tuple("ABCDEFGH")


@st.composite
def tables(draw: st.DrawFn, widths: st.SearchStrategy[int]) -> ContingencyTable:
    """Two records or one, of attributes of one or two levels, some of several kinds or not exact; perhaps a rule."""
    d = draw(widths)
    attributes = tuple(
        Attribute(
            f"A{j}",
            ("a", "b"),
            draw(st.sampled_from([(), ("value", "skip")])),
            exact=draw(st.sampled_from([True, True, False])),
        )
        for j in range(d)
    )
    rules = (EditRule("rule", (("A0", ("a",)),), refuse=True),) if draw(st.sampled_from([False, False, True])) else ()
    second = [draw(st.sampled_from([0, 1, 1, 1])) for _ in range(d)]
    cells = np.unique([[0] * d, second], axis=0)
    return ContingencyTable(Domain(attributes, rules), cells, np.ones(len(cells), np.int64))


def assert_same(built: Space, expected: twin.Built) -> None:
    found = twin.Built(list(built.specs), built.legal, built.feasible, list(built.merged), list(built.impossible))
    assert found == expected
    assert (built.distinct, built.n_merged, built.n_impossible) == (
        len(found.specs),
        len(found.merged),
        len(found.impossible),
    )


MERGINGS = st.sampled_from(get_args(Merging))


@pytest.mark.slow
@given(
    tables(st.integers(1, 4)),
    st.data(),
    st.sampled_from(["strict", "strict", "loose"]),
    MERGINGS,
)
@examples(150)
def test_every_spec_of_a_few_attributes_becomes_the_same(table, data, rule, merging):
    names = table.domain.names
    every = [AttributeSpec(names, "".join(roles)) for roles in product("SFCU", repeat=len(names))]
    specs = data.draw(st.permutations(every)) + data.draw(st.lists(st.sampled_from(every), max_size=5))
    assert_same(build(specs, table, rule, merging), twin.build(specs, table, rule, merging))


MERGINGS = st.sampled_from(get_args(Merging))


@pytest.mark.slow
@given(tables(st.integers(28, 70)), st.data(), st.sampled_from(["strict", "loose"]), MERGINGS)
@examples(60)
def test_specs_of_many_attributes_become_the_same(table, data, rule, merging):
    """More roles than a word holds."""
    names = table.domain.names
    few = st.lists(st.sampled_from("SFCU"), min_size=2, max_size=2)
    fill = st.sampled_from("SFC")
    texts = st.tuples(few, few, fill).map(lambda ends: "".join((*ends[0], ends[2] * (len(names) - 4), *ends[1])))
    specs = [AttributeSpec(names, text) for text in data.draw(st.lists(texts, max_size=30))]
    assert_same(build(specs, table, rule, merging), twin.build(specs, table, rule, merging))


@pytest.mark.slow
@given(st.integers(1, 5), st.data())
@examples(100)
def test_all_role_strings_and_all_choices_are_listed_in_the_same_order(d, data):
    names = NAMES[:d]
    outside = data.draw(st.dictionaries(st.sampled_from(names), st.sampled_from("FC")))
    fix, change = ([name for name, role in outside.items() if role == one] for one in "FC")
    swap = data.draw(st.sets(st.sampled_from(names)))
    assert complete(names, swap, fix, change) == list(twin.complete(names, swap, fix, change))
    able = len([name for name in swap if name not in outside])
    if able:
        sizes = data.draw(st.lists(st.integers(1, able), max_size=3))
        listed = list(twin.by_swap_sizes(names, swap, sizes, fix, change))
        assert by_swap_sizes(names, swap, sizes, fix, change) == listed


@pytest.mark.slow
def test_large_spaces_are_made_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    names = NAMES[:5]
    cells = np.array(list(product(range(2), repeat=5)))
    table = ContingencyTable(Domain(tuple(Attribute(name, ("a", "b")) for name in names)), cells, np.ones(32, np.int64))
    expected = twin.build(twin.complete(names, names), table, "strict", "complements")
    for size in (1, 7, 64):
        monkeypatch.setattr(space, "_CHUNK", size)
        monkeypatch.setattr(equal_roles, "_BLOCK", size)
        assert_same(build(complete(names, names), table), expected)
        assert by_swap_sizes(names, names, (1, 3, 2)) == list(twin.by_swap_sizes(names, names, (1, 3, 2)))


def test_of_equal_specs_a_known_one_counts() -> None:
    small = expand(list(product(range(2), repeat=3)), [1] * 8, (2, 2, 2))
    plan = small.plan(space=SpacePlan(all_specs=True))
    data = code(small.raw(), plan)
    known = {small.spec("FCS"), small.spec("UUS")}
    plain, resumed = space_of(plan, data), space_of(plan, data, Specs.of(known))
    assert small.spec("FSC") in plain.specs and small.spec("FCS") not in plain.specs
    assert list(resumed.specs[:2]) == [small.spec("FCS"), small.spec("UUS")]
    specs = sorted(twin.complete(plan.names, plan.swap), key=lambda spec: spec not in known)
    assert_same(resumed, twin.build(specs, data.table, "strict", "complements"))
    assert replace(resumed, specs=plain.specs) != resumed


def test_no_spec_is_made_before_somebody_looks_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = NAMES[:5]
    cells = np.array(list(product(range(2), repeat=5)))
    table = ContingencyTable(Domain(tuple(Attribute(name, ("a", "b")) for name in names)), cells, np.ones(32, np.int64))
    made: list[AttributeSpec] = []
    monkeypatch.setattr(AttributeSpec, "__post_init__", lambda spec: made.append(spec))
    built = build(complete(names, names), table)
    build(by_swap_sizes(names, names, (1, 2)), table)
    assert built.merged[:2].specs[1:] and built.impossible[3:].specs.take(np.arange(2)) and not made
    _ = built.specs[0], built.merged[1], built.impossible[-1]
    assert len(made) == 4
