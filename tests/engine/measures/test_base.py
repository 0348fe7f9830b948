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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("detection_auc[model=twoway]", "model == 'twoway', must be two_way, main or level. Did you mean 'two_way'?"),
        ("detection_precision[top=0]", "detection_precision: top == 0, must be above 0 and at most 1"),
        ("detection_precision[top=x]", "detection_precision: top"),
        ("small_cells_recognised[n_rule=1]", "small_cells_recognised: n_rule == 1, must be at least 2"),
        ("altered_share_max[least=0]", "altered_share_max: least == 0, must be at least 1"),
        ("du_llm[mode=refited]", "mode == 'refited', must be fixed, refit or refit_full. Did you mean 'refit'"),
        ("du_llm[zero=smoth]", "zero == 'smoth', must be smooth or error. Did you mean 'smooth'?"),
        ("du_llm[model=[AB][C]", "cannot read the model '[AB][C'"),
        ("du_llm[model=A*B+]", "the model 'A*B+' has an empty term"),
        ("l_diversity[l=1]", "l_diversity: l == 1, must be at least 2"),
        ("l_diversity[diversity=entropie]", "must be distinct or entropy. Did you mean 'entropy'?"),
        ("t_closeness[distance=order]", "must be equal or ordered. Did you mean 'ordered'?"),
        ("correct_attribution[target=A;unmatched=drop]", "unmatched == 'drop', must be zero or skip"),
        ("k_anonymity[k=1]", "k == 1, must be at least 2"),
        ("population_uniques[fraction=0]", "fraction == '0', must be above 0 and at most 1"),
        ("population_uniques[fraction=1.5]", "fraction == '1.5'"),
        ("expected_matches[fraction=1/0]", "fraction == '1/0'"),
        ("expected_matches[fraction=weight]", "fraction == 'weight'"),
        ("population_uniques[model=two-way]", "model == 'two-way', must be main or two_way. Did you mean 'two_way'?"),
        ("r1[s=0]", "s == 0, must be at least 1."),
        ("r1_share[rule=less]", "rule == 'less', must be le or lt."),
        (
            "p1[denominator=nonemty]",
            "denominator == 'nonemty', must be sensitive or nonempty. Did you mean 'nonempty'?",
        ),
        ("r2[s=-1]", "s == -1, must be at least 1."),
        ("p2[rule=gt]", "rule == 'gt', must be le or lt."),
        ("small_cells_unswapped[n_rule=1]", "n_rule == 1, must be at least 2"),
        ("small_cells_subset[size=0]", "small_cells_subset: size == 0, must be at least 1"),
        ("exposed_households[k=0]", "must be at least 1"),
        ("risky_left[k=0]", "must be at least 1"),
        ("area_change[least=0]", "must be at least 1"),
        ("hellinger_large[n_rule=1]", "hellinger_large: n_rule == 1, must be at least 2"),
        ("small_cells[n_rule=1]", "n_rule == 1, must be at least 2"),
        ("hellinger_two_way[summary=median]", "summary == 'median', must be mean or max."),
        ("contingency_change[summary=median]", "summary == 'median'"),
        ("ci_overlap[df=rieter]", "df == 'rieter', must be reiter or printed. Did you mean 'reiter' or 'printed'?"),
        ("coefficient_shift[summary=median]", "summary == 'median', must be mean or max."),
        ("sign_changes[significant=2]", "significant == 2, must be 0 or 1."),
        ("mean_shift[weighted=2]", "weighted == 2, must be 0 or 1."),
        ("correlation_change[summary=least]", "summary == 'least', must be mean or max."),
        ("pmse[interactions=2]", "interactions == 2, must be 0"),
        ("pmse_tree[leaf=0]", "leaf == 0, must be at least 1"),
    ],
)
def test_a_call_that_cannot_be_is_refused_at_once(text, message):
    with pytest.raises(UsageError) as refused:
        call(text)
    assert message in str(refused.value)
