"""Original ids are found in columns that stream by beside them, and other columns are left alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from engine.bundle.released_files import IdWatch

N = 3_000
RNG = np.random.default_rng(4)
RISING = np.cumsum(RNG.integers(1, 9, N))
SHUFFLED = RNG.permutation(RISING)


def seen(ids: np.ndarray, column: pa.Array, size: int = 700) -> tuple[str, str] | None:
    """What is found where records come so many at a time."""
    watch = IdWatch()
    for start in range(0, N, size):
        watch.compare(pa.array(ids[start : start + size]), {"other": column.slice(start, size)})
    return watch.found()


@pytest.mark.parametrize("ids", [RISING, SHUFFLED])
@pytest.mark.parametrize(
    ("made", "what"),
    [
        (lambda ids: pa.array(ids.astype(str)), "the original ids of records"),
        (lambda ids: pa.array(np.where(np.arange(N) % 100 == 0, ids, -1)), "the original ids of records"),
        (lambda ids: pa.array(ids + 17), "values in the order of"),
        (lambda ids: pa.array(-0.5 * ids), "values in the order of"),
        (lambda ids: pa.array([f"case {number:09}" for number in ids]), "values in the order of"),
    ],
)
def test_ids_are_found_as_they_are_and_in_their_order(ids: np.ndarray, made, what: str) -> None:
    found = seen(ids, made(ids))
    assert found is not None
    assert found[0] == "other" and found[1].startswith(what)


def test_records_without_a_value_do_not_count_among_those_that_differ() -> None:
    """25 of 20,000 known values are ids; of unrelated numbers fewer agree."""
    ids = pa.array(np.arange(60_000) * 7)
    column = np.where(np.arange(60_000) < 25, ids, -1)
    watch = IdWatch()
    watch.compare(ids, {"other": pa.array(column, mask=np.arange(60_000) >= 20_000)})
    assert watch.found() == ("other", "the original ids of records")


@pytest.mark.parametrize("ids", [RISING, SHUFFLED])
@pytest.mark.parametrize(
    "column",
    [
        pa.array(RNG.gamma(2, 700, N)),
        pa.array(RNG.integers(0, 90, N)),
        pa.array([["a", "b", None][k] for k in RNG.integers(0, 3, N)]),
        pa.array([None] * N, pa.string()),
        pa.array(RNG.integers(0, 90, N).astype(np.float16)),
        pa.array(np.ones(N)),
        pa.array(RNG.permutation(RISING + 1_000_000)),
    ],
)
def test_unrelated_columns_are_left_alone(ids: np.ndarray, column: pa.Array) -> None:
    assert seen(ids, column) is None
