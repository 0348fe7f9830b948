"""What somebody could put into a bundle to keep its reader busy for ever, and to make it trip."""

from __future__ import annotations

import io
import os
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

MUCH = 1 << 28
"""More bytes than the documents of a bundle unpack to."""


def zip_bomb(n_bytes: int = MUCH, *, nested: int = 0) -> bytes:
    """A document that unpacks to so many zeros, in some archives in archives."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        if nested:
            archive.writestr("inner.docx", zip_bomb(n_bytes, nested=nested - 1))
        else:
            with archive.open("word/document.xml", "w", force_zip64=True) as part:
                for _ in range(n_bytes >> 24):
                    part.write(bytes(1 << 24))
    return out.getvalue()


def pdf_bomb(n_bytes: int = MUCH) -> bytes:
    """A PDF with a stream that unpacks to so many zeros."""
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(1 << 24)) for _ in range(n_bytes >> 24)) + packer.flush()
    return b"%PDF-1.7\nstream\n" + packed + b"\nendstream\nstartxref\n9\n%%EOF\n"


def pdf_of_beginnings(n: int = 1_000_000) -> bytes:
    """A PDF with many beginnings of streams and titles and no end of any."""
    return b"%PDF-1.7\n" + b"stream\n/Title(" * n + b"\nstartxref\n9\n%%EOF\n"


def pdf_of_streams(n: int = 1_000_000) -> bytes:
    """A PDF of very many streams that hold nothing."""
    return b"%PDF-1.7\n" + (b"stream\n" + zlib.compress(b"") + b"endstream ") * n + b"\nstartxref\n9\n%%EOF\n"


def html_of_pictures(n: int = 1_000_000) -> bytes:
    """A page with very many pictures of a few bytes."""
    return b"<!doctype html>\n" + b"base64,AAAAAAAAAAAAAAAAAAAAAAAA " * n + b"</html>\n"


def xml_of_attributes() -> bytes:
    """One element with very many attributes, which are handed over together or not at all."""
    return b"<a %s/>" % b" ".join(b'a%d=""' % i for i in range(1_500_000))


def xml_of_elements(n: int = 15_000_000) -> bytes:
    """A codebook of very many elements that say nothing."""
    return b"<c>" + b"<a/>" * n + b"</c>"


def csv_of_columns(n: int = 8_000_000) -> bytes:
    """Records with very many columns."""
    return b"a," * n + b"a\n"


def png_of_text(n: int = 2_000_000) -> bytes:
    """A picture whose text could begin to be compressed at each of its letters."""
    text = b"key\0" + b"x" * n
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(text)) + b"zTXt" + text + bytes(4)


def parquet_of_many(path: Path) -> None:
    """A small Parquet file of very many records, all the same."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = pa.table({"sex": pa.array(["1"]).take(pa.array([0] * 1_000_000))})
    with parquet.ParquetWriter(path, columns.schema) as file:
        for _ in range(100):
            file.write_table(columns)


def parquet_of_much(path: Path) -> None:
    """A small Parquet file whose pages unpack to far more."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = pa.table({"sex": pa.array(["a" * 1_000_000] * 10)})
    with parquet.ParquetWriter(path, columns.schema, compression="zstd", use_dictionary=False) as file:
        for _ in range(30):
            file.write_table(columns)


def parquet_of_forged_page(path: Path, field: int, value: int, page: int = 0) -> None:
    """A small Parquet file of one text column, whose dictionary (or values, as the second page) says another figure of
    itself: field 2 is the unpacked size; the end of the file still says the true one."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = pa.table({"sex": pa.array(["1", "2"] * 50)})
    parquet.write_table(columns, path, compression="snappy", write_statistics=False, data_page_version="1.0")
    chunk = parquet.read_metadata(path).row_group(0).column(0)
    whole, end = path.read_bytes(), chunk.dictionary_page_offset + chunk.total_compressed_size
    at = (chunk.dictionary_page_offset, chunk.data_page_offset)[page]
    begin = at
    for _ in range(field - 1):  # one byte of the field's kind, and a number
        begin = _after_number(whole, begin + 1)
    forged = whole[: begin + 1] + _number(value) + whole[_after_number(whole, begin + 1) :]
    # The page grows by what its values shrink: every place that the end of the file names stays.
    grown = len(forged) - len(whole)
    assert grown >= 0
    path.write_bytes(forged[:end] + forged[end + grown :])


def _number(value: int) -> bytes:
    value, out = value << 1, b""
    while value > 127:
        value, out = value >> 7, out + bytes([value & 127 | 128])
    return out + bytes([value])


def _after_number(content: bytes, at: int) -> int:
    while content[at] > 127:
        at += 1
    return at + 1


def listening(path: Path) -> None:
    """A socket; its path would be too long to be bound directly."""
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as one:
        os.chdir(path.parent)
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


def replaced(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Put something else in the place of a file."""

    def change(bundle: Path) -> None:
        (bundle / name).unlink(missing_ok=True)
        make(bundle / name)

    return change


def content(made: Callable[[], bytes]) -> Callable[[Path], object]:
    """Write these bytes."""
    return lambda path: path.write_bytes(made())


def holes(path: Path) -> None:
    """A file that says that it has four terabytes and takes no room."""
    with path.open("wb") as file:
        file.truncate(4 << 40)


KINDS: dict[str, Callable[[Path], object]] = {
    "a link without end": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a pipe": os.mkfifo if hasattr(os, "mkfifo") else lambda path: path.mkdir(),
    "a socket": listening,
    "a folder": lambda path: path.mkdir(),
    "holes": holes,
}
"""What is no plain file; needs a system that has such."""

NESTED = "[" * 100_000 + "]" * 100_000
JSON: dict[str, Callable[[str], str]] = {
    "nested": lambda text: text.replace("{", '{"deep": ' + NESTED + ",", 1),
    "nested a little": lambda text: text.replace("{", '{"deep": ' + "[" * 500 + "]" * 500 + ",", 1),
    "digits": lambda text: text.replace("{", '{"figure": ' + "9" * 10_000 + ",", 1),
    "many": lambda text: text.replace("{", '{"list": [0' + ",0" * 4_000_000 + "],", 1),
    "no number": lambda text: text.replace("{", '{"figure": NaN,', 1),
    "endless": lambda text: text.replace("{", '{"figure": -1e999,', 1),
    "half a letter": lambda text: text.replace("{", '{"name": "\\ud800",', 1),
    "cut": lambda text: text[: len(text) // 2],
    "nothing": lambda text: "",
    "no fields": lambda text: "[]",
    "a text": lambda text: '"text"',
}
"""What is no JSON of ours."""
