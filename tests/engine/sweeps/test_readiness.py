"""`plan check` finds whatever a sweep would refuse."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.cli.main import main
from engine.data.frames import table_of_frame
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.readers import read_table
from engine.data.io.stream import RecordStream, open_stream
from engine.data.io.writers import write_csv, write_parquet
from engine.data.microdata import RawTable
from engine.plan import plan_from_toml
from engine.plan.coding import tabulate
from engine.sweeps.sweep import plan_problems
from tests.engine.data.io.labelled import write_xpt
from tests.hunt import bad_plans, checked_plans

BAD = {
    "outcome": '[[analysis]]\nname = "a"\nformula = "A ~ x"\nfamily = "logistic"',
    "code": '[[analysis]]\nname = "a"\nformula = "x ~ __import__(\'os\')"',
    "mechanism": '[[mechanism]]\nname = "nobody"',
    "parameter": '[[mechanism]]\nname = "pram"\ntheta = "2"',
    "measure": '[measures]\nnames = ["small_cells", "hellinger", "nobody"]',
    "measure's parameter": '[measures]\nnames = ["small_cells[n_rule=0]", "hellinger"]',
    "measure's attributes": '[measures]\nnames = ["small_cells[attributes=nobody]", "hellinger"]',
    "search": '[measures]\nnames = ["small_cells"]',
}


@pytest.mark.parametrize("what", BAD)
def test_what_a_sweep_refuses_the_check_refuses_in_the_same_words(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, data, study = tmp_path / "plan.toml", tmp_path / "data.csv", tmp_path / "new.study"
    rest = bad_plans.REST if what != "search" else '[space]\nrates = ["0.1"]\nsearch = true\nreplicates = 4\n'
    plan.write_text(f"{bad_plans.BASE}\n{BAD[what]}\n{rest}")
    data.write_text(bad_plans.DATA)
    assert main(["sweep", str(data), "--plan", str(plan), "--study", str(study), "--workers", "1"]) in (1, 2)
    refused = capsys.readouterr().err.strip().splitlines()[-1].removeprefix("frontier: ")
    assert not study.exists()
    assert main(["plan", "check", str(plan), "--data", str(data)]) == 1
    assert capsys.readouterr().out.strip().splitlines()[-1] == refused


def test_a_column_that_an_analysis_misses_is_settled_as_others_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, data = tmp_path / "plan.toml", tmp_path / "data.csv"
    plan.write_text(f'{bad_plans.BASE}\n[[analysis]]\nname = "a"\nformula = "x ~ nobody"\n{bad_plans.REST}')
    data.write_text(bad_plans.DATA)
    assert main(["plan", "check", str(plan), "--data", str(data)]) == 1
    assert "column 'nobody' (analysis 'a') is not in the data" in capsys.readouterr().out
    assert main(["plan", "check", str(plan), "--data", str(data), "--fix", "absent=drop", "--out", "-"]) == 0
    assert "nobody" not in capsys.readouterr().out


SLOWER = ("sav", "dta", "xpt", "frame", "streamed csv", "streamed parquet")
READERS = ("csv", "parquet", *(pytest.param(reader, marks=pytest.mark.slow) for reader in SLOWER))
PLAN = """
[data]
weight = "wt"
unit = "hid"
numeric = ["pay"]
carry = ["pay"]
[[attribute]]
name = "region"
[[attribute]]
name = "place"
[[attribute]]
name = "sex"
[[mechanism]]
name = "trs"
rate = ["0.1"]
hierarchy = "region+place"
"""
COLUMNS: dict[str, list[Any]] = {
    "region": ["n", "n", "n", "n", "s", "s", "s", "s"] * 5,
    "place": ["a", "a", "b", "b", "c", "c", "d", "d"] * 5,
    "hid": [f"h{i // 2}" for i in range(40)],
    "sex": ["f", "m"] * 20,
    "wt": [1.5, 2.0, 2.5, 0.0] * 10,
    "pay": [float(100 * i) for i in range(40)],
}


def read_by(reader: str, folder: Path, columns: Mapping[str, list[Any]]) -> RawTable | RecordStream:
    table = {name: pa.array(values) for name, values in columns.items()}
    form = reader.split()[-1]
    if form == "frame":
        return table_of_frame(pa.table(table).to_pandas())
    path = folder / f"people.{form}"
    writers: dict[str, Callable[..., object]] = {
        "csv": write_csv,
        "parquet": write_parquet,
        "sav": write_sav,
        "dta": write_dta,
        "xpt": write_xpt,
    }
    writers[form](path, table)
    return open_stream(path) if reader != form else read_table(path)


def with_values(name: str, **values: Any) -> dict[str, list[Any]]:
    """The columns with some values of one changed, by ``r`` and the number of the record."""
    changed = dict(enumerate(COLUMNS[name], 1)) | {int(key[1:]): value for key, value in values.items()}
    return {**COLUMNS, name: list(changed.values())}


def as_text(name: str, **values: Any) -> dict[str, list[Any]]:
    columns = with_values(name, **values)
    return {**columns, name: [str(value) for value in columns[name]]}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (COLUMNS, None),
        (with_values("wt", r3=-1.0, r9=-2.5), "'wt', which is negative in 2 records (first: record 3) of 40"),
        (
            with_values("wt", r4=None, r5=-1.0),
            "is missing in 1 record (first: record 4) and negative in 1 record (first",
        ),
        (as_text("wt", r7="none"), "which is not a finite number in 1 record (first: record 7) of 40"),
        (as_text("wt", r7="inf", r8="-inf"), "which is not a finite number in 2 records (first: record 7)"),
        (as_text("wt", r2="NA"), "which is missing in 1 record (first: record 2)"),
        ({**COLUMNS, "wt": [0.0] * 40}, "weight names column 'wt', which is 0 in every record"),
        ({**COLUMNS, "wt": ["x"] * 40}, "weight names column 'wt', which holds no numbers"),
        (with_values("hid", r5=None, r6=None), "column 'hid' has 2 missing values (first: record 5)"),
        (with_values("hid", r5="NA", r6="  "), "column 'hid' has 2 missing values (first: record 5)"),
        (with_values("place", r2="b"), "'place' differs between members of 1 household"),
        (as_text("pay", r6="plenty"), "column 'pay' is no number in 1 of 40 records (first: record 6)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_content_is_refused_whatever_read_it(
    reader: str, columns: Mapping[str, list[Any]], said: str | None, tmp_path: Path, quick_readers: None
) -> None:
    plan, source = plan_from_toml(PLAN), read_by(reader, tmp_path, columns)
    if not isinstance(source, RawTable):
        if said is not None and "wt" not in said:
            return  # streamed records have no household and no analysis, so there is nothing to refuse
        plan = replace(plan, mechanisms=(), data=replace(plan.data, unit=None, numeric=(), carry=("pay", "hid")))
    problems = plan_problems(plan, tabulate(source, plan))
    assert len(problems) == (said is not None), problems
    assert all(str(said) in problem for problem in problems)


@pytest.mark.parametrize("reader", ["csv", "parquet"])
def test_weights_without_a_finite_sum_are_refused(reader: str, tmp_path: Path) -> None:
    source = read_by(reader, tmp_path, {**COLUMNS, "wt": [1e308] * 40})
    (problem,) = plan_problems(plan_from_toml(PLAN), tabulate(source, plan_from_toml(PLAN)))
    assert problem.startswith("weight names column 'wt', whose values are so large")


@pytest.mark.slow
def test_generated_plans_are_checked_as_they_are_swept() -> None:
    outcomes = list(checked_plans.trials(random.Random(7), 40))
    assert [detail for verdict, detail in outcomes if verdict not in ("accepted", "refused")] == []
    assert {verdict for verdict, _ in outcomes} == {"accepted", "refused"}
