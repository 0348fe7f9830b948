"""A candidate goes on with its study: what runs and measures were added after it was taken, it shows."""

import pytest

import engine as sf
from tests.engine.scripting.people import KEY, SPACE, people


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
