"""Files whose end is missing are refused."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from engine.common.errors import EngineError
from engine.data.io.labelled_readers import read_statistical
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.readers import read_table
from tests.engine.data.io.labelled import COLUMNS, LABELS, write_xpt

MANY = {name: pa.concat_arrays([values] * 40) for name, values in COLUMNS.items()}


def places(size: int, step: int = 1) -> list[int]:
    """Where to cut: at both ends and at 60 places between, at multiples of ``step``."""
    draw = random.Random(3)
    found = {draw.randrange(1, size // step) * step for _ in range(60)}
    return sorted(found | {size // step * step - k * step for k in range(1, 9)} - {size})


def refused(path: Path, content: bytes, cuts: list[int]) -> None:
    """Every cut of the content is refused with a sentence that says so."""
    for cut in cuts:
        path.write_bytes(content[:cut])
        with pytest.raises(EngineError, match="cut short") as error:
            read_statistical(path)
        assert str(error.value).startswith(f"file '{path.name}' is "), cut
        assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 80])
def test_a_transport_file_cut_anywhere(tmp_path: Path, step: int) -> None:
    path = tmp_path / "a.xpt"
    write_xpt(path, MANY | {"long": pa.array(["x" * 199] * 200)})
    content = path.read_bytes()
    start = content.index(b"HEADER RECORD*******OBS") + 80
    observation = 4 * 8 + 10 + 8 + 199
    assert len(content) - start == -(-200 * observation // 80) * 80
    cuts = [cut for cut in places(len(content), step) if cut < start or (cut - start) % observation]
    assert len(cuts) > 60
    refused(path, content, cuts)


def test_a_transport_file_whose_observations_fill_its_records_cannot_tell(tmp_path: Path) -> None:
    """As docs/formats.md says: ten numbers fill a record of 80 bytes, and no count says how many there are."""
    path = tmp_path / "a.xpt"
    write_xpt(path, {f"v{i}": pa.array([1.5] * 100) for i in range(10)})
    content = path.read_bytes()
    path.write_bytes(content[: -80 * 30])
    assert read_statistical(path).n_records == 70
    refused(path, content, [len(content) - 40, len(content) - 81])


@pytest.mark.slow
def test_blanks_that_fill_the_last_record_are_no_cut(tmp_path: Path) -> None:
    for n in range(1, 12):
        write_xpt(tmp_path / "a.xpt", {"v": pa.array([1.5] * n), "t": pa.array(["x"] * n)})
        assert read_statistical(tmp_path / "a.xpt").n_records == n


def test_a_version_8_transport_file(tmp_path: Path) -> None:
    path = tmp_path / "a.xpt"
    frame = pd.DataFrame({"a_name_that_is_long": [1.5] * 50, "t": ["abc"] * 50})
    pyreadstat.write_xport(frame, path, column_labels=["l" * 90, None], file_format_version=8)
    content = path.read_bytes()
    assert read_statistical(path).n_records == 50
    refused(path, content, places(len(content)))


def test_a_transport_file_of_two_data_sets(tmp_path: Path) -> None:
    """Its second description was read as records."""
    path = tmp_path / "a.xpt"
    write_xpt(path, MANY)
    content = path.read_bytes()
    path.write_bytes(content + content[content.index(b"HEADER RECORD*******MEMBER") :])
    with pytest.raises(EngineError, match=r"file 'a\.xpt' holds several data sets; write each to a file of its own"):
        read_statistical(path)


def test_a_stata_file_loses_no_labels_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    write_dta(path, MANY, LABELS)
    content = path.read_bytes()
    refused(path, content, places(len(content)))


def test_a_portable_file_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "a.por"
    pyreadstat.write_por(pd.DataFrame({"A": [1.5, 2.5] * 40, "T": ["x", "yy"] * 40}), path)
    content = path.read_bytes()
    whole = len(content.rstrip(b"Z\r\n "))
    refused(path, content, [cut for cut in places(len(content)) if cut < whole])


@pytest.mark.parametrize("packed", [False, True])
def test_an_spss_file_cut_anywhere(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pd.DataFrame({"A": [1.5, 2.5] * 40, "T": ["x", "yy"] * 40}), path, row_compress=packed)
    content = path.read_bytes()
    refused(path, content, places(len(content)))


@pytest.mark.slow
def test_an_spss_file_that_says_another_number_of_records(tmp_path: Path) -> None:
    path = tmp_path / "a.sav"
    write_sav(path, MANY)
    content = path.read_bytes()
    assert struct.unpack("<i", content[80:84]) == (200,)
    path.write_bytes(content[:80] + struct.pack("<i", 260) + content[84:])
    with pytest.raises(EngineError, match="cut short"):
        read_table(path)


def test_a_csv_whose_last_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\n1,2,3\n4,5")
    with pytest.raises(EngineError) as error:
        read_table(path)
    assert str(error.value) == (
        "file 'a.csv' is cut short: its last line, 3, has 2 fields of 3 and no line end; write or copy it again"
    )


@pytest.mark.parametrize("content", ['a,b\n1,"2\n3,4\n', 'a,b\n1,"', 'a,b\n1,"x""', 'a\n1\n"2\n', 'a,b\r\n1,"2\r\n3,4'])
def test_a_quote_that_is_never_closed_swallows_no_records(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    with pytest.raises(EngineError, match="has a misplaced quote or one never closed"):
        read_table(path)


@pytest.mark.parametrize("last", ['""', '""""', '"x"', '"""x"', 'x"', '"x,""2"', '"1\n2"'])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_quote_that_is_closed_is_no_cut(tmp_path: Path, last: str, end: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"a,b\n1,{last}{end}".encode())
    assert read_table(path).n_records == 1
