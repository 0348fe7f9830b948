"""PRAM: the twin's release from the same random numbers, the law of the matrix, matrices as they are given."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms.base import Drawn, table_stream
from engine.mechanisms.pram import PRAM, Prepared
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.examples import examples
from tests.numeric_data import numbered, with_numbers
from tests.pram_matrices import invariant
from tests.twins import pram as twin

KEY = bytes(range(16))
DERIVED = derive(KEY, "test")
T = np.array([5, 3, 2])
TEN = numbered({"K": np.repeat([0, 1, 2], T)}, {})
THREE = "[[0.7, 0.2, 0.1], [0, 1, 0], [0.25, 0.5, 0.25]]"


def prepared_and_drawn(data: Microdata, derived: bytes = DERIVED, /, **given: str) -> tuple[Prepared, Drawn]:
    setting = PRAM.setting(data, given, range(len(data.domain.names)))
    prepared = PRAM.prepare(setting)
    return prepared, PRAM.draw(prepared, setting, derived)


def run(data: Microdata, derived: bytes = DERIVED, /, **given: str) -> Drawn:
    return prepared_and_drawn(data, derived, **given)[1]


def made(seed: int, n: int = 300) -> Microdata:
    rng = np.random.default_rng(seed)
    cell = np.concatenate([np.arange(6), rng.choice(6, n - 6, p=np.arange(1, 7) / 21)])
    return numbered({"A": cell // 2, "B": cell % 2}, {"y": rng.normal(size=n)})


def test_the_worked_matrix():
    matrix = invariant(T, 0.8)
    assert np.allclose(matrix, [[0.68, 0.16, 0.16], [4 / 15, 7 / 15, 4 / 15], [0.4, 0.4, 0.2]], atol=1e-15)
    assert np.allclose(T @ matrix, T)
    prepared, _ = prepared_and_drawn(TEN, theta="0.8")
    assert prepared.about["expected_moves"] == pytest.approx(4.8)
    assert np.array_equal(prepared.variables[0].matrix, matrix)


@given(st.lists(st.integers(1, 60), min_size=2, max_size=8), st.floats(0, 1))
def test_the_invariant_matrix(counts: list[int], theta: float):
    t = np.array(counts)
    matrix = invariant(t, theta)
    assert np.allclose(matrix, twin.invariant(np.repeat(np.arange(len(t)), t).tolist(), theta), atol=1e-15)
    assert (matrix >= 0).all() and np.allclose(matrix.sum(axis=1), 1)
    assert np.allclose(t @ matrix, t)
    assert np.allclose(t * (1 - np.diagonal(matrix)), theta * t.min())
    assert np.allclose(np.diagonal(matrix)[t == t.min()], 1 - theta)


@pytest.mark.parametrize("theta", ["0.3", "0.99", "1"])
def test_invariant_releases_are_the_twins_from_the_same_random_numbers(theta: str):
    for seed in range(4):
        data, derived = made(seed), derive(KEY, "test", (seed,))
        prepared, drawn = prepared_and_drawn(data, derived, theta=theta)
        (one,), rng = prepared.variables, table_stream(derived, 1)
        uniforms = rng.random(300)
        others = rng.integers(0, 5, int(float(drawn.diagnostics["moves"])))
        slow = twin.move(one.x.tolist(), float(theta), uniforms.tolist(), others.tolist())
        assert np.array_equal(drawn.tables[0].cells((0, 1)), ReleasedTable(data).cells((0, 1))[_first(one.x)][slow])


def _first(x: np.ndarray) -> np.ndarray:
    return np.unique(x, return_index=True)[1]


def test_releases_by_given_matrices_are_the_twins_from_the_same_random_numbers():
    for seed in range(4):
        rng, data, derived = np.random.default_rng(seed), made(seed), derive(KEY, "test", (seed,))
        matrices = {}
        for name, size in (("A", 3), ("B", 2)):
            rows = np.round(rng.dirichlet(np.ones(size), size), 3)
            rows[rows < 0.2] = 0
            rows[:, -1] = 1 - rows[:, :-1].sum(axis=1)
            matrices[name] = np.round(rows, 3).tolist()
        prepared, drawn = prepared_and_drawn(data, derived, over="each", matrix=json.dumps(matrices))
        draws = table_stream(derived, 1)
        for j, one in enumerate(prepared.variables):
            slow = twin.transit(one.x.tolist(), one.matrix.tolist(), draws.random(300).tolist())
            assert drawn.tables[0].codes(j).tolist() == slow


@pytest.mark.parametrize("given", [{"theta": "0.8"}, {"matrix": THREE}])
def test_the_law_is_the_matrix(given: dict[str, str]):
    data = numbered({"K": np.repeat([0, 1, 2], T * 6000)}, {})
    prepared, drawn = prepared_and_drawn(data, **given)
    matrix = prepared.variables[0].matrix
    seen = np.bincount(data.codes[0] * 3 + drawn.tables[0].codes(0), minlength=9).reshape(3, 3)
    other = invariant(T, 0.75) if "theta" in given else np.array([[0.7, 0.1, 0.2], [0, 1, 0], [0.5, 0.25, 0.25]])
    for law, right in ((matrix, True), (other, False)):
        for k in range(3):
            open_ = law[k] > 0
            assert not seen[k, ~open_].any()
            if open_.sum() > 1:
                p = chisquare(seen[k, open_], law[k, open_] * seen[k].sum()).pvalue
                assert p > 1e-3 if right else p < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("theta", ["0.2", "0.99", "1"])
def test_moves_are_as_many_as_expected(theta: str):
    data = made(5)
    setting = PRAM.setting(data, {"theta": theta}, (0, 1))
    prepared = PRAM.prepare(setting)
    moves = [float(PRAM.draw(prepared, setting, derive(KEY, "n", (r,))).diagnostics["moves"]) for r in range(400)]
    expected, sd = float(prepared.about["expected_moves"]), float(prepared.about["sd_of_moves"])
    counts = prepared.variables[0].counts
    assert expected == pytest.approx(6 * float(theta) * counts.min())
    assert abs(np.mean(moves) - expected) < 4 * sd / 20
    assert 0.8 < np.std(moves) / sd < 1.2


@pytest.mark.slow
@examples(60)
@given(with_numbers(), st.sampled_from(["0", "0.5", "0.99", "1"]), st.sampled_from(["key", "each"]))
def test_what_always_holds(data: Microdata, theta: str, over: str):
    original = tuple(codes.copy() for codes in data.codes)
    try:
        prepared, drawn = prepared_and_drawn(data, theta=theta, over=over)
    except EngineError as refused:
        assert str(refused).startswith("PRAM needs at least two categories")
        return
    (table,), before = drawn.tables, ReleasedTable(data)
    assert drawn.status == (RunStatus.NOOP if theta == "0" else RunStatus.OK)
    assert all(np.array_equal(a, b) for a, b in zip(original, data.codes, strict=True))
    changed = np.zeros(data.n_records, bool)
    for j, codes in enumerate(data.codes):
        shown = table.codes(j)
        assert shown.dtype == codes.dtype and set(shown.tolist()) <= set(codes.tolist())
        changed |= shown != codes
    assert np.array_equal(drawn.touched, changed[None, :])
    places = tuple(range(len(data.codes)))
    if over == "key":
        assert set(table.cells(places).tolist()) <= set(before.cells(places).tolist())
    for name in data.raw.names:
        if name.startswith("y"):
            assert np.array_equal(table.numeric(name), before.numeric(name))
    again = run(data, theta=theta, over=over).tables[0]
    assert np.array_equal(again.cells(places), table.cells(places))
    if theta == "1":
        (first, *_), x = prepared.variables, prepared.variables[0].x
        unique = first.counts[x] == 1
        assert changed[unique].all()


def test_only_the_named_attributes_change():
    data = made(6)
    setting = PRAM.setting(data, {"vars": "B"}, (0,))
    assert PRAM.changes is not None and PRAM.changes(setting) == (1,)
    (table,) = run(data, vars="B").tables
    assert np.array_equal(table.codes(0), data.codes[0])
    assert not np.array_equal(table.codes(1), data.codes[1])


def test_attributes_are_perturbed_independently():
    data = numbered({"A": np.arange(40000) % 2, "B": np.arange(40000) // 2 % 2}, {})
    (table,) = run(data, over="each", theta="0.3").tables
    moved = [table.codes(j) != data.codes[j] for j in (0, 1)]
    seen = np.bincount(moved[0] * 2 + moved[1], minlength=4)
    assert chisquare(seen, np.array([0.49, 0.21, 0.21, 0.09]) * 40000).pvalue > 1e-3


def test_nothing_moves_at_theta_0_nor_by_the_identity():
    for given_ in ({"theta": "0"}, {"matrix": "[[1,0,0],[0,1,0],[0,0,1]]"}):
        drawn = run(TEN, **given_)
        assert drawn.status == RunStatus.NOOP and not drawn.touched.any()
        assert drawn.diagnostics["warning"] == "no record can move; the table is the original"


def test_levels_that_do_not_occur():
    """The invariant matrix leaves them out; a given one may reach them."""
    data = numbered({"K": [0, 0, 0, 2, 2, 2]}, {})
    assert set(run(data, theta="1").tables[0].codes(0).tolist()) <= {0, 2}
    drawn = run(data, matrix="[[0,1,0],[0,1,0],[0,1,0]]")
    assert drawn.tables[0].codes(0).tolist() == [1] * 6
    assert drawn.diagnostics["margin_drift"] == 1 and "not invariant" in str(drawn.diagnostics["warning"])


def test_keys_of_several_attributes_by_a_given_matrix():
    data = numbered({"A": [0, 0, 1, 1], "B": [0, 0, 0, 1]}, {})
    turn = {"A+B": {"levels": ["v1|v1", "v0|v0", "v1|v0"], "rows": [[0, 1, 0], [0, 0, 1], [1, 0, 0]]}}
    drawn = run(data, matrix=json.dumps(turn))
    assert drawn.tables[0].cells((0, 1)).tolist() == [2, 2, 3, 0]
    full = np.eye(4)[[3, 1, 1, 1]].tolist()
    drawn = run(data, matrix=json.dumps(full), domain="full")
    assert drawn.tables[0].cells((0, 1)).tolist() == [3, 3, 1, 1]


def test_matrices_from_files(tmp_path: Path):
    (tmp_path / "m.csv").write_text("true,v1,v0,v2\nv0,0.2,0.7,0.1\nv2,.5,.25,.25\n\nv1,1,0,0\n", encoding="utf-8")
    (tmp_path / "m.json").write_text(json.dumps({"K": json.loads(THREE)}), encoding="utf-8")
    inline, drawn = prepared_and_drawn(TEN, matrix=THREE)
    for name in ("m.csv", "m.json"):
        prepared, other = prepared_and_drawn(TEN, matrix=str(tmp_path / name))
        assert np.array_equal(prepared.variables[0].matrix, inline.variables[0].matrix)
        assert np.array_equal(other.tables[0].codes(0), drawn.tables[0].codes(0))
        texts = dict(PRAM.canonical({"matrix": str(tmp_path / name)}))
        assert str(tmp_path) not in texts["matrix"]
        assert PRAM.canonical(texts) == tuple(texts.items())  # what is kept says all


def test_equal_matrices_have_one_text():
    texts = ["[[0.50, 0.5], [0, 1.0]]", '[["5e-1",0.5],[0,1]]', ".5 .5; 0 1", '{"": [[0.5, 0.5], [0, 1]]}']
    assert len({PRAM.canonical({"matrix": text}) for text in texts}) == 1


def test_rounding_in_a_matrix_is_repaired():
    prepared, _ = prepared_and_drawn(
        numbered({"K": [0, 1]}, {}), matrix="[[1.0000000000001, -1e-13], [0.3333333333, 0.6666666667]]"
    )
    matrix = prepared.variables[0].matrix
    assert (matrix >= 0).all() and np.abs(matrix.sum(axis=1) - 1).max() < 1e-15


MARRIED = "[[0.5, 0.5, 0], [0.9, 0.07, 0], [0, 0, 1]]"


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"matrix": MARRIED}, "row 'v1' of the transition matrix sums to 0.97"),
        ({"matrix": "[[1, 0], [0, 1]]"}, "matrix has 2 rows but 'K' has 3 levels"),
        ({"matrix": "[[1, 0, 0], [0, 1], [0, 0, 1]]"}, "row 'v1' of the transition matrix has 2 entries, not 3"),
        (
            {"matrix": "[[1, 0, 0], [0, 1.5, -0.5], [0, 0, 1]]"},
            "row 'v1' of the transition matrix has a negative entry (-0.5)",
        ),
        (
            {"matrix": '{"K": {"levels": ["v0", "v1", "w2"], "rows": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}}'},
            "matrix names 'w2', which 'K' has not. Known: v0, v1, v2.",
        ),
        (
            {"matrix": '{"K": {"levels": ["v0", "v1"], "rows": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}}'},
            "matrix has 3 rows but names 2 levels",
        ),
        ({"matrix": '{"L": [[1]]}'}, "matrix of 'L', which is not perturbed. Known: K."),
        ({"matrix": '{"K": {"levels": ["a", "a"], "rows": []}}'}, "levels of the matrix of 'K' must be a list without"),
        ({"matrix": '{"K": {"level": ["a"], "rows": []}}'}, "matrix of 'K' must have rows and may have levels; got "),
        ({"matrix": "[1, 2]"}, "matrix must be a list of rows; wanted: "),
        ({"matrix": "[[1, 0"}, "matrix: not a matrix ("),
        ({"matrix": "[[1, null]]"}, "an entry of the matrix == 'None', must be a number."),
        ({"matrix": "nowhere.csv"}, "matrix == 'nowhere.csv', is neither a matrix nor a file that can be read"),
        ({"theta": "1.1"}, "theta == 1.1, must be between 0 and 1."),
        ({"theta": "0.5", "matrix": THREE}, "theta == 0.5, must be left out: the matrix that is given is used as it"),
        ({"domain": "full"}, "domain == 'full', needs a matrix: the invariant one exists for observed cells only."),
        ({"vars": "k"}, "vars names 'k', which is no attribute. Did you mean 'K'?"),
        ({"vars": "K+K"}, "vars == 'K+K', names an attribute twice."),
    ],
)
def test_refusals(chosen: dict[str, str], message: str):
    with pytest.raises(UsageError) as refused:
        run(TEN, **chosen)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,v0\nv1,1\n", "level 'v0' is only among the columns of the matrix."),
        ("x,v0\nv0,1\nv0,1\n", "the file of the matrix names a level twice."),
        ("x,v0\n", "the file of the matrix needs a row of level names and a row for each level."),
    ],
)
def test_files_that_are_no_matrix(tmp_path: Path, text: str, message: str):
    (tmp_path / "m.csv").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        run(TEN, matrix=str(tmp_path / "m.csv"))
    assert str(refused.value) == message


def test_several_attributes_need_a_matrix_each():
    with pytest.raises(UsageError, match=r"^one matrix for 2 attributes \(A, B\)"):
        run(made(1), over="each", matrix="[[1]]")
    with pytest.raises(UsageError, match=r"^no matrix for 'B'; every perturbed variable needs one"):
        run(made(1), over="each", matrix='{"A": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}')
    with pytest.raises(UsageError, match=r"^matrix has 5 rows but 'A\+B' has 6 observed cells$"):
        run(made(1), matrix=json.dumps(np.eye(5).tolist()))
    with pytest.raises(UsageError, match=r"^matrix has 5 rows but 'A\+B' has 6 cells$"):
        run(made(1), matrix=json.dumps(np.eye(5).tolist()), domain="full")


def test_one_category_is_refused():
    one = numbered({"K": [0] * 5}, {})
    with pytest.raises(EngineError, match=r"^PRAM needs at least two categories$"):
        run(one)
    with pytest.raises(EngineError, match=r"^PRAM needs at least two categories$"):
        run(one, matrix="[[1]]")
    with pytest.raises(EngineError, match=r"^PRAM needs at least two categories \('B' has one\)$"):
        run(numbered({"A": [0, 1, 0], "B": [0, 0, 0]}, {}), over="each")
