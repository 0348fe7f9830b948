"""Arguments of the public functions and methods: what each may be, by its name.

:func:`public` checks them in one place before the function is called, so that a wrong one is refused in a sentence that
names it, and whole numbers, numbers and lists of any library arrive as Python's own.
"""

from __future__ import annotations

import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, Set
from contextlib import contextmanager
from decimal import Decimal
from functools import wraps
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.streams import KEY_BYTES
from engine.common.wording import quoted
from engine.plan import Plan
from engine.plan.edit import PlanEntries
from engine.sweeps.workers import check_workers

REMEDIES = {
    Remedy.ATTRIBUTES: "attributes=['a', 'b']",
    Remedy.ATTRIBUTES_AND_CUTS: "attributes=['a', 'b'] and cut={{'a': [25, 55]}}",
    Remedy.CLEAN_NAMES: "load(PATH, clean_names=True) gives a DataFrame with such names",
    Remedy.CUT: "cut={{'{column}': [{edges}]}}",
    Remedy.DROP: "drop=['{column}']",
    Remedy.FIRST_PLAN: "without plan=, attributes=['a', 'b'] make one",
    Remedy.EXTEND: "extend(data, ...)",
    Remedy.FAILED_RUNS: "allow_partial=True",
    Remedy.FEWER_SWAPS: "swap=['a', 'b'] or search=True",
    Remedy.ID_COLUMN: "id='{column}', carry=['{column}'] or drop=['{column}']",
    Remedy.KEYS: "keys=['a', 'b']",
    Remedy.KEY_FILE: "key=PATH",
    Remedy.MECHANISMS: "list_mechanisms()",
    Remedy.NEW_STUDY: "sweep(data, study='{study}')",
    Remedy.NUMERIC_COLUMN: "cut={{'{column}': [{edges}]}}, carry=['{column}'] or drop=['{column}']",
    Remedy.ONE_WORKER: "workers=1, or put the call under if __name__ == '__main__': a worker runs the script again",
    Remedy.REASON: "why='...'",
    Remedy.REPLICATES: "extend(data, replicates=20)",
    Remedy.RULE: "choose('ID'), choose(max_risk=A) or choose(slope=A)",
    Remedy.SMALLER_SPACE: "search=True, fix=[...], change=[...], swap=[...] or swap_sizes=[...]",
    Remedy.SPACE: "specs=[...], swap_sizes=[...] or all_specs=True",
    Remedy.SWEEP: "sweep(data, study=PATH)",
}
"""What mends an error, where an argument or a method does."""


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Add to the sentence of an error the argument that mends it, where there is one."""
    try:
        yield
    except EngineError as error:
        if error.remedy not in REMEDIES:
            raise
        hint = REMEDIES[error.remedy].format(**error.values)
        raise type(error)(f"{error} ({hint})") from None


Check = Callable[[str, Any], Any]
"""Returns the value of an argument (by its name) as the function wants it; refuses another one (UsageError)."""

P = ParamSpec("P")
T = TypeVar("T")

_QUOTED = (str, bytes, bool, int, float, Decimal, np.generic, list, tuple, dict, type(None))
_LONGEST_NAME = 255  # of one file, in every system


def _got(value: object) -> str:
    """A value as a sentence quotes it; of a large object its type."""
    if not isinstance(value, _QUOTED):
        return f"of type {type(value).__name__}"
    try:
        return quoted(value)
    except Exception:  # of an object of somebody else within a list
        return f"of type {type(value).__name__}"


def _held(value: object) -> str:
    got = _got(value)
    return got if isinstance(value, _QUOTED) else f"an object {got}"


def _refused(name: str, value: object, wanted: str) -> UsageError:
    return UsageError(f"{name} is {_got(value)}, must be {wanted}")


def text(name: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise _refused(name, value, "a text such as 'a'")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name} is {_got(value)}, which holds a half of a character and cannot be written") from None
    return value


def switch(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise _refused(name, value, "True or False")
    return bool(value)


def whole_number(name: str, value: Any) -> int:
    """A whole number of any library, but no truth value."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise _refused(name, value, "a whole number such as 2") from None


def number(name: str, value: Any) -> float:
    """A finite number of any library, but no truth value and no text."""
    try:
        if not isinstance(value, bool) and isinstance(value, Real | Decimal) and isfinite(value):
            return float(value)
    except (OverflowError, ValueError):  # whole numbers beyond all floats, and a signalling NaN
        pass
    raise _refused(name, value, "a number such as 0.01")


def decimal(name: str, value: Any) -> str:
    """A number that a plan keeps: its text, which may have been given as such."""
    if isinstance(value, str):
        return value
    number(name, value)
    return str(value)


def list_of(name: str, value: Any, wanted: str = "") -> list[Any]:
    """The items of a list, an array or a column; a text is no list of its letters, and a set has no order."""
    ordered = isinstance(value, KeysView) or not isinstance(value, Set)
    if ordered and not isinstance(value, str | bytes | Mapping) and isinstance(value, Iterable):
        try:
            items = list(value)
        except TypeError:  # an array without a dimension
            pass
        else:
            return [item.item() if isinstance(item, np.generic) else item for item in items]
    single = isinstance(value, str | int | float) and not isinstance(value, bool)
    such = f"a list such as [{quoted(value)}]" if single else "a list"
    raise _refused(name, value, wanted or such)


def rates(name: str, value: Any) -> list[Any]:
    """Rates as a plan reads them: numbers or their texts."""
    items = list(value) if isinstance(value, np.ndarray) and value.ndim else list_of(name, value)
    # a number of 32 bits by its text: 0.1 and not 0.10000000149
    return [str(item) if isinstance(item, np.floating) else item for item in items]


def texts(name: str, value: Any) -> list[str]:
    """A list of texts."""
    items = list_of(name, value, "" if isinstance(value, str) else "a list of texts such as ['a']")
    for item in items:
        if not isinstance(item, str):
            raise UsageError(f"{name} holds {_held(item)}, must hold texts such as 'a'")
        text(f"a text of {name}", item)
    return items


def text_or_texts(name: str, value: Any) -> str | list[str]:
    """A text, or a list of texts."""
    return text(name, value) if isinstance(value, str) else texts(name, value)


def workers(name: str, value: Any) -> int:
    """A number of processes."""
    number_of_processes = whole_number(name, value)
    check_workers(number_of_processes)
    return number_of_processes


def path(name: str, value: Any) -> str | Path:
    """The path of a file, or the name of a sample."""
    if not isinstance(value, str | Path):
        raise UsageError(f"{name} is of type {type(value).__name__}, must be a path as text or as a Path")
    _refuse_impossible(name, value)
    return value


def _refuse_impossible(name: str, value: str | Path) -> None:
    """Refuse a path that no file of any system has."""
    try:
        possible = (
            bool(str(value))
            and b"\0" not in os.fsencode(value)
            and all(len(part) <= _LONGEST_NAME for part in Path(value).parts)
        )
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise UsageError(f"{name} is {_got(str(value))}, which is no path of a file")


def records(name: str, value: Any) -> Any:
    """A DataFrame, the path of a file, or the name of a sample."""
    pandas = sys.modules.get("pandas")  # nobody has a DataFrame before it is imported
    if isinstance(value, str | Path):
        return path(name, value)
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return value
    raise UsageError(
        f"{name} is of type {type(value).__name__}, must be a pandas DataFrame, the path of a file or the name of a "
        "sample"
    )


def study_key(name: str, value: Any) -> bytes | str | Path:
    """A study key or the path of its file."""
    if not isinstance(value, bytes | str | Path):
        raise UsageError(
            f"{name} is of type {type(value).__name__}, must be 16 bytes or the path of the file that holds them"
        )
    if not isinstance(value, bytes):
        return path(name, value)
    if len(value) != KEY_BYTES:
        raise UsageError(f"{name} has {len(value):,} bytes, must have {KEY_BYTES}")
    return value


def plan_source(name: str, value: Any) -> Plan | str | Path:
    """A plan, the path of its file, or its text."""
    if not isinstance(value, Plan | str | Path):
        raise UsageError(f"{name} is of type {type(value).__name__}, must be a Plan, a path or the text of one")
    return value if isinstance(value, Plan) or "\n" in str(value) else path(name, value)


def cuts(name: str, value: Any) -> dict[Any, list[Any]]:
    """Edges by column."""
    if not isinstance(value, Mapping):
        raise _refused(name, value, "columns with their edges such as {'age': [25, 55]}")
    texts(f"the columns of {name}", list(value))
    edges = {column: list_of(f"{name} of {quoted(column)}", listed) for column, listed in value.items()}
    for column, listed in edges.items():
        for edge in listed:
            number(f"an edge of {name} of {quoted(column)}", edge)
    return edges


def mechanisms(name: str, value: Any) -> list[tuple[str, dict[Any, Any]]]:
    """Mechanisms with their parameters: names with grids, names alone, or pairs of both."""
    wanted = "names with parameters such as {'rds': {'s': 3}}"
    if isinstance(value, Mapping):
        value = list(value.items())
    pairs = []
    for item in list_of(name, value, wanted):
        pair = (item, {}) if isinstance(item, str) else item
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise UsageError(f"{name} holds {_held(pair)}, must be {wanted}")
        mechanism, grid = pair
        if not isinstance(mechanism, str) or not isinstance(grid, Mapping):
            raise UsageError(f"{name} has {_held(grid)} for {_held(mechanism)}, must be {wanted}")
        texts(f"the parameters of '{mechanism}'", list(grid))
        pairs.append((mechanism, {parameter: _values(values) for parameter, values in grid.items()}))
    return pairs


def _values(values: Any) -> Any:
    """One value of a parameter, or the list of several."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Set | Mapping):
        return list_of("a parameter", values)
    return values.item() if isinstance(values, np.generic) else values


Mechanisms = Mapping[str, Any] | Sequence[str | tuple[str, Mapping[str, Any]]]
"""Mechanisms by name with their parameters, or names alone; a list of (name, parameters) may name one twice."""


class SweepOptions(PlanEntries, total=False):
    """Entries of the plan that :func:`engine.sweep` takes besides its named parameters."""

    cut: Mapping[str, Sequence[float]]
    carry: Sequence[str]
    drop: Sequence[str]
    weight: str
    id: str
    unit: str | Sequence[str]
    mechanisms: Mechanisms


class View(TypedDict, total=False):
    """The terms by which candidates are compared: the measure of ``risk`` and that of ``utility``, or any measures as
    ``objectives``; ``allow_partial`` lets runs count that found too few partners."""

    risk: str
    utility: str
    objectives: Sequence[str]
    allow_partial: bool


_OF_TYPE: dict[str, Check] = {
    "Data": records,
    "Iterable[str]": texts,
    "Mapping[str, Sequence[float]]": cuts,
    "Mechanisms": mechanisms,
    "PlanSource": plan_source,
    "Sequence[float | str]": rates,
    "Sequence[int]": list_of,
    "Sequence[str]": texts,
    "bool": switch,
    "bytes | str | Path": study_key,
    "float": number,
    "float | str": decimal,
    "int": whole_number,
    "str": text,
    "str | Path": path,
    "str | Sequence[str]": text_or_texts,
}
"""What an argument may be, by its annotation."""


def _checks_of(signature: inspect.Signature) -> dict[str, Check]:
    """The check of every argument of a public function, those after ``**`` too."""
    named: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            further = SweepOptions if "SweepOptions" in parameter.annotation else View
            named = {option: kind.__forward_arg__ for option, kind in further.__annotations__.items()} | named
        elif name != "self":
            named[name] = parameter.annotation
    return {
        name: workers if name == "workers" else _OF_TYPE[kind.removesuffix(" | None")] for name, kind in named.items()
    }


def public(function: Callable[P, T]) -> Callable[P, T]:
    """Check the arguments of a public function by their names and annotations.

    It also adds to an error the argument that mends it.  An optional argument that is None counts as left out.
    """
    call: Callable[..., T] = function
    signature = inspect.signature(function)
    checks = _checks_of(signature)
    required = {name for name, parameter in signature.parameters.items() if parameter.default is parameter.empty}

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        with naming_arguments():
            values = _by_name(function.__name__, signature, list(checks), args, kwargs)
            values = {name: value for name, value in values.items() if value is not None or name in required}
            return call(**{name: checks[name](name, v) if name in checks else v for name, v in values.items()})

    return checked


def _by_name(
    function: str, signature: inspect.Signature, known: list[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by their names; refuses unknown, missing and superfluous ones."""
    for name in kwargs:
        if name not in known:
            raise UsageError(f"{function} has no argument '{name}'.{did_you_mean(name, known)}")
    try:
        values = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError as error:  # one is missing, given twice or one too many
        raise UsageError(f"{function}: {error}") from None
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            values |= values.pop(name, {})
    return values
