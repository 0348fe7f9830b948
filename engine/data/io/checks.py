"""The header of a CSV file, the names of columns, and the reason why a file could not be read.

SPSS and SAS data files say how many records they hold.  A SAS transport file does not: it is a row of 80-byte records,
and what is not a whole observation at its end must be blanks that fill the last of them.  A cut that leaves whole
observations and nothing but blanks cannot be told from a shorter file.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from engine.common.errors import EngineError, Remedy
from engine.common.wording import (
    first_twice,
    has_hidden_signs,
    is_blank,
    with_hidden_signs_written,
    without_hidden_signs,
)
from engine.data.microdata import RawColumn

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = ",;\t|"
_HEADER_BYTES = 4 << 20
_LINES_COMPARED = 20
_QUOTED = re.compile(r'"(?:[^"]|"")*+(?:"|\Z)')
_SEPARATOR_LINE = re.compile(rb'(?:\xef\xbb\xbf)?("?)sep=([ -/:-@\[-`{-~\t])\1(?:\r\n|\r|\n)', re.IGNORECASE)
_NO_UTF8 = "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')"


def named_delimiter(path: Path) -> tuple[str, int]:
    """The delimiter that a first line such as ``sep=;`` names, as spreadsheets write it above the header, and the bytes
    of that line; ``("", 0)`` where there is none."""
    with path.open("rb") as file:
        line = _SEPARATOR_LINE.match(file.read(16))
    return (line[2].decode(), line.end()) if line else ("", 0)


def header(path: Path) -> tuple[list[str], str]:
    """Column names and the delimiter: the one that a line above the header names, else the one of ``, ; tab |`` that
    the header line has most of (outside quotes).

    Empty names, and names given twice, are told apart (:func:`told_apart`).
    """
    named, start = named_delimiter(path)
    with path.open("rb") as file:
        file.seek(start)
        head = file.read(_HEADER_BYTES)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        raise EngineError(_not_text(path) or f"file '{path.name}' is not UTF-8 text; {_NO_UTF8}") from None
    if "\0" in text:
        raise EngineError(_not_text(path) or f"file '{path.name}' is not UTF-8 text; {_NO_UTF8}")
    first, bare = _first_record(text, named or DELIMITERS)
    if not first.strip():
        raise EngineError(f"file '{path.name}' begins with an empty line; the first line must name the columns")
    delimiter = named or max(DELIMITERS, key=bare.count)
    if not named and not bare.count(delimiter) and (other := _other_delimiter(text, bare)):
        raise EngineError(
            f"file '{path.name}' has one column, unless {_delimiter_name(other)} separates columns; say which in a "
            f"line above the header, 'sep={other}' or 'sep=,'"
        )
    csv.field_size_limit(_HEADER_BYTES)
    try:
        names = next(csv.reader([first], delimiter=delimiter))
    except csv.Error:  # a line end outside of quotes, seen from the delimiter
        raise EngineError(f"file '{path.name}': the header has a misplaced quote or one never closed") from None
    return told_apart(names), delimiter


def told_apart(names: Sequence[str]) -> list[str]:
    """Names as a file has them, so that every column can be read by its own: further empty ones are other blanks, and
    a name given before has zero bytes at its end."""
    given, taken, longest = Counter[str](), set(names), max(map(len, names), default=0)
    found = []
    for name in names:
        base = "" if is_blank(name) else name
        given[base] += 1
        if n_before := given[base] - 1:
            name = base + "\0" * n_before if base else " " * (n_before + longest)
            while name in taken:
                name += "\0"
        taken.add(name)
        found.append(name)
    return found


def _other_delimiter(text: str, header: str) -> str:
    """A sign that may separate columns and stands in each of the first lines as often as in the header; "" if none."""
    lines = [line for line in text.splitlines()[: _LINES_COMPARED + 1] if line][:_LINES_COMPARED]
    return next((s for s in "^~: " if (n := header.count(s)) and all(line.count(s) == n for line in lines)), "")


def _first_record(text: str, delimiters: str) -> tuple[str, str]:
    """The text up to the first line end outside quotes, and of that what is outside; a quote opens at the beginning of
    a field only, as in ``A,"B, in %"``, and is a sign like others in ``screen 15"``."""
    bare: list[str] = []
    position, begins = 0, True
    while position < len(text) and text[position] not in "\r\n":
        if begins and text[position] == '"' and (quoted := _QUOTED.match(text, position)):
            position, begins = quoted.end(), False
            continue
        bare.append(text[position])
        begins = text[position] in delimiters
        position += 1
    return text[:position], "".join(bare)


def is_text(path: Path) -> bool:
    """Return whether all of a file is UTF-8 text without zero bytes."""
    return _not_text(path) is None


def diagnose(path: Path, names: list[str], delimiter: str) -> str:
    """One sentence on why a CSV file could not be read; goes through the file again, slowly, to find the line."""
    problem = _not_text(path)
    if problem:
        return problem
    n_fields, n_above = len(names), bool(named_delimiter(path)[1])
    with path.open(encoding="utf-8-sig", newline="") as file:
        if n_above:
            file.readline()
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1 + n_above
        try:
            for fields in reader:
                if fields and len(fields) < n_fields and next(reader, None) is None and not _ends_a_line(path):
                    return (
                        f"file '{path.name}' is cut short: its last line, {line}, has {_fields(len(fields))} of "
                        f"{n_fields} and no line end; write or copy it again"
                    )
                if fields and len(fields) != n_fields:
                    first = line == 2 + n_above  # all lines may differ from the header
                    return (
                        f"file '{path.name}': line {line} has {_fields(len(fields))}, {n_fields} were expected; "
                        f"a value that holds {_delimiter_name(delimiter)} must stand in quotes"
                        + f", and line {1 + n_above} must name all columns, without a title above it, or with a "
                        "line such as 'sep=;' above it that names what separates columns" * first
                    )
                line = reader.line_num + 1 + n_above
        except csv.Error:
            return (
                f"file '{path.name}': the record that begins in line {line} has a misplaced quote or one never closed; "
                "write a quote within a quoted value twice, and no text behind the quote that closes it"
            )
    return f"file '{path.name}' could not be read as CSV; check its quotes and line ends"


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() in b"\r\n"


def _fields(count: int) -> str:
    return f"{count} field{'' if count == 1 else 's'}"


def _zero_byte(name: str, first: bytes, line: int) -> str:
    if line == 1 and first.count(0) == 2:
        return f"file '{name}' is UTF-16 text, without a mark that says so; UTF-8 is wanted; {_NO_UTF8}"
    return f"file '{name}': line {line} holds a zero byte, which no text has; {_NO_UTF8}"


def _delimiter_name(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else f"'{delimiter}'"


def _not_text(path: Path) -> str | None:
    """A sentence with the line and the byte that is not UTF-8, or is zero, or None when there is no such byte."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return f"file '{path.name}' is UTF-16 text, UTF-8 is wanted; {_NO_UTF8}"
        file.seek(0)
        for chunk in iter(lambda: file.read(1 << 20), b""):
            if (zero := chunk.find(0)) >= 0:
                return _zero_byte(path.name, chunk[:4], line + chunk[:zero].count(b"\n"))
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                bad = error.object[error.start]
                line += chunk[: max(error.start - pending, 0)].count(b"\n")
                return f"file '{path.name}': line {line} holds the byte 0x{bad:02x}, which is not UTF-8; {_NO_UTF8}"
            line += chunk.count(b"\n")
    if decoder.getstate()[0]:
        return f"file '{path.name}' ends in the middle of a UTF-8 character; copy or save it again"
    return None


def holds_nul(values: pa.Array) -> bool:
    """Return whether a text has a zero byte, as text in UTF-16 has; none of the texts is null.

    Read from the buffers themselves: Arrow's functions take longer to load than a small file to read.
    """
    import pyarrow as pa

    _, ends, text = values.buffers()
    if not len(values) or text is None:
        return False
    kind = np.int64 if pa.types.is_large_string(values.type) else np.int32
    bounds = np.frombuffer(ends, kind, len(values) + 1, values.offset * np.dtype(kind).itemsize)
    return not np.frombuffer(text, np.uint8)[bounds[0] : bounds[-1]].all()


def ends_in_quotes(path: Path, last: str, delimiter: str) -> bool:
    """Return whether the quote of the ``last`` field is never closed: then it may hold many records, and the reader
    says nothing."""
    end = ('"' + last.replace('"', '""')).encode()
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - len(end) - 1))
        tail = file.read()
    return tail[1:] == end and tail[:1] in (delimiter.encode(), b"\n", b"\r")


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turn errors of the Parquet reader into a sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:  # a name may be no UTF-8
        if isinstance(error, OSError) and error.errno:
            raise
        raise EngineError(
            f"file '{path.name}' is no readable Parquet file (corrupt or cut short); write or copy it again"
        ) from None


def refuse_type(file: str, column: Any) -> None:
    """Refuse (:class:`EngineError`) a column of a schema that holds no plain values, or times of an unknown zone."""
    import pyarrow as pa

    arrow_type = column.type
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if pa.types.is_nested(arrow_type) or isinstance(arrow_type, pa.BaseExtensionType):
        raise EngineError(
            f"file '{file}': column '{column.name}' has the type {type(arrow_type).__name__}, wanted are plain values "
            "(numbers, text, truth values, dates); flatten or leave it out"
        )
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        try:
            pa.array([0], arrow_type).cast(pa.string())
        except pa.ArrowInvalid:
            raise EngineError(
                f"file '{file}': column '{column.name}' has times of a zone that this computer does not know, "
                f"{arrow_type.tz!r}; store them in UTC or as text"
            ) from None


def check_names(file: str, names: Sequence[str]) -> None:
    """Refuse a column name that is repeated."""
    repeated = first_twice(list(names))
    if repeated is None:
        return
    if is_blank(repeated):
        raise EngineError(
            f"file '{file}': columns {names.index(repeated) + 1} and more of {len(names)} have no name; name every "
            "column in the header line"
        )
    raise EngineError(f"file '{file}' has two columns called '{repeated}'; give each column a name of its own")


def names_in_file(source: str, names: Sequence[str], clean: bool) -> dict[str, str]:
    """The names under which columns are read, each with its name in the file.

    A name is empty, given twice or holds a control sign, a sign of format (one that turns the direction of writing, a
    soft hyphen), a letter without ink, a line separator of Unicode or half a surrogate pair: codebooks cannot hold it,
    or programs and pages show another name than it is.  Such a name is replaced by one without such signs where
    ``clean``, else refused (:class:`EngineError`) with that name.  ``names`` are those of :func:`told_apart`.
    """
    found: dict[str, str] = {}
    taken = set(names)
    for number, name in enumerate(names, 1):
        free, blank, base = name, is_blank(name), name.rstrip("\0")
        if blank or has_hidden_signs(name):
            plain = without_hidden_signs(name).strip()
            free = _apart(f"column_{number}" if is_blank(plain) else plain, taken)
            taken.add(free)
        if free != name and not clean:
            if blank:
                said = f"column {number} of {len(names)} has no name; name every column in the header line"
                said += ", the first one, without a title above it" * (sum(map(is_blank, names)) > 1)
            elif base != name and base in names:
                both = f"columns {names.index(base) + 1} and {number} of {len(names)} are both called '{base}'"
                said = f"{both}; give each column a name of its own"
            else:
                said = (
                    f"the name of column {number} of {len(names)}, '{with_hidden_signs_written(name)}', holds a sign "
                    "that cannot be seen and that a codebook cannot hold or a page cannot show (a control sign, a mark "
                    "of the direction of writing, a sign of format or an empty letter); rename the column"
                )
            raise EngineError(f"{source}: {said}, for example '{free}'", Remedy.CLEAN_NAMES)
        found[free] = name
    return found


def _apart(name: str, taken: Collection[str]) -> str:
    """``name``, with a number at its end where one is called so."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


_CARD = 80
_HEADER = b"HEADER RECORD*******"
_MOST_CARDS = 20  # up to the list of columns
_STATA_END = b"</stata_dta>"


def refuse_cut(path: Path, extension: str, name: str | None = None) -> None:
    """Refuse a .xpt, .dta or .por file that is cut short (an :class:`EngineError`); others say so when they are read.

    ``name`` is the file's name in the message, if it is not the path's own.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        if extension == ".xpt":
            _transport(file, size, name or path.name)
        elif extension == ".dta" and file.read(11) == b"<stata_dta>":
            file.seek(max(0, size - len(_STATA_END)))
            if file.read() != _STATA_END:
                raise _short(name or path.name, "its last mark is missing")
        elif extension == ".por":
            file.seek(max(0, size - 1000))
            if not file.read().rstrip().endswith(b"Z"):
                raise _short(name or path.name, "its last mark is missing")


def _short(file: str, why: str) -> EngineError:
    return EngineError(f"file '{file}' is cut short: {why}; write or copy it again")


def _transport(file: BinaryIO, size: int, name: str) -> None:
    length = _observation(file, name)
    if length is None:
        return  # the reader says what is wrong
    start = file.tell()
    if _has_another(file, start):
        raise EngineError(f"file '{name}' holds several data sets; write each to a file of its own")
    if size % _CARD:
        raise _short(name, f"its {size:,} bytes are no whole number of records of {_CARD}")
    remainder = (size - start) % length
    file.seek(size - remainder)
    if remainder >= _CARD or file.read(remainder).strip(b" "):
        raise _short(name, "its last observation is not whole")


def _observation(file: BinaryIO, name: str) -> int | None:
    """Bytes of an observation, the file then standing where the first begins; None where it is no transport file."""
    cards = [file.read(_CARD)]
    if not cards[0].startswith(_HEADER + b"LIB"):
        return None
    while not cards[-1].startswith(_HEADER + b"NAMST") and not cards[-1].startswith(_HEADER + b"NAMESTR"):
        cards.append(file.read(_CARD))
        if len(cards[-1]) < _CARD:
            raise _short(name, "it ends before its columns")
        if len(cards) > _MOST_CARDS:
            return None
    member = next((card for card in cards if card.startswith(_HEADER + b"MEM")), b"")
    count, each = cards[-1][53:58], member[74:78]
    if not (count.isdigit() and each.isdigit() and int(count) and int(each) >= 8):
        return None
    described = file.read(-(-int(count) * int(each) // _CARD) * _CARD)
    lengths = [
        struct.unpack(">h", described[at + 4 : at + 6])[0] for at in range(0, len(described) - int(each) + 1, int(each))
    ][: int(count)]
    while card := file.read(_CARD):
        if card.startswith(_HEADER + b"OBS"):
            return sum(lengths) if len(lengths) == int(count) and min(lengths) > 0 else None
    raise _short(name, "it ends before its observations")


def _has_another(file: BinaryIO, start: int) -> bool:
    """Return whether the description of a second data set stands among the observations."""
    file.seek(start)
    before = b""
    offset = start
    while chunk := file.read(_CARD << 14):
        position = (before + chunk).find(_HEADER + b"MEM")
        if position >= 0 and (offset - len(before) + position) % _CARD == 0:
            return True
        offset += len(chunk)
        before = chunk[-_CARD:]
    return False


FileState = tuple[int, int, int]


def file_state(path: Path) -> FileState:
    """Size, time of the last change and number of a file: together they tell whether it was changed or replaced."""
    about = path.stat()
    return about.st_size, about.st_mtime_ns, about.st_ino


@dataclass(frozen=True)
class Reread:
    """Reader of further columns of an unchanged file: ``read`` gives those of some names, in the order of the names.

    A file that has changed or gone since it was ``before`` is an :class:`EngineError`.
    """

    path: Path
    before: FileState
    read: Callable[[Path, Sequence[str]], list[RawColumn]]

    def __call__(self, names: Sequence[str]) -> list[RawColumn]:
        """The columns of these names."""
        self._check()
        try:
            return self.read(self.path, names)
        except OSError as error:
            raise EngineError(
                f"file '{self.path.name}' could not be read: {error.strerror or 'input or output failed'}"
            ) from None
        finally:
            self._check()

    def _check(self) -> None:
        check_unchanged(self.path, self.before)


def check_unchanged(path: Path, before: FileState) -> None:
    """Refuse (:class:`EngineError`) a file that has changed or gone since it was ``before``."""
    try:
        now = file_state(path)
    except OSError as error:
        raise EngineError(
            f"file '{path.name}' cannot be read again: {os.strerror(error.errno or 0)}; its columns are read "
            "when they are needed, so leave it where it is while you work on it"
        ) from None
    if now != before:
        raise EngineError(
            f"file '{path.name}' has changed since it was opened; open it again, and leave it as it is while "
            "you work on it"
        )
