"""Additive noise: the twin's numbers from the same normal numbers, moments in expectation, what is refused; mechanisms
one after the other: what comes out is what the steps release.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms import noise
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.mechanisms.group_swap import CGS
from engine.mechanisms.maps import MAPS
from engine.mechanisms.noise import CGS_NOISE, NOISE, as_microdata, compose, pipeline
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.examples import examples
from tests.numeric_data import numbered, with_numbers
from tests.twins import noise as twin

KEY = derive(bytes(range(16)), "test")


def made(n: int = 40) -> Microdata:
    rng = np.random.default_rng(1)
    g = np.repeat([0, 1], n // 2)
    y = rng.normal(size=(n, 3)) @ np.array([[2, 1, 0.5], [0, 1, -0.4], [0, 0, 300]]) + 1e6
    return numbered({"G": g}, {"a": y[:, 0], "b": y[:, 1] + 3 * g, "d": y[:, 2]})


def run(data: Microdata, derived: bytes = KEY, **given: str) -> Drawn:
    setting = NOISE.setting(data, given, (0,), [name for name in data.raw.names if name not in data.domain.names])
    return NOISE.draw(NOISE.prepare(setting), setting, derived)


def columns(table: ReleasedTable, names: str = "abd") -> np.ndarray:
    return np.column_stack([table.numeric(name) for name in names])


@pytest.mark.parametrize("rescale", ["yes", "no"])
@pytest.mark.parametrize("within", ["", "G"])
def test_numbers_are_the_twins(rescale: str, within: str) -> None:
    data = made()
    drawn = run(data, c="0.3", rescale=rescale, within=within)
    x, z = columns(ReleasedTable(data)), table_stream(KEY, 1).standard_normal((40, 3))
    parts = [slice(0, 20), slice(20, 40)] if within else [slice(0, 40)]
    expected = np.concatenate([twin.noisy(x[p].tolist(), z[p].tolist(), 0.3, rescale == "yes") for p in parts])
    assert drawn.status == RunStatus.OK and drawn.touched.all()
    np.testing.assert_allclose(columns(drawn.tables[0]), expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("rescale, factor", [("no", 1.4), ("yes", 1.0)])
def test_means_covariances_and_correlations_in_expectation(rescale: str, factor: float) -> None:
    data, runs = made(), 2500
    setting = NOISE.setting(data, {"c": "0.4", "rescale": rescale}, (), ("a", "b", "d"))
    prepared = NOISE.prepare(setting)
    found, means = np.empty((runs, 3, 3)), np.empty((runs, 3))
    for one in range(runs):
        x = columns(NOISE.draw(prepared, setting, derive(KEY, "run", (one,))).tables[0])
        found[one], means[one] = np.cov(x, rowvar=False), x.mean(axis=0)
    x = columns(ReleasedTable(data))
    for seen, expected in ((found, factor * np.cov(x, rowvar=False)), (means, x.mean(axis=0))):
        se = seen.std(axis=0, ddof=1) / np.sqrt(runs)
        assert (np.abs(seen.mean(axis=0) - expected) < 4 * se).all()
    spread = np.diagonal(found, axis1=1, axis2=2).mean(axis=0) / np.diagonal(np.cov(x, rowvar=False))
    assert spread == pytest.approx(factor, abs=0.05)


@pytest.mark.slow
@examples(60)
@given(
    data=with_numbers(),
    c=st.sampled_from(["0", "0.15", "2.5"]),
    rescale=st.sampled_from(["yes", "no"]),
    within=st.booleans(),
)
def test_what_must_hold(data: Microdata, c: str, rescale: str, within: bool) -> None:
    drawn = run(data, c=c, rescale=rescale, within="A" if within else "")
    (table,), original = drawn.tables, ReleasedTable(data)
    for j in range(len(data.codes)):
        assert np.array_equal(table.codes(j), data.codes[j])
    changed = np.zeros(data.n_records, bool)
    sizes = np.bincount(data.codes[0])[data.codes[0]]
    for name in [name for name in data.raw.names if name.startswith("y")]:
        before, after = original.numeric(name), table.numeric(name)
        changed |= before != after
        assert np.isfinite(after).all()
        if c == "0" or len(set(before.tolist())) == 1:
            assert np.array_equal(before, after)
        if within:
            assert np.array_equal(before[sizes == 1], after[sizes == 1])
    assert np.array_equal(changed, drawn.touched[0])
    assert drawn.status == (RunStatus.NOOP if c == "0" else RunStatus.OK)
    again = run(data, c=c, rescale=rescale, within="A" if within else "")
    assert all(np.array_equal(table.numeric(n), again.tables[0].numeric(n)) for n in data.raw.names if n[0] == "y")


def test_a_column_that_follows_another_still_does() -> None:
    x = np.random.default_rng(2).normal(size=30)
    table = run(numbered({"G": [0, 1] * 15}, {"a": x, "b": 5 - 2 * x, "flat": np.full(30, 7.0)}), c="1").tables[0]
    assert table.numeric("b") == pytest.approx(5 - 2 * table.numeric("a"), abs=1e-6)
    assert (table.numeric("flat") == 7).all()


def test_units_do_not_matter() -> None:
    data = made()
    x = columns(ReleasedTable(data))
    scaled = numbered({"G": data.codes[0]}, {"a": x[:, 0], "b": x[:, 1], "d": x[:, 2] * 1024})
    one, other = (columns(run(which).tables[0]) for which in (data, scaled))
    np.testing.assert_allclose(one * [1, 1, 1024], other, rtol=1e-12)


def test_rounding_and_cutting_are_flagged() -> None:
    rng = np.random.default_rng(3)
    data = numbered({"G": [0, 1] * 50}, {"whole": rng.integers(0, 4, 100).astype(float), "y": rng.normal(size=100)})
    drawn = run(data, c="1", round="yes", clip="yes")
    whole = drawn.tables[0].numeric("whole")
    assert set(whole.tolist()) <= {0.0, 1.0, 2.0, 3.0}
    text = str(drawn.diagnostics["warning"])
    assert "rounded to whole numbers, which moves covariances: whole" in text
    assert f"{int(drawn.diagnostics['cut_values'])} values cut to the range of the original" in text
    free = run(data, c="1", rescale="no")
    assert "warning" not in free.diagnostics and "cut_values" not in free.diagnostics
    assert free.tables[0].numeric("whole").min() < 0


def test_refusals_and_warnings() -> None:
    data = numbered({"G": [0, 0, 0, 1]}, {"y": [1.0, 2.0, np.nan, 3.0], "z": [1.0, 5.0, 2.0, 2.0], "f": [1.0] * 4})
    wanted = "^column 'y' has 1 missing values; fill, drop or recode them as a level before using it in noise$"
    with pytest.raises(EngineError, match=wanted):
        run(data)
    drawn = run(data, cols="z+f", within="G")
    assert drawn.diagnostics["warning"] == (
        "1 records are alone in their stratum and get no noise; columns without variation get no noise: f"
    )
    assert drawn.touched[0].tolist() == [True, True, True, False]
    for given_, error in (
        ({"cols": "G"}, "column 'G' makes the levels of 'G'"),
        ({"cols": "z+z"}, "names a column twice"),
        ({"cols": "w"}, "unknown column 'w'"),
        ({"cols": "z", "within": "z"}, "unknown attribute 'z'"),
        ({"c": "-1"}, "must be at least 0"),
    ):
        with pytest.raises(UsageError, match=error):
            run(data, KEY, **given_)
    with pytest.raises(UsageError, match="column 'z' is the weight of records"):
        run(replace(data, weight="z"), cols="z")
    with pytest.raises(UsageError, match="noise needs at least one numeric column"):
        setting = NOISE.setting(data, {}, (0,), ("G",))
        noise.prepare(setting)


def with_strata(n: int = 60) -> Microdata:
    rng = np.random.default_rng(1)
    g = np.arange(n) % 3
    return numbered({"G": g, "H": rng.integers(0, 2, n)}, {"u": rng.normal(size=n) + g, "v": rng.normal(size=n)})


def run_steps(mechanism: Mechanism, data: Microdata, numeric: tuple[str, ...] = ("u", "v"), **given: str) -> Drawn:
    setting = mechanism.setting(data, given, (0,), numeric)
    return mechanism.draw(mechanism.prepare(setting), setting, KEY)


def test_group_swap_then_noise_is_the_two_by_hand() -> None:
    data = with_strata()
    both = run_steps(CGS_NOISE, data, n_swap="4", within="G", c="0.5")
    swap = run_steps(CGS, data, n_swap="4")
    assert np.array_equal(both.tables[0].codes(0), swap.tables[0].codes(0))
    setting = NOISE.setting(as_microdata(swap.tables[0]), {"within": "G", "c": "0.5"}, (0,), ("u", "v"))
    then = NOISE.draw(NOISE.prepare(setting), setting, derive(KEY, "step", (1, 0)))
    for name in ("u", "v"):
        assert np.array_equal(both.tables[0].numeric(name), then.tables[0].numeric(name))
    assert both.status == RunStatus.OK and both.tables[0].data is data
    assert np.array_equal(both.touched, swap.touched | then.touched)
    assert both.diagnostics["cgs.records_moved"] == swap.diagnostics["records_moved"]
    assert both.diagnostics["noise.c"] == 0.5


@pytest.mark.slow
def test_noise_within_released_strata_keeps_their_covariances_on_average() -> None:
    """Within means the strata as released: the noise has the covariance of the records that are shown in them."""
    data = with_strata(300)
    setting = CGS_NOISE.setting(data, {"n_swap": "30", "mode": "RGS", "within": "G", "c": "1"}, (0,), ("u", "v"))
    prepared, ratios = CGS_NOISE.prepare(setting), []
    for one in range(150):
        table = CGS_NOISE.draw(prepared, setting, derive(KEY, "run", (one,))).tables[0]
        for s in range(3):
            shown = table.codes(0) == s
            before = np.var(ReleasedTable(data).numeric("u")[shown])
            ratios.append(np.var(table.numeric("u")[shown]) / before)
    assert abs(np.mean(ratios) - 1) < 4 * np.std(ratios, ddof=1) / np.sqrt(len(ratios))


def test_touched_is_of_any_step_and_the_status_that_of_all() -> None:
    data = with_strata()
    only_noise = run_steps(CGS_NOISE, data, n_swap="0")
    assert only_noise.status == RunStatus.OK and only_noise.touched.all()
    only_swap = run_steps(CGS_NOISE, data, n_swap="4", c="0")
    assert only_swap.status == RunStatus.OK and only_swap.touched.sum() == only_swap.diagnostics["cgs.records_moved"]
    neither = run_steps(CGS_NOISE, data, c="0")
    assert neither.status == RunStatus.NOOP and not neither.touched.any()
    assert neither.diagnostics["warning"] == "nothing is to move; no noise is asked for"


def test_steps_see_what_came_before_and_tables_multiply() -> None:
    """Three tables of swapped keys, each with noise of its own; twice noise adds up."""
    data = with_strata()
    three = pipeline("t", "t", "t", (MAPS, NOISE))
    drawn = run_steps(three, data, D="3", s="30", w0="0.1")
    assert three.many_tables and len(drawn.tables) == 3 and drawn.touched.shape == (3, 60)
    alone = run_steps(MAPS, data, D="3", s="30", w0="0.1")
    for ours, theirs in zip(drawn.tables, alone.tables, strict=True):
        assert np.array_equal(ours.codes(0), theirs.codes(0))
    assert not np.array_equal(drawn.tables[0].numeric("u"), drawn.tables[1].numeric("u"))


def test_steps_with_equal_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="pipeline 'twice': several steps have a parameter 'cols'"):
        pipeline("twice", "", "", (NOISE, NOISE))


def test_what_a_later_step_refuses_is_refused_early() -> None:
    setting = CGS_NOISE.setting(with_strata(), {"cols": "G"}, (0,), ("u", "v"))
    with pytest.raises(UsageError, match="makes the levels of 'G'"):
        CGS_NOISE.prepare(setting)
    with pytest.raises(UsageError, match="exclude each other"):
        CGS_NOISE.setting(with_strata(), {"n_swap": "1", "rate": "0.1"}, (0,))


@st.composite
def chains(draw: st.DrawFn) -> tuple[ReleasedTable, ReleasedTable]:
    """A release with exchanges, new levels and new numbers, and a release of it in turn."""
    data = draw(with_numbers(12))
    n, d = data.n_records, len(data.codes)
    swapped = draw(st.lists(st.integers(0, d - 1), unique=True, max_size=d))

    def released(of: Microdata) -> ReleasedTable:
        source = np.array(draw(st.permutations(range(n)))) if draw(st.booleans()) else None
        replaced = {}
        if draw(st.booleans()):
            j = draw(st.integers(0, d - 1))
            top = int(of.domain.shape[j]) - 1
            replaced[j] = np.array(draw(st.lists(st.integers(0, top), min_size=n, max_size=n)), np.int32)
        numbers = {}
        if draw(st.booleans()):
            numbers["y0"] = np.array(draw(st.lists(st.floats(-9, 9), min_size=n, max_size=n)))
        return ReleasedTable(of, source, swapped, replaced, numbers)

    first = released(data)
    return first, released(as_microdata(first))


@examples(100)
@given(chain=chains())
def test_a_release_of_a_release_is_one_of_the_original(chain: tuple[ReleasedTable, ReleasedTable]) -> None:
    first, second = chain
    one = compose(first, second)
    assert one.data is first.data
    for j in range(len(first.data.codes)):
        assert np.array_equal(as_microdata(first).codes[j], first.codes(j))
        assert np.array_equal(one.codes(j), second.codes(j))
    for name in first.data.raw.names:
        if name.startswith("y"):
            assert np.array_equal(one.numeric(name), second.numeric(name))


def test_exchanges_of_different_attributes_cannot_be_one() -> None:
    data = with_strata()
    source = np.arange(60)[::-1]
    first = ReleasedTable(data, source, (0,))
    with pytest.raises(EngineError, match="exchange different attributes"):
        compose(first, ReleasedTable(as_microdata(first), source, (1,)))


def test_missing_numbers_stay_missing() -> None:
    data = numbered({"G": [0, 1, 0]}, {"u": [1.0, np.nan, 3.0]})
    moved = as_microdata(ReleasedTable(data, numbers={"u": np.array([2.0, np.nan, 2.5])}))
    assert np.array_equal(ReleasedTable(moved).numeric("u"), [2.0, np.nan, 2.5], equal_nan=True)
