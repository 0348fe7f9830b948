"""Raw columns as numbers: what the file or the plan declares missing is no number, for whoever reads the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from engine.bundle.codebook import codebook
from engine.common.errors import EngineError
from engine.data.io.readers import read_table
from engine.data.microdata import ColumnLabels, Microdata, RawTable
from engine.measures.linkage import link_rows
from engine.models.record_release import RecordRelease, complete_numbers, missing_values, numbers_of
from engine.plan import Plan, plan_from_toml
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from engine.report.losses import means_of

N = 60
PLAN = """
[data]
carry = ["income", "hours", "tagged"]
numeric = ["income", "hours"]
missing = ["", "999"]
[[attribute]]
name = "sex"
[[attribute]]
name = "kids"
"""


def incomes() -> np.ndarray:
    """Every sixth is -9, and one lies in the range of missing values."""
    values = np.array([1000.0 + 37 * i for i in range(N)])
    values[::6] = -9
    values[1] = -75
    return values


@pytest.fixture(scope="module")
def spss(tmp_path_factory: pytest.TempPathFactory) -> RawTable:
    """An SPSS file with user-missing codes and a range; 999 of ``hours`` only the plan declares."""
    frame: Any = pd.DataFrame(
        {
            "sex": [1.0 + i % 2 for i in range(N)],
            "kids": [(0.0, 1.0, 8.0)[i % 3] for i in range(N)],
            "income": incomes(),
            "hours": [999.0 if i % 10 == 0 else 20.0 + i % 7 for i in range(N)],
            "tagged": [float(i) for i in range(N)],
        }
    )
    path = tmp_path_factory.mktemp("spss") / "people.sav"
    missing: Any = {"income": [-9.0, {"lo": -99.0, "hi": -50.0}], "kids": [8.0]}
    pyreadstat.write_sav(frame, path, missing_ranges=missing)
    return read_table(path)


def made(raw: RawTable) -> tuple[Plan, Microdata]:
    plan = plan_from_toml(PLAN)
    return plan, code(raw, plan)


def test_codes_and_ranges_that_the_file_declares_missing_are_no_numbers(spss: RawTable) -> None:
    plan, data = made(spss)
    original = ReleasedTable(data)
    known = incomes() > 0
    found = numbers_of(original, original, "income", plan)
    np.testing.assert_array_equal(found, np.where(known, incomes(), np.nan))
    np.testing.assert_array_equal(original.numeric("income"), found)
    hours = numbers_of(original, original, "hours", plan)
    assert np.isnan(hours[::10]).all() and np.isnan(hours).sum() == 6
    with pytest.raises(EngineError, match="column 'income' has 11 missing values; fill, drop or recode"):
        complete_numbers(original, "income", "noise")


def test_memo_measure_and_codebook_give_one_mean(spss: RawTable) -> None:
    plan, data = made(spss)
    original = ReleasedTable(data)
    wanted = {"income": incomes()[incomes() > 0], "hours": np.array([20.0 + i % 7 for i in range(N) if i % 10])}
    everybody = np.zeros(N, np.int64)
    numbers = {name: numbers_of(original, original, name, plan) for name in wanted}
    memo = {name: means_of(name, [""], [everybody] * 2, [values] * 2, None) for name, values in numbers.items()}
    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(raw.codes, pa.int32(), mask=raw.codes < 0), raw.values)
        for name, raw in data.raw.columns.items()
    }
    labels = {name: missing_values(plan, name, data.raw.columns[name].about) for name in columns}
    book = codebook("", {"release": columns}, labels, (), (), None)
    found = {column.name: column for column in book.tables[0].columns}
    for name, values in wanted.items():
        assert found[name].valid == memo[name].n[0] == len(values)
        assert found[name].mean == pytest.approx(values.mean()) == memo[name].before[0]


def test_links_are_not_made_on_codes_for_missing(spss: RawTable) -> None:
    plan, data = made(spss)
    original = ReleasedTable(data)
    rows = link_rows(RecordRelease(original, [original], plan), original, (), ("hours",))
    assert int(np.isnan(rows.numbers[rows.row_of_original]).sum()) == 6


def test_a_level_that_means_missing_is_no_number_when_it_is_drawn_anew(spss: RawTable) -> None:
    plan, data = made(spss)
    drawn = ReleasedTable(data, replaced={1: data.codes[1]})
    found = numbers_of(drawn, ReleasedTable(data), "kids", plan)
    np.testing.assert_array_equal(found, [(0.0, 1.0, np.nan)[i % 3] for i in range(N)])


def test_special_missing_values_are_codes_for_missing() -> None:
    about = ColumnLabels(missing=(".a", "7"), missing_ranges=((-9, -1),))
    values = pa.array([".a", "7", "-5", "-9.5", "3", "x"])
    assert about.missing_mask(values).tolist() == [True, True, True, False, False, False]
    spoken = values.to_pylist()
    assert [text for text, gone in zip(spoken, about.missing_mask(values), strict=True) if gone] == [
        *about.missing_among(spoken)
    ]
