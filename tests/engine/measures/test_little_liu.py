"""R1, R2 and their protections: published examples, identities, and the slow twins."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.measures import call, evaluate, original_batch
from engine.measures.little_liu import r_original
from tests.examples import examples
from tests.record_releases import figure, released
from tests.small_tables import Small, release, smalls
from tests.twins import tables as twin

# Little and Liu (2003), Appendix III: true key and ten imputed keys of the mixing set; all other records keep key 1.
EXAMPLE_1 = (
    "0 1111011111",
    "1 1111110111",
    "1 1101110011",
    "1 1111111101",
    "1 1111110111",
    "1 0111111111",
    "1 0110111110",
)
EXAMPLE_2 = (
    "0 1110100100",
    "1 1001011110",
    "1 1111111111",
    "1 1110101101",
    "1 1111111111",
    "1 1111111111",
    "1 1111111111",
)


def ten_tables(rows, untouched=13):
    small = Small(tuple((int(row[0]),) for row in rows) + ((1,),) * untouched, (2,))
    tables = [[(int(row[2 + d]),) for row in rows] + [(1,)] * untouched for d in range(10)]
    return small, tables


def on_counts(text, small, batch):
    return evaluate(call(text), batch, small.domain, {"keys": small.names, "analyse": small.names})


@pytest.mark.parametrize(("rows", "r1", "r2"), [(EXAMPLE_1, 0.1, 0.0), (EXAMPLE_2, 0.3, 1.0)])
def test_the_published_examples(rows, r1, r2):
    small, tables = ten_tables(rows)
    table, _ = small.coded()
    assert r_original(table.counts) == 1
    everyone = range(1)
    mean = sum(twin.r1(small.records, after, everyone, small.shape) for after in tables) / 10
    assert mean == pytest.approx(r1)
    release_of_ten = released(small, tables)
    assert figure("r2", release_of_ten).value == r2
    assert figure("p2", release_of_ten).value == 1 - r2
    assert figure("r2", release_of_ten).note == "10 tables jointly"
    # each table alone
    for after in tables:
        assert figure("r2", released(small, [after])).value == pytest.approx(
            twin.r1(small.records, after, everyone, small.shape)
        )


@given(smalls(), st.integers(1, 6), st.sampled_from(["le", "lt"]))
@examples(40)
def test_the_unaltered_data_have_as_much_risk_as_sensitive_cells(small, s, rule):
    table, _ = small.coded()
    batch = original_batch(table.counts, table.cells, table.domain.shape)
    cells = int((table.counts <= (s if rule == "le" else s - 1)).sum())
    inside = f"[s={s};rule={rule}]"
    assert r_original(table.counts, s, rule) == cells
    assert on_counts("r1" + inside, small, batch)[0] == cells
    same = released(small, [small.records])
    assert figure("r2" + inside, same).value == pytest.approx(cells)
    if cells:
        assert on_counts("r1_share" + inside, small, batch)[0] == 1
        assert on_counts("p1" + inside, small, batch)[0] == 0
        assert figure("p2" + inside, same).value == pytest.approx(0, abs=1e-12)
    else:
        assert math.isnan(on_counts("r1_share" + inside, small, batch)[0])
        assert math.isnan(on_counts("p1" + inside, small, batch)[0])
        nothing = figure("p2" + inside, same)
        assert math.isnan(nothing.value) and nothing.note == "no sensitive cell"


@st.composite
def many_tables(draw):
    """A small table and some tables of redrawn records."""
    small = draw(smalls(most_records=12))
    row = st.one_of(st.sampled_from(small.records), st.tuples(*(st.integers(0, size - 1) for size in small.shape)))
    n = len(small.records)
    fresh = st.lists(row, min_size=n, max_size=n)
    mixed = st.tuples(fresh, st.lists(st.booleans(), min_size=n, max_size=n)).map(
        lambda both: [new if moved else old for new, old, moved in zip(both[0], small.records, both[1], strict=True)]
    )
    return small, draw(st.lists(mixed, min_size=1, max_size=4))


@pytest.mark.slow
@given(many_tables(), st.integers(1, 4))
@examples(60)
def test_joint_risk_by_its_twin(case, s):
    small, tables = case
    found = released(small, tables)
    places = range(len(small.shape))
    expected = twin.r2(small.records, tables, places, s)
    assert figure(f"r2[s={s}]", found).value == pytest.approx(expected)
    assert figure(f"r2[s={s + 1};rule=lt]", found).value == pytest.approx(expected)
    if len(tables) == 1:
        assert expected == pytest.approx(twin.r1(small.records, tables[0], places, small.shape, s))
    cells = twin.sensitive_cells(small.records, places, s, "le")
    if cells:
        assert figure(f"p2[s={s}]", found).value == pytest.approx(1 - expected / cells)
    keys = len(set(small.records)) if cells else math.nan
    assert figure(f"p2[s={s};denominator=nonempty]", found).value == pytest.approx(1 - expected / keys, nan_ok=True)


def test_every_sensitive_record_moved_leaves_no_risk():
    small = Small(((0, 0), (0, 1), (1, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 1), (1, 1), (1, 1)), (2, 2))
    batch = release(small, "SU", [(0, 6), (1, 2)])
    assert on_counts("r1[s=1]", small, batch)[0] == 0
    assert on_counts("p1[s=1]", small, batch)[0] == 1


def test_protection_is_negative_when_more_cells_become_sensitive():
    small = Small(((0, 0), (0, 0), (1, 1), (1, 1), (0, 2)), (2, 3))
    batch = release(small, "SU", [(0, 2)])  # one of each two moved away, and the two who stayed are now alone
    assert on_counts("r1[s=1]", small, batch)[0] == 3
    assert on_counts("r1_share[s=1]", small, batch)[0] == 3
    assert on_counts("p1[s=1]", small, batch)[0] == -2
    assert on_counts("p1[s=1;denominator=nonempty]", small, batch)[0] == 0


@pytest.mark.parametrize(("s", "r1"), [(1, 2), (2, 3.5)])
def test_each_record_that_stays_counts_as_one_of_its_released_cell(s: int, r1: float) -> None:
    """Of the cells after the swap (0, 0) and (2, 0) have one record, that stayed; (0, 1) has two, one of them new, and
    (1, 1) two that stayed."""
    small = Small(((0, 0), (0, 0), (0, 1), (1, 1), (1, 1), (1, 1), (2, 0)), (3, 2))
    assert on_counts(f"r1[s={s}]", small, release(small, "SU", [(0, 3)]))[0] == r1
