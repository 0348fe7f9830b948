"""Group swapping: the twin's release from the same random numbers, laws, sizes that stay, and what is refused."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms import group_swap, propensity
from engine.mechanisms.base import Drawn, table_stream
from engine.mechanisms.group_swap import CGS
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.examples import examples
from tests.numeric_data import numbered, with_numbers
from tests.twins import group_swap as twin

OK, NOOP = RunStatus.OK, RunStatus.NOOP

KEY = derive(bytes(range(16)), "test")


def made(seed: int, h: int = 4, n: int = 90) -> Microdata:
    """Strata of unlike sizes, an attribute with two levels and two numbers that differ between strata."""
    rng = np.random.default_rng(seed)
    g = np.concatenate([np.repeat(np.arange(h), 12), rng.integers(0, h, n - 12 * h)])
    b = (rng.random(n) < 0.3 + 0.1 * (g % 3)).astype(int)
    return numbered({"G": g, "B": b}, {"u": rng.normal(size=n) + g / 3, "v": np.round(rng.normal(size=n), 1)})


def run(data: Microdata, derived: bytes = KEY, numeric: tuple[str, ...] = ("u", "v"), **given: str) -> Drawn:
    setting = CGS.setting(data, {"strata": "G", **given}, (0,), numeric)
    return CGS.draw(CGS.prepare(setting), setting, derived)


def features(data: Microdata) -> list[list[float]]:
    table = ReleasedTable(data)
    return np.column_stack([data.codes[1] == 1, table.numeric("u"), table.numeric("v")]).astype(float).tolist()


@pytest.mark.parametrize("mode", ["CGS", "RGS"])
@pytest.mark.parametrize("h, odd", [(4, "reuse"), (5, "reuse"), (3, "leave")])
def test_releases_are_the_twins(mode: str, h: int, odd: str) -> None:
    for seed, kind in enumerate(propensity.DISTANCES if mode == "CGS" else ("pmse",)):
        data = made(seed, h)
        drawn = run(data, mode=mode, distance=kind, odd=odd, n_swap="5")
        assert drawn.diagnostics["separated_models"] == 0
        stratum = data.codes[0].tolist()
        rng = table_stream(KEY, 1)
        assert drawn.tables[0].codes(0).tolist() == twin.release(
            stratum, features(data), 5, mode, kind, odd, set(), rng
        )


def both(data: Microdata, formula: str = "") -> tuple[propensity.Rows, propensity.Fitted, list[float]]:
    """The model of the first two strata, and the engine's propensities by record."""
    setting = CGS.setting(data, {"strata": "G"}, (0,), ("u", "v"))
    rows = propensity.rows(setting, [0], formula, "CGS")
    fitted = propensity.fit(rows, 0, 1)
    p = np.concatenate([fitted.of_a, fitted.of_b])
    used = data.codes[0] < 2
    return rows, fitted, p[rows.row_of[used]].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_propensities_and_distances_are_the_twins(seed: int) -> None:
    data = made(seed, 2)
    rows, fitted, p = both(data)
    in_b = (data.codes[0] == 1).tolist()
    expected = twin.propensities(features(data), in_b, 0.0)
    assert p == pytest.approx(expected, abs=1e-9)
    assert not fitted.ridge and not fitted.reduced
    for kind in propensity.DISTANCES:
        assert propensity.distance(rows, 0, 1, fitted, kind) == pytest.approx(twin.distance(expected, in_b, kind))
    crossed = [[*f, f[0] * f[1]] for f in features(data)]
    assert both(data, ". + B:u")[2] == pytest.approx(twin.propensities(crossed, in_b, 0.0), abs=1e-9)


def test_distances_do_not_depend_on_units_or_on_which_stratum_comes_first() -> None:
    data = made(2, 2)
    table = ReleasedTable(data)
    turned = numbered(
        {"G": 1 - data.codes[0], "B": data.codes[1]},
        {"u": 1e6 - 40 * table.numeric("u"), "v": table.numeric("v") / 8},
    )
    for kind in propensity.DISTANCES:
        one, other = (propensity.distance(rows, 0, 1, fitted, kind) for rows, fitted, _ in map(both, (data, turned)))
        assert one == pytest.approx(other, rel=1e-6)
        assert 0 < one < (1 if kind == "pmse_ratio" else 0.25)
    alike = numbered(
        {"G": [0, 1] * 6 + [1] * 6, "B": [0, 0, 1, 1] * 3 + [0, 1] * 3}, {"u": [3.0] * 18, "v": [1.0] * 18}
    )
    rows, fitted, p = both(alike)
    assert p == pytest.approx([2 / 3] * 18)
    assert propensity.distance(rows, 0, 1, fitted, "pmse") == pytest.approx(0, abs=1e-15)
    assert propensity.distance(rows, 0, 1, fitted, "half") == pytest.approx(1 / 36)


def test_separated_strata_get_the_twins_ridge_and_say_so() -> None:
    rng = np.random.default_rng(3)
    data = numbered({"G": [0] * 20 + [1] * 20}, {"u": np.sort(rng.normal(size=40)), "v": rng.normal(size=40)})
    _, fitted, p = both(data)
    assert fitted.ridge
    table = ReleasedTable(data)
    x = np.column_stack([table.numeric("u"), table.numeric("v")]).tolist()
    assert p == pytest.approx(twin.propensities(x, [False] * 20 + [True] * 20, twin.RIDGE), abs=1e-7)
    drawn = run(data, n_swap="3")
    assert drawn.diagnostics["warning"] == "propensity model for strata v0,v1 separated; ridge used"
    assert drawn.diagnostics["separated_models"] == 1
    # Those that move are those nearest to the boundary.
    assert float(drawn.diagnostics["mean_propensity_of_moved"]) > 5 * float(drawn.diagnostics["mean_propensity"])


def test_repeated_columns_are_singular_and_ridged() -> None:
    data = made(1, 2)
    table = ReleasedTable(data)
    twice = numbered(
        {"G": data.codes[0], "B": data.codes[1]}, {"u": table.numeric("u"), "v": 2 * table.numeric("u") + 1}
    )
    assert both(twice)[1].ridge
    assert both(twice)[2] == pytest.approx(both(twice, "B + u")[2], abs=1e-4)


def test_more_parameters_than_records_leave_main_effects() -> None:
    rng = np.random.default_rng(4)
    keys = {"G": np.arange(24) % 2, "A": rng.integers(0, 5, 24), "B": rng.integers(0, 6, 24)}
    drawn = run(numbered(keys, {}), formula="A*B", n_swap="2", numeric=())
    assert "strata v0,v1 have fewer records than parameters; main effects only" in str(drawn.diagnostics["warning"])


def test_formulas() -> None:
    for text, terms in {
        "": [("a",), ("b",)],
        ".": [("a",), ("b",)],
        ". + b:a + a:b": [("a",), ("b",), ("b", "a")],
        "c*a+b": [("c",), ("a",), ("c", "a"), ("b",)],
        "`x+y:z` + hosp.type": [("x+y:z",), ("hosp.type",)],
    }.items():
        assert propensity.parse(text, ["a", "b"]) == terms
    for text in ("a +", "a ++ b", ":a", "a : .", "a*b*c", "a`"):
        with pytest.raises(UsageError, match="formula =="):
            propensity.parse(text, ["a", "b"])


@pytest.mark.slow
@examples(60)
@given(data=with_numbers(), n_swap=st.integers(0, 6), mode=st.sampled_from(["CGS", "RGS"]), odd=st.booleans())
def test_sizes_stay_and_the_right_number_moves(data: Microdata, n_swap: int, mode: str, odd: bool) -> None:
    numeric = [name for name in data.raw.names if name.startswith("y")]
    given_ = {"strata": "A", "n_swap": str(n_swap), "mode": mode, "odd": "reuse" if odd else "leave"}
    setting = CGS.setting(data, given_, (0,), numeric)
    before = [codes.copy() for codes in data.codes]
    h = len(set(data.codes[0].tolist()))
    if h < 2:
        with pytest.raises(EngineError, match="need at least two strata"):
            CGS.prepare(setting)
        return
    prepared = CGS.prepare(setting)
    assert len(prepared.pairs) == (h // 2 if not odd else -(-h // 2))
    often = Counter(s for pair in prepared.pairs for s in (pair.a, pair.b))
    assert sorted(often.values())[:-1] == [1] * (len(often) - 1) and max(often.values()) <= (2 if h % 2 and odd else 1)
    used = [len(prepared.records[s]) for s in often]
    if n_swap > min(used):
        with pytest.raises(EngineError, match=f"records, cannot move {n_swap}"):
            CGS.draw(prepared, setting, KEY)
        return
    if n_swap and any(m * n_swap > len(prepared.records[s]) for s, m in often.items()):
        with pytest.raises(EngineError, match="records that have not moved, cannot move"):
            CGS.draw(prepared, setting, KEY)
        return
    drawn = CGS.draw(prepared, setting, KEY)
    (table,), n_moved = drawn.tables, 2 * n_swap * len(prepared.pairs)
    assert drawn.status == (OK if n_swap else NOOP)
    assert np.count_nonzero(table.codes(0) != data.codes[0]) == n_moved == drawn.diagnostics["records_moved"]
    assert np.array_equal(table.codes(0) != data.codes[0], drawn.touched[0])
    assert np.array_equal(np.bincount(table.codes(0)), np.bincount(data.codes[0]))
    for j in range(1, len(data.codes)):
        assert np.array_equal(table.codes(j), data.codes[j])
    for name in numeric:
        assert np.array_equal(table.numeric(name), ReleasedTable(data).numeric(name))
    if table.source is not None:
        assert np.array_equal(table.source[table.source], np.arange(data.n_records))
    assert all(np.array_equal(a, b) for a, b in zip(before, data.codes, strict=True))
    again = CGS.draw(CGS.prepare(setting), setting, KEY)
    assert np.array_equal(again.tables[0].codes(0), table.codes(0))


def test_a_smaller_amount_is_the_beginning_of_a_larger_one() -> None:
    few, many = (run(made(5), n_swap=n) for n in ("4", "9"))
    assert not (few.touched & ~many.touched).any()
    assert np.array_equal(few.tables[0].source[few.touched[0]], many.tables[0].source[few.touched[0]])  # type: ignore[index]


def test_a_rate_is_a_share_of_the_smallest_stratum() -> None:
    data = numbered({"G": [0] * 100 + [1] * 150}, {"u": np.random.default_rng(1).normal(size=250)})
    assert run(data, rate="0.29", numeric=("u",)).diagnostics["n_swap"] == 29
    nothing = run(data, rate="0.001", numeric=("u",))
    assert nothing.status == NOOP
    assert nothing.diagnostics["warning"] == "rate 0.001 of 100 records rounds to zero"
    assert run(data, numeric=("u",)).status == NOOP


@pytest.mark.slow
def test_random_group_swapping_takes_all_alike() -> None:
    """Each record of a stratum of n moves with probability N/n, which gives the means of released strata exactly."""
    data, n_swap, runs = made(6, 2), 7, 3000
    sizes = np.bincount(data.codes[0])
    setting = CGS.setting(data, {"strata": "G", "mode": "RGS", "n_swap": str(n_swap)}, (0,), ("u", "v"))
    prepared = CGS.prepare(setting)
    moved, means, u = np.zeros(data.n_records), np.zeros((runs, 2)), ReleasedTable(data).numeric("u")
    for one in range(runs):
        drawn = CGS.draw(prepared, setting, derive(KEY, "run", (one,)))
        moved += drawn.touched[0]
        released = drawn.tables[0].codes(0)
        means[one] = [u[released == s].mean() for s in (0, 1)]
    for s in (0, 1):
        expected = runs * n_swap / sizes[s]
        seen = moved[data.codes[0] == s]
        # Counts of a fixed total without replacement: their spread is that of the sampling variance n / (n - 1).
        statistic = ((seen - expected) ** 2).sum() / (expected * (1 - n_swap / sizes[s])) * (1 - 1 / sizes[s])
        assert chi2.sf(statistic, sizes[s] - 1) > 1e-3 and chi2.cdf(statistic, sizes[s] - 1) > 1e-3
        own, other = (u[data.codes[0] == t].mean() for t in (s, 1 - s))
        exact = own + n_swap / sizes[s] * (other - own)
        se = means[:, s].std(ddof=1) / np.sqrt(runs)
        assert abs(means[:, s].mean() - exact) < 4 * se
        assert abs(own - exact) > 20 * se, "a mechanism that moved nothing would be seen"


@pytest.mark.slow
def test_the_race_is_successive_sampling() -> None:
    """Ordered draws of two of four by unlike weights: the exact law, the race and the twin."""
    weights = np.array([0.05, 0.2, 0.35, 0.9])
    law = {
        (i, j): weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i])
        for i, j in itertools.permutations(range(4), 2)
    }
    rng, runs, free = np.random.default_rng(7), 6000, np.ones(4, bool)
    ours = Counter(
        tuple(group_swap.winners(weights, rng.standard_exponential(4), free, 2).tolist()) for _ in range(runs)
    )
    theirs = Counter(tuple(twin.successive(weights.tolist(), 2, rng)) for _ in range(runs))
    for seen in (ours, theirs):
        statistic = sum((seen[pair] - runs * p) ** 2 / (runs * p) for pair, p in law.items())
        assert chi2.sf(statistic, len(law) - 1) > 1e-3


@pytest.mark.slow
def test_equal_propensities_make_both_modes_one_law() -> None:
    rng = np.random.default_rng(8)
    u = np.tile(np.arange(5.0), 4)  # the same numbers in both strata
    data = numbered({"G": np.repeat([0, 1], 10)}, {"u": u})
    counts = np.zeros((2, 20))
    for row, mode in enumerate(("CGS", "RGS")):
        setting = CGS.setting(data, {"strata": "G", "n_swap": "3", "mode": mode}, (0,), ("u",))
        prepared = CGS.prepare(setting)
        assert np.allclose(prepared.pairs[0].weights_a, 0.5, atol=1e-9)
        for _ in range(1500):
            counts[row] += CGS.draw(prepared, setting, rng.bytes(32)).touched[0]
    assert chi2_contingency(counts).pvalue > 1e-3


@pytest.mark.slow
def test_those_that_look_like_the_other_stratum_move_more_often() -> None:
    data = made(9, 2)
    shares = [
        float(run(data, derive(KEY, "run", (one,)), n_swap="6").diagnostics["mean_propensity_of_moved"])
        - float(run(data, derive(KEY, "run", (one,)), n_swap="6", mode="RGS").diagnostics["mean_propensity_of_moved"])
        for one in range(60)
    ]
    assert np.mean(shares) > 4 * np.std(shares, ddof=1) / np.sqrt(60)


def test_like_distances_pair_the_lowest_strata() -> None:
    d = np.array([[9, 2, 2, 5], [2, 9, 2, 5], [2, 2, 9, 1], [5, 5, 1, 9.0]])
    assert group_swap.greedy(d, "reuse") == [(2, 3, -1), (0, 1, -1)]
    assert group_swap.greedy(np.full((5, 5), 1.0) + np.diag([np.inf] * 5), "reuse")[-1] == (0, 4, 0)
    assert group_swap.greedy(np.full((5, 5), 1.0) + np.diag([np.inf] * 5), "leave") == [(0, 1, -1), (2, 3, -1)]


def test_pairs_by_hand() -> None:
    drawn = run(made(10), pairs="v3 ~ v0", n_swap="3")
    assert drawn.diagnostics["pairs"] == "v0 ~ v3"
    assert "2 strata have no partner and stay: 'v1', 'v2'" in str(drawn.diagnostics["warning"])
    for text, error in {
        "v0 ~ v9": "pairs: unknown stratum 'v9'",
        "v0 ~ v1; v1 ~ v2": "pairs: stratum 'v1' is named twice",
        "v0 - v1": "pairs: cannot read 'v0 - v1'",
        ";": "names no pair",
    }.items():
        with pytest.raises(UsageError, match=error):
            run(made(10), pairs=text, n_swap="3")


def test_an_odd_stratum_left_alone_is_named() -> None:
    drawn = run(made(11, 3), odd="leave", n_swap="3")
    assert "1 stratum has no partner and is left as it is: 'v" in str(drawn.diagnostics["warning"])


def test_refusals() -> None:
    data = numbered({"G": [0] * 74 + [1] * 90, "B": [0, 1] * 82}, {"u": [np.nan] * 3 + [1.0] * 161})
    with pytest.raises(EngineError, match=r"^stratum 'v0' has 74 records, cannot move 80$"):
        run(data, n_swap="80", numeric=())
    assert "stratum 'v0' moves whole" in str(run(data, n_swap="74", numeric=()).diagnostics["warning"])
    wanted = "^column 'u' has 3 missing values; fill, drop or recode them as a level before using it in CGS$"
    with pytest.raises(EngineError, match=wanted):
        run(data, numeric=("u",))
    with pytest.raises(EngineError, match=r"^need at least two strata$"):
        run(numbered({"G": [0] * 5}, {}), numeric=())
    for given_, error in (
        ({"strata": "H"}, "unknown attribute 'H'"),
        ({"strata": "G+G"}, "names an attribute twice"),
        ({"formula": "G"}, "formula names 'G', which defines the strata"),
        ({"formula": "G_raw"}, "formula names column 'G', which belongs to 'G' of the strata"),
        ({"formula": "w"}, "unknown column 'w'"),
        ({"n_swap": "3", "rate": "0.1"}, "exclude each other"),
        ({"n_swap": "-1"}, "must be at least 0"),
        ({"rate": "1.1"}, "must be between 0 and 1"),
        ({"mode": "rgs"}, "must be one of CGS, RGS"),
    ):
        with pytest.raises(UsageError, match=error):
            run(data, KEY, (), **given_)


def test_with_nothing_to_model_every_record_has_the_same_chance() -> None:
    drawn = run(numbered({"G": [0] * 5 + [1] * 7}, {}), n_swap="2", numeric=())
    assert "no column to model the strata with" in str(drawn.diagnostics["warning"])
    assert drawn.diagnostics["records_moved"] == 4


def test_strata_too_many_to_compare_are_refused_before_any_is() -> None:
    h = 201
    data = numbered({"G": np.arange(2 * h) % h}, {"u": np.arange(2.0 * h)})
    with pytest.raises(EngineError, match=r"^G define 201 strata.* 20,100 in all; at most 20,000 .* fewer attributes"):
        run(data, numeric=("u",), n_swap="1")
    by_hand = f"{data.domain.attributes[0].levels[0]} ~ {data.domain.attributes[0].levels[1]}"
    assert run(data, numeric=("u",), n_swap="1", pairs=by_hand).status == OK
