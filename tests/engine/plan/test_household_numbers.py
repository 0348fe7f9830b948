"""Household numbers in several columns and line numbers of members, found by structure and by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from engine.data.io.readers import read_table
from engine.data.microdata import RawColumn, RawTable
from engine.plan import dependencies, first_plan, guess_plan, plan_from_toml, plan_to_toml, propose
from engine.plan.accept_all import accept_all
from engine.plan.guess import facts
from engine.plan.household_numbers import HouseholdNumbers, household_numbers
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


def test_line_numbers_are_found_in_any_order_of_the_records() -> None:
    made = acs(np.random.default_rng(4))
    order = np.random.default_rng(5).permutation(len(made["sex"]))
    raw = table_of({"hhid": made["SERIALNO"][order], **{"a": made["SPORDER"][order], "sex": made["sex"][order]}})
    assert found(raw).lines == ("a",)


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
