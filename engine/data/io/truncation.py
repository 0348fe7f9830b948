"""Detect labelled files whose end is missing.

SPSS and SAS data files say how many records they hold.  A SAS transport file does not: it is a row of 80-byte records,
and what is not a whole observation at its end must be blanks that fill the last of them.  A cut that leaves whole
observations and nothing but blanks cannot be told from a shorter file.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from engine.common.errors import EngineError

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
