"""Check cheaply that a file of a bundle has the format that its name says."""

from __future__ import annotations

import tomllib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.parsers.expat import ExpatError

from engine.bundle.unpack import Archive, Budget, Unpacked, check_parquet
from engine.bundle.xml_names import read_elements
from engine.common.errors import EngineError
from engine.common.untrusted import open_plain, read_json, read_text

_DAMAGED = "cannot be opened as what it is"
_TAIL = 1024
_BEGIN = {".sav": b"$FL2", ".dta": b"<stata_dta>", ".xpt": b"HEADER RECORD*******LIBRARY HEADER RECORD"}
_PIECE = 1 << 20


def is_whole(path: Path) -> bool:
    """Whether nothing is wrong with a file (:func:`fault`)."""
    return not fault(path)


def fault(path: Path) -> str:
    """Why a file cannot be used as what its ending says; empty where it can.

    Archives are unpacked and their check sums compared, structured texts are read, of data files begin and end are
    looked at, and of any other file whether it is text.
    """
    try:
        return "" if _LOOKS.get(path.suffix.lower(), _text)(path) else _DAMAGED
    except Unpacked as error:
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
                while block := part.read(_PIECE):
                    budget.take(len(block))
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
    return _ends(path)[0].startswith(_BEGIN[path.suffix.lower()])


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
    """Whether there is something in it and no NUL."""
    size = 0
    with open_plain(path) as file:
        while block := file.read(_PIECE):
            if b"\0" in block:
                return False
            size += len(block)
    return size > 0


def _ends(path: Path) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file."""
    with open_plain(path) as file:
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
