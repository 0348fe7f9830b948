"""Whatever is given to the public face, only the project's own errors come out."""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import engine as sf
from engine.measures import MEASURES
from engine.plan.samples import load
from engine.scripting.arguments import SweepOptions, View
from tests.engine.scripting.people import KEY, SPACE, people

ODD: tuple[Any, ...] = (
    *(True, "\ud800", "", " ", "nan", b"a", 1.5, float("nan"), float("inf"), -1, 1j, "a\0b", "x" * 300),
    *(10**400, 10**5000),
    *(object(), np.float32("nan"), np.datetime64("NaT"), pd.NA, pd.NaT, Decimal("sNaN"), datetime.date(2020, 1, 1)),
    *(
        np.array(3),
        np.array([[1, 2], [3, 4]]),
        np.ma.masked,
        np.void(b"a"),
        pd.Series([1, 2]),
        pd.DataFrame({"a": [1]}),
    ),
    *(len, int, range(3), slice(1, 2), ..., "1e999999999", "٣", {1}, {"a": 1}, ["A"], ("a", "b"), np.array(["a"])),
)
"""Single values; of each also a list, a grid and a column by its name are tried."""


def odd_values() -> Iterator[Any]:
    for value in ODD:
        yield from (value, [value], ["age", value], {"age": value}, {"rds": {"s": [value]}}, [["rds", value]])


def only_own_errors(call: Callable[[Any], object], values: Iterator[Any]) -> None:
    for value in values:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                call(value)
            except sf.EngineError as error:
                assert str(error)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some odd values are paths of files."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def swaps() -> Iterator[sf.Sweep]:
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rates", [["A"]]),
        ("rates", np.array([[0.1]])),
        ("swap_sizes", ["\ud800"]),
        ("mechanisms", np.array(3)),
    ],
)
def test_items_of_lists_are_checked(name: str, value: Any):
    with pytest.raises(sf.UsageError, match=name):
        sf.sweep(people(), ["age", "sex", "race"], key=KEY, **{**SPACE, name: value})


def test_an_index_is_a_number_or_a_name(swaps: sf.Sweep):
    wrong: tuple[Any, ...] = (np.array([1]), np.array([[1, 2], [3, 4]]), True)
    for value in wrong:
        with pytest.raises(sf.UsageError):
            swaps[value]
    only_own_errors(lambda value: isinstance(value, int) or swaps[value], odd_values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["data", "attributes", "plan", "key", "workers", "progress", *SweepOptions.__annotations__]
)
def test_an_argument_of_a_sweep(name: str):
    given = {"data": people(), "attributes": ["age", "sex", "race"], "key": KEY, **SPACE, "replicates": 1}
    if name == "plan":
        del given["attributes"]
    only_own_errors(lambda value: sf.sweep(**{**given, name: value}), odd_values())


@pytest.mark.slow
@pytest.mark.parametrize("call", [sf.open_study, sf.load, sf.risk_utility], ids=lambda call: call.__name__)
def test_an_argument_of_another_function(call: Callable[..., object]):
    right: dict[str, Any] = {
        "path": "nowhere.study",
        "name_or_path": "czech",
        "original": people(),
        "released": people(),
    }
    parameters = inspect.signature(call).parameters
    given = {name: right[name] for name in parameters if name in right}
    for name, parameter in parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            only_own_errors(lambda value, name=name: call(**{**given, name: value}), odd_values())  # type: ignore[misc]


def methods() -> Iterator[Any]:
    for kind in (sf.Sweep, sf.Candidate):
        yield from (f for name, f in vars(kind).items() if inspect.isfunction(f) and name[0] != "_" and name != "close")


@pytest.mark.slow
@pytest.mark.parametrize("method", [*methods()], ids=lambda method: method.__qualname__)
def test_an_argument_of_a_method(method: Any, tmp_path: Path):
    right: dict[str, Any] = {"data": people(), "measures": ["hellinger"], "path": tmp_path / "no" / "x.study"}
    parameters = dict(inspect.signature(method).parameters)
    required = {n: right[n] for n, p in parameters.items() if n in right and p.default is p.empty}
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        owner = made if method.__qualname__.startswith("Sweep") else made[0]
        names = [n for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD and n != "self"]
        if len(names) + 1 < len(parameters):
            names += (SweepOptions if method.__name__ == "extend" else View).__annotations__
        for name in names:
            if (method.__name__, name) != ("extend", "replicates"):  # which runs as many as it is told
                only_own_errors(lambda v, name=name: method(owner, **{**required, name: v}), odd_values())  # type: ignore[misc]


@pytest.mark.slow
def test_a_field_of_a_plan_a_measure_and_a_mechanism():
    plan, measure = load("czech")[1], MEASURES["hellinger"]
    parts: list[Any] = [plan, plan.data, plan.space, plan.decision, plan.about, plan.publish, plan.tolerances]
    own = sf.Mechanism("m", "t", "s", "w", "r", lambda setting: None, lambda *drawn: None)  # type: ignore[arg-type]
    for part in (*parts, measure, own):
        for field in dataclasses.fields(part):
            only_own_errors(lambda v, part=part, n=field.name: dataclasses.replace(part, **{n: v}), odd_values())  # type: ignore[misc]
    for register in (sf.register_measure, sf.register_mechanism):
        only_own_errors(register, odd_values())
