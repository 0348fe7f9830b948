"""The first pass: distinct rows with counts, the same however the source is cut into pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data.io import counting
from engine.data.io.counting import Counted, count
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import RawTable
from tests.streamed_sources import FORMS, records, small_pieces, write_source

NAMES = ("age", "job", "income")


def rows_of(table: RawTable) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of a table in order of first appearance, and their counts."""
    codes = np.stack([table.columns[name].codes for name in NAMES], axis=1).astype(np.int64)
    distinct, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return distinct[order], counts[order]


def codes_of(counted: Counted) -> np.ndarray:
    return np.stack([counted.rows.columns[name].codes for name in NAMES], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_distinct_rows_and_counts_are_those_of_the_whole_table(tmp_path: Path, form: str) -> None:
    table = records(2000)
    path = write_source(tmp_path, form, table, [300, 301, 900], group=250)
    whole = read_table(write_source(tmp_path, form.split()[0], table, []))
    with small_pieces(100, 500, 4096):
        counted = count(open_stream(path), NAMES)
    rows, counts = rows_of(whole)
    assert np.array_equal(codes_of(counted), rows)
    assert np.array_equal(counted.counts, counts)
    for name in NAMES:
        assert counted.rows.columns[name].values.equals(whole.columns[name].values)


@pytest.mark.slow
def test_the_digest_follows_the_records_and_not_batches_or_threads(tmp_path: Path) -> None:
    table = records(2000)
    path = write_source(tmp_path, "parquet folder", table, [300, 900], group=250)
    digests = set()
    for batch, threads in ((50, 1), (1000, 3), (333, 2)):
        with small_pieces(batch, 500, 4096):
            digests.add(count(open_stream(path), NAMES, threads=threads).digest)
    assert len(digests) == 1
    other = tmp_path / "other"
    other.mkdir()
    turned = table.take(np.r_[1, 0, 2 : len(table)])  # the same counts, two records the other way round
    with small_pieces(50, 500, 4096):
        path = write_source(other, "parquet folder", turned, [300, 900], group=250)
        digests.add(count(open_stream(path), NAMES).digest)
    assert len(digests) == 2


def test_more_rows_than_fit_are_refused_with_the_column_that_has_the_most_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_source(tmp_path, "csv", records(500), [])
    monkeypatch.setattr(counting, "MOST_ROWS", 300)
    with pytest.raises(EngineError, match=r"more than 300 different combinations.*column 'note' has the most values"):
        count(open_stream(path), ("age", "note"))


def test_a_source_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n")
    with pytest.raises(EngineError, match="has columns but no records"):
        count(open_stream(tmp_path), ("x",))


def test_the_digest_of_a_piece_without_values_is_that_of_the_first_version(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([*[None] * 5, 1, 2], pa.int16()), "b": list("abcdefg")})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=5)
    with small_pieces(1000, 1, 4096):
        counted = count(open_stream(tmp_path / "a.parquet"), ("a", "b"))
    assert counted.digest.hex() == "0a76616786277176f60bb0ba75c9f985fa22afb89a34b1fdc256bb8ce1acd6a3"
