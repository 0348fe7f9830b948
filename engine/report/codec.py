"""Frozen values to JSON and back: what a value's type does not declare is neither written nor read."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from engine.common.untrusted import parse, plain_json

T = TypeVar("T")


def to_text(value: Any) -> str:
    """JSON text of a value; an undefined figure is null.  What is no plain value is a :class:`TypeError`."""
    plain = json.loads(msgspec.json.encode(value, enc_hook=_figure))
    # json.dumps would write the same with an indent ten times as slowly
    compact = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return msgspec.json.format(compact, indent=1) + "\n"


def as_read(value: T) -> T:
    """The value that is read from its own JSON text."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_figure), type=type(value))


def _figure(value: Any) -> float:
    if isinstance(value, float):  # one of NumPy's
        return float(value)
    raise TypeError(f"a report holds {type(value).__name__}, which is no plain value")


def from_text(kind: type[T], text: str, where: str) -> T:
    """The value of that type in a JSON text; an :class:`EngineError` names what does not belong, by its place."""
    return parse(kind, plain_json(text, where), where)
