"""Studies that were cut short: pages that neither the file nor the journal beside it holds.

SQLite takes such pages for empty ones while it plays a journal back, so this is looked at before it opens the file.
The file itself is not read here: whoever closes a file gives up all locks that the process has on it.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER, _FRAME_HEADER = 32, 24
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_LOCK_BYTE = 1 << 30
"""The page of this byte is never written."""


def is_cut_short(path: Path) -> bool:
    """Return whether the file lacks pages that the log or the journal beside it builds on."""
    for read, ending in ((_logged, "-wal"), (_journalled, "-journal")):
        try:
            with Path(f"{path}{ending}").open("rb") as file:
                found = read(file)  # before the size of the study, which only grows by what is in it
        except OSError:
            continue
        if found is not None:
            page, wanted, pages = found
            in_file = path.stat().st_size // page
            lock = _LOCK_BYTE // page + 1
            return any(number not in pages and number != lock for number in range(in_file + 1, wanted + 1))
    return False


def _logged(file: BinaryIO) -> tuple[int, int, set[int]] | None:
    """Bytes of a page, pages that the study has by the last transaction in a write-ahead log, and those in it; None
    where it holds no transaction."""
    header = file.read(_WAL_HEADER)
    if len(header) < _WAL_HEADER or struct.unpack(">I", header[:4])[0] not in _WAL_MAGIC:
        return None
    page, salt = struct.unpack(">I", header[8:12])[0], header[16:24]
    pages, begun, wanted = set[int](), set[int](), 0
    while len(frame := file.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salt:
        number, committed = struct.unpack(">II", frame[:8])
        if len(file.read(page)) < page:
            break
        begun.add(number)
        if committed:
            pages, wanted = pages | begun, committed
            begun = set()
    return (page, wanted, pages) if wanted and page else None


def _journalled(file: BinaryIO) -> tuple[int, int, set[int]] | None:
    """Bytes of a page, pages that the study had before the transaction of a rollback journal, and those in it; None
    where it holds none."""
    header = file.read(28)
    if len(header) < 28 or header[:8] != _JOURNAL_MAGIC:
        return None
    wanted, sector, page = struct.unpack(">III", header[16:28])
    if not page or not sector:
        return None
    pages, place = set[int](), sector
    while True:
        file.seek(place)
        record = file.read(4)
        if len(record) < 4 or len(file.read(page + 4)) < page + 4:
            return page, wanted, pages
        if record == _JOURNAL_MAGIC[:4]:  # a further header, of what was added later
            place += sector
            continue
        pages.add(struct.unpack(">I", record)[0])
        place += page + 8
