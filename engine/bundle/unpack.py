"""Look into any file of a bundle within bounds: what is packed or encoded in it, and whether it has the format that its
name says.
"""

from __future__ import annotations

import base64
import binascii
import csv
import gzip
import io
import re
import tomllib
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import unescape
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO
from xml.parsers import expat
from xml.parsers.expat import ExpatError

import numpy as np

from engine.common.errors import EngineError
from engine.common.os_support import arrow_file
from engine.common.raw_values import as_text, texts
from engine.common.untrusted import MOST_ENTRIES, in_words, open_plain, read_json, read_plain, read_text
from engine.data.io.readers import read_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ColumnChunkMetaData


_CHUNK_OF_PAIRS = 1 << 20  # bytes at a time: a large file needs no memory of its size


def _pairs(content: bytes) -> np.ndarray:
    """The pairs of neighbouring bytes: 256 times the first and the second."""
    codes = np.frombuffer(content, np.uint8).astype(np.uint16)
    return codes[:-1] << 8 | codes[1:]


_pairs_of_form = lru_cache(maxsize=4096)(_pairs)


_WIDEST = 16  # bytes of a value of fixed width: a decimal figure's
_MOST_PAGES = 1 << 18
_ENCODINGS = (0, 2, 3, 8)  # plain, runs and dictionaries; others say by themselves how much memory they need
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _STRUCT = (1, 2, 3, 4, 5, 6, 7, 8, 12)
_DEEPEST_STRUCT = 4
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # kinds of pages
_HEADERS = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}  # fields: the header of a kind, its encoding therein


class DamagedPage(ValueError):
    """A page is of no kind that this program writes."""


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
            header = page.get(field, {})
            n_values = _size(header, 1)
            if _size(header, encoding) not in _ENCODINGS or (kind == _DICTIONARY and n_values > unpacked):
                raise DamagedPage("a page that says itself how much memory it needs")
            n_unread -= n_values if kind != _DICTIONARY else 0
        file.seek(packed, 1)
        yield unpacked


def _size(fields: Any, number: int) -> int:
    size = fields.get(number) if isinstance(fields, dict) else None
    if not isinstance(size, int) or not 0 <= size < 1 << 31:
        raise DamagedPage("a page without sizes")
    return size


def _struct(file: IO[bytes], depth: int = 0) -> dict[int, Any]:
    """The 32-bit integers and the structs in a struct of Thrift's compact protocol, by the number of their field."""
    fields: dict[int, Any] = {}
    number = 0
    while head := _byte(file):
        kind = head & 15
        number = number + (head >> 4) if head >> 4 else _zigzag(file)
        if kind in (_I16, _I32, _I64):
            value = _zigzag(file)
            fields |= {number: value} if kind == _I32 else {}
        elif kind == _STRUCT and depth < _DEEPEST_STRUCT:
            fields[number] = _struct(file, depth + 1)
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


_LONGEST = 1_000_000  # bytes of a tag, or of a text: expat hands over a tag's attributes only when it has read them all


def variables_in(path: Path) -> set[str]:
    """The names of the variables that a codebook describes.

    Declarations of a document's type are refused: a codebook has none, and they can define texts that unfold without
    end.  More elements and attributes than a file of a bundle has, and longer tags, are refused too.  A file that is no
    XML is an ``ExpatError``.
    """
    names = set[str]()
    n_entries = 0

    def refuse(*_: Any) -> None:
        raise EngineError(f"'{path.name}' declares a type of document, as no codebook of a bundle does")

    def take(element: str, attributes: dict[str, str]) -> None:
        nonlocal n_entries
        n_entries += 1 + len(attributes)
        if n_entries > MOST_ENTRIES:
            raise EngineError(f"'{path.name}' holds more than {MOST_ENTRIES:,} elements and attributes")
        if element == "ddi:codebook:2_5 var":
            names.add(attributes.get("name", ""))

    content, start = read_plain(path), 0
    while len(content) - start > _LONGEST:  # no tag or text holds a sign <, so each ends before the next one
        after = content.rfind(b"<", start, start + _LONGEST) + 1
        if not after:
            raise EngineError(f"'{path.name}' holds a tag or a text of more than {_LONGEST:,} bytes")
        start = after
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = take
    parser.Parse(content, True)
    return names


_DEEPEST = 6
_UNPACKED, _TIMES = 1 << 25, 4
_PART_COST = 1 << 13  # bytes that a part counts for: millions of tiny ones would take as long as gigabytes
_MOST_DIRECTORY = 1 << 20  # bytes of an archive's list of entries
_MOST_CELLS, _CELLS_A_BYTE = 1 << 26, 128
_MOST_VALUES, _VALUES_A_BYTE = 1 << 28, 64
_STREAM = re.compile(rb"stream\r?\n")
_INFO = rb"/(?:Title|Author|Subject|Keywords|Creator|Producer)\s{0,16}"
_EMBEDDED = re.compile(rb"base64,([A-Za-z0-9+/=\s]{24,})")
_TAG = re.compile(r"<[^<>]*>")
_PLAIN = (".csv", ".parquet", ".sav", ".dta", ".xpt")
_MOST_HEADER = 1 << 24
_CHUNK, _OVERLAP = 1 << 26, 1 << 12
_PROSE = (".docx", ".pptx", ".xlsx", ".html", ".json")
_LABELLED = (".sav", ".zsav", ".dta", ".xpt", ".sas7bdat")


@dataclass(frozen=True)
class Part:
    """A part of a file: where it is, its bytes, and whether it is a field that describes the file (metadata)."""

    where: str
    content: bytes
    metadata: bool = False

    @cached_property
    def _has_pair(self) -> np.ndarray:
        present = np.zeros(1 << 16, bool)
        for start in range(0, len(self.content), _CHUNK_OF_PAIRS):
            present[_pairs(self.content[start : start + _CHUNK_OF_PAIRS + 1])] = True
        return present

    def holds(self, form: bytes) -> bool:
        """Return whether these bytes stand in it; most that do not are told by one of their pairs."""
        return bool(self._has_pair[_pairs_of_form(form)].all()) and form in self.content


class TooLarge(EngineError):
    """A file unpacks to more than any file of a bundle does, or hides how much; ``why`` leaves out the file's name."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"'{name}' {why}")
        self.why = why


class Budget:
    """The bytes that a file may still unpack to, many times those of an honest document: a few kilobytes can unpack to
    more than any disk holds."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.most = self.left = _UNPACKED + _TIMES * size

    def take(self, n_bytes: int = _PART_COST) -> None:
        """Count bytes that were unpacked, or one more part; too many are refused (:class:`TooLarge`)."""
        self.left -= n_bytes
        if self.left < 0:
            raise TooLarge(self.name, f"unpacks to more than {in_words(self.most)}; it was not unpacked any further")

    def inflate(self, content: bytes) -> bytes:
        """The bytes of a deflated stream."""
        inner = zlib.decompressobj().decompress(content, self.left + 1)
        self.take(len(inner))
        return inner

    def read(self, file: IO[bytes] | gzip.GzipFile) -> bytes:
        """The bytes of a file that is unpacked while it is read."""
        inner = io.BytesIO()
        while chunk := file.read(_MOST_DIRECTORY):  # no more at once than of an archive may be read at once
            self.take(len(chunk))
            inner.write(chunk)
        return inner.getvalue()


class _CappedFile:
    """A file that refuses long reads: ``zipfile`` reads a whole list of entries before anything is known of it."""

    def __init__(self, file: BinaryIO | io.BytesIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, n_bytes: int = -1) -> bytes:
        """The next bytes, or all; more at once than a list of entries has are refused."""
        content = self._file.read(_MOST_DIRECTORY + 1 if n_bytes < 0 else min(n_bytes, _MOST_DIRECTORY + 1))
        if len(content) > _MOST_DIRECTORY:
            raise zipfile.BadZipFile("a list of entries without end")
        return content


def parts_of(path: Path) -> Iterator[Part]:
    """The file itself and everything packed in it: entries of archives, compressed streams, embedded pictures, and the
    values, names and labels of Parquet, SPSS, Stata and SAS files.

    One that unpacks to more than any document does is refused (:class:`TooLarge`).
    """
    if path.suffix in _PLAIN:
        yield from _chunks(path)
    else:
        content = read_plain(path)
        yield from _unpacked(path.name, content, Budget(path.name, len(content)))
    if path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix.lower() in _LABELLED:  # SPSS breaks text into pieces of eight bytes, which a search misses
        for column in read_table(path).columns.values():
            description = f"{column.name}\n{vars(column.about)!r}"
            yield Part(f"{path.name}: description", description.encode(), metadata=True)
            yield Part(f"{path.name}: {column.name}", "\n".join(texts(column.values)).encode())


def _chunks(path: Path) -> Iterator[Part]:
    """A file that packs nothing, in chunks that overlap by more than any secret is long: it may not fit into memory."""
    with open_plain(path) as file:
        overlap = b""
        while chunk := file.read(_CHUNK):
            yield Part(path.name, overlap + chunk)
            overlap = (overlap + chunk)[-_OVERLAP:]


def _unpacked(where: str, content: bytes, budget: Budget, depth: int = 0) -> Iterator[Part]:
    yield Part(where, content, metadata=bool(re.search(r"docProps/|/Info$|\bcore\.xml$|\bapp\.xml$", where)))
    if depth == _DEEPEST:
        return
    if content[:4] == b"PK\x03\x04":
        yield from _zip(where, content, budget, depth)
    elif content[:2] == b"\x1f\x8b":
        with suppress(OSError, EOFError, zlib.error), gzip.open(io.BytesIO(content)) as file:
            inner = budget.read(file)
            yield from _unpacked(f"{where}: unpacked", inner, budget, depth + 1)
    elif content[:5] == b"%PDF-":
        yield from _pdf(where, content, budget)
    elif content[:8] == b"\x89PNG\r\n\x1a\n":
        yield from _png(where, content, budget)
    for number, match in enumerate(_EMBEDDED.finditer(content)):
        budget.take()
        try:
            inner = base64.b64decode(re.sub(rb"\s", b"", match[1]), validate=True)
        except binascii.Error:
            continue
        yield from _unpacked(f"{where}: embedded {number + 1}", inner, budget, depth + 1)


def _zip(where: str, content: bytes, budget: Budget, depth: int) -> Iterator[Part]:
    """The parts of an archive; one that cannot be unpacked hides no others."""
    try:
        archive = zipfile.ZipFile(_CappedFile(io.BytesIO(content)))
    except zipfile.BadZipFile:
        return
    names = [archive.comment, *(i.filename.encode() + b"\n" + i.comment + i.extra for i in archive.infolist())]
    yield Part(f"{where}: directory", b"\n".join(names), metadata=True)
    for info in archive.infolist():
        budget.take()
        try:
            with archive.open(info) as file:
                inner = budget.read(file)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError):  # RuntimeError: encrypted, or of a new method
            continue
        yield from _unpacked(f"{where}: {info.filename}", inner, budget, depth + 1)


def _pdf(where: str, content: bytes, budget: Budget) -> Iterator[Part]:
    info = [
        text
        for begin, end in ((rb"\(", b")"), (b"<", b">"))
        for text in _between(content, re.compile(_INFO + begin), end)
    ]
    yield Part(f"{where}: Info", b"\n".join(info), metadata=True)
    for number, packed in enumerate(_between(content, _STREAM, b"endstream")):
        budget.take()
        with suppress(zlib.error):
            yield Part(f"{where}: stream {number + 1}", budget.inflate(packed))


def _between(content: bytes, begin: re.Pattern[bytes], end: bytes) -> Iterator[bytes]:
    """The bytes between each beginning and the next end after it, in one pass."""
    position = 0
    while match := begin.search(content, position):
        position = content.find(end, match.end())
        if position < 0:
            return
        yield content[match.end() : position]


def _png(where: str, content: bytes, budget: Budget) -> Iterator[Part]:
    start = 8
    while start + 12 <= len(content):
        length = int.from_bytes(content[start : start + 4], "big")
        kind, data = content[start + 4 : start + 8], content[start + 8 : start + 8 + length]
        start += 12 + length
        if kind not in (b"tEXt", b"zTXt", b"iTXt", b"eXIf"):
            continue
        budget.take()
        yield Part(f"{where}: text", data, metadata=True)
        _, _, text = data.partition(b"\0")  # after the keyword; in iTXt after flags, a language and a translation too
        is_packed = kind == b"zTXt" or (kind == b"iTXt" and text[:1] == b"\1")
        with suppress(zlib.error):
            if is_packed:
                inner = text[1:] if kind == b"zTXt" else text[2:].split(b"\0", 2)[-1]
                yield Part(f"{where}: text", budget.inflate(inner), metadata=True)


def _parquet(path: Path) -> Iterator[Part]:
    from pyarrow import parquet, types

    check_parquet(path)
    schema = parquet.read_metadata(arrow_file(path)).schema
    kinds = [schema.column(j) for j in range(len(schema))]
    text_columns = [kind.path for kind in kinds if kind.physical_type == "BYTE_ARRAY"]
    with arrow_file(path) as source, parquet.ParquetFile(source, read_dictionary=text_columns) as file:
        meta = file.schema_arrow.metadata or {}
        described = [file.metadata.created_by or "", *(f"{k!r}={v!r}" for k, v in meta.items())]
        described += [f"{k!r}={v!r}" for k, v in (file.metadata.metadata or {}).items()]
        described += [f"{f.name} {f.metadata or ''}" for f in file.schema_arrow]
        yield Part(f"{path.name}: description", "\n".join(described).encode(), metadata=True)
        previous: dict[str, pa.Array] = {}
        for batch in file.iter_batches(1 << 16):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                # Each text that is stored, once: a few bytes may stand for millions of them.
                distinct = column.dictionary if types.is_dictionary(column.type) else column.unique()
                if name in previous and distinct.equals(previous[name]):
                    continue
                previous[name] = distinct
                values = as_text(distinct).drop_null().to_pylist()
                yield Part(f"{path.name}: {name}", "\n".join(map(str, values)).encode())


def check_parquet(path: Path) -> None:
    """Refuse (:class:`TooLarge`) a Parquet file that says, at its end or where any page begins, that it unpacks to more
    than its size can hold."""
    import pyarrow as pa
    from pyarrow import parquet

    with open_plain(path) as file:
        size = file.seek(0, 2)
        footer = parquet.read_metadata(file)
        n_columns, n_bytes = footer.num_columns, 0
        if footer.num_rows * max(1, n_columns) > _MOST_CELLS + _CELLS_A_BYTE * size:
            holds = f"{footer.num_rows:,} records of {n_columns:,} columns"
            raise TooLarge(path.name, f"has {in_words(size)} and says that it holds {holds}; it was not read")
        groups = (footer.row_group(g) for g in range(footer.num_row_groups))
        chunks = (group.column(j) for group in groups for j in range(n_columns))
        try:
            for kind in footer.schema.to_arrow_schema().types:
                if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
                    raise DamagedPage("a column of lists, or of values of no plain kind")
            for column in map(footer.schema.column, range(n_columns)):
                if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.length > _WIDEST:
                    raise DamagedPage("a column of wide values")
            for n_pages, unpacked in enumerate((size for chunk in chunks for size in _sizes(file, chunk)), 1):
                n_bytes += unpacked
                if n_pages > _MOST_PAGES:
                    raise DamagedPage("more pages than any table has")
        except DamagedPage as error:
            raise TooLarge(path.name, f"holds {error}, as no table of a bundle does; it was not read") from None
    if n_bytes > _MOST_VALUES + _VALUES_A_BYTE * size:
        raise TooLarge(path.name, f"has {in_words(size)} and unpacks to {in_words(n_bytes)}; it was not read")


def header_of(path: Path) -> tuple[list[str], dict[bytes, bytes] | None] | None:
    """The columns of a CSV or Parquet file, and the latter's description, with that of its columns; else None."""
    if path.suffix == ".csv":
        with open_plain(path) as file:
            head = file.read(_MOST_HEADER).decode("utf-8", "replace")
        try:
            return next(csv.reader(io.StringIO(head, newline="")), []), None
        except csv.Error:
            raise EngineError(f"'{path.name}' has a header that cannot be read") from None
    if path.suffix != ".parquet":
        return None
    from pyarrow import parquet

    schema = parquet.read_schema(arrow_file(path))
    description = dict(schema.metadata or {})
    for field in schema:
        description |= {b"column: " + name: text for name, text in (field.metadata or {}).items()}
    return schema.names, description


def prose(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The texts that people read in the documents and JSON files among a bundle's files, each after where it is; style
    sheets, scripts, themes and relations between parts are left out."""
    for name in names:
        if Path(name).suffix not in _PROSE:
            continue
        for part in parts_of(folder / name):
            if not part.where.endswith((".rels", ".css", ".js")) and "theme" not in part.where:
                yield part.where, plain_text(part)


def plain_text(part: Part) -> str:
    """A part as a person reads it: without tags, embedded pictures and encodings; empty where it is no text."""
    if b"\0" in part.content[:1024]:
        return ""
    try:
        text = _EMBEDDED.sub(b" ", part.content).decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return unescape(_TAG.sub(" ", text)) if "<" in text[:4096] else text


_DAMAGED = "cannot be opened as what it is"
_TAIL = 1024
_SIGNATURES = {".sav": b"$FL2", ".dta": b"<stata_dta>", ".xpt": b"HEADER RECORD*******LIBRARY HEADER RECORD"}


def fault(path: Path) -> str:
    """The reason why a file does not have the format of its ending; empty where it does.

    Archives are unpacked and their check sums compared, and structured texts are read.  Of a data file the beginning
    and the end are checked, and any other file must be text.
    """
    from pyarrow import ArrowException

    try:
        return "" if _has_format(path) else _DAMAGED
    except TooLarge as error:
        return error.why
    except (EngineError, OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error, ExpatError):
        return _DAMAGED  # RuntimeError: an archive is encrypted or of a new method, or a text is nested without end
    except ArrowException:
        return _DAMAGED


def _has_format(path: Path) -> bool:
    suffix = path.suffix.lower()
    with open_plain(path) as file:
        if suffix in (".docx", ".xlsx", ".pptx"):
            budget = Budget(path.name, file.seek(0, 2))
            with zipfile.ZipFile(_CappedFile(file)) as archive:
                for info in archive.infolist():
                    with archive.open(info) as part:
                        budget.read(part)
                return "[Content_Types].xml" in archive.namelist()
        head = file.read(_TAIL)
        file.seek(max(0, file.seek(0, 2) - _TAIL))
        tail = file.read().rstrip()
    match suffix:
        case ".pdf":
            return head.startswith(b"%PDF-") and b"startxref" in tail and tail.endswith(b"%%EOF")
        case ".parquet":
            check_parquet(path)
        case ".json":
            read_json(path)
        case ".toml":
            return bool(tomllib.loads(read_text(path)))
        case ".xml":
            variables_in(path)
        case ".sav" | ".dta" | ".xpt":
            return head.startswith(_SIGNATURES[suffix])
        case ".html" if not (head.lower().startswith(b"<!doctype html") and tail.lower().endswith(b"</html>")):
            return False
        case _:
            return bool(head) and not any(b"\0" in part.content for part in _chunks(path))
    return True
