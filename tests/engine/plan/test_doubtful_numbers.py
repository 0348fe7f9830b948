"""Household numbers, ids, weights and places that may mean missing are asked about, whatever they look like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.common.errors import EngineError
from engine.data import microdata as streamed
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import ColumnLabels, RawTable
from engine.plan import Plan, check_plan, plan_from_toml, plan_to_toml, propose
from engine.plan.check import mismatches, settle
from engine.plan.coding import tabulate
from engine.plan.households import doubtful_numbers, refuse_doubtful
from engine.plan.mismatches import DoubtfulNumber
from tests.engine.plan.tables import table_of
from tests.streamed_sources import small_pieces

SIZES = np.random.default_rng(5).integers(1, 6, 120)
NUMBERS = np.repeat(np.arange(1, 121), SIZES)
N = len(NUMBERS)
STRAY = slice(40, 65)  # persons in no household


def people(number: object = None, records: slice = STRAY, **columns: list[str]) -> RawTable:
    """Persons in households, of whom some have another ``number``."""
    written = NUMBERS.astype(str).astype(object)
    if number is not None:
        written[records] = str(number)
    return table_of(hh=written.tolist(), sex=["m", "f"] * (N // 2) + ["m"] * (N % 2), **columns)


def plan_of(data: str = 'unit = "hh"', rest: str = "") -> Plan:
    return plan_from_toml(f'[data]\n{data}\n[[attribute]]\nname = "sex"\n{rest}')


def doubtful(plan: Plan, table: RawTable) -> list[DoubtfulNumber]:
    return [found for found in mismatches(plan, table) if isinstance(found, DoubtfulNumber)]


CODES = ["None", "NULL", "-9", "-1", "99999", "9998", "888", "0", "unknown", "-", "not stated"]


@pytest.mark.parametrize("use", ["unit", "id"])
@pytest.mark.parametrize("number", CODES)
def test_a_household_number_that_may_mean_missing_is_asked_about(number: str, use: str) -> None:
    plan, table = plan_of(f'{use} = "hh"'), people(number)
    (asked,) = doubtful(plan, table)
    assert (asked.column, asked.use, asked.value, asked.n_records) == ("hh", use, number, 25)
    with pytest.raises(EngineError, match="real = true"):
        refuse_doubtful(plan, table)
    kept = settle(plan, table, [asked], "keep")
    assert not doubtful(kept, table) and plan_from_toml(plan_to_toml(kept)) == kept
    missing = settle(plan, table, [asked], "missing")
    assert not doubtful(missing, table) and missing.data.columns[0].missing == (number,)
    assert not doubtful(plan_of(f'missing = ["", "{number}"]\n{use} = "hh"'), table)


@pytest.mark.parametrize("number", [None, "0", "99", "121"])
def test_numbers_of_usual_households_are_not_asked_about(number: str | None) -> None:
    assert not check_plan(plan_of(), people(number, slice(40, 43)))


def test_a_household_far_larger_than_any_other_is_asked_about_without_its_number() -> None:
    table = people("4711")
    (asked,) = doubtful(plan_of(), table)
    assert asked.first == 41 and asked.n_records == 25 and "4711" not in asked.sentence + asked.key
    assert not doubtful(settle(plan_of(), table, [asked], "keep"), table)
    assert doubtful(plan_of('id = "hh"'), table), "an id that many records share"


def test_the_households_of_two_codes_hide_no_code() -> None:
    table = people("-9")
    codes = np.array([table.columns["hh"].values[i].as_py() for i in table.columns["hh"].codes], dtype=object)
    codes[80:110] = "-8"
    table = table_of(hh=codes.tolist(), sex=["m", "f"] * (N // 2) + ["m"] * (N % 2))
    assert {asked.value for asked in doubtful(plan_of(), table)} == {"-9", "-8"}


def test_a_unit_of_several_columns_is_asked_about_column_by_column() -> None:
    cluster, within = (NUMBERS - 1) // 20 + 1, (NUMBERS - 1) % 20 + 1
    within[STRAY] = 99
    table = table_of(cluster=cluster.astype(str).tolist(), hh=within.astype(str).tolist(), sex=["m", "f"] * (N // 2))
    plan = plan_of('unit = ["cluster", "hh"]')
    assert [(asked.column, asked.value) for asked in doubtful(plan, table)] == [("hh", "99")]


def test_labels_say_what_a_number_is() -> None:
    table = people("500")

    def labelled(label: str) -> RawTable:
        column = replace(table.columns["hh"], about=ColumnLabels(values=(("500", label),)))
        return replace(table, columns={**table.columns, "hh": column})

    (asked,) = doubtful(plan_of(), labelled("Not stated"))
    assert asked.value == "500" and not asked.first


@pytest.mark.parametrize(("weight", "asked"), [("9999", 1), ("99999.99", 1), ("30", 0), ("0", 0)])
def test_a_weight_far_above_all_others_that_reads_like_a_code_is_asked_about(weight: str, asked: int) -> None:
    weights = np.random.default_rng(1).uniform(5, 20, N).round(2).astype(str).astype(object)
    weights[3] = weight
    table = people(w=weights.tolist())
    assert len(doubtful(plan_of('unit = "hh"\nweight = "w"'), table)) == asked


PLACES = """
[[attribute]]
name = "region"
levels = [{}]
[[attribute]]
name = "town"
[[mechanism]]
name = "trs"
hierarchy = "region+town"
rate = ["0.1"]
"""


@pytest.mark.parametrize("code", ["99", "-9", "None", "not stated", "0"])
def test_a_place_that_may_mean_missing_is_asked_about_though_it_is_a_declared_level(code: str) -> None:
    of_household = np.array(["11", "12", "13", "14", "15", code], dtype=object)[np.arange(120) % 6]
    region = np.repeat(of_household, SIZES)
    table = people(region=region.tolist(), town=[f"t{region[i]}{NUMBERS[i] % 2}" for i in range(N)])
    levels = ", ".join(f'"{level}"' for level in sorted(set(region.tolist())))
    plan = plan_of(rest=PLACES.format(levels))
    (asked,) = doubtful(plan, table)
    assert (asked.column, asked.use, asked.value) == ("region", "place", code)
    missing = settle(plan, table, [asked], "missing")
    assert not mismatches(missing, table) and missing.attributes[1].missing == (code,)
    assert not mismatches(settle(plan, table, [asked], "keep"), table)


@pytest.mark.parametrize("number", [None, "-9", "None", "", "0"])
def test_a_column_of_household_numbers_with_gaps_still_numbers_households(number: str | None) -> None:
    found = {proposal.key: proposal for proposal in propose(people(number))}
    assert "unit:hh" in found and "id:hh" not in found
    assert ("25 records" in found["unit:hh"].sentence) == (number is not None)


@pytest.mark.parametrize(
    "suffix", ["csv", "parquet", *(pytest.param(form, marks=pytest.mark.slow) for form in ("dta", "sav"))]
)
def test_every_reader_hands_on_what_is_asked_about(suffix: str, tmp_path: Path) -> None:
    numbers = NUMBERS.copy()
    numbers[STRAY] = -9
    frame, path = pd.DataFrame({"hh": numbers, "sex": ["m", "f"] * (N // 2)}), tmp_path / f"people.{suffix}"
    if suffix == "sav":
        import pyreadstat

        pyreadstat.write_sav(frame, path)
    elif suffix == "dta":
        frame.to_stata(path, write_index=False)
    elif suffix == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    (asked,) = doubtful_numbers(plan_of(), read_table(path))
    assert asked.value == "-9" and asked.n_records == 25


STREAMED = {
    "a weight far above all others": (["1.5", "2.5"] * 90 + ["99999"], 'weight = "w"'),
    "a code for no id": ([f"c{i}" for i in range(176)] + ["None"] * 4, 'id = "w"'),
    "an id of very many records": (["c1"] * 40 + [f"c{i}" for i in range(140)], 'id = "w"'),
}


@pytest.mark.parametrize("most", [4, 1 << 20])
@pytest.mark.parametrize("case", STREAMED)
def test_all_records_that_are_read_by_streaming_are_looked_at(
    case: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, use = STREAMED[case]
    monkeypatch.setattr(streamed, "MOST_COUNTED", most)
    (tmp_path / "people.csv").write_text("sex,w\n" + "".join(f"m,{value}\n" for value in values))
    plan = plan_of(use)
    with small_pieces(50, 50, 200):
        source = tabulate(open_stream(tmp_path / "people.csv"), plan)
        found = doubtful(plan, source)
        assert found == doubtful(plan, read_table(tmp_path / "people.csv")) and len(found) == 1
        ways = ("keep",) if found[0].first else ("keep", "missing")
        assert not any(doubtful(settle(plan, source, found, way), source) for way in ways)
