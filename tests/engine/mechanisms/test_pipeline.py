"""Mechanisms one after the other: what comes out is what the steps release, told against the original."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms.base import Drawn, Mechanism
from engine.mechanisms.group_swap import CGS
from engine.mechanisms.maps import MAPS
from engine.mechanisms.noise import CGS_NOISE, NOISE, as_microdata, compose, pipeline
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.examples import examples
from tests.numeric_data import numbered, with_numbers

KEY = derive(bytes(range(16)), "test")


def made(n: int = 60) -> Microdata:
    rng = np.random.default_rng(1)
    g = np.arange(n) % 3
    return numbered({"G": g, "H": rng.integers(0, 2, n)}, {"u": rng.normal(size=n) + g, "v": rng.normal(size=n)})


def run(mechanism: Mechanism, data: Microdata, numeric: tuple[str, ...] = ("u", "v"), **given: str) -> Drawn:
    setting = mechanism.setting(data, given, (0,), numeric)
    return mechanism.draw(mechanism.prepare(setting), setting, KEY)


def test_group_swap_then_noise_is_the_two_by_hand() -> None:
    data = made()
    both = run(CGS_NOISE, data, n_swap="4", within="G", c="0.5")
    swap = run(CGS, data, n_swap="4")
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
    data = made(300)
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
    data = made()
    only_noise = run(CGS_NOISE, data, n_swap="0")
    assert only_noise.status == RunStatus.OK and only_noise.touched.all()
    only_swap = run(CGS_NOISE, data, n_swap="4", c="0")
    assert only_swap.status == RunStatus.OK and only_swap.touched.sum() == only_swap.diagnostics["cgs.records_moved"]
    neither = run(CGS_NOISE, data, c="0")
    assert neither.status == RunStatus.NOOP and not neither.touched.any()
    assert neither.diagnostics["warning"] == "nothing is to move; no noise is asked for"


def test_steps_see_what_came_before_and_tables_multiply() -> None:
    """Three tables of swapped keys, each with noise of its own; twice noise adds up."""
    data = made()
    three = pipeline("t", "t", "t", (MAPS, NOISE))
    drawn = run(three, data, D="3", s="30", w0="0.1")
    assert three.many_tables and len(drawn.tables) == 3 and drawn.touched.shape == (3, 60)
    alone = run(MAPS, data, D="3", s="30", w0="0.1")
    for ours, theirs in zip(drawn.tables, alone.tables, strict=True):
        assert np.array_equal(ours.codes(0), theirs.codes(0))
    assert not np.array_equal(drawn.tables[0].numeric("u"), drawn.tables[1].numeric("u"))


def test_steps_with_equal_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="pipeline 'twice': several steps have a parameter 'cols'"):
        pipeline("twice", "", "", (NOISE, NOISE))


def test_what_a_later_step_refuses_is_refused_early() -> None:
    setting = CGS_NOISE.setting(made(), {"cols": "G"}, (0,), ("u", "v"))
    with pytest.raises(UsageError, match="makes the levels of 'G'"):
        CGS_NOISE.prepare(setting)
    with pytest.raises(UsageError, match="exclude each other"):
        CGS_NOISE.setting(made(), {"n_swap": "1", "rate": "0.1"}, (0,))


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
    data = made()
    source = np.arange(60)[::-1]
    first = ReleasedTable(data, source, (0,))
    with pytest.raises(EngineError, match="exchange different attributes"):
        compose(first, ReleasedTable(as_microdata(first), source, (1,)))


def test_missing_numbers_stay_missing() -> None:
    data = numbered({"G": [0, 1, 0]}, {"u": [1.0, np.nan, 3.0]})
    moved = as_microdata(ReleasedTable(data, numbers={"u": np.array([2.0, np.nan, 2.5])}))
    assert np.array_equal(ReleasedTable(moved).numeric("u"), [2.0, np.nan, 2.5], equal_nan=True)
