"""Unpack the contents of a file, since a search of its bytes misses what is compressed or encoded."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

import numpy as np

from engine.bundle.byte_pairs import pairs_in
from engine.bundle.parquet_pages import DamagedPage, unpacked_size
from engine.common.errors import EngineError
from engine.common.os_support import arrow_file
from engine.common.raw_values import as_text, texts
from engine.common.untrusted import in_words, open_plain, read_plain
from engine.data.io.readers import read_table

if TYPE_CHECKING:
    import pyarrow as pa

_DEEPEST = 6
_UNPACKED, _TIMES = 1 << 25, 4
_PART_COST = 1 << 13  # bytes that a part counts for besides its own: each is searched by itself
_MOST_DIRECTORY = 1 << 20  # bytes of an archive's list of entries
_MOST_CELLS, _CELLS_A_BYTE = 1 << 26, 128
_MOST_VALUES, _VALUES_A_BYTE = 1 << 28, 64
_STREAM = re.compile(rb"stream\r?\n")
_INFO = re.compile(rb"/(?:Title|Author|Subject|Keywords|Creator|Producer)\s{0,16}(?=([(<]))")
_EMBEDDED = re.compile(rb"base64,([A-Za-z0-9+/=\s]{24,})")
_TAG = re.compile(r"<[^<>]*>")
_PLAIN = (".csv", ".parquet", ".sav", ".dta", ".xpt")
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
    def pairs(self) -> np.ndarray:
        """The pairs of bytes that stand in it (see :func:`engine.bundle.byte_pairs.pairs_in`)."""
        return pairs_in(self.content)


class TooLarge(EngineError):
    """A file unpacks to more than any file of a bundle does, or hides how much; ``why`` is the sentence without the
    file's name."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"'{name}' {why}")
        self.why = why


class Budget:
    """The number of bytes that a file may still unpack to: many times those of an honest document, and more the larger
    it is.

    An archive of a few kilobytes can unpack to more than any disk holds.
    """

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.most = self.left = _UNPACKED + _TIMES * size

    def take(self, n_bytes: int) -> None:
        """Count bytes that were unpacked; too many are refused (:class:`TooLarge`)."""
        self.left -= n_bytes
        if self.left < 0:
            raise TooLarge(self.name, f"unpacks to more than {in_words(self.most)}; it was not unpacked any further")

    def take_part(self) -> None:
        """Count one more part: millions of tiny ones would take as long as gigabytes."""
        self.take(_PART_COST)

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


class Archive(zipfile.ZipFile):
    """A zip for reading whose list of entries is no larger than that of any document."""

    def __init__(self, file: BinaryIO | io.BytesIO) -> None:
        super().__init__(_CappedFile(file))


class _CappedFile:
    """A file that refuses long reads: ``zipfile`` reads an archive's whole list of entries at once, before anything is
    known of it."""

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
    elif path.suffix.lower() in _LABELLED:
        yield from _labelled(path)


def _chunks(path: Path) -> Iterator[Part]:
    """A file that packs nothing, in chunks that overlap by more than any secret is long: it may not fit into memory."""
    with open_plain(path) as file:
        overlap = b""
        while chunk := file.read(_CHUNK):
            yield Part(path.name, overlap + chunk)
            overlap = (overlap + chunk)[-_OVERLAP:]


def _unpacked(where: str, content: bytes, budget: Budget, depth: int = 0) -> Iterator[Part]:
    """A part and, where it is packed, the parts in it."""
    yield Part(where, content, metadata=bool(re.search(r"docProps/|/Info$|\bcore\.xml$|\bapp\.xml$", where)))
    if depth == _DEEPEST:
        return
    if content[:4] == b"PK\x03\x04":
        yield from _zip(where, content, budget, depth)
    elif content[:2] == b"\x1f\x8b":
        yield from _gzip(where, content, budget, depth)
    elif content[:5] == b"%PDF-":
        yield from _pdf(where, content, budget)
    elif content[:8] == b"\x89PNG\r\n\x1a\n":
        yield from _png(where, content, budget)
    for number, match in enumerate(_EMBEDDED.finditer(content)):
        budget.take_part()
        try:
            inner = base64.b64decode(re.sub(rb"\s", b"", match[1]), validate=True)
        except binascii.Error:
            continue
        yield from _unpacked(f"{where}: embedded {number + 1}", inner, budget, depth + 1)


def _zip(where: str, content: bytes, budget: Budget, depth: int) -> Iterator[Part]:
    try:
        with Archive(io.BytesIO(content)) as archive:
            names = [archive.comment, *(i.filename.encode() + b"\n" + i.comment + i.extra for i in archive.infolist())]
            yield Part(f"{where}: directory", b"\n".join(names), metadata=True)
            for info in archive.infolist():
                budget.take_part()
                with archive.open(info) as file:
                    inner = budget.read(file)
                yield from _unpacked(f"{where}: {info.filename}", inner, budget, depth + 1)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError):
        return


def _gzip(where: str, content: bytes, budget: Budget, depth: int) -> Iterator[Part]:
    try:
        with gzip.open(io.BytesIO(content)) as file:
            inner = budget.read(file)
    except (OSError, EOFError, zlib.error):
        return
    yield from _unpacked(f"{where}: unpacked", inner, budget, depth + 1)


def _pdf(where: str, content: bytes, budget: Budget) -> Iterator[Part]:
    info = [text for sign, end in ((b"(", b")"), (b"<", b">")) for text in _between(content, _INFO, end, sign)]
    yield Part(f"{where}: Info", b"\n".join(info), metadata=True)
    for number, packed in enumerate(_between(content, _STREAM, b"endstream")):
        budget.take_part()
        try:
            inner = budget.inflate(packed)
        except zlib.error:
            continue
        yield Part(f"{where}: stream {number + 1}", inner)


def _between(content: bytes, begin: re.Pattern[bytes], end: bytes, sign: bytes = b"") -> Iterator[bytes]:
    """The bytes between each beginning (those before ``sign`` only) and the next end after it, in one pass."""
    position = 0
    while match := begin.search(content, position):
        if sign and match[1] != sign:
            position = match.end()
            continue
        position = content.find(end, match.end())
        if position < 0:
            return
        yield content[match.end() : position + len(sign)]


def _png(where: str, content: bytes, budget: Budget) -> Iterator[Part]:
    start = 8
    while start + 12 <= len(content):
        length = int.from_bytes(content[start : start + 4], "big")
        kind, data = content[start + 4 : start + 8], content[start + 8 : start + 8 + length]
        start += 12 + length
        if kind not in (b"tEXt", b"zTXt", b"iTXt", b"eXIf"):
            continue
        budget.take_part()
        yield Part(f"{where}: text", data, metadata=True)
        for packed in _texts_of_png(kind, data):
            try:
                yield Part(f"{where}: text", budget.inflate(packed), metadata=True)
            except zlib.error:
                continue


def _texts_of_png(kind: bytes, data: bytes) -> Iterator[bytes]:
    """The compressed text of a PNG chunk: after its keyword, and in iTXt after two flags, a language and a
    translation."""
    _, _, after_keyword = data.partition(b"\0")
    if kind == b"zTXt":
        yield after_keyword[1:]
    elif kind == b"iTXt" and after_keyword[:1] == b"\1":
        yield after_keyword[2:].split(b"\0", 2)[-1]


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
    from pyarrow import parquet

    with open_plain(path) as file:
        size = file.seek(0, 2)
        footer = parquet.read_metadata(file)
        if footer.num_rows * max(1, footer.num_columns) > _MOST_CELLS + _CELLS_A_BYTE * size:
            raise TooLarge(
                path.name,
                f"has {in_words(size)} and says that it holds {footer.num_rows:,} records of "
                f"{footer.num_columns:,} columns; it was not read",
            )
        try:
            n_bytes = unpacked_size(file, footer)
        except DamagedPage as error:
            raise TooLarge(path.name, f"holds {error}, as no table of a bundle does; it was not read") from None
    if n_bytes > _MOST_VALUES + _VALUES_A_BYTE * size:
        raise TooLarge(path.name, f"has {in_words(size)} and unpacks to {in_words(n_bytes)}; it was not read")


def _labelled(path: Path) -> Iterator[Part]:
    """A labelled file as it is read: SPSS breaks text into pieces of eight bytes, which a search misses."""
    table = read_table(path)
    for column in table.columns.values():
        description = [column.name, repr(vars(column.about))]
        yield Part(f"{path.name}: description", "\n".join(description).encode(), metadata=True)
        yield Part(f"{path.name}: {column.name}", "\n".join(texts(column.values)).encode())


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
