"""MaPS: the twin's swaps from the same random numbers, the twin's law from its own, and what must always hold."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms import maps
from engine.mechanisms.base import Drawn, table_stream
from engine.mechanisms.maps import MAPS
from engine.models import location
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.examples import examples
from tests.location_draws import natural, predictive
from tests.numeric_data import numbered, with_numbers
from tests.twins import location as model_twin
from tests.twins import maps as twin

DERIVED = derive(bytes(range(16)), "test")


def made(seed: int, p: int = 1, n: int = 40) -> Microdata:
    """Four key cells over two keys, two of them small; the second number has ties."""
    rng = np.random.default_rng(seed)
    cell = np.concatenate([[0, 0, 1, 1, 1], rng.integers(2, 4, n - 5)])
    numbers = {"u": rng.normal(size=n) + cell, "v": np.round(rng.normal(size=n) + cell / 2)}
    return numbered({"A": cell // 2, "B": cell % 2}, dict(list(numbers.items())[:p]))


def run(data: Microdata, **given: str) -> Drawn:
    setting = MAPS.setting(data, given, range(len(data.domain.names)), [n for n in data.raw.names if n in "uvy0y1"])
    return MAPS.draw(MAPS.prepare(setting), setting, DERIVED)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(("w0", "same"), [("0", "yes"), ("0.8", "yes"), ("0.6", "no"), ("1", "yes")])
def test_swaps_are_the_twins_from_the_same_random_numbers(p: int, w0: str, same: str):
    for seed in range(4):
        data = made(seed, p)
        setting = MAPS.setting(data, {"w0": w0, "same_cell_partners": same, "D": "3"}, (0, 1), ("u", "v")[:p])
        ours = MAPS.draw(MAPS.prepare(setting), setting, DERIVED)
        keys, z = location.key_cells(data, (0, 1), 3, "le"), location.variables(setting, "MaPS").z
        fitted = location.fit(z, keys.x, len(keys.counts), ("u", "v")[:p])
        for d in range(3):
            rng = table_stream(DERIVED, d + 1)
            mu, sigma = natural(location.draw(fitted, rng, with_pi=False), fitted)
            order, uniforms = rng.permutation(keys.records).tolist(), rng.random(len(keys.records)).tolist()
            theta = model_twin.Theta([], list(mu), sigma)
            slow = twin.swap(keys.x.tolist(), list(z), theta, order, uniforms, float(w0), same == "yes")
            assert sources(ours)[d] == slow


def outcomes(sources: list[list[int]], x: np.ndarray) -> Counter[tuple[int, int]]:
    """How many records changed their cell, and what became of record 0."""
    return Counter((sum(x[j] != x[i] for i, j in enumerate(source)), int(x[source[0]])) for source in sources)


@pytest.mark.slow
def test_the_law_is_the_twins_and_not_one_without_partners_of_the_same_cell():
    y = np.random.default_rng(8).normal(size=12)
    data = numbered({"K": [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2]}, {"u": y})
    drawn = run(data, D="800", w0="0.6")
    x = [int(k) for k in data.codes[0]]
    rng = np.random.default_rng(2)
    fast = outcomes(sources(drawn), data.codes[0])
    for same in (True, False):
        slow = outcomes([twin.table(x, list(y[:, None]), rng, 3, "le", 0.6, same) for _ in range(800)], data.codes[0])
        kinds = sorted(k for k in set(fast) | set(slow) if fast[k] + slow[k] >= 10)
        p = float(chi2_contingency([[fast[k] for k in kinds], [slow[k] for k in kinds]]).pvalue)
        assert p > 1e-3 if same else p < 1e-9


def test_two_records_swap_with_probability_w_over_one_plus_w():
    keys = location.KeyCells(np.array([0, 1]), np.array([[0], [1]]), np.array([1, 1]), np.array([True, False]))
    t, mu = np.array([[0.2], [0.7]]), np.array([[0.0], [1.0]])
    w = np.exp(-abs(-(0.2 - 0.7) * (0.0 - 1.0)))
    grid = (np.arange(1000) + 0.5) / 1000
    swapped = [maps.swap(keys, t, mu, np.array([0]), np.array([u]), 0.5, True)[0] == 1 for u in grid]
    assert np.mean(swapped) == pytest.approx(w / (1 + w), abs=1e-3)
    assert not any(maps.swap(keys, t, mu, np.array([0]), np.array([u]), 0.61, True)[0] for u in grid[::50])


def test_odds_are_symmetric_and_the_ratio_of_predictive_probabilities():
    data = made(3, 2)
    setting = MAPS.setting(data, {}, (0, 1), ("u", "v"))
    prepared = MAPS.prepare(setting)
    assert prepared.model is not None
    x, rng = prepared.keys.x, np.random.default_rng(1)
    for _ in range(5):
        theta = location.draw(prepared.model, rng)
        t = location.turned(prepared.v, theta.turn)
        own = location.dot(t, theta.mu[x])
        q = predictive(theta, t)
        odds = maps.log_odds(np.arange(len(x)), t, x, own, theta.mu)
        assert np.allclose(odds, odds.T, atol=1e-10)
        ratio = np.log(q[:, x] * q[:, x].T) - np.log(np.outer(q[np.arange(40), x], q[np.arange(40), x]))
        assert np.allclose(odds, ratio, atol=1e-9)
        assert not odds[x[:, None] == x[None, :]].any()


@pytest.mark.slow
@examples(40)
@given(with_numbers(), st.sampled_from(["0", "0.5", "0.8", "1"]), st.integers(1, 5), st.sampled_from(["yes", "no"]))
def test_what_always_holds(data: Microdata, w0: str, s: int, same: str):
    try:
        drawn = run(data, s=str(s), w0=w0, D="3", same_cell_partners=same)
    except EngineError as refused:
        assert str(refused).startswith(("all records share", "model needs", "numeric variables are linearly dependent"))
        return
    places = tuple(range(len(data.domain.names)))
    keys, original = location.key_cells(data, places, s, "le"), ReleasedTable(data)
    for table, touched in zip(drawn.tables, drawn.touched, strict=True):
        source = np.arange(data.n_records) if table.source is None else table.source
        assert np.array_equal(source[source], np.arange(data.n_records))  # pairs, nobody twice
        assert np.array_equal(touched, source != np.arange(data.n_records))
        assert touched.sum() <= 2 * len(keys.records)
        pairs = np.flatnonzero(touched)
        assert (keys.sensitive[keys.x[pairs]] | keys.sensitive[keys.x[source[pairs]]]).all()
        assert np.array_equal(np.sort(table.cells(places)), np.sort(original.cells(places)))
        for name in data.raw.names:
            if name.startswith("y"):
                assert np.array_equal(table.numeric(name), original.numeric(name))
        if same == "no":
            assert (keys.x[source[pairs]] != keys.x[pairs]).all()
    assert drawn.status == (RunStatus.OK if len(keys.records) else RunStatus.NOOP)


def sources(drawn: Drawn) -> list[list[int]]:
    return [table.source.tolist() for table in drawn.tables if table.source is not None]


def test_more_tables_begin_with_the_fewer():
    assert sources(run(made(1), D="10"))[:5] == sources(run(made(1), D="5"))


def test_fewer_than_4_is_3_or_fewer():
    assert sources(run(made(2), s="4", rule="lt")) == sources(run(made(2), s="3"))


def test_units_do_not_matter():
    data = made(4, 2)
    table = run(data, D="2").tables[0]
    other = numbered(
        {"A": data.codes[0], "B": data.codes[1]}, {"u": table.numeric("u") * 4096, "v": table.numeric("v") * 0.25 + 64}
    )
    assert sources(run(other, D="2")) == sources(run(data, D="2"))


def test_a_cutpoint_of_1_leaves_cells_alone():
    data = made(5)
    drawn = run(data, w0="1")
    for source in sources(drawn):
        x = ReleasedTable(data).cells((0, 1))
        assert np.array_equal(x[source], x)
    assert drawn.diagnostics["warning"] == "only 0% of sensitive records change per release at w0=1"


def test_equal_numbers_pass_a_cutpoint_of_1():
    """Odds of exactly 1 between different cells, although means differ."""
    data = numbered({"K": [0] * 3 + [1] * 9}, {"u": [1.1, 2.3, 0.7] + [1.1, 2.3, 0.7, 1.4] * 2 + [9.0]})
    drawn = run(data, w0="1", same_cell_partners="no", D="40")
    met = [np.array(source) for source in sources(drawn)]
    u = ReleasedTable(data).numeric("u")
    assert all(np.array_equal(u[source], u) for source in met)
    assert sum(int((source != np.arange(12)).sum()) for source in met) > 100


def test_plug_in_tables_differ_only_by_their_swaps():
    drawn = run(made(6), theta="plug-in")
    assert len({tuple(source) for source in sources(drawn)}) > 1


def test_diagnostics_count_what_happened():
    data = made(7)
    drawn = run(data, w0="0.9")
    x, small = ReleasedTable(data).cells((0, 1)), location.key_cells(data, (0, 1), 3, "le").records
    moved = np.mean([np.count_nonzero(x[np.array(source)[small]] != x[small]) for source in sources(drawn)])
    assert drawn.diagnostics["sensitive_changed_share"] == pytest.approx(moved / 5)
    assert drawn.diagnostics["swaps_per_table"] == drawn.touched.sum() / 2 / 10
    assert drawn.diagnostics["sensitive"] == "cells with 3 or fewer records"
    assert drawn.diagnostics["sensitive_cells"] == 2


@pytest.mark.parametrize("given", [{"s": "3"}, {"s": "1", "rule": "lt"}])
def test_no_sensitive_record_changes_nothing_even_without_a_model(given: dict[str, str]):
    data = numbered({"K": [0] * 4 + [1] * 4}, {})
    drawn = run(data, **given)
    assert drawn.status == RunStatus.NOOP and len(drawn.tables) == 10 and not drawn.touched.any()
    assert drawn.diagnostics["warning"] == "no key cell is sensitive; every table is the original"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"s": "0"}, "sensitivity threshold must be a positive integer"),
        ({"w0": "1.1"}, "w0 must be between 0 and 1"),
        ({"w0": "-0.1"}, "w0 must be between 0 and 1"),
        ({"D": "0"}, "D == 0, must be at least 1."),
    ],
)
def test_parameters_out_of_range(given: dict[str, str], message: str):
    with pytest.raises(UsageError) as refused:
        run(made(1), **given)
    assert str(refused.value) == message


def test_data_that_do_not_allow_it():
    with pytest.raises(EngineError, match=r"^all records share one key cell; keys cannot be swapped$"):
        run(numbered({"K": [0] * 5}, {"u": range(5)}))
    with pytest.raises(EngineError, match=r"^model needs at least p=1 more records than key cells \(n=5, K=5\)"):
        run(numbered({"K": range(5)}, {"u": range(5)}))
    with pytest.raises(EngineError, match=r"rank 1 of 2\); drop one of: u, v$"):
        run(numbered({"K": [0, 0, 0, 1, 1, 1]}, {"u": range(6), "v": range(6)}))
    with pytest.raises(UsageError, match=r"^MaPS needs at least one numeric column"):
        run(numbered({"K": [0, 0, 0, 1, 1, 1]}, {}))
