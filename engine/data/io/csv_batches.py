"""Batches of a CSV file's columns, the same values whatever the size of the blocks that are read."""

from __future__ import annotations

import io
import os
import re
import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

import numpy as np

from engine.data.io.sniff import named_delimiter

if TYPE_CHECKING:
    import pyarrow as pa

LONG_BLOCK = 256 << 20
"""Bytes of a block for records that are longer than the usual one."""
_PAUSE = 0.0005  # seconds between two looks whether Arrow's threads are done
_LONGEST = 10.0  # seconds; one read of a block takes less, on a slow network too


class _WholeLineEnds(io.FileIO):
    """A file of which no read ends on a ``\\r`` that a ``\\n`` follows.

    The Arrow reader takes a ``\\n`` at the beginning of a block for the end of a line that the block before ended, and
    drops it, although the two may stand in quotes and belong to a value.  It may still read ahead when its user is
    done: closing waits for such a read.

    ``lent`` has weak references to the file itself and to every block that somebody still uses.  ``quotes`` looks at
    the blocks; a line that names the delimiter, the first ``skipped`` bytes, is not read.
    """

    def __init__(self, path: Path, delimiter: str, skipped: int) -> None:
        self._reading = threading.Lock()
        super().__init__(path, "rb")
        self.seek(skipped)
        self.quotes = Quotes(delimiter)
        self.lent: list[ReferenceType[object]] = [ref(self)]

    def read(self, size: int | None = -1, /) -> memoryview:  # type: ignore[override]  # bytes bear no weak reference
        """At most ``size`` bytes, which are to be two at least; empty at the end of the file."""
        with self._reading:
            content = self._whole(-1 if size is None or size < 0 else size - 1)
            self.quotes.look_at(content)
            block = memoryview(content)
            self.lent[:] = [*(one for one in self.lent if one() is not None), ref(block)]
            return block

    def _whole(self, size: int) -> bytes:
        content = super().read(size)
        if content.endswith(b"\r"):
            following = super().read(1)
            if following == b"\n":
                return content + following
            self.seek(-len(following), os.SEEK_CUR)
        return content

    def close(self) -> None:
        """Close the file."""
        with self._reading:
            super().close()


class Quotes:
    """A look for quoted values with text behind their closing quote, which the Arrow reader would join to them.

    Quotes stand at both ends of a value, as in ``2,"y"``; ``2,"y"z`` is none, and in ``screen 15"`` a quote is a sign
    like others.
    """

    def __init__(self, delimiter: str) -> None:
        ends = re.escape(delimiter.encode()) + rb"\r\n"
        # No possessive groups: before Python 3.11.5 they match less than they should (gh-106052).
        quoted = rb'(?<![^%s])"[^"]*(?:""[^"]*)*"(?=[%s])' % (ends, ends)
        self._fine = re.compile(rb'(?:[^"]+|%s|(?<=[^%s])")*' % (quoted, ends))
        self._closed = re.compile(rb'"[^"]*(?:""[^"]*)*"(?!")')
        self._beside = np.zeros(256, bool)  # what may stand beside a quote that opens or closes
        self._beside[np.frombuffer(delimiter.encode() + b'\r\n"', np.uint8)] = True
        self._rest, self._before = b"", b"\n"
        self.text_behind = False

    def look_at(self, block: bytes) -> None:
        """Look at the next bytes of a file; none at its end."""
        if self.text_behind or not (self._rest or b'"' in block):
            self._before = block[-1:] or self._before
            return
        text = self._before + self._rest + (block or b"\n")
        end = self._end_of_whole_values(text)
        if end < 0:  # a quote stands within a value without quotes, or text behind one that closes
            matched = self._fine.match(text, 1)
            end = matched.end() if matched else 1
            # a value whose quote may end in the next block is looked at with that
            closed = self._closed.match(text, end)
            self.text_behind = closed is not None and closed.end() < len(text)
        self._before, self._rest = text[end - 1 : end], text[end:]

    def _end_of_whole_values(self, text: bytes) -> int:
        """The end of what needs no second look: of the text, or of the part before a quoted value that it cuts; -1
        where a quote does not open or close a value, or follows another one."""
        signs = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(signs[1:] == ord('"')) + 1  # the first sign was looked at before
        if len(quotes) and signs[quotes[0] - 1] == ord('"'):
            return -1
        opening, closing = quotes[::2], quotes[1::2]
        cut = len(quotes) > 0 and (len(quotes) % 2 == 1 or int(quotes[-1]) == len(text) - 1)
        behind = closing[:-1] if cut and len(quotes) % 2 == 0 else closing
        if not (self._beside[signs[opening - 1]].all() and self._beside[signs[behind + 1]].all()):
            return -1
        return int(opening[signs[opening - 1] != ord('"')][-1]) if cut else len(text)


def csv_batches(
    path: Path, names: Sequence[str], delimiter: str, block_size: int, only_these: Sequence[str] | None = None
) -> Generator[pa.RecordBatch]:
    """The columns of a CSV file, or those to read of them, each dictionary-coded text, in batches of records.

    ``names`` are all columns of the file or those asked for.  Blocks have ``block_size`` bytes, and :data:`LONG_BLOCK`
    from the first record on that is longer than one.  A file without records has no batches.
    """
    import pyarrow as pa

    n_records = 0
    try:
        for batch in _batches(path, names, delimiter, block_size, only_these):
            n_records += batch.num_rows
            yield batch
        return
    except pa.ArrowInvalid as error:
        # The message quotes the record, so it is only looked at here, never shown.
        if "straddl" not in str(error) or block_size >= LONG_BLOCK:
            raise
    for batch in _batches(path, names, delimiter, LONG_BLOCK, only_these):
        rest = batch.slice(n_records)
        n_records -= batch.num_rows - rest.num_rows
        if rest.num_rows:
            yield rest


def _batches(
    path: Path, names: Sequence[str], delimiter: str, block_size: int, only_these: Sequence[str] | None
) -> Generator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv

    wanted, text = list(names if only_these is None else only_these), pa.dictionary(pa.int32(), pa.string())
    options = {
        "read_options": csv.ReadOptions(block_size=block_size),
        "parse_options": csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(names, text),
            include_columns=None if only_these is None else wanted,
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        ),
    }
    source, reader = _WholeLineEnds(path, delimiter, named_delimiter(path)[1]), None
    lent = source.lent
    try:
        try:
            reader = csv.open_csv(source, **options)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            raise
        if reader.schema.names != wanted:
            raise pa.ArrowInvalid("header read differently")
        yield from reader
        if source.quotes.text_behind:
            raise pa.ArrowInvalid("text behind a quote")
    except BaseException as error:
        clear_frames(error.__traceback__)  # one in which reading failed would hold the file until the error is handled
        raise
    finally:
        if reader is not None:
            reader.close()
        source.close()
        del source, reader
        _wait_until_free(lent)


def _wait_until_free(lent: Sequence[ReferenceType[object]]) -> None:
    """Wait until Arrow's threads use none of these objects of Python any more.

    They free the last ones by themselves, after the last batch.  A thread outside of Python that asks for Python while
    the process ends is ended by Python in the midst of it, and that aborts the process, whatever it has done before.
    """
    until = time.monotonic() + _LONGEST
    while any(one() is not None for one in lent) and time.monotonic() < until:
        time.sleep(_PAUSE)
