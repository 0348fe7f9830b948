"""Bound what the pages of a Parquet file may unpack to before a library reads them.

A page begins with a record of Thrift's compact protocol, which is read here without any of what follows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, FileMetaData

_WIDEST = 16  # bytes of a value of fixed width: a decimal figure's
_MOST_PAGES = 1 << 18
_ENCODINGS = (0, 2, 3, 8)  # plain, runs and dictionaries; others say by themselves how much memory they need
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _STRUCT = (1, 2, 3, 4, 5, 6, 7, 8, 12)
_DEEPEST = 4
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # kinds of pages
_ABOUT = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}  # fields: what a kind says, and its encoding therein


class Damaged(ValueError):
    """A page is none of those that this program writes."""


def unpacked_to(file: IO[bytes], held: FileMetaData) -> int:
    """To how many bytes the pages of a Parquet file say that they unpack, all together."""
    import pyarrow as pa

    schema = held.schema
    for kind in schema.to_arrow_schema().types:
        if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
            raise Damaged("a column of lists, or of values of no plain kind")
    for j in range(held.num_columns):
        column = schema.column(j)
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > _WIDEST:
            raise Damaged("a column of wide values")
    total = seen = 0
    for g in range(held.num_row_groups):
        group = held.row_group(g)
        for j in range(held.num_columns):
            for size in _sizes(file, group.column(j)):
                total, seen = total + size, seen + 1
                if seen > _MOST_PAGES:
                    raise Damaged("more pages than any table has")
    return total


def _sizes(file: IO[bytes], chunk: ColumnChunkMetaData) -> Iterator[int]:
    """The unpacked size of each page of a column, as its reader goes through them: to the last of its values."""
    at, missing = chunk.data_page_offset, chunk.num_values
    if chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    file.seek(at)
    while missing > 0:
        page = _struct(file)
        kind, unpacked, packed = (_size(page, i) for i in (1, 2, 3))
        if kind in _ABOUT:
            field, encoding = _ABOUT[kind]
            about = page.get((field, _STRUCT), {})
            values = _size(about, 1)
            if _size(about, encoding) not in _ENCODINGS or (kind == _DICTIONARY and values > unpacked):
                raise Damaged("a page that says itself how much memory it needs")
            missing -= values if kind != _DICTIONARY else 0
        file.seek(packed, 1)
        yield unpacked


def _size(fields: dict[tuple[int, int], Any], number: int) -> int:
    size: int = fields.get((number, _I32), -1)
    if not 0 <= size < 1 << 31:
        raise Damaged("a page without sizes")
    return size


def _struct(file: IO[bytes], depth: int = 0) -> dict[tuple[int, int], Any]:
    """The whole numbers and records in a record, by the number and the kind of their fields."""
    found: dict[tuple[int, int], Any] = {}
    number = 0
    while head := _byte(file):
        kind = head & 15
        number = number + (head >> 4) if head >> 4 else _zigzag(file)
        if kind in (_I16, _I32, _I64):
            found[number, kind] = _zigzag(file)
        elif kind == _STRUCT and depth < _DEEPEST:
            found[number, kind] = _struct(file, depth + 1)
        elif kind in (_BYTE, _DOUBLE, _BINARY):
            file.seek({_BYTE: 1, _DOUBLE: 8}.get(kind) or _varint(file), 1)
        elif kind not in (_TRUE, _FALSE):
            raise Damaged("a page with fields of no known kind")
    return found


def _byte(file: IO[bytes]) -> int:
    one = file.read(1)
    if not one:
        raise Damaged("a page beyond the end")
    return one[0]


def _varint(file: IO[bytes]) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise Damaged("a number without end")


def _zigzag(file: IO[bytes]) -> int:
    value = _varint(file)
    return (value >> 1) ^ -(value & 1)
