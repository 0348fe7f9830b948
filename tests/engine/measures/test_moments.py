"""Moments of numeric columns beside pandas, by stratum, with weights, with numbers missing."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.measures import MEASURES
from engine.measures import moments as module
from engine.measures.moments import moments
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from tests.examples import examples
from tests.frames import frame_of
from tests.record_releases import figure, released
from tests.small_tables import Small
from tests.titanic import passengers, plan
from tests.twins import moments as twin

NAMES = ("mean_shift", "covariance_ratio", "correlation_change")
NUMBERS = ("Age", "SibSp", "Fare")


def release(
    pairs: int, swapped: tuple[int, ...] = (1, 2), noise: bool = False, seed: int = 1, **data: Any
) -> RecordRelease:
    """The Titanic with some pairs exchanging attributes, or with noise on the fares."""
    records = passengers()
    random = np.random.default_rng(seed)
    source = np.arange(records.n_records)
    drawn = random.permutation(records.n_records)[: 2 * pairs].reshape(-1, 2)
    source[drawn[:, 0]], source[drawn[:, 1]] = drawn[:, 1], drawn[:, 0]
    original = ReleasedTable(records)
    numbers = {"Fare": original.numeric("Fare") + random.normal(size=records.n_records)} if noise else None
    table = ReleasedTable(records, source, swapped, numbers=numbers)
    return RecordRelease(original, [table], plan(numeric=NUMBERS, **data))


def frames(made: RecordRelease, by: tuple[str, ...]) -> tuple[pd.DataFrame, twin.Frames]:
    before, after = (frame_of(table, [*NUMBERS, "Pclass", "Sex"]) for table in (made.original, made.tables[0]))
    if not by:
        return before[list(NUMBERS)], [(before[list(NUMBERS)], after[list(NUMBERS)])]
    strata = []
    for cell in before[list(by)].drop_duplicates().to_dict("records"):
        old, new = before, after
        for name, level in cell.items():
            old, new = old[old[name] == level], new[new[name] == level]
        strata.append((old[list(NUMBERS)], new[list(NUMBERS)]))
    return before[list(NUMBERS)], strata


@pytest.mark.parametrize("by", [(), ("Sex",), ("Pclass", "Sex")])
def test_the_figures_are_those_of_pandas(by: tuple[str, ...]) -> None:
    made = release(80, noise=not by)
    before, strata = frames(made, by)
    asked = "by=" + ("+".join(by) or "none")
    assert figure(f"mean_shift[{asked}]", made).value == pytest.approx(twin.mean_shift(before, strata))
    ratio, turned = twin.covariance_ratio(strata)
    found = figure(f"covariance_ratio[{asked}]", made)
    assert found.value == pytest.approx(ratio)
    assert (f"{turned} of" in found.note) == (turned > 0)
    changes = twin.correlation_change(strata)
    assert figure(f"correlation_change[{asked}]", made).value == pytest.approx(sum(changes) / len(changes))
    assert figure(f"correlation_change[{asked};summary=max]", made).value == pytest.approx(max(changes))


def test_the_worst_is_named() -> None:
    made = release(120)
    assert figure("mean_shift", made).note == "", "numbers stay with their record, so nothing moves overall"
    assert " in Pclass=" in figure("mean_shift[by=Pclass+Sex]", made).note
    assert figure("covariance_ratio[by=Sex]", made).note.endswith("times the original")
    assert " from " in figure("correlation_change[by=Sex]", made).note


def test_a_figure_is_the_mean_over_tables_and_the_note_the_worst_one() -> None:
    few, many = release(20), release(300)
    both = RecordRelease(few.original, [few.tables[0], many.tables[0]], few.plan)
    for name in NAMES:
        asked = f"{name}[by=Sex]"
        values = [figure(asked, made).value for made in (few, many)]
        assert figure(asked, both).value == pytest.approx(sum(values) / 2)
        assert figure(asked, both).note == figure(asked, many).note


@given(st.integers(0, 999), st.booleans())
@examples(30)
def test_moments_are_those_of_numpy(seed: int, weighted: bool) -> None:
    random = np.random.default_rng(seed)
    values = random.normal(size=(20, 3)) * [1, 1000, 1e-3] + [0, 1e6, 5]
    weights = random.integers(1, 5, 20).astype(float)
    means, covariances = moments(values, weights if weighted else None)
    repeated = np.repeat(values, weights.astype(int), axis=0) if weighted else values
    factor = (len(repeated) - 1) / len(repeated) * 20 / 19
    np.testing.assert_allclose(means, repeated.mean(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(covariances, np.cov(repeated.T) * factor, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(moments(values, weights * 7)[1], moments(values, weights)[1], rtol=1e-9, atol=1e-15)
    holes = np.where(random.random((20, 3)) < 0.2, np.nan, values)
    means, covariances = moments(holes)
    frame = pd.DataFrame(holes)
    np.testing.assert_allclose(means, frame.mean(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(covariances, frame.cov(), rtol=1e-6, atol=1e-9)


def test_a_column_of_one_value_has_no_variance_and_no_correlation() -> None:
    values = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    assert moments(values)[1][0, 0] == 0 == moments(values, np.arange(1.0, 8))[1][0, 0]
    assert np.isnan(moments(values[:1])[1]).all() and moments(values[:1])[0][1] == 0
    assert np.isnan(moments(values[:0])[0]).all()


def test_weights_count() -> None:
    made = release(100, weight="Parch", carry=("Age", "SibSp", "Fare"))
    records = made.data
    from dataclasses import replace

    data = replace(records, weight="Parch", carried=("Age", "SibSp", "Fare"))
    table = ReleasedTable(data, made.tables[0].source, (1, 2))
    weighted = RecordRelease(ReleasedTable(data), [table], made.plan)
    original = weighted.original
    w, fare, women = original.numeric("Parch"), original.numeric("Fare"), [t.codes(2) == 0 for t in (original, table)]
    wanted = abs(np.average(fare[women[1]], weights=w[women[1]]) - np.average(fare[women[0]], weights=w[women[0]]))
    only = RecordRelease(original, [table], plan(numeric=("Fare",), weight="Parch", carry=("Age", "SibSp", "Fare")))
    men = abs(np.average(fare[~women[1]], weights=w[~women[1]]) - np.average(fare[~women[0]], weights=w[~women[0]]))
    used = w > 0
    spread = np.sqrt(np.cov(fare[used], aweights=w[used], ddof=0) * used.sum() / (used.sum() - 1))
    found = figure("mean_shift[by=Sex;weighted=1]", only).value
    assert found == pytest.approx((wanted + men) / 2 / spread, rel=1e-2)
    assert found != figure("mean_shift[by=Sex]", only).value


def test_what_is_undefined_is_nan_with_a_reason() -> None:
    small = Small(((0, 0), (1, 1), (0, 1)), (2, 2))
    for name in NAMES:
        found = figure(name, released(small, [small.records]))
        assert math.isnan(found.value) and found.note.startswith("the plan names no numeric columns")
    single = release(50)
    alone = RecordRelease(single.original, single.tables, plan(numeric=("Fare",)))
    found = figure("correlation_change", alone)
    assert math.isnan(found.value) and "only one numeric column" in found.note


def test_wrong_requests_are_refused() -> None:
    made = release(10)
    with pytest.raises(UsageError, match="weighted == 1, but the plan declares no weight"):
        figure("mean_shift[weighted=1]", made)
    with pytest.raises(UsageError, match=r"unknown attribute 'Sx'\. Did you mean 'Sex'"):
        figure("mean_shift[by=Sx]", made)
    assert all(MEASURES[name].better == "lower" for name in NAMES)


def test_records_of_weight_zero_count_for_nothing_and_none_is_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {"x": [1.0, 2.0, 3.0, 100.0], "w": [1.0, 1.0, 2.0, 0.0]}
    monkeypatch.setattr(module, "numbers_of", lambda _, __, name, ___: np.array(numbers[name]))
    made: Any = SimpleNamespace(data=SimpleNamespace(weight="w"), plan=None, original=None)
    setting = module._Setting(("x",), (), np.zeros(1, np.int64), [""], True)
    assert module._formed(made, made.original, setting).means.tolist() == [[9 / 4]]
    numbers["w"][3] = -1.0
    with pytest.raises(EngineError, match="weight 'w' is negative in 1 records"):
        module._formed(made, made.original, setting)
