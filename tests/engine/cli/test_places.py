"""Households between places from the command line: one option makes the plan, and it is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.plan import read_plan
from engine.plan.households import measured_by, places_of
from tests.households import census_files


@pytest.fixture
def persons(tmp_path: Path) -> str:
    return str(census_files(tmp_path)[0])


@pytest.mark.slow
def test_places_make_a_plan_that_is_measured_at_each_level(
    persons: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.toml"
    columns = ["--id", "pid", "--unit", "hid", "--carry", "rent", "--keys", "sex,age"]
    assert main(["plan", "init", persons, *columns, "--places", "region,town", "--out", str(out)]) == 0
    plan = read_plan(out)
    assert places_of(plan) == ("region", "town") and plan.keys == ("sex", "age", "town")
    assert {*measured_by(("region", "town"), ("sex", "age"), weighted=False)} <= {*plan.measures}
    capsys.readouterr()
    assert main(["space", persons, "--plan", str(out)]) == 0
    assert "of trs" in capsys.readouterr().out
    kept = ["--places", "region,town", "--measures", "small_cells,hellinger", "--out", str(tmp_path / "q.toml")]
    assert main(["plan", "init", persons, *columns, *kept]) == 0
    assert read_plan(tmp_path / "q.toml").measures == ("small_cells", "hellinger"), "named measures stay as named"


def test_uses_of_columns_are_those_that_the_options_of_a_first_plan_name(persons: str, tmp_path: Path) -> None:
    out = tmp_path / "p.toml"
    options = ["--weight", "rent", "--drop", "tenure", "--carry", "sex", "--cut", "age=2,4", "--out", str(out)]
    assert main(["plan", "init", persons, "--unit", "hid", *options]) == 0
    data = read_plan(out).data
    assert (data.weight, data.unit) == ("rent", "hid") and "tenure" in data.drop and "sex" in data.carry
    assert next(part.cut for part in data.attributes if part.name == "age") == (2, 4)


def test_a_column_that_is_not_there_is_told(persons: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "init", persons, "--unit", "hidd", "--out", "-"]) == 2
    assert "unknown column 'hidd'. Did you mean 'hid'?" in capsys.readouterr().err


def test_places_without_households_are_refused(persons: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "init", persons, "--drop", "hid", "--places", "region,town", "--out", "-"]) == 2
    assert "--places moves whole households; name the column that numbers them with --unit" in capsys.readouterr().err


def test_a_place_that_is_no_attribute_is_told(persons: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "init", persons, "--unit", "hid", "--places", "region,twn", "--out", "-"]) == 2
    assert "--places names 'twn', which is no attribute. Did you mean 'town'?" in capsys.readouterr().err
