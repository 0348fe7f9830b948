"""Files of very many columns: cost follows columns, and never pairs of them."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.domain import Attribute, Domain
from engine.data.io.checks import check_names
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.plan import DataPlan, Plan, dependencies, edit_plan, propose
from engine.plan.codebook import Codebook, CodebookRow
from engine.plan.coding import assign_columns
from engine.plan.entries import AttributePlan
from engine.plan.schema import typed


class Counted(str):
    """A name that counts how often it is compared with another."""

    compared = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def comparisons(what: Callable[[list[str]], object], n: int) -> int:
    """How often names are compared while ``what`` looks at ``n`` of them."""
    names: list[str] = [Counted(f"column {i}") for i in range(n)]
    Counted.compared = 0
    what(names)
    return Counted.compared


def _fates(names: list[str]) -> object:
    half = len(names) // 2
    data = DataPlan((AttributePlan("A", (str(names[0]),)),), carry=tuple(names[1:half]), drop=tuple(names[half:]))
    return assign_columns(data, names)


def _domain(names: list[str]) -> object:
    domain = Domain(tuple(Attribute(name, ("a", "b")) for name in names))
    return [domain.index(name) for name in names]


def _restricted(names: list[str]) -> object:
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in names)))
    return edit_plan(plan, attributes=names[: len(names) // 2], keys=names[:10])


LOOKS: dict[str, Callable[[list[str]], object]] = {
    "names of a plan": lambda names: typed(names, tuple[str, ...], "names"),
    "names of a file": lambda names: check_names("a file", names),
    "fates": _fates,
    "a domain": _domain,
    "levels": lambda names: Attribute("A", tuple(names)),
    "labels": lambda names: _LABELS(names),
    "a codebook": lambda names: Codebook(tuple(CodebookRow(name) for name in names)).of(names),
    "a restriction": _restricted,
}


def _LABELS(names: list[str]) -> ColumnLabels:
    return ColumnLabels(missing=(), values=tuple((name, "label") for name in names))


@pytest.mark.parametrize("what", LOOKS)
def test_names_are_compared_a_few_times_each_and_not_with_one_another(what: str) -> None:
    few, many = (comparisons(LOOKS[what], n) for n in (400, 800))
    assert many <= 2 * few + 100, f"{few} comparisons of 400 names, {many} of 800"
    assert many <= 20 * 800


@pytest.mark.parametrize("what", ["names of a plan", "names of a file", "a domain"])
def test_a_name_that_stands_twice_is_still_refused(what: str) -> None:
    with pytest.raises(EngineError, match="'a'"):
        LOOKS[what](["b", "a", "c", "a"])


def seconds(what: Callable[[], object]) -> float:
    """Processor time, the least of three."""
    took = []
    for _ in range(3):
        began = time.process_time()
        what()
        took.append(time.process_time() - began)
    return min(took)


def wide(columns: int, records: int = 600, levels: int = 4) -> RawTable:
    """Columns that have nothing to do with each other."""
    rng = np.random.default_rng(columns)
    texts = pa.array([str(i) for i in range(levels)])
    made = {f"c{i}": RawColumn(f"c{i}", texts, _in_order(rng, levels, records)) for i in range(columns)}
    return RawTable(made, records, "made up")


def _in_order(rng: np.random.Generator, levels: int, records: int) -> np.ndarray:
    codes = rng.integers(0, levels, records)
    codes[:levels] = np.arange(levels)
    return codes.astype(np.int8)


@pytest.mark.slow
def test_what_columns_decide_is_found_at_a_cost_that_follows_columns() -> None:
    few, many = wide(300), wide(1200)
    assert dependencies(many).recodes == ()
    # Four times the columns took 13 times as long when every pair of columns was looked at on hundreds of records.
    ratio = seconds(lambda: dependencies(many)) / seconds(lambda: dependencies(few))
    assert ratio < 8


@pytest.mark.slow
def test_a_recode_is_found_among_many_columns() -> None:
    table = wide(500)
    finer = np.arange(600) * 7 % 8
    columns = {
        **table.columns,
        "fine": RawColumn("fine", pa.array(list("abcdefgh")), _renumbered(finer)),
        "coarse": RawColumn("coarse", pa.array(list("xyz")), _renumbered(finer // 3)),
    }
    found = dependencies(RawTable(columns, 600, "made up"))
    assert found.recodes == (("fine", "coarse"),)
    assert [p.kind for p in propose(RawTable(columns, 600, "made up"), None, found)] == ["block"]


def _renumbered(codes: np.ndarray) -> np.ndarray:
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int8)


@pytest.mark.slow
def test_hints_of_very_many_names_are_found_and_long_words_have_none() -> None:
    names = [f"column_{i}" for i in range(30_000)]
    assert "column_2999" in did_you_mean("colum_29999", names)
    assert did_you_mean("x" * 10_000_000, names) == ""


def test_swaps_that_are_too_many_to_list_are_refused_before_they_are_listed() -> None:
    from engine.release.space import by_swap_sizes

    names = [f"a{i}" for i in range(3000)]
    with pytest.raises(UsageError, match=r"4,501,500 ways to swap 1 or 2 of 3,000 attributes"):
        next(iter(by_swap_sizes(names, names, (1, 2))))


@pytest.mark.slow
def test_a_first_plan_of_very_many_attributes_asks_for_swaps_that_can_be_listed() -> None:
    parts = tuple(AttributePlan(f"a{i}") for i in range(1500))
    assert Plan(DataPlan(parts)).space.swap_sizes == (1,)
    assert Plan(DataPlan(parts[:1200])).space.swap_sizes == (1, 2)


def test_very_wide_files_are_read_in_parts_that_hold_enough_of_each_column() -> None:
    from engine.data.io.readers import chunk_bytes

    assert chunk_bytes(300) == chunk_bytes(4000) == 4 << 20, "as ever"
    assert chunk_bytes(10_000) == 10_000 << 10, "a thousand bytes of each column at once"
    assert chunk_bytes(1_000_000) == 32 << 20
