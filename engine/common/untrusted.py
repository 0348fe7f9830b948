"""Read content that somebody else may have written: plain files of a bounded size, JSON, typed and stored values.

Whoever sends a bundle chooses what lies in it: a link to a file without end, a named pipe that nobody writes to, lists
a hundred thousand deep.  Content is read only from a plain file, and only up to a size.  msgspec makes typed values of
plain ones, and a value that does not fit is refused by its place.  Rows of a study file have a check sum, the CRC-32 of
their content: it shows a bit that a disk or a copy has turned; against people there is the seal
(:mod:`engine.study.log_seal`).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_args, get_type_hints
from zlib import crc32

from engine.common.errors import EngineError, did_you_mean
from engine.common.wording import quoted

if TYPE_CHECKING:
    import numpy as np

MOST_BYTES = 1 << 26
"""Most bytes of a file that is read as a whole."""
MOST_ENTRIES = 1 << 21
"""Most entries of a JSON or XML file."""
_DEEPEST = 64
_LONGEST_NUMBER = 40  # digits: more than any figure, identity or time has
_NAME_SURROGATE = 0x20000000  # of Windows' reparse tags: those that stand for another place, as links and junctions do


def kind_of(path: Path, *, follow: bool = False) -> str:
    """The kind of thing at a path, in words: "a link", "a folder", ...; empty for a plain file. Nothing is opened.

    ``follow`` takes a link for what it leads to.  A path that is not there is a :class:`FileNotFoundError`.
    """
    status = os.stat(path, follow_symlinks=follow)
    mode = status.st_mode
    if stat.S_ISLNK(mode) or getattr(status, "st_reparse_tag", 0) & _NAME_SURROGATE:
        return "a link"
    kinds = {
        stat.S_IFREG: "",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "no plain file")


def is_plain(path: Path) -> bool:
    """Return whether a plain file stands there: no link to one, no folder, pipe or device."""
    try:
        return not kind_of(path)
    except (OSError, ValueError):
        return False


def open_plain(path: Path, *, follow: bool = False) -> BufferedReader:
    """A plain file, opened for reading its bytes; anything else is refused without being opened.

    ``follow`` takes a link for what it leads to: for a path that the user named.
    """
    shown = spelt(path.name)
    kind = kind_of(path, follow=follow)
    if kind:
        raise EngineError(f"'{shown}' is {kind} and no plain file; it was not opened")
    # What stood there a moment ago may be a pipe by now, which without this flag would be waited for.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise EngineError(f"'{shown}' is no plain file; it was not read")
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, most: int = MOST_BYTES, *, follow: bool = False) -> bytes:
    """The bytes of a plain file that holds no more than ``most``; others are refused."""
    content = b""
    larger = not kind_of(path, follow=follow) and path.stat().st_size > most
    if not larger:
        with open_plain(path, follow=follow) as file:
            content = file.read(most + 1)
    if larger or len(content) > most:
        raise EngineError(f"'{spelt(path.name)}' is larger than {in_words(most)}, the most that such a file may have")
    return content


def read_text(path: Path, most: int = MOST_BYTES, *, follow: bool = False) -> str:
    """The text of a plain UTF-8 file (:func:`read_plain`)."""
    try:
        return read_plain(path, most, follow=follow).decode("utf-8")
    except UnicodeDecodeError:
        raise EngineError(f"'{spelt(path.name)}' cannot be read: it is no UTF-8 text") from None


def read_json(path: Path, most: int = MOST_BYTES, *, follow: bool = False) -> Any:
    """The plain values in a JSON file (:func:`plain_json`)."""
    return plain_json(read_text(path, most, follow=follow), f"'{spelt(path.name)}'")


def plain_json(text: str, what: str) -> Any:
    """The values in a JSON text: dicts, lists, texts, finite numbers, truths and None.

    ``what`` names the text in the sentence with which anything else is refused: no JSON, figures that are no numbers or
    have more digits than any, lists that are nested too deep, more entries than any file of this program has.
    """
    if text.count(",") > MOST_ENTRIES:
        raise EngineError(f"{what} holds more than {MOST_ENTRIES:,} entries, the most that such a file may have")
    try:
        values = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_no_figure)
    except RecursionError:
        raise EngineError(_deep(what)) from None
    except ValueError as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise EngineError(f"{what} cannot be read: it is no JSON of plain figures and texts ({reason})") from None
    _check_values(values, what)
    return values


def _check_values(values: Any, what: str) -> None:
    """Refuse nesting deeper than any file of this program has, and texts that UTF-8 cannot hold: halves of surrogate
    pairs."""
    level, depth = [values], 0
    while level:
        if depth > _DEEPEST:
            raise EngineError(_deep(what))
        for text in _texts(level):
            if not text.isascii():
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise EngineError(f"{what} holds a text that UTF-8 cannot hold: half of a surrogate pair") from None
        level = [value for container in level if isinstance(container, dict | list) for value in _inner(container)]
        depth += 1


def _inner(value: dict[str, Any] | list[Any]) -> Iterator[Any]:
    yield from (value.values() if isinstance(value, dict) else value)


def _texts(level: list[Any]) -> Iterator[str]:
    for value in level:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value


def _deep(what: str) -> str:
    return f"{what} nests lists more than {_DEEPEST} deep; files that this program writes do not"


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"too large a number, of {len(text):,} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("an infinite number")
    return value


def _no_figure(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def spelt(name: str) -> str:
    """The name of a file as it can be printed: bytes of it that are no text are spelt out."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def in_words(n_bytes: int) -> str:
    """A number of bytes in words, such as "64 MB"."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.0f} {unit}"
    return f"{n_bytes} bytes"


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
    """A plain value as a sentence quotes it."""
    return str(value).lower() if isinstance(value, bool) else quoted(value)


def fits(value: object, kind: Any) -> bool:
    """Return whether a plain value is of a kind: a type, or lists and dicts of one."""
    import msgspec

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
    import msgspec

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


def sums_of(rows: np.ndarray) -> list[int]:
    """The sum of every row of a matrix of figures, as a database gives them back: it knows one zero and no NaN's
    bits."""
    import numpy as np

    figures = np.ascontiguousarray(rows, "<f8") + 0.0
    figures[np.isnan(figures)] = np.nan
    return list(map(crc32, figures.view(f"V{8 * figures.shape[1]}").ravel().tolist()))


def sum_of(values: Sequence[Any]) -> int:
    """The sum of a row of texts and numbers."""
    return crc32("\0".join(map(str, values)).encode("utf-8", "surrogatepass"))


def is_whole(value: object, least: int = 0, most: int = 2**53) -> bool:
    """Return whether a stored value is a whole number within bounds."""
    return isinstance(value, int) and least <= value <= most


def is_number(value: object) -> bool:
    """Return whether a stored value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e308


def is_texts(value: object) -> bool:
    """Return whether a stored value is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def from_json(text: object) -> Any:
    """The value of a stored JSON text; :class:`ValueError` for anything that is none, or that is nested too deep."""
    if not isinstance(text, str):
        raise ValueError("no text")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
