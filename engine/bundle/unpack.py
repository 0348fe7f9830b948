"""Everything that a file holds, unpacked: a search of its bytes alone misses what is compressed or encoded."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path

import numpy as np

from engine.bundle.pairs import pairs_in
from engine.bundle.tiers import members

_DEEPEST = 6
_MOST = 1 << 28  # bytes that one packed part may unfold to
_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\n?endstream", re.DOTALL)
_EMBEDDED = re.compile(rb"base64,([A-Za-z0-9+/=\s]{24,})")
_TAG = re.compile(r"<[^>]*>")
_PLAIN = (".csv", ".parquet", ".sav", ".dta", ".xpt")
_PIECE, _OVERLAP = 1 << 26, 1 << 12
_PROSE = (".docx", ".pptx", ".xlsx", ".html", ".json")
_LABELLED = (".sav", ".zsav", ".dta", ".xpt", ".sas7bdat")


@dataclass(frozen=True)
class Part:
    """A piece of a file: where it is, its bytes, and whether it is a field that describes the file (metadata)."""

    where: str
    content: bytes
    metadata: bool = False

    @cached_property
    def pairs(self) -> np.ndarray:
        """Which pairs of bytes stand in it (see :func:`engine.bundle.pairs.pairs_in`)."""
        return pairs_in(self.content)


def parts_of(path: Path) -> Iterator[Part]:
    """The file itself and everything packed in it: members of archives, compressed streams, embedded pictures, and the
    values, names and labels of Parquet, SPSS, Stata and SAS files."""
    if path.suffix in _PLAIN:
        yield from _pieces(path)
    else:
        yield from unpacked(path.name, path.read_bytes())
    if path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix.lower() in _LABELLED:
        yield from _labelled(path)


def _pieces(path: Path) -> Iterator[Part]:
    """A file that packs nothing, in pieces that overlap by more than any secret is long: it may not fit into memory."""
    with path.open("rb") as file:
        kept = b""
        while block := file.read(_PIECE):
            yield Part(path.name, kept + block)
            kept = (kept + block)[-_OVERLAP:]


def unpacked(where: str, content: bytes, depth: int = 0) -> Iterator[Part]:
    """A piece and, as far as it is packed, what is in it."""
    yield Part(where, content, metadata=bool(re.search(r"docProps/|/Info$|\bcore\.xml$|\bapp\.xml$", where)))
    if depth == _DEEPEST:
        return
    if content[:4] == b"PK\x03\x04":
        yield from _zip(where, content, depth)
    elif content[:2] == b"\x1f\x8b":
        yield from _gzip(where, content, depth)
    elif content[:5] == b"%PDF-":
        yield from _pdf(where, content)
    elif content[:8] == b"\x89PNG\r\n\x1a\n":
        yield from _png(where, content)
    for number, match in enumerate(_EMBEDDED.finditer(content)):
        try:
            inner = base64.b64decode(re.sub(rb"\s", b"", match[1]), validate=True)
        except binascii.Error:
            continue
        yield from unpacked(f"{where}: embedded {number + 1}", inner, depth + 1)


def _zip(where: str, content: bytes, depth: int) -> Iterator[Part]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [archive.comment, *(i.filename.encode() + b"\n" + i.comment + i.extra for i in archive.infolist())]
            yield Part(f"{where}: directory", b"\n".join(names), metadata=True)
            for info in archive.infolist():
                if info.file_size <= _MOST:
                    yield from unpacked(f"{where}: {info.filename}", archive.read(info), depth + 1)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError):
        return


def _gzip(where: str, content: bytes, depth: int) -> Iterator[Part]:
    try:
        with gzip.open(io.BytesIO(content)) as file:
            inner = file.read(_MOST)
    except (OSError, EOFError, zlib.error):
        return
    yield from unpacked(f"{where}: unpacked", inner, depth + 1)


def _pdf(where: str, content: bytes) -> Iterator[Part]:
    info = b"\n".join(re.findall(rb"/(?:Title|Author|Subject|Keywords|Creator|Producer)\s*(\(.*?\)|<.*?>)", content))
    yield Part(f"{where}: Info", info, metadata=True)
    for number, match in enumerate(_STREAM.finditer(content)):
        try:
            inner = zlib.decompressobj().decompress(match[1], _MOST)
        except zlib.error:
            continue
        yield Part(f"{where}: stream {number + 1}", inner)


def _png(where: str, content: bytes) -> Iterator[Part]:
    at = 8
    while at + 12 <= len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        at += 12 + length
        if kind not in (b"tEXt", b"zTXt", b"iTXt", b"eXIf"):
            continue
        yield Part(f"{where}: text", data, metadata=True)
        packed = data.find(b"\x78")
        while packed >= 0:
            try:
                yield Part(f"{where}: text", zlib.decompressobj().decompress(data[packed:], _MOST), metadata=True)
                break
            except zlib.error:
                packed = data.find(b"\x78", packed + 1)


def _parquet(path: Path) -> Iterator[Part]:
    from pyarrow import parquet

    from engine.values import as_text

    with parquet.ParquetFile(path) as file:
        meta = file.schema_arrow.metadata or {}
        described = [file.metadata.created_by or "", *(f"{k!r}={v!r}" for k, v in meta.items())]
        described += [f"{k!r}={v!r}" for k, v in (file.metadata.metadata or {}).items()]
        described += [f"{f.name} {f.metadata or ''}" for f in file.schema_arrow]
        yield Part(f"{path.name}: description", "\n".join(described).encode(), metadata=True)
        for batch in file.iter_batches(1 << 16):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                values = as_text(column.unique()).drop_null().to_pylist()
                yield Part(f"{path.name}: {name}", "\n".join(map(str, values)).encode())


def _labelled(path: Path) -> Iterator[Part]:
    """What a reader makes of a labelled file: SPSS breaks text into pieces of eight, so its bytes say little."""
    from engine.io.readers import read_table
    from engine.values import texts

    table = read_table(path)
    for column in table.columns.values():
        words = [column.name, repr(vars(column.about))]
        yield Part(f"{path.name}: description", "\n".join(words).encode(), metadata=True)
        yield Part(f"{path.name}: {column.name}", "\n".join(texts(column.values)).encode())


def prose(folder: Path) -> Iterator[tuple[str, str]]:
    """What people read in the documents and records of a bundle, each text with where it stands; style sheets, scripts,
    themes and relations between parts are none."""
    for name in members(folder):
        if Path(name).suffix not in _PROSE:
            continue
        for part in parts_of(folder / name):
            if not part.where.endswith((".rels", ".css", ".js")) and "theme" not in part.where:
                yield part.where, plain_text(part)


def plain_text(part: Part) -> str:
    """A piece as a person reads it: without tags, embedded pictures and encodings; empty where it is no text."""
    if b"\0" in part.content[:1024]:
        return ""
    try:
        text = _EMBEDDED.sub(b" ", part.content).decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return unescape(_TAG.sub(" ", text)) if "<" in text[:4096] else text
