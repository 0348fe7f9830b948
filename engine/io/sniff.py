"""The header of a CSV file, and what is wrong with a file that could not be read."""

from __future__ import annotations

import codecs
import csv
from pathlib import Path

from engine.errors import EngineError

DELIMITERS = ",;\t|"
_HEADER_BYTES = 4 << 20
_NO_UTF8 = "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')"


def header(path: Path) -> tuple[list[str], str]:
    """Column names and the delimiter, the one of ``, ; tab |`` that the header line has most of (outside quotes)."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        raise EngineError(_not_utf8(path) or f"file '{path.name}' is not UTF-8 text; {_NO_UTF8}") from None
    first = _first_record(text)
    if not first.strip():
        raise EngineError(f"file '{path.name}' begins with an empty line; the first line must name the columns")
    bare = "".join(first.split('"')[::2])
    delimiter = max(DELIMITERS, key=bare.count)
    csv.field_size_limit(_HEADER_BYTES)
    return next(csv.reader([first], delimiter=delimiter)), delimiter


def _first_record(text: str) -> str:
    """The text up to the first line end outside quotes."""
    quoted = False
    for place, sign in enumerate(text):
        if sign == '"':
            quoted = not quoted
        elif sign in "\r\n" and not quoted:
            return text[:place]
    return text


def diagnose(path: Path, names: list[str], delimiter: str) -> str:
    """One sentence on why a CSV file could not be read; goes through the file again, slowly, to find the line."""
    problem = _not_utf8(path)
    if problem:
        return problem
    wanted = len(names)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1
        try:
            for fields in reader:
                if fields and len(fields) != wanted:
                    return (
                        f"file '{path.name}': line {line} has {len(fields)} field{'' if len(fields) == 1 else 's'}, "
                        f"{wanted} were expected; a value that holds {_said(delimiter)} must stand in quotes"
                    )
                line = reader.line_num + 1
        except csv.Error:
            return (
                f"file '{path.name}': the record that begins in line {line} has a misplaced quote or one never closed"
            )
    return f"file '{path.name}' could not be read as CSV; check its quotes and line ends"


def _said(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else f"'{delimiter}'"


def _not_utf8(path: Path) -> str | None:
    """A sentence with the line and the byte that is not UTF-8, or None when all bytes are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return f"file '{path.name}' is UTF-16 text, UTF-8 is wanted; {_NO_UTF8}"
        file.seek(0)
        for block in iter(lambda: file.read(1 << 20), b""):
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                bad = error.object[error.start]
                line += block[: max(error.start - pending, 0)].count(b"\n")
                return f"file '{path.name}': line {line} holds the byte 0x{bad:02x}, which is not UTF-8; {_NO_UTF8}"
            line += block.count(b"\n")
    if decoder.getstate()[0]:
        return f"file '{path.name}' ends in the middle of a UTF-8 character; copy or save it again"
    return None
