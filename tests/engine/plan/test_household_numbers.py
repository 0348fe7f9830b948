"""Household numbers in several columns and line numbers of members, found by structure and by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.data.io.readers import read_table
from engine.data.microdata import RawColumn, RawTable, Units
from engine.plan import dependencies, first_plan, guess_plan, plan_from_toml, plan_to_toml, propose
from engine.plan.columns import facts
from engine.plan.households import HouseholdNumbers, household_numbers
from engine.plan.propose import accept_all
from tests.shared import shared_file

Columns = dict[str, np.ndarray]


def table_of(columns: Mapping[str, np.ndarray]) -> RawTable:
    raw = {}
    for name, values in columns.items():
        coded = pa.array([str(value) for value in values.tolist()]).dictionary_encode()
        raw[name] = RawColumn(name, coded.dictionary, coded.indices.to_numpy())
    return RawTable(raw, len(next(iter(columns.values()))), "test")


def found(raw: RawTable) -> HouseholdNumbers:
    return household_numbers(raw, {name: facts(column, raw.n_records) for name, column in raw.columns.items()})


def persons(outer: int, inner: int, rng: np.random.Generator) -> Columns:
    """Persons in households numbered by a column ``outer``, and ``inner`` of them in each, with what persons are."""
    sizes = rng.integers(1, 6, outer * inner)
    household = np.repeat(np.arange(outer * inner), sizes)
    line = np.concatenate([np.arange(1, size + 1) for size in sizes])
    n = len(household)
    return {
        "outer": household // inner + 1,
        "inner": household % inner + 1,
        "line": line,
        "tenure": rng.integers(1, 4, outer * inner)[household],
        "sex": rng.integers(1, 3, n),
        "age": rng.integers(0, 90, n),
        "rare": (rng.random(n) < 0.05).astype(int) + 1,
        "born": rng.integers(1925, 2015, n),
    }


def cps(rng: np.random.Generator) -> Columns:
    made = persons(120, 2, rng)
    names = {"outer": "HRHHID", "inner": "HRHHID2", "line": "PULINENO"}
    made["outer"], made["inner"] = made["outer"] + 110_000_000_000_000, made["inner"] + 6010
    return {names.get(name, name): values for name, values in made.items()}


def dhs(rng: np.random.Generator) -> Columns:
    made = persons(20, 14, rng)
    made |= {"hv021": made["outer"]}
    names = {"outer": "hv001", "inner": "hv002", "line": "hvidx"}
    return {names.get(name, name): values for name, values in made.items()}


def women(rng: np.random.Generator) -> Columns:
    """Of each household some members alone, so that their line numbers have gaps."""
    made = dhs(rng)
    stays = (rng.random(len(made["hvidx"])) < 0.5) & (made["hvidx"] > 1)
    names = {"hv001": "v001", "hv002": "v002", "hvidx": "v003", "hv021": "v021"}
    return {names.get(name, name): values[stays] for name, values in made.items()}


def acs(rng: np.random.Generator) -> Columns:
    made = persons(1, 260, rng)
    serial = np.array([f"2019HU{number:07d}" for number in made.pop("inner")])
    del made["outer"]
    return {"SERIALNO": serial, "SPORDER": made.pop("line"), **made}


def unnamed(rng: np.random.Generator) -> Columns:
    return persons(30, 9, rng)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("make", "together", "line"),
    [
        (cps, ("HRHHID", "HRHHID2"), "PULINENO"),
        (dhs, ("hv001", "hv002"), "hvidx"),
        (women, ("v001", "v002"), "v003"),
        (acs, (), "SPORDER"),
        (unnamed, ("outer", "inner"), "line"),
    ],
)
def test_numbers_in_several_columns_and_lines_are_found_and_never_become_attributes(
    make: Callable[[np.random.Generator], Columns], together: tuple[str, ...], line: str, seed: int
) -> None:
    raw = table_of(make(np.random.default_rng(seed)))
    numbers = found(raw)
    assert (numbers.together, numbers.lines) == (together, (line,))
    known = dependencies(raw)
    aside = {*together, "v021", "hv021", "SERIALNO", line}
    proposed = propose(raw, None, known)
    unit = next(one for one in proposed if one.kind == "unit")
    assert unit.together == together and ("together" in unit.sentence) == bool(together)
    assert next(one for one in proposed if one.kind == "line").columns == (line,)
    assert aside.isdisjoint(name for one in proposed if one.kind in ("block", "weight") for name in one.columns)
    for plan in (first_plan(raw), accept_all(raw, first_plan(raw), known, lambda p: p.certain).plan):
        assert aside.isdisjoint(name for part in plan.attributes for name in part.columns)
        assert line in plan.data.carry
    assert plan.data.unit == (together or "SERIALNO") and "born" not in (*known.weights, *known.possible_weights)
    assert not {"v021", "hv021"}.intersection(plan.data.carry)
    assert plan_from_toml(plan_to_toml(plan)) == plan
    carry = [name for name in ("age", "born", "SERIALNO", "HRHHID", "outer", "inner") if name in raw.names]
    guessed = guess_plan(raw, carry=carry)
    assert aside.isdisjoint(guessed.names) and line in guessed.data.carry


@pytest.mark.parametrize(("line", "together"), [("c27", ()), ("lineno", ("c3", "c30", "c36"))])
def test_columns_of_few_values_are_no_household_number_unless_a_name_says_so(
    line: str, together: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 5, 120)
    group = np.repeat(np.arange(120), sizes)
    order = rng.permutation(len(group))
    made = {"c3": group % 4 + 1, "c30": group // 4 % 5 + 1, "c36": group // 20 + 1}
    made |= {line: np.concatenate([np.arange(1, size + 1) for size in sizes]), "c9": rng.integers(1, 4, len(group))}
    numbers = found(table_of({name: values[order] for name, values in made.items()}))
    assert numbers.together == together


def test_line_numbers_are_found_in_any_order_of_the_records() -> None:
    made = acs(np.random.default_rng(4))
    order = np.random.default_rng(5).permutation(len(made["sex"]))
    raw = table_of({"hhid": made["SERIALNO"][order], **{"a": made["SPORDER"][order], "sex": made["sex"][order]}})
    assert found(raw).lines == ("a",)


def health(rng: np.random.Generator) -> Columns:
    """Members of households with a number that is one alone beside its parts, and a weight of six implied decimals."""
    made = dhs(rng)
    weights = rng.integers(300_000, 3_000_000, 20)
    made["hv005"] = weights[made["hv001"] - 1]
    made["hv022"] = (made["hv001"] - 1) // 5 + 1
    number = np.array([f"{a:8d}{b:4d}" for a, b in zip(made["hv001"], made["hv002"], strict=True)])
    return {"hhid": number, **made}


def extract(rng: np.random.Generator) -> Columns:
    """Persons in households that count anew in each year, with a weight of households and one of persons."""
    made = persons(3, 120, rng)
    year, serial = made.pop("outer") + 2018, made.pop("inner")
    of_household = rng.integers(50, 400, (4, 121))[year - 2019, serial] + 0.5
    own = {"YEAR": year, "SERIAL": serial, "PERNUM": made.pop("line"), "HHWT": of_household}
    return {**own, "PERWT": rng.integers(40, 400, len(year)) + 0.25, **made}


def three(rng: np.random.Generator) -> Columns:
    made = persons(12, 20, rng)
    outer = made.pop("outer")
    return {"state": (outer - 1) // 4 + 1, "county": (outer - 1) % 4 + 1, "hh": made.pop("inner"), **made}


@pytest.mark.parametrize(
    ("make", "unit", "weight"),
    [
        (health, "hhid", "hv005"),
        (extract, ("YEAR", "SERIAL"), "PERWT"),
        (three, ("state", "county", "hh"), None),
    ],
)
def test_parts_of_numbers_and_weights_of_usual_surveys_are_never_swapped(
    make: Callable[[np.random.Generator], Columns], unit: str | tuple[str, ...], weight: str | None
) -> None:
    raw = table_of(make(np.random.default_rng(3)))
    known = dependencies(raw)
    plan = accept_all(raw, first_plan(raw), known, lambda p: p.certain).plan
    assert (plan.data.unit, plan.data.weight) == (unit, weight)
    aside = {"hhid", "hv001", "hv002", "hvidx", "hv005", "hv021", "YEAR", "SERIAL", "PERNUM", "HHWT", "PERWT"}
    aside |= {"state", "county", "hh", "line"}
    for made in (plan, first_plan(raw)):
        assert aside.isdisjoint(name for part in made.attributes for name in part.columns)
    assert {"hv001", "hv002", "hv021"}.isdisjoint(plan.data.carry)


def test_without_a_weight_of_persons_that_of_households_is_the_weight() -> None:
    made = extract(np.random.default_rng(3))
    del made["PERWT"]
    raw = table_of(made)
    assert accept_all(raw, first_plan(raw), dependencies(raw), lambda p: p.certain).plan.data.weight == "HHWT"


def test_couples_patterns_and_rare_answers_are_no_line_numbers() -> None:
    rng = np.random.default_rng(6)
    made = persons(1, 300, rng)
    couples = {"hid": np.repeat(np.arange(200), 2), "sex": np.tile([1, 2], 200), "again": np.tile([1, 2, 3, 4], 100)}
    assert found(table_of(couples)).lines == ()
    shown = table_of({"hid": made["inner"], "rare": made["rare"], "tenure": made["tenure"], "sex": made["sex"]})
    assert found(shown) == HouseholdNumbers((), ("hid",), ())


def test_the_released_file_of_a_labour_force_survey(tmp_path: Path) -> None:
    raw = read_table(shared_file("reference", "files", "line_numbers_cps.csv"))
    plan = accept_all(raw, first_plan(raw), dependencies(raw), lambda proposal: proposal.certain).plan
    assert plan.data.unit == ("HRHHID", "HRHHID2") and "PULINENO" in plan.data.carry
    assert {"PULINENO", "HRHHID", "HRHHID2"}.isdisjoint(plan.names)


def test_columns_that_number_nothing_are_given_up_after_the_first_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """All choices of up to three of twelve columns on all records would take minutes at a million records."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 6, 3000)
    house = np.repeat(np.arange(3000), sizes)
    order = rng.permutation(len(house))
    line = np.concatenate([np.arange(1, size + 1) for size in sizes])[order]
    columns = {f"hhid{k}": rng.integers(0, 40 + 3 * k, 3000)[house][order] for k in range(12)}
    table = table_of({"lno": line, **columns})
    looked: list[int] = []
    whole = Units.of_columns

    def counting(columns: Sequence[np.ndarray]) -> Units:
        looked.append(len(columns[0]))
        return whole(columns)

    monkeypatch.setattr(Units, "of_columns", staticmethod(counting))
    facts_of = {column.name: facts(column, table.n_records) for column in table.columns.values()}
    looked.clear()
    numbers = household_numbers(table, facts_of)
    assert numbers.lines == ("lno",) and sum(n > 2000 for n in looked) < 10


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_few_empty_numbers_hide_no_household_number(shuffled: bool) -> None:
    columns = dhs(np.random.default_rng(3))
    number = columns["hv002"].astype(str).astype(object)
    number[[4, 40, 401]] = ""
    columns["hv002"] = number
    if shuffled:
        order = np.random.default_rng(4).permutation(len(number))
        columns = {name: values[order] for name, values in columns.items()}
    raw = table_of(columns)
    assert found(raw).together == ("hv001", "hv002")
    assert not {"hv001", "hv002"} & {*first_plan(raw).names, *first_plan(raw).data.carry}


@pytest.mark.parametrize("name", ["PERSNO", "persno", "PERS_NUM", "PERNO", "person_no"])
def test_numbers_of_persons_are_never_swapped(name: str) -> None:
    household, line = np.repeat(np.arange(100), 3), np.tile([1, 2, 3], 100)
    raw = table_of({"HSERIALP": household, name: line, "sex": np.random.default_rng(5).integers(1, 3, 300)})
    assert found(raw).lines == (name,)


def test_a_weight_that_rises_with_the_households_numbers_none() -> None:
    columns = persons(20, 6, np.random.default_rng(4))
    household = columns["outer"] * 10 + columns["inner"]
    raw = table_of({**columns, "hhid": household, "HHWT": household + 50, "factor_exp": household // 10 + 175})
    assert found(raw).numbers.isdisjoint({"HHWT", "factor_exp"})
    assert {"HHWT", "factor_exp"} <= set(first_plan(raw).data.carry)


@pytest.mark.parametrize("name", ["w1_personid", "w_person_id", "w1_pers_nr", "w1_hh_id", "coeff_id"])
def test_a_number_of_persons_or_households_named_like_a_weight_is_none(name: str) -> None:
    columns = persons(20, 6, np.random.default_rng(4))
    n = len(columns["outer"])
    raw = table_of({**columns, name: np.arange(n) + 10_001})
    plan = first_plan(raw)
    assert name not in plan.data.carry and plan.data.weight != name
    assert accept_all(raw, plan, dependencies(raw), lambda p: p.certain).plan.data.weight != name


@pytest.mark.parametrize("name", ["koerpergewicht", "gewichtsklasse", "factor_expenses", "fexp_food"])
def test_weights_of_bodies_classes_and_expenses_are_no_survey_weights(name: str) -> None:
    raw = table_of({"sex": np.tile([1, 2], 60), name: np.tile([1, 2, 3, 4, 5, 6], 20)})
    assert name not in first_plan(raw).data.carry


def test_a_weight_of_whole_numbers_that_all_differ_is_no_id() -> None:
    columns = persons(20, 6, np.random.default_rng(4))
    raw = table_of({**columns, "PWSSWGT": np.random.default_rng(5).permutation(len(columns["sex"])) * 13577 + 10**6})
    assert dependencies(raw).weights == ("PWSSWGT",) and dependencies(raw).ids == ()
    assert first_plan(raw).data.id is None and "PWSSWGT" in first_plan(raw).data.carry


def test_numbers_of_buildings_dwellings_and_households_within_each_other_are_found() -> None:
    columns = persons(30, 12, np.random.default_rng(6))
    inner = columns.pop("inner") - 1
    nested = {"EA": columns.pop("outer"), "BLDG": inner // 4 + 1, "DWELL": inner // 2 % 2 + 1, "HH": inner % 2 + 1}
    assert found(table_of({**nested, **columns})).together == tuple(nested)


@pytest.mark.parametrize("year", ["YEAR", "wave", "syear"])
def test_a_number_that_comes_again_each_year_goes_with_the_year(year: str) -> None:
    columns = persons(3, 60, np.random.default_rng(7))
    del columns["line"]
    renamed = {year: columns.pop("outer") + 2016, "SERIAL": columns.pop("inner"), **columns}
    assert found(table_of(renamed)).together == (year, "SERIAL")
    once = {**renamed, "SERIAL": renamed["SERIAL"] + 1000 * renamed[year]}
    assert found(table_of(once)).together == () and found(table_of(once)).single == ("SERIAL",)


def test_texts_that_number_households_by_name_are_found() -> None:
    columns = persons(20, 6, np.random.default_rng(8))
    del columns["line"]
    household = columns.pop("outer") * 100 + columns.pop("inner")
    texts = np.array([f"H{number:05}" for number in household.tolist()])
    assert found(table_of({"hserial": texts, **columns})).single == ("hserial",)
