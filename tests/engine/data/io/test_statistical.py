"""Reading SPSS, Stata and SAS files: values, labels, missing codes, and one sentence for what is wrong."""

from __future__ import annotations

import shutil
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from engine.common.errors import EngineError
from engine.data.io import labelled_readers as statistical
from engine.data.io.readers import read_table
from engine.data.microdata import ColumnLabels
from tests.engine.data.io.labelled import columns_of

SPSS: Any = pd.DataFrame(
    {
        "a": [1.0, 2.0, -9.0, np.nan],
        "half": [0.5, 1.0, 2.0, np.nan],
        "s": ["x", "yé", "", "N"],
        "d": [0.0, 86_400.0, np.nan, 0.0],
    }
)

SPSS_LABELS: Any = {"a": {1.0: "Yes", -9.0: "Refused"}, "half": {0.5: "Half"}, "s": {"N": "None"}}


@pytest.fixture(autouse=True)
def forked_readers(quick_readers: None) -> None:
    """How readers start is tried in test_reader_process.py."""


def test_spss_keeps_labels_and_user_missing_codes(tmp_path: Path) -> None:
    pyreadstat.write_sav(
        SPSS,
        tmp_path / "a.sav",
        column_labels={"a": "Answer"},
        variable_value_labels=SPSS_LABELS,
        missing_ranges={"a": [{"lo": -99.0, "hi": -90.0}, -9.0], "s": ["N"]},
        variable_measure={"a": "nominal"},
        variable_format={"d": "DATE11"},
    )
    table = read_table(tmp_path / "a.sav")
    assert columns_of(table) == {
        "a": [1, 2, -9, None],
        "half": [0.5, 1.0, 2.0, None],
        "s": ["x", "yé", "", "N"],
        "d": [date(1582, 10, 14), date(1582, 10, 15), None, date(1582, 10, 14)],
    }
    assert table.columns["a"].about == ColumnLabels(
        "Answer", (("1", "Yes"), ("-9", "Refused")), ("-9",), ((-99.0, -90.0),), "F8.2", "nominal"
    )
    assert table.columns["half"].about.values == (("0.5", "Half"),)
    assert table.columns["s"].about.missing == ("N",)
    assert pa.types.is_integer(table.columns["a"].values.type), "whole numbers are integers"


@pytest.mark.slow
def test_blocks_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [float(i % 7) if i % 11 else np.nan for i in range(2500)]
    pyreadstat.write_sav(pd.DataFrame({"v": wanted, "t": [f"t{i % 3}" for i in range(2500)]}), tmp_path / "a.sav")
    monkeypatch.setattr(statistical, "_CELLS", 10)
    table = read_table(tmp_path / "a.sav")
    assert table.n_records == 2500
    assert columns_of(table) == {
        "v": [None if np.isnan(v) else int(v) for v in wanted],
        "t": [f"t{i % 3}" for i in range(2500)],
    }


@pytest.mark.slow
def test_stata_special_missings_are_text_and_declared(tmp_path: Path) -> None:
    mixed = pd.Series([1.0, 2.5, "a", "b", np.nan], dtype=object)
    labels: Any = {"m": {1.0: "one", "a": "refused"}}
    frame: Any = pd.DataFrame({"m": mixed, "t": [0, 1, 2, 3, 4], "a": ["a", "b", "", "c", "a"]})
    pyreadstat.write_dta(
        frame,
        tmp_path / "a.dta",
        missing_user_values={"m": ["a", "b"]},
        variable_value_labels=labels,
        variable_format={"t": "%td"},
    )
    table = read_table(tmp_path / "a.dta")
    found = columns_of(table)
    assert found["m"] == ["1", "2.5", ".a", ".b", None]
    assert found["t"] == [date(1960, 1, d) for d in range(1, 6)]
    assert found["a"] == ["a", "b", "", "c", "a"], "letters of a text column are no missings"
    about = table.columns["m"].about
    assert about.values == (("1", "one"), (".a", "refused"))
    assert about.missing == (".a", ".b")


@pytest.mark.parametrize(
    ("form", "value", "wanted"),
    [
        ("%tc", 1000.0, datetime(1960, 1, 1, 0, 0, 1)),
        ("%tc", 1.0e20, 1.0e20),
    ],
)
def test_moments_outside_the_calendar_stay_numbers(tmp_path: Path, form: str, value: float, wanted: object) -> None:
    pyreadstat.write_dta(pd.DataFrame({"t": [value, value]}), tmp_path / "a.dta", variable_format={"t": form})
    assert columns_of(read_table(tmp_path / "a.dta"))["t"] == [wanted, wanted]


@pytest.mark.slow
def test_transport_and_portable_files(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": [1.5, np.nan], "S": ["x", "e"]})
    pyreadstat.write_xport(frame, tmp_path / "a.xpt", column_labels={"A": "Label"}, file_format_version=5)
    pyreadstat.write_por(frame, tmp_path / "a.por", column_labels={"A": "Label"})
    for name in ("a.xpt", "a.por"):
        table = read_table(tmp_path / name)
        assert columns_of(table) == {"A": [1.5, None], "S": ["x", "e"]}
        assert table.columns["A"].about.label == "Label"


SAS = Path(__file__).parent / "sas"


@pytest.mark.parametrize("name", ["people", "packed"])
def test_sas_files_keep_labels_dates_and_special_missings(name: str) -> None:
    """Two files of the same 60 records, plain and with packed rows, written with ReadStat's own SAS writer."""
    table = read_table(SAS / f"{name}.sas7bdat")
    columns = columns_of(table)
    assert table.n_records == 60 and list(columns) == ["REGION", "SEX", "BORN", "PAY"]
    assert columns["REGION"][:4] == ["North", "South", "", "Åland"]
    assert columns["SEX"] == [1, 2] * 30
    assert columns["BORN"][:2] == [date(1980, 1, 1), date(1980, 1, 2)]
    assert columns["PAY"][:8] == ["1000.5", "1001.5", "1002.5", None, "1004.5", "1005.5", "1006.5", ".b"]
    about = {column: table.columns[column].about for column in columns}
    assert about["REGION"].label == "Region of residence" and about["PAY"].missing == (".b",)
    assert about["SEX"].values == ()  # no catalogue of that name, nor formats.sas7bcat


@pytest.mark.slow
@pytest.mark.parametrize("catalogue", ["people.sas7bcat", "formats.sas7bcat"])
def test_a_catalogue_beside_a_sas_file_labels_its_values(tmp_path: Path, catalogue: str) -> None:
    shutil.copy(SAS / "people.sas7bdat", tmp_path)
    shutil.copy(SAS / "formats-of-people.sas7bcat", tmp_path / catalogue)
    columns = read_table(tmp_path / "people.sas7bdat").columns
    assert columns["SEX"].about.values == (("1", "man"), ("2", "woman"))
    assert columns["PAY"].about.values == columns["BORN"].about.values == ()
    (tmp_path / catalogue).write_bytes(b"no catalogue")
    with pytest.raises(EngineError, match=f"^file '{catalogue}' is no readable .sas7bcat file"):
        read_table(tmp_path / "people.sas7bdat")


@pytest.mark.parametrize("extension", ["sav", "dta", "xpt", "sas7bdat"])
def test_a_broken_file_is_one_sentence(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a.{extension}"
    path.write_bytes(np.random.default_rng(1).bytes(3000))
    with pytest.raises(EngineError, match=f"^file 'a.{extension}' is no readable .{extension} file") as error:
        read_table(path)
    assert "\n" not in str(error.value)


def test_an_encrypted_file_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "a.sav").write_bytes(b"\x1c\0\0\0\0\0\0\0ENCRYPTEDSAV\x15" + bytes(100))
    with pytest.raises(EngineError, match="is encrypted with a password"):
        read_table(tmp_path / "a.sav")


def test_no_records_is_said(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"a": pd.Series([], dtype=float)}), tmp_path / "a.sav")
    with pytest.raises(EngineError, match="has columns but no records"):
        read_table(tmp_path / "a.sav")


def test_names_that_differ_in_capitals_only_are_two_columns(tmp_path: Path) -> None:
    pyreadstat.write_dta(pd.DataFrame({"a": [1.0], "A": [2.0]}), tmp_path / "a.dta")
    assert columns_of(read_table(tmp_path / "a.dta")) == {"a": [1], "A": [2]}


def test_an_old_file_in_another_encoding(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"s": ["c~fe", "x"]}), tmp_path / "a.sav")
    content = (tmp_path / "a.sav").read_bytes()
    assert b"UTF-8" in content
    (tmp_path / "a.sav").write_bytes(content.replace(b"c~fe", b"c\xe9fe"))
    assert columns_of(read_table(tmp_path / "a.sav"))["s"] == ["céfe", "x"]


@pytest.mark.slow
def test_labels_are_no_part_of_the_digest(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", column_labels={"a": "one"})
    pyreadstat.write_sav(frame, tmp_path / "b.sav", column_labels={"a": "two"})
    one, two = read_table(tmp_path / "a.sav"), read_table(tmp_path / "b.sav")
    assert one.columns["a"].about != two.columns["a"].about
    assert one.content_digest() == two.content_digest()


@pytest.mark.parametrize("extension", ["sav", "por"])
def test_a_file_without_a_known_encoding_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extension: str
) -> None:
    """A portable file was read again with an option that its reader does not have."""
    path = tmp_path / f"a.{extension}"
    write: Any = {"sav": pyreadstat.write_sav, "por": pyreadstat.write_por}[extension]
    write(pd.DataFrame({"A": [1.0]}), path)

    def read_por(file: str, **options: Any) -> None:
        assert "encoding" not in options
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no")

    def read_sav(file: str, **options: Any) -> None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no")

    monkeypatch.setattr(pyreadstat, "read_por", read_por)
    monkeypatch.setattr(pyreadstat, "read_sav", read_sav)
    with pytest.raises(EngineError, match="holds text in an unknown encoding"):
        statistical.read_statistical(path)


@pytest.mark.parametrize("names", [["a", None], ["a", "other"]])
def test_a_file_whose_names_are_damaged_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[Any]
) -> None:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pd.DataFrame({"a": [1.0], "b": [2.0]}), path)
    read = pyreadstat.read_sav

    def damaged(file: str, **options: Any) -> Any:
        data, meta = read(file, **options)
        meta.column_names = names
        return data, meta

    monkeypatch.setattr(pyreadstat, "read_sav", damaged)
    with pytest.raises(EngineError, match=r"file 'a\.sav' is no readable \.sav file"):
        statistical.read_statistical(path)
