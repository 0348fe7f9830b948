"""Log-linear models of the Czech auto workers (Gomatam, Karr and Sanil 2005, section 5.2; Edwards and Havranek 1985).

The paper's eq. 14 calls ``[ABCD][ADE][FB]`` the best model under AIC or BIC; on its own Table 2 it is neither.  Means
of DU_llm over the 21 one- and two-attribute swaps at 10 % are compared with an independent implementation.
"""

from __future__ import annotations

import pytest

from engine.measures.inference import MODES
from engine.models.loglinear import fit, parse, search
from tests import fit_statistics as statistics
from tests.papers.czech import (
    COLUMNS,
    MODELS,
    NAMES,
    PLACES,
    SCORES,
    SWAPS,
    counts,
    graphical,
    model_of,
    place,
    simulated,
)

REPLICATES = 200


# -- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "likelihood", "k", "aic", "bic", "deviance"), SCORES)
def test_scores_of_six_models(model, likelihood, k, aic, bic, deviance):
    fitted = fit(counts(), parse(model, NAMES))
    assert fitted.model.show(NAMES) == model
    assert counts().saturated == pytest.approx(-6643.1336, abs=1e-4)
    assert fitted.n_parameters == k
    assert fitted.log_likelihood == pytest.approx(likelihood, abs=0.02)
    assert statistics.aic(fitted) == pytest.approx(aic, abs=0.02)
    assert statistics.bic(fitted, counts().n_records) == pytest.approx(bic, abs=0.02)
    assert statistics.deviance(fitted, counts()) == pytest.approx(deviance, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("criterion", "decomposable", "best"),
    [
        ("aic", False, "[ABC][ACE][ADE][BF][DEF]"),
        ("aic", True, "[ACE][ADE][BCE][BF]"),
        ("bic", False, "[AC][ADE][BC][BE][F]"),
        ("bic", True, "[ACE][ADE][BC][F]"),
    ],
)
def test_the_best_models_are_not_the_papers(criterion, decomposable, best):
    assert search(counts(), criterion, decomposable=decomposable).model.show(NAMES) == best


@pytest.mark.slow
def test_no_graphical_model_is_missed_by_the_search():
    """All 32,768 graphs fitted, and the places of eq. 14 and of the literature's model among them."""
    for criterion, places in PLACES.items():
        best = graphical()[criterion].min()
        assert best == pytest.approx(statistics.score(search(counts(), criterion), criterion, counts()), abs=1e-6)
        assert tuple(place(text, criterion) for text in MODELS.values()) == places


@pytest.mark.slow
def test_models_are_decomposable_where_graphs_are_chordal():
    from engine.models.loglinear import _Graphs

    found = [model_of(graph).separators is not None for graph in range(1 << 15)]
    assert sum(found) == 18_154 and found == _Graphs.on(6).chordal.tolist()


@pytest.mark.slow
def test_graphs_fitted_all_at_once_and_one_by_one_are_the_same():
    """Every 37th of all graphs, so that each edge is there and absent."""
    for graph in range(0, 1 << 15, 37):
        fitted = fit(counts(), model_of(graph), warn=False)
        for criterion in PLACES:
            assert statistics.score(fitted, criterion, counts()) == pytest.approx(
                graphical()[criterion][graph], abs=1e-6
            )


# -- the 21 swaps ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_swaps_of_f_with_b_or_c_are_the_two_worst_when_all_is_refitted():
    """What the paper's figure 5 shows; in the other two readings all swaps that part B from C are as bad."""
    for name in MODELS:
        means = {
            mode: {swap: by.mean() for swap, by in simulated(REPLICATES)[f"{COLUMNS[mode]}_{name}"].items()}
            for mode in MODES
        }
        assert set(sorted(SWAPS, key=means["refit_full"].__getitem__)[:2]) == {"BF", "CF"}
        for mode in ("fixed", "refit"):
            apart = {swap for swap in SWAPS if ("B" in swap) != ("C" in swap)}
            low = means[mode]
            assert max(low[swap] for swap in apart) < -100 < min(low[swap] for swap in set(SWAPS) - apart)
    positive = sum(by.mean() > 0 for by in simulated(REPLICATES)["fullrefit_ABCD"].values())
    assert positive == 10, "so many of the 21 look better than the original in the full reading"
