"""A release as its reader sees it, held against rows counted one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.domain import Attribute, Domain
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.release.reader_view import as_seen, columns_beside, exchange_is_void, is_original, renumbered_records
from engine.release.records import ReleasedTable

NAMES = ("a", "b", "c")


def microdata(records: Sequence[Sequence[int]], carried: int = 0, unit: Sequence[int] | None = None) -> Microdata:
    """Records over three attributes; the last ``carried`` columns are carried instead."""
    codes = np.array(records, np.int32).T
    columns = {
        name: RawColumn(name, pa.array([f"{name}{k}" for k in range(3)]), column)
        for name, column in zip(NAMES, codes, strict=True)
    }
    if unit is not None:
        columns["u"] = RawColumn("u", pa.array(np.arange(9)), np.array(unit, np.int32))
    n_attributes = len(NAMES) - carried
    domain = Domain(tuple(Attribute(name, tuple(f"{name}{k}" for k in range(3))) for name in NAMES[:n_attributes]))
    raw = RawTable(columns, len(records), "test")
    return Microdata(
        domain,
        tuple(codes[:n_attributes]),
        raw,
        carried=NAMES[n_attributes:],
        unit=None if unit is None else "u",
    )


def rows_of(table: ReleasedTable, names: Sequence[str]) -> list[tuple[int, ...]]:
    """The rows of a release, column by column from the records themselves."""
    columns = []
    for name in names:
        if name in table.data.domain.names:
            columns.append(table.codes(table.data.domain.index(name)))
        else:
            columns.append(table.data.raw.columns[name].codes)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@st.composite
def releases(draw: st.DrawFn) -> tuple[ReleasedTable, tuple[str, ...]]:
    n = draw(st.integers(2, 8))
    records = draw(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=n, max_size=n))
    data = microdata(records, draw(st.integers(0, 1)))
    places = range(len(data.domain))
    source = np.array(draw(st.permutations(range(n))))
    swapped = draw(st.lists(st.sampled_from(places), unique=True))
    drawn = {
        j: np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.int32)
        for j in draw(st.lists(st.sampled_from([j for j in places if j not in swapped] or [0]), max_size=1))
        if j not in swapped
    }
    return ReleasedTable(data, source if swapped else None, swapped, drawn), data.carried


@given(releases())
def test_a_row_that_is_still_there_counts_as_unaltered(made: tuple[ReleasedTable, tuple[str, ...]]) -> None:
    table, beside = made
    original, names = ReleasedTable(table.data), (*table.data.domain.names, *beside)
    seen = as_seen(table, original, beside)
    before, after, shown = (Counter(rows_of(one, names)) for one in (original, table, seen))
    assert shown == after, "the file is the same"
    assert int(seen.changed.sum()) == table.data.n_records - (before & after).total()
    assert is_original(table, original, beside) == is_original(seen, original, beside) == (before == after)
    assert seen.changed.any() != is_original(table, original, beside)


@st.composite
def households(draw: st.DrawFn) -> tuple[ReleasedTable, bool]:
    n = draw(st.integers(2, 8))
    unit = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    records = np.array(draw(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=n, max_size=n)))
    place = np.array(draw(st.lists(st.integers(0, 2), min_size=4, max_size=4)))
    whole = draw(st.booleans())
    if whole:
        records[:, 0] = place[unit]
    data = microdata(records.tolist(), 0, unit.tolist())
    partner = np.array(draw(st.permutations(range(4))))
    first = {int(u): int(np.flatnonzero(unit == u)[0]) for u in unit}
    if not whole:
        source = np.array(draw(st.permutations(range(n))))
    else:
        source = np.array([first.get(int(partner[u]), i) for i, u in enumerate(unit)])
    return ReleasedTable(data, source, [0]), whole


def as_households(rows: Sequence[tuple[int, ...]], unit: Sequence[int]) -> Counter[frozenset[object]]:
    """Households by what their members show."""
    members: dict[int, Counter[object]] = {}
    for row, u in zip(rows, unit, strict=True):
        members.setdefault(u, Counter())[row] += 1
    return Counter(frozenset(counts.items()) for counts in members.values())


@given(households(), st.booleans())
def test_households_that_trade_with_their_like_stay(made: tuple[ReleasedTable, bool], unit_leaves: bool) -> None:
    (table, whole), beside = made, ("u",) if unit_leaves else ()
    original, unit = ReleasedTable(table.data), table.data.raw.columns["u"].codes.tolist()
    seen = as_seen(table, original, beside)
    before, after, shown = (rows_of(one, NAMES) for one in (original, table, seen))
    assert Counter(shown) == Counter(after)
    if whole or unit_leaves:
        assert as_households(shown, unit) == as_households(after, unit), "nobody changes household"
    same = as_households(before, unit) == as_households(after, unit)
    assert is_original(table, original, beside) == (same if unit_leaves else Counter(before) == Counter(after))
    if whole:
        kept = (as_households(before, unit) & as_households(after, unit)).total()
        moved = len({u for u, row, own in zip(unit, shown, before, strict=True) if row != own})
        assert moved == len(set(unit)) - kept


def test_what_leaves_is_carried_or_included() -> None:
    data = microdata([(0, 0, 0), (1, 1, 1)], 1, [0, 1])
    assert columns_beside(data, ("id",)) == ("c",)
    assert columns_beside(data, ("id", "unit")) == ("c", "u")


@pytest.mark.parametrize(
    ("records", "exchanged", "beside", "void"),
    [
        ([(0, 1, 2), (1, 0, 0)], (0, 1, 2), (), True),
        ([(0, 1, 2), (1, 0, 2)], (0, 1), (), True),  # the third is the same in every record
        ([(0, 1, 2), (1, 0, 0)], (0, 1), (), False),
        ([(0, 1, 2), (1, 0, 0)], (0, 1, 2), ("u",), True),  # households of one person each
    ],
)
def test_structure_says_whether_an_exchange_can_change_anything(
    records: list[tuple[int, ...]], exchanged: tuple[int, ...], beside: tuple[str, ...], void: bool
) -> None:
    data = microdata(records, 0, range(len(records)))
    assert exchange_is_void(data, exchanged, beside, by_units=False) is void


@pytest.mark.parametrize(("agree", "void"), [((), False), ((1,), False), ((1, 2), True), ((2,), True)])
def test_partners_that_agree_on_all_that_stays_change_nothing(agree: tuple[int, ...], void: bool) -> None:
    """Also where what they agree on decides the rest: the third attribute decides the second."""
    data = microdata([(0, 1, 2), (1, 1, 2), (0, 0, 1), (1, 1, 0)], 0, range(4))
    assert exchange_is_void(data, (0,), (), by_units=False, agree=agree) is void
    assert exchange_is_void(data, (0,), (), by_units=True, agree=agree) is void
    two_of_one = microdata([(0, 1, 2), (0, 1, 2), (1, 1, 2), (0, 0, 1)], 0, [0, 0, 1, 2])
    assert not exchange_is_void(two_of_one, (0,), (), by_units=True, agree=(2,)), "households of two sizes"


def test_households_of_several_sizes_change_the_counts_of_places() -> None:
    data = microdata([(0, 0, 0), (0, 0, 0), (1, 0, 0)], 0, [0, 0, 1])
    assert exchange_is_void(data, (0,), (), by_units=False)
    assert not exchange_is_void(data, (0,), (), by_units=True)


@pytest.mark.parametrize("ages", [pa.array([20.5, 31.0, 44.5]), pa.array(["20,5", "31", "44,5"])])
@pytest.mark.parametrize(("noise", "altered"), [(0.004, 0), (0.06, 3), (0.4, 3)])
def test_numbers_count_at_the_decimals_of_their_column(noise: float, altered: int, ages: pa.Array) -> None:
    """Ages in tenths, with a decimal point or comma: noise that rounding takes away is none."""
    raw = RawTable({"age": RawColumn("age", ages, np.arange(3, dtype=np.int32))}, 3, "test")
    data = Microdata(Domain((Attribute("k", ("k0",)),)), (np.zeros(3, np.int32),), raw, carried=("age",))
    table = ReleasedTable(data, numbers={"age": np.array([20.5, 31.0, 44.5]) + noise})
    assert int(renumbered_records(table).sum()) == altered
    assert is_original(table, ReleasedTable(data), ("age",)) == (not altered)


@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_noise_that_a_shorter_number_cannot_hold_is_none(kind: str) -> None:
    """The last place of a number of the column is the least that its reader can see."""
    ages = np.array([20.3, 31.1, 44.7], kind)
    raw = RawTable({"age": RawColumn("age", pa.array(ages), np.arange(3, dtype=np.int32))}, 3, "test")
    data = Microdata(Domain((Attribute("k", ("k0",)),)), (np.zeros(3, np.int32),), raw, carried=("age",))
    for share, altered in ((0.1, False), (2.0, True)):
        table = ReleasedTable(data, numbers={"age": ages.astype(float) + share * np.spacing(ages).astype(float)})
        assert renumbered_records(table).all() == altered
        assert is_original(table, ReleasedTable(data), ("age",)) == (not altered)


@pytest.mark.parametrize("unit", [1e-14, 1.0, 1e9])
def test_a_change_counts_in_whatever_unit_a_column_is(unit: float) -> None:
    ages = np.array([0.203, 0.311, 0.447]) * unit
    raw = RawTable({"age": RawColumn("age", pa.array(ages), np.arange(3, dtype=np.int32))}, 3, "test")
    data = Microdata(Domain((Attribute("k", ("k0",)),)), (np.zeros(3, np.int32),), raw, carried=("age",))
    assert not is_original(ReleasedTable(data, numbers={"age": 1.1 * ages}), ReleasedTable(data), ("age",))
