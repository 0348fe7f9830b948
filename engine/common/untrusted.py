"""Read files that somebody else may have written: plain files of a bounded size, JSON of plain values.

Whoever sends a bundle chooses what lies in it: a link to a file without end, a named pipe that nobody writes to, lists
a hundred thousand deep.  What is looked at here is opened only when it is a plain file, and read only up to a size.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

from engine.common.errors import EngineError

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
