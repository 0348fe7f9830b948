"""Folders of parts in memory are what one file with all their records is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream, read_folder
from engine.data.microdata import RawTable
from tests.streamed_sources import records, small_pieces, write_source


def check_equal(folder: RawTable, whole: RawTable) -> None:
    """Compare names, types, values and codes."""
    assert folder.names == whole.names
    assert folder.n_records == whole.n_records
    for name in whole.names:
        a, b = folder.columns[name], whole.columns[name]
        assert a.values.type == b.values.type
        assert np.array_equal(a.codes, b.codes)
        assert a.codes.dtype == b.codes.dtype
    assert folder.content_digest() == whole.content_digest()


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["csv", "parquet"]),
    n=st.integers(2, 400),
    seed=st.integers(0, 99),
    cuts=st.lists(st.integers(0, 400), max_size=4),
    pieces=st.tuples(st.integers(1, 300), st.integers(1, 300), st.integers(64, 4096)),
    group=st.integers(1, 300),
)
def test_a_folder_gives_the_table_of_one_file(
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    n: int,
    seed: int,
    cuts: list[int],
    pieces: tuple[int, int, int],
    group: int,
) -> None:
    place, table = tmp_path_factory.mktemp("source"), records(n, seed)
    folder = write_source(place, f"{kind} folder", table, [min(cut, n) for cut in cuts], group)
    with small_pieces(*pieces):
        check_equal(read_folder(open_stream(folder)), read_table(write_source(place, kind, table, [])))


def test_types_are_those_of_the_files(tmp_path: Path) -> None:
    texts = ["b", "", None, "a", "b", "c"]
    table = pa.table(
        {
            "large": pa.array(texts, pa.large_string()),
            "coded": pa.array(texts).dictionary_encode(),
            "empty": pa.nulls(6, pa.int16()),
            "untyped": pa.nulls(6),
            "when": pa.array([0, 1, None, 3, 1, 0], pa.timestamp("us", "Europe/Berlin")),
            "size": pa.array([np.nan, -0.0, 0.0, None, np.nan, 1.5], from_pandas=False),
            "flag": [True, None, False, True, True, False],
            "bytes": [b"a", b"b", None, b"a", b"c", b"a"],
        }
    )
    folder = tmp_path / "people"
    folder.mkdir()
    for number in range(3):
        parquet.write_table(table.slice(2 * number, 2), folder / f"{number}.parquet")
    parquet.write_table(table, tmp_path / "people.parquet")
    check_equal(read_folder(open_stream(folder)), read_table(tmp_path / "people.parquet"))


def test_folders_of_a_key_add_a_column(tmp_path: Path) -> None:
    for state in ("02", "01", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / "people" / f"state={state}").mkdir(parents=True)
        write_source(tmp_path / "people" / f"state={state}", "csv", records(10), [])
    column = read_folder(open_stream(tmp_path / "people")).columns["state"]
    assert column.values.to_pylist() == ["01", "02"]
    assert column.codes.tolist() == [0] * 10 + [1] * 10 + [-1] * 10


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    folder = write_source(tmp_path, "parquet folder", records(10).slice(0, 0), [])
    with pytest.raises(EngineError, match="'people' has columns but no records"):
        read_folder(open_stream(folder))
