"""The yardstick in C that sweeps are held to: it must do the engine's work, or ratios flatter."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks import _yardstick
from benchmarks._tables import KEY, asked
from benchmarks._yardstick import FIGURES, NoCompiler, Space, Yardstick, apart, numbers_of
from engine.data.table import ContingencyTable
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release import space
from engine.release.spec import pairs_wanted
from engine.sweeps.evaluator import Evaluator
from engine.sweeps.groups import group

RATES = ("0.02", "0.1")


@dataclass
class Both:
    table: ContingencyTable
    structures: int
    ours: np.ndarray
    theirs: Space


@pytest.fixture(scope="module")
def yardstick(tmp_path_factory):
    raw, plan = load("czech")
    try:
        return Yardstick(tmp_path_factory.mktemp("yardstick"), code(raw, plan).table)
    except NoCompiler as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def both(yardstick):
    raw, plan = load("czech")
    table = code(raw, plan).table
    names = table.domain.names
    specs = space.scenarios(space.build(space.complete(names, names), table).specs, RATES)
    groups = group(specs, table)
    rows = Evaluator(asked(table), KEY).run_all([(one, (1,)) for one in groups]).rows
    at = rows[:, 0].astype(int)
    numbers = numbers_of([spec.attributes.roles for spec in specs])
    rates = np.array([RATES.index(spec.rate) for spec in specs])
    ours = np.column_stack([numbers[at], rates[at], rows[:, 3:]])
    wanted = [pairs_wanted(rate, table.n_records)[1] for rate in RATES]
    return Both(table, len(groups), ours, yardstick.space(wanted, processes=2))


@pytest.mark.slow
def test_it_has_the_same_candidates_in_as_many_structures(both):
    assert both.theirs.structures == both.structures and len(both.theirs.rows) == len(both.ours)
    assert {tuple(row) for row in both.theirs.rows[:, :2]} == {tuple(row) for row in both.ours[:, :2]}


@pytest.mark.slow
def test_its_figures_have_the_engines_means(both):
    assert np.abs(apart(both.ours, both.theirs.rows, len(both.table.domain))).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize("figure", range(len(FIGURES)))
def test_means_that_differ_by_a_fifth_are_told_apart(figure, both):
    rows = both.theirs.rows.copy()
    rows[:, 3 + figure] *= 1.2
    assert np.abs(apart(both.ours, rows, len(both.table.domain)))[:, figure].max() > 5


@pytest.mark.slow
def test_other_candidates_are_refused(both):
    with pytest.raises(ValueError, match="different candidates"):
        apart(both.ours[1:], both.theirs.rows, len(both.table.domain))


@pytest.mark.slow
def test_it_times_every_small_swap_at_every_rate(yardstick):
    times = yardstick.small([18, 92], 2, 1)
    assert len(times) == 2 * (6 + 15) and min(times.values()) >= 0
    assert {roles.count("S") for roles, _ in times} == {1, 2}


@pytest.mark.slow
def test_it_refuses_what_it_cannot_read(yardstick):
    with pytest.raises(subprocess.CalledProcessError):
        yardstick._ended(yardstick._start("unknown", "1", 1, 1, 1))


def test_without_a_compiler_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(_yardstick, "COMPILERS", ("no-such-compiler",))
    with pytest.raises(NoCompiler, match="no C compiler"):
        _yardstick.compiled(tmp_path)
