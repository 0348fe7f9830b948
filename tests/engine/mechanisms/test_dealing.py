"""Pairs are dealt to records that stream by: each ordered sample of a cell's records is as likely as any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from engine.common.errors import EngineError
from engine.common.streams import derive
from engine.mechanisms.dealing import Deal, deal_rows
from engine.mechanisms.random_swap import records_of_pairs
from tests.plain_python import compiled_and_plain
from tests.small_tables import KEY

FILE = np.array([0, 1, 0, 0, 1, 2, 0, 2, 1])
PAIRS = np.array([[0, 1], [1, 0], [2, 1]])
"""Two of the four records of cell 0, all three of cell 1, one of the two of cell 2."""
N_OUTCOMES = 12 * 6 * 2
RUNS = 8_000


def records_dealt(derived: bytes, pairs: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The records of each pair, shape ``(pairs, 2)``."""
    places = Deal(derived, pairs, np.bincount(cells)).places(cells)
    records = np.full(pairs.size, -1)
    records[places[places >= 0]] = np.flatnonzero(places >= 0)
    return records.reshape(-1, 2)


RAW_ROWS = np.array([0, 2, 1, 0, 2, 4, 1, 3, 2])
"""Raw rows of the records: two of them in cell 0, one in cell 1, two in cell 2."""
CELL_OF_ROW = np.array([0, 0, 1, 2, 2])


def records_dealt_by_rows(derived: bytes, pairs: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The same by raw rows, :data:`RAW_ROWS`."""
    assert np.array_equal(CELL_OF_ROW[RAW_ROWS], cells)
    deal = deal_rows(derived, pairs, CELL_OF_ROW, np.bincount(RAW_ROWS))
    places = deal.places(RAW_ROWS)
    deal.check_complete()
    records = np.full(pairs.size, -1)
    records[places[places >= 0]] = np.flatnonzero(places >= 0)
    assert np.array_equal(RAW_ROWS[records], deal.cell_of_place)
    return records.reshape(-1, 2)


def first_come(derived: bytes, pairs: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """A wrong rule: a cell's places go to its records in file order, from one drawn at random, in turn."""
    number, records = int.from_bytes(derived[:4], "little"), []
    seen = [number % np.count_nonzero(cells == cell) for cell in range(int(cells.max()) + 1)]
    for cell in pairs.reshape(-1):
        of_cell = np.flatnonzero(cells == cell)
        records.append(of_cell[seen[cell] % len(of_cell)])
        seen[cell] += 1
    return np.array(records).reshape(-1, 2)


def chance(rule: Callable[[bytes, np.ndarray, np.ndarray], np.ndarray]) -> float:
    """The chance of samples as uneven as those of a rule, were all ordered samples alike."""
    found = Counter(tuple(rule(derive(KEY, "deal", (run,)), PAIRS, FILE).reshape(-1).tolist()) for run in range(RUNS))
    assert len(found) <= N_OUTCOMES
    return float(chisquare([*found.values(), *[0] * (N_OUTCOMES - len(found))]).pvalue)


@pytest.mark.slow
def test_every_ordered_sample_is_equally_likely() -> None:
    assert chance(records_dealt) > 1e-6


@pytest.mark.slow
def test_every_ordered_sample_is_equally_likely_by_raw_rows() -> None:
    assert chance(records_dealt_by_rows) > 1e-6


@pytest.mark.slow
def test_the_rule_in_memory_has_the_same_law() -> None:
    assert chance(records_of_pairs) > 1e-6


@pytest.mark.slow
def test_a_rule_that_is_nearly_right_is_told_apart() -> None:
    assert chance(first_come) < 1e-9


def test_every_pair_has_one_record_of_each_of_its_cells() -> None:
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 50, 20_000)
    counts = np.bincount(cells)
    pairs = rng.permutation(np.repeat(np.arange(50), counts // 3)).astype(np.int64)
    pairs = pairs[: len(pairs) // 2 * 2].reshape(-1, 2)
    records = records_dealt(derive(KEY, "deal"), pairs, cells)
    assert records.min() >= 0
    assert len(np.unique(records)) == records.size
    assert np.array_equal(cells[records], pairs)


def test_all_records_can_be_taken_and_none() -> None:
    assert sorted(records_dealt(KEY, np.array([[0, 1], [0, 1]]), np.array([0, 1, 1, 0])).reshape(-1)) == [0, 1, 2, 3]
    assert records_dealt(KEY, np.empty((0, 2), np.int64), FILE).shape == (0, 2)


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_batches_and_a_second_pass_change_nothing(size: int) -> None:
    deal = Deal(KEY, PAIRS, np.bincount(FILE))
    whole = deal.places(FILE)
    deal.check_complete()
    deal.restart()
    parts = [deal.places(FILE[start : start + size]) for start in range(0, len(FILE), size)]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.slow
def test_the_slow_twin_deals_the_same() -> None:
    script = """
import json, numpy as np
from engine.mechanisms.dealing import Deal, deal_rows
cells = np.random.default_rng(3).integers(0, 7, 500)
pairs = np.random.default_rng(4).integers(0, 7, (60, 2))
by_rows = deal_rows(bytes(32), pairs, np.arange(14) // 2, np.full(14, 30)).cell_of_place
print(json.dumps([*Deal(bytes(32), pairs, np.bincount(cells)).places(cells).tolist(), *(-1 - by_rows).tolist()]))
"""
    compiled, plain = compiled_and_plain(script)
    assert compiled == plain
    assert sum(place >= 0 for place in plain) == 120


@pytest.mark.slow
def test_samples_of_each_size_are_uniform() -> None:
    for size in range(1, 5):
        pairs = np.array([[0] * size + [1] * (4 - size), [1] * 4]).T.copy()
        cells = np.array([0] * 4 + [1] * (8 - size))
        found: Counter[tuple[int, ...]] = Counter()
        for run in range(3_000):
            records = records_dealt(derive(KEY, "sizes", (size, run)), pairs, cells)
            found[tuple(records[:size, 0].tolist())] += 1
        outcomes = list(permutations(range(4), size))
        assert chisquare([found[outcome] for outcome in outcomes]).pvalue > 1e-6


def test_pairs_of_other_data_are_refused() -> None:
    with pytest.raises(EngineError, match="more records of a cell"):
        Deal(KEY, np.array([[0, 0]]), np.array([1, 5]))
    with pytest.raises(EngineError, match="more records of a cell"):
        Deal(KEY, np.array([[0, 2]]), np.array([1, 5]))


def test_a_file_with_fewer_records_is_refused() -> None:
    deal = Deal(KEY, PAIRS, np.bincount(FILE))
    deal.places(FILE[:-1])
    with pytest.raises(EngineError, match="changed meanwhile"):
        deal.check_complete()


def test_more_pairs_than_places_have_numbers_are_refused():
    pairs = np.broadcast_to(np.zeros((1, 2), np.int32), (1 << 30, 2))
    with pytest.raises(EngineError, match="the release has 1,073,741,824 pairs, and at most 1,073,741,823 are dealt"):
        Deal(derive(KEY, "pairs"), pairs, np.array([1 << 31]))
