"""Log-linear models: formulas, decomposability, fits and search, beside literal twins and an independent library."""

from __future__ import annotations

import math
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.models.loglinear import MOST_CYCLES, TIE, Counts, FitWarning, Model, fit, parse, search
from engine.plan.coding import code
from engine.plan.samples import load
from tests.examples import examples
from tests.fit_statistics import deviance, score
from tests.small_tables import Small, smalls
from tests.twins import loglinear as twin


def counts_of(small: Small) -> Counts:
    table, _ = small.coded()
    return Counts(table.cells, table.counts, small.shape)


def czech() -> Counts:
    table = code(*load("czech")).table
    return Counts(table.cells, table.counts, table.domain.shape)


def literal(small: Small) -> dict[tuple[int, ...], int]:
    return twin.full_table(small.records, range(len(small.shape)), small.shape)


@st.composite
def models(draw, d: int) -> Model:
    """A hierarchical model in which every attribute occurs."""
    sets = draw(st.lists(st.sets(st.integers(0, d - 1), min_size=1, max_size=4), max_size=5))
    return Model.of([*sets, *((j,) for j in range(d))])


# -- formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names", "shown"),
    [
        ("[ABCE][ADE][BF]", "ABCDEF", "[ABCE][ADE][BF]"),
        (" [FB] [EDA][C]", "ABCDEF", "[ADE][BF][C]"),
        ("[A,B][C]", "ABC", "[AB][C]"),
        ("AB+C", "ABC", "[AB][C]"),
        ("[AB][A][B][CB]", "ABC", "[AB][BC]"),
        ("[Age,Sex][Race]", ("Race", "Age", "Sex"), "[Race][Age,Sex]"),
        ("[ Age * Sex ][Race]", ("Race", "Age", "Sex"), "[Race][Age,Sex]"),
        ("Age*Sex+Race", ("Race", "Age", "Sex"), "[Race][Age,Sex]"),
        ("[AB][A,B]", ("A", "B", "AB"), "[A,B][AB]"),  # a whole name comes before letters
        ("[Hours per week]", ("Hours per week",), "[Hours per week]"),
    ],
)
def test_a_formula_has_one_meaning(text, names, shown):
    model = parse(text, tuple(names))
    assert model.show(tuple(names)) == shown
    assert parse(shown, tuple(names)) == model


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        ("[Aeg,Sex]", ("Age", "Sex"), "unknown attribute 'Aeg'. Did you mean 'Age'?"),
        ("[AX][B]", ("A", "B"), "unknown attribute 'X'. Known: A, B."),
        ("[A]", ("A", "B"), "leaves out 'B'; add [B]"),
        ("[A][B", ("A", "B"), "cannot read the model '[A][B'"),
        ("[A]B", ("A", "B"), "cannot read the model '[A]B'"),
        ("[A][]", ("A", "B"), "has an empty term"),
        ("A+", ("A", "B"), "has an empty term"),
        ("", ("A", "B"), "has an empty term"),
    ],
)
def test_a_formula_that_means_nothing_is_refused(text, names, message):
    with pytest.raises(UsageError) as got:
        parse(text, names)
    assert message in str(got.value)


# -- decomposability and parameters ----------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.integers(1, 6).flatmap(lambda d: st.tuples(st.just(d), models(d))))
@examples(300)
def test_decomposable_is_graphical_and_chordal(case):
    d, model = case
    edges = {pair for one in model.generators for pair in combinations(one, 2)}
    graphical = sorted(twin.graphical(d, edges)) == sorted(model.generators)
    assert (model.separators is not None) == (graphical and twin.is_chordal(d, edges))
    if model.separators is not None:
        assert len(model.separators) == len(model.generators) - 1


@given(st.integers(1, 5).flatmap(lambda d: st.tuples(models(d), st.lists(st.integers(1, 5), min_size=d, max_size=d))))
def test_parameters_are_counted_over_all_interacting_sets(case):
    model, shape = case
    assert model.n_parameters(shape) == twin.n_parameters(model.generators, shape)


# -- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(smalls(), st.data())
@examples(80)
def test_a_fit_is_what_literal_proportional_fitting_gives(small, data):
    assume(math.prod(small.shape) <= 150)
    model = data.draw(models(len(small.shape)))
    counts, table = counts_of(small), literal(small)
    fitted = fit(counts, model, warn=False)
    expected, converged = twin.ipf(table, model.generators, 200)
    if not converged:
        return
    assert fitted.log_likelihood == pytest.approx(twin.log_likelihood(table, expected), rel=1e-7, abs=1e-7)
    columns = list(np.array(list(table)).T)
    np.testing.assert_allclose(
        np.exp(fitted.log_p(columns)), [value / len(small.records) for value in expected.values()], atol=1e-7
    )
    assert deviance(fitted, counts) >= -1e-9


@pytest.mark.parametrize(
    "text", ["[AC][ADE][BC][BE][F]", "[ABC][ACE][ADE][BF][DEF]", "[ABCE][ADE][BF]", "[AB][AC][BC][D][E][F]"]
)
@pytest.mark.slow  # for the import of statsmodels
def test_a_fit_is_that_of_a_poisson_regression(text):
    import statsmodels.api as sm

    counts = czech()
    model = parse(text, "ABCDEF")
    fitted = fit(counts, model)
    grid = np.indices(counts.shape).reshape(6, -1)
    observed = np.zeros(64)
    observed[np.ravel_multi_index(tuple(counts.cells.T), counts.shape)] = counts.counts
    design = np.column_stack([np.ones(64), *(np.prod(2.0 * grid[sorted(face)] - 1, axis=0) for face in model.faces)])
    other = sm.GLM(observed, design, family=sm.families.Poisson()).fit(tol=1e-12)
    np.testing.assert_allclose(np.exp(fitted.log_p(list(grid))) * 1841, other.fittedvalues, rtol=1e-5)
    assert deviance(fitted, counts) == pytest.approx(other.deviance, abs=1e-6)
    assert fitted.n_parameters == design.shape[1] - 1


def test_the_saturated_and_the_empty_model_have_known_likelihoods():
    counts = czech()
    saturated = fit(counts, Model.of([range(6)]))
    assert deviance(saturated, counts) == pytest.approx(0, abs=1e-9) and saturated.n_parameters == 63
    n = counts.counts
    assert saturated.log_likelihood == pytest.approx(float((n * np.log(n / 1841)).sum()))
    alone = fit(counts, Model.of([(j,) for j in range(6)]))
    margins = [counts.margin((j,))[1] for j in range(6)]
    assert alone.log_likelihood == pytest.approx(sum(float((m * np.log(m / 1841)).sum()) for m in margins))


def test_a_fit_that_cannot_end_says_so():
    # no three-way interaction with opposite corners empty: no maximum likelihood estimate exists
    cells = [(0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0)]
    counts = Counts(np.array(cells), np.array([4, 3, 2, 5, 1, 6]), (2, 2, 2))
    model = parse("[AB][AC][BC]", "ABC")
    with pytest.warns(FitWarning, match="stopped after 1000 cycles"):
        fitted = fit(counts, model)
    assert not fitted.converged and fitted.cycles == MOST_CYCLES and fitted.deviation > 1e-8 * 21
    assert search(counts).converged


def test_large_tables_are_fitted_from_margins_only():
    random = np.random.default_rng(5)
    cells = np.unique(random.integers(0, 200, (500, 4)), axis=0)
    counts = Counts(cells, np.ones(len(cells), np.int64), (200, 200, 200, 200))
    tracemalloc.start()
    chain = fit(counts, Model.of([(0, 1), (1, 2), (2, 3)]))
    best = search(counts, "bic")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000
    assert chain.log_p(list(cells.T)).max() < 0 and best.model.separators is not None
    with pytest.raises(EngineError, match=r"the table has 1,600,000,000 cells; .* at most 5,000,000"):
        fit(counts, Model.of([(0, 1), (1, 2), (2, 3), (0, 3)]))


# -- search ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(smalls(), st.sampled_from(["aic", "bic"]))
@examples(40)
def test_the_search_tries_every_graph(small, criterion):
    assume(len(small.shape) <= 3)
    found = search(counts_of(small), criterion)
    assert list(found.model.generators) == twin.search(literal(small), small.shape, criterion)


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_the_search_tries_every_graph_of_four(criterion):
    random = np.random.default_rng(8)
    for _ in range(2):
        records = random.integers(0, 2, (60, 4))
        records[:, 1] ^= records[:, 0] & (random.random(60) < 0.5)
        records[:, 3] ^= records[:, 2] & records[:, 0]
        small = Small(tuple(map(tuple, records.tolist())), (2, 2, 2, 2))
        found = search(counts_of(small), criterion)
        assert list(found.model.generators) == twin.search(literal(small), small.shape, criterion)


def planted(seed: int, n: int) -> Counts:
    """Binary A, B, C, D that depend on each other in a ring, and E on D."""
    random = np.random.default_rng(seed)
    signs = 2 * np.array(np.unravel_index(np.arange(16), (2,) * 4)) - 1
    a, b, c, d = signs
    p = np.exp(0.7 * (a * b + b * c + c * d - d * a))
    ring = np.array(np.unravel_index(random.choice(16, n, p=p / p.sum()), (2,) * 4)).T
    last = ring[:, 3] ^ (random.random(n) < 0.2)
    cells, totals = np.unique(np.column_stack([ring, last]), axis=0, return_counts=True)
    return Counts(cells, totals, (2,) * 5)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "n"), [(1, 3000), (2, 60), (3, 15)])
def test_the_search_over_five_finds_what_fitting_all_graphs_one_by_one_finds(seed, n):
    counts = planted(seed, n)
    pairs = list(combinations(range(5), 2))
    graphs = ({pair for e, pair in enumerate(pairs) if chosen >> e & 1} for chosen in range(1 << 10))
    fits = [fit(counts, Model.of(twin.graphical(5, edges)), warn=False) for edges in graphs]
    for criterion in ("aic", "bic"):
        least = min(score(one, criterion, counts) for one in fits if one.converged)
        near = [one for one in fits if one.converged and score(one, criterion, counts) <= least + TIE]
        wanted = min(near, key=lambda one: (one.n_parameters, one.model.generators)).model
        assert search(counts, criterion).model == wanted
    if n == 3000:
        assert search(counts, "bic").model.show("ABCDE") == "[AB][AD][BC][CD][DE]"
        assert search(counts, "bic", decomposable=True).model.separators is not None


@pytest.mark.slow
@given(smalls(), st.sampled_from(["aic", "bic"]))
@examples(40)
def test_no_decomposable_model_beats_the_one_found(small, criterion):
    d = len(small.shape)
    counts = counts_of(small)
    found = search(counts, criterion, decomposable=True)
    assert found.model.separators is not None
    least = math.inf
    pairs = list(combinations(range(d), 2))
    for chosen in range(1 << len(pairs)):
        edges = {pair for e, pair in enumerate(pairs) if chosen >> e & 1}
        if d == 5 and chosen % 7:  # a seventh of the 1024 is enough for a counterexample
            continue
        model = Model.of(twin.graphical(d, edges))
        if model.separators is not None:
            least = min(least, score(fit(counts, model), criterion, counts))
    assert score(found, criterion, counts) <= least + TIE
    assert score(search(counts, criterion), criterion, counts) <= score(found, criterion, counts) + TIE


def test_equal_scores_go_to_fewer_parameters_and_then_to_the_first_name():
    # A, B and C are copies: joining any two of them in a chain gives the same score
    cells = np.array([[0, 0, 0], [1, 1, 1]])
    counts = Counts(cells, np.array([20, 20]), (2, 2, 2))
    assert search(counts, "aic", decomposable=True).model.show("ABC") == "[AB][AC]"
    # an attribute of one level stands alone, whatever joining it would cost
    constant = Counts(np.array([[0, 0, 0], [1, 0, 1]]), np.array([20, 20]), (2, 1, 2))
    assert search(constant).model.show("ABC") == "[AC][B]"


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_the_stepwise_search_ends_where_no_edge_helps(criterion):
    random = np.random.default_rng(3)
    records = random.integers(0, 3, (800, 7))
    for j in range(1, 7):
        same = random.random(800) < 0.6
        records[same, j] = records[same, j - 1]
    small = Small(tuple(map(tuple, records.tolist())), (3,) * 7)
    counts = counts_of(small)
    found = search(counts, criterion)
    assert found.model.separators is not None and found.n_parameters > 14
    edges = {pair for one in found.model.generators for pair in combinations(one, 2)}
    for pair in combinations(range(7), 2):
        model = Model.of(twin.graphical(7, edges ^ {pair}))
        cells = max(math.prod(small.shape[j] for j in one) for one in model.generators)
        if model.separators is not None and cells <= 800:
            assert score(fit(counts, model), criterion, counts) >= score(found, criterion, counts) - TIE
    if criterion == "bic":  # a chain was built in
        assert found.model.show("ABCDEFG") == "[AB][BC][CD][DE][EF][FG]"
    assert search(counts_of(small), criterion).model == found.model


def test_a_search_needs_two_attributes_and_a_criterion():
    counts = Counts(np.array([[0], [1]]), np.array([3, 4]), (2,))
    with pytest.raises(UsageError, match="model search needs at least two attributes"):
        search(counts)
    with pytest.raises(UsageError, match=r"unknown criterion 'aci'\. Did you mean 'aic'"):
        search(czech(), "aci")
    with pytest.raises(EngineError, match="without records"):
        search(Counts(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), (2, 2)))
