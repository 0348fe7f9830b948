"""The search for original ids and numbers of households in what is released."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from engine.bundle.old_numbers import OldNumbers
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
