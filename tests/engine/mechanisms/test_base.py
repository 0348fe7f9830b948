"""What a mechanism's draw returns, which may be a script's own function."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import EngineError, UsageError
from engine.data.domain import Attribute, Domain
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.mechanisms import MECHANISMS, register
from engine.mechanisms.base import Drawn
from engine.mechanisms.noise import NOISE
from engine.plan import MechanismPlan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.parameter import Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
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
        tried(lambda prepared, setting, derived: Drawn([ReleasedTable(setting.data)], RunStatus.OK, touched, {}))
    assert str(refused.value) == (
        f"mechanism 'own': touched is {got}, must be an array of bool, shape (1, {N}) (tables by records)."
    )


def test_a_draw_that_is_not_drawn_is_refused():
    with pytest.raises(
        UsageError, match=r"mechanism 'own': draw returned an object of type tuple, must return a Drawn\."
    ):
        tried(lambda prepared, setting, derived: ([ReleasedTable(setting.data)], RunStatus.OK))


ALL = np.ones((1, N), bool)
COUNTED: dict[str, Any] = {"n": np.int64(2)}


def source(record: int, value: int) -> np.ndarray:
    """Every record its own source but for one."""
    carried = np.arange(N)
    carried[record] = value
    return carried


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"source": source(3, -1), "swapped": (0,)}, "source holds -1, must hold whole numbers from 0 to 1,840"),
        ({"source": source(3, N), "swapped": (0,)}, "source holds 1841, must hold whole numbers from 0 to 1,840"),
        ({"source": np.zeros(N), "swapped": (0,)}, "source is no array of 1,841 whole numbers"),
        ({"replaced": {0: np.full(N, 2)}}, "the codes of 'A' holds 2, must hold whole numbers from 0 to 1"),
        ({"replaced": {9: np.zeros(N, int)}}, "a table changes the attribute 9, must be a position from 0 to 5"),
        ({"numbers": {"pay": np.zeros(N)}}, "a table has numbers for 'pay', which is no column of the data"),
        ({"numbers": {"A": np.zeros(3)}}, "the numbers of 'A' are of shape (3,), must be 1,841 numbers"),
    ],
)
def test_a_table_that_cannot_be_is_refused(parts, sentence):
    with pytest.raises(UsageError, match=re.escape(f"mechanism 'own': {sentence}")):
        tried(lambda prepared, setting, derived: Drawn([ReleasedTable(setting.data, **parts)], RunStatus.OK, ALL, {}))


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"tables": []}, "draw returned 0 tables, must return 1"),
        ({"tables": [1]}, "tables is an object of type list, must be a list of ReleasedTable"),
        ({"status": 99}, "status is 99, must be one of 0 (ok), 1 (failed), 2 (noop), 3 (partial)"),
        ({"status": "ok"}, "status is 'ok', must be one of 0 (ok)"),
        ({"diagnostics": None}, "diagnostics is None, must be a dict of numbers and texts"),
        ({"diagnostics": {"n": [1]}}, "diagnostics has an object of type list for 'n'"),
        ({"touched": np.zeros((1, N), bool)}, "touched is False for 2 records that the draw changed"),
    ],
)
def test_a_draw_that_contradicts_itself_is_refused(parts, sentence):
    def draw(prepared, setting, derived):
        codes = setting.data.codes[0].copy()
        codes[[0, -1]] = codes[[-1, 0]]  # the first record has the first level, the last one the last
        table = ReleasedTable(setting.data, replaced={0: codes})
        return Drawn([table], RunStatus.OK, ALL, COUNTED)._replace(**parts)

    with pytest.raises(UsageError, match=re.escape(f"mechanism 'own': {sentence}")):
        tried(draw)


def test_counts_of_a_library_are_plain_numbers_among_the_diagnostics():
    made = replace(NOISE, name="own", parameters=(), amounts=(), fit=(), draw=lambda *given: unaltered(given[1]))
    raw, plan = load("czech")
    setting = made.setting(code(raw, plan), {}, (0,))
    assert json.dumps(made.draw_replicate(None, setting, bytes(32)).diagnostics) == '{"n": 2}'


def unaltered(setting: Setting) -> Drawn:
    return Drawn([ReleasedTable(setting.data)], RunStatus.OK, ALL, COUNTED)


@pytest.mark.parametrize("part", ["prepare", "draw", "changes"])
def test_an_error_in_a_function_of_a_script_names_the_mechanism(part):
    def failing(*given: object) -> None:
        raise KeyError("pay")

    with pytest.raises(EngineError, match="mechanism 'own' failed: KeyError: 'pay'") as failed:
        tried(**{"draw": lambda prepared, setting, derived: unaltered(setting), part: failing})
    assert isinstance(failed.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"draw": 5}, "draw is of type int, must be a function"),
        ({"title": None}, "title is of type NoneType, must be a text"),
        ({"parameters": []}, "parameters is of type list, must be a tuple"),
        ({"parameters": ("s",)}, "parameters holds 's', not a Parameter"),
        ({"fit": ("share",)}, "fit names 'share', which is no parameter of it"),
        ({"many_tables": 2}, "many_tables is of type int, must be True or False"),
    ],
)
def test_a_field_of_another_type_is_refused_when_a_mechanism_is_made(fields, sentence):
    with pytest.raises(UsageError, match=f"mechanism 'noise': {sentence}"):
        replace(NOISE, **fields)


def test_what_is_no_mechanism_cannot_be_registered():
    wrong: Any = test_what_is_no_mechanism_cannot_be_registered
    with pytest.raises(UsageError, match="a mechanism to register is of type function, must be a Mechanism"):
        register(wrong)


def tried(draw, **fields) -> None:
    """Make the scenarios of a registered mechanism, which are drawn once on trial."""
    raw, plan = load("czech")
    bare = {"parameters": (), "amounts": (), "fit": (), "check": None, "changes": None, "prepare": lambda setting: None}
    register(replace(NOISE, name="own", **{**bare, "draw": draw, **fields}))
    try:
        record_scenarios(MechanismPlan("own"), plan, code(raw, plan))
    finally:
        MECHANISMS.unregister("own")


def test_a_record_that_got_the_values_of_its_like_is_unaltered_in_the_release():
    """Of two pairs that exchange, one is alike in all that stays; who reads the release cannot see its exchange."""
    columns = {"a": [0, 1, 0, 1], "b": [0, 0, 0, 1]}
    raw = RawTable(
        {name: RawColumn(name, pa.array(["0", "1"]), np.array(codes, np.int32)) for name, codes in columns.items()},
        4,
        "test",
    )
    domain = Domain(tuple(Attribute(name, ("0", "1")) for name in columns))
    data = Microdata(domain, tuple(column.codes for column in raw.columns.values()), raw)
    exchanged = ReleasedTable(data, np.array([1, 0, 3, 2]), (0,))
    own = replace(NOISE, draw=lambda *_: Drawn([exchanged], RunStatus.OK, np.ones((1, 4), bool), {}))
    setting = Setting(data, {}, (), (0,), (), beside=())
    drawn = own.draw_replicate(None, setting, bytes(32))
    assert drawn.status == RunStatus.OK
    assert drawn.tables[0].changed.tolist() == [False, False, True, True]
