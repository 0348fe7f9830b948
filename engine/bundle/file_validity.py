"""Check cheaply that a file of a bundle has the format that its name says."""

from __future__ import annotations

import tomllib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.parsers.expat import ExpatError

from engine.bundle.unpack import Archive, Budget, TooLarge, check_parquet
from engine.bundle.xml_names import read_elements
from engine.common.errors import EngineError
from engine.common.untrusted import open_plain, read_json, read_text

_DAMAGED = "cannot be opened as what it is"
_TAIL = 1024
_SIGNATURES = {".sav": b"$FL2", ".dta": b"<stata_dta>", ".xpt": b"HEADER RECORD*******LIBRARY HEADER RECORD"}
_CHUNK = 1 << 20


def fault(path: Path) -> str:
    """The reason why a file does not have the format of its ending; empty where it does.

    Archives are unpacked and their check sums compared, and structured texts are read.  Of a data file the beginning
    and the end are checked, and any other file must be text.
    """
    try:
        return "" if _FORMAT_CHECKS.get(path.suffix.lower(), _text)(path) else _DAMAGED
    except TooLarge as error:
        return error.why
    except (EngineError, OSError, ValueError, RecursionError, zipfile.BadZipFile, zlib.error, ExpatError):
        return _DAMAGED
    except (RuntimeError, NotImplementedError, EOFError):  # what archives of unknown kinds raise
        return _DAMAGED


def _office(path: Path) -> bool:
    with open_plain(path) as file, Archive(file) as archive:
        budget = Budget(path.name, file.seek(0, 2))
        for info in archive.infolist():
            with archive.open(info) as part:
                while chunk := part.read(_CHUNK):
                    budget.take(len(chunk))
        return "[Content_Types].xml" in archive.namelist()


def _pdf(path: Path) -> bool:
    head, tail = _ends(path)
    return head.startswith(b"%PDF-") and b"startxref" in tail and tail.rstrip().endswith(b"%%EOF")


def _parquet(path: Path) -> bool:
    from pyarrow import ArrowException

    try:
        check_parquet(path)
    except ArrowException:
        return False
    return True


def _labelled(path: Path) -> bool:
    return _ends(path)[0].startswith(_SIGNATURES[path.suffix.lower()])


def _json(path: Path) -> bool:
    read_json(path)
    return True


def _toml(path: Path) -> bool:
    return bool(tomllib.loads(read_text(path)))


def _xml(path: Path) -> bool:
    read_elements(path, lambda name, attributes: None)
    return True


def _html(path: Path) -> bool:
    head, tail = _ends(path)
    return head.lower().startswith(b"<!doctype html") and tail.rstrip().lower().endswith(b"</html>") and _text(path)


def _text(path: Path) -> bool:
    """Return whether a file is not empty and holds no NUL."""
    size = 0
    with open_plain(path) as file:
        while chunk := file.read(_CHUNK):
            if b"\0" in chunk:
                return False
            size += len(chunk)
    return size > 0


def _ends(path: Path) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file."""
    with open_plain(path) as file:
        head = file.read(_TAIL)
        file.seek(max(0, file.seek(0, 2) - _TAIL))
        return head, file.read()


_FORMAT_CHECKS: dict[str, Callable[[Path], bool]] = {
    **dict.fromkeys((".docx", ".xlsx", ".pptx"), _office),
    **dict.fromkeys(_SIGNATURES, _labelled),
    ".pdf": _pdf,
    ".parquet": _parquet,
    ".json": _json,
    ".toml": _toml,
    ".xml": _xml,
    ".html": _html,
}
