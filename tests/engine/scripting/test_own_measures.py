"""Measures of a script that fail: the reason is told, and a bug is an error that names the measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine as sf
from engine.measures import MEASURES, Figure
from engine.models.record_release import RecordRelease
from engine.study.lease import WriterTask
from tests.engine.scripting.people import KEY, SPACE, people

TWO: dict[str, Any] = {**SPACE, "swap_sizes": [1], "replicates": 2}


@pytest.fixture
def measured(request) -> Callable[..., sf.Sweep]:
    """Sweeps some people with an own measure on records that comes to what a function says."""
    request.addfinalizer(lambda: MEASURES.unregister("own"))

    def sweep(figure: Callable[[RecordRelease], Any]) -> sf.Sweep:
        def own(release: RecordRelease, attributes: tuple[int, ...]) -> Any:
            """A measure of a script."""
            return figure(release)

        sf.register_measure(sf.Measure.of(own, "risk", needs="records"))
        return sf.sweep(people(), ["age", "sex", "race"], key=KEY, **{**TWO, "measures": ["own", "hellinger"]})

    return sweep


@pytest.mark.slow
@pytest.mark.parametrize(
    "error", [ValueError("no pairs"), ZeroDivisionError("no pairs"), np.linalg.LinAlgError("no pairs")]
)
def test_a_figure_that_cannot_be_formed_is_warned_of_with_its_reason(measured, error):
    def figure(release: RecordRelease) -> Figure:
        if release.tables[0].swapped == {0}:
            raise error
        return Figure(1.0)

    with pytest.warns(
        sf.UndefinedFigureWarning, match="measure 'own' is undefined in 4 of 12 runs, first in .*/1: no pairs"
    ) as told:
        swaps = measured(figure)
    assert told[0].filename == __file__  # where the script asked
    assert int(swaps.to_frame(runs=True)["own"].isna().sum()) == 4


@pytest.mark.parametrize("rule", [{"max_risk": 1}, {"slope": 1}], ids=str)
def test_none_is_chosen_by_a_measure_without_figures(measured, rule):
    with pytest.warns(sf.UndefinedFigureWarning, match="measure 'own' is undefined in 12 of 12 runs"):
        swaps = measured(lambda release: Figure(float("nan"), "nothing to compare"))
    with pytest.raises(sf.UsageError, match=r"no candidate has figures of 'own' in all .*: nothing to compare"):
        swaps.choose(**rule)


@pytest.mark.parametrize("error", [KeyError("pay"), TypeError("pay"), IndexError("pay"), AttributeError("pay")])
def test_a_bug_is_an_error_that_names_the_measure(measured, error):
    def figure(release: RecordRelease) -> Figure:
        raise error

    with pytest.raises(sf.EngineError, match=f"measure 'own' failed: {type(error).__name__}: .*pay") as failed:
        measured(figure)
    assert failed.value.__cause__ is error


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "returned None, must return a Figure"),
        (0.5, "returned 0.5, must return a Figure"),
        ("high", "returned 'high', must return a Figure"),
        (np.zeros(3), r"returned an array of float64, shape \(3,\), must return a Figure"),
        (Figure("high"), "returned 'high' with '', must return a Figure of a number and a text"),  # type: ignore[arg-type]
        (Figure(0.5, None), "returned 0.5 with None, must return a Figure of a number and a text"),  # type: ignore[arg-type]
        (Figure(float("inf")), "returned infinity; return Figure"),
    ],
)
def test_what_is_no_figure_is_named(measured, returned, sentence):
    with pytest.raises(sf.EngineError, match=f"measure 'own' {sentence}"):
        measured(lambda release: returned)


def test_a_study_is_complete_where_its_runs_are_whatever_became_of_a_later_start():
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **TWO) as swaps:
        assert swaps.is_complete
        swaps.study.acquire_lease(task=WriterTask.SWEEP)
        swaps.study.lease.release("failed", "the machine was switched off")
        assert swaps.is_complete
