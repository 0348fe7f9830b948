"""What a mechanism's draw returns, which may be a script's own function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.mechanisms import MECHANISMS, register
from engine.mechanisms.base import Drawn
from engine.mechanisms.noise import NOISE
from engine.plan import MechanismPlan
from engine.plan.recode import code
from engine.plan.samples import load
from engine.release.records import ReleasedTable
from engine.release.results import OK
from engine.sweeps.candidates import record_scenarios

N = 1841  # records of the sample


@pytest.mark.parametrize(
    ("touched", "got"),
    [
        (np.zeros(N, bool), f"an array of bool, shape ({N},)"),
        (np.zeros((2, N), bool), f"an array of bool, shape (2, {N})"),
        (np.zeros((1, N - 1), bool), f"an array of bool, shape (1, {N - 1})"),
        (np.zeros((1, N), np.int64), f"an array of int64, shape (1, {N})"),
        ([[False] * N], "an object of type list"),
    ],
)
def test_records_touched_that_are_not_tables_by_records_are_refused(touched, got):
    with pytest.raises(UsageError) as refused:
        tried(lambda prepared, setting, derived: Drawn([ReleasedTable(setting.data)], OK, touched, {}))
    assert str(refused.value) == (
        f"mechanism 'own': touched is {got}, must be an array of bool, shape (1, {N}) (tables by records)."
    )


def test_a_draw_that_is_not_drawn_is_refused():
    with pytest.raises(
        UsageError, match=r"mechanism 'own': draw returned an object of type tuple, must return a Drawn\."
    ):
        tried(lambda prepared, setting, derived: ([ReleasedTable(setting.data)], OK))


def tried(draw) -> None:
    """Make the scenarios of a registered mechanism, which are drawn once on trial."""
    raw, plan = load("czech")
    register(
        replace(NOISE, name="own", parameters=(), check=None, changes=None, prepare=lambda setting: None, draw=draw)
    )
    try:
        record_scenarios(MechanismPlan("own"), plan, code(raw, plan))
    finally:
        MECHANISMS.unregister("own")
