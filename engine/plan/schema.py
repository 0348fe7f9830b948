"""Declaration of a plan's entries: a field of its section with its words and bounds, from which all else follows.

The check of a value, TOML in both directions, options of the command line, and labels of pages read these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from decimal import Decimal
from functools import cache
from re import ASCII, compile
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Meta, ValidationError, convert

from engine.common.errors import UsageError
from engine.common.untrusted import fits
from engine.common.wording import first_twice, quoted, text_of

T = TypeVar("T")
Name = Annotated[str, Meta(min_length=1, description="a text that is not empty")]


@dataclass(frozen=True)
class Entry:
    """Words and rules of one entry; its name, type, default and section are those of its field.

    ``label`` names it within a sentence; ``help`` is that of its option, where it has one.  ``low`` and ``high`` bound
    whole numbers; ``decimal`` is the range of a decimal number that is kept as text, ``or_word`` a word that may stand
    in its place.  A value that is left out is ``implied`` by its part.  Text of a plan leaves out a default, unless it
    is ``written`` always, and may not hold an empty list where that would mean another one (``never_empty``).  The
    class of an ``unchecked`` entry checks its value.
    """

    label: str = ""
    help: str = ""
    example: str = ""
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    decimal: Literal["", "not negative", "above 0", "above 0 and below 1"] = ""
    or_word: str = ""
    implied: Callable[[Any], object] | None = None
    written: bool = False
    never_empty: bool = False
    unchecked: bool = False


class Declared(NamedTuple):
    """One entry of a section: its type, its default (``MISSING`` where it must be given) and its declaration."""

    hint: Any
    default: object
    entry: Entry

    @property
    def part(self) -> Any:
        """The class of a part, or of the parts in a list; None for a plain value."""
        return next((kind for kind in (self.hint, *get_args(self.hint)) if is_dataclass(kind)), None)

    @property
    def is_list(self) -> bool:
        """Return whether the value is a list."""
        return get_origin(self.hint) is tuple

    @property
    def is_table(self) -> bool:
        """Return whether the value is a table, kept as pairs."""
        inner = get_args(self.hint)[:1]
        return get_origin(self.hint) is tuple and bool(inner) and get_origin(inner[0]) is tuple


def entry(default: T, label: str = "", help: str = "", *, compare: bool = True, **rules: Any) -> T:
    """Declare an entry as a field with a default; the other arguments are the fields of :class:`Entry`."""
    return field(default=default, compare=compare, metadata={"entry": Entry(label, help, **rules)})


def needed(label: str = "", **rules: Any) -> Any:
    """Declare an entry that must be given."""
    return field(metadata={"entry": Entry(label, written=True, **rules)})


@cache
def declared(section: Any) -> dict[str, Declared]:
    """The entries of a section's class, by name."""
    hints = get_type_hints(section, include_extras=True)
    return {
        f.name: Declared(
            hints[f.name],
            f.default if f.default_factory is MISSING else f.default_factory(),
            f.metadata.get("entry", Entry(written=f.default is MISSING)),
        )
        for f in fields(section)
    }


def set_fields(part: object, **values: object) -> None:
    """Normalise fields of a frozen part while it is being made."""
    for name, value in values.items():
        object.__setattr__(part, name, value)


def check(part: Any, where: str = "", *, strip: bool = False) -> None:
    """Refuse a field of ``part`` whose value is not as declared; lists become tuples, and what is left out is implied.

    ``where`` begins the sentence; ``strip`` takes blanks off the ends of texts.
    """
    for name, (hint, default, said) in declared(part.__class__).items():
        value = getattr(part, name)
        if strip and isinstance(value, str):
            value = value.strip()
        if not said.unchecked and not (type(value) is type(default) and value == default):
            value = _checked(value, hint, said, where + name)
        if said.implied is not None:
            value = value or said.implied(part)
        set_fields(part, **{name: value})


def _checked(value: Any, hint: Any, said: Entry, what: str) -> Any:
    item = get_args(hint)[0] if get_origin(hint) is tuple else None
    if is_dataclass(item or hint):
        kind = item or hint
        is_list = item is not None
        # a part of a plan, or a list of them
        parts = as_tuple(value) if is_list else (value,)
        if parts is None or not all(isinstance(one, kind) for one in parts):
            of = ", ".join(dict.fromkeys(type(one).__name__ for one in parts or ()))
            wanted = f"a list of {kind.__name__}" if is_list else f"a {kind.__name__}"
            raise UsageError(f"{what} holds {f'values of type {of}' if of else 'no list'}, must be {wanted}")
        return parts if is_list else value
    if said.decimal:
        return _decimal(value, said, what)
    if get_origin(item) is tuple:
        return _pairs(value, get_args(item)[1], what)
    value = typed(value, hint, what)
    if said.choices and value not in said.choices:
        raise UsageError(f"{what} is {quoted(value)}, must be one of {', '.join(filter(None, said.choices))}")
    if said.low is not None and value < said.low:
        raise UsageError(f"{what} == {quoted(value)}, must be at least {said.low}.")
    if said.high is not None and value > said.high:
        raise UsageError(f"{what} == {quoted(value)}, must be at most {said.high}.")
    return value


def _pairs(value: Any, kind: Any, what: str) -> tuple[tuple[str, Any], ...]:
    """A table as pairs of its names with texts, or with lists of texts."""
    pairs = as_tuple(value.items() if isinstance(value, Mapping) else value)
    if pairs is None or not all(fits(pair, tuple[str, Any]) for pair in pairs):
        such = '{a = "b"}' if kind is str else '{a = ["b", "c"]}'
        raise UsageError(f"{what} is {quoted(value)}, must be a table such as {such}")
    return tuple((name, typed(inner, kind, f"{what} of '{name}'")) for name, inner in pairs)


def as_tuple(value: Any) -> tuple[Any, ...] | None:
    """The items of a list; None for what is none."""
    try:
        return None if isinstance(value, str | bytes | Mapping) else tuple(value)
    except TypeError:
        return None


def typed(value: Any, hint: Any, what: str) -> Any:
    """A value as its declared type; ``what`` names it in the error, and texts of a list may not repeat."""
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


_WANTED: dict[Any, str] = {str: "a text", bool: "true or false", int: "a whole number"}
_LISTS: dict[Any, tuple[str, str]] = {
    str: ('a list of texts such as ["a", "b"]', "texts; put it in quotes"),
    int: ("a list of whole numbers such as [1, 2]", "whole numbers such as 1 and 2"),
}
"""What a list must be, and what it must hold, by the type of its items."""


def _refusal(value: Any, hint: Any) -> str:
    for inner in (hint, *get_args(hint)):
        if get_origin(inner) is Annotated:
            return f"is {quoted(value)}, must be {inner.__metadata__[0].description}"
    if get_origin(hint) is Literal:
        return f"is {quoted(value)}, must be one of {', '.join(get_args(hint))}"
    if get_origin(hint) is not tuple:
        return f"is {quoted(value)}, must be {_WANTED[hint]}"
    a_list, items = _LISTS[get_args(hint)[0]]
    if not isinstance(value, list | tuple | set | frozenset):
        return f"is {quoted(value)}, must be {a_list}"
    wrong = next(item for item in value if not fits(item, get_args(hint)[0]))
    return f"holds {quoted(wrong)}, must hold {items}"


_DECIMAL = compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", ASCII)


def decimal_text(value: object, what: str) -> str:
    """A decimal number as its shortest plain text: ``"0.10"`` and ``1e-1`` are both ``"0.1"``.

    ``what`` names the quantity in the error for anything that is no decimal number.
    """
    text = text_of(value)
    if isinstance(value, bool) or not _DECIMAL.fullmatch(text):
        raise UsageError(f"{what} is {quoted(text)}, must be a decimal number; write it as for example 0.01")
    number = Decimal(text)
    written = format(number, "f")
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if number == 0 else written.lstrip("+")


def _decimal(value: object, said: Entry, what: str) -> str:
    if isinstance(value, str) and value == said.or_word != "":
        return value
    text = decimal_text(value, what)
    number = Decimal(text)
    if number < 0 or (said.decimal != "not negative" and number == 0) or (said.decimal[-1] == "1" and number >= 1):
        must = "not be negative" if said.decimal == "not negative" else f"be {said.decimal}"
        raise UsageError(f"{what} == {text}, must {must}{f', or {said.or_word!r}' if said.or_word else '.'}")
    return text
