"""Whether a file of a bundle is what its name says: cheap looks at its frame, which no digest list vouches for."""

from __future__ import annotations

import json
import tomllib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

_TAIL = 1024
_BEGIN = {".sav": b"$FL2", ".dta": b"<stata_dta>", ".xpt": b"HEADER RECORD*******LIBRARY HEADER RECORD"}
_PIECE = 1 << 20


def is_whole(path: Path) -> bool:
    """Whether a file can be opened as what its ending says.

    Archives are unpacked and their check sums compared, structured texts are read, of data files begin and end are
    looked at, and of any other file whether it is text.
    """
    try:
        return _LOOKS.get(path.suffix.lower(), _text)(path)
    except (OSError, ValueError, RecursionError, zipfile.BadZipFile, zlib.error, ElementTree.ParseError):
        return False
    except (RuntimeError, NotImplementedError, EOFError):  # what archives of unknown kinds raise
        return False


def _office(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return "[Content_Types].xml" in archive.namelist() and archive.testzip() is None


def _pdf(path: Path) -> bool:
    head, tail = _ends(path)
    return head.startswith(b"%PDF-") and b"startxref" in tail and tail.rstrip().endswith(b"%%EOF")


def _parquet(path: Path) -> bool:
    from pyarrow import ArrowException, parquet

    try:
        parquet.read_metadata(path)
    except ArrowException:
        return False
    return True


def _labelled(path: Path) -> bool:
    return _ends(path)[0].startswith(_BEGIN[path.suffix.lower()])


def _json(path: Path) -> bool:
    json.loads(path.read_text(encoding="utf-8"))
    return True


def _toml(path: Path) -> bool:
    return bool(tomllib.loads(path.read_text(encoding="utf-8")))


def _xml(path: Path) -> bool:
    ElementTree.parse(path)
    return True


def _html(path: Path) -> bool:
    head, tail = _ends(path)
    return head.lower().startswith(b"<!doctype html") and tail.rstrip().lower().endswith(b"</html>") and _text(path)


def _text(path: Path) -> bool:
    """Whether there is something in it and no NUL."""
    size = 0
    with path.open("rb") as file:
        while block := file.read(_PIECE):
            if b"\0" in block:
                return False
            size += len(block)
    return size > 0


def _ends(path: Path) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file."""
    with path.open("rb") as file:
        head = file.read(_TAIL)
        file.seek(max(0, file.seek(0, 2) - _TAIL))
        return head, file.read()


_LOOKS: dict[str, Callable[[Path], bool]] = {
    **dict.fromkeys((".docx", ".xlsx", ".pptx"), _office),
    **dict.fromkeys(_BEGIN, _labelled),
    ".pdf": _pdf,
    ".parquet": _parquet,
    ".json": _json,
    ".toml": _toml,
    ".xml": _xml,
    ".html": _html,
}
