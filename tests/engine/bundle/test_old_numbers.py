"""The search for original ids and numbers of households in what is released."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from engine.bundle.leaks import OldNumbers
from engine.data.microdata import RawColumn, RawTable

N = 200


def searched(numbers: list[str], shown: list[str], codes: np.ndarray, n_known: int = N) -> OldNumbers:
    """The search for ``numbers`` of the first ``n_known`` records, where a column of values ``shown`` is released."""
    number = np.where(np.arange(N) < n_known, np.arange(N) % len(numbers), -1)
    columns = {
        "case": RawColumn("case", pa.array(numbers), number.astype(np.int32)),
        "other": RawColumn("other", pa.array(shown), codes.astype(np.int32)),
    }
    source = SimpleNamespace(
        raw=RawTable(columns, N, "made up"),
        columns=["other"],
        data=SimpleNamespace(single_uses={"case": "id"}, n_records=N),
    )
    return OldNumbers(source, "case", "the original ids of records")  # type: ignore[arg-type]


def test_a_column_that_shows_them_is_found_whatever_they_look_like() -> None:
    numbers = [str(i) for i in range(N)]
    assert searched(numbers, numbers, np.arange(N)).column_with() == "other"
    assert searched(numbers, numbers, np.roll(np.arange(N), 1)).column_with() is None


def test_records_without_one_make_no_other_column_suspect() -> None:
    few = [f"p{i}" for i in range(80)]
    ages = [str(age) for age in range(90)]
    assert searched(few, ages, np.arange(N) % 90, n_known=80).column_with() is None
    assert searched(few, few, np.arange(N) % 80, n_known=80).column_with() == "other"
    gaps = np.where(np.arange(N) < 80, np.arange(N) % 80, -1)
    assert searched(few, few, gaps, n_known=80).column_with() == "other"


@pytest.mark.parametrize("form", ["home-{:05d}", "home {:05d} north", "Österreich-{}", "户口登记{:05d}"])
def test_one_with_letters_is_found_as_a_field_of_a_file(form: str) -> None:
    search = searched([form.format(i) for i in range(N)], ["a", "b"], np.arange(N) % 2)
    assert search.found_in(f"x,case\n1,{form.format(7)}\n".encode())
    assert search.found_in(f"<td>{form.format(7)}</td>".encode())
    assert not search.found_in(f"x,case\n1,{form.format(N)}\n".encode())


def test_numbers_without_letters_are_found_by_several() -> None:
    search = searched([str(40_000_000 + 7 * i) for i in range(N)], ["a", "b"], np.arange(N) % 2)
    assert not search.found_in(b"40000007 40000014 40000015")
    assert search.found_in(b"40000007 40000014 40000021")


def test_values_of_released_columns_are_not_searched() -> None:
    numbers = [f"number {i:04d}" for i in range(N)]
    assert not searched(numbers, numbers, np.arange(N)).found_in(b"number 0007")


def test_a_column_that_shows_some_of_them_is_found_beyond_chance() -> None:
    numbers = [str(i) for i in range(N)]
    rng = np.random.default_rng(5)
    shown = rng.permutation(N)
    unrelated = searched(numbers, numbers, shown)
    assert unrelated.column_with() is None
    shown[:40] = np.arange(40)
    assert searched(numbers, numbers, shown).column_with() == "other", "a fifth of the records"
    shown[10:40] = rng.integers(100, N, 30)
    assert searched(numbers, numbers, shown).column_with() is None, "ten may agree by accident"


def test_numbers_of_few_households_agree_by_chance_with_ages() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        ages = [str(age) for age in range(90)]
        assert searched(ages[:60], ages, rng.integers(0, 90, N)).column_with() is None


@pytest.mark.parametrize(
    "shown",
    [
        [str(5000 + i) for i in range(N)],
        [str(-3 * i) for i in range(N)],
        [f"{i * i}.5" for i in range(N)],
        [f"n{i:04d}" for i in range(N)],
    ],
)
def test_a_column_in_the_order_of_the_numbers_is_found(shown: list[str]) -> None:
    search = searched([str(i) for i in range(N)], shown, np.arange(N))
    assert search.column_with() is None and search.column_in_order() == "other"
    scrambled = np.random.default_rng(7).permutation(N)
    assert searched([str(i) for i in range(N)], shown, scrambled).column_in_order() is None
    mostly = np.arange(N)
    mostly[:20] = scrambled[:20]
    assert searched([str(i) for i in range(N)], shown, mostly).column_in_order() is None, "one in ten is another"


def test_a_sorted_file_of_repeated_values_is_no_order_of_numbers() -> None:
    numbers, shown = [str(i) for i in range(N)], [str(i) for i in range(90)]
    assert searched(numbers, shown, np.arange(N) * 90 // N).column_in_order() is None


def test_many_records_that_agree_in_one_number_alone_show_none() -> None:
    numbers = [str(i) for i in range(N)]
    search = searched(numbers, ["0", "none"], np.where(np.arange(N) < 100, 0, 1))
    # the first household has 100 records, and each of the others one
    search.source.raw.columns["case"].codes[:100] = 0
    assert search.column_with() is None
