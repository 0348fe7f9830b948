"""A candidate goes on with its study: what runs and measures were added after it was taken, it shows."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import engine as sf
from engine.scripting.candidate import Candidate
from tests.engine.scripting.people import KEY, SPACE, people
from tests.households import CENSUS_PLAN, census_files

pytestmark = pytest.mark.slow


@pytest.fixture
def swaps():
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        yield made


def test_a_candidate_shows_the_measures_that_were_added_after_it_was_taken(swaps):
    taken = swaps[0]
    swaps.add_measures(people(), ["entropy_change"])
    assert taken.figures.equals(swaps[0].figures) and "entropy_change" in taken.figures.index
    assert taken.runs.equals(swaps[0].runs) and "entropy_change" in taken.runs.columns


def test_a_candidate_shows_the_means_over_the_runs_that_were_added_after_it_was_taken(swaps):
    taken = swaps.choose(max_risk=1)
    before = taken.figures
    swaps.extend(people(), replicates=24, rates=[0.1])
    assert taken.figures.equals(swaps[taken.id].figures)
    assert not taken.figures["mean"].equals(before["mean"])
    assert taken.figures["released"].equals(before["released"])


def test_a_candidate_that_a_bound_chose_releases_a_run_within_it_and_says_how_many_are():
    space: dict[str, Any] = {
        "swap_sizes": [1, 2],
        "rates": [0.1],
        "replicates": 12,
        "measures": ["small_cells", "hellinger"],
    }
    with sf.sweep(sf.load("czech"), key=KEY, **space) as swaps:
        taken = swaps.choose(max_risk=0.002)
        runs, figures = taken.runs["small_cells"], taken.figures.loc["small_cells"]
        assert taken.bound == 0.002
        assert taken.replicate == runs[(runs <= 0.002) & (runs < figures["original"])].index[0]
        assert figures["released"] == runs[taken.replicate] <= 0.002
        within = taken.runs_within
        assert within is not None and (within.within, within.runs) == ((runs <= 0.002).sum(), 12)
        assert within.low < within.within / 12 <= within.high
        assert repr(taken).endswith(f"; {within.within} of 12 runs within 0.002>")
        assert swaps[taken.id].runs_within is None and swaps[taken.id].bound is None
        first_above = [c.id for c in swaps if c.runs["small_cells"].iloc[0] > 0.002 >= c.runs["small_cells"].min()]
        named = Candidate(swaps.study, swaps[first_above[0]]._index, swaps[0]._current_view, 0.002)
        assert named.replicate > 1 and float(named.figures["released"].iloc[0]) <= 0.002


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
