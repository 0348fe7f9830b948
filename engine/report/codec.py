"""Frozen values to JSON and back, field by field: what a value's type does not declare is neither written nor read."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from engine.common.errors import EngineError
from engine.common.untrusted import plain_json

T = TypeVar("T")
_LARGEST = 1 << 53  # whole numbers above have no exact figure


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def encode(value: Any) -> Any:
    """Plain lists, texts and numbers; an undefined figure is null."""
    if is_dataclass(value):
        return {f.name: encode(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"a report holds {type(value).__name__}, which is no plain value")


def decode(kind: Any, plain: Any, where: str = "the file") -> Any:
    """The value of that type; refuses unknown, missing or mistyped entries by their place."""
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(plain, dict):
            raise EngineError(f"{where} should be a record")
        types = _types(kind)
        names = [f.name for f in fields(kind)]
        for name in plain:
            if name not in names:
                raise EngineError(f"{where} holds '{name}', which does not belong there")
        for name in names:
            if name not in plain:
                raise EngineError(f"{where} lacks '{name}'")
        return kind(**{name: decode(types[name], plain[name], f"{where}: {name}") for name in names})
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if plain is None and type(None) in parts:
            return None
        return decode(next(part for part in parts if part is not type(None)), plain, where)
    if origin is tuple:
        if not isinstance(plain, list):
            raise EngineError(f"{where} should be a list")
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(decode(parts[0], item, where) for item in plain)
        if len(plain) != len(parts):
            raise EngineError(f"{where} holds {len(plain)} entries, must hold {len(parts)}")
        return tuple(decode(part, item, where) for part, item in zip(parts, plain, strict=True))
    if kind in (int, float) and isinstance(plain, int) and not -_LARGEST <= plain <= _LARGEST:
        raise EngineError(f"{where} is too large a number")
    if kind is float and isinstance(plain, int | float) and not isinstance(plain, bool):
        return float(plain)
    if isinstance(plain, kind) and (kind is bool or not isinstance(plain, bool)):
        return plain
    raise EngineError(f"{where} is {plain!r}, must be {kind.__name__}")


def to_text(value: Any) -> str:
    """JSON text of a value."""
    return json.dumps(encode(value), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_text(kind: type[T], text: str, where: str) -> T:
    """The value of that type in a JSON text."""
    found: T = decode(kind, plain_json(text, where), where)
    return found
