"""Printing of commands, to a terminal or a file of any encoding; nothing else in the engine prints."""

from __future__ import annotations

import io
import sys
from typing import TextIO

from engine.common.printable import printable


def escape_unknown_signs() -> None:
    """From now on print a sign that the locale's encoding lacks as its escape; it would end the command otherwise."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str = "", *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print words, to standard output unless told; names in them cannot steer a terminal.

    What would is written out as ``\\u001b``, also into files and pipes, since those are read on terminals later.  A
    JSON text stays the same value.
    """
    print(printable(text), end=end, file=file, flush=flush)


def say_again(line: str, file: TextIO, *, last: bool) -> None:
    """Print a line over the one before, on a terminal."""
    print(f"\r\x1b[K{printable(line)}", end="\n" if last else "", file=file, flush=True)


def write_file_text(text: str) -> None:
    """Print the text of a file, such as a plan: in UTF-8 and with its own line ends, whatever the locale says.  What
    would steer a terminal is written as TOML escapes it, which reads as the same plan."""
    sys.stdout.flush()
    sys.stdout.buffer.write(printable(text).encode())
    sys.stdout.buffer.flush()
