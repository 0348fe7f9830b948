"""Counting a release space beside enumerating it."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.domain import Domain
from engine.data.table import ContingencyTable
from engine.release.space import Merging, build, complete, counts
from engine.release.space_size import n_specs
from tests.examples import examples
from tests.small_tables import Small, smalls


def cube(d: int) -> ContingencyTable:
    """Two levels of d attributes, both in use."""
    return Small(((0,) * d, (1,) * d), (2,) * d).coded()[0]


@pytest.mark.parametrize(("d", "wanted"), [(2, 1), (3, 15), (4, 107), (5, 585), (6, 2817), (7, 12663), (8, 54679)])
def test_the_published_counts(d, wanted):
    table = cube(d)
    assert n_specs(table, table.domain.names) == counts(d)[2] == wanted


def test_twenty_attributes_are_counted_without_enumerating():
    table = cube(20)
    assert n_specs(table, table.domain.names) == counts(20)[2] == 1_094_270_965_435


@pytest.mark.slow
@examples(80)
@given(
    smalls(with_kinds=True),
    st.data(),
    st.sampled_from(["strict", "strict", "loose"]),
    st.sampled_from(get_args(Merging)),
)
def test_it_counts_what_enumerating_keeps(small, data, rule, merging):
    table, _ = small.coded()
    exact = data.draw(st.lists(st.booleans(), min_size=len(small.shape), max_size=len(small.shape)))
    attributes = zip(table.domain.attributes, exact, strict=True)
    table = ContingencyTable(Domain(tuple(replace(a, exact=e) for a, e in attributes)), table.cells, table.counts)
    role_of = {name: data.draw(st.sampled_from(["swap", "swap", "not", "fix", "change"])) for name in small.names}
    swap = [name for name, what in role_of.items() if what != "not"]
    fix, change = ([name for name, what in role_of.items() if what == asked] for asked in ("fix", "change"))
    kept = build(complete(small.names, swap, fix, change), table, rule, merging).specs
    assert n_specs(table, swap, fix, change, rule, merging) == len(kept)
