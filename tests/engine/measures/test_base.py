"""What a measure says of itself, and measures that a script registers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

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
        ("unit_kind", None, "must be count, share_of_records, share or other."),
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
    with pytest.raises(EngineError, match=r"measure 'changed_cells' returned 2.0, must return one figure for each"):
        evaluate(call("changed_cells"), batch, SMALL.domain, {"keys": SMALL.names, "analyse": SMALL.names})


LISTS = {"keys": SMALL.names, "analyse": SMALL.names}


@pytest.mark.parametrize(
    ("returned", "shown"),
    [
        (None, "None"),
        ("0.5", "'0.5'"),
        (np.array(["0.5"]), "an array of <U3, shape (1,)"),
        (np.zeros((1, 2)), "an array of float64, shape (1, 2)"),
        ([[1], [1, 2]], "an object of type list"),
        (np.array([np.inf]), "infinity for a candidate"),
        ([None], "an object of type list"),
    ],
)
def test_what_is_no_figure_per_candidate_is_named(registered, returned, shown):
    def wrong(batch: ReleaseBatch) -> Any:
        """Returned by mistake."""
        return returned

    register(Measure.of(wrong, "utility", name="changed_cells"))
    with pytest.raises(EngineError, match=re.escape(f"measure 'changed_cells' returned {shown}, must return one")):
        evaluate(call("changed_cells"), release(SMALL, "SUU", [(0, 1)]), SMALL.domain, LISTS)


def test_an_error_in_a_function_of_a_script_names_the_measure(registered):
    def failing(batch: ReleaseBatch) -> np.ndarray:
        """Has a bug."""
        raise KeyError("pay")

    register(Measure.of(failing, "utility", name="changed_cells"))
    with pytest.raises(EngineError, match="measure 'changed_cells' failed: KeyError: 'pay'") as failed:
        evaluate(call("changed_cells"), release(SMALL, "SUU", [(0, 1)]), SMALL.domain, LISTS)
    assert isinstance(failed.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"compute": 5}, "compute is of type int, must be a function"),
        ({"title": 5}, "title is of type int, must be a text"),
        ({"named": "yes"}, "named is of type str, must be True or False"),
        ({"parameters": ["n"]}, "parameters is of type list, must be a mapping"),
        ({"parameters": {"n": 0.5}}, "parameter n has the default 0.5, must be a whole number or a text"),
    ],
)
def test_a_field_of_another_type_is_refused(fields, sentence):
    with pytest.raises(UsageError, match=f"measure 'small_cells': {sentence}"):
        replace(MEASURES["small_cells"], **fields)


def test_what_is_no_measure_cannot_be_registered():
    function: Any = changed_cells
    with pytest.raises(UsageError, match="a measure to register is of type function, must be a Measure"):
        register(function)
    number: Any = 5
    with pytest.raises(UsageError, match=r"Measure\.of needs a function first, got an object of type int"):
        Measure.of(number, "risk")
    with pytest.raises(UsageError, match=r"a measure has no field 'units'. Did you mean 'unit'"):
        Measure.of(changed_cells, "risk", units="share")
    with pytest.raises(UsageError, match="measure 'dict': the parameters of its function cannot be read"):
        Measure.of(dict, "risk")
