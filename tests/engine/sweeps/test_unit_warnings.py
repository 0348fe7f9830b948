"""Files of persons in households: what is warned of before a sweep, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.cli.main import main
from engine.data.io.readers import read_table
from engine.data.microdata import RawColumn, RawTable
from engine.plan import Plan, plan_from_toml
from engine.plan.coding import code
from engine.report.plan_document import plan_document
from engine.sweeps.sweep import open_sweep, plan_problems, ready
from engine.sweeps.warnings import carried_identifiers, torn_units
from tests.engine.report.pages import text_of
from tests.households import CENSUS_PLAN, census_files

START, END = CENSUS_PLAN.index("[[mechanism]]"), CENSUS_PLAN.index("[space]")
SINGLE = CENSUS_PLAN[:START] + CENSUS_PLAN[END:]
"""The plan with the random swap of single persons."""
ONLY_TOWN = SINGLE.replace('keys = ["town"', 'swap = ["town"]\nkeys = ["town"')
WORDS = (
    "'town' is the same within all 240 households; a swap of single persons would tear them apart; use mechanism 'trs'"
)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> RawTable:
    return read_table(census_files(tmp_path_factory.mktemp("census"))[0])


def torn(text: str, raw: RawTable) -> list[str]:
    plan = plan_from_toml(text)
    return [str(warning) for warning in torn_units(code(raw, plan), plan)]


def test_the_random_swap_on_a_file_with_households_is_warned_about(raw: RawTable) -> None:
    assert torn(ONLY_TOWN, raw) == [WORDS]
    names = "'region', 'town', 'hsize' and 'tenure' are the same within all 240 households; a swap of single persons"
    assert torn(SINGLE, raw)[0].startswith(names)


@pytest.mark.parametrize(
    "text",
    [
        CENSUS_PLAN,
        ONLY_TOWN.replace('unit = "hid"', 'drop = ["hid"]').replace(', "unit"]', "]"),
        SINGLE.replace('keys = ["town"', 'swap = ["sex", "age"]\nkeys = ["town"'),
    ],
)
def test_whole_households_files_without_units_and_attributes_of_persons_need_no_warning(
    raw: RawTable, text: str
) -> None:
    assert torn(text, raw) == []


def test_other_swaps_of_single_records_are_warned_about_and_redrawn_levels_are_not(raw: RawTable) -> None:
    grid = '[[mechanism]]\nname = "rds"\ns = 5\nvars = "town"\n'
    assert torn(SINGLE.replace("[space]", grid + "[space]"), raw) == [WORDS]
    assert torn(SINGLE.replace("[space]", '[[mechanism]]\nname = "pram"\n[space]'), raw) == []


def test_plan_check_sweep_and_space_say_so(raw: RawTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = census_files(tmp_path)[0]
    path = tmp_path / "plan.toml"
    path.write_text(ONLY_TOWN.replace("replicates = 10", "replicates = 1"), encoding="utf-8")
    assert main(["plan", "check", str(path), "--data", str(data)]) == 0
    assert f"warning: {WORDS}" in " ".join(capsys.readouterr().out.split())
    assert main(["space", str(data), "--plan", str(path)]) == 0
    assert f"warning: {WORDS}" in " ".join(capsys.readouterr().out.split())
    opened = open_sweep(raw, plan_from_toml(ONLY_TOWN), None)
    assert WORDS in map(str, opened.warnings)


def test_the_plan_document_tells_the_board(raw: RawTable) -> None:
    from engine.report.plan_counts import count_plan

    plan = plan_from_toml(ONLY_TOWN)
    text = text_of(plan_document(plan, count_plan(plan, code(raw, plan))))
    assert WORDS.partition("; use")[0] in text and "240 households" in text


def remarks(raw: RawTable, **changed: str) -> tuple[str, ...]:
    text = CENSUS_PLAN
    for name, value in changed.items():
        old = next(line for line in text.splitlines() if line.startswith(f"{name} ="))
        text = text.replace(old, f"{name} = {value}")
    return ready(raw, plan_from_toml(text)).remarks


def test_more_households_than_the_rate_says_are_told_before_the_sweep(raw: RawTable) -> None:
    (remark,) = remarks(raw, k="5")
    share, rate, all_of_them = (float(part.split()[-1]) for part in remark.split(" %")[:3])
    assert (
        remark == (f"{share:g} % of households must be swapped, rate is 10 %: {all_of_them:g} % will be") and rate == 10
    )
    assert 10 < all_of_them <= 100 and share < all_of_them
    assert remarks(raw, k="0") == ()
    assert remarks(raw, k='5\nmust = "within"') == ()
    (safe,) = remarks(raw, risk='"sex"')
    assert safe == "no household is risky; swaps are drawn by 1/count alone"


def test_remarks_are_part_of_what_a_sweep_announces(raw: RawTable) -> None:
    said: list[str] = []
    open_sweep(raw, plan_from_toml(CENSUS_PLAN.replace("k = 2", "k = 5")), None).tell(said.append)
    assert any("of households must be swapped, rate is 10 %" in text for text in said)


def without(raw: RawTable, n: int) -> RawTable:
    column = raw.columns["hid"]
    codes = column.codes.copy()
    codes[:n] = -1
    return replace(raw, columns={**raw.columns, "hid": replace(column, codes=codes)})


@pytest.mark.parametrize("text", [CENSUS_PLAN, SINGLE])
def test_a_record_without_household_is_refused_whatever_the_mechanism(raw: RawTable, text: str) -> None:
    assert plan_problems(plan_from_toml(text), without(raw, 3)) == [
        "column 'hid' has 3 missing values (first: record 1); every record needs a household, give persons outside "
        "households one each"
    ]


def test_a_plan_without_unit_cannot_move_households(raw: RawTable) -> None:
    plan = plan_from_toml(CENSUS_PLAN.replace('unit = "hid"', 'drop = ["hid"]').replace(', "unit"]', "]"))
    assert plan_problems(plan, raw) == ["mechanism 'trs' needs [data] unit, the column that numbers households"]


def with_column(raw: RawTable, values: list[str]) -> tuple[RawTable, Plan]:
    distinct, codes = np.unique(values, return_inverse=True)
    column = RawColumn("more", pa.array(distinct.tolist()), codes.astype(np.int32))
    plan = plan_from_toml(CENSUS_PLAN.replace('carry = ["rent"]', 'carry = ["rent", "more"]'))
    return replace(raw, columns={**raw.columns, "more": column}), plan


def test_a_column_that_tells_households_apart_is_warned_about(raw: RawTable) -> None:
    household = raw.columns["hid"].codes
    warned = carried_identifiers(code(*with_column(raw, [f"n{h}" for h in household])))
    assert [str(warning) for warning in warned] == [
        "column 'more' is carried and differs in 240 of 240 households: released as it is, it may identify them, and a "
        "public bundle with it is refused; drop it, or put classes of it into the file in its place"
    ]
    assert carried_identifiers(code(*with_column(raw, [f"{h}.5" for h in household]))) == [], "amounts differ by nature"
    person = np.arange(len(household))
    assert carried_identifiers(code(*with_column(raw, [f"n{h % 250}" for h in person]))) == [], "of persons"
