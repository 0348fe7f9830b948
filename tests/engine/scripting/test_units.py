"""Scripts that move households: the unit is named like the id, and leaves only with new numbers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import engine as sf
from tests.households import CENSUS_PLAN, census_files


@pytest.mark.slow
def test_a_release_holds_households_under_new_numbers_only_when_asked(tmp_path: Path) -> None:
    persons = pd.read_csv(census_files(tmp_path)[0], dtype=str)
    text = CENSUS_PLAN.replace('include = ["id", "unit"]', "").replace("replicates = 10", "replicates = 2")
    candidate = sf.sweep(persons, plan=text, workers=1)[0]
    assert {"hid", "pid"}.isdisjoint(candidate.release(persons).columns)
    released = candidate.release(persons, include=["unit"])
    assert set(released["hid"]) == set(range(1, 241))
    assert (released.groupby("hid")["town"].nunique() == 1).all()
    assert (released.groupby("hid")["rent"].size() == released.groupby("hid")["hsize"].first().astype(int)).all()
    old_of = pd.DataFrame({"old": persons["hid"], "new": released["hid"]}).drop_duplicates()
    assert len(old_of) == 240, "each household has one new number"
