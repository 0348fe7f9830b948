"""DataFrames become columns as files do: values, nulls and categories, and clear refusals."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import engine as sf
from engine.common.errors import EngineError, UsageError
from engine.data.frames import category_order, frame_of_table, table_of_frame
from engine.data.io.readers import read_table
from engine.plan.samples import load


def held(frame: pd.DataFrame) -> dict[str, list[object]]:
    """The values of every record, by column, None for a null."""
    columns = table_of_frame(frame).columns.values()
    return {c.name: [None if k < 0 else c.values[int(k)].as_py() for k in c.codes] for c in columns}


def test_values_are_those_of_the_records():
    frame = pd.DataFrame(
        {
            "whole": [3, 1, 2, 1],
            "float": [1.5, np.nan, 2.0, 1.5],
            "text": ["q", None, "r", "q"],
            "truth": [True, False, True, True],
            "nullable": pd.array([1, None, 2, 2], dtype="Int64"),
            "category": pd.Categorical(["x", None, "y", "x"], categories=["y", "unused", "x"]),
            "cut": pd.cut([1, 5, 9, 5], [0, 3, 6, 10]),
            "empty": [None] * 4,
        },
        index=list("wxyz"),
    )
    assert held(frame) == {
        "whole": [3, 1, 2, 1],
        "float": [1.5, None, 2.0, 1.5],
        "text": ["q", None, "r", "q"],
        "truth": [True, False, True, True],
        "nullable": [1, None, 2, 2],
        "category": ["x", None, "y", "x"],
        "cut": ["(0, 3]", "(3, 6]", "(6, 10]", "(3, 6]"],
        "empty": [None] * 4,
    }


def test_a_frame_is_what_its_parquet_file_is(tmp_path):
    frame = pd.DataFrame({"a": [2, 1, 2], "b": ["y", "x", None], "c": pd.Categorical(["p", "q", "p"])})
    frame.astype(object).to_parquet(tmp_path / "frame.parquet")  # pandas writes its own type of text as another one
    assert table_of_frame(frame).content_digest() == read_table(tmp_path / "frame.parquet").content_digest()


@pytest.mark.parametrize("name", ["czech", "fair", "nces", "census", pytest.param("survey", marks=pytest.mark.slow)])
def test_a_sample_goes_to_a_frame_and_back(name):
    raw = load(name)[0]
    assert table_of_frame(frame_of_table(raw)).content_digest() == raw.content_digest()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, None, 2], pa.int8()),
        pa.array([2**62 + 1, None, 2]),
        pa.array([1.5, float("nan"), None]),
        pa.array(["b", None, "a"], pa.large_string()),
        pa.array(["b", None, "a"]).dictionary_encode(),
        pa.array([True, None, False]),
        pa.array([dt.date(2020, 1, 2), None, dt.date(1999, 1, 1)]),
        pa.array([dt.datetime(2020, 1, 2), None, dt.datetime(9999, 1, 1)]),
        pa.array([dt.time(1, 2), None, dt.time(3)], pa.time32("s")),
        pa.array([Decimal("1.50"), None, Decimal("20.25")], pa.decimal128(10, 2)),
    ],
    ids=lambda values: str(values.type),
)
def test_a_file_goes_to_a_frame_and_back(values, tmp_path):
    pq.write_table(pa.table({"a": values}), tmp_path / "a.parquet")
    raw = read_table(tmp_path / "a.parquet")
    assert table_of_frame(frame_of_table(raw)).content_digest() == raw.content_digest()


def test_categories_keep_their_order_and_only_those_that_occur():
    order = pd.Categorical(["low", "high", None, "high"], categories=["low", "middle", "high"], ordered=True)
    assert category_order(pd.Series(order)) == ("low", "high")
    assert category_order(pd.Series(pd.cut([9, 1, 5], [0, 3, 6, 10]))) == ("(0, 3]", "(3, 6]", "(6, 10]")
    assert category_order(pd.Series(["low", "high"])) == ()


@pytest.mark.parametrize(
    ("frame", "error", "sentence"),
    [
        ([1, 2], UsageError, "type list, must be a pandas DataFrame"),
        (pd.DataFrame({0: [1]}), UsageError, "called 0, must be a text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), UsageError, "columns 1 and 2 of 2 are both called 'a'.*'a_2'"),
        (pd.DataFrame({"a": []}), EngineError, "no records"),
        (pd.DataFrame(index=[1, 2]), EngineError, "no columns"),
        (pd.DataFrame({"a": [1, "x"]}), EngineError, "column 'a' holds values of several types"),
        (pd.DataFrame({"a": [10**30, 1]}, dtype=object), EngineError, "of a type that no file holds"),
        (pd.DataFrame({"a": [[1], [2]]}), EngineError, "column 'a' has the type ListType"),
    ],
)
def test_what_is_no_table_of_plain_values_is_refused(frame, error, sentence):
    with pytest.raises(error, match=sentence):
        table_of_frame(frame)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["x", "q\ud800", None, "q\ud800"], dtype=object),
        pd.Series(["x", "q\ud800", None, "q\ud800"], dtype=pd.StringDtype("python")),
        pd.Series(pd.Categorical.from_codes([0, 1, -1, 1], categories=pd.Index(["x", "q\ud800"], dtype=object))),
    ],
    ids=lambda values: str(values.dtype),
)
def test_a_text_with_half_of_a_character_is_told_by_its_column(values: pd.Series) -> None:
    frame = pd.DataFrame({"b": list("abcd"), "a": values})
    with pytest.raises(EngineError, match=r"^column 'a' holds .* half of a character .* 2 records, first in record 2,"):
        table_of_frame(frame)
    for way in (lambda: sf.sweep(frame, keys=["a"]), lambda: sf.risk_utility(frame, frame)):
        with pytest.raises(EngineError, match=r"^column 'a' holds a text with half of a character"):
            way()
