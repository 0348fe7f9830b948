"""Measures and mechanisms that a script registered, on their way to other processes.

A worker imports this package and knows what is in it.  What a script has registered travels beside the question, as a
reference to the functions that it consists of; the worker must be able to import these.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from engine import measures, mechanisms
from engine.common.errors import UsageError
from engine.measures import Measure, MeasureCall
from engine.mechanisms import Mechanism
from engine.plan import Plan

Registered = Measure | Mechanism


def registered_parts(calls: Sequence[MeasureCall], plan: Plan) -> tuple[Registered, ...]:
    """The measures called and the mechanisms planned that do not belong to the package."""
    return (
        *measures.MEASURES.registered(call.measure.name for call in calls),
        *mechanisms.MECHANISMS.registered(declared.name for declared in plan.mechanisms),
    )


def register_parts(parts: Sequence[Registered]) -> None:
    """Register on a worker what :func:`registered_parts` found where the sweep was started."""
    for part in parts:
        if isinstance(part, Measure):
            measures.register(part)
        else:
            mechanisms.register(part)


def can_travel(parts: Sequence[Registered], *, far: bool = False) -> bool:
    """Return whether other processes can import all functions of ``parts``; ``far`` on other machines, where the script
    that was started is not."""
    return all(not _not_importable(part, far) for part in parts)


def check_travel(parts: Sequence[Registered], *, far: bool = False) -> None:
    """Refuse (:class:`UsageError`) what another process cannot import."""
    for part in parts:
        function = _not_importable(part, far)
        if function:
            noun = "measure" if isinstance(part, Measure) else "mechanism"
            instead = "" if far else ", or run the sweep with one worker"
            raise UsageError(
                f"{noun} '{part.name}' cannot be sent to other processes, because they cannot import its function "
                f"'{function}'; define it at the top of a module of its own{instead}"
            )


def _not_importable(part: Registered, far: bool) -> str:
    """The name of a function of ``part`` that another process cannot import; empty where there is none."""
    return next((_name(value) for value in _callables(part) if not _is_importable(value, far)), "")


def _callables(part: object) -> list[Any]:
    values = [getattr(part, f.name) for f in fields(part)] if is_dataclass(part) else []
    return [value for value in values if callable(value)]


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _is_importable(function: Any, far: bool) -> bool:
    # a new process of this machine runs the script again; what was typed into a session stands in no file
    script = not far and hasattr(sys.modules["__main__"], "__file__")
    if getattr(function, "__module__", None) == "__main__" and not script:
        return False
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):  # what pickle raises for lambdas and inner functions
        return False
    return True
