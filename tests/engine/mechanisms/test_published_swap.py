"""Structures prepared one after the other in the same arrays are those of a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.streams import derive
from engine.mechanisms import random_swap as published_swap
from engine.mechanisms.random_swap import Prepared, Preparing, prepare, preparing, streams
from engine.mechanisms.swap_kernels import cell_at
from engine.release.spec import ReleaseSpec, Structure, multi_kind
from tests.examples import examples
from tests.small_tables import KEY, Small, roles_for, rules, smalls
from tests.twins import preparing as twin

_LISTED = ("order", "class_start", "first_class", "last_class", "values")


def same_numbers(numbers: list[int], things: list[object]) -> bool:
    """Whether two numbers are equal exactly where two things are."""
    return len(set(zip(numbers, things, strict=True))) == len(set(numbers)) == len(set(things))


def check(prepared: Prepared, structure: Structure, small: Small) -> None:
    table, _ = small.coded()
    expected = twin.prepared(structure, table)
    assert {name: getattr(prepared, name).tolist() for name in _LISTED} == {name: expected[name] for name in _LISTED}
    start, limit, class_of, apart = prepared.cells.reshape(-1, 4).T.tolist()
    assert (start, limit[:-1], class_of[:-1]) == (expected["start"], expected["start"][1:], expected["class_of"])
    assert same_numbers(apart[:-1], expected["apart"])
    cells = [int(cell_at(p, prepared.cells, prepared.guide, prepared.shift)) for p in range(table.n_records)]
    assert cells == twin.cell_of_position(expected["start"])
    assert (prepared.memo == -1).all() and prepared.used.tolist() == [0, 0]
    assert len(prepared.runs) == len(prepared.reach) == len(prepared.offset) > prepared.spare


def structure_of(small: Small, roles: str, rule: str) -> Structure:
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
        structure = structure_of(small, data.draw(roles_for(len(small.shape))), data.draw(rules))
        prepared = prepare_next(structure)
        check(prepared, structure, small)
        prepared.draw(derive(KEY, "test"), len(small.records) // 2)  # leaves the arrays as a draw leaves them


@pytest.mark.parametrize("roles", ["SUUUUUUUUUUUUUU", "SFUUUUUUUUUUUUC", "FSSUUUUUUUUUUUU"])
def test_cells_of_several_words_are_prepared_as_by_the_twin(roles):
    rng = np.random.default_rng(2)
    shape = (60, 3, 70, *(50,) * 12)
    values = [rng.integers(0, min(size, 1 + j % 4), 90).tolist() for j, size in enumerate(shape)]
    small = Small(tuple(zip(*values, strict=True)), shape)
    structure = structure_of(small, roles, "strict")
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
        prepared = Preparing(small.coded()[0])(structure_of(small, roles, "strict"))
        draws.append([prepared.draw(derive(KEY, "test", [k]), 100).tolist() for k in range(3)])
    assert draws[0] == draws[1]
    assert all(draws[0])


def test_where_all_must_agree_on_what_stays_nobody_meets():
    """A strict swap without C and U: a pair would have to differ on an attribute that there is not."""
    small = Small(((0, 0), (1, 0), (0, 1), (1, 1)) * 3, (2, 2))
    structure = structure_of(small, "SF", "strict")
    assert structure.needs_free_difference and not structure.free
    assert len(Preparing(small.coded()[0])(structure).draw(derive(KEY, "test"), 6)) == 0


@pytest.mark.slow
@given(smalls(most_records=25), st.data(), rules)
@examples(40)
def test_draws_from_arrays_used_before_are_those_from_fresh_ones(small, data, rule):
    table, wanted = small.coded()[0], len(small.records) // 2
    prepare_next = preparing(table)
    for _ in range(4):
        structure = structure_of(small, data.draw(roles_for(len(small.shape))), rule)
        prepared, stream = prepare_next(structure), streams(KEY, structure, table)
        for replicate in (1, 2):
            fresh = prepare(structure, table).draw(stream(replicate), wanted)
            assert prepared.draw(stream(replicate), wanted).tolist() == fresh.tolist()
