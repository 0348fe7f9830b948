"""Types of a plan's fields, which msgspec checks, and the sentences for values of another type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Meta, ValidationError, convert

from engine.common.errors import UsageError
from engine.common.parsing import fits
from engine.common.wording import first_twice

Name = Annotated[str, Meta(min_length=1, description="a text that is not empty")]
_WANTED: dict[Any, str] = {str: "a text", bool: "true or false", int: "a whole number"}
_LISTS: dict[Any, tuple[str, str]] = {
    str: ('a list of texts such as ["a", "b"]', "texts; put it in quotes"),
    int: ("a list of whole numbers such as [1, 2]", "whole numbers such as 1 and 2"),
}
"""What a list must be, and what it must hold, by the type of its items."""


def set_fields(part: object, **values: object) -> None:
    """Normalise fields of a frozen part while it is being made."""
    for name, value in values.items():
        object.__setattr__(part, name, value)


def check_types(part: Any, *read_elsewhere: str, where: str = "") -> None:
    """Refuse a field of ``part`` whose value is not of its declared type; lists become tuples, texts may not repeat.

    Fields are texts, whole numbers, truths, parts of a plan, and lists of them; of others, and of those in
    ``read_elsewhere``, nothing is checked.  ``where`` begins the sentence, and the description of an annotated type
    says what is wanted.
    """
    for name, hint in _declared(part.__class__).items():
        if name not in read_elsewhere:
            set_fields(part, **{name: typed(getattr(part, name), hint, where + name)})
    for name, (kind, is_list) in _parts(part.__class__).items():
        value = as_tuple(getattr(part, name)) if is_list else (getattr(part, name),)
        if value is None or not all(isinstance(one, kind) for one in value):
            of = ", ".join(dict.fromkeys(type(one).__name__ for one in value or ()))
            wanted = f"a list of {kind.__name__}" if is_list else f"a {kind.__name__}"
            raise UsageError(f"{where}{name} holds {f'values of type {of}' if of else 'no list'}, must be {wanted}")
        if is_list:
            set_fields(part, **{name: value})


def as_tuple(value: Any) -> tuple[Any, ...] | None:
    """The items of a list; None for what is none."""
    try:
        return None if isinstance(value, str | bytes | Mapping) else tuple(value)
    except TypeError:
        return None


def typed(value: Any, hint: Any, what: str) -> Any:
    """A value as its declared type; ``what`` names it in the error."""
    try:
        value = convert(value, hint)
    except (ValidationError, UnicodeError):  # the latter of half a character
        raise UsageError(f"{what} {_refusal(value, hint)}") from None
    if hint == tuple[str, ...]:
        refuse_repeats(value, what)
    return value


def refuse_repeats(names: Sequence[str], what: str) -> None:
    """Refuse a list that names something twice."""
    repeated = first_twice(names)
    if repeated is not None:
        raise UsageError(f"{what} names '{repeated}' more than once")


@cache
def _declared(kind: Any) -> dict[str, Any]:
    checked = (*_WANTED, str | None, tuple[str, ...], tuple[int, ...])
    types, hints = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name, t in types.items() if t in checked or get_origin(t) is Literal}


@cache
def _parts(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The fields that are parts of a plan, or lists of them: their class, and whether they are a list."""
    found = {}
    for name, hint in get_type_hints(kind).items():
        item = get_args(hint)[0] if get_origin(hint) is tuple and get_args(hint)[1:] == (...,) else None
        if is_dataclass(item or hint):
            found[name] = (item or hint, item is not None)
    return found


def _refusal(value: Any, hint: Any) -> str:
    for inner in (hint, *get_args(hint)):
        if get_origin(inner) is Annotated:
            return f"is {value!r}, must be {inner.__metadata__[0].description}"
    if get_origin(hint) is Literal:
        return f"is {value!r}, must be one of {', '.join(get_args(hint))}"
    if get_origin(hint) is not tuple:
        return f"is {value!r}, must be {_WANTED[hint]}"
    a_list, items = _LISTS[get_args(hint)[0]]
    if not isinstance(value, list | tuple | set | frozenset):
        return f"is {value!r}, must be {a_list}"
    wrong = next(item for item in value if not fits(item, get_args(hint)[0]))
    return f"holds {wrong!r}, must hold {items}"
