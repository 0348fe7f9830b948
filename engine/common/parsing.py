"""Plain values (of JSON or TOML) as typed ones, read by msgspec; what does not fit is refused by its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from engine.common.errors import EngineError, did_you_mean

T = TypeVar("T")
LARGEST = 1 << 53
"""Whole numbers above have no exact figure."""

_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a record",
}
_FIELD = re.compile(r"Object missing required field `(.*?)`")
_PATH = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")


def shown(value: object) -> str:
    """A value as a sentence quotes it, cut where it is long."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def fits(value: object, kind: Any) -> bool:
    """Return whether a plain value is of a kind: a type, or lists and dicts of one."""
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeError):  # the latter of half a character
        return False
    return True


def parse(kind: type[T], plain: Any, where: str) -> T:
    """The value of a dataclass that plain dicts, lists, texts and numbers describe.

    ``where`` names the source in the :class:`EngineError` for unknown, missing or mistyped entries and for whole
    numbers beyond :data:`LARGEST`.
    """
    try:
        value = msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise EngineError(_refusal(str(error), kind, plain, where)) from None
    _check_entries(value, plain, where)
    return value


def _refusal(message: str, kind: type, plain: Any, where: str) -> str:
    """The sentence for an error of msgspec, whose path becomes the names of the entries on the way."""
    path = _PATH.search(message)
    steps = _STEP.findall(path[1] if path else "")
    for name, place in steps:
        if place == "...":  # some value of a dict
            break
        plain = plain[name] if name else plain[int(place)]
        where += f": {name}" if name else f" {int(place) + 1}"
    if missing := _FIELD.match(message):
        return f"{where} lacks '{missing[1]}'"
    if message.startswith("Number out of range"):
        return f"{where} is too large a number"
    if message.startswith("Invalid enum value"):
        choices = " or ".join(f"'{choice}'" for choice in get_args(_type_at(kind, steps)))
        return f"{where} is {shown(plain)}, must be {choices}"
    wanted = message.removeprefix("Expected ").partition(", got ")[0]
    wanted = re.sub(r"`(.*?)`", lambda kinds: " or ".join(_WORDS.get(k, "null") for k in kinds[1].split(" | ")), wanted)
    return f"{where} is {shown(plain)}, must be {wanted}"


def _type_at(kind: Any, steps: Iterable[tuple[str, str]]) -> Any:
    """The type of an entry: of a field by its name, of an item of a list, or of a value of a dict (``...``)."""
    for name, place in steps:
        kind = get_type_hints(kind)[name] if name else get_args(kind)[-1 if place == "..." else 0]
    return kind


def _check_entries(value: Any, plain: Any, where: str) -> None:
    """msgspec passes over the unknown entries of dataclasses, and takes numbers of any size."""
    if is_dataclass(value):
        names = value.__dataclass_fields__
        for name, inner in plain.items():
            if name not in names:
                raise EngineError(f"{where} holds '{name}', which does not belong there.{did_you_mean(name, names)}")
            _check_entries(getattr(value, name), inner, f"{where}: {name}")
    elif isinstance(value, tuple):
        for i, (item, inner) in enumerate(zip(value, plain, strict=True), 1):
            _check_entries(item, inner, f"{where} {i}")
    elif isinstance(plain, int) and not -LARGEST <= plain <= LARGEST:
        raise EngineError(f"{where} is too large a number")
