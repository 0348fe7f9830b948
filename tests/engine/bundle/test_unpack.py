"""What is left to look for is all that can be found; what pages say of themselves is looked at before they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from engine.bundle import unpack
from engine.bundle.unpack import Part, TooLarge, check_parquet, fault, parts_of
from engine.data.io.writers import write_parquet
from tests.engine.bundle import hostile
from tests.examples import examples

few_letters = st.lists(st.sampled_from([b"a", b"b", b"\0", b"\xff"]), max_size=12).map(b"".join)


@given(few_letters, few_letters, st.integers(1, 5))
@examples(200)
def test_a_part_holds_what_is_in_it(content: bytes, form: bytes, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unpack, "_CHUNK_OF_PAIRS", piece)
        assert Part("a", content).holds(form) == (form in content)


@pytest.mark.parametrize("page", [0, 1])
def test_a_page_that_says_other_than_the_end_of_the_file_is_not_read(tmp_path: Path, page: int) -> None:
    path = tmp_path / "release.parquet"
    hostile.parquet_of_forged_page(path, 2, (1 << 31) - 1, page)
    held = parquet.read_metadata(path).row_group(0)
    assert held.total_byte_size < 1000  # the end of the file says nothing of it
    with pytest.raises(TooLarge, match="unpacks to 2 GB; it was not read"):
        list(parts_of(path))
    assert "unpacks to 2 GB; it was not read" in fault(path)


@pytest.mark.parametrize(("field", "value"), [(2, 1 << 31), (2, 1 << 40), (3, 1 << 30), (3, 1 << 33)])
def test_sizes_that_no_page_has_are_not_read(tmp_path: Path, field: int, value: int) -> None:
    path = tmp_path / "release.parquet"
    hostile.parquet_of_forged_page(path, field, value)
    with pytest.raises(TooLarge, match="it was not read"):
        check_parquet(path)


@pytest.mark.parametrize(
    ("column", "options"),
    [
        (pa.array([f"a{i}" for i in range(50)]), {"column_encoding": "DELTA_BYTE_ARRAY"}),
        (pa.array(range(50)), {"column_encoding": "DELTA_BINARY_PACKED"}),
        (pa.array([[1] * 50]), {}),
        (pa.array([{"b": 1}]), {}),
        (pa.array([b"a" * 16], pa.uuid()), {}),
        (pa.array([b"a" * 17], pa.binary(17)), {}),
    ],
    ids=["shared beginnings", "differences", "lists", "records", "no plain kind", "wide values"],
)
def test_what_no_table_of_a_bundle_holds_is_not_read(tmp_path: Path, column: pa.Array, options: dict[str, str]) -> None:
    path = tmp_path / "release.parquet"
    parquet.write_table(pa.table({"a": column}), path, use_dictionary=False, **options)
    with pytest.raises(TooLarge, match="as no table of a bundle does; it was not read"):
        check_parquet(path)


@pytest.fixture(scope="module")
def columns() -> pa.Table:
    """Columns of every kind, of several pages each."""
    draw = np.random.default_rng(3)
    return pa.table(
        {
            "text": pa.array([None if i % 7 == 0 else f"level {i % 900}" for i in range(70_000)]),
            "many": pa.array([f"{i}" * 20 for i in range(70_000)]),
            "figure": pa.array(draw.normal(size=70_000)),
            "truth": pa.array(draw.random(70_000) < 0.5),
            "day": pa.array(draw.integers(0, 9999, 70_000).astype(np.int32)).cast(pa.date32()),
            "money": pa.array([i * 10 for i in range(70_000)]).cast(pa.decimal128(30, 2)),
            "bytes": pa.array([b"a", b"b"] * 35_000),
            "nothing": pa.nulls(70_000),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_honest_pages_of_every_kind_are_read(tmp_path: Path, columns: pa.Table, version: str, codec: str) -> None:
    path = tmp_path / "release.parquet"
    parquet.write_table(columns, path, compression=codec, data_page_version=version, data_page_size=4096)
    assert not fault(path)
    assert {part.where.partition(": ")[2] for part in parts_of(path)} == {"", "description", *columns.column_names}


def test_what_this_program_writes_is_read(tmp_path: Path) -> None:
    columns = {"a": pa.array(["x", None] * 9), "b": pa.array(range(18)), "c": pa.array([None] * 18, pa.string())}
    write_parquet(tmp_path / "a.parquet", columns)
    write_parquet(tmp_path / "none.parquet", {"a": pa.array([], pa.string())})
    assert not fault(tmp_path / "a.parquet") and not fault(tmp_path / "none.parquet")
