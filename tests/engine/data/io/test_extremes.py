"""Every writer on every kind of extreme value: it comes back exactly, a note says what became of it, or one sentence
refuses it and names the column; never a traceback, never silence.

What comes back is looked at with other readers than the library that writes, and compared with the original's text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.io.stata import StataReader
from pyarrow import parquet

from engine.common.errors import EngineError
from engine.common.raw_values import as_text, is_number
from engine.data.io.arrow_columns import plain_values
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.writers import write_csv, write_parquet
from engine.data.microdata import NO_LABELS, ColumnLabels
from tests.engine.data.io.spss_file import read_spss

WRITERS: dict[str, Callable[..., tuple[str, ...]]] = {
    "csv": lambda path, columns, labels: write_csv(path, columns),
    "parquet": lambda path, columns, labels: write_parquet(path, columns),
    "sav": write_sav,
    "dta": write_dta,
}


def moments(values: list[int], unit: str, zone: str | None = None) -> pa.Array:
    return pa.array(values, pa.timestamp(unit, zone))


VALUES: dict[str, pa.Array] = {
    "beyond exact whole numbers": pa.array([2**53 + 1, 1]),
    "64 bits": pa.array([2**63 - 1, -(2**63)]),
    "64 bits without sign": pa.array([2**64 - 1], pa.uint64()),
    "ends of a byte": pa.array([100, 101, -127, -128]),
    "ends of two bytes": pa.array([32_740, 32_741, -32_767, -32_768]),
    "ends of four bytes": pa.array([2_147_483_620, 2_147_483_621, 2_147_483_647, -2_147_483_648]),
    "ends of four bytes, some missing": pa.array([2_147_483_647, None]),
    "large": pa.array([1.7976931348623157e308, 1.0]),
    "missing in Stata": pa.array([2.0**1023, 1.0]),
    "missing in SPSS": pa.array([-1.7976931348623157e308, 1.0]),
    "small": pa.array([5e-324, 1.0]),
    "below transport": pa.array([1e-80, 1.0]),
    "infinite": pa.array([float("-inf"), 1.0]),
    "no number": pa.array([float("nan"), 1.0, None]),
    "half": pa.array(np.array([0.1, 1], np.float16)),
    "single": pa.array([0.1, 1.0], pa.float32()),
    "many digits": pa.array([Decimal("123456789012345678.25")]),
    "few digits": pa.array([Decimal("1.50"), Decimal("0.10")]),
    "forty digits": pa.array([Decimal("9" * 40)], pa.decimal256(50, 2)),
    "early days": pa.array([date(1, 1, 1), date(1582, 10, 13), date(1582, 10, 15), date(1959, 12, 31)]),
    "late days": pa.array([date(9999, 12, 31)]),
    "days of no year": pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32()),
    "parts of days": pa.array([86_400_001], pa.int64()).cast(pa.date64()),
    "seconds": moments([0, 1_577_835_000], "s"),
    "milliseconds": moments([1, 1_577_835_000_123], "ms"),
    "microseconds": moments([1], "us"),
    "nanoseconds": moments([1_500_000_000_000_000_001], "ns"),
    "early moments": moments([-62_135_596_800, -12_219_292_801], "s"),
    "moments of no year": moments([2**62], "s"),
    "moments of no year, finer": moments([2**62], "us"),
    "a zone": moments([1_577_835_000_000_000, 1_603_582_200_000_000], "us", "Europe/Vienna"),
    "an hour twice": moments([1_603_585_800_000, 1_603_589_400_000], "ms", "Europe/Vienna"),
    "UTC": moments([1_577_835_000], "s", "UTC"),
    "an offset": moments([1_577_835_000], "s", "+05:30"),
    "clock": pa.array([time(23, 59, 59, 999_999), None]),
    "coarse clock": pa.array([1], pa.time32("s")),
    "spans": pa.array([timedelta(days=1), timedelta(microseconds=1)]),
    "bytes": pa.array([b"\xff\x00", b"a"]),
    "bytes of one length": pa.array([b"\xff\xfe"], pa.binary(2)),
    "truths": pa.array([True, None, False]),
    "nothing": pa.nulls(2),
    "text of pieces": pa.array(["x" * 256, "é" * 500]),
    "text of 32,767": pa.array(["x" * 32_767]),
    "text of 32,768": pa.array(["x" * 32_768]),
    "text of 2,046": pa.array(["x" * 2_046]),
    "text of 201": pa.array(["é" * 100 + "x"]),
    "a zero byte": pa.array(["a\0b", "c"]),
    "blanks": pa.array(["a ", " a", "a\u00a0", "b"]),
    "nothing and empty": pa.array(["", None, "x"]),
    "quotes and lines": pa.array(["a\n'b", '"', ",", "x\r\ny"]),
    "dots": pa.array([".", ".a", "1"]),
    "numerals": pa.array(["-0", "007", "1.50", "1e400"]),
    "17 digits": pa.array(["12345678901234567", "1"]),
    "a numeral of no size": pa.array(["1e+308", "1"]),
}
LABELS: dict[str, tuple[pa.Array, ColumnLabels]] = {
    "ten digits": (pa.array([1, 2]), ColumnLabels("", (("1", "low"), ("9999999999", "not asked")))),
    "missing in Stata": (pa.array([1]), ColumnLabels("", (("1", "a"), ("2147483621", "b"), ("-2147483648", "c")))),
    "ends in Stata": (pa.array([1]), ColumnLabels("", (("2147483620", "b"), ("-2147483647", "c")))),
    "broken": (pa.array([1.5, 2.0]), ColumnLabels("", (("1.5", "a"), ("2", "b")))),
    "infinite": (pa.array([1]), ColumnLabels("", (("1e400", "a"), ("1e300", "b")))),
    "words": (pa.array([1]), ColumnLabels("", (("one", "a"), ("1", "b")))),
    "dates": (pa.array([date(2000, 1, 1)]), ColumnLabels("", (("2000-01-01", "unknown"),))),
    "truths": (pa.array([True]), ColumnLabels("", (("true", "yes"), ("false", "no")))),
    "of text": (pa.array(["a", "b" * 20]), ColumnLabels("", (("a", "A"), ("b" * 20, "B")))),
    "of texts of pieces": (pa.array(["a", "b" * 300]), ColumnLabels("", (("a", "A"), ("b" * 300, "B")))),
    "longer than any text": (pa.array(["a"]), ColumnLabels("", (("a", "A"), ("zz", "Z")))),
    "121 bytes": (pa.array([1]), ColumnLabels("", (("1", "é" * 60 + "x"),))),
    "32,001 bytes": (pa.array([1]), ColumnLabels("", (("1", "x" * 32_001),))),
    "129": (pa.array([1]), ColumnLabels("", tuple((str(i), f"v{i}") for i in range(129)))),
    "70,000": (pa.array([1]), ColumnLabels("", tuple((str(i), f"v{i}") for i in range(70_000)))),
    "a zero byte": (pa.array([1]), ColumnLabels("a\0b", (("1", "a\0b"),))),
    "a label of 257": (pa.array([1]), ColumnLabels("é" * 128 + "x")),
    "a label of 81": (pa.array([1]), ColumnLabels("x" * 81)),
    "a label of 41": (pa.array([1]), ColumnLabels("x" * 41)),
    "four missing": (pa.array([1, 2, 3]), ColumnLabels("", (), ("1", "3", "7", "9"))),
    "two ranges": (pa.array([1, 4, 9]), ColumnLabels("", (), (), ((1, 2), (8, 9)))),
    "a long missing text": (pa.array(["not_asked_code", "b"]), ColumnLabels("", (), ("not_asked_code",))),
    "a missing date": (pa.array([date(1900, 1, 1)]), ColumnLabels("", (), ("1900-01-01",))),
    "an infinite missing": (pa.array([1]), ColumnLabels("", (), ("1e400",), ((float("-inf"), -1.0),))),
}


def said(values: pa.Array) -> list[str]:
    """The original's text, a clock time without needless noughts and a null as an empty text."""
    kind = values.type
    if pa.types.is_floating(kind):
        values = values.cast(pa.float64())
    texts = [text or "" for text in as_text(values).to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return [clock(text) for text in texts]
    return [{"true": "1", "false": "0"}.get(text, text) for text in texts] if pa.types.is_boolean(kind) else texts


def clock(text: str) -> str:
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", text, count=1).replace(".+", "+").replace(".Z", "Z").rstrip(".")


def same(got: Any, text: str) -> bool:
    """Return whether what a reader gives is this text, or this number."""
    if got is None or got != got:
        return text == ""
    if isinstance(got, str):
        return got == text or (is_number(text) and is_number(got) and Decimal(got) == Decimal(text))
    return is_number(text) and Decimal(repr(float(got))) == Decimal(text)


def _times(numbers: list[Any], like: pa.Array, start: datetime, unit: float) -> list[Any]:
    """Numbers that count time as the text of what they stand for."""
    if not (pa.types.is_date(like.type) or pa.types.is_timestamp(like.type)):
        return numbers
    found = [start + timedelta(milliseconds=round(number * unit * 1000)) for number in numbers]
    if pa.types.is_date(like.type):
        return [moment.date().isoformat() for moment in found]
    return [clock(moment.isoformat(" ", "microseconds")) for moment in found]


def held(path: Path, like: pa.Array) -> tuple[list[Any], dict[Any, str] | None, list[Any] | None]:
    """Values, value labels and missing codes of column x; None for what the format has no place for."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            values = [row[0] for row in csv.reader(file)][1:]
        truths = {"true": "1", "false": "0"} if pa.types.is_boolean(like.type) else {}
        values = [truths.get(value, value) for value in values]
        is_clock = pa.types.is_timestamp(like.type) or pa.types.is_time(like.type)
        return [clock(value) for value in values] if is_clock else values, None, None
    if path.suffix == ".parquet":
        return said(parquet.read_table(path)["x"].combine_chunks()), None, None
    if path.suffix == ".sav":
        variable = read_spss(path)["x"]
        values = _times(variable.values, like, datetime(1582, 10, 14), 1)
        return values, variable.labels, variable.missing
    with StataReader(path, convert_dates=False, convert_categoricals=False) as reader:
        labels = next(iter(reader.value_labels().values()), {})
    values = pd.read_stata(path, convert_dates=False, convert_categoricals=False)["x"].tolist()
    unit = 86_400 if pa.types.is_date(like.type) else 0.001
    return _times(values, like, datetime(1960, 1, 1), unit), labels, []


def outcome(folder: Path, form: str, values: pa.Array, about: ColumnLabels) -> str:
    """The outcome of one writer: refused, noted or exact; an error where it is none of these."""
    path = folder / f"a.{form}"
    try:
        notes = WRITERS[form](path, {"x": values}, {"x": about})
    except EngineError as error:
        assert "column 'x'" in str(error) or "blank in all columns" in str(error), error
        assert not list(folder.iterdir())
        return "refused"
    named = [note for note in notes if note.startswith("'x'") and note.endswith(".") and "\n" not in note]
    assert len(named) == len(notes)
    if named:
        return "noted"
    like = plain_values(values)
    got, labels, missing = held(path, like)
    if pa.types.is_float16(like.type) or pa.types.is_float32(
        like.type
    ):  # the shortest text of a short number is a text of it
        got = [None if g in (None, "") else float(like.type.to_pandas_dtype()(g)) for g in got]
    wanted = said(like)
    assert len(got) == len(wanted) and all(same(value, text) for value, text in zip(got, wanted, strict=True)), got
    if labels is not None and about.values:
        numbers = {_key(raw): label for raw, label in labels.items()}
        assert numbers == {_key({"true": "1", "false": "0"}.get(raw, raw)): text for raw, text in about.values}
    assert missing is None or not (about.missing or about.missing_ranges) or missing
    return "exact"


def _key(raw: Any) -> Any:
    return float(raw) if is_number(str(raw)) else raw


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("kind", VALUES)
def test_values_come_back_or_are_said_to_differ(tmp_path: Path, kind: str, form: str) -> None:
    result = outcome(tmp_path, form, VALUES[kind], NO_LABELS)
    coded = VALUES[kind].dictionary_encode() if not pa.types.is_null(VALUES[kind].type) else VALUES[kind]
    assert outcome(_emptied(tmp_path), form, coded, NO_LABELS) == result, "as a release holds them"
    if form in ("csv", "parquet") and "no year" not in kind and (form, kind) != ("csv", "a zero byte"):
        assert result != "refused"


def _emptied(folder: Path) -> Path:
    for path in folder.iterdir():
        path.unlink()
    return folder


@pytest.mark.parametrize("form", ["sav", "dta"])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_and_missing_codes_come_back_or_are_said_to_be_left_out(tmp_path: Path, kind: str, form: str) -> None:
    assert outcome(tmp_path, form, *LABELS[kind]) != "refused"


def test_what_is_said_is_what_happened(tmp_path: Path) -> None:
    zone, label = VALUES["a zone"], LABELS["ten digits"]
    for form in ("sav", "dta"):
        WRITERS[form](tmp_path / f"a.{form}", {"x": zone}, {})
        got = held(tmp_path / f"a.{form}", zone)[0]
        assert got == ["2020-01-01 00:30:00", "2020-10-25 01:30:00"], "clock times, as the original shows them"
    write_parquet(tmp_path / "a.parquet", {"x": zone})
    assert parquet.read_table(tmp_path / "a.parquet")["x"].type == zone.type
    write_dta(tmp_path / "a.dta", {"x": label[0]}, {"x": label[1]})
    assert held(tmp_path / "a.dta", label[0])[1] == {1: "low"}


def test_more_columns_than_a_format_has(tmp_path: Path) -> None:
    values = pa.array([1])
    with pytest.raises(EngineError, match="the release has 32,768 columns"):
        write_dta(tmp_path / "a.dta", {f"v{i}": values for i in range(32_768)}, {})


MERGED: dict[str, tuple[pa.Array, ColumnLabels, tuple[str, ...]]] = {
    "clocks set back": (
        pa.array([1_729_989_000, 1_729_992_600, 0], pa.timestamp("s", "Europe/Berlin")),
        NO_LABELS,
        ("sav", "dta"),
    ),
    "blanks at the end": (pa.array(["a", "a ", "b"]), NO_LABELS, ("sav",)),
    "a blank alone": (pa.array(["a", " ", ""]), NO_LABELS, ("sav",)),
    "long labels": (
        pa.array([1, 2]),
        ColumnLabels(values=(("1", "x" * 32_001), ("2", "x" * 32_002))),
        ("sav", "dta"),
    ),
}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("kind", MERGED)
def test_different_values_that_become_one_are_counted(tmp_path: Path, kind: str, form: str) -> None:
    values, about, merging = MERGED[kind]
    notes = WRITERS[form](tmp_path / f"a.{form}", {"x": values}, {"x": about})
    told = [note for note in notes if "look the same" in note]
    assert len(told) == (form in merging)
