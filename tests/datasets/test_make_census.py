"""The made-up census: nothing but places nests, households are whole, and its plan can be swept."""

from __future__ import annotations

import runpy
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engine.common import os_support as resources
from engine.common.errors import UsageError
from engine.data.microdata import RawTable
from engine.plan.coding import code
from engine.plan.samples import describe, load
from engine.sweeps.candidates import scenarios_of

PLACES = ("region", "district", "municipality")
OF_HOUSEHOLD = (*PLACES, "hhsize", "hhtype", "tenure", "dwelling", "origin")
DIGEST = "f70a508f9d62676f"


@lru_cache(1)
def generator() -> dict[str, Any]:
    return runpy.run_path(str(resources.datasets_folder() / "make_census.py"))


def households(table: RawTable) -> np.ndarray:
    return table.columns["household"].codes


def test_the_sample_is_the_same_on_every_machine() -> None:
    table = load("census")[0]
    codes = b"".join(column.codes.astype("<i4").tobytes() for column in table.columns.values())
    assert sha256(codes).hexdigest()[:16] == DIGEST
    (sample,) = (sample for sample in describe() if sample.name == "census")
    assert sample.synthetic and sample.summary.startswith("SYNTHETIC")


@pytest.mark.parametrize("name", OF_HOUSEHOLD)
def test_a_household_s_own_columns_are_the_same_for_all_members(name: str) -> None:
    table = load("census")[0]
    pairs = np.unique(np.stack([households(table), table.columns[name].codes]), axis=1)
    assert pairs.shape[1] == len(table.columns["household"].values)


def test_places_nest_and_household_size_counts_the_members() -> None:
    table = load("census")[0]
    for upper, lower in pairwise(PLACES):
        parts = (table.columns[lower].codes, table.columns[upper].codes)
        assert len(np.unique(np.stack(parts), axis=1).T) == len(table.columns[lower].values)
    size = np.array(table.columns["hhsize"].values.to_pylist())[table.columns["hhsize"].codes]
    assert (np.bincount(households(table))[households(table)] == size).all(), "the last household is cut short too"


@pytest.mark.slow
def test_the_full_size_is_that_of_a_census() -> None:
    table = generator()["census"]("full")
    assert table.n_records == 355_000
    assert len(table.columns["municipality"].values) == 600
    assert 145_000 < len(table.columns["household"].values) < 160_000
    with pytest.raises(UsageError, match="unknown size 'huge', must be one of small, full"):
        generator()["census"]("huge")


@pytest.mark.slow
def test_its_plan_tries_targeted_swaps_of_households() -> None:
    table, plan = load("census")
    data = code(table, plan)
    assert data.unit == "household" and data.units is not None
    assert len(scenarios_of(plan, data)[0]) == 48
    assert [entry.name for entry in plan.mechanisms] == ["trs"]
    assert [rule.name for rule in plan.edits] == ["no farm in the largest towns", "no child at work"]
