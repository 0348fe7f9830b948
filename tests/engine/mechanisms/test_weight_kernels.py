"""Kernels that choose by weights, beside the same in whole arrays and in plain lists."""

from __future__ import annotations

import numpy as np
import pytest

from engine.common import compiled
from engine.mechanisms import smike
from engine.mechanisms.donor_kernels import below_largest, choose, exchange
from engine.models import location
from tests.numeric_data import numbered


def test_an_imputed_cell_is_the_same_compiled_and_in_whole_arrays(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 9, 300), rng.normal(size=(300, 2)) * 3
    setting = smike.SMIKE.setting(numbered({"K": x}, {"u": y[:, 0], "v": y[:, 1]}), {}, (0,), ("u", "v"))
    z = location.variables(setting, "SMIKe").z
    model = location.fit(z, x, 9, ("u", "v"))
    task = smike.Task(np.arange(300), np.arange(9), model, location.whiten(z, model.factor), 300)
    for uniforms in (rng.random(300), np.zeros(300), np.full(300, 1 - 2.0**-53)):
        theta, found = location.draw(model, rng), []
        for there in (True, False):
            monkeypatch.setattr(compiled, "COMPILED", there)
            found.append(smike.impute(task, theta, uniforms).tolist())
        assert found[0] == found[1]


def test_the_place_is_where_the_sum_of_weights_passes_the_number():
    weights = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    for u, places in ((0.0, [0, 2, 1]), (0.25, [1, 2, 1]), (0.5, [1, 2, 1]), (0.75, [2, 2, 1]), (1.0, [2, 2, 2])):
        chosen = np.empty(3, np.int64)
        choose(weights, np.full(3, u), chosen)
        assert chosen.tolist() == places, u


def test_a_row_s_largest_number_becomes_zero():
    rows = np.array([[3.0, 5.0, -1.0], [-2.0, -4.0, -3.0]])
    below_largest(rows)
    assert rows.tolist() == [[-2.0, 0.0, -6.0], [0.0, -2.0, -1.0]]


def plain(
    visits: list[int], uniforms: list[float], candidates: list[list[int]], weights: list[list[float]], n: int
) -> list[int]:
    """The same exchanges from lists."""
    source, moved = list(range(n)), set[int]()
    for i, u, those, weigh in zip(visits, uniforms, candidates, weights, strict=True):
        if i in moved:
            continue
        open_ = [(j, w) for j, w in zip(those, weigh, strict=True) if j not in moved and j != i]
        left = u * (1 + sum(w for _, w in open_)) - 1
        for j, w in open_ if left >= 0 else []:
            left -= w
            if left < 0:
                source[i], source[j] = j, i
                moved |= {i, j}
                break
    return source


def test_exchanges_are_those_of_plain_lists():
    rng, swapped = np.random.default_rng(2), 0
    for _ in range(200):
        n = int(rng.integers(2, 9))
        visits = rng.permutation(n)[: rng.integers(1, n + 1)]
        near = rng.random((len(visits), n)) < 0.6
        # eighths of powers of two: sums in any order are exact
        weights, uniforms = rng.integers(1, 9, near.shape) / 8, rng.integers(0, 64, len(visits)) / 64
        source, free = np.arange(n), np.ones(n, bool)
        exchange(visits, uniforms, near.sum(axis=1).cumsum(), near.nonzero()[1], weights[near], free, source)
        own = [w[row].tolist() for w, row in zip(weights, near, strict=True)]
        partners = [row.nonzero()[0].tolist() for row in near]
        assert source.tolist() == plain(visits.tolist(), uniforms.tolist(), partners, own, n)
        assert (free == (source == np.arange(n))).all()
        swapped += int((~free).sum())
    assert swapped > 200
