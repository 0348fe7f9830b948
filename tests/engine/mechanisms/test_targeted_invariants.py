"""What holds of targeted swapping whatever is drawn: profiles in their order, tables that stay, also weighted ones, and
rows and numbers of households that only permute the result.

Involution, levels of turns, who is risky and moves, whole households, numbers of initiators, quotas, columns that stay,
compiled and plain kernels: ``test_targeted``.  Refused pairs: ``test_targeted_rules``.  Tables at a level that all
profiles name, and cases at the edge: ``test_targeted_edges``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.microdata import Microdata, RawColumn
from engine.mechanisms.targeted import TRS
from engine.release.records import ReleasedTable
from tests.engine.mechanisms.test_targeted import SIMILAR, derived, given_parameters, made, of_twin
from tests.examples import examples
from tests.households import persons_in_households

pytestmark = pytest.mark.slow

PLAIN = {"compatible": "no"}


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
