"""A sweep is a sequence of candidates, shows itself in a notebook, and says what it cannot do."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Sequence

import numpy as np
import pytest

import engine as sf
from frontier_app.charts.map_data import DRAWN
from tests.engine.scripting.people import KEY, SPACE, people


def test_a_sweep_is_a_sequence(swaps):
    assert issubclass(sf.Sweep, Sequence)
    listed = list(swaps)
    assert swaps[2:5] == listed[2:5] and swaps[::-1] == listed[::-1] and list(reversed(swaps)) == listed[::-1]
    assert swaps[-1] == listed[-1] and swaps[np.int64(1)] == listed[1] and swaps[listed[3].id] == listed[3]
    assert listed[3] in swaps and listed[3].id in swaps and "x0000" not in swaps and 5 not in swaps
    assert swaps.index(listed[3]) == 3 and swaps.count(listed[3]) == 1
    assert len({*swaps, *swaps}) == len(swaps)


def test_an_index_that_there_is_not_is_named(swaps):
    with pytest.raises(IndexError, match="the sweep has 12 candidates, none with the index 99"):
        swaps[99]
    with pytest.raises(sf.UsageError, match="a candidate is of type float, must be an id"):
        swaps[0.5]


def test_candidates_of_another_sweep_are_others(swaps):
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as other:
        assert other[0].id == swaps[0].id and other[0] != swaps[0] and other[0] not in swaps


def test_a_choice_under_a_bound_says_how_many_runs_are_missing():
    """At five runs none is told to meet it, whatever their mean."""
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, max_risk=1, **{**SPACE, "replicates": 5}) as few:
        for choose in (few.choose, lambda: few.choose(max_risk=1)):
            with pytest.raises(sf.UsageError, match=r"that takes 10, and .* has 5, 5 too few"):
                choose()


@pytest.mark.slow
def test_a_choice_under_a_bound_is_not_one_whose_mean_alone_meets_it():
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **{**SPACE, "replicates": 20}) as enough:
        means = enough.to_frame()["small_cells"]
        runs = enough.to_frame(runs=True).groupby("candidate")["small_cells"]
        bound = float(means.median())
        picked = enough.choose(max_risk=bound)
        assert (runs.get_group(picked.id) <= bound).mean() >= 0.9
        assert any((runs.get_group(label) <= bound).mean() < 0.9 for label in means.index[means <= bound])


@pytest.mark.parametrize("make", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_sweep_that_is_pickled_says_how_it_is_kept(swaps, make):
    with pytest.raises(sf.UsageError, match="cannot be pickled or copied; save it to a file and open that"):
        make(swaps)
    with pytest.raises(sf.UsageError, match="cannot be pickled or copied; save its sweep"):
        make(swaps[0])


def test_a_closed_sweep_says_so(swaps):
    other = sf.sweep(people(), ["age", "sex"], **SPACE)
    candidate = other[0]
    other.close()
    assert repr(other) == "<Sweep, closed: study in memory>" and "closed" in repr(candidate)
    assert "closed" in other._repr_html_() and candidate.id in candidate._repr_html_()
    with pytest.raises(sf.EngineError, match="study 'in memory' is closed"):
        other.frontier()


def test_a_notebook_shows_the_frontier_and_a_candidates_figures(swaps):
    (drawn,) = swaps._repr_mimebundle_().values()
    assert {*drawn} >= {"data", "layout"} and drawn == json.loads(swaps.plot().to_json())
    assert "12 candidates" in swaps._repr_html_() and swaps._repr_html_().count("<tr") == 2 + len(swaps.frontier())
    html = swaps[0]._repr_html_()
    assert swaps[0].id in html and "small_cells" in html and "released" in html


def test_without_a_measure_of_utility_there_is_no_frontier_to_show():
    with sf.sweep(people(), ["age", "sex"], **{**SPACE, "measures": ["small_cells"]}) as risky:
        assert risky._repr_html_().startswith("<p>&lt;Sweep of 120 records")
        assert risky._repr_mimebundle_() == {}, "without a risk and a utility there is no map"
        assert repr(risky[0]) == f"<Candidate {risky[0].id}: age:S at 5 %>"


def test_runs_name_their_candidate(swaps):
    runs = swaps.to_frame(runs=True)
    assert runs.index.name == "run"
    assert (runs["candidate"] + "/" + runs["replicate"].astype(str) == runs.index).all()
    assert runs.groupby("candidate")["replicate"].count().to_dict() == {c.id: 12 for c in swaps}


def test_how_much_of_the_true_frontier_was_found(swaps):
    assert 0 < swaps.recall() <= 1
    assert swaps.recall() == swaps.recall()


@pytest.mark.parametrize("part", [slice("a", "b"), slice(None, None, 0), slice(0.5, None), slice(None, None, "x")])
def test_a_slice_of_other_than_whole_numbers_is_refused(swaps, part):
    with pytest.raises(sf.UsageError, match="slice"):
        swaps[part]


def test_a_slice_takes_whole_numbers_of_any_library(swaps):
    assert [c.id for c in swaps[np.int64(2) :: -1]] == [c.id for c in list(swaps)[2::-1]]


def test_a_map_shows_every_candidate_and_what_a_bound_picks(swaps):
    bound = float(swaps.original["small_cells"])
    figure = swaps.plot(max_risk=bound)
    assert figure.layout.paper_bgcolor == "white"
    assert sum(len(trace.x) for trace in figure.data if trace.customdata is not None) >= len(swaps)
    assert any("limit " in note.text for note in figure.layout.annotations)


@pytest.mark.parametrize("drawn", [one for one in DRAWN if one != "measures"])
def test_every_figure_is_drawn(swaps, drawn):
    assert len(swaps.plot(drawn=drawn).data)


def test_unknown_figures_are_refused(swaps):
    with pytest.raises(sf.UsageError, match="drawn is 'maps', must be one of map, "):
        swaps.plot(drawn="maps")
    with pytest.raises(sf.UsageError, match=r"colour is 'swaps agee'.* Did you mean 'swaps age'"):
        swaps.plot(colour="swaps agee")
