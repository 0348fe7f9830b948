"""The made-up census of the shared folder from file to bundle: what is promised holds in the files that leave."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from engine.bundle import export
from engine.bundle.apply import apply
from engine.data.domain import EditRule
from engine.data.io.readers import read_table
from engine.data.io.writers import write_csv
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.plan import AttributePlan, DataPlan, MechanismPlan, Plan, PublishPlan
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from tests.census import LEVELS, census

pytestmark = pytest.mark.slow  # 355,336 persons are swapped, written and read

FORBIDDEN = "no one-person household of one type in one municipality"


def plan_of(data: Microdata, rule: EditRule) -> Plan:
    names = [name for name in data.domain.names if name not in ("age",)]
    grid = {
        "rate": ["0.05"],
        "hierarchy": ["+".join(LEVELS)],
        "risk": ["agegrp+sex+nat"],
        "similar": ["nuts2+hsize+tenure|hsize"],
    }
    return Plan(
        DataPlan(tuple(map(AttributePlan, names)), id="pid", unit="hid", carry=("age",)),
        keys=("lau", "agegrp", "sex", "nat"),
        edits=(rule,),
        space=replace(Plan(DataPlan((AttributePlan("sex"), AttributePlan("lau")))).space, replicates=1),
        measures=("small_cells", "hellinger"),
        mechanisms=(MechanismPlan.of("trs", grid),),
        publish=PublishPlan(include=("unit",)),
    )


def rule_of(data: Microdata) -> EditRule:
    """One household type in one municipality in which no household is of it: releases must not have it either."""
    htype, lau = data.domain.index("htype"), data.domain.index("lau")
    sizes = data.domain.shape[htype], data.domain.shape[lau]
    table = np.bincount(data.codes[htype] * sizes[1] + data.codes[lau], minlength=sizes[0] * sizes[1]).reshape(sizes)
    places = np.argwhere((table == 0) & (table.sum(axis=1) > 0)[:, None])
    kind, municipality = places[0]
    levels = data.domain.attributes[htype].levels[kind], data.domain.attributes[lau].levels[municipality]
    return EditRule(FORBIDDEN, (("htype", (levels[0],)), ("lau", (levels[1],))), refuse=True)


def household_file(raw: RawTable, path: Path) -> RawTable:
    """Households with their places and tenure, in an order of their own."""
    order = np.random.default_rng(1).permutation(np.unique(raw.columns["hid"].codes, return_index=True)[1])
    columns = {}
    for name in ("hid", *LEVELS, "tenure"):
        column = raw.columns[name]
        columns[name] = column.values.take(pa.array(column.codes[order]))
    write_csv(path, columns)
    return read_table(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data, folder = census(), tmp_path_factory.mktemp("census")
    raw, rule = data.raw, rule_of(data)
    with sweep(raw, plan_of(data, rule), folder / "census.study", workers=1) as study:
        assert isinstance(study, Study)
        export(study, raw, f"{study.scenarios[0].label}/1", folder / "out", formats=("csv", "parquet", "sav"))
    apply(folder / "out", household_file(raw, folder / "h.csv"), "hid", folder / "linked", by="unit")
    return folder


@cache
def released(folder: Path, form: str) -> dict[str, np.ndarray]:
    path = folder / "out" / "release" / f"release.{form}"
    if form == "sav":
        table = read_table(path)
        return {name: _numbers(column) for name, column in table.columns.items()}
    read = csv.read_csv(path) if form == "csv" else parquet.read_table(path)
    return {name: read[name].to_numpy().astype(np.int64) for name in read.column_names}


def _numbers(column: RawColumn) -> np.ndarray:
    values = np.array([float(value) for value in column.values.to_pylist()])
    numbers: np.ndarray = values[column.codes].astype(np.int64)
    return numbers


@cache
def before(name: str) -> np.ndarray:
    return _numbers(census().raw.columns[name])


def table(*columns: np.ndarray) -> dict[int, int]:
    """How many records have each combination; its numbers are four digits each."""
    packed = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        assert column.min() >= 0 and column.max() < 10_000
        packed = 10_000 * packed + column
    return dict(zip(*(part.tolist() for part in np.unique(packed, return_counts=True)), strict=True))


@pytest.mark.parametrize("form", ["csv", "parquet", "sav"])
def test_what_is_promised_holds_in_the_files(folder: Path, form: str) -> None:
    files = released(folder, form)
    assert set(files) == {*census().raw.names} - {"pid"}
    units, first = np.unique(files["hid"], return_index=True)
    assert units.tolist() == list(range(1, 152_001)) and len(files["hid"]) == 355_336
    of_unit = np.searchsorted(units, files["hid"])
    for name in (*LEVELS, "hsize", "tenure", "htype"):
        assert (files[name][first][of_unit] == files[name]).all(), "one value for all members"
    assert (np.bincount(of_unit) == files["hsize"][first]).all(), "households are whole"
    old, old_first = np.unique(before("hid"), return_index=True)
    for level in LEVELS:
        for chosen, old_chosen in ((slice(None), slice(None)), (first, old_first)):  # persons, households
            was = table(before(level)[old_chosen], before("hsize")[old_chosen])
            assert was == table(files[level][chosen], files["hsize"][chosen])
    for names in (("age", "sex", "nat"), ("hsize", "tenure", "educ", "empl")):
        was, now = table(*map(before, names)), table(*(files[name] for name in names))
        assert was == now, "a table without geography"
    assert len(old) == 152_000


def test_no_refused_combination_and_some_households_moved(folder: Path) -> None:
    files, rule = released(folder, "csv"), rule_of(census())
    (_, (kind,)), (_, (municipality,)) = rule.forbid
    assert not ((files["htype"] == int(kind)) & (files["lau"] == int(municipality))).any()
    was, now = Counter(table(before("lau"), before("nat"))), Counter(table(files["lau"], files["nat"]))
    assert (was - now).total() > 1000


def test_the_household_file_agrees_with_that_of_persons(folder: Path) -> None:
    files = released(folder, "csv")
    linked = csv.read_csv(folder / "linked" / "linked.csv")
    _, first = np.unique(files["hid"], return_index=True)
    order = np.argsort(linked["hid"].to_numpy())
    for name in ("hid", *LEVELS, "tenure"):
        assert (linked[name].to_numpy()[order] == files[name][first]).all(), name
