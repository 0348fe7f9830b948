"""The header of a CSV file, and the reason why a file could not be read."""

from __future__ import annotations

import codecs
import csv
import re
from pathlib import Path

from engine.common.errors import EngineError

DELIMITERS = ",;\t|"
_HEADER_BYTES = 4 << 20
_QUOTED = re.compile(r'"(?:[^"]|"")*+(?:"|\Z)')
_SEPARATOR_LINE = re.compile(rb'(?:\xef\xbb\xbf)?("?)sep=([!-/:-@\[-`{-~\t])\1(?:\r\n|\r|\n)', re.IGNORECASE)
_NO_UTF8 = "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')"


def named_delimiter(path: Path) -> tuple[str, int]:
    """The delimiter that a first line such as ``sep=;`` names, as spreadsheets write it above the header, and the bytes
    of that line; ``("", 0)`` where there is none."""
    with path.open("rb") as file:
        line = _SEPARATOR_LINE.match(file.read(16))
    return (line[2].decode(), line.end()) if line else ("", 0)


def header(path: Path) -> tuple[list[str], str]:
    """Column names and the delimiter: the one that a line above the header names, else the one of ``, ; tab |`` that
    the header line has most of (outside quotes)."""
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
    csv.field_size_limit(_HEADER_BYTES)
    try:
        return next(csv.reader([first], delimiter=delimiter)), delimiter
    except csv.Error:  # a line end outside of quotes, seen from the delimiter
        raise EngineError(f"file '{path.name}': the header has a misplaced quote or one never closed") from None


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
                    return (
                        f"file '{path.name}': line {line} has {_fields(len(fields))}, {n_fields} were expected; "
                        f"a value that holds {_delimiter_name(delimiter)} must stand in quotes"
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
