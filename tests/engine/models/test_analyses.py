"""Declared analyses on releases, beside statsmodels on the same records.

Reiter's rules: the examples of Little and Liu's appendix, a literal twin, and what is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.models.analyses import combine, compare, fit, ready
from engine.models.record_release import RecordRelease
from engine.models.regression import ALIASED, OK, SEPARATED
from engine.plan import AnalysisPlan
from engine.release.records import ReleasedTable
from tests.examples import examples
from tests.record_releases import released
from tests.small_tables import Small
from tests.titanic import FARES, REG1, REG2, SIBLINGS, frame, passengers, swapped
from tests.twins.reanalysis import fitted, reiter


@pytest.mark.parametrize("analysis", [REG1, FARES, SIBLINGS], ids=lambda analysis: analysis.name)
def test_estimates_are_statsmodels(analysis: AnalysisPlan) -> None:
    release = swapped(passengers(), analysis)
    made = ready(analysis, release.original, release.plan)
    compared = compare(release, analysis)
    formula = analysis.formula.replace("log", "np.log")
    for table, estimate, half in (
        (release.original, compared.before.estimate, compared.half),
        (release.tables[0], compared.after, compared.half_after),
    ):
        want = fitted(formula, analysis.family, frame(table))
        assert list(made.names) == list(want)
        np.testing.assert_allclose(estimate, [b for b, _, _ in want.values()], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(half, [(high - low) / 2 for _, low, high in want.values()], rtol=1e-6)


@pytest.mark.slow
def test_strata_are_fitted_apart() -> None:
    release = swapped(passengers(), REG2)
    compared = compare(release, REG2)
    records = frame(release.tables[0])
    want, names = [], []
    for (pclass, sex), part in records.groupby(["Pclass", "Sex"], observed=True):
        for name, (estimate, _, _) in fitted("Survived ~ Age + Fare", "logistic", part).items():
            want.append(estimate)
            names.append(f"Pclass={pclass}, Sex={sex}: {name}")
    assert list(compared.ready.names) == names
    np.testing.assert_allclose(compared.after, want, rtol=1e-5, atol=1e-8)


def test_several_tables_are_combined_by_reiters_rules() -> None:
    release = swapped(passengers(), FARES, tables=4)
    compared = compare(release, FARES)
    made = ready(FARES, release.original, release.plan)
    fits = [fit(made, table, release.original) for table in release.tables]
    want = combine(np.array([f.estimate for f in fits]), np.array([f.se**2 for f in fits]), 707.0)
    np.testing.assert_allclose(compared.after, want.estimate)
    np.testing.assert_allclose(compared.se_after**2, want.total)
    np.testing.assert_array_equal(compared.gamma, want.gamma)
    printed = compare(release, FARES, "printed")
    np.testing.assert_array_equal(printed.se_after, compared.se_after)


def test_a_stratum_that_nothing_touched_keeps_its_bits() -> None:
    data = passengers()
    first = np.flatnonzero((data.codes[1] == 0) & (data.codes[2] == 0))[:2]
    second = np.flatnonzero((data.codes[1] == 1) & (data.codes[2] == 0))[:2]
    source = np.arange(data.n_records)
    source[first], source[second] = second, first
    release = swapped(data, REG2)
    release = RecordRelease(release.original, [ReleasedTable(data, source, (1, 2))], release.plan)
    compared = compare(release, REG2)
    same = compared.after == compared.before.estimate
    touched = [
        s for s, name in enumerate(compared.ready.strata) if name in ("Pclass=1, Sex=female", "Pclass=2, Sex=female")
    ]
    assert [s for s in range(6) if not same[3 * s : 3 * s + 3].all()] == touched


GROUPS = Small(tuple((i % 2, (i // 2) % 3, (i * i // 3) % 2) for i in range(60)), (2, 3, 2))


def test_a_level_that_vanished_is_not_estimable_and_said_so() -> None:
    analysis = AnalysisPlan("r", "A == 'v1' ~ B + C")
    gone = [(a, 0 if b == 2 else b, c) for a, b, c in GROUPS.records]
    compared = compare(released(GROUPS, [gone], analyses=(analysis,)), analysis)
    assert compared.ready.names == ("Intercept", "B[T.v1]", "B[T.v2]", "C[T.v1]")
    assert compared.usable.all() and compared.why.tolist() == [OK, OK, ALIASED, OK]
    assert np.isnan(compared.after).tolist() == [False, False, True, False]


def test_separation_in_a_release_is_said_for_its_coefficient() -> None:
    analysis = AnalysisPlan("r", "A ~ B", "logistic")
    apart = [(1 if b == 2 else a, b, c) for a, b, c in GROUPS.records]
    compared = compare(released(GROUPS, [apart], analyses=(analysis,)), analysis)
    assert compared.why.tolist() == [OK, OK, SEPARATED]
    # lost in one of two tables is lost for both together
    both = compare(released(GROUPS, [GROUPS.records, apart], analyses=(analysis,)), analysis)
    assert np.isnan(both.after).tolist() == [False, False, True]


def test_weighted_analyses_use_the_plans_weight() -> None:
    import statsmodels.api as sm

    weights = [1.0 + (i % 5) for i in range(60)]
    analysis = AnalysisPlan("r", "A == 'v1' ~ B", weighted=True)
    compared = compare(released(GROUPS, [GROUPS.records], weights, analyses=(analysis,)), analysis)
    columns = GROUPS.columns
    x = np.column_stack([np.ones(60), columns[1] == 1, columns[1] == 2]).astype(float)
    want = sm.WLS((columns[0] == 1).astype(float), x, weights=weights).fit(cov_type="HC0")
    np.testing.assert_allclose(compared.before.estimate, want.params, atol=1e-12)
    np.testing.assert_allclose(compared.before.se, want.bse * np.sqrt(60 / 59))
    np.testing.assert_array_equal(compared.after, compared.before.estimate)


@pytest.mark.slow
@given(st.randoms(use_true_random=True), st.integers(0, 99))
@examples(10)
def test_records_may_come_in_any_order(random, seed: int) -> None:
    analysis = AnalysisPlan("r", "A ~ B * C", "logistic", weighted=True)
    numbers = np.random.default_rng(seed)
    records = [tuple(row) for row in numbers.integers(0, 2, (50, 3)).tolist()]
    after = [tuple(row) for row in numbers.integers(0, 2, (50, 3)).tolist()]
    weights = numbers.uniform(1, 3, 50)
    order = list(range(50))
    random.shuffle(order)
    shape = (2, 2, 2)
    one = compare(released(Small(tuple(records), shape), [after], list(weights), analyses=(analysis,)), analysis)
    moved = Small(tuple(records[i] for i in order), shape)
    other = compare(
        released(moved, [[after[i] for i in order]], [weights[i] for i in order], analyses=(analysis,)), analysis
    )
    np.testing.assert_allclose(other.after, one.after, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.half_after, one.half_after, rtol=1e-6)


def test_records_without_a_number_stay_out() -> None:
    release = swapped(passengers(), REG1)
    assert len(ready(REG1, release.original, release.plan).fit_input.y) == 714 == len(frame(release.original))


CLASS = AnalysisPlan("class", "Pclass ~ Sex + Fare", "ordered logit")
DECK = AnalysisPlan("deck", "Pclass ~ Sex + Age", "multinomial logit", ("Survived",))


@pytest.mark.slow
@pytest.mark.parametrize(
    "analysis",
    [
        CLASS,
        DECK,
        AnalysisPlan("p", "Survived ~ Pclass + Sex + Age", "probit"),
        AnalysisPlan("n", "SibSp ~ Sex + Pclass", "negative binomial"),
        AnalysisPlan("g", "Fare + 1 ~ Sex + Pclass", "gamma"),
        AnalysisPlan("q", "Fare ~ Sex + Age", "quantile", tau="0.9"),
    ],
    ids=lambda analysis: analysis.family,
)
def test_all_parameters_of_a_family_are_compared_and_combined(analysis: AnalysisPlan) -> None:
    release = swapped(passengers(), analysis, tables=3)
    compared = compare(release, analysis)
    made = compared.ready
    assert len(made.names) == len(set(made.names)) == len(compared.before.estimate)
    assert compared.usable.all() and np.isfinite(compared.after).all() and (compared.half_after > 0).all()
    fits = [fit(made, table, release.original) for table in release.tables]
    want = combine(np.array([f.estimate for f in fits]), np.array([f.se**2 for f in fits]), fits[0].df)
    np.testing.assert_allclose(compared.after, want.estimate)
    np.testing.assert_allclose(compared.se_after**2, want.total)
    same = RecordRelease(release.original, [ReleasedTable(release.data)], release.plan)
    np.testing.assert_array_equal(compare(same, analysis).after, compared.before.estimate)


@pytest.mark.slow
def test_the_parameters_of_levels_are_named_by_them() -> None:
    release = swapped(passengers(), CLASS, DECK)
    assert compare(release, CLASS).ready.names == ("Sex[T.male]", "Fare", "1|2", "2|3")
    names = compare(release, DECK).ready.names
    assert names[:4] == tuple(
        f"Survived=0: {name}" for name in ("2: Intercept", "2: Sex[T.male]", "2: Age", "3: Intercept")
    )
    assert len(names) == 12


@pytest.mark.parametrize("analysis", [REG1, FARES, SIBLINGS], ids=lambda analysis: analysis.name)
def test_figures_for_people_are_statsmodels_and_those_of_the_sweep_agree(analysis, monkeypatch) -> None:
    import engine.models.analyses as module

    release = swapped(passengers(), analysis)
    swept = compare(release, analysis)
    monkeypatch.setattr(module, "solve", lambda *_: pytest.fail("this figure is not statsmodels'"))
    shown = compare(release, analysis, reported=True)
    for part in ("after", "se_after", "half_after"):
        np.testing.assert_allclose(getattr(shown, part), getattr(swept, part), rtol=1e-6)
    np.testing.assert_allclose(shown.before.estimate, swept.before.estimate, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit() -> None:
    from threadpoolctl import threadpool_limits

    from tests.record_releases import figure

    names = ("ci_overlap", "coefficient_shift", "mean_shift[by=Sex]", "covariance_ratio", "pmse", "specks", "pmse_tree")
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            release = swapped(passengers(), REG1, FARES, pairs=200)
            found.append([figure(name, release) for name in names])
    assert found[0] == found[1]


# y and, in ten imputations, whether the record's key is 1 (Little and Liu, appendix III); everybody else is key 1
EXAMPLES = {
    1: (
        "-1.498256 1111011111 -1.703345 1111110111 -2.257808 1101110011 -.578633 1111111101 -1.979207 1111110111 "
        "-1.482834 0111111111 -.510513 0110111110",
        "2.196066 -.308010 2.473768 -.039146 .516418 -.392493 1.503878 .197190 -.481482 1.122731 -.337457 1.507346 "
        ".691961",
        (0.0140, 0.09471, 0.01015, 0.09572, 0.0106, 80074),
    ),
    2: (
        ".137912 1110100100 .165671 1001011110 1.720408 1111111111 .856713 1110101101 2.720610 1111111111 "
        "2.630290 1111111111 1.897888 1111111111",
        "3.124605 3.846479 3.553457 2.778747 4.479235 3.816940 4.125836 3.295777 3.503293 3.235821 2.967702 2.906859 "
        "3.023004",
        (2.8972, 0.06025, 0.01040, 0.06129, 0.0170, 31275),
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_appendix(example: int) -> None:
    moving, rest, wanted = EXAMPLES[example]
    words = moving.split()
    y = np.array([float(word) for word in words[::2]])
    keys = np.array([[sign == "1" for sign in word] for word in words[1::2]])
    others = np.array([float(word) for word in rest.split()])
    groups = [np.concatenate([y[keys[:, d]], others]) for d in range(10)]
    found = combine(
        np.array([[group.mean()] for group in groups]), np.array([[group.var(ddof=1) / len(group)] for group in groups])
    )
    for got, want, places in zip(
        (found.estimate, found.within, found.between, found.total, found.gamma), wanted, (4, 5, 5, 5, 4), strict=False
    ):
        assert round(float(got[0]), places) == want
    assert float(found.df[0]) == pytest.approx(wanted[5], abs=1)


numbers = st.floats(-100, 100).map(lambda x: round(x, 3))


@given(st.lists(st.tuples(numbers, st.floats(0.01, 50)), min_size=2, max_size=12))
def test_it_equals_the_rules_written_out(answers: list[tuple[float, float]]) -> None:
    q, v = ([answer[part] for answer in answers] for part in (0, 1))
    found = combine(np.array(q)[:, None], np.array(v)[:, None])
    mean, total, df, gamma = reiter(q, v)
    assert found.estimate[0] == pytest.approx(mean, abs=1e-9)
    assert found.total[0] == pytest.approx(total)
    assert found.gamma[0] == pytest.approx(gamma, abs=1e-12) and 0 <= found.gamma[0] < 1
    if gamma > 1e-9:
        assert found.df[0] == pytest.approx(df, rel=1e-6)


@given(st.lists(st.tuples(numbers, st.floats(0.01, 50)), min_size=2, max_size=6), numbers, st.floats(0.1, 10))
def test_shift_and_scale_carry_through(answers: list[tuple[float, float]], shift: float, scale: float) -> None:
    q = np.array([[a] for a, _ in answers])
    v = np.array([[b] for _, b in answers])
    one, other = combine(q, v), combine(q * scale + shift, v * scale**2)
    np.testing.assert_allclose(other.estimate, one.estimate * scale + shift, atol=1e-9)
    np.testing.assert_allclose(other.total, one.total * scale**2, rtol=1e-9)
    np.testing.assert_allclose(other.gamma, one.gamma, atol=1e-9)


def test_no_spread_between_releases_loses_nothing() -> None:
    found = combine(np.full((5, 1), 0.1), np.full((5, 1), 2.0))
    assert found.gamma[0] == 0 and np.isinf(found.df[0]) and found.total[0] == 2
    assert combine(np.full((5, 1), 0.1), np.full((5, 1), 2.0), complete_df=17).df[0] == 17


def test_one_release_says_nothing_of_the_loss() -> None:
    found = combine(np.array([[3.0]]), np.array([[2.0]]), complete_df=40)
    assert found.total[0] == 2 and np.isnan(found.gamma[0]) and found.df[0] == 40


def test_the_printed_degrees_of_freedom() -> None:
    q, v = np.array([[1.0], [2.0], [4.0]]), np.ones((3, 1))
    gamma = combine(q, v).gamma[0]
    assert combine(q, v).df[0] == pytest.approx(2 / gamma**2)
    assert combine(q, v, df="printed").df[0] == pytest.approx(2 * (1 + 1 / gamma) ** 2)


def test_what_cannot_be_combined_is_refused() -> None:
    with pytest.raises(EngineError, match="no variance in any release"):
        combine(np.ones((3, 1)), np.zeros((3, 1)))
    with pytest.raises(UsageError, match=r"df == 'print', must be reiter or printed\. Did you mean 'printed'\?"):
        combine(np.ones((3, 1)), np.ones((3, 1)), df="print")  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="must be of one shape"):
        combine(np.ones((3, 1)), np.ones((2, 1)))
