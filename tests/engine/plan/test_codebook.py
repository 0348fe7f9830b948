"""Codebook tables: labels, missing codes, roles by name and pattern, blocks."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.common.errors import UsageError
from engine.data.io.readers import read_table
from engine.data.io.writers import write_parquet
from engine.data.microdata import ColumnLabels, RawTable
from engine.plan import AttributePlan, Plan, check_plan, first_plan, plan_from_toml, plan_to_toml
from engine.plan.codebook import Codebook, CodebookRow, apply_codebook, read_codebook, with_labels
from engine.plan.coding import code
from engine.plan.differences import CONTEXT, plan_differences
from engine.plan.entries import ColumnPlan
from tests.engine.data.io.labelled import COLUMNS, LABELS, columns_of, labels_of


def write_codebook(path: str | Path, labels: Mapping[str, ColumnLabels]) -> None:
    """Write what columns say about themselves as a table that :func:`read_codebook` reads back; equal labels give equal
    bytes."""
    from engine.data.io.writers import write_csv

    rows = [
        {
            "name": name,
            "label": about.label,
            "missing": _joined([*about.missing, *(f"{low!r} to {high!r}" for low, high in about.missing_ranges)]),
            "values": _joined([f"{_escaped(raw)}={label}" for raw, label in about.values if label.strip()]),
            "measure": about.measure,
        }
        for name, about in labels.items()
    ]
    import pyarrow as pa

    write_csv(
        path,
        {
            field: pa.array([row[field] for row in rows], pa.string())
            for field in ("name", "label", "missing", "values", "measure")
        },
    )


def _joined(parts: Sequence[str]) -> str:
    """Parts with ``;`` between, each in quotes where it holds one."""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="").writerow(parts)
    return text.getvalue()


def _escaped(raw: str) -> str:
    return raw.replace("\\", "\\\\").replace("=", "\\=")


BOOK = """\
Name,Label,Role,Block,Missing,Skip,Values,Measure,Remarks
case,Case,id,,,,,,
*_WT,Weights,weight,,,,,,
sex,Sex,key swap,,,,1=Male; 2=Female,nominal,
age,Age group,"Key, analyse",,-9,,,,
age_flag,,,age,,,,,
hours,Hours,analyse,,-9;-8,-1,,,
note,,drop,,,,,,
"""


def data() -> str:
    rows = ["case,A_WT,B_WT,sex,age,age_flag,hours,note,free"]
    for i in range(80):
        rows.append(
            f"c{i},{1 + i % 7}.5,2,{1 + i % 2},{(1, 2, 3, -9)[i % 4]},{i % 3},{(10, 20, -1, -8)[i % 4]},x{i},{i % 5}"
        )
    return "\n".join(rows) + "\n"


@pytest.fixture
def table(tmp_path: Path) -> RawTable:
    (tmp_path / "data.csv").write_text(data())
    return read_table(tmp_path / "data.csv")


def book(tmp_path: Path, text: str = BOOK) -> Codebook:
    (tmp_path / "book.csv").write_text(text)
    return read_codebook(tmp_path / "book.csv")


def test_a_codebook_makes_a_plan(table: RawTable, tmp_path: Path) -> None:
    plan = apply_codebook(table, book(tmp_path))
    assert (plan.data.id, plan.data.weight, plan.data.drop) == ("case", "A_WT", ("note",))
    assert set(plan.data.carry) == {"B_WT", "free"}
    assert plan.names == ("sex", "age", "hours")
    sex, age, hours = plan.attributes
    assert sex == AttributePlan("sex", levels=("Male", "Female"), merge=(("Male", ("1",)), ("Female", ("2",))))
    assert age == AttributePlan(
        "age", columns=("age", "age_flag"), levels=("1", "2", "3"), missing=("-9",), on_missing="level"
    )
    assert (hours.skip, hours.missing) == (("-1",), ("-9", "-8"))
    assert (plan.keys, plan.swap, plan.analyse) == (("sex", "age"), ("sex",), ("age", "hours"))
    assert check_plan(plan, table) == []
    assert code(table, plan).domain.attributes[2].kinds == ("value", "value", "skip", "missing")


def test_labels_come_onto_the_columns_and_change_no_data(table: RawTable, tmp_path: Path) -> None:
    labelled = with_labels(table, book(tmp_path))
    about = labelled.columns["sex"].about
    assert (about.label, about.values, about.measure) == ("Sex", (("1", "Male"), ("2", "Female")), "nominal")
    assert labelled.columns["hours"].about.missing == ("-9", "-8")
    assert labelled.columns["B_WT"].about.label == "Weights"
    assert labelled.columns["free"] is table.columns["free"]
    assert labelled.content_digest() == table.content_digest()


def test_a_codebook_on_a_plan_changes_only_what_it_says(table: RawTable) -> None:
    before = first_plan(table)
    after = apply_codebook(table, Codebook((CodebookRow("age", missing=("-9",)),)), before)
    assert after.names == before.names
    assert after.attributes[before.names.index("age")].missing == ("-9",)
    assert apply_codebook(table, Codebook(()), before) == before


def test_a_plan_keeps_the_labels_of_a_codebook_in_its_file(table: RawTable, tmp_path: Path) -> None:
    """Whoever reads the plan and the data later has the labels, without the codebook."""
    rows = (CodebookRow("sex", "Sex", values=(("1", "M = x"), ("-9", "no")), missing_ranges=((-9, -8),)),)
    plan = apply_codebook(table, Codebook((*rows, CodebookRow("B*", "Weights", measure="scale"))), first_plan(table))
    again = plan_from_toml(plan_to_toml(plan))
    assert again == plan
    about = code(table, again).raw.about("sex")
    assert about == ColumnLabels("Sex", (("1", "M = x"), ("-9", "no")), (), ((-9.0, -8.0),))
    assert {c.name for c in again.data.columns} == {"sex", "B_WT"}
    assert code(table, again).raw.content_digest() == table.content_digest()
    more = apply_codebook(table, Codebook((CodebookRow("sex", "Gender", missing_ranges=((-9, -8),)),)), again)
    assert code(table, more).raw.about("sex").label == "Gender"
    (entry,) = plan_differences(plan, more)
    assert entry.startswith(CONTEXT), "labels change no figure"
    other = apply_codebook(table, Codebook((CodebookRow("free", missing=("4",)),)), again)
    assert any(not entry.startswith(CONTEXT) for entry in plan_differences(again, other)), "missing codes may"
    with pytest.raises(UsageError, match="labels of column 'sex', which is not in the data"):
        code(replace(table, columns={n: c for n, c in table.columns.items() if n != "sex"}), _of(again, "sex"))


def test_a_codebook_leaves_what_the_plan_says_of_the_notation_of_numbers(table: RawTable) -> None:
    before = first_plan(table)
    before = replace(before, data=replace(before.data, columns=(ColumnPlan("free", decimal=",", thousands="."),)))
    (column,) = apply_codebook(table, Codebook((CodebookRow("free", "Time"),)), before).data.columns
    assert (column.label, column.decimal, column.thousands) == ("Time", ",", ".")


def _of(plan: Plan, column: str) -> Plan:
    """A plan on other columns that still has labels of this one."""
    parts = tuple(part for part in plan.attributes if column not in part.columns)
    return Plan(replace(plan.data, attributes=parts))


def test_its_own_name_wins_over_a_pattern_and_the_first_pattern_over_the_next() -> None:
    rows = Codebook((CodebookRow("a*", "any"), CodebookRow("*", "all"), CodebookRow("ab", "own")))
    assert {name: row.label for name, row in rows.of(("aa", "ab", "c")).items()} == {
        "aa": "any",
        "ab": "own",
        "c": "all",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label\nx\n", r"file 'book\.csv' has no column 'name'; a codebook has a row for each column"),
        ("name,role\nsex,kee\n", r"file 'book\.csv': codebook, column 'sex': unknown role 'kee'\. Did you mean 'key'"),
        ("name,role\nsex,id key\n", "'id' excludes every other"),
        ("name,role\nsex,key\nsex,swap\n", "two rows for 'sex'"),
        ("name,role\n,key\n", "names no column"),
        ("name,measure\nsex,big\n", "measure is 'big', must be one of nominal, ordinal, scale"),
        (
            'name,missing\nsex,"a\nb"\n',
            "column 'sex': missing is no list with ; between; write a part",
        ),
        ('name,values\nsex,"1=a\rb"\n', "column 'sex': values is no list with ; between"),
        ("name,values\nsex,1=Male; 1=Men\n", r"file 'book\.csv': column 'sex': the value '1' has two labels"),
        ("name,values\nsex,Male\n", "column 'sex': values holds 'Male', must be written as 1=Male; 2=Female"),
    ],
)
def test_a_wrong_codebook_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        book(tmp_path, text)


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ('2="South; East"', "South; East"),
        ('"2=South; East"', "South; East"),
        ('2 = "South ""; East"', 'South "; East'),
        ('2=15" screen', '15" screen'),
        ("2='South'", "'South'"),
    ],
)
def test_a_label_with_a_semicolon_stands_in_quotes(tmp_path: Path, written: str, label: str) -> None:
    cell = f"1=North; {written};3=West".replace('"', '""')
    (row,) = book(tmp_path, f'name,values\nreg,"{cell}"\n').rows
    assert row.values == (("1", "North"), ("2", label), ("3", "West"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (CodebookRow("sexx"), r"describes column 'sexx', which is not in the data\. Did you mean 'sex'"),
        (CodebookRow("1=a\nb"), r"describes column '1=a\\nb', which is not in the data"),
        (CodebookRow("case", roles=("key",)), "makes column 'case' an attribute, but it has too many values"),
    ],
)
def test_a_codebook_for_other_data_is_said(table: RawTable, row: CodebookRow, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        apply_codebook(table, Codebook((row,)))


def test_a_column_in_a_block_is_not_dropped_behind_its_back(table: RawTable) -> None:
    plan: Plan = apply_codebook(table, Codebook((CodebookRow("age_flag", block="age"),)))
    with pytest.raises(UsageError, match="drops column 'age_flag', which is in a block"):
        apply_codebook(table, Codebook((CodebookRow("age_flag", roles=("drop",)),)), plan)


AWKWARD = ColumnLabels(
    'a "label", with; signs',
    (("1", 'x; "y" = z'), ("a=b\\c", "equals"), ("", "empty"), ("-9", "Refused")),
    ("-9", "a;b"),
    ((-99.0, -90.5),),
)


def test_parquet_through_its_codebook_reads_back_equal(tmp_path: Path) -> None:
    labels = {**{name: LABELS.get(name, ColumnLabels()) for name in COLUMNS}, "region": AWKWARD}
    for name in ("a", "b"):
        write_parquet(tmp_path / f"{name}.parquet", COLUMNS)
        write_codebook(tmp_path / f"{name}.csv", labels)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    table = with_labels(read_table(tmp_path / "a.parquet"), read_codebook(tmp_path / "a.csv"))
    assert columns_of(table) == {name: values.to_pylist() for name, values in COLUMNS.items()}
    assert labels_of(table) == labels


def test_a_range_of_missing_codes_is_looked_up_in_the_values(table: RawTable) -> None:
    row = CodebookRow("hours", skip=("-1",), missing_ranges=((-9, -1),))
    plan = apply_codebook(table, Codebook((row,)))
    hours = plan.attributes[plan.names.index("hours")]
    assert (hours.missing, hours.skip) == (("-8",), ("-1",))
