"""Bound the unpacked size of the pages of a Parquet file before a library reads them.

A page begins with a header in Thrift's compact protocol; the header alone is read here.
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
_HEADERS = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}  # fields: the header of a kind, its encoding therein


class DamagedPage(ValueError):
    """A page is of no kind that this program writes."""


def unpacked_size(file: IO[bytes], footer: FileMetaData) -> int:
    """The sum of the unpacked sizes, in bytes, that the pages of a Parquet file state."""
    import pyarrow as pa

    schema = footer.schema
    for kind in schema.to_arrow_schema().types:
        if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
            raise DamagedPage("a column of lists, or of values of no plain kind")
    for j in range(footer.num_columns):
        column = schema.column(j)
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > _WIDEST:
            raise DamagedPage("a column of wide values")
    total = n_pages = 0
    for g in range(footer.num_row_groups):
        group = footer.row_group(g)
        for j in range(footer.num_columns):
            for size in _sizes(file, group.column(j)):
                total, n_pages = total + size, n_pages + 1
                if n_pages > _MOST_PAGES:
                    raise DamagedPage("more pages than any table has")
    return total


def _sizes(file: IO[bytes], chunk: ColumnChunkMetaData) -> Iterator[int]:
    """The unpacked size of each page of a column chunk, up to the page with the last of its values."""
    start, n_unread = chunk.data_page_offset, chunk.num_values
    if chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    file.seek(start)
    while n_unread > 0:
        page = _struct(file)
        kind, unpacked, packed = (_size(page, i) for i in (1, 2, 3))
        if kind in _HEADERS:
            field, encoding = _HEADERS[kind]
            header = page.get((field, _STRUCT), {})
            n_values = _size(header, 1)
            if _size(header, encoding) not in _ENCODINGS or (kind == _DICTIONARY and n_values > unpacked):
                raise DamagedPage("a page that says itself how much memory it needs")
            n_unread -= n_values if kind != _DICTIONARY else 0
        file.seek(packed, 1)
        yield unpacked


def _size(fields: dict[tuple[int, int], Any], number: int) -> int:
    size: int = fields.get((number, _I32), -1)
    if not 0 <= size < 1 << 31:
        raise DamagedPage("a page without sizes")
    return size


def _struct(file: IO[bytes], depth: int = 0) -> dict[tuple[int, int], Any]:
    """The integers and structs in a struct, by the number and the kind of their fields."""
    fields: dict[tuple[int, int], Any] = {}
    number = 0
    while head := _byte(file):
        kind = head & 15
        number = number + (head >> 4) if head >> 4 else _zigzag(file)
        if kind in (_I16, _I32, _I64):
            fields[number, kind] = _zigzag(file)
        elif kind == _STRUCT and depth < _DEEPEST:
            fields[number, kind] = _struct(file, depth + 1)
        elif kind in (_BYTE, _DOUBLE, _BINARY):
            file.seek({_BYTE: 1, _DOUBLE: 8}.get(kind) or _varint(file), 1)
        elif kind not in (_TRUE, _FALSE):
            raise DamagedPage("a page with fields of no known kind")
    return fields


def _byte(file: IO[bytes]) -> int:
    content = file.read(1)
    if not content:
        raise DamagedPage("a page beyond the end")
    return content[0]


def _varint(file: IO[bytes]) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise DamagedPage("a number without end")


def _zigzag(file: IO[bytes]) -> int:
    value = _varint(file)
    return (value >> 1) ^ -(value & 1)
