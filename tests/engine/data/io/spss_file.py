"""A reader of SPSS system files after their published description, independent of the library that writes them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOWEST, HIGHEST, SYSTEM_MISSING = -1.7976931348623155e308, 1.7976931348623157e308, -1.7976931348623157e308
_CHUNK, _COUNTED = 255, 252  # bytes that a piece of a very long text holds, and those that its number is counted with


@dataclass
class Variable:
    """One variable: ``name`` is the long one, ``short`` that of its first piece, ``width`` 0 for numbers."""

    short: str
    width: int
    name: str = ""
    label: str = ""
    missing: list[Any] = field(default_factory=list)
    labels: dict[Any, str] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)


@dataclass
class _Piece:
    variable: Variable
    width: int


def read_spss(path: Path) -> dict[str, Variable]:
    """The variables of a file by their long names, with labels, missing codes and values (None: system-missing).

    An error where short names repeat or where a list names a variable that is not there.
    """
    content = path.read_bytes()
    assert content[:4] == b"$FL2" and struct.unpack_from("<i", content, 64)[0] in (2, 3)
    compression, n_cases = struct.unpack_from("<i", content, 72)[0], struct.unpack_from("<i", content, 80)[0]
    variables, extensions, start = _dictionary(content)
    assert len({v.short for v in variables}) == len(variables), "two variables have one short name"
    by_short = {v.short: v for v in variables}
    widths = _pairs(extensions.get(14, b""))
    names = _pairs(extensions.get(13, b""))
    pieces: list[_Piece] = [_Piece(v, v.width) for v in variables]
    for short, width in widths.items():
        head = by_short[short]
        at = next(i for i, piece in enumerate(pieces) if piece.variable is head)
        n = -(-int(width) // _COUNTED)
        for piece in pieces[at + 1 : at + n]:
            assert piece.variable.short not in names and piece.width > 0
            piece.variable = head
        head.width = int(width)
    for short, name in names.items():
        by_short[short].name = name
    kept = list({id(piece.variable): piece.variable for piece in pieces}.values())
    for variable in kept:
        variable.name = variable.name or variable.short
    _long_labels(extensions.get(21, b""), {v.name: v for v in kept})
    _long_missing(extensions.get(22, b""), {v.name: v for v in kept})
    _cases(content[start:], compression, n_cases, pieces)
    assert len({v.name for v in kept}) == len(kept)
    return {v.name: v for v in kept}


def _pairs(content: bytes) -> dict[str, str]:
    entries = [entry for entry in content.decode().replace("\0", "").split("\t") if entry]
    pairs = dict(entry.split("=", 1) for entry in entries)
    assert len(pairs) == len(entries), "a list names a variable twice"
    return pairs


def _dictionary(content: bytes) -> tuple[list[Variable], dict[int, bytes], int]:
    at = 176
    variables: list[Variable] = []
    by_index: list[Variable | None] = []
    extensions: dict[int, bytes] = {}
    labels: dict[bytes, str] = {}

    def number() -> int:
        nonlocal at
        at += 4
        return int(struct.unpack_from("<i", content, at - 4)[0])

    def take(n: int) -> bytes:
        nonlocal at
        at += n
        return content[at - n : at]

    while (kind := number()) != 999:
        if kind == 2:
            width, has_label, n_missing = number(), number(), number()
            take(8)
            variable = Variable(take(8).decode().rstrip(), max(0, width))
            if has_label:
                n = number()
                variable.label = take(-(-n // 4) * 4)[:n].decode()
            cells = [take(8) for _ in range(abs(n_missing))]
            found = [c.decode().rstrip() for c in cells] if width else [struct.unpack("<d", c)[0] for c in cells]
            variable.missing = [tuple(found[:2]), *found[2:]] if n_missing < 0 else found
            if width >= 0:
                variables.append(variable)
            by_index.append(variable if width >= 0 else None)
        elif kind == 3:
            labels = {}
            for _ in range(number()):
                value = take(8)
                n = take(1)[0]
                labels[value] = take(-(-(n + 1) // 8) * 8 - 1)[:n].decode()
        elif kind == 4:
            for _ in range(number()):
                labelled = by_index[number() - 1]
                assert labelled is not None
                for value, label in labels.items():
                    text = value.decode().rstrip() if labelled.width else ""
                    assert len(text) <= labelled.width
                    labelled.labels[text if labelled.width else struct.unpack("<d", value)[0]] = label
        elif kind == 6:
            take(80 * number())
        else:
            assert kind == 7, kind
            subtype, size, count = number(), number(), number()
            extensions[subtype] = take(size * count)
    number()
    return variables, extensions, at


def _long_labels(content: bytes, by_name: dict[str, Variable]) -> None:
    at = 0

    def text() -> str:
        nonlocal at
        n = struct.unpack_from("<i", content, at)[0]
        at += 4 + n
        return content[at - n : at].decode()

    while at < len(content):
        variable = by_name[text()]
        width, n = struct.unpack_from("<ii", content, at)
        assert width == variable.width
        at += 8
        for _ in range(n):
            value = text().rstrip()
            variable.labels[value] = text()


def _long_missing(content: bytes, by_name: dict[str, Variable]) -> None:
    at = 0
    while at < len(content):
        n = struct.unpack_from("<i", content, at)[0]
        variable = by_name[content[at + 4 : at + 4 + n].decode()]
        at += 4 + n
        count, length = content[at], struct.unpack_from("<i", content, at + 1)[0]
        at += 5
        for _ in range(count):
            variable.missing.append(content[at : at + length].decode().rstrip())
            at += length


def _cases(content: bytes, compression: int, n_cases: int, pieces: list[_Piece]) -> None:
    cells = _cells(content) if compression else (content[i : i + 8] for i in range(0, len(content), 8))
    for _ in range(n_cases):
        texts: dict[int, bytes] = {}
        for piece in pieces:
            if not piece.width:
                number = struct.unpack("<d", next(cells))[0]
                piece.variable.values.append(None if number == SYSTEM_MISSING else number)
                continue
            cell = b"".join(next(cells) for _ in range(-(-piece.width // 8)))
            # a piece holds 255 bytes, although their number is counted with 252
            texts[id(piece.variable)] = texts.get(id(piece.variable), b"") + cell[:_CHUNK]
        for variable in {id(piece.variable): piece.variable for piece in pieces if piece.width}.values():
            variable.values.append(texts[id(variable)][: variable.width].decode().rstrip(" "))
    assert next(cells, None) is None, "there are more values than cases"


def _cells(content: bytes) -> Any:
    at = 0
    while at < len(content):
        commands, at = content[at : at + 8], at + 8
        for command in commands:
            if command == 0:
                continue
            if command == 252:
                return
            if command == 253:
                yield content[at : at + 8]
                at += 8
            elif command == 254:
                yield b" " * 8
            elif command == 255:
                yield struct.pack("<d", SYSTEM_MISSING)
            else:
                yield struct.pack("<d", command - 100.0)
