"""What a measure says of itself, and measures that a script registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from engine.common.errors import EngineError, UsageError
from engine.measures import MEASURES, Measure, call, evaluate, register
from engine.release.batch import ReleaseBatch
from tests.small_tables import Small, release

SMALL = Small(((0, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 1)), (2, 2, 2))


def changed_cells(batch: ReleaseBatch, fewest: int = 1) -> np.ndarray:
    """Share of the occupied cells whose count changes by ``fewest`` or more.

    A second paragraph is for programmers.
    """
    return batch.total(np.abs(batch.after - batch.before) >= fewest) / len(batch.original)


@pytest.fixture
def registered() -> Iterator[Measure]:
    yield register(Measure.of(changed_cells, "utility"))
    MEASURES.unregister("changed_cells")


@pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
def test_a_share_names_what_it_is_a_share_of(measure):
    assert bool(measure.share_of) == measure.unit_kind.startswith("share")
    if measure.share_of:
        assert measure.unit == f"share of {measure.share_of}"
        assert measure.range == "0 to 1"


@pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
def test_what_a_measure_judges_jointly_is_measured_too(measure):
    assert set(measure.judges_jointly) <= set(MEASURES)


def test_a_registered_measure_is_called_like_any_other(registered):
    assert registered.meaning == "Share of the occupied cells whose count changes by ``fewest`` or more."
    batch = release(SMALL, "SUU", [(0, 1)])
    lists = {"keys": SMALL.names, "analyse": SMALL.names}
    figures = evaluate(call("changed_cells[fewest=2]"), batch, SMALL.domain, lists)
    assert figures.tolist() == changed_cells(batch, 2).tolist()
    assert evaluate(call("changed_cells"), batch, SMALL.domain, lists)[0] > 0


def test_of_a_registered_measure_the_board_sees_no_more_than_of_the_most_telling(registered):
    assert (registered.rounding, registered.follows_changes) == ("always", True)


def test_a_measure_without_a_meaning_is_refused():
    def silent(batch: ReleaseBatch) -> np.ndarray:
        return batch.changed

    with pytest.raises(UsageError, match="measure 'silent' has no meaning; give its function a docstring"):
        Measure.of(silent, "risk")


@pytest.mark.parametrize(
    ("field", "got", "answer"),
    [
        ("kind", "utilty", "must be risk or utility. Did you mean 'utility'?"),
        ("better", "smaller", "must be lower, higher or zero."),
        ("better", "highest", "must be lower, higher or zero. Did you mean 'higher'?"),
        ("over", "analyze", "must be keys, analyse or all. Did you mean 'analyse'?"),
        ("needs", "record", "must be counts or records. Did you mean 'records'?"),
        ("unit_kind", "shares", "must be count, share_of_records, share or other. Did you mean 'share'?"),
        ("rounding", "never", "must be exact, sparse, exposed or always."),
        ("rounding", None, "must be exact, sparse, exposed or always."),
    ],
)
def test_a_measure_whose_field_has_no_such_value_is_refused_when_it_is_made(field, got, answer):
    with pytest.raises(UsageError) as refused:
        Measure.of(changed_cells, **{"kind": "utility", field: got})
    assert str(refused.value) == f"measure 'changed_cells': {field} == {got!r}, {answer}"
    with pytest.raises(UsageError, match=f"{field} == {got!r}"):
        replace(MEASURES["small_cells"], **{field: got})


def test_a_measure_that_gives_no_figure_per_candidate_is_refused(registered):
    def total(batch: ReleaseBatch) -> float:
        """One figure for all candidates."""
        return float(batch.changed.sum())

    register(Measure.of(total, "utility", name="changed_cells"))
    batch = release(SMALL, "SUU", [(0, 1)])
    with pytest.raises(EngineError, match=r"changed_cells gave an array of shape \(\), must give one figure for each"):
        evaluate(call("changed_cells"), batch, SMALL.domain, {"keys": SMALL.names, "analyse": SMALL.names})
