"""Additive noise: the twin's numbers from the same normal numbers, moments in expectation, and what is refused."""

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
from engine.mechanisms.base import Drawn, table_stream
from engine.mechanisms.noise import NOISE
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
